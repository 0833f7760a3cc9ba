// SPDX-License-Identifier: Apache-2.0
#include "runtime/summary.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "model/arch/timing.hpp"

namespace kernbench::runtime {
namespace {

using arch::Engine;
using arch::nanoseconds;
using nlohmann::ordered_json;

constexpr double kBoundShare = 0.8;

/// The engines that work, in the order of the data flow; the last only with other PEs.
constexpr std::array<Engine, 7> kWorkers{Engine::cpu,  Engine::dma_rd, Engine::dma_wr, Engine::tcm,
                                         Engine::gemm, Engine::math,   Engine::ipcq};

std::vector<Engine> workers(const RunResult& result) {
  return {kWorkers.begin(), result.pes > 1 ? kWorkers.end() : kWorkers.end() - 1};
}

bool several_pes(const std::vector<RunResult>& results) {
  return std::any_of(results.begin(), results.end(),
                     [](const RunResult& result) { return result.pes > 1; });
}

std::uint32_t servers(const RunResult& result, Engine engine) {
  if (engine == Engine::dma_rd) return result.read_channels;
  if (engine == Engine::dma_wr) return result.write_channels;
  return 1;
}

std::uint64_t busy_in_window(const RunResult& result, Engine engine) {
  return result.window.busy_ps[static_cast<std::size_t>(engine)];
}

/// Of a time summed over the PEs: the mean share.
double share_of_window(const RunResult& result, std::uint64_t ps) {
  return ratio(static_cast<double>(ps), static_cast<double>(result.window.length_ps())) /
         result.pes;
}

double busy_share(const RunResult& result, Engine engine) {
  return share_of_window(result, busy_in_window(result, engine)) / servers(result, engine);
}

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }
std::string whole_percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

std::string_view window_name(const RunResult& result) {
  return result.window_is_loop ? "loop" : "run";
}

ordered_json parameters_json(const Launch& launch) {
  ordered_json json = ordered_json::object();
  for (const Launch::Parameter& parameter : launch.parameters()) {
    if (parameter.integer) {
      json[parameter.name] = std::stoll(parameter.value);
    } else {
      json[parameter.name] = parameter.value;
    }
  }
  return json;
}

const Phase* loop_of(const RunResult& result) {
  for (const Phase& phase : result.phases) {
    if (phase.name == kLoopRegion) return &phase;
  }
  return nullptr;
}

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

void add_window_rows(Table& table, const std::vector<RunResult>& results) {
  const bool loops = std::all_of(results.begin(), results.end(),
                                 [](const RunResult& result) { return result.window_is_loop; });
  const bool runs = std::none_of(results.begin(), results.end(),
                                 [](const RunResult& result) { return result.window_is_loop; });
  const std::string within = loops  ? "in the loop"
                             : runs ? "in the run"
                                    : "in the loop, or the run that has none";
  const char* const of_pes = several_pes(results) ? ", mean of the PEs; ns, sum" : "; ns";
  table.title(fmt::format("busy {} (share{})", within, of_pes));
  for (const Engine engine : kWorkers) {
    if (engine == Engine::ipcq && !several_pes(results)) continue;
    table.row(fmt::format("  {}", to_string(engine)), results, [&](const RunResult& result) {
      return fmt::format("{}; {}", percent(busy_share(result, engine)),
                         nanoseconds(busy_in_window(result, engine)));
    });
  }
  table.title(fmt::format("waits {} (share{})", within, of_pes));
  const auto waits = [&](const char* head, auto cause) {
    table.row(head, results, [&](const RunResult& result) {
      const std::uint64_t ps = result.window.stalls.*cause;
      return fmt::format("{}; {}", percent(share_of_window(result, ps)), nanoseconds(ps));
    });
  };
  waits("  await: the kernel, for results", &record::StallStatistics::await_ps);
  waits("  queue: the kernel, for a full queue", &record::StallStatistics::queue_ps);
  waits("  admit: the next command, beside the others", &record::StallStatistics::admit_ps);
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
  return result.phases.size() > 1 || (result.pes > 1 && !result.phases.empty());
}

/// Something is shared: packets have gone over links.
bool has_network(const RunResult& result) {
  return std::any_of(result.links.begin(), result.links.end(),
                     [](const LinkStatistics& link) { return link.packets > 0; });
}

/// A link or an HBM, and the share of the run that it was busy.
struct BusyShare {
  std::string name;
  double share = 0;
};
void take_busier(BusyShare& busiest, const RunResult& result, const std::string& name,
                 std::uint64_t busy_ps) {
  const double share = ratio(static_cast<double>(busy_ps), static_cast<double>(result.sim_time_ps));
  if (share > busiest.share) busiest = {name, share};
}
BusyShare busiest_link(const RunResult& result) {
  BusyShare busiest;
  for (const LinkStatistics& link : result.links) {
    take_busier(busiest, result, link.name, link.busy_ps);
  }
  return busiest;
}
/// A channel, or a PE's slice.
BusyShare busiest_memory(const RunResult& result) {
  BusyShare busiest;
  for (const auto& [name, totals] : result.memories) {
    take_busier(busiest, result, name, totals.busy_ps);
  }
  return busiest;
}

void add_network_rows(Table& table, const std::vector<RunResult>& results) {
  if (std::none_of(results.begin(), results.end(), has_network)) return;
  table.row("bytes sent to other PEs", results, [](const RunResult& result) {
    return fmt::format("{}", result.statistics.ipcq.sent_bytes);
  });
  const auto row = [&](const char* head, auto busiest) {
    table.row(head, results, [&](const RunResult& result) {
      const BusyShare found = busiest(result);
      return found.name.empty() ? std::string("none")
                                : fmt::format("{} {}", found.name, percent(found.share));
    });
  };
  row("busiest link", busiest_link);
  row("busiest HBM", busiest_memory);
}

ordered_json engines_json(const RunResult& result, const record::PeStatistics& statistics) {
  ordered_json engines = ordered_json::object();
  for (const Engine engine : workers(result)) {
    const record::EngineStatistics& sums = statistics.engines[static_cast<std::size_t>(engine)];
    engines[std::string(to_string(engine))] = {{"busy_ps", sums.busy_ps},
                                               {"stages", sums.stages},
                                               {"bytes", sums.bytes},
                                               {"elements", sums.elements}};
  }
  return engines;
}

ordered_json stalls_json(const record::StallStatistics& stalls) {
  return {
      {"queue_ps", stalls.queue_ps}, {"admit_ps", stalls.admit_ps}, {"await_ps", stalls.await_ps}};
}

ordered_json port_json(const MemoryPortTotals& port) {
  const auto direction = [](const PortTotals& totals) -> ordered_json {
    return {{"bursts", totals.bursts},
            {"bytes", totals.bytes},
            {"bus_bytes", totals.bus_bytes},
            {"max_outstanding_bytes", totals.max_outstanding_bytes},
            {"accept_wait_ps", totals.accept_wait_ps}};
  };
  return {{"read", direction(port.read)}, {"write", direction(port.write)}};
}

/// Of a run on several PEs: messages, and what each PE has done.
void add_pes_json(ordered_json& json, const RunResult& result) {
  json["pes"] = result.pes;
  const record::IpcqStatistics& ipcq = result.statistics.ipcq;
  json["messages"] = {{"sent_slots", ipcq.sent_slots},
                      {"sent_bytes", ipcq.sent_bytes},
                      {"received_slots", ipcq.received_slots},
                      {"received_bytes", ipcq.received_bytes}};
  ordered_json per_pe = ordered_json::object();
  for (const PeResult& pe : result.per_pe) {
    per_pe[pe.name] = {{"pe", pe.pe},
                       {"done_ps", pe.done_ps},
                       {"engines", engines_json(result, pe.statistics)},
                       {"stalls", stalls_json(pe.statistics.stalls)},
                       {"dma_port", port_json(pe.port)}};
  }
  json["per_pe"] = std::move(per_pe);
}

/// What each link and memory that was used has done.
void add_network_json(ordered_json& json, const RunResult& result) {
  ordered_json links = ordered_json::object();
  for (const LinkStatistics& link : result.links) {
    if (link.packets == 0) continue;
    links[link.name] = {{"packets", link.packets},
                        {"bytes_in", link.bytes_in},
                        {"bytes_out", link.bytes_out},
                        {"busy_ps", link.busy_ps}};
  }
  json["links"] = std::move(links);
  ordered_json memories = ordered_json::object();
  for (const auto& [name, totals] : result.memories) {
    if (totals.busy_ps == 0) continue;
    memories[name] = {{"busy_ps", totals.busy_ps},
                      {"read_bytes", totals.read_bytes},
                      {"write_bytes", totals.write_bytes}};
  }
  json["memories"] = std::move(memories);
}

/// The same bits: tells 0 from -0, and takes a NaN for itself.
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
  sum.stalls.queue_ps += pe.stalls.queue_ps;
  sum.stalls.admit_ps += pe.stalls.admit_ps;
  sum.stalls.await_ps += pe.stalls.await_ps;
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

/// One phase a name, from the first start to the last end on any PE.
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
  phase->work.await_ps += work.await_ps;
  phase->work.hbm_bytes += work.hbm_bytes;
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
  for (std::size_t i = 0; i < work.size(); ++i) add(result.phases, cpu.regions()[i], work[i]);
  result.per_pe.push_back(std::move(of_pe));
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

ordered_json summary_json(const RunResult& result) {
  ordered_json json;
  json["schema"] = 1;
  if (result.launch != nullptr) {
    json["kernel"] = result.launch->kernel();
    json["params"] = parameters_json(*result.launch);
    json["topology"] = result.topology;
  }
  json["sim_time_ps"] = result.sim_time_ps;
  json["commands"] = result.totals.commands;
  json["logical_bytes"] = result.totals.logical_bytes;
  json["dispatch_cycles"] = result.dispatch_cycles;
  if (result.launch != nullptr) {
    json["dispatch_cycles_per_tile"] = result.dispatch_cycles_per_tile;
  }
  json["engines"] = engines_json(result, result.statistics);
  json["stalls"] = stalls_json(result.statistics.stalls);
  ordered_json regions = ordered_json::object();
  for (const Phase& phase : result.phases) {
    ordered_json& region = regions[phase.name];
    region = {{"start_ps", phase.start_ps}, {"end_ps", phase.end_ps}};
    if (result.pes == 1) continue;
    region["pes"] = phase.pes;
    region["entries"] = phase.entries;
    region["total_ps"] = phase.total_ps;
    region["longest_ps"] = phase.longest_ps;
    ordered_json busy = ordered_json::object();
    for (const Engine engine : workers(result)) {
      busy[std::string(to_string(engine))] = phase.work.busy_ps[static_cast<std::size_t>(engine)];
    }
    region["busy_ps"] = std::move(busy);
    region["await_ps"] = phase.work.await_ps;
    region["hbm_bytes"] = phase.work.hbm_bytes;
  }
  json["regions"] = std::move(regions);
  json["hbm"] = {{"read_bytes", result.statistics.hbm_read_bytes},
                 {"write_bytes", result.statistics.hbm_write_bytes}};
  json["dma_port"] = port_json(result.port);
  if (result.numerics) {
    // JSON has no infinity: an error that is not finite is null.
    json["numerics"] = {{"compared_with", "float64"},
                        {"max_abs_err", result.numerics->checked.max_abs_err},
                        {"rms_rel_err", result.numerics->checked.rms_rel_err},
                        {"tolerance", result.numerics->rms_rel_tolerance},
                        {"pass", result.numerics->pass}};
  }
  if (result.launch != nullptr) {
    json["tcm"] = {{"scratch_peak_bytes", result.launch->scratch_peak_bytes()}};
  }
  if (result.hazards) {
    json["hazards"] = {{"races", result.hazards->races},
                       {"uninitialized_reads", result.hazards->uninitialized_reads}};
  }
  if (result.pes > 1) add_pes_json(json, result);
  if (has_network(result)) add_network_json(json, result);
  if (result.launch != nullptr) {
    json["host"] = {{"wall_s", result.wall_s}, {"stages_per_s", result.stages_per_s}};
  }
  return json;
}

ordered_json comparison_json(const std::vector<RunResult>& results) {
  ordered_json json;
  json["runs"] = ordered_json::array();
  for (const RunResult& result : results) json["runs"].push_back(summary_json(result));
  const RunResult &first = results[0], &second = results[1];
  json["ratios"] = {{"dispatch_cycles_per_tile",
                     ratio(second.dispatch_cycles_per_tile, first.dispatch_cycles_per_tile)},
                    {"sim_time_ps", ratio(static_cast<double>(second.sim_time_ps),
                                          static_cast<double>(first.sim_time_ps))}};
  return json;
}

std::string bound_by(const RunResult& result) {
  const std::vector<Engine> engines = workers(result);
  const Engine busiest = *std::max_element(engines.begin(), engines.end(), [&](Engine x, Engine y) {
    return busy_share(result, x) < busy_share(result, y);
  });
  const std::string_view window = window_name(result);
  const std::string_view name = busiest == Engine::cpu ? "cpu dispatch" : to_string(busiest);
  const double share = busy_share(result, busiest);
  const BusyShare link = busiest_link(result);
  const BusyShare memory = has_network(result) ? busiest_memory(result) : BusyShare{};
  const BusyShare& shared = link.share < memory.share ? memory : link;
  if (shared.share >= std::max(share, kBoundShare)) {
    return fmt::format("bound by {} (busy {} of the run)", shared.name,
                       whole_percent(shared.share));
  }
  if (share >= kBoundShare) {
    return fmt::format("bound by {} (busy {} of the {})", name, whole_percent(share), window);
  }
  const auto stalled = [&](std::uint64_t ps) { return whole_percent(share_of_window(result, ps)); };
  return fmt::format(
      "bound by serial dependencies (busiest in the {}: {}, {}; stalls: await {}, admit {}, queue "
      "{})",
      window, name, whole_percent(share), stalled(result.window.stalls.await_ps),
      stalled(result.window.stalls.admit_ps), stalled(result.window.stalls.queue_ps));
}

std::string phase_table(const RunResult& result) {
  if (!has_phases(result)) return {};
  std::vector<std::string> heads{"PEs",        "entries",  "longest, ns",
                                 "of the run", "mean, ns", "HBM GB/s"};
  for (const Engine engine : workers(result)) heads.emplace_back(to_string(engine));
  heads.emplace_back("await");
  Table table;
  table.row("phase", heads);
  for (const Phase& phase : result.phases) {
    const auto total = static_cast<double>(phase.total_ps);
    std::vector<std::string> cells{
        fmt::format("{}", phase.pes), fmt::format("{}", phase.entries),
        nanoseconds(phase.longest_ps),
        percent(
            ratio(static_cast<double>(phase.longest_ps), static_cast<double>(result.sim_time_ps))),
        nanoseconds(phase.total_ps / phase.pes),
        // Of a PE: bytes a ps are 1000 GB/s.
        fmt::format("{:.1f}", 1000 * ratio(static_cast<double>(phase.work.hbm_bytes), total))};
    for (const Engine engine : workers(result)) {
      const auto busy = static_cast<double>(phase.work.busy_ps[static_cast<std::size_t>(engine)]);
      cells.push_back(percent(ratio(busy, total) / servers(result, engine)));
    }
    cells.push_back(percent(ratio(static_cast<double>(phase.work.await_ps), total)));
    table.row(phase.name, cells);
  }
  return table.text();
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
  table.row("loop time, ns", results, [](const RunResult& result) {
    const Phase* loop = loop_of(result);
    return loop == nullptr ? std::string("no loop") : nanoseconds(loop->end_ps - loop->start_ps);
  });
  table.row("tiles", results, [](const RunResult& result) {
    return fmt::format("{}", result.launch->instance().tiles);
  });
  table.row("commands", results,
            [](const RunResult& result) { return fmt::format("{}", result.totals.commands); });
  table.row("logical bytes", results,
            [](const RunResult& result) { return fmt::format("{}", result.totals.logical_bytes); });
  table.row("dispatch cycles", results,
            [](const RunResult& result) { return fmt::format("{}", result.dispatch_cycles); });
  table.row("dispatch cycles a tile", results, [](const RunResult& result) {
    return fmt::format("{:.3f}", result.dispatch_cycles_per_tile);
  });
  table.row("HBM bytes read", results, [](const RunResult& result) {
    return fmt::format("{}", result.statistics.hbm_read_bytes);
  });
  table.row("HBM bytes written", results, [](const RunResult& result) {
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
