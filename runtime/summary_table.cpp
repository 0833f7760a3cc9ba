// SPDX-License-Identifier: Apache-2.0
#include "runtime/summary_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "model/arch/timing.hpp"
#include "runtime/shares.hpp"

namespace kernbench::runtime {
namespace {

using arch::Engine;
using arch::nanoseconds;

bool several_pes(const std::vector<RunResult>& results) {
  return std::any_of(results.begin(), results.end(),
                     [](const RunResult& result) { return result.several_pes; });
}

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

/// Rows of equal width, the first column left-aligned.
class Table {
 public:
  void row(std::string head, std::vector<std::string> cells) {
    rows_.push_back({std::move(head), std::move(cells)});
  }
  /// `cell` of every run.
  template <class Cell>
  void row(std::string head, const std::vector<RunResult>& results, Cell cell) {
    std::vector<std::string> cells;
    for (const RunResult& result : results) cells.push_back(cell(result));
    row(std::move(head), std::move(cells));
  }
  void title(std::string text) { row(std::move(text), std::vector<std::string>{}); }

  std::string text() const {
    std::size_t head_width = 0, cell_width = 0;
    for (const Row& row : rows_) {
      if (!row.cells.empty()) head_width = std::max(head_width, row.head.size());
      for (const std::string& cell : row.cells) cell_width = std::max(cell_width, cell.size());
    }
    std::string text;
    for (const Row& row : rows_) {
      text += row.cells.empty() ? row.head : fmt::format("{:<{}}", row.head, head_width);
      for (const std::string& cell : row.cells) text += fmt::format("  {:>{}}", cell, cell_width);
      text += '\n';
    }
    return text;
  }

