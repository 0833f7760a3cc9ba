// SPDX-License-Identifier: Apache-2.0
#include "runtime/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "runtime/progress.hpp"
#include "runtime/summary_json.hpp"

namespace kernbench::runtime {
namespace {

/// The open outputs of a run, and the sinks that fill them.
class Outputs {
 public:
  Outputs(const RunRequest& request, const arch::TopologyConfig& topology)
      : files_(request.paths), rows_(request.rows) {
    const OutputPaths& paths = request.paths;
    files_.add_machine(topology, request.vcd_pes);
    if (!paths.figure.empty()) {
      figure_.emplace(paths.figure,
                      fmt::format("{} on {}", request.launch->title(), arch::title_of(topology)),
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

/// An elaborated request.
struct Run {
  Run(const sc_core::sc_module_name& name, const arch::TopologyConfig& machine,
      const MemoryFactory& memory, const RunRequest& run_request)
      : request(run_request),
        topology(machine),
        outputs(run_request, topology),
        design(name, topology,
               {run_request.inputs != nullptr, memory, run_request.reverse_creation}) {
    const KernelLaunch& launch = request.launch->launch();
    design.launch(launch);
    if (request.inputs != nullptr) {
      for (const DeviceTensor& tensor : launch.arguments()) {
        if (tensor->spec.direction != kernels::Direction::in) continue;
        design.write(tensor, request.inputs->at(tensor->spec.name));
      }
    }
    for (const std::uint32_t number : launch.pes()) {
      if (!request.check_hazards) break;
      Pe& pe = design.machine.pe(number);
      hazards.push_back(std::make_unique<record::HazardChecker>(topology.pe.gemm));
      hazards.back()->set_inputs(request.launch->inputs(number));
      pe.set_hazard_checker(hazards.back().get());
    }
    if (topology.pes() == 1) {
      loop.emplace(design.machine.pe(0).cpu, kLoopRegion);
      design.recorder.add_sink(*loop);
    }
    outputs.attach(design.recorder);
  }

  const RunRequest& request;
  const arch::TopologyConfig& topology;
  Outputs outputs;
  Design design;
  std::optional<LoopWindow> loop;                               // with one PE
  std::vector<std::unique_ptr<record::HazardChecker>> hazards;  // by program
};

/// Completes the recorder's sinks. Returns why the run has no figure, if one was wanted.
std::string finish(Run& run) {
  try {
    run.design.recorder.finish(run.design.last_done_ps());
  } catch (const record::FigureRefused& error) {
    return error.what();
  }
  return {};
}

HazardReport hazards_of(const Run& run) {
  HazardReport report;
  const std::vector<std::uint32_t>& pes = run.request.launch->launch().pes();
  for (std::size_t i = 0; i < run.hazards.size(); ++i) {
    const record::HazardFindings found = run.hazards[i]->findings();
    report.races += found.races.size();
    report.uninitialized_reads += found.uninitialized_reads.size();
    for (const std::string& line : record::lines_of(found)) {
      report.lines.push_back(
          pes.size() == 1 ? line
                          : fmt::format("{}: {}", arch::pe_name(run.topology, pes[i]), line));
    }
  }
  return report;
}

RunResult result_of(Run& run) {
  const arch::TopologyConfig& topology = run.topology;
  const KernelLaunch& launch = run.request.launch->launch();
  RunResult result = result_of(run.design, topology);
  result.launch = run.request.launch;
  result.seed = run.request.seed;
  const auto cycles = [&](std::uint64_t segments, std::uint64_t bytes) {
    return arch::dispatch_cycles(topology.pe.pe_cost_model, segments, bytes);
  };
  arch::Rational loop_cycles = cycles(result.totals.segments, result.totals.logical_bytes);
  // R13.1: inside the loop; for a kernel without a loop, of the whole run.
  for (const Phase& phase : result.phases) {
    if (phase.name == kLoopRegion) loop_cycles = cycles(phase.segments, phase.logical_bytes);
  }
  result.dispatch_cycles_per_tile =
      (loop_cycles / arch::Rational(run.request.launch->instance().tiles)).to_double();
  set_windows(result, run.loop ? &*run.loop : nullptr);
  if (run.request.check_hazards) result.hazards = hazards_of(run);
  if (run.request.inputs != nullptr) {
    result.results = run.design.observed();
    for (const DeviceTensor& tensor : launch.arguments()) {
      const kernels::TensorSpec& spec = tensor->spec;
      if (spec.direction != kernels::Direction::out) continue;
      result.results[spec.name] = {file_dtype(spec.dtype), spec.file_shape,
                                   run.design.read(tensor)};
    }
    if (const auto& reference = run.request.launch->instance().reference) {
      try {
        result.numerics = check_numerics(reference(*run.request.inputs), result.results);
      } catch (...) {
        rethrow_of_kernel(run.request.launch->title() + ": the comparison with the reference");
      }
    }
  }
  return result;
}

}  // namespace

RunResult result_of(const PesByName& pes, const record::Statistics& statistics) {
  RunResult result;
  result.pes = static_cast<std::uint32_t>(pes.size());
  result.several_pes = pes.size() > 1;
  arch::Rational cycles;
  for (const auto& [name, pe] : pes) {
    const DispatchTotals& totals = pe->cpu.totals();
    result.sim_time_ps = std::max(result.sim_time_ps, pe->cpu.last_done_ps());
    cycles = cycles + arch::dispatch_cycles(pe->config().pe_cost_model, totals.segments,
                                            totals.logical_bytes);
    result.several_pes = result.several_pes || pe->config().pes > 1;
    add_pe(result, *pe, name, statistics);
  }
  result.dispatch_cycles = cycles.to_double();
  return result;
}

RunResult result_of(const Design& design, const arch::TopologyConfig& topology) {
  PesByName pes;
  for (const std::uint32_t number : design.used_pes()) {
    pes.emplace_back(arch::pe_name(topology, number), design.machine.pes()[number]);
  }
  RunResult result = result_of(pes, design.recorder.statistics());
  result.topology = topology.name;
  result.topology_overrides = topology.overrides;
  result.read_channels = topology.pe.dma.read_channels;
  result.write_channels = topology.pe.dma.write_channels;
  result.links = design.machine.links();
  result.memories = design.machine.memories();
  return result;
}

std::vector<RunResult> simulate(const arch::TopologyConfig& topology, const MemoryFactory& memory,
                                const std::vector<RunRequest>& requests) {
  using Seconds = std::chrono::duration<double>;
  const auto setup = std::chrono::steady_clock::now();
  std::vector<std::unique_ptr<Run>> runs;
  for (const RunRequest& request : requests) {
    const arch::TopologyConfig& machine =
        request.topology != nullptr ? *request.topology : topology;
    const std::string name =
        requests.size() == 1 ? machine.name : fmt::format("{}_{}", machine.name, runs.size() + 1);
    runs.push_back(std::make_unique<Run>(name.c_str(), machine, memory, request));
  }
  std::vector<Watched> watched;
  for (const auto& run : runs) watched.push_back({&run->design, run->request.launch->title()});
  std::uint64_t commands = 0;
  for (const RunRequest& request : requests) commands += request.launch->commands();
  Progress progress(watched, commands);
  const auto begin = std::chrono::steady_clock::now();
  run_to_end(watched, static_cast<bool>(memory), [&] { progress.show(); });
  const Seconds wall = std::chrono::steady_clock::now() - begin;

  std::uint64_t rows = 0;
  std::vector<std::string> refused_figures;
  for (const auto& run : runs) {
    refused_figures.push_back(finish(*run));
    rows += run->design.recorder.statistics().rows();
  }
  std::vector<RunResult> results;
  for (const auto& run : runs) {
    const auto end = std::chrono::steady_clock::now();
    RunResult result = result_of(*run);
    result.setup_s = Seconds(begin - setup).count();
    result.check_s = Seconds(std::chrono::steady_clock::now() - end).count();
    result.wall_s = wall.count();
    result.stages_per_s = static_cast<double>(rows) / wall.count();
    result.refused_figure = std::move(refused_figures[results.size()]);
    run->outputs.complete(result);
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace kernbench::runtime
