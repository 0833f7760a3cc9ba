// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/version.hpp"

namespace kernbench::runtime {

const char* version() { return KERNBENCH_VERSION; }

}  // namespace kernbench::runtime
