// SPDX-License-Identifier: Apache-2.0
#include "kernels/llama.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "kernels/collectives.hpp"
#include "kernels/llama_model.hpp"
#include "kernels/shapes.hpp"
#include "kernels/shards.hpp"
#include "tlm_if/command/error.hpp"

namespace kernbench::kernels {

Tokens Llama::tokens(Index place) const {
  const Tiles from_end = shares().of(place);
  const Index end = shares().tiles - from_end.first;
  const Index first = (end - from_end.count) * flash.tile;
  return {first, std::min(end * flash.tile, s_kv) - first};
}

namespace {

/// Places in Instance::tensors.
enum class Argument : std::uint8_t {
  x,
  attention_norm,
  wqkv,
  k,
  v,
  wo,
  mlp_norm,
  wgate,
  wup,
  wdown,
  out,
};

/// Copies in one composite, so that PE_CPU continues while they wait for what they read (R6.11).
class Copies {
 public:
  void add(const tl::Tensor& from, const tl::Tensor& to) { add("copy", {{"src", from}}, to); }
  /// An op to come before them.
  void add(const char* op, tl::Arguments arguments, const tl::Tensor& out) {
    if (ops_) {
      ops_->then(op, std::move(arguments)).out(out);
    } else {
      ops_.emplace(op, std::move(arguments)).out(out);
    }
  }
  void issue(tl::Context& tl) const { tl.composite(*ops_); }

 private:
  std::optional<tl::MathBuilder> ops_;
};

/// In the order of their PEs, so that neighbours in a tree or a ring are near each other.
Team everyone_by_pe(const tl::Context& tl) {
  Team team = everyone(tl);
  const auto& pes = tl.target().pes;
  const auto pe = [&](Index program) { return pes[static_cast<std::size_t>(program)]; };
  std::sort(team.programs.begin(), team.programs.end(),
            [&](Index x, Index y) { return pe(x) < pe(y); });
  const auto own = std::find(team.programs.begin(), team.programs.end(), tl.program());
  team.place = own - team.programs.begin();
  return team;
}

/// One program. A phase begins when the previous phase has ended, so that the times of their
/// regions add up. The dispatch that could be hidden behind the previous phase is small.
class Decoder {
 public:
  Decoder(tl::Context& tl, const Llama& p, const std::vector<tl::Tensor>& bound)
      : tl_(tl),
        p_(p),
        bound_(bound),
        all_(everyone_by_pe(tl)),
        group_(p.groups.team(tl.program())),
        takers_(p.shares().takers(group_)),
        tokens_(p.tokens(group_.place)) {}

  void run() {
    x_ = tl_.load(bound(Argument::x)).named("x");
    gamma_ = tl_.load(norm(Argument::attention_norm, 0)).named("gamma");
    tl_.wait({x_, gamma_});
    {
      auto loop = tl_.region("loop");
      for (Index l = 0; l < p_.layers; ++l) layer(l);
    }
    if (tl_.program() == 0) tl_.store(bound(Argument::out), x_);
  }

 private:
  bool is_root() const { return group_.place == 0; }
  const tl::Tensor& bound(Argument argument) const {
    return bound_[static_cast<std::size_t>(argument)];
  }
  tl::Tensor norm(Argument argument, Index l) const { return bound(argument).rows(l, 1); }
  tl::Tensor panel(Argument weight, const Panels& panels, Index l, Index j) const {
    return bound(weight).rows((l * panels.count + j) * p_.hidden, p_.hidden);
  }
  static tl::Tensor slice(const tl::Tensor& x, const Panels& panels, Index j) {
    return x.cols(j * panels.width, panels.width);
  }

  void layer(Index l) {
    const auto scope = tl_.scratch_scope();
    const auto y = tl_.empty({1, p_.hidden}, tl::f16).named("y");
    const auto attended = tl_.empty({1, p_.g() * p_.flash.d}, tl::f16).named("attended");
    attention(l, attended);
    const auto own = attended.cols(group_.place * p_.q_size(), p_.q_size());
    tl_.wait({own});
    {
      auto region = tl_.region("out_proj");
      multiply(own, Argument::wo, p_.out, l, y);
    }
    add_to_residual(y, norm(Argument::mlp_norm, l));
    mlp(l, y);
    const bool last = l + 1 == p_.layers;
    add_to_residual(y, last ? std::nullopt : std::optional(norm(Argument::attention_norm, l + 1)));
  }

