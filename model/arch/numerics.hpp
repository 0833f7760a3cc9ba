// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "model/arch/stage.hpp"
#include "model/arch/storage.hpp"

namespace kernbench::arch {

/// Entries as f32, exact for every dtype; row-major.
using Values = std::vector<float>;

float decode(command::DType dtype, const std::uint8_t* bytes);
/// Rounds to nearest, ties to even; overflow gives an infinity.
void encode(command::DType dtype, float value, std::uint8_t* bytes);

/// The entries of a slice, row-major (rows x cols).
void read_slice(const Storage& storage, const Slice& slice, Values& values);
/// Rounds each entry once to the slice's dtype.
void write_slice(Storage& storage, const Slice& slice, const Values& values);

/// A kernel-scope op (contract 4, Ops): inputs in the order of the stage's operands, each with the
/// shape of its slice; the result has the shape of `stage.out`, in f32, not yet rounded. A vector
/// operand is a slice of one row or one column.
void evaluate(const StageSpec& stage, const std::vector<Values>& inputs, Values& result);

/// Evaluates a k_tile or output_tile op in place on the (m, n) accumulator. `other` is the stage's
/// operand of that name, or unused (R4.6).
void evaluate_on_accumulator(const StageSpec& stage, const Slice* other_slice, const Values& other,
                             Values& accumulator);

/// accumulator(m, n) += a(m, k) * b(k, n), each entry in ascending k, without contraction (R8.2).
void multiply_accumulate(command::Index m, command::Index k, command::Index n, const Values& a,
                         const Values& b, Values& accumulator);

}  // namespace kernbench::arch
