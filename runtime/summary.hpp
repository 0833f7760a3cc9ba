// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
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

/// The region of totals and bounds (R13.1).
inline constexpr char kLoopRegion[] = "loop";

/// A region of the kernel (R13.1) over all PEs that entered it: from the first start to the last
/// end.
struct Phase {
  std::string name;
  std::uint64_t start_ps = 0;
  std::uint64_t end_ps = 0;
  std::uint64_t commands = 0;  ///< summed over all PEs, like the next two
  std::uint64_t segments = 0;
  std::uint64_t logical_bytes = 0;
  std::uint32_t pes = 0;               ///< number of PEs that entered it
  std::uint64_t entries = 0;           ///< the largest number of entries by one PE
  std::uint64_t total_ps = 0;          ///< time in it, summed over its entries and PEs
  std::uint64_t longest_ps = 0;        ///< the longest time in it of one PE
  record::RegionStatistics work = {};  ///< summed over the PEs
};

struct PeResult {
  std::uint32_t pe = 0;
  std::string name;
  std::uint64_t done_ps = 0;
  record::PeStatistics statistics;
  MemoryPortTotals port = {};
  WindowStatistics window = {};  ///< the time to which its shares relate
};

struct HazardReport {
  std::size_t races = 0;
  std::size_t uninitialized_reads = 0;
  std::vector<std::string> lines;  ///< one per finding, PE by PE
};

/// The results of a completed run.
struct RunResult {
  const Launch* launch = nullptr;  ///< null: PEs in somebody else's design
  std::string topology;
  std::vector<std::string> topology_overrides;  ///< `key=value` of --set
  std::optional<std::uint64_t> seed;            ///< of the inputs, if they are synthetic
  std::uint32_t read_channels = 1, write_channels = 1;
  std::uint64_t sim_time_ps = 0;
  DispatchTotals totals;
  double dispatch_cycles = 0;  ///< unrounded (R6.1), like the next
  double dispatch_cycles_per_tile = 0;
  bool several_pes = false;         ///< the design has several PEs, with or without programs;
                                    ///< decides the keys and rows
  std::uint32_t pes = 1;            ///< number of PEs with a program; sums are over these
  record::PeStatistics statistics;  ///< summed
  MemoryPortTotals port;            ///< summed, except max_outstanding_bytes, which is the largest
  std::vector<PeResult> per_pe;     ///< by program
  std::vector<Phase> phases;        ///< in the order in which programs enter them
  std::vector<LinkStatistics> links;
  std::vector<std::pair<std::string, MemoryTotals>> memories;  ///< embedded ones, by name
  bool window_is_loop = false;  ///< the PEs' windows are their loops; false: there is no loop, and
                                ///< they are the run
  FileTensors results;          ///< with data
  std::optional<NumericsCheck> numerics;
  std::optional<HazardReport> hazards;  ///< if they were checked
  std::string refused_figure;           ///< why a wanted figure was not written; empty: no error
  double wall_s = 0;                    ///< of the simulation, including the runs beside this one
  double stages_per_s = 0;
  double setup_s = 0;  ///< before it: building the machine and loading the inputs
  double check_s = 0;  ///< after it: reading back and comparing the results
};

/// Adds the results of a PE under `name`. Its window is its own loop, empty if it has not entered
/// the loop.
void add_pe(RunResult& result, const Pe& pe, std::string name,
            const record::Statistics& statistics);

/// Sets the windows of the PEs; call it when all PEs have been added. `cut`: the loop of a design's
/// only PE, otherwise null. If no PE has entered a loop, a window is the PE's run until it was
/// done.
void set_windows(RunResult& result, const LoopWindow* cut);
/// The sum of the windows of all PEs.
WindowStatistics window_of(const RunResult& result);

/// The results that have the same bits in all runs, and those that differ.
struct BitEquality {
  std::vector<std::string> equal, different;
};
BitEquality compare_results(const std::vector<RunResult>& results);
std::string to_string(const BitEquality& equality);

/// `value / whole`; 0 if there is nothing to divide by.
double ratio(double value, double whole);

}  // namespace kernbench::runtime
