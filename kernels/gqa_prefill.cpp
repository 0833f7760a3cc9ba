// SPDX-License-Identifier: Apache-2.0
#include "kernels/gqa_prefill.hpp"

#include <algorithm>

#include "kernels/flash_attention.hpp"

namespace kernbench::kernels {
namespace {

struct Prefill {
  Flash flash;
  Index g, s_q, prefix, tile_q, kv_heads;

  Index s_kv() const { return prefix + s_q; }
  /// The number of tiles of which a token at `position` attends to at least a part.
  Index tiles_up_to(Index position) const { return position / flash.tile + 1; }
  Index block_length(Index token) const { return std::min(tile_q, s_q - token); }
  /// For the block that starts at query token `token`; its last token attends to most tiles.
  Index block_tiles(Index token) const {
    return tiles_up_to(prefix + token + block_length(token) - 1);
  }
};

void run(tl::Context& tl, const Prefill& p, const std::vector<tl::Tensor>& bound) {
  for (Index head = 0; head < p.kv_heads; ++head) {
    for (Index token = 0; token < p.s_q; token += p.tile_q) {
      auto scope = tl.scratch_scope();
      FlashCache cache{bound[1].rows(head * p.s_kv(), p.s_kv()),
                       bound[2].rows(head * p.s_kv(), p.s_kv()), p.s_kv(), p.block_tiles(token)};
      cache.causal = {p.prefix + token, p.g};
      const Index row = (head * p.s_q + token) * p.g, rows = p.block_length(token) * p.g;
      const FlashState state = flash_attend(tl, p.flash, cache, bound[0].rows(row, rows));
      const auto out = tl.div_bcast(state.O, state.l, p.flash.dtype);
      tl.store(bound[3].rows(row, rows), out);
    }
  }
}

Reference reference(const Prefill& p, const HostTensors& inputs) {
  FlashReference reference(inputs, p.flash);
  for (Index row = 0; row < p.kv_heads * p.s_q * p.g; ++row) {
    const Index head = row / (p.s_q * p.g), token = row / p.g % p.s_q;
    reference.add_row(row, p.prefix + token + 1, [&](Index t) { return head * p.s_kv() + t; });
  }
  return reference.result();
}

Instance make(const Parameters& parameters, const tl::Target&) {
  const DType dtype = parameters.dtype("dtype");
  const Prefill p{{parameters.choice("variant"), parameters.integer("d"),
                   parameters.integer("tile"), dtype, DType::f32},
                  parameters.integer("g"),
                  parameters.integer("s_q"),
                  parameters.integer("prefix"),
                  parameters.integer("tile_q"),
                  parameters.integer("kv_heads")};
  const Index d = p.flash.d;
  const std::vector<Index> q_shape{p.kv_heads, p.s_q, p.g, d}, kv_shape{p.kv_heads, p.s_kv(), d};
  const command::Shape q_rows{p.kv_heads * p.s_q * p.g, d}, kv_rows{p.kv_heads * p.s_kv(), d};
  Instance instance;
  instance.tensors = {{"q", q_shape, q_rows, dtype, Direction::in},
                      {"k", kv_shape, kv_rows, dtype, Direction::in},
                      {"v", kv_shape, kv_rows, dtype, Direction::in},
                      {"out", q_shape, q_rows, dtype, Direction::out}};
  instance.body = [p](tl::Context& tl, const std::vector<tl::Tensor>& bound) { run(tl, p, bound); };
  instance.reference = [p](const HostTensors& inputs) { return reference(p, inputs); };
  Index tiles = 0;
  for (Index token = 0; token < p.s_q; token += p.tile_q) tiles += p.block_tiles(token);
  instance.tiles = static_cast<std::uint64_t>(tiles * p.kv_heads);
  return instance;
}

}  // namespace

Kernel gqa_prefill() {
  Kernel kernel;
  kernel.name = "gqa_prefill";
  kernel.summary = "causal flash attention of a chunk of query tokens over a K/V cache";
  kernel.parameters = {
      flash_variant(),
      integer("g", 8, "query heads of one KV head", 1, 65536),
      integer("d", 128, "entries of a head", 1, 65536),
      integer("s_q", 128, "query tokens, the last ones of the cache", 1, Index{1} << 22),
      integer("prefix", 0, "tokens in the cache before them", 0, Index{1} << 30),
      integer("tile_q", 8, "query tokens of a block; M = g * tile_q rows", 1, 65536),
      integer("tile", 64, "tokens of a tile of the cache", 1, 65536),
      integer("kv_heads", 1, "KV heads, one after the other", 1, 1024),
      flash_dtype(),
  };
  kernel.make = make;
  return kernel;
}

}  // namespace kernbench::kernels
