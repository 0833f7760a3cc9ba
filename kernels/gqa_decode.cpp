// SPDX-License-Identifier: Apache-2.0
#include "kernels/gqa_decode.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "kernels/flash_attention.hpp"
#include "kernels/split_decode.hpp"
#include "tlm_if/command/error.hpp"

namespace kernbench::kernels {
namespace {

/// The blocks of a paged cache: tile n of the batch, counted sequence after sequence, is in block
/// number block(n) of the pool.
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
  Index rows = 0;  ///< of one KV head: g * t_q
  Index kv_heads = 0;
  std::vector<Sequence> batch;
  Index longest = 0;                ///< of the sequences
  std::optional<BlockTable> paged;  ///< none: the cache is contiguous
  Groups split;  ///< a group takes every split.count-th KV head, its programs consecutive tiles
  bool as_chain = false;

  Index sequences() const { return static_cast<Index>(batch.size()); }
  Index length(Index sequence) const { return batch[static_cast<std::size_t>(sequence)].length; }
  Index tiles(Index length) const { return ceil_div(length, flash.tile); }
  TileSplit shares(Index sequence) const { return {tiles(length(sequence)), split.members()}; }
  /// In the pool, of tile `tile` of a sequence.
  Index block(Index sequence, Index tile) const {
    return paged->block(batch[static_cast<std::size_t>(sequence)].first_tile + tile);
  }
  /// In k and v, of token `token` of a sequence.
  Index cache_row(Index sequence, Index head, Index token) const {
    if (!paged) return (sequence * kv_heads + head) * longest + token;
    return (block(sequence, token / flash.tile) * kv_heads + head) * flash.tile +
           token % flash.tile;
  }
  /// In q and out, the first one of a head.
  Index query_row(Index sequence, Index head) const { return (sequence * kv_heads + head) * rows; }
  std::vector<Index> heads(Index group) const {
    std::vector<Index> heads;
    for (Index head = group; head < kv_heads; head += split.count) heads.push_back(head);
    return heads;
  }
};

/// What one program computes, and the parts of the tensors that it holds.
class Share {
 public:
  Share(const Decode& p, Index program)
      : p_(p),
        place_(program % p.split.members()),
        group_(program / p.split.members()),
        heads_(p.heads(group_)) {
    for (Index sequence = 0, row = 0; sequence < p.sequences(); ++sequence) {
      first_row_.push_back(row);
      row += head_count() * tokens(sequence);
      const auto [first, count] = tiles(sequence);
      for (Index j = first; p.paged && j < first + count; ++j) {
        blocks_.push_back(p.block(sequence, j));
      }
    }
    std::sort(blocks_.begin(), blocks_.end());
  }

  Index place() const { return place_; }
  Index head_count() const { return static_cast<Index>(heads_.size()); }

  /// Of a sequence.
  Tiles tiles(Index sequence) const { return p_.shares(sequence).of(place_); }
  Index tokens(Index sequence) const {
    const auto [first, count] = tiles(sequence);
    if (count == 0) return 0;
    return std::min(count * p_.flash.tile, p_.length(sequence) - first * p_.flash.tile);
  }

  Shard queries() const {
    Shard shard;
    for (Index sequence = 0; sequence < p_.sequences(); ++sequence) {
      for (const Index head : heads_) shard.rows.push_back({p_.query_row(sequence, head), p_.rows});
    }
    return shard;
  }
  /// In the program's part of q and out, where its heads follow one after the other.
  Index query_row(Index sequence, Index i) const { return (sequence * head_count() + i) * p_.rows; }

  /// The tokens that it visits, or for a paged cache its blocks, in the order of the pool.
  Shard cache() const {
    Shard shard;
    if (p_.paged) {
      for (const Index block : blocks_) {
        for (const Index head : heads_) {
          shard.rows.push_back({(block * p_.kv_heads + head) * p_.flash.tile, p_.flash.tile});
        }
      }
      return shard;
    }
    for (Index sequence = 0; sequence < p_.sequences(); ++sequence) {
      if (tokens(sequence) == 0) continue;
      const Index first = tiles(sequence).first * p_.flash.tile;
      for (const Index head : heads_) {
        shard.rows.push_back({p_.cache_row(sequence, head, first), tokens(sequence)});
      }
    }
    return shard;
  }
  /// In the program's part of k and v, where tile j of its share of its i-th head starts.
  Index cache_row(Index sequence, Index i, Index j) const {
    const auto head = heads_[static_cast<std::size_t>(i)];
    if (p_.split.programs() == 1) return p_.cache_row(sequence, head, j * p_.flash.tile);
    if (!p_.paged) {
      return first_row_[static_cast<std::size_t>(sequence)] + i * tokens(sequence) +
             j * p_.flash.tile;
    }
    const Index block = p_.block(sequence, tiles(sequence).first + j);
    const auto at = std::lower_bound(blocks_.begin(), blocks_.end(), block) - blocks_.begin();
    return (static_cast<Index>(at) * head_count() + i) * p_.flash.tile;
  }

