// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/kernel.hpp"

namespace kernbench::kernels {

/// Gated feed-forward, (silu(x wg) * (x wu)) wd, f16, x (m, k), wg and wu (k, f), wd (f, k): three
/// composites chained through their tensors, or with silu and product as simple commands. The two
/// give bit-equal results.
Kernel mlp();

}  // namespace kernbench::kernels
