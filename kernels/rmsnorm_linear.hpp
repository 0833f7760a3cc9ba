// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/kernel.hpp"

namespace kernbench::kernels {

/// The rmsnorm of x (m, k) times w (k, n), f16: as one composite with the recipe rmsnorm_linear as
/// prologue, or as six simple commands and a gemm composite. The two give bit-equal results.
Kernel rmsnorm_linear();

}  // namespace kernbench::kernels