 private:
  struct Row {
    std::string head;
    std::vector<std::string> cells;
  };
  std::vector<Row> rows_;
};

/// The part of the runs to which the rows of the loop refer.
std::string window_name(const std::vector<RunResult>& results) {
  const bool loops = std::all_of(results.begin(), results.end(),
                                 [](const RunResult& result) { return result.window_is_loop; });
  const bool runs = std::none_of(results.begin(), results.end(),
                                 [](const RunResult& result) { return result.window_is_loop; });
  if (loops) return "in the loop";
  return runs ? "in the run" : "in the loop, or the run that has none";
}

void add_window_rows(Table& table, const std::vector<RunResult>& results) {
  const std::string within = window_name(results);
  const bool several = several_pes(results);
  const std::string share =
      !several ? "share; ns" : fmt::format("share of each PE's time {}; ns, sum", within);
  std::vector<WindowStatistics> windows;
  for (const RunResult& result : results) windows.push_back(window_of(result));
  const auto row = [&](std::string head, auto cell) {
    std::vector<std::string> cells;
    for (std::size_t i = 0; i < results.size(); ++i) cells.push_back(cell(results[i], windows[i]));
    table.row(std::move(head), std::move(cells));
  };
  table.title(fmt::format("busy {} ({})", within, share));
  for (const Engine engine : workers(several)) {
    row(fmt::format("  {}", to_string(engine)),
        [&](const RunResult& result, const WindowStatistics& window) {
          const std::uint64_t ps = window.busy_ps[static_cast<std::size_t>(engine)];
          return fmt::format("{}; {}", percent(busy_share(result, engine, ps, window.time_ps)),
                             nanoseconds(ps));
        });
  }
  table.title(fmt::format("waits {} ({})", within, share));
  const auto waits = [&](const char* head, auto cause) {
    row(head, [&](const RunResult&, const WindowStatistics& window) {
      const std::uint64_t ps = window.stalls.*cause;
      return fmt::format("{}; {}", percent(share_of(ps, window.time_ps)), nanoseconds(ps));
    });
  };
  waits("  await: the kernel, for results", &record::StallStatistics::await_ps);
  waits("  queue: the kernel, for a full queue", &record::StallStatistics::queue_ps);
  waits("  admit: the queue's head, while others run", &record::StallStatistics::admit_ps);
}

void add_numerics_rows(Table& table, const std::vector<RunResult>& results) {
  const auto checked = [&](auto cell) {
    return [cell](const RunResult& result) {
      return result.numerics ? cell(*result.numerics) : std::string("not checked");
    };
  };
  if (std::none_of(results.begin(), results.end(),
                   [](const RunResult& result) { return result.numerics.has_value(); })) {
    return;
  }
  table.title("error against float64 (allowed)");
  table.row("  rms(err) / rms(ref)", results, checked([](const NumericsCheck& check) {
              return fmt::format("{:.3g} ({:.3g})", check.checked.rms_rel_err,
                                 check.rms_rel_tolerance);
            }));
  table.row("  max |err|", results, checked([](const NumericsCheck& check) {
              return fmt::format("{:.3g} ({:.3g})", check.checked.max_abs_err,
                                 check.max_abs_tolerance);
            }));
  table.row("  checked", results, checked([](const NumericsCheck& check) {
              return fmt::format("{}: {}", check.checked.name, check.pass ? "pass" : "FAIL");
            }));
}

void add_hazard_row(Table& table, const std::vector<RunResult>& results) {
  if (std::none_of(results.begin(), results.end(),
                   [](const RunResult& result) { return result.hazards.has_value(); })) {
    return;
  }
  table.row("hazards: races; reads of unwritten bytes", results, [](const RunResult& result) {
    if (!result.hazards) return std::string("not checked");
    return fmt::format("{}; {}", result.hazards->races, result.hazards->uninitialized_reads);
  });
}

bool has_phases(const RunResult& result) {
  return result.phases.size() > 1 || (result.several_pes && !result.phases.empty());
}

void add_network_rows(Table& table, const std::vector<RunResult>& results) {
  if (std::none_of(results.begin(), results.end(), has_network)) return;
  table.row("bytes sent in the run to other PEs", results, [](const RunResult& result) {
    return fmt::format("{}", result.statistics.ipcq.sent_bytes);
  });
  const auto row = [&](const char* head, auto busiest) {
    table.row(head, results, [&](const RunResult& result) {
      const BusyShare found = busiest(result);
      return found.name.empty() ? std::string("none")
                                : fmt::format("{} {}", found.name, percent(found.share));
    });
  };
  row("busiest link in the run", busiest_link);
  row("busiest HBM in the run", busiest_memory);
}

}  // namespace

std::string phase_table(const RunResult& result) {
  if (!has_phases(result)) return {};
  const std::vector<Engine> engines = workers(result.several_pes);
  std::vector<std::string> heads{"PEs", "entries", "longest, ns", "of the run", "mean, ns"};
  heads.emplace_back(result.several_pes ? "HBM GB/s per PE" : "HBM GB/s");
  for (const Engine engine : engines) heads.emplace_back(to_string(engine));
  heads.emplace_back("await");
  Table table;
  table.row("phase", heads);
  for (const Phase& phase : result.phases) {
    std::vector<std::string> cells{
        fmt::format("{}", phase.pes), fmt::format("{}", phase.entries),
        nanoseconds(phase.longest_ps), percent(share_of(phase.longest_ps, result.sim_time_ps)),
        nanoseconds(phase.total_ps / phase.pes),
        // A byte per ps is 1000 GB/s.
        fmt::format("{:.1f}", 1000 * share_of(phase.work.hbm_bytes, phase.total_ps))};
    for (const Engine engine : engines) {
      const std::uint64_t ps = phase.work.busy_ps[static_cast<std::size_t>(engine)];
      cells.push_back(percent(busy_share(result, engine, ps, phase.total_ps)));
    }
    cells.push_back(percent(share_of(phase.work.stalls.await_ps, phase.total_ps)));
    table.row(phase.name, cells);
  }
  return table.text() +
         "Shares of the engines and of await are of the time in the phase. Phases nest and "
         "overlap: "
         "their shares of the run may add up to more than 100 %.\n";
}

std::string summary_table(const std::vector<RunResult>& results,
                          const std::vector<std::string>& labels) {
  Table table;
  table.row("", labels);
  table.row("simulated time, ns", results,
            [](const RunResult& result) { return nanoseconds(result.sim_time_ps); });
  if (several_pes(results)) {
    table.row("programs, each on a PE", results,
              [](const RunResult& result) { return fmt::format("{}", result.pes); });
  }
  table.row(several_pes(results) ? "loop time of the longest PE, ns" : "loop time, ns", results,
            [](const RunResult& result) {
              return result.window_is_loop ? nanoseconds(longest_pe(result).window.time_ps)
                                           : std::string("no loop");
            });
  table.row("tiles", results, [](const RunResult& result) {
    return fmt::format("{}", result.launch->instance().tiles);
  });
  table.row("commands in the run", results,
            [](const RunResult& result) { return fmt::format("{}", result.totals.commands); });
  table.row("logical bytes in the run", results,
            [](const RunResult& result) { return fmt::format("{}", result.totals.logical_bytes); });
  table.row("dispatch cycles in the run", results,
            [](const RunResult& result) { return fmt::format("{}", result.dispatch_cycles); });
  table.row("dispatch cycles per tile " + window_name(results), results,
            [](const RunResult& result) {
              return fmt::format("{:.3f}", result.dispatch_cycles_per_tile);
            });
  table.row("HBM bytes read in the run", results, [](const RunResult& result) {
    return fmt::format("{}", result.statistics.hbm_read_bytes);
  });
  table.row("HBM bytes written in the run", results, [](const RunResult& result) {
    return fmt::format("{}", result.statistics.hbm_write_bytes);
  });
  table.row("TCM scratch bytes, peak", results, [](const RunResult& result) {
    return fmt::format("{}", result.launch->scratch_peak_bytes());
  });
  add_network_rows(table, results);
  add_window_rows(table, results);
  add_numerics_rows(table, results);
  add_hazard_row(table, results);
  return table.text();
}

}  // namespace kernbench::runtime
