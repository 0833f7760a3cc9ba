// SPDX-License-Identifier: Apache-2.0
// Host cost of the model: ns of CPU time per op-log row of a long decode, timing only, op log off,
// against one timed SC_METHOD activation of the same run. Absolute times of a machine are noise;
// the ratio is the figure. Usage: decode_cost [tiles] [repetitions]

#include <fmt/format.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <vector>

#include "kernels/gqa_decode.hpp"
#include "model/embedded_hbm.hpp"
#include "model/pe.hpp"
#include "runtime/launch.hpp"

namespace {

using namespace kernbench;

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

// SystemC's kernel is global: every measurement is a process of its own.
Cost in_child(const std::function<Cost()>& measure) {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("pipe failed");
  const pid_t child = fork();
  if (child == 0) {
    const Cost cost = measure();
    _exit(write(ends[1], &cost, sizeof cost) == sizeof cost ? 0 : 1);
  }
  close(ends[1]);
  Cost cost;
  const bool complete = read(ends[0], &cost, sizeof cost) == sizeof cost;
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (!complete || status != 0) throw std::runtime_error("a measurement failed");
  return cost;
}

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
  Pe pe("pe0", topology.pe, 0);
  pe.memory.bind(hbm.port(0));
  pe.set_recorder(&recorder);
  pe.set_kernel([&](command::CommandSink& sink) { launch.issue(sink); });
  const double start = cpu_seconds();
  sc_core::sc_start();
  const double seconds = cpu_seconds() - start;
  if (!pe.idle()) throw std::runtime_error("the run ended with work in flight");
  return {seconds, recorder.statistics().rows()};
}

}  // namespace

int sc_main(int argc, char** argv) {
  const std::uint64_t tiles = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 16384;
  const int repetitions = argc > 2 ? std::atoi(argv[2]) : 5;
  // Floor and runs take turns, so that a drift of the machine meets all alike; the ratio is taken
  // turn by turn.
  const std::array<const char*, 2> variants{"opt2", "opt3"};
  std::vector<double> floor;
  std::array<std::vector<double>, 2> rows;
  std::array<std::vector<double>, 2> ratios;
  for (int i = 0; i < repetitions; ++i) {
    floor.push_back(in_child(measure_activation).ns());
    for (std::size_t v = 0; v < variants.size(); ++v) {
      rows[v].push_back(in_child([&] { return measure_decode(variants[v], tiles); }).ns());
      ratios[v].push_back(rows[v].back() / floor.back());
    }
  }
  fmt::print("decode of {} tiles, timing only, op log off; CPU time, medians of {}\n", tiles,
             repetitions);
  fmt::print("{:<34}{:>12}{:>10}\n", "", "ns", "ratio");
  fmt::print("{:<34}{:>12.1f}{:>10.2f}\n", "timed SC_METHOD activation", median(floor), 1.0);
  for (std::size_t v = 0; v < variants.size(); ++v) {
    fmt::print("{:<34}{:>12.1f}{:>10.2f}\n", fmt::format("op-log row of {}", variants[v]),
               median(rows[v]), median(ratios[v]));
  }
  return 0;
}
