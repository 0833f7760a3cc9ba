// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace kernbench::runtime {

/// The version of KernBench: `0.1.0`.
const char* version();

}  // namespace kernbench::runtime
