// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/kernel.hpp"

namespace kernbench::kernels {

/// Causal flash attention of a chunk of query tokens that follow `prefix` cached ones, a block of
/// tile_q query tokens after the other, each as a head of R13.3. Rows of a block are token-major:
/// row = token * g + query head of the KV head. Tiles of the cache that no token of the block sees
/// are not issued; `mask_cols` takes the unseen scores out of the others.
/// Each row has the bits that gqa_decode gives for that token alone.
Kernel gqa_prefill();

}  // namespace kernbench::kernels
