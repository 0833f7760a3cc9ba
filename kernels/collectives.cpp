// SPDX-License-Identifier: Apache-2.0
#include "kernels/collectives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "kernels/error_bound.hpp"
#include "kernels/shapes.hpp"
#include "tlm_if/command/error.hpp"

namespace kernbench::kernels {
namespace {

/// The hulls of column slices of several rows overlap (R3.3): their messages would wait for each
/// other.
void check_one_row(const char* name, const tl::Tensor& x) {
  if (x.shape().rows() == 1) return;
  throw InputError(fmt::format("{}: {} has {} rows; give a tensor (n,) or (1, n)", name,
                               x.handle().describe(), x.shape().rows()));
}

/// `entries` of them, of the rank of x.
command::Shape shape_of(const tl::Tensor& x, Index entries) {
  return x.shape().rank() == 1 ? command::Shape{entries} : command::Shape{1, entries};
}

/// sum += other, as a composite, so that PE_CPU does not wait until `other` has arrived (R6.11).
void accumulate(tl::Context& tl, const tl::Tensor& sum, const tl::Tensor& other) {
  tl.composite(tl::math("add", {{"src_a", sum}, {"src_b", other}}).out(sum));
}

/// Two slots, so that the next receive need not wait for the current sum.
constexpr std::size_t kSlots = 2;

/// The ring: in step s place i sends chunk i - s to place i + 1 and gets chunk i - s - 1, which it
/// sends in step s + 1. A chunk is as many messages as it takes; they are numbered through all
/// steps, and that of number t is sent on as number t + messages of a chunk.
class RingPass {
 public:
  RingPass(tl::Context& tl, const Team& team, const tl::Tensor& x, Index message)
      : tl_(tl),
        team_(team),
        x_(x),
        entries_(x.shape().cols()),
        per_chunk_(ceil_div(ceil_div(entries_, team.size()), message)),
        pieces_(team.size() * per_chunk_) {}

  /// The first `adding` steps add what they receive; the others copy it.
  void run(Index steps, Index adding) {
    if (adding > 0) {
      slots_.emplace(
          tl_.ring<kSlots>(shape_of(x_, ceil_div(entries_, pieces_)), x_.dtype(), "slot"));
    }
    adding_ = adding * per_chunk_;
    count_ = steps * per_chunk_;
    // A receive into x is issued after the send of the bytes there, since kSlots <= pieces_.
    constexpr auto kAhead = static_cast<Index>(kSlots);
    for (Index t = 0; t < per_chunk_; ++t) send(t);
    for (Index t = 0; t < kAhead; ++t) receive(t);
    for (Index t = 0; t < count_; ++t) {
      if (t < adding_) add(t);
      send(t + per_chunk_);
      receive(t + kAhead);
    }
  }

 private:
  /// A piece of x; none if it is empty.
  std::optional<tl::Tensor> piece(Index chunk, Index t) const {
    const Index n = team_.size();
    const Index number = (chunk % n + n) % n * per_chunk_ + t % per_chunk_;
    const Index begin = number * entries_ / pieces_, end = (number + 1) * entries_ / pieces_;
    if (begin == end) return std::nullopt;
    return x_.cols(begin, end - begin);
  }
  std::optional<tl::Tensor> sent(Index t) const { return piece(team_.place - t / per_chunk_, t); }
  std::optional<tl::Tensor> received(Index t) const {
    return piece(team_.place - t / per_chunk_ - 1, t);
  }
  tl::Tensor slot(Index t, const tl::Tensor& like) const {
    return (*slots_)[t].first(like.shape());
  }

  void send(Index t) {
    if (t >= count_) return;
    if (const auto data = sent(t)) tl_.send(team_.program(team_.place + 1), *data);
  }
  void receive(Index t) {
    if (t >= count_) return;
    const auto data = received(t);
    if (!data) return;
    tl_.recv(team_.program(team_.place - 1), t < adding_ ? slot(t, *data) : *data);
  }
  void add(Index t) {
    if (const auto data = received(t)) accumulate(tl_, *data, slot(t, *data));
  }

