// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "kernels/kernel.hpp"

namespace kernbench::kernels {

/// The kernels that ship with KernBench, in an explicit list: nothing registers itself (R11.2).
std::vector<Kernel> catalogue();

}  // namespace kernbench::kernels
