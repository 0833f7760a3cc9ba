// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/kernel.hpp"

namespace kernbench::kernels {

/// The layer norm of gelu(x w + bias), x (m, k), w (k, n), f16: as one composite with the recipe
/// linear_gelu_norm as epilogue, or as a gemm composite and ten simple commands. The two give
/// bit-equal results.
Kernel linear_gelu_norm();

}  // namespace kernbench::kernels
