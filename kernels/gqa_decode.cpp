// SPDX-License-Identifier: Apache-2.0
#include "kernels/gqa_decode.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "kernels/flash_attention.hpp"
#include "tlm_if/command/error.hpp"

namespace kernbench::kernels {
namespace {

/// Where the tiles of a paged cache lie: tile n of the batch, counted sequence after sequence, in
/// block number block(n) of the pool.
struct BlockTable {
  Index blocks = 0;  ///< in the pool
  bool reversed = false;
  std::vector<Index> entries;  ///< empty: identity, or reversed

  Index block(Index n) const {
    if (!entries.empty()) return entries[static_cast<std::size_t>(n)];
    return reversed ? blocks - 1 - n : n;
  }
};

struct Sequence {
  Index length;
  Index first_tile;  ///< of the batch, where the cache is paged
};

struct Decode {
  Flash flash;
  Index rows;  ///< of one KV head: g * t_q
  Index kv_heads;
  std::vector<Sequence> batch;
  Index longest;                    ///< of the sequences
  std::optional<BlockTable> paged;  ///< none: the cache is contiguous

  Index tiles(Index length) const { return (length + flash.tile - 1) / flash.tile; }
  /// In k and v, of token `token` of a sequence.
  Index cache_row(Index sequence, Index head, Index token) const {
    if (!paged) return (sequence * kv_heads + head) * longest + token;
    const Index tile = batch[static_cast<std::size_t>(sequence)].first_tile + token / flash.tile;
    return (paged->block(tile) * kv_heads + head) * flash.tile + token % flash.tile;
  }
};

void run(tl::Context& tl, const Decode& p, const std::vector<tl::Tensor>& bound) {
  for (Index sequence = 0; sequence < static_cast<Index>(p.batch.size()); ++sequence) {
    const Index length = p.batch[static_cast<std::size_t>(sequence)].length;
    for (Index head = 0; head < p.kv_heads; ++head) {
      auto scope = tl.scratch_scope();
      const Index row = (sequence * p.kv_heads + head) * p.rows;
      if (length == 0) {  // nothing to attend to: zeros
        const auto zeros = tl.zeros({p.rows, p.flash.d}, p.flash.dtype);
        tl.store(bound[3].rows(row, p.rows), zeros);
        continue;
      }
      FlashCache cache{bound[1], bound[2], length, p.tiles(length)};
      if (p.paged) {
        cache.first_row = [&](Index j) { return p.cache_row(sequence, head, j * p.flash.tile); };
      } else {
        cache.k = bound[1].rows(p.cache_row(sequence, head, 0), length);
        cache.v = bound[2].rows(p.cache_row(sequence, head, 0), length);
      }
      const FlashState state = flash_attend(tl, p.flash, cache, bound[0].rows(row, p.rows));
      const auto out = tl.div_bcast(state.O, state.l, p.flash.dtype);
      tl.store(bound[3].rows(row, p.rows), out);
      tl.observe("m", state.m);
      tl.observe("l", state.l);
      tl.observe("O", state.O);
    }
  }
}

Reference reference(const Decode& p, const HostTensors& inputs) {
  FlashReference reference(inputs, p.flash);
  for (Index sequence = 0; sequence < static_cast<Index>(p.batch.size()); ++sequence) {
    const Index length = p.batch[static_cast<std::size_t>(sequence)].length;
    for (Index row = 0; row < p.kv_heads * p.rows; ++row) {
      if (length == 0) {
        reference.add_empty_row();
        continue;
      }
      const Index head = row / p.rows;  // query head i uses KV head i / g (R13.3)
      reference.add_row(sequence * p.kv_heads * p.rows + row, length,
                        [&](Index token) { return p.cache_row(sequence, head, token); });
    }
  }
  Reference result = reference.result();
  result.outputs["m"] = reference.m();
  result.outputs["l"] = reference.l();
  result.outputs["O"] = reference.weighted_sum();
  return result;
}

template <class... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) {
  throw InputError("gqa_decode: " + fmt::format(format, std::forward<Args>(args)...));
}

/// Query heads of one KV head.
Index group(const Parameters& parameters) {
  if (!parameters.has_value("heads")) return parameters.integer("g");
  const Index heads = parameters.integer("heads"), kv_heads = parameters.integer("kv_heads");
  if (const Index rest = heads % kv_heads; rest != 0) {
    const Index below = heads - rest, above = below + kv_heads;
    refuse(
        "heads={} is no multiple of kv_heads={}, and every KV head serves the same number of "
        "query heads; give {}",
        heads, kv_heads,
        below == 0 ? fmt::to_string(above) : fmt::format("{} or {}", below, above));
  }
  if (parameters.has_value("g") && parameters.integer("g") != heads / kv_heads) {
    refuse("g={} and heads={} disagree: heads / kv_heads is {}; give one of the two",
           parameters.integer("g"), heads, heads / kv_heads);
  }
  return heads / kv_heads;
}

std::vector<Index> lengths(const Parameters& parameters) {
  if (!parameters.has_value("lengths")) return {parameters.integer("s_kv")};
  if (parameters.has_value("s_kv")) {
    refuse(
        "s_kv={} and lengths={} are both given; give s_kv for one sequence, or lengths for a "
        "batch",
        parameters.integer("s_kv"), parameters.choice("lengths"));
  }
  std::vector<Index> lengths = parameters.list("lengths");
  if (*std::max_element(lengths.begin(), lengths.end()) == 0) {
    refuse("lengths={} has no token to attend to; give at least one length that is not 0",
           parameters.choice("lengths"));
  }
  return lengths;
}

/// The table of `tiles` tiles.
BlockTable block_table(const Parameters& parameters, Index tiles) {
  BlockTable table;
  table.blocks = parameters.has_value("blocks") ? parameters.integer("blocks") : tiles;
  if (table.blocks < tiles) {
    refuse("blocks={} are too few for the {} tiles of the batch; give at least that many",
           table.blocks, tiles);
  }
  if (!parameters.has_value("block_table")) return table;
  const std::string& text = parameters.choice("block_table");
  table.reversed = text == "reversed";
  if (table.reversed || text == "identity") return table;
  table.entries = parameters.list("block_table");
  if (static_cast<Index>(table.entries.size()) != tiles) {
    refuse(
        "block_table has {} entries and the batch {} tiles; give one a tile, sequence after "
        "sequence",
        table.entries.size(), tiles);
  }
  std::vector<bool> taken(static_cast<std::size_t>(table.blocks), false);
  for (std::size_t n = 0; n < table.entries.size(); ++n) {
    const Index block = table.entries[n];
    if (block >= table.blocks) {
      refuse(
          "block_table: entry {} is block {}, and the pool has {}; give one in [0, {}], or more "
          "blocks",
          n, block, table.blocks, table.blocks - 1);
    }
    if (taken[static_cast<std::size_t>(block)]) {
      refuse("block_table: entry {} is block {}, which an earlier tile has; give each tile its own",
             n, block);
    }
    taken[static_cast<std::size_t>(block)] = true;
  }
  return table;
}

/// Of a cache that is contiguous.
void refuse_paged_only(const Parameters& parameters) {
  for (const char* name : {"block_table", "blocks"}) {
    if (!parameters.has_value(name)) continue;
    refuse("{}={} is for a paged cache; give kv=paged too, or leave it away", name,
           parameters.choice(name));
  }
}

Instance make(const Parameters& parameters, const tl::Target&) {
  const Index g = group(parameters), t_q = parameters.integer("t_q");
  const DType dtype = parameters.dtype("dtype");
  Decode p{{parameters.choice("variant"), parameters.integer("d"), parameters.integer("tile"),
            dtype, parameters.dtype("stats")},
           g * t_q,
           parameters.integer("kv_heads"),
           {},
           0,
           {}};
  Index tiles = 0;
  for (const Index length : lengths(parameters)) {
    p.batch.push_back({length, tiles});
    p.longest = std::max(p.longest, length);
    tiles += p.tiles(length);
  }
  if (parameters.choice("kv") == "paged") {
    p.paged = block_table(parameters, tiles);
  } else {
    refuse_paged_only(parameters);
  }

  const Index d = p.flash.d;
  const auto sequences = static_cast<Index>(p.batch.size());
  const Index q_heads = p.kv_heads * g;
  constexpr Index kMaxRows = Index{1} << 56;
  if (sequences > kMaxRows / (q_heads * t_q)) {
    refuse("{} sequences of {} query rows are too many; give fewer", sequences, q_heads * t_q);
  }
  std::vector<Index> q_shape{q_heads, t_q, d}, kv_shape{p.kv_heads, p.longest, d};
  if (parameters.has_value("lengths")) {
    q_shape.insert(q_shape.begin(), sequences);
    kv_shape.insert(kv_shape.begin(), sequences);
  }
  Index kv_rows = sequences * p.kv_heads * p.longest;
  if (p.paged) {
    kv_shape = {p.paged->blocks, p.kv_heads, p.flash.tile, d};
    kv_rows = p.paged->blocks * p.kv_heads * p.flash.tile;
  }
  const command::Shape q_matrix{sequences * q_heads * t_q, d}, kv_matrix{kv_rows, d};
  Instance instance;
  instance.tensors = {{"q", q_shape, q_matrix, dtype, Direction::in},
                      {"k", kv_shape, kv_matrix, dtype, Direction::in},
                      {"v", kv_shape, kv_matrix, dtype, Direction::in},
                      {"out", q_shape, q_matrix, dtype, Direction::out}};
  instance.body = [p](tl::Context& tl, const std::vector<tl::Tensor>& bound) { run(tl, p, bound); };
  instance.reference = [p](const HostTensors& inputs) { return reference(p, inputs); };
  instance.tiles = static_cast<std::uint64_t>(tiles * p.kv_heads);
  return instance;
}

}  // namespace

