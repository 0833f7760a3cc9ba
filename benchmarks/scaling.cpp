// SPDX-License-Identifier: Apache-2.0
// Simulated time of flash-decode attention over more and more PEs of llama70b_4sip, as Markdown:
// the tables of docs/scaling.md. Usage: scaling [s_kv ..]; the lengths of the strong-scaling
// tables, all of that page if none is given.

#include <fmt/format.h>

#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "benchmarks/in_child.hpp"
#include "kernels/gqa_decode.hpp"
#include "model/arch/topology_file.hpp"
#include "runtime/run.hpp"

namespace {

using namespace kernbench;

/// PEs of the machine, and how many of them work on one KV head: c cubes with p PEs each.
struct Split {
  std::uint32_t pes, c, p;
};

/// A fixed number of KV heads over a growing number of PEs.
struct Problem {
  const char* title;
  std::uint32_t kv_heads;
  const char* merge;
  std::vector<Split> splits;  // the first is the one PE that the others are compared with
};

const Problem kLayer{
    "One layer: 8 KV heads",
    8,
    "tree",
    {{1, 1, 1}, {2, 1, 1}, {4, 1, 1}, {8, 1, 1}, {16, 1, 2}, {32, 1, 4}, {64, 1, 8}, {128, 2, 8}}};
const Problem kHead{
    "One KV head", 1, "tree", {{1, 1, 1}, {2, 1, 2}, {4, 1, 4}, {8, 1, 8}, {16, 2, 8}, {32, 4, 8}}};
const Problem kHeadByChain{"", 1, "chain", {{32, 4, 8}}};

/// The smallest part of the machine with that many PEs: some PEs of a cube, each with its share of
/// the cube's HBM; else whole cubes of a SIP; else whole SIPs.
arch::TopologyConfig part_of_machine(std::uint32_t pes) {
  constexpr std::uint32_t kPesPerCube = 8, kPesPerSip = 32;
  constexpr std::uint64_t kGbpsOfPe = 128, kBytesOfPe = 4831838208;
  const std::uint32_t sips = pes <= kPesPerSip ? 1 : pes / kPesPerSip;
  const std::uint32_t cubes = pes <= kPesPerCube ? 1 : pes / sips / kPesPerCube;
  const std::uint32_t pes_per_cube = pes / sips / cubes;
  return arch::read_topology_file(
      KERNBENCH_SOURCE_DIR "/topologies/llama70b_4sip.yaml",
      {fmt::format("sips={}", sips), fmt::format("cubes_per_sip={}", cubes),
       fmt::format("pes_per_cube={}", pes_per_cube),
       fmt::format("hbm.gbps={}", kGbpsOfPe * pes_per_cube),
       fmt::format("hbm.bytes={}", kBytesOfPe * pes_per_cube)});
}

struct Figures {
  std::uint64_t time_ps = 0;
  std::uint64_t merge_ps = 0;  // of the PE that merges longest
  /// Of the engines, summed over the PEs; of the DMA, both directions.
  std::uint64_t compute_ps = 0, dma_ps = 0, dispatch_ps = 0;
};

Figures simulate(const Problem& problem, const Split& split, const std::string& s_kv) {
  const arch::TopologyConfig topology = part_of_machine(split.pes);
  const runtime::Launch launch(kernels::gqa_decode(),
                               {{"kv_heads", std::to_string(problem.kv_heads)},
                                {"s_kv", s_kv},
                                {"c", std::to_string(split.c)},
                                {"p", std::to_string(split.p)},
                                {"merge", problem.merge}},
                               topology);
  runtime::RunRequest request;
  request.launch = &launch;
  const runtime::RunResult result = runtime::simulate(topology, {}, {request}).front();
  if (result.pes != split.pes) throw std::runtime_error("some PEs have nothing to do");

  Figures figures;
  figures.time_ps = result.sim_time_ps;
  const auto busy = [&](arch::Engine engine) {
    return result.statistics.engines[static_cast<std::size_t>(engine)].busy_ps;
  };
  figures.compute_ps = busy(arch::Engine::gemm) + busy(arch::Engine::math);
  figures.dma_ps = busy(arch::Engine::dma_rd) + busy(arch::Engine::dma_wr);
  figures.dispatch_ps = busy(arch::Engine::cpu);
  for (const runtime::Phase& phase : result.phases) {
    if (phase.name == "merge") figures.merge_ps = phase.longest_ps;
  }
  return figures;
}

Figures run(const Problem& problem, const Split& split, const std::string& s_kv) {
  return benchmarks::in_child([&] { return simulate(problem, split, s_kv); });
}

double percent(std::uint64_t part, std::uint64_t whole) {
  return 100 * runtime::ratio(static_cast<double>(part), static_cast<double>(whole));
}

/// With 3 decimals: whole ns.
std::string microseconds(std::uint64_t ps) {
  constexpr std::uint64_t kPsPerNs = 1000, kNsPerUs = 1000;
  const std::uint64_t ns = (ps + kPsPerNs / 2) / kPsPerNs;
  return fmt::format("{}.{:03}", ns / kNsPerUs, ns % kNsPerUs);
}

void print_row(const Problem& problem, const Split& split, const std::string& s_kv,
               const Figures& figures, std::uint64_t one_pe_ps) {
  const double speed_up = static_cast<double>(one_pe_ps) / static_cast<double>(figures.time_ps);
  const std::uint64_t all_ps = figures.time_ps * split.pes;
  fmt::print(
      "| {} | {} | {} | {} | {} | {} | {:.2f} | {:.1f} | {:.1f} | {:.1f} | {:.1f} | {:.1f} |\n",
      s_kv, split.pes, split.c, split.p, problem.merge, microseconds(figures.time_ps), speed_up,
      100 * speed_up / split.pes, percent(figures.compute_ps, all_ps),
      percent(figures.dma_ps, all_ps), percent(figures.dispatch_ps, all_ps),
      percent(figures.merge_ps, figures.time_ps));
}

void print_strong(const Problem& problem, const Problem* compared,
                  const std::vector<std::string>& lengths) {
  fmt::print("\n### {}\n\n", problem.title);
  fmt::print(
      "| S_kv | PEs | c | p | merge | µs | speed-up | efficiency % | compute % | DMA % | dispatch "
      "% "
      "| merging % |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (const std::string& s_kv : lengths) {
    std::uint64_t one_pe_ps = 0;
    for (const Split& split : problem.splits) {
      const Figures figures = run(problem, split, s_kv);
      if (one_pe_ps == 0) one_pe_ps = figures.time_ps;
      print_row(problem, split, s_kv, figures, one_pe_ps);
    }
    if (compared == nullptr) continue;
    for (const Split& split : compared->splits) {
      print_row(*compared, split, s_kv, run(*compared, split, s_kv), one_pe_ps);
    }
  }
}

/// A constant number of tokens per PE, counted over the heads.
void print_weak() {
  constexpr std::uint64_t kTokensOfPe = 8192;
  fmt::print("\n### {} tokens per PE\n\n", kTokensOfPe);
  fmt::print(
      "| KV heads | S_kv | PEs | c | p | µs | efficiency % |\n|---|---|---|---|---|---|---|\n");
  for (const Problem* problem : {&kLayer, &kHead}) {
    std::uint64_t one_pe_ps = 0;
    for (const Split& split : problem->splits) {
      const std::string s_kv = std::to_string(kTokensOfPe * split.pes / problem->kv_heads);
      const std::uint64_t time_ps = run(*problem, split, s_kv).time_ps;
      if (one_pe_ps == 0) one_pe_ps = time_ps;
      fmt::print("| {} | {} | {} | {} | {} | {} | {:.1f} |\n", problem->kv_heads, s_kv, split.pes,
                 split.c, split.p, microseconds(time_ps), percent(one_pe_ps, time_ps));
    }
  }
}

}  // namespace

int sc_main(int argc, char** argv) {
  std::vector<std::string> lengths(argv + 1, argv + argc);
  if (lengths.empty()) lengths = {"4096", "16384", "65536", "262144", "1048576"};
  try {
    print_strong(kLayer, nullptr, lengths);
    print_strong(kHead, &kHeadByChain, lengths);
    print_weak();
  } catch (const std::exception& error) {
    fmt::print(stderr, "scaling: {}\n", error.what());
    return 1;
  }
  return 0;
}
