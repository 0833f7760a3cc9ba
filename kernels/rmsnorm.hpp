// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/kernel.hpp"

namespace kernbench::kernels {

/// x * gamma / sqrt(mean of x^2 + tl::kNormEps) of each row of x [rows, cols], f16, in blocks of
/// rows: as one MATH composite per block, which may read x itself (R5.5), or as six simple
/// commands.
Kernel rmsnorm();

}  // namespace kernbench::kernels