  /// The group's heads of the new token: its q, (g, d). Place 0 adds its k and v to the cache.
  ///
  /// A member's columns form one record [q, k, v]. The records are sent to all members unchanged,
  /// in one message per edge of the tree, and are taken apart where they are needed.
  tl::Tensor project_qkv(Index l) {
    const auto q = tl_.empty({p_.g(), p_.flash.d}, tl::f16).named("q");
    const auto k = tl_.empty({1, p_.flash.d}, tl::f16).named("k_new");
    const auto v = tl_.empty({1, p_.flash.d}, tl::f16).named("v_new");
    const auto records = tl_.empty({1, group_.size() * p_.qkv.size()}, tl::f16).named("qkv");
    const auto own = records.cols(group_.place * p_.qkv.size(), p_.qkv.size());
    tl_.wait({x_});
    auto region = tl_.region("qkv");
    multiply_normalized(l, own);
    post_gather(tl_, group_, records);
    gather(tl_, group_, records);
    broadcast(tl_, group_, records);

    Copies copies;
    const Index d = p_.flash.d, q_size = p_.q_size(), kv_size = p_.kv_size();
    for (Index place = 0; place < group_.size(); ++place) {
      const auto record = records.cols(place * p_.qkv.size(), p_.qkv.size());
      for (Index at = 0, count = 0; at < q_size; at += count) {
        const Index entry = place * q_size + at;
        count = std::min(q_size - at, d - entry % d);
        copies.add(record.cols(at, count), q.rows(entry / d, 1).cols(entry % d, count));
      }
      if (!is_root()) continue;
      copies.add(record.cols(q_size, kv_size), k.cols(place * kv_size, kv_size));
      copies.add(record.cols(q_size + kv_size, kv_size), v.cols(place * kv_size, kv_size));
    }
    copies.issue(tl_);
    if (is_root()) {
      const Index row = (l + 1) * tokens_.count - 1;
      tl_.store(bound(Argument::k).rows(row, 1), k);
      tl_.store(bound(Argument::v).rows(row, 1), v);
    }
    return q;
  }

  /// out = rmsnorm(x) * wqkv, panel by panel; as one composite if there is one panel.
  void multiply_normalized(Index l, const tl::Tensor& out) {
    if (p_.qkv.count == 1) {
      tl_.composite(tl::gemm()
                        .b(panel(Argument::wqkv, p_.qkv, l, 0))
                        .out(out)
                        .prologue(tl::rmsnorm_linear(x_, gamma_)));
      return;
    }
    const auto scope = tl_.scratch_scope();
    const auto xn = tl_.composite(tl::recipe(tl::rmsnorm_linear(x_, gamma_)));
    for (Index j = 0; j < p_.qkv.count; ++j) {
      tl_.composite(tl::gemm(xn, panel(Argument::wqkv, p_.qkv, l, j)).out(slice(out, p_.qkv, j)));
    }
  }

  /// The member's entries of the group's heads, in its place of `out` (1, g * d).
  void attention(Index l, const tl::Tensor& out) {
    const auto scope = tl_.scratch_scope();
    const auto q = project_qkv(l);
    if (tokens_.count == 0) {  // R4.9: nothing for an empty share
      tl_.wait({q});
      auto region = tl_.region("merge");
      scatter(tl_, group_, out);
      return;
    }
    const Index g = p_.g(), d = p_.flash.d;
    const FlashState state = attend(l, q);
    const TreeLinks links = binomial_tree(takers_);
    const auto parts = receive_states(tl_, takers_, links, g, d);
    tl_.wait({state.m, state.l, state.O});
    auto region = tl_.region("merge");
    merge_states(tl_, takers_, links, state, parts);
    if (is_root()) {
      const auto divided = tl_.empty({g, d}, tl::f16).named("divided");
      Copies copies;
      copies.add("div_bcast", {{"src_a", state.O}, {"src_b", state.l}}, divided);
      for (Index row = 0; row < g; ++row) copies.add(divided.rows(row, 1), out.cols(row * d, d));
      copies.issue(tl_);
    }
    scatter(tl_, group_, out);
  }

