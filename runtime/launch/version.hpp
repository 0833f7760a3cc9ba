// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace kernbench::runtime {

/// Of this project, as CMake has it: `0.1.0`.
const char* version();

}  // namespace kernbench::runtime
