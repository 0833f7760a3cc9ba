// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/kernel.hpp"

namespace kernbench::kernels {

/// One transformer decoder layer for one token, tensor-parallel over groups of c cubes with p PEs,
/// one group for each KV head: rmsnorm and q, k, v; attention over the K/V cache, split over the
/// group; out projection, all-reduce, residual; rmsnorm, gated mlp, all-reduce, residual. Without
/// rotary embedding. Everything is f16, statistics and softmax state are f32.
/// Weights are stored by the program that holds them, cut into panels of at most a tile
/// (llama_model.hpp). The new token is the last of the cache: its rows of k and v, as given, are
/// overwritten.
Kernel llama_layer();
/// `layers` of them, each with its own weights and cache.
Kernel llama_decode_step();

}  // namespace kernbench::kernels
