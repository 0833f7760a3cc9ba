// SPDX-License-Identifier: Apache-2.0
#include "kernels/state_merge.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "kernels/error_bound.hpp"

namespace kernbench::kernels {
namespace {

constexpr double kMinusInf = -std::numeric_limits<double>::infinity();

struct Merge {
  Index parts, rows, d;
  bool fused;
};

/// One state (m, l, O) in TCM, and how a part of the inputs gets there.
struct State {
  tl::Tensor m, l, O;
};
State make_state(tl::Context& tl, const Merge& p) {
  return {tl.empty({p.rows}, tl::f32), tl.empty({p.rows}, tl::f32),
          tl.empty({p.rows, p.d}, tl::f32)};
}
void load(tl::Context& tl, const Merge& p, const std::vector<tl::Tensor>& bound, Index part,
          const State& state) {
  tl.load(bound[0].cols(part * p.rows, p.rows), state.m);
  tl.load(bound[1].cols(part * p.rows, p.rows), state.l);
  tl.load(bound[2].rows(part * p.rows, p.rows), state.O);
}

/// The recipe as nine simple commands.
struct SimpleMerge {
  tl::Tensor mn, ca, cb, t, u;

  SimpleMerge(tl::Context& tl, const Merge& p)
      : mn(tl.empty({p.rows}, tl::f32).named("mn")),
        ca(tl.empty({p.rows}, tl::f32).named("ca")),
        cb(tl.empty({p.rows}, tl::f32).named("cb")),
        t(tl.empty({p.rows}, tl::f32).named("t")),
        u(tl.empty({p.rows, p.d}, tl::f32).named("u")) {}

  void issue(tl::Context& tl, const State& state, const State& other) const {
    tl.max_elem(state.m, other.m, mn);
    tl.exp_diff(state.m, mn, ca);
    tl.exp_diff(other.m, mn, cb);
    tl.mul(other.l, cb, t);
    tl.fma(state.l, ca, t, state.l);
    tl.mul_bcast(state.O, ca, state.O);
    tl.mul_bcast(other.O, cb, u);
    tl.add(state.O, u, state.O);
    tl.copy(mn, state.m);
  }
};

/// A chain: part after part into the first. The next part is loaded while one is merged; with three
/// slots its load does not wait for the merge that has just been issued.
void run(tl::Context& tl, const Merge& p, const std::vector<tl::Tensor>& bound) {
  State state = make_state(tl, p);
  state = {state.m.named("m"), state.l.named("l"), state.O.named("O")};
  const std::array<State, 3> slots{make_state(tl, p), make_state(tl, p), make_state(tl, p)};
  const auto slot = [&](Index part) -> const State& {
    return slots[static_cast<std::size_t>(part) % slots.size()];
  };
  std::optional<SimpleMerge> simple;
  if (!p.fused) simple.emplace(tl, p);
  load(tl, p, bound, 0, state);
  tl.wait({state.m, state.l, state.O});
  {
    auto loop = tl.region("loop");
    load(tl, p, bound, 1, slot(1));
    for (Index part = 1; part < p.parts; ++part) {
      if (part + 1 < p.parts) load(tl, p, bound, part + 1, slot(part + 1));
      const State& other = slot(part);
      if (simple) {
        simple->issue(tl, state, other);
      } else {
        tl.composite(
            tl::recipe(tl::state_merge(state.m, state.l, state.O, other.m, other.l, other.O)));
      }
    }
  }
  tl.store(bound[3], tl.div_bcast(state.O, state.l, tl::f16));
  tl.observe("merged_m", state.m);
  tl.observe("merged_l", state.l);
}

/// All parts at once, weighted by exp(m - largest m).
Reference reference(const Merge& p, const HostTensors& inputs) {
  const std::vector<double>& m = inputs.at("m");
  const std::vector<double>& l = inputs.at("l");
  const std::vector<double>& O = inputs.at("O");
  const auto rows = static_cast<std::size_t>(p.rows), d = static_cast<std::size_t>(p.d);
  std::vector<double> merged_m(rows, kMinusInf), merged_l(rows, 0);
  Bounded out = exact(std::vector<double>(rows * d, 0));
  // A part's weight is a product of exp_diff, one a merge. Each makes a rounding of its own, of the
  // product and of the sum, and the differences in the exponents add up to largest - m; the
  // division is one more.
  const double roundings = 4 * static_cast<double>(p.parts) + 1;
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t at = row; at < m.size(); at += rows) {
      merged_m[row] = std::max(merged_m[row], m[at]);
    }
    if (merged_m[row] == kMinusInf) continue;  // every part is empty: 0
    double l_roundings = 0;
    for (std::size_t at = row; at < m.size(); at += rows) {
      const double weight = std::exp(m[at] - merged_m[row]);
      if (weight == 0) continue;
      merged_l[row] += weight * l[at];
      const double part_roundings = roundings + 2 * (merged_m[row] - m[at]);
      l_roundings += part_roundings * weight * std::abs(l[at]);
      for (std::size_t c = 0; c < d; ++c) {
        const double term = weight * O[at * d + c];
        out.value[row * d + c] += term;
        out.error[row * d + c] += kRoundF32 * part_roundings * std::abs(term);
      }
    }
    for (std::size_t c = row * d; c < (row + 1) * d; ++c) {
      out.value[c] /= merged_l[row];
      out.error[c] = out.error[c] / merged_l[row] +
                     kRoundF32 * l_roundings / merged_l[row] * std::abs(out.value[c]);
    }
  }
  Reference result = checked("out", stored_in_f16(std::move(out)));
  result.outputs.emplace("merged_l", std::move(merged_l));
  return result;
}

Instance make(const Parameters& parameters, const tl::Target&) {
  const Merge p{parameters.integer("parts"), parameters.integer("rows"), parameters.integer("d"),
                parameters.choice("variant") == "fused"};
  Instance instance;
  instance.tensors = {
      {"m", {p.parts, p.rows}, {p.parts * p.rows}, tl::f32, Direction::in},
      {"l", {p.parts, p.rows}, {p.parts * p.rows}, tl::f32, Direction::in, Domain::at_least_one},
      {"O", {p.parts, p.rows, p.d}, {p.parts * p.rows, p.d}, tl::f32, Direction::in},
      {"out", {p.rows, p.d}, {p.rows, p.d}, tl::f16, Direction::out}};
  instance.body = [p](tl::Context& tl, const std::vector<tl::Tensor>& bound) { run(tl, p, bound); };
  instance.reference = [p](const HostTensors& inputs) { return reference(p, inputs); };
  instance.tiles = static_cast<std::uint64_t>(p.parts - 1);
  return instance;
}

}  // namespace

Kernel state_merge() {
  Kernel kernel;
  kernel.name = "state_merge";
  kernel.summary = "merges the partial softmax states of a split decode";
  kernel.parameters = {
      {"parts", "4", "partial states of the same rows", 2, 65536},
      {"rows", "8", "rows of a state", 1, 65536},
      {"d", "128", "entries of a row of O", 1, 65536},
      {"variant",
       "fused",
       "a merge as one composite, or as nine simple commands",
       0,
       0,
       {"fused", "simple"}},
  };
  kernel.make = make;
  return kernel;
}

}  // namespace kernbench::kernels
