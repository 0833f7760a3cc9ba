// SPDX-License-Identifier: Apache-2.0
#include "runtime/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "model/record/op_log.hpp"
#include "model/record/trace.hpp"
#include "model/record/vcd.hpp"

namespace kernbench::runtime {
namespace {

/// The open outputs of a run, and what feeds them.
class Outputs {
 public:
  Outputs(const RunRequest& request, const arch::TopologyConfig& topology) : rows_(request.rows) {
    const arch::DmaConfig& dma = topology.pe.dma;
    const OutputPaths& paths = request.paths;
    if (!paths.op_log.empty()) op_log_.emplace(paths.op_log);
    if (!paths.vcd.empty()) {
      vcd_.emplace(paths.vcd, request.vcd_pes, dma.read_channels, dma.write_channels);
    }
    if (!paths.trace.empty()) trace_.emplace(paths.trace);
    if (!paths.figure.empty()) {
      figure_.emplace(paths.figure, fmt::format("{} on {}", request.launch->title(), topology.name),
                      request.figure_window);
    }
    if (!paths.summary.empty()) summary_.emplace(paths.summary);
    if (!paths.outputs.empty()) tensors_.emplace(paths.outputs);
  }

  void attach(record::Recorder& recorder) {
    if (op_log_) recorder.add_sink(*op_log_);
    if (vcd_) recorder.add_sink(*vcd_);
    if (trace_) recorder.add_sink(*trace_);
    if (rows_ != nullptr) recorder.add_sink(*rows_);
    if (figure_) recorder.add_sink(*figure_);  // last: it may refuse when all others are complete
  }
  /// The figure, op log, VCD and trace are completed by the recorder.
  void complete(const RunResult& result) {
    if (summary_) {
      summary_->write(summary_json(result).dump(2));
      summary_->put('\n');
      summary_->commit();
    }
    if (tensors_) write_safetensors(*tensors_, result.results);
  }

 private:
  std::optional<record::OpLog> op_log_;
  std::optional<record::Vcd> vcd_;
  std::optional<record::Trace> trace_;
  std::optional<record::Figure> figure_;
  std::optional<record::OutputFile> summary_, tensors_;
  record::OrderedSink* rows_;
};

/// A request, elaborated.
struct Run {
  Run(const sc_core::sc_module_name& name, const arch::TopologyConfig& topology,
      const MemoryFactory& memory, const RunRequest& run_request)
      : request(run_request),
        outputs(run_request, topology),
        design(name, topology, *run_request.launch,
               run_request.inputs ? &*run_request.inputs : nullptr, memory),
        loop(design.pe.cpu, kLoopRegion) {
    design.recorder.add_sink(loop);
    if (request.check_hazards) {
      hazards.emplace(topology.pe.gemm);
      hazards->set_inputs(request.launch->inputs());
      design.pe.set_hazard_checker(&*hazards);
    }
    outputs.attach(design.recorder);
  }

