// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "kernels/kernel.hpp"

namespace kernbench::kernels {

// Float64 references with a first-order bound, for each entry, of the rounding error that the
// kernel may make. So a tolerance is derived from unit roundoffs, not chosen.

inline constexpr double kRoundF16 = 0x1p-11;  ///< unit roundoffs: relative error of one rounding
inline constexpr double kRoundF32 = 0x1p-24;
inline constexpr double kTinyF16 = 0x1p-25;  ///< absolute error of a rounding below 2^-14

/// Row-major entries, and for each entry how far the kernel's value may be from it.
struct Bounded {
  std::vector<double> value, error;
};

/// Entries as they come from the host.
Bounded exact(const std::vector<double>& values);
/// After one more rounding to f16.
Bounded stored_in_f16(Bounded x);

/// a (rows, depth) times the exact b (depth, cols), accumulated in f32 in ascending order (R8.2).
Bounded product(const Bounded& a, const std::vector<double>& b, Index rows, Index depth,
                Index cols);

/// x times a power of two, which is exact.
Bounded scaled(Bounded x, double power_of_two);
/// x (rows, cols) plus one entry per column, in f32.
Bounded biased(Bounded x, const std::vector<double>& bias);

double gelu(double x);  ///< tanh form, as the op table has it
double silu(double x);
Bounded gelu(Bounded x);
Bounded silu(Bounded x);

/// A norm of rows, as the kernels compute it.
struct Norm {
  Index rows, cols;
  const std::vector<double>& gamma;
  const std::vector<double>* beta;  ///< null: root-mean-square norm, without mean and beta
  bool steps_in_f16;                ///< every intermediate matrix is stored in f16, not f32
};
/// The norm of x with tl::kNormEps, stored in f16.
Bounded normalized(const Bounded& x, const Norm& norm);

/// `result` as the checked output `name`. Allowed are rms(error) / rms(value) and
/// max(error) / rms(value).
Reference checked(const std::string& name, const Bounded& result);

}  // namespace kernbench::kernels
