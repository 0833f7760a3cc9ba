// SPDX-License-Identifier: Apache-2.0
#include "runtime/shares.hpp"

#include <algorithm>
#include <array>

namespace kernbench::runtime {
namespace {

using arch::Engine;

constexpr std::array<Engine, 7> kWorkers{Engine::cpu,  Engine::dma_rd, Engine::dma_wr, Engine::tcm,
                                         Engine::gemm, Engine::math,   Engine::ipcq};

void take_busier(BusyShare& busiest, const RunResult& result, const std::string& name,
                 std::uint64_t busy_ps) {
  const double share = share_of(busy_ps, result.sim_time_ps);
  if (share > busiest.share) busiest = {name, share};
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

}  // namespace kernbench::runtime
