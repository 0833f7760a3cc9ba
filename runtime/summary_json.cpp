// SPDX-License-Identifier: Apache-2.0
#include "runtime/summary_json.hpp"

#include "runtime/launch/version.hpp"
#include "runtime/shares.hpp"

namespace kernbench::runtime {
namespace {

using arch::Engine;
using nlohmann::ordered_json;

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

ordered_json engines_json(const RunResult& result, const record::PeStatistics& statistics) {
  ordered_json engines = ordered_json::object();
  for (const Engine engine : workers(result.several_pes)) {
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

ordered_json regions_json(const RunResult& result) {
  ordered_json regions = ordered_json::object();
  for (const Phase& phase : result.phases) {
    ordered_json& region = regions[phase.name];
    region = {{"start_ps", phase.start_ps}, {"end_ps", phase.end_ps}};
    if (!result.several_pes) continue;
    region["pes"] = phase.pes;
    region["entries"] = phase.entries;
    region["total_ps"] = phase.total_ps;
    region["longest_ps"] = phase.longest_ps;
    ordered_json busy = ordered_json::object();
    for (const Engine engine : workers(result.several_pes)) {
      busy[std::string(to_string(engine))] = phase.work.busy_ps[static_cast<std::size_t>(engine)];
    }
    region["busy_ps"] = std::move(busy);
    region["await_ps"] = phase.work.stalls.await_ps;
    region["hbm_bytes"] = phase.work.hbm_bytes;
  }
  return regions;
}

/// JSON has no infinity: an error that is not finite is null.
ordered_json numerics_json(const NumericsCheck& check) {
  return {{"compared_with", "float64"},
          {"max_abs_err", check.checked.max_abs_err},
          {"rms_rel_err", check.checked.rms_rel_err},
          {"tolerance", check.rms_rel_tolerance},
          {"pass", check.pass}};
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

/// In a design of several PEs: messages, and what each PE has done.
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

/// What each link and memory has done.
void add_network_json(ordered_json& json, const RunResult& result) {
  ordered_json links = ordered_json::object();
  for (const LinkStatistics& link : result.links) {
    links[link.name] = {{"packets", link.packets},     {"bytes_in", link.bytes_in},
                        {"bytes_out", link.bytes_out}, {"busy_ps", link.busy_ps},
                        {"wait_ps", link.wait_ps},     {"max_queued_bytes", link.max_queued_bytes}};
  }
  json["links"] = std::move(links);
  ordered_json memories = ordered_json::object();
  for (const auto& [name, totals] : result.memories) {
    memories[name] = {{"busy_ps", totals.busy_ps},
                      {"read_bytes", totals.read_bytes},
                      {"write_bytes", totals.write_bytes}};
  }
  json["memories"] = std::move(memories);
}

}  // namespace

ordered_json summary_json(const RunResult& result) {
  ordered_json json;
  json["schema"] = 1;
  if (result.launch != nullptr) {
    json["kernel"] = result.launch->kernel();
    json["params"] = parameters_json(*result.launch);
  }
  if (!result.topology.empty()) {  // otherwise somebody else's design
    json["topology"] = result.topology;
    json["topology_overrides"] = result.topology_overrides;
    if (result.launch != nullptr) {
      json["seed"] = result.seed ? ordered_json(*result.seed) : ordered_json();
    }
    json["kernbench_version"] = version();
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
  json["regions"] = regions_json(result);
  json["hbm"] = {{"read_bytes", result.statistics.hbm_read_bytes},
                 {"write_bytes", result.statistics.hbm_write_bytes}};
  json["dma_port"] = port_json(result.port);
  if (result.numerics) json["numerics"] = numerics_json(*result.numerics);
  if (result.launch != nullptr) {
    json["tcm"] = {{"scratch_peak_bytes", result.launch->scratch_peak_bytes()}};
  }
  if (result.hazards) {
    json["hazards"] = {{"races", result.hazards->races},
                       {"uninitialized_reads", result.hazards->uninitialized_reads}};
  }
  if (result.several_pes) add_pes_json(json, result);
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

}  // namespace kernbench::runtime
