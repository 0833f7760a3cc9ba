// SPDX-License-Identifier: Apache-2.0
#include "runtime/summary.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

namespace kernbench::runtime {
namespace {

/// True for the same bits: 0 differs from -0, and a NaN equals itself.
bool bit_equal(const FileTensor& x, const FileTensor& y) {
  return x.dtype == y.dtype && x.values.size() == y.values.size() &&
         std::memcmp(x.values.data(), y.values.data(), x.values.size() * sizeof(double)) == 0;
}

void add(record::PeStatistics& sum, const record::PeStatistics& pe) {
  for (std::size_t i = 0; i < sum.engines.size(); ++i) {
    sum.engines[i].busy_ps += pe.engines[i].busy_ps;
    sum.engines[i].stages += pe.engines[i].stages;
    sum.engines[i].bytes += pe.engines[i].bytes;
    sum.engines[i].elements += pe.engines[i].elements;
  }
  sum.stalls += pe.stalls;
  sum.ipcq.sent_slots += pe.ipcq.sent_slots;
  sum.ipcq.sent_bytes += pe.ipcq.sent_bytes;
  sum.ipcq.received_slots += pe.ipcq.received_slots;
  sum.ipcq.received_bytes += pe.ipcq.received_bytes;
  sum.hbm_read_bytes += pe.hbm_read_bytes;
  sum.hbm_write_bytes += pe.hbm_write_bytes;
  sum.rows += pe.rows;
}

void add(PortTotals& sum, const PortTotals& pe) {
  sum.bursts += pe.bursts;
  sum.bytes += pe.bytes;
  sum.bus_bytes += pe.bus_bytes;
  sum.max_outstanding_bytes = std::max(sum.max_outstanding_bytes, pe.max_outstanding_bytes);
  sum.accept_wait_ps += pe.accept_wait_ps;
}

/// One phase per name, from the first start to the last end on any PE.
void add(std::vector<Phase>& phases, const Region& region, const record::RegionStatistics& work) {
  if (!region.entered) return;
  auto phase = std::find_if(phases.begin(), phases.end(),
                            [&](const Phase& known) { return known.name == region.name; });
  if (phase == phases.end()) {
    phase = phases.insert(phases.end(), Phase{region.name});
    phase->start_ps = region.start_ps;
  }
  phase->start_ps = std::min(phase->start_ps, region.start_ps);
  phase->end_ps = std::max(phase->end_ps, region.end_ps);
  phase->commands += region.commands;
  phase->segments += region.segments;
  phase->logical_bytes += region.logical_bytes;
  ++phase->pes;
  phase->entries = std::max(phase->entries, region.entries);
  phase->total_ps += region.total_ps;
  phase->longest_ps = std::max(phase->longest_ps, region.total_ps);
  for (std::size_t i = 0; i < work.busy_ps.size(); ++i) phase->work.busy_ps[i] += work.busy_ps[i];
  phase->work.stalls += work.stalls;
  phase->work.hbm_bytes += work.hbm_bytes;
}

WindowStatistics whole_run(const PeResult& pe) {
  WindowStatistics window;
  window.time_ps = pe.done_ps;
  for (std::size_t i = 0; i < window.busy_ps.size(); ++i) {
    window.busy_ps[i] = pe.statistics.engines[i].busy_ps;
  }
  window.stalls = pe.statistics.stalls;
  return window;
}

}  // namespace

void add_pe(RunResult& result, const Pe& pe, std::string name,
            const record::Statistics& statistics) {
  const PeCpu& cpu = pe.cpu;
  result.totals.commands += cpu.totals().commands;
  result.totals.segments += cpu.totals().segments;
  result.totals.logical_bytes += cpu.totals().logical_bytes;
  PeResult of_pe{pe.index(), std::move(name), cpu.last_done_ps(), {}, pe.dma.port.totals()};
  add(result.port.read, of_pe.port.read);
  add(result.port.write, of_pe.port.write);
  if (pe.index() < statistics.pes().size()) of_pe.statistics = statistics.pes()[pe.index()];
  add(result.statistics, of_pe.statistics);
  std::vector<record::RegionStatistics> work = of_pe.statistics.regions;
  work.resize(cpu.regions().size());
  for (std::size_t i = 0; i < work.size(); ++i) {
    const Region& region = cpu.regions()[i];
    add(result.phases, region, work[i]);
    if (region.name == kLoopRegion) {
      of_pe.window = {region.total_ps, work[i].busy_ps, work[i].stalls};
    }
  }
  result.per_pe.push_back(std::move(of_pe));
}

void set_windows(RunResult& result, const LoopWindow* cut) {
  result.window_is_loop = std::any_of(result.phases.begin(), result.phases.end(),
                                      [](const Phase& phase) { return phase.name == kLoopRegion; });
  for (PeResult& pe : result.per_pe) {
    if (!result.window_is_loop) {
      pe.window = whole_run(pe);
    } else if (cut != nullptr) {
      pe.window = cut->statistics();
    }
  }
}

WindowStatistics window_of(const RunResult& result) {
  WindowStatistics sum;
  for (const PeResult& pe : result.per_pe) {
    sum.time_ps += pe.window.time_ps;
    for (std::size_t i = 0; i < sum.busy_ps.size(); ++i) sum.busy_ps[i] += pe.window.busy_ps[i];
    sum.stalls += pe.window.stalls;
  }
  return sum;
}

BitEquality compare_results(const std::vector<RunResult>& results) {
  BitEquality equality;
  for (const auto& entry : results.front().results) {
    const std::string& name = entry.first;
    const bool same = std::all_of(results.begin(), results.end(), [&](const RunResult& other) {
      const auto found = other.results.find(name);
      return found != other.results.end() && bit_equal(entry.second, found->second);
    });
    (same ? equality.equal : equality.different).push_back(name);
  }
  return equality;
}

std::string to_string(const BitEquality& equality) {
  const auto list = [](const std::vector<std::string>& names) {
    return names.empty() ? std::string("none") : fmt::format("{}", fmt::join(names, ", "));
  };
  std::string text = "bit-equal: " + list(equality.equal);
  if (!equality.different.empty()) text += "; DIFFERENT: " + list(equality.different);
  return text;
}

double ratio(double value, double whole) { return whole > 0 ? value / whole : 0; }

}  // namespace kernbench::runtime