  FlashState attend(Index l, const tl::Tensor& q) {
    const auto cached = [&](Argument tensor) {
      return bound(tensor).rows(l * tokens_.count, tokens_.count);
    };
    const Index tiles = ceil_div(tokens_.count, p_.flash.tile);
    return flash_attend(tl_, p_.flash,
                        {cached(Argument::k), cached(Argument::v), tokens_.count, tiles}, q);
  }

  /// The program's part of out = a * w, for a weight that is split by rows. It is rounded to f16
  /// after each panel.
  void multiply(const tl::Tensor& a, Argument weight, const Panels& panels, Index l,
                const tl::Tensor& out) {
    for (Index j = 0; j < panels.count; ++j) {
      auto gemm = tl::gemm(slice(a, panels, j), panel(weight, panels, l, j).t()).out(out);
      if (j > 0) gemm.epilogue(tl::add(out));
      tl_.composite(gemm);
    }
  }

  /// x += the sum of the programs' y. `next_gamma` is loaded meanwhile, since the DMA is idle.
  void add_to_residual(const tl::Tensor& y, const std::optional<tl::Tensor>& next_gamma) {
    tl_.wait({y});
    auto region = tl_.region("all_reduce");
    if (next_gamma) tl_.load(*next_gamma, gamma_);
    if (p_.ring) {
      all_reduce_ring(tl_, all_, y);
    } else {
      all_reduce_tree(tl_, all_, y);
    }
    tl_.composite(tl::math("add", {{"src_a", x_}, {"src_b", y}}).out(x_));
  }

  /// The program's part of y. A panel of h waits only for the same panel of gate, while the DMA
  /// streams the next panel.
  void mlp(Index l, const tl::Tensor& y) {
    const auto scope = tl_.scratch_scope();
    const auto h = tl_.empty({1, p_.up.size()}, tl::f16).named("h");
    const auto xn = tl_.empty({1, p_.hidden}, tl::f16).named("xn");
    tl_.wait({x_});
    auto region = tl_.region("mlp");
    tl_.composite(tl::recipe(tl::rmsnorm_linear(x_, gamma_)).out(xn));
    for (Index j = 0; j < p_.up.count; ++j) {
      tl_.composite(tl::gemm(xn, panel(Argument::wgate, p_.up, l, j))
                        .out(slice(h, p_.up, j))
                        .epilogue(tl::silu()));
    }
    for (Index j = 0; j < p_.up.count; ++j) {
      const auto h_j = slice(h, p_.up, j);
      tl_.composite(
          tl::gemm(xn, panel(Argument::wup, p_.up, l, j)).out(h_j).epilogue(tl::mul(h_j)));
    }
    multiply(h, Argument::wdown, p_.down, l, y);
  }

