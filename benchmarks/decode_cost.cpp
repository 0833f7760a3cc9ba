// SPDX-License-Identifier: Apache-2.0
// Host cost of the model: ns of CPU time per op-log row of a long decode, on one PE and on 128,
// timing only, op log off, against one timed SC_METHOD activation of the same run. Absolute times
// of a machine are noise; the ratio is the figure. Usage: decode_cost [tiles] [repetitions]

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <vector>

#include "benchmarks/in_child.hpp"
#include "kernels/gqa_decode.hpp"
#include "model/arch/topology_file.hpp"
#include "model/embedded_hbm.hpp"
#include "model/pe.hpp"
#include "runtime/design.hpp"
#include "runtime/launch/launch.hpp"

namespace {

using namespace kernbench;
using benchmarks::in_child;

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

struct Cost {
  double seconds = 0;
  std::uint64_t units = 0;
  double ns() const { return seconds * 1e9 / static_cast<double>(units); }
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// The floor: a method that does nothing but wait for time to pass.
struct Ticker : sc_core::sc_module {
  explicit Ticker(const sc_core::sc_module_name& name, std::uint64_t ticks)
      : sc_module(name), left(ticks) {
    KERNBENCH_HAS_PROCESS(Ticker);
    SC_METHOD(tick);
    sensitive << event;
  }
  void tick() {
    if (left-- > 0) event.notify(step);
  }
  std::uint64_t left;
  sc_core::sc_event event;
  const sc_core::sc_time step{1, sc_core::SC_NS};
};

Cost measure_activation() {
  constexpr std::uint64_t kTicks = 4'000'000;
  Ticker ticker("ticker", kTicks);
  const double start = cpu_seconds();
  sc_core::sc_start();
  return {cpu_seconds() - start, kTicks};
}

Cost measure_decode(const char* variant, std::uint64_t tiles) {
  const arch::TopologyConfig topology;
  const runtime::Launch launch(kernels::gqa_decode(),
                               {{"variant", variant}, {"s_kv", std::to_string(tiles * 64)}},
                               topology);
  record::Recorder recorder;  // counts rows; no sink
  EmbeddedHbm hbm("hbm", topology.hbm, 1, false);
  Pe pe("pe0", topology.pe_config(), 0);
  pe.memory.bind(hbm.port(0));
  pe.set_recorder(&recorder);
  pe.set_kernel([&](command::CommandSink& sink) { launch.issue(sink); });
  const double start = cpu_seconds();
  sc_core::sc_start();
  const double seconds = cpu_seconds() - start;
  if (!pe.idle()) throw std::runtime_error("the run ended with work in flight");
  return {seconds, recorder.statistics().rows()};
}

/// The tiles of 8 KV heads, over the 128 PEs of four SIPs.
Cost measure_many_pes(std::uint64_t tiles) {
  constexpr std::uint64_t kHeads = 8, kTile = 64;
  const arch::TopologyConfig topology =
      arch::read_topology_file(KERNBENCH_SOURCE_DIR "/topologies/llama70b_4sip.yaml");
  const runtime::Launch launch(kernels::gqa_decode(),
                               {{"kv_heads", std::to_string(kHeads)},
                                {"s_kv", std::to_string(tiles * kTile / kHeads)},
                                {"c", "2"},
                                {"p", "8"}},
                               topology);
  runtime::Design design("design", topology, {});
  design.launch(launch.launch());
  const double start = cpu_seconds();
  sc_core::sc_start();
  const double seconds = cpu_seconds() - start;
  if (!design.done()) throw std::runtime_error("the run ended with work in flight");
  return {seconds, design.recorder.statistics().rows()};
}

}  // namespace

int sc_main(int argc, char** argv) {
  const std::uint64_t tiles = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 16384;
  const int repetitions = argc > 2 ? std::atoi(argv[2]) : 5;
  // Floor and runs take turns, so that a drift of the machine meets all alike; the ratio is taken
  // turn by turn.
  struct Measurement {
    const char* name;
    std::function<Cost()> measure;
    std::vector<double> ns, ratios;
  };
  std::vector<double> floor;
  std::array<Measurement, 3> rows{
      {{"op-log row of opt2", [&] { return measure_decode("opt2", tiles); }, {}, {}},
       {"op-log row of opt3", [&] { return measure_decode("opt3", tiles); }, {}, {}},
       {"op-log row of opt2 on 128 PEs", [&] { return measure_many_pes(tiles); }, {}, {}}}};
  for (int i = 0; i < repetitions; ++i) {
    floor.push_back(in_child(measure_activation).ns());
    for (Measurement& row : rows) {
      row.ns.push_back(in_child(row.measure).ns());
      row.ratios.push_back(row.ns.back() / floor.back());
    }
  }
  fmt::print("decode of {} tiles, timing only, op log off; CPU time, medians of {}\n", tiles,
             repetitions);
  fmt::print("{:<34}{:>12}{:>10}\n", "", "ns", "ratio");
  fmt::print("{:<34}{:>12.1f}{:>10.2f}\n", "timed SC_METHOD activation", median(floor), 1.0);
  for (const Measurement& row : rows) {
    fmt::print("{:<34}{:>12.1f}{:>10.2f}\n", row.name, median(row.ns), median(row.ratios));
  }
  return 0;
}
