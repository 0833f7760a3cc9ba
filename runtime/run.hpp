// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "model/record/figure.hpp"
#include "runtime/design.hpp"
#include "runtime/summary.hpp"

namespace kernbench::runtime {

/// Where a run's outputs go; empty: not wanted.
struct OutputPaths {
  std::string op_log, vcd, trace, summary, outputs;
  std::string figure = {};
};

/// One kernel to run. `launch` must outlive the run and its result.
struct RunRequest {
  const Launch* launch = nullptr;
  std::optional<kernels::HostTensors> inputs;  ///< none: timing only
  OutputPaths paths;
  std::vector<std::uint32_t> vcd_pes{0};
  record::Figure::Window figure_window;
  bool check_hazards = false;           ///< look for hazards among the executed stages
  record::OrderedSink* rows = nullptr;  ///< sees the rows of the op log; may be null
};

/// A run that did not come to its end. `what()` is one complete line, `detail()` holds further
/// ones.
class SimulationError : public std::runtime_error {
 public:
  SimulationError(const std::string& line, std::string detail)
      : std::runtime_error(line), detail_(std::move(detail)) {}
  const std::string& detail() const { return detail_; }

 private:
  std::string detail_;
};

/// Runs every request in one simulation, each on a PE and a memory of its own, and checks the
/// numbers. The outputs appear when all runs have come to their end, whatever their numbers. Once a
/// process: SystemC's kernel is global. Throws InputError if an output cannot be opened, before
/// anything runs; SimulationError if a run ends with work in flight (R11.1).
std::vector<RunResult> simulate(const arch::TopologyConfig& topology, const MemoryFactory& memory,
                                const std::vector<RunRequest>& requests);

}  // namespace kernbench::runtime