  tl::Context& tl_;
  const Team& team_;
  const tl::Tensor& x_;
  Index entries_, per_chunk_, pieces_;
  Index adding_ = 0, count_ = 0;  // messages
  std::optional<tl::Ring<kSlots>> slots_;
};

void reduce_to_root(tl::Context& tl, const Team& team, const tl::Tensor& x) {
  const TreeLinks links = binomial_tree(team);
  if (!links.children.empty()) {
    const auto slots = tl.ring<kSlots>(x.shape(), x.dtype(), "slot");
    const auto count = static_cast<Index>(links.children.size());
    const auto receive = [&](Index i) {
      if (i >= count) return;
      tl.recv(team.program(links.children[static_cast<std::size_t>(i)]), slots[i]);
    };
    for (Index i = 0; i < static_cast<Index>(kSlots); ++i) receive(i);
    for (Index i = 0; i < count; ++i) {
      accumulate(tl, x, slots[i]);
      receive(i + static_cast<Index>(kSlots));
    }
  }
  if (links.parent) tl.send(team.program(*links.parent), x);
}

}  // namespace

Team everyone(const tl::Context& tl) {
  Team team;
  for (Index i = 0; i < tl.programs(); ++i) team.programs.push_back(i);
  team.place = tl.program();
  return team;
}

TreeLinks binomial_tree(const Team& team) {
  TreeLinks links;
  for (Index s = 1; s < team.size(); s *= 2) {
    if (team.place % (2 * s) == s) {
      links.parent = team.place - s;
      break;
    }
    if (team.place + s < team.size()) links.children.push_back(team.place + s);
  }
  return links;
}

TreeLinks chain(const Team& team) {
  TreeLinks links;
  if (team.place > 0) links.parent = team.place - 1;
  if (team.place + 1 < team.size()) links.children.push_back(team.place + 1);
  return links;
}

void all_reduce_ring(tl::Context& tl, const Team& team, const tl::Tensor& x, Index message) {
  check_one_row("all_reduce_ring", x);
  if (team.size() == 1) return;
  const auto scope = tl.scratch_scope();
  RingPass(tl, team, x, message).run(2 * (team.size() - 1), team.size() - 1);
}

void all_reduce_tree(tl::Context& tl, const Team& team, const tl::Tensor& x) {
  check_one_row("all_reduce_tree", x);
  const auto scope = tl.scratch_scope();
  reduce_to_root(tl, team, x);
  broadcast(tl, team, x);
}

void all_gather_ring(tl::Context& tl, const Team& team, const tl::Tensor& x, Index message) {
  check_one_row("all_gather_ring", x);
  if (team.size() == 1) return;
  RingPass(tl, team, x, message).run(team.size() - 1, 0);
}

void broadcast(tl::Context& tl, const Team& team, const tl::Tensor& x) {
  check_one_row("broadcast", x);
  const TreeLinks links = binomial_tree(team);
  if (links.parent) tl.recv(team.program(*links.parent), x);
  // The largest subtree has the longest way to go.
  for (auto child = links.children.rbegin(); child != links.children.rend(); ++child) {
    tl.send(team.program(*child), x);
  }
}

namespace {

/// The chunks of the member at `place` and of those below it in a binomial tree, which are `step`
/// at most; none if they are empty.
std::optional<tl::Tensor> chunks_below(const Team& team, const tl::Tensor& x, Index place,
                                       Index step) {
  const Index n = team.size(), entries = x.shape().cols();
  const Index begin = place * entries / n, end = std::min(place + step, n) * entries / n;
  if (begin == end) return std::nullopt;
  return x.cols(begin, end - begin);
}

}  // namespace

void post_gather(tl::Context& tl, const Team& team, const tl::Tensor& x) {
  check_one_row("gather", x);
  for (const Index child : binomial_tree(team).children) {
    const auto data = chunks_below(team, x, child, child - team.place);
    if (data) tl.recv(team.program(child), *data);
  }
}

void gather(tl::Context& tl, const Team& team, const tl::Tensor& x) {
  const TreeLinks links = binomial_tree(team);
  if (!links.parent) return;
  const auto data = chunks_below(team, x, team.place, team.place - *links.parent);
  if (data) tl.send(team.program(*links.parent), *data);
}

void scatter(tl::Context& tl, const Team& team, const tl::Tensor& x) {
  check_one_row("scatter", x);
  const TreeLinks links = binomial_tree(team);
  if (links.parent) {
    const auto data = chunks_below(team, x, team.place, team.place - *links.parent);
    if (data) tl.recv(team.program(*links.parent), *data);
  }
  // The largest subtree has the longest way to go.
  for (auto child = links.children.rbegin(); child != links.children.rend(); ++child) {
    const auto data = chunks_below(team, x, *child, *child - team.place);
    if (data) tl.send(team.program(*child), *data);
  }
}

namespace {

Parameter programs_parameter() {
  return optional_integer("programs", "programs, on PEs 0, 1, ..; all PEs if not given", 1,
                          Index{1} << 24);
}

Parameter message_parameter() {
  return integer("message", kMessageEntries, "entries of a message of the ring, at most", 1,
                 kMaxDim);
}

/// What both kernels have in common: one row of x per program, and the columns of out.
struct Rows {
  Index programs, n;
  DType dtype;
};

Rows rows_of(std::string_view kernel, const Parameters& parameters, const tl::Target& target) {
  const Index pes = target.sips * target.cubes_per_sip * target.pes_per_cube;
  const Index programs = parameters.has_value("programs") ? parameters.integer("programs") : pes;
  if (programs > pes) {
    throw InputError(
        fmt::format("{}: programs={} are more than the {} of the topology; give at "
                    "most that many",
                    kernel, programs, pes == 1 ? "one PE" : fmt::format("{} PEs", pes)));
  }
  return {programs, parameters.integer("n"), parameters.dtype("dtype")};
}

/// `body` runs with the program's row of x and of out.
Instance instance_of(
    const Rows& p, Index out_cols,
    std::function<void(tl::Context&, const tl::Tensor& x, const tl::Tensor& out)> body) {
  const auto row_of = [](Index program) { return Shard{{{program, 1}}}; };
  Instance instance;
  instance.tensors = {matrix("x", p.programs, p.n, Direction::in),
                      matrix("out", p.programs, out_cols, Direction::out)};
  for (TensorSpec& tensor : instance.tensors) {
    tensor.dtype = p.dtype;
    tensor.shard = row_of;
  }
  instance.body = [body = std::move(body)](tl::Context& tl, const std::vector<tl::Tensor>& bound) {
    body(tl, bound[0], bound[1]);
  };
  instance.grid = {p.programs, 1, 1};
  instance.tiles = static_cast<std::uint64_t>(p.programs);
  return instance;
}

struct AllReduce {
  Rows rows;
  bool ring;
  Index message;