  const RunRequest& request;
  Outputs outputs;
  Design design;
  LoopWindow loop;
  std::optional<record::HazardChecker> hazards;
};

void check_ended(const Run& run) {
  if (const std::exception_ptr failure = run.design.pe.cpu.failure()) {
    std::rethrow_exception(failure);
  }
  if (run.design.pe.idle()) return;
  std::string detail;
  for (const std::string& line : run.design.pe.waiting()) detail += line + '\n';
  throw SimulationError(
      fmt::format("{} stopped at {} ns with work in flight: nothing is left that could go on; "
                  "see below who waits for what, and check the memory behind the PE",
                  run.request.launch->title(), nanoseconds(TimeBase().now())),
      detail);
}

bool ended(const Run& run) {
  return run.design.pe.idle() || run.design.pe.cpu.failure() != nullptr;
}

/// Until every run has ended or nothing can go on. A memory with a clock never runs out of events,
/// so the runs are looked at after slices of time, few of them however long a run is.
void run_all(const std::vector<std::unique_ptr<Run>>& runs) {
  const sc_core::sc_time longest(1, sc_core::SC_MS);
  sc_core::sc_time slice(1, sc_core::SC_US);
  const auto all_ended = [&] {
    return std::all_of(runs.begin(), runs.end(), [](const auto& run) { return ended(*run); });
  };
  do {
    sc_core::sc_start(slice, sc_core::SC_EXIT_ON_STARVATION);
    slice = std::min(slice + slice, longest);
  } while (!all_ended() && sc_core::sc_pending_activity() &&
           sc_core::sc_get_status() != sc_core::SC_STOPPED);
}

/// Completes what the recorder feeds. Returns why the run has no figure, if one was wanted.
std::string finish(Run& run) {
  try {
    run.design.recorder.finish(run.design.pe.cpu.last_done_ps());
  } catch (const record::FigureRefused& error) {
    return error.what();
  }
  return {};
}

WindowStatistics whole_run(const record::PeStatistics& statistics, std::uint64_t end_ps) {
  WindowStatistics window;
  window.end_ps = end_ps;
  for (std::size_t i = 0; i < window.busy_ps.size(); ++i) {
    window.busy_ps[i] = statistics.engines[i].busy_ps;
  }
  window.stalls = statistics.stalls;
  return window;
}

RunResult result_of(Run& run, const arch::TopologyConfig& topology) {
  const PeCpu& cpu = run.design.pe.cpu;
  const arch::CostModelConfig& cost = topology.pe.pe_cost_model;
  RunResult result;
  result.launch = run.request.launch;
  result.topology = topology.name;
  result.read_channels = topology.pe.dma.read_channels;
  result.write_channels = topology.pe.dma.write_channels;
  result.sim_time_ps = cpu.last_done_ps();
  result.totals = cpu.totals();
  result.dispatch_cycles =
      arch::dispatch_cycles(cost, result.totals.segments, result.totals.logical_bytes).to_double();
  result.regions = cpu.regions();
  // R13.1: inside the loop; of a kernel without one, all.
  arch::Rational cycles =
      arch::dispatch_cycles(cost, result.totals.segments, result.totals.logical_bytes);
  for (const Region& region : result.regions) {
    if (region.name == kLoopRegion && region.entered) {
      cycles = arch::dispatch_cycles(cost, region.segments, region.logical_bytes);
    }
  }
  result.dispatch_cycles_per_tile =
      (cycles / arch::Rational(run.request.launch->instance().tiles)).to_double();
  const auto& pes = run.design.recorder.statistics().pes();
  if (!pes.empty()) result.statistics = pes[0];
  result.window_is_loop = run.loop.entered();
  result.window = result.window_is_loop ? run.loop.statistics()
                                        : whole_run(result.statistics, result.sim_time_ps);
  if (run.hazards) result.hazards = run.hazards->findings();
  if (run.request.inputs) {
    result.results = run.design.results();
    if (const auto& reference = run.request.launch->instance().reference) {
      result.numerics = check_numerics(reference(*run.request.inputs), result.results);
    }
  }
  return result;
}

}  // namespace

std::vector<RunResult> simulate(const arch::TopologyConfig& topology, const MemoryFactory& memory,
                                const std::vector<RunRequest>& requests) {
  std::vector<std::unique_ptr<Run>> runs;
  for (const RunRequest& request : requests) {
    const std::string name =
        requests.size() == 1 ? topology.name : fmt::format("{}_{}", topology.name, runs.size() + 1);
    runs.push_back(std::make_unique<Run>(name.c_str(), topology, memory, request));
  }
  const auto begin = std::chrono::steady_clock::now();
  run_all(runs);
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;

  for (const auto& run : runs) check_ended(*run);
  std::uint64_t rows = 0;
  std::vector<std::string> refused_figures;
  for (const auto& run : runs) {
    refused_figures.push_back(finish(*run));
    rows += run->design.recorder.statistics().rows();
  }
  std::vector<RunResult> results;
  for (const auto& run : runs) {
    RunResult result = result_of(*run, topology);
    result.wall_s = wall.count();
    result.stages_per_s = static_cast<double>(rows) / wall.count();
    result.refused_figure = std::move(refused_figures[results.size()]);
    run->outputs.complete(result);
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace kernbench::runtime
