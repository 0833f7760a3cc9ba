// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/kernel.hpp"

namespace kernbench::kernels {

/// The value of `epilogue=scale` and of `k_epilogue=scale`; a power of two, so that scaling is
/// exact.
inline constexpr double kGemmScale = 0.5;

/// One gemm composite, (m, k) x (k, n) in f16 (R13.3). The parameters say where its inputs are. Its
/// result is the output tensor `out`, or the observed value `out` when it stays in TCM.
Kernel gemm();

}  // namespace kernbench::kernels
