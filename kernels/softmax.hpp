// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/kernel.hpp"

namespace kernbench::kernels {

/// Softmax of each row of x [rows, cols], f16, in blocks of rows: as one MATH composite per block,
/// which may read x itself (R5.5), or as four simple commands. A row of -inf gives 0 (R8.2).
Kernel softmax();

}  // namespace kernbench::kernels
