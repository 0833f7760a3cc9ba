// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/record/figure.hpp"
#include "runtime/run_to_end.hpp"
#include "runtime/stage_files.hpp"
#include "runtime/summary.hpp"

namespace kernbench::runtime {

/// The output files of a run; empty: not wanted.
struct OutputPaths : StagePaths {
  std::string outputs, figure;
};

/// One kernel to run on a machine of its own. `launch`, `inputs` and `topology` must outlive the
/// run; `launch` must outlive its result too.
struct RunRequest {
  const Launch* launch = nullptr;
  const kernels::HostTensors* inputs = nullptr;    ///< none: timing only
  std::optional<std::uint64_t> seed = {};          ///< of the inputs, if they are synthetic
  const arch::TopologyConfig* topology = nullptr;  ///< of `launch`; none: that of all requests
  OutputPaths paths;
  std::vector<std::uint32_t> vcd_pes = {};  ///< empty: all
  record::Figure::Window figure_window;
  bool check_hazards = false;           ///< look for hazards among the executed stages
  record::OrderedSink* rows = nullptr;  ///< sees the rows of the op log; may be null
  bool reverse_creation = false;        ///< MachineOptions
};

/// What these PEs have done so far, under the given names.
RunResult result_of(const PesByName& pes, const record::Statistics& statistics);
/// The same for a machine and the PEs that its launches name, without what only a kernel knows.
RunResult result_of(const Design& design, const arch::TopologyConfig& topology);

/// Runs every request in one simulation, each on a machine of its own, and checks the numbers. A
/// request without a topology has `topology`. The outputs appear when all runs have ended, whether
/// or not the numbers pass. Call it once per process, since SystemC's kernel is global. Throws
/// InputError, before anything runs, if an output cannot be opened. Throws SimulationError, with
/// the wait graph, if a run ends with work in flight (R11.1).
std::vector<RunResult> simulate(const arch::TopologyConfig& topology, const MemoryFactory& memory,
                                const std::vector<RunRequest>& requests);

}  // namespace kernbench::runtime
