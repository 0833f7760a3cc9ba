// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/kernel.hpp"

namespace kernbench::kernels {

/// Nothing but dispatch: `commands` fills of one one-entry f32 tensor (R13.3).
Kernel dispatch();

}  // namespace kernbench::kernels
