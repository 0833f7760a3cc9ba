// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/flash_attention.hpp"
#include "kernels/split_decode.hpp"

namespace kernbench::kernels {

// What the decoder layer of llama.cpp and its float64 reference agree on.

/// How the part of a weight that a program has lies in HBM: `count` panels one after the other,
/// each [hidden, width] row-major, so that a tile of it is one run of bytes (R6.8). A panel of a
/// weight that is split by columns has `width` of them; one that is split by rows is stored
/// transposed, and has `width` rows.
struct Panels {
  Index count = 1, width = 1;

  Index size() const { return count * width; }
};

/// Tokens [first, first + count) of the cache.
struct Tokens {
  Index first = 0, count = 0;
};

/// A decoder and how it is spread. Layer l, program i: panel j of a weight is number
/// (l * programs + i) * panels + j in its tensor.
struct Llama {
  Index layers = 0, hidden = 0, heads = 0, kv_heads = 0, ffn = 0, s_kv = 0;
  Flash flash;
  Groups groups;      ///< one a KV head
  bool ring = false;  ///< of the all-reduce; else a tree
  /// Of wqkv: the program's columns of wq, wk and wv side by side; of wo; of wgate and of wup; of
  /// wdown.
  Panels qkv, out, up, down;

  Index programs() const { return groups.programs(); }
  /// Query heads of a KV head.
  Index g() const { return heads / kv_heads; }
  /// A program's entries of q, and of k or v.
  Index q_size() const { return g() * flash.d / groups.members(); }
  Index kv_size() const { return flash.d / groups.members(); }

  TileSplit shares() const { return {ceil_div(s_kv, flash.tile), groups.members()}; }
  /// Those of its share of the tiles, counted from the end of the cache: place 0, which merges and
  /// gets the new token, has the last ones.
  Tokens tokens(Index place) const;
};

/// Computed layer by layer, with an estimate of the rounding errors.
Reference reference(const Llama& p, const HostTensors& inputs);

}  // namespace kernbench::kernels