  tl::Context& tl_;
  const Llama& p_;
  const std::vector<tl::Tensor>& bound_;
  Team all_, group_;
  Team takers_;  // of the group, those with tokens of the cache
  Tokens tokens_;
  tl::Tensor x_, gamma_;
};

// ---- tensors ----------------------------------------------------------------------------------

/// The program's panels of every layer.
TensorSpec weight(const Llama& p, std::string name, const Panels& panels, Index fan_in) {
  TensorSpec spec;
  spec.name = std::move(name);
  spec.file_shape = {p.layers, p.programs() * panels.count, p.hidden, panels.width};
  spec.shape = {p.layers * p.programs() * panels.count * p.hidden, panels.width};
  // Products keep the size of their inputs.
  spec.synthetic_scale = 1 / std::sqrt(static_cast<double>(fan_in));
  const Index rows = panels.count * p.hidden;
  spec.shard = [layers = p.layers, programs = p.programs(), rows](Index program) {
    Shard shard;
    for (Index l = 0; l < layers; ++l) {
      shard.rows.push_back({(l * programs + program) * rows, rows});
    }
    return shard;
  };
  return spec;
}

TensorSpec cache(const Llama& p, std::string name) {
  TensorSpec spec;
  spec.name = std::move(name);
  spec.file_shape = {p.layers, p.kv_heads, p.s_kv, p.flash.d};
  spec.shape = {p.layers * p.kv_heads * p.s_kv, p.flash.d};
  spec.shard = [p](Index program) {
    const Tokens tokens = p.tokens(program % p.groups.members());
    Shard shard;
    for (Index l = 0; l < p.layers && tokens.count > 0; ++l) {
      const Index head = l * p.kv_heads + program / p.groups.members();
      shard.rows.push_back({head * p.s_kv + tokens.first, tokens.count});
    }
    return shard;
  };
  return spec;
}

/// In the order of Argument.
std::vector<TensorSpec> tensors_of(const Llama& p) {
  TensorSpec out = matrix("out", 1, p.hidden, Direction::out);
  out.shard = whole_on(1, 0);
  return {matrix("x", 1, p.hidden, Direction::in),
          matrix("attention_norm", p.layers, p.hidden, Direction::in),
          weight(p, "wqkv", p.qkv, p.hidden),
          cache(p, "k"),
          cache(p, "v"),
          weight(p, "wo", p.out, p.heads * p.flash.d),
          matrix("mlp_norm", p.layers, p.hidden, Direction::in),
          weight(p, "wgate", p.up, p.hidden),
          weight(p, "wup", p.up, p.hidden),
          weight(p, "wdown", p.down, p.ffn),
          out};
}

// ---- parameters -------------------------------------------------------------------------------

template <class... Args>
[[noreturn]] void refuse(std::string_view kernel, fmt::format_string<Args...> format,
                         Args&&... args) {
  throw InputError(fmt::format("{}: {}", kernel, fmt::format(format, std::forward<Args>(args)...)));
}

/// The smallest number of panels of equal width.
Panels panels_of(Index size, Index max_width) {
  Panels panels{ceil_div(size, max_width), 0};
  while (size % panels.count != 0) ++panels.count;
  panels.width = size / panels.count;
  return panels;
}

/// Checks that everything divides evenly between the programs.
bool divides(const Llama& p) {
  return p.ffn % p.programs() == 0 && p.flash.d % p.groups.members() == 0;
}

void check_division(std::string_view kernel, const Llama& p) {
  const Groups& groups = p.groups;
  if (p.ffn % p.programs() != 0) {
    refuse(
        kernel,
        "ffn={} is not a multiple of the {} programs, kv_heads={} * c={} * p={}; give a multiple, "
        "or other c and p",
        p.ffn, p.programs(), p.kv_heads, groups.c, groups.p);
  }
  if (p.flash.d % groups.members() != 0) {
    refuse(
        kernel,
        "d={} is not a multiple of the {} programs of a KV head, c={} * p={}; give a multiple, or "
        "other c and p",
        p.flash.d, groups.members(), groups.c, groups.p);
  }
}

/// c and p as given. If one is not given, groups are as large as the machine and the division
/// allow, in as few cubes as possible.
Groups groups_of(std::string_view kernel, const Parameters& parameters, const tl::Target& target,
                 Llama p) {
  const auto given = [&](const char* name) {
    return parameters.has_value(name) ? std::optional(parameters.integer(name)) : std::nullopt;
  };
  const auto c = given("c"), pes = given("p");
  p.groups = {p.kv_heads, c.value_or(1), pes.value_or(1)};
  check_group(kernel, p.groups.c, p.groups.p, target);
  if (const Index fit = groups_on(target, p.groups.c, p.groups.p); fit < p.kv_heads) {
    refuse(kernel,
           "kv_heads={} take a group of c={} cubes with p={} PEs each, and the topology holds {}; "
           "give fewer or smaller ones, or a larger topology",
           p.kv_heads, p.groups.c, p.groups.p, fit);
  }
  Groups largest = p.groups;
  for (Index cubes = c.value_or(1); cubes <= c.value_or(target.cubes_per_sip); ++cubes) {
    for (Index each = pes.value_or(1); each <= pes.value_or(target.pes_per_cube); ++each) {
      p.groups = {p.kv_heads, cubes, each};
      if (groups_on(target, cubes, each) < p.kv_heads || !divides(p)) continue;
      if (p.groups.members() > largest.members()) largest = p.groups;
    }
  }
  return largest;
}

Instance make(std::string_view kernel, const Parameters& parameters, const tl::Target& target,
              Index layers) {
  Llama p;
  p.layers = layers;
  p.hidden = parameters.integer("hidden");
  p.heads = parameters.integer("heads");
  p.kv_heads = parameters.integer("kv_heads");
  p.ffn = parameters.integer("ffn");
  p.s_kv = parameters.integer("s_kv");
  p.flash.variant = parameters.choice("variant");
  p.flash.d = parameters.integer("d");
  p.flash.tile = parameters.integer("tile");
  p.flash.region = "attention";
  p.ring = parameters.choice("all_reduce") == "ring";
  if (p.heads % p.kv_heads != 0) {
    refuse(kernel, "heads={} is not a multiple of kv_heads={}; give a multiple", p.heads,
           p.kv_heads);
  }
  p.groups = groups_of(kernel, parameters, target, p);
  check_division(kernel, p);
  const Index ffn = p.ffn / p.programs();
  p.qkv = panels_of(p.q_size() + 2 * p.kv_size(), target.tile_n);
  p.out = panels_of(p.q_size(), target.tile_k);
  p.up = panels_of(ffn, target.tile_n);
  p.down = panels_of(ffn, target.tile_k);

  Instance instance;
  instance.tensors = tensors_of(p);
  instance.body = [p](tl::Context& tl, const std::vector<tl::Tensor>& bound) {
    Decoder(tl, p, bound).run();
  };
  instance.reference = [p](const HostTensors& inputs) { return reference(p, inputs); };
  instance.grid = {p.groups.count, p.groups.c, p.groups.p};
  instance.pes = p.groups.pes(target);
  instance.tiles = static_cast<std::uint64_t>(p.layers * p.programs());
  return instance;
}

std::vector<Parameter> model_parameters() {
  return {
      integer("s_kv", 4096, "tokens in the K/V cache of each layer, the new one included", 1,
              Index{1} << 30),
      integer("hidden", 8192, "entries of x: the model's width", 1, kMaxDim),
      integer("heads", 64, "query heads", 1, 65536),
      integer("kv_heads", 8, "KV heads; a group of c * p programs for each", 1, 65536),
      integer("d", 128, "entries of a head", 1, 65536),
      integer("ffn", 28672, "hidden width of the mlp", 1, kMaxDim),
      integer("tile", 128, "tokens of a tile", 1, 65536),
      flash_variant(),
      optional_integer("c", "cubes of a group; if not given, as many as the machine has for each",
                       1, 65536),
      optional_integer("p", "PEs of each of them, likewise", 1, 65536),
      choice("all_reduce", "tree", "whole rows up and down a binomial tree, or chunks round a ring",
             {"tree", "ring"}),
  };
}

}  // namespace

Kernel llama_layer() {
  Kernel kernel;
  kernel.name = "llama_layer";
  kernel.summary = "a transformer decoder layer for one token, tensor-parallel over all PEs";
  kernel.parameters = model_parameters();
  kernel.make = [](const Parameters& parameters, const tl::Target& target) {
    return make("llama_layer", parameters, target, 1);
  };
  return kernel;
}

Kernel llama_decode_step() {
  constexpr Index kMaxLayers = 4096;
  Kernel kernel;
  kernel.name = "llama_decode_step";
  kernel.summary = "the decoder layers of a model for one token, one after the other";
  kernel.parameters = model_parameters();
  kernel.parameters.insert(
      kernel.parameters.begin(),
      integer("layers", 80, "layers, each with its own weights and cache", 1, kMaxLayers));
  kernel.make = [](const Parameters& parameters, const tl::Target& target) {
    return make("llama_decode_step", parameters, target, parameters.integer("layers"));
  };
  return kernel;
}

}  // namespace kernbench::kernels
