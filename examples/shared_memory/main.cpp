// SPDX-License-Identifier: Apache-2.0
// Two PEs, each with its own memory, and a shared memory, on an interconnect that knows nothing of
// KernBench (interconnect.hpp). PeConfig::memory_offset gives each PE its place on the
// interconnect. The interconnect decodes and rewrites addresses, serves the PEs in turn, and
// returns responses in any order. The PEs multiply in parallel; then one PE adds the product that
// the other has stored in the shared memory. The program checks the result and prints who waited
// for what. A monitor is at each PE's memory socket.
//
// Usage: shared_memory
#include <cmath>
#include <cstdio>
#include <exception>
#include <string>

#include "runtime/host_access.hpp"
#include "runtime/pe_outputs.hpp"
#include "system.hpp"

namespace {

double ns(const sc_core::sc_time& time) { return time.to_seconds() * 1e9; }

bool is_right(example::System& system) {
  using example::kCols, example::kDepth, example::kRows;
  // Through PE 1, which has not written it.
  const auto out = kernbench::runtime::read_tensor(*system.pes[1], example::tensors_of(1).out);
  const auto x = example::values(kRows * kDepth, 7), w = example::values(kDepth * kCols, 11);
  bool right = true;
  for (example::Index row = 0; row < kRows; ++row) {
    for (example::Index col = 0; col < kCols; ++col) {
      double expected = 0;
      for (example::Index i = 0; i < kDepth; ++i) {
        expected += x[std::size_t(row * kDepth + i)] * w[std::size_t(i * kCols + col)];
      }
      // What f16 can hold of it: 11 bits.
      const double error = out[std::size_t(row * kCols + col)] - expected;
      right = right && std::abs(error) <= std::abs(expected) / 2048;
    }
  }
  return right;
}

bool simulate() {
  example::System system("system");
  kernbench::runtime::PeOutputs outputs({});  // no files
  for (const auto& pe : system.pes) outputs.add(*pe);
  sc_core::sc_start();  // nothing in the design has a clock: the run ends by itself
  outputs.finish();     // throws if a PE is not done, with who waits for what
  std::size_t violations = 0;
  for (const auto& monitor : system.monitors) {
    violations += monitor->violations().size();
    for (const auto& line : monitor->violations()) std::fprintf(stderr, "%s\n", line.c_str());
  }
  const bool right = is_right(system);

  std::printf("%-4s %9s %9s %12s   waits, ns: %11s %10s %10s %12s\n", "", "requests", "bytes",
              "total ns", "others", "memory", "responses", "out of order");
  for (std::size_t i = 0; i < system.pes.size(); ++i) {
    const bus::Statistics& seen = system.interconnect.statistics()[i];
    std::printf("pe%-2zu %9llu %9llu %12.3f %23.3f %10.3f %10.3f %12llu\n", i,
                static_cast<unsigned long long>(seen.requests),
                static_cast<unsigned long long>(seen.bytes),
                double(system.pes[i]->cpu.last_done_ps()) / 1000, ns(seen.arbitration_wait),
                ns(seen.target_wait), ns(seen.response_wait),
                static_cast<unsigned long long>(seen.overtakings));
  }
  std::printf("multiplied by %.3f ns; shared memory: %.1f %% row hits; protocol violations: %zu\n",
              double(system.multiplied_ps()) / 1000,
              100 * system.memories.back()->statistics().hit_rate(), violations);
  std::printf("out = x w: %s\n", right ? "right" : "WRONG");
  return right && violations == 0;
}

}  // namespace

int sc_main(int argc, char** argv) {
  const bool help = argc == 2 && std::string(argv[1]) == "--help";
  if (help || argc != 1) {
    std::fputs("usage: shared_memory\n  takes no arguments\n", help ? stdout : stderr);
    return help ? 0 : 2;
  }
  try {
    return simulate() ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "shared_memory: %s\n", error.what());
    return 1;
  }
}
