// SPDX-License-Identifier: Apache-2.0
#include "runtime/shares.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace kernbench::runtime {
namespace {

using arch::Engine;

constexpr std::array<Engine, 7> kWorkers{Engine::cpu,  Engine::dma_rd, Engine::dma_wr, Engine::tcm,
                                         Engine::gemm, Engine::math,   Engine::ipcq};

constexpr double kBoundShare = 0.8;
/// As busy as an engine that is occupied while it waits for a link or an HBM: a tie.
constexpr double kNearTie = 0.95;
/// Of the longest window to the mean: from here on the work is spread unevenly.
constexpr double kImbalance = 1.25;

std::string whole_percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

void take_busier(BusyShare& busiest, const RunResult& result, const std::string& name,
                 std::uint64_t busy_ps) {
  const double share = share_of(busy_ps, result.sim_time_ps);
  if (share > busiest.share) busiest = {name, share};
}

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

/// Occupied while what it has asked of a link or an HBM is not there.
bool waits_for_others(Engine engine) {
  return engine == Engine::dma_rd || engine == Engine::dma_wr || engine == Engine::ipcq;
}

/// The busiest link or HBM, if it is what engines wait for rather than the other way round: no name
/// if it is not. All of it is compared over the run: links and HBMs belong to no region.
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

/// `; load imbalance: pe0 is 1.8 x the mean`, of the PEs that have a window; empty if all have one
/// and are about alike.
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

std::vector<Engine> workers(bool several_pes) {
  return {kWorkers.begin(), several_pes ? kWorkers.end() : kWorkers.end() - 1};
}

std::uint32_t servers(const RunResult& result, Engine engine) {
  if (engine == Engine::dma_rd) return result.read_channels;
  if (engine == Engine::dma_wr) return result.write_channels;
  return 1;
}

double share_of(std::uint64_t part, std::uint64_t whole) {
  return ratio(static_cast<double>(part), static_cast<double>(whole));
}

double busy_share(const RunResult& result, Engine engine, std::uint64_t busy_ps,
                  std::uint64_t whole_ps) {
  return share_of(busy_ps, whole_ps) / servers(result, engine);
}

const PeResult& longest_pe(const RunResult& result) {
  return *std::max_element(
      result.per_pe.begin(), result.per_pe.end(),
      [](const PeResult& x, const PeResult& y) { return x.window.time_ps < y.window.time_ps; });
}

bool has_network(const RunResult& result) { return !result.links.empty(); }

BusyShare busiest_link(const RunResult& result) {
  BusyShare busiest;
  for (const LinkStatistics& link : result.links) {
    take_busier(busiest, result, link.name, link.busy_ps);
  }
  return busiest;
}

BusyShare busiest_memory(const RunResult& result) {
  BusyShare busiest;
  for (const auto& [name, totals] : result.memories) {
    take_busier(busiest, result, name, totals.busy_ps);
  }
  return busiest;
}

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
