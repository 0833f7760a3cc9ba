// SPDX-License-Identifier: Apache-2.0
#include "runtime/bound_by.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/shares.hpp"

namespace kernbench::runtime {
namespace {

using arch::Engine;

constexpr double kBoundShare = 0.8;
/// From this ratio on, a link or an HBM ties with an engine that is occupied while it waits for it.
constexpr double kNearTie = 0.95;
/// Ratio of the longest window to the mean; from here on the work counts as unevenly distributed.
constexpr double kImbalance = 1.25;

std::string whole_percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

/// The busiest engine of any PE within `whole_ps`.
struct BusyEngine {
  const PeResult* pe = nullptr;
  Engine engine = Engine::cpu;
  double share = -1;
};
template <class BusyTime>
BusyEngine busiest_engine(const RunResult& result, std::uint64_t whole_ps, BusyTime busy_ps) {
  BusyEngine busiest;
  for (const PeResult& pe : result.per_pe) {
    for (const Engine engine : workers(result.several_pes)) {
      const double share =
          busy_share(result, engine, busy_ps(pe, static_cast<std::size_t>(engine)), whole_ps);
      if (share > busiest.share) busiest = {&pe, engine, share};
    }
  }
  return busiest;
}

/// True for an engine that is occupied while it waits for a link or an HBM.
bool waits_for_others(Engine engine) {
  return engine == Engine::dma_rd || engine == Engine::dma_wr || engine == Engine::ipcq;
}

/// The busiest link or HBM, if it is busier than the engines, or tied with one that waits for it;
/// otherwise it has no name. All are compared over the run, since links and HBMs do not belong to a
/// region.
BusyShare busiest_shared(const RunResult& result) {
  if (!has_network(result)) return {};
  const BusyShare link = busiest_link(result), memory = busiest_memory(result);
  const BusyShare& shared = link.share < memory.share ? memory : link;
  const BusyEngine engine = busiest_engine(
      result, result.sim_time_ps,
      [](const PeResult& pe, std::size_t i) { return pe.statistics.engines[i].busy_ps; });
  const double tie = waits_for_others(engine.engine) ? kNearTie : 1;
  return shared.share >= tie * engine.share ? shared : BusyShare{};
}

/// `; load imbalance: pe0 is 1.8 x the mean`, over the PEs that have a window. Empty if all have
/// one and they are about equal.
std::string imbalance(const RunResult& result) {
  if (!result.several_pes) return {};
  const PeResult& longest = longest_pe(result);
  const auto pes = std::count_if(result.per_pe.begin(), result.per_pe.end(),
                                 [](const PeResult& pe) { return pe.window.time_ps > 0; });
  const double times =
      static_cast<double>(pes) * share_of(longest.window.time_ps, window_of(result).time_ps);
  std::string text;
  if (times >= kImbalance) {
    text += fmt::format("; load imbalance: {} is {:.1f} x the mean", longest.name, times);
  }
  if (result.window_is_loop && pes < result.pes) {
    text += fmt::format("; {} of {} programs enter no loop", result.pes - pes, result.pes);
  }
  return text;
}

}  // namespace

std::string bound_by(const RunResult& result) {
  const PeResult& longest = longest_pe(result);
  const char* const window = result.window_is_loop ? "loop" : "run";
  std::string name, of_window;
  double share = 0;
  if (const BusyShare shared = busiest_shared(result); !shared.name.empty()) {
    name = shared.name;
    share = shared.share;
    of_window = "run";
  } else {
    const BusyEngine engine =
        busiest_engine(result, longest.window.time_ps,
                       [](const PeResult& pe, std::size_t i) { return pe.window.busy_ps[i]; });
    name = engine.engine == Engine::cpu ? "cpu dispatch" : to_string(engine.engine);
    if (result.several_pes) name += " of " + engine.pe->name;
    share = engine.share;
    of_window = window;
  }
  if (share >= kBoundShare) {
    return fmt::format("bound by {} (busy {} of the {}){}", name, whole_percent(share), of_window,
                       imbalance(result));
  }
  const auto stalled = [&](std::uint64_t ps) {
    return whole_percent(share_of(ps, longest.window.time_ps));
  };
  return fmt::format(
      "bound by serial dependencies (busiest in the {}: {}, {}; stalls{}: await {}, admit {}, "
      "queue {}){}",
      of_window, name, whole_percent(share), result.several_pes ? " of " + longest.name : "",
      stalled(longest.window.stalls.await_ps), stalled(longest.window.stalls.admit_ps),
      stalled(longest.window.stalls.queue_ps), imbalance(result));
}

}  // namespace kernbench::runtime
