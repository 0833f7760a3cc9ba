// SPDX-License-Identifier: Apache-2.0
#include "kernels/state_merge.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "kernels/error_bound.hpp"
#include "kernels/shapes.hpp"

namespace kernbench::kernels {
namespace {

constexpr double kMinusInf = -std::numeric_limits<double>::infinity();

struct Merge {
  Index parts, rows, d;
  bool fused;
};

/// One state (m, l, O) in TCM, and the load of a part of the inputs into it.
struct State {
  tl::Tensor m, l, O;
};
void load(tl::Context& tl, const Merge& p, const std::vector<tl::Tensor>& bound, Index part,
          const State& state) {
  tl.load(bound[0].cols(part * p.rows, p.rows), state.m);
  tl.load(bound[1].cols(part * p.rows, p.rows), state.l);
  tl.load(bound[2].rows(part * p.rows, p.rows), state.O);
}

/// The recipe as nine simple commands.
struct SplitMerge {
  tl::Tensor mn, ca, cb, t, u;

  SplitMerge(tl::Context& tl, const Merge& p)
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

/// A chain: part after part is merged into the first. The next part is loaded while one is merged.
/// With three slots this load does not wait for the merge that has just been issued.
void run(tl::Context& tl, const Merge& p, const std::vector<tl::Tensor>& bound) {
  const State state{tl.empty({p.rows}, tl::f32).named("m"), tl.empty({p.rows}, tl::f32).named("l"),
                    tl.empty({p.rows, p.d}, tl::f32).named("O")};
  const auto m = tl.ring<3>({p.rows}, tl::f32, "m"), l = tl.ring<3>({p.rows}, tl::f32, "l");
  const auto O = tl.ring<3>({p.rows, p.d}, tl::f32, "O");
  const auto slot = [&](Index part) { return State{m[part], l[part], O[part]}; };
  std::optional<SplitMerge> split;
  if (!p.fused) split.emplace(tl, p);
  load(tl, p, bound, 0, state);
  tl.wait({state.m, state.l, state.O});
  {
    auto loop = tl.region("loop");
    load(tl, p, bound, 1, slot(1));
    for (Index part = 1; part < p.parts; ++part) {
      if (part + 1 < p.parts) load(tl, p, bound, part + 1, slot(part + 1));
      const State other = slot(part);
      if (split) {
        split->issue(tl, state, other);
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
  // A part's weight is a product of exp_diff, one per merge. Each merge rounds exp_diff, the
  // product and the sum. The differences in the exponents add up to largest - m. The division is
  // one more rounding.
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
    const double sum = merged_l[row];
    for (std::size_t c = row * d; c < (row + 1) * d; ++c) {
      if (sum == 0) {  // as div_bcast has it
        out.value[c] = out.error[c] = 0;
        continue;
      }
      out.value[c] /= sum;
      out.error[c] =
          (out.error[c] + kRoundF32 * l_roundings * std::abs(out.value[c])) / std::abs(sum);
    }
  }
  Reference result = checked("out", stored_in_f16(std::move(out)));
  result.outputs.emplace("merged_m", std::move(merged_m));
  result.outputs.emplace("merged_l", std::move(merged_l));
  return result;
}

Instance make(const Parameters& parameters, const tl::Target&) {
  const Merge p{parameters.integer("parts"), parameters.integer("rows"), parameters.integer("d"),
                parameters.choice("variant") == "fused"};
  Instance instance;
  instance.tensors = {
      {"m", {p.parts, p.rows}, {p.parts * p.rows}, tl::f32, Direction::in, Domain::masked},
      {"l", {p.parts, p.rows}, {p.parts * p.rows}, tl::f32, Direction::in, Domain::at_least_one},
      {"O", {p.parts, p.rows, p.d}, {p.parts * p.rows, p.d}, tl::f32, Direction::in},
      matrix("out", p.rows, p.d, Direction::out)};
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
      integer("parts", 4, "partial states of the same rows", 2, 65536),
      integer("rows", 8, "rows of a state", 1, 65536),
      integer("d", 128, "entries of a row of O", 1, 65536),
      choice("variant", "fused", "a merge as one composite, or as nine simple commands",
             {"fused", "split"}),
  };
  kernel.make = make;
  return kernel;
}

}  // namespace kernbench::kernels