Kernel gqa_decode() {
  constexpr Index kMaxBlocks = Index{1} << 30;
  Kernel kernel;
  kernel.name = "gqa_decode";
  kernel.summary = "flash-decode attention of grouped query heads over a K/V cache";
  kernel.parameters = {
      flash_variant(),
      integer("g", 8, "query heads of one KV head", 1, 65536).gives_way_to("heads"),
      integer("d", 128, "entries of a head", 1, 65536),
      integer("s_kv", 4096, "tokens in the K/V cache", 1, Index{1} << 40).gives_way_to("lengths"),
      integer("tile", 64, "tokens of a tile", 1, 65536),
      integer("t_q", 1, "query tokens", 1, 65536),
      integer("kv_heads", 1, "KV heads, one after the other", 1, 65536),
      flash_dtype(),
      choice("stats", "f32", "of m, l and O", {"f32", "f16"}),
      optional_integer("heads", "query heads in all, instead of g", 1, Index{1} << 32),
      list("lengths", "tokens of each sequence of a batch, one after the other, instead of s_kv", 0,
           Index{1} << 30),
      choice("kv", "contiguous", "how K and V lie: contiguous, or paged in blocks of a tile",
             {"contiguous", "paged"}),
      list("block_table",
           "paged: the block of each tile, sequence after sequence; identity if not given", 0,
           kMaxBlocks - 1, {"identity", "reversed"}),
      optional_integer("blocks", "paged: blocks in the pool; as many as tiles if not given", 1,
                       kMaxBlocks),
  };
  kernel.make = make;
  return kernel;
}

}  // namespace kernbench::kernels