  /// The largest number of additions that a term passes through.
  Index depth() const {
    if (ring) return rows.programs - 1;
    Index depth = 0;
    while (Index{1} << depth < rows.programs) ++depth;
    return depth;
  }
};

void run(tl::Context& tl, const AllReduce& p, const tl::Tensor& x, const tl::Tensor& out) {
  const auto sum = tl.load(x);
  tl.wait({sum});
  {
    auto loop = tl.region("loop");
    if (p.ring) {
      all_reduce_ring(tl, everyone(tl), sum, p.message);
    } else {
      all_reduce_tree(tl, everyone(tl), sum);
    }
  }
  tl.store(out, sum);
}

/// In any order the error of a sum is at most one unit roundoff of the terms' magnitudes per
/// addition that they pass through. Each addition is computed in f32 and stored in the dtype; in
/// f16 that is exact below 2^-14.
Reference reference(const AllReduce& p, const HostTensors& inputs) {
  const std::vector<double>& x = inputs.at("x");
  const auto n = static_cast<std::size_t>(p.rows.n);
  const auto programs = static_cast<std::size_t>(p.rows.programs);
  const double roundoff = kRoundF32 + (p.rows.dtype == DType::f16 ? kRoundF16 : 0);
  const double roundings = static_cast<double>(p.depth()) * roundoff;
  Bounded out = exact(std::vector<double>(x.size(), 0));
  for (std::size_t at = 0; at < x.size(); ++at) {
    for (std::size_t row = 0; row < programs; ++row) {
      out.value[row * n + at % n] += x[at];
      out.error[row * n + at % n] += roundings * std::abs(x[at]);
    }
  }
  return checked("out", out);
}

Instance make_all_reduce(const Parameters& parameters, const tl::Target& target) {
  const AllReduce p{rows_of("all_reduce", parameters, target),
                    parameters.choice("algorithm") == "ring", parameters.integer("message")};
  Instance instance = instance_of(
      p.rows, p.rows.n,
      [p](tl::Context& tl, const tl::Tensor& x, const tl::Tensor& out) { run(tl, p, x, out); });
  instance.reference = [p](const HostTensors& inputs) { return reference(p, inputs); };
  return instance;
}

Instance make_all_gather(const Parameters& parameters, const tl::Target& target) {
  const Rows p = rows_of("all_gather", parameters, target);
  if (p.programs > kMaxDim / p.n) {
    throw InputError(
        fmt::format("all_gather: programs={} of n={} entries make rows of more than {}; give fewer",
                    p.programs, p.n, kMaxDim));
  }
  const Index message = parameters.integer("message");
  Instance instance =
      instance_of(p, p.programs * p.n,
                  [p, message](tl::Context& tl, const tl::Tensor& x, const tl::Tensor& out) {
                    const auto all = tl.empty({1, p.programs * p.n}, p.dtype).named("all");
                    const auto own = all.cols(tl.program() * p.n, p.n);
                    tl.load(x, own);
                    tl.wait({own});
                    {
                      auto loop = tl.region("loop");
                      all_gather_ring(tl, everyone(tl), all, message);
                    }
                    tl.store(out, all);
                  });
  instance.reference = [p](const HostTensors& inputs) {
    std::vector<double> out;
    for (Index program = 0; program < p.programs; ++program) {
      out.insert(out.end(), inputs.at("x").begin(), inputs.at("x").end());
    }
    return checked("out", exact(out));
  };
  return instance;
}

}  // namespace

Kernel all_reduce() {
  Kernel kernel;
  kernel.name = "all_reduce";
  kernel.summary = "the sum of the programs' rows, in every program";
  kernel.parameters = {
      programs_parameter(),
      integer("n", 8192, "entries of a row", 1, kMaxDim),
      choice("dtype", "f32", "of x, out, sums and messages", {"f32", "f16"}),
      choice("algorithm", "ring", "chunks round a ring, or whole rows up and down a binomial tree",
             {"ring", "tree"}),
      message_parameter(),
  };
  kernel.make = make_all_reduce;
  return kernel;
}

Kernel all_gather() {
  Kernel kernel;
  kernel.name = "all_gather";
  kernel.summary = "the programs' rows one after the other, in every program";
  kernel.parameters = {
      programs_parameter(),
      integer("n", 1024, "entries of a row", 1, kMaxDim),
      choice("dtype", "f32", "of x and out", {"f32", "f16"}),
      message_parameter(),
  };
  kernel.make = make_all_gather;
  return kernel;
}

}  // namespace kernbench::kernels
