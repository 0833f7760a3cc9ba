// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "model/arch/config.hpp"
#include "model/embedded_hbm.hpp"
#include "model/fabric.hpp"
#include "model/memory_port.hpp"
#include "model/pe.hpp"
#include "model/record/statistics.hpp"
#include "runtime/launch/launch.hpp"
#include "runtime/loop_window.hpp"
#include "runtime/numerics_check.hpp"

namespace kernbench::runtime {

/// The region that totals and bounds are about (R13.1).
inline constexpr char kLoopRegion[] = "loop";

/// A region of the kernel (R13.1) over all PEs that entered it: from the first start to the last
/// end.
struct Phase {
  std::string name;
  std::uint64_t start_ps = 0;
  std::uint64_t end_ps = 0;
  std::uint64_t commands = 0;  ///< of all PEs, as the next two
  std::uint64_t segments = 0;
  std::uint64_t logical_bytes = 0;
  std::uint32_t pes = 0;               ///< that entered it
  std::uint64_t entries = 0;           ///< most often entered by a PE
  std::uint64_t total_ps = 0;          ///< spent in it, summed over its entries and PEs
  std::uint64_t longest_ps = 0;        ///< spent in it by one PE, at most
  record::RegionStatistics work = {};  ///< summed over the PEs
};

struct PeResult {
  std::uint32_t pe = 0;
  std::string name;
  std::uint64_t done_ps = 0;
  record::PeStatistics statistics;
  MemoryPortTotals port = {};
  WindowStatistics window = {};  ///< what its shares are of
};

struct HazardReport {
  std::size_t races = 0;
  std::size_t uninitialized_reads = 0;
  std::vector<std::string> lines;  ///< one a finding, PE by PE
};

/// What is known of a run that came to its end.
struct RunResult {
  const Launch* launch = nullptr;  ///< none: of PEs in a design of somebody else
  std::string topology;
  std::vector<std::string> topology_overrides;  ///< `key=value` of --set
  std::optional<std::uint64_t> seed;            ///< of the inputs, if they are synthetic
  std::uint32_t read_channels = 1, write_channels = 1;
  std::uint64_t sim_time_ps = 0;
  DispatchTotals totals;
  double dispatch_cycles = 0;  ///< unrounded (R6.1), as is the next
  double dispatch_cycles_per_tile = 0;
  bool several_pes = false;         ///< in the design, programs or not: which keys and rows it has
  std::uint32_t pes = 1;            ///< with a program; sums are over these
  record::PeStatistics statistics;  ///< summed
  MemoryPortTotals port;            ///< summed; of max_outstanding_bytes the largest
  std::vector<PeResult> per_pe;     ///< by program
  std::vector<Phase> phases;        ///< in the order in which a program enters them
  std::vector<LinkStatistics> links;
  std::vector<std::pair<std::string, MemoryTotals>> memories;  ///< embedded ones, by name
  bool window_is_loop = false;  ///< the windows of the PEs; of a run without one the run
  FileTensors results;          ///< with data
  std::optional<NumericsCheck> numerics;
  std::optional<HazardReport> hazards;  ///< if they were looked for
  std::string refused_figure;  ///< why there is none although it was wanted; empty: no fault
  double wall_s = 0;           ///< of the simulation, together with those that ran beside it
  double stages_per_s = 0;
  double setup_s = 0;  ///< before it: the machine built, the inputs in its memories
  double check_s = 0;  ///< after it: the results read back and compared
};

/// Adds what a PE has done. Its window is its own loop, empty if it has not entered it. `name`: of
/// its results.
void add_pe(RunResult& result, const Pe& pe, std::string name,
            const record::Statistics& statistics);

/// When all PEs have been added: settles their windows. `cut`: the loop of the only PE of a design,
/// else null. Of a run in which no PE has entered a loop they are the run, each until it was done.
void set_windows(RunResult& result, const LoopWindow* cut);
/// The windows of all PEs together.
WindowStatistics window_of(const RunResult& result);

/// A summary by the keys of contract 12; without a launch only those that tell neither of a kernel
/// nor of the host's time.
nlohmann::ordered_json summary_json(const RunResult& result);
/// `{runs, ratios}` of several runs, the second over the first.
nlohmann::ordered_json comparison_json(const std::vector<RunResult>& results);

/// What limits the run, if it is busy for at least 80 %: of the PEs the busiest engine, over the
/// longest window of a PE; or a link or HBM that is busier than every engine, over the run, or
/// nearly as busy as one that is occupied while it waits for it. Else that commands wait for each
/// other. Then whether the work is spread unevenly.
std::string bound_by(const RunResult& result);

/// A row for each region of the kernel: how many PEs entered it and how often, the time in it of
/// the PE that is longest in it and of their mean, and of that mean the HBM traffic, the busy
/// shares of the engines for its commands, and the kernel's waits. Empty if the design has one PE
/// and the kernel one region.
std::string phase_table(const RunResult& result);

/// A table, a run a column, headed by `labels`.
std::string summary_table(const std::vector<RunResult>& results,
                          const std::vector<std::string>& labels);

/// Which results have the same bits in all runs.
struct BitEquality {
  std::vector<std::string> equal, different;
};
BitEquality compare_results(const std::vector<RunResult>& results);
std::string to_string(const BitEquality& equality);

/// `value / whole`; 0 if there is nothing to divide by.
double ratio(double value, double whole);

}  // namespace kernbench::runtime
