// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/kernel.hpp"

namespace kernbench::kernels {

/// (x - mean) * gamma / sqrt(variance + tl::kNormEps) + beta of each row of x [rows, cols], f16,
/// streamed in blocks of rows: as one MATH composite a block, or as ten simple commands.
Kernel layernorm();

}  // namespace kernbench::kernels
