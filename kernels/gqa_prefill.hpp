// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/kernel.hpp"

namespace kernbench::kernels {

/// Causal flash attention of a chunk of query tokens that follow `prefix` cached tokens. Blocks of
/// tile_q query tokens run one after the other, each as a head of R13.3. Rows of a block are
/// token-major: row = token * g + query head of the KV head. Tiles of the cache to which no token
/// of the block attends are not issued; `mask_cols` masks the scores of later tokens in the others.
/// Each row has the same bits as gqa_decode for that token alone.
Kernel gqa_prefill();

}  // namespace kernbench::kernels
