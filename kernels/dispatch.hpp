// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/kernel.hpp"

namespace kernbench::kernels {

/// Measures only dispatch: `commands` fills of a one-entry f32 tensor (R13.3).
Kernel dispatch();

}  // namespace kernbench::kernels
