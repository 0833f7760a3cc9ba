// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/kernel.hpp"

namespace kernbench::kernels {

/// One transformer decoder layer for one token, tensor-parallel over groups of c cubes with p PEs,
/// one group per KV head: rmsnorm and q, k, v; attention over the K/V cache, split over the group;
/// out projection, all-reduce, residual; rmsnorm, gated mlp, all-reduce, residual. There is no
/// rotary embedding. Everything is f16 except statistics and softmax state, which are f32. Each
/// program stores its own weights, cut into panels of at most a tile (llama_model.hpp). The new
/// token is the last of the cache: the given rows of its k and v are overwritten.
Kernel llama_layer();
/// `layers` decoder layers, each with its own weights and cache.
Kernel llama_decode_step();

}  // namespace kernbench::kernels
