// SPDX-License-Identifier: Apache-2.0
#include "runtime/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>

namespace kernbench::runtime {
namespace {

/// The open outputs of a run, and what feeds them.
class Outputs {
 public:
  Outputs(const RunRequest& request, const arch::TopologyConfig& topology)
      : files_(request.paths), rows_(request.rows) {
    const OutputPaths& paths = request.paths;
    const std::vector<std::uint32_t>& shown = request.vcd_pes;
    for (record::PeScope& pe : record::scopes_of(topology)) {
      pe.shown = shown.empty() || std::find(shown.begin(), shown.end(), pe.number) != shown.end();
      files_.add_pe(pe);
    }
    if (!paths.figure.empty()) {
      figure_.emplace(paths.figure, fmt::format("{} on {}", request.launch->title(), topology.name),
                      request.figure_window, topology);
    }
    if (!paths.outputs.empty()) tensors_.emplace(paths.outputs);
  }

  void attach(record::Recorder& recorder) {
    files_.attach(recorder);
    if (rows_ != nullptr) recorder.add_sink(*rows_);
    if (figure_) recorder.add_sink(*figure_);  // last: it may refuse when all others are complete
  }
  /// The figure, op log, VCD and trace are completed by the recorder.
  void complete(const RunResult& result) {
    files_.write_summary(summary_json(result));
    if (tensors_) write_safetensors(*tensors_, result.results);
  }

 private:
  StageFiles files_;
  std::optional<record::Figure> figure_;
  std::optional<record::OutputFile> tensors_;
  record::OrderedSink* rows_;
};

/// A request, elaborated.
struct Run {
  Run(const sc_core::sc_module_name& name, const arch::TopologyConfig& topology,
      const MemoryFactory& memory, const RunRequest& run_request)
      : request(run_request),
        outputs(run_request, topology),
        design(name, topology,
               {run_request.inputs.has_value(), memory, run_request.reverse_creation}) {
    const KernelLaunch& launch = request.launch->launch();
    design.launch(launch);
    if (request.inputs) {
      for (const DeviceTensor& tensor : launch.arguments()) {
        if (tensor->spec.direction != kernels::Direction::in) continue;
        design.write(tensor, request.inputs->at(tensor->spec.name));
      }
    }
    std::vector<const PeCpu*> cpus;
    for (const std::uint32_t number : launch.pes()) {
      Pe& pe = design.machine.pe(number);
      cpus.push_back(&pe.cpu);
      if (!request.check_hazards) continue;
      hazards.push_back(std::make_unique<record::HazardChecker>(topology.pe.gemm));
      hazards.back()->set_inputs(request.launch->inputs(number));
      pe.set_hazard_checker(hazards.back().get());
    }
    loop.emplace(std::move(cpus), kLoopRegion);
    design.recorder.add_sink(*loop);
    outputs.attach(design.recorder);
  }

  const RunRequest& request;
  Outputs outputs;
  Design design;
  std::optional<LoopWindow> loop;
  std::vector<std::unique_ptr<record::HazardChecker>> hazards;  // by program
};

/// Completes what the recorder feeds. Returns why the run has no figure, if one was wanted.
std::string finish(Run& run) {
  try {
    run.design.recorder.finish(run.design.last_done_ps());
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

HazardReport hazards_of(const Run& run, const arch::TopologyConfig& topology) {
  HazardReport report;
  const std::vector<std::uint32_t>& pes = run.request.launch->launch().pes();
  for (std::size_t i = 0; i < run.hazards.size(); ++i) {
    const record::HazardFindings found = run.hazards[i]->findings();
    report.races += found.races.size();
    report.uninitialized_reads += found.uninitialized_reads.size();
    for (const std::string& line : record::lines_of(found)) {
      report.lines.push_back(
          pes.size() == 1 ? line : fmt::format("{}: {}", arch::pe_name(topology, pes[i]), line));
    }
  }
  return report;
}

RunResult result_of(Run& run, const arch::TopologyConfig& topology) {
  const KernelLaunch& launch = run.request.launch->launch();
  const arch::CostModelConfig& cost = topology.pe.pe_cost_model;
  const auto cycles = [&](std::uint64_t segments, std::uint64_t bytes) {
    return arch::dispatch_cycles(cost, segments, bytes);
  };
  RunResult result;
  result.launch = run.request.launch;
  result.topology = topology.name;
  result.read_channels = topology.pe.dma.read_channels;
  result.write_channels = topology.pe.dma.write_channels;
  result.sim_time_ps = run.design.last_done_ps();
  result.pes = static_cast<std::uint32_t>(launch.pes().size());
  result.links = run.design.machine.links();
  result.memories = run.design.machine.memories();
  for (const std::uint32_t number : launch.pes()) {
    add_pe(result, run.design.machine.pe(number), arch::pe_name(topology, number),
           run.design.recorder.statistics());
  }
  arch::Rational loop_cycles = cycles(result.totals.segments, result.totals.logical_bytes);
  result.dispatch_cycles = loop_cycles.to_double();
  // R13.1: inside the loop; of a kernel without one, all.
  for (const Phase& phase : result.phases) {
    if (phase.name == kLoopRegion) loop_cycles = cycles(phase.segments, phase.logical_bytes);
  }
  result.dispatch_cycles_per_tile =
      (loop_cycles / arch::Rational(run.request.launch->instance().tiles)).to_double();
  result.window_is_loop = run.loop->entered();
  result.window = result.window_is_loop ? run.loop->statistics()
                                        : whole_run(result.statistics, result.sim_time_ps);
  if (run.request.check_hazards) result.hazards = hazards_of(run, topology);
  if (run.request.inputs) {
    result.results = run.design.observed();
    for (const DeviceTensor& tensor : launch.arguments()) {
      const kernels::TensorSpec& spec = tensor->spec;
      if (spec.direction != kernels::Direction::out) continue;
      result.results[spec.name] = {file_dtype(spec.dtype), spec.file_shape,
                                   run.design.read(tensor)};
    }
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
  std::vector<Watched> watched;
  for (const auto& run : runs) watched.push_back({&run->design, run->request.launch->title()});
  const auto begin = std::chrono::steady_clock::now();
  run_to_end(watched, static_cast<bool>(memory));
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;

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
