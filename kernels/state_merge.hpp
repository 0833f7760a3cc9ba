// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/kernel.hpp"

namespace kernbench::kernels {

/// Merges partial softmax states (m, l, O) of the same rows, as the shares of a split decode
/// produce them; out = O / l. A merge is one composite of the recipe state_merge, or nine simple
/// commands. An empty share is m = -inf, l = 0, O = 0; rows without any entry give 0. Observed
/// values: merged_m and merged_l (rows,).
Kernel state_merge();

}  // namespace kernbench::kernels
