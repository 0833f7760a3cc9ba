// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "model/arch/numerics.hpp"
#include "model/arch/stage.hpp"
#include "model/arch/storage.hpp"

namespace kernbench::arch {

// A slice as the sequence of bytes in which a DMA moves it: memory row by memory row (R6.8).

/// Entry (r, c) of `source` becomes entry (r, c) of `target`, in whose order the bytes move.
void gather(const Storage& storage, const Slice& source, const Slice& target,
            std::vector<std::uint8_t>& bytes);
/// `bytes` moved in the order of `source`; entry (r, c) of it becomes entry (r, c) of `target`.
void scatter(Storage& storage, const Slice& target, const Slice& source,
             const std::vector<std::uint8_t>& bytes);
/// The bytes of a slice, without the gaps between its rows: ascending ranges that never touch.
void byte_runs(const Slice& slice, std::vector<command::ByteRange>& runs);
/// Rounds row-major values to the slice's dtype.
void pack(const Slice& slice, const Values& values, std::vector<std::uint8_t>& bytes);

}  // namespace kernbench::arch
