// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/flash_attention.hpp"
#include "kernels/split_decode.hpp"

namespace kernbench::kernels {

// What the decoder layer of llama.cpp and its float64 reference agree on.

/// The layout in HBM of the part of a weight that a program holds: `count` panels one after the
/// other, each [hidden, width] row-major, so that a tile of a panel is one run of bytes (R6.8). A
/// panel of a weight that is split by columns has `width` columns. A weight that is split by rows
/// is stored transposed, and a panel has `width` of its rows.
struct Panels {
  Index count = 1, width = 1;

  Index size() const { return count * width; }
};

/// Tokens [first, first + count) of the cache.
struct Tokens {
  Index first = 0, count = 0;
};

/// A decoder and its distribution. For layer l and program i, panel j of a weight is number (l *
/// programs + i) * panels + j in its tensor.
struct Llama {
  Index layers = 0, hidden = 0, heads = 0, kv_heads = 0, ffn = 0, s_kv = 0;
  Flash flash;
  Groups groups;      ///< one per KV head
  bool ring = false;  ///< the all-reduce is a ring; otherwise a tree
  /// Panels of wqkv (the program's columns of wq, wk and wv side by side), of wo, of wgate and wup
  /// each, and of wdown.
  Panels qkv, out, up, down;

  Index programs() const { return groups.programs(); }
  /// Query heads of a KV head.
  Index g() const { return heads / kv_heads; }
  /// A program's entries of q, and of k or v.
  Index q_size() const { return g() * flash.d / groups.members(); }
  Index kv_size() const { return flash.d / groups.members(); }

  TileSplit shares() const { return {ceil_div(s_kv, flash.tile), groups.members()}; }
  /// The tokens of the member's share of the tiles, counted from the end of the cache: place 0,
  /// which merges and gets the new token, has the last tokens.
  Tokens tokens(Index place) const;
};

/// The reference, computed layer by layer with an estimate of the rounding errors.
Reference reference(const Llama& p, const HostTensors& inputs);

}  // namespace kernbench::kernels