 private:
  const Decode& p_;
  Index place_, group_;
  std::vector<Index> heads_;
  std::vector<Index> first_row_;  // of a sequence, in the program's part of a contiguous cache
  std::vector<Index> blocks_;     // of a paged one, ascending
};

/// The state of the program's tokens of one sequence and head.
FlashState attend(tl::Context& tl, const Decode& p, const Share& share,
                  const std::vector<tl::Tensor>& bound, Index sequence, Index i) {
  const Index tokens = share.tokens(sequence);
  FlashCache cache{bound[1], bound[2], tokens, share.tiles(sequence).count};
  if (p.paged) {
    cache.first_row = [&](Index j) { return share.cache_row(sequence, i, j); };
  } else {
    cache.k = bound[1].rows(share.cache_row(sequence, i, 0), tokens);
    cache.v = bound[2].rows(share.cache_row(sequence, i, 0), tokens);
  }
  return flash_attend(tl, p.flash, cache, bound[0].rows(share.query_row(sequence, i), p.rows));
}

/// Merges the states of the team, to which the program belongs, into place 0. They are sent in f32,
/// whatever `stats` is.
FlashState merge(tl::Context& tl, const Decode& p, const Team& team, FlashState state) {
  auto region = tl.region("merge");
  if (p.flash.stats != DType::f32) {
    state = {tl.copy(state.m, tl::f32), tl.copy(state.l, tl::f32), tl.copy(state.O, tl::f32)};
  }
  const TreeLinks links = p.as_chain ? chain(team) : binomial_tree(team);
  merge_states(tl, team, links, state, receive_states(tl, team, links, p.rows, p.flash.d));
  return state;
}

void run(tl::Context& tl, const Decode& p, const std::vector<tl::Tensor>& bound) {
  const Share share(p, tl.program());
  for (Index sequence = 0; sequence < p.sequences(); ++sequence) {
    for (Index i = 0; i < share.head_count(); ++i) {
      auto scope = tl.scratch_scope();
      if (p.length(sequence) == 0) {  // nothing to attend to: zeros
        if (share.place() > 0) continue;
        const auto zeros = tl.zeros({p.rows, p.flash.d}, p.flash.dtype);
        tl.store(bound[3].rows(share.query_row(sequence, i), p.rows), zeros);
        continue;
      }
      const Team team = p.shares(sequence).takers(p.split.team(tl.program()));
      if (team.place >= team.size()) continue;
      FlashState state = attend(tl, p, share, bound, sequence, i);
      if (team.size() > 1) state = merge(tl, p, team, state);
      if (team.place > 0) continue;
      const auto out = tl.div_bcast(state.O, state.l, p.flash.dtype);
      tl.store(bound[3].rows(share.query_row(sequence, i), p.rows), out);
      tl.observe("m", state.m);
      tl.observe("l", state.l);
      tl.observe("O", state.O);
    }
  }
}

/// Computed in the order in which the results are observed: group after group, then in time.
Reference reference(const Decode& p, const HostTensors& inputs) {
  FlashReference reference(inputs, p.flash);
  std::vector<Index> first_rows;  // of q and out
  for (Index group = 0; group < p.split.count; ++group) {
    for (Index sequence = 0; sequence < p.sequences(); ++sequence) {
      for (const Index head : p.heads(group)) {
        first_rows.push_back(p.query_row(sequence, head));
        for (Index row = first_rows.back(); row < first_rows.back() + p.rows; ++row) {
          if (p.length(sequence) == 0) {
            reference.add_empty_row();
            continue;
          }
          // Query head i uses KV head i / g (R13.3).
          reference.add_row(row, p.length(sequence),
                            [&](Index token) { return p.cache_row(sequence, head, token); });
        }
      }
    }
  }
  Reference result = reference.result();
  const std::vector<double> observed = std::move(result.outputs["out"]);
  std::vector<double> out(observed.size());
  const Index entries = p.rows * p.flash.d;
  for (std::size_t i = 0; i < first_rows.size(); ++i) {
    std::copy_n(observed.begin() + static_cast<Index>(i) * entries, entries,
                out.begin() + first_rows[i] * p.flash.d);
  }
  result.outputs["out"] = std::move(out);
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
        "heads={} is not a multiple of kv_heads={}, and every KV head serves the same number of "
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
        "block_table has {} entries and the batch {} tiles; give one per tile, sequence after "
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

/// As many groups as the machine holds, but at most one per head.
Groups split_of(const Parameters& parameters, const tl::Target& target) {
  const Index c = parameters.integer("c"), p = parameters.integer("p");
  check_group("gqa_decode", c, p, target);
  return {std::min(parameters.integer("kv_heads"), groups_on(target, c, p)), c, p};
}

Instance make(const Parameters& parameters, const tl::Target& target) {
  const Index g = group(parameters), t_q = parameters.integer("t_q");
  const DType dtype = parameters.dtype("dtype");
  Decode p;
  p.flash.variant = parameters.choice("variant");
  p.flash.d = parameters.integer("d");
  p.flash.tile = parameters.integer("tile");
  p.flash.dtype = dtype;
  p.flash.stats = parameters.dtype("stats");
  p.rows = g * t_q;
  p.kv_heads = parameters.integer("kv_heads");
  p.split = split_of(parameters, target);
  p.as_chain = parameters.choice("merge") == "chain";
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
  if (p.split.programs() > 1) {
    instance.tensors[0].shard = [p](Index program) { return Share(p, program).queries(); };
    instance.tensors[1].shard = [p](Index program) { return Share(p, program).cache(); };
    instance.tensors[2].shard = instance.tensors[1].shard;
    instance.tensors[3].shard = [p](Index program) {
      const Share share(p, program);
      return share.place() == 0 ? share.queries() : Shard{};
    };
  }
  instance.grid = {p.split.count, p.split.c, p.split.p};
  instance.pes = p.split.pes(target);
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
      integer("kv_heads", 1,
              "KV heads, over the groups of c * p programs; those of a group one after the other",
              1, 65536),
      flash_dtype(),
      choice("stats", "f32", "dtype of m, l and O", {"f32", "f16"}),
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
      integer("c", 1, "cubes that work on one KV head", 1, 65536),
      integer("p", 1, "PEs of each of them", 1, 65536),
      choice("merge", "tree", "how the states of those c * p programs become one",
             {"tree", "chain"}),
  };
  kernel.make = make;
  return kernel;
}

}  // namespace kernbench::kernels
