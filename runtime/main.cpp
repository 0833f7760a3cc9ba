// SPDX-License-Identifier: Apache-2.0
#include "runtime/main.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <iostream>
#include <new>
#include <optional>

#include "model/arch/timing.hpp"
#include "model/arch/topology_file.hpp"
#include "runtime/bound_by.hpp"
#include "runtime/compare.hpp"
#include "runtime/demo.hpp"
#include "runtime/launch/arguments.hpp"
#include "runtime/launch/command_line.hpp"
#include "runtime/launch/listing.hpp"
#include "runtime/launch/plan_listing.hpp"
#include "runtime/options.hpp"
#include "runtime/summary_table.hpp"
#include "runtime/verdict.hpp"
#include "tlm_if/systemc.hpp"

namespace kernbench::runtime {
namespace {

// --- the commands ---------------------------------------------------------------------------

/// After --data: what the table does not say about the numbers.
void print_numbers(const RunResult& result) {
  if (!result.numerics) {
    fmt::print("checked  nothing: {}\n", result.launch->why_no_reference());
    return;
  }
  for (const ErrorFigures& other : result.numerics->others) {
    fmt::print("{} against float64: rms(err) / rms(ref) {:.3g}, max |err| {:.3g}\n", other.name,
               other.rms_rel_err, other.max_abs_err);
  }
}

/// With data the simulation is the smaller part of the time.
void print_host_time(const RunResult& result, double inputs_s, bool data) {
  if (!data) {
    fmt::print("host: {:.3f} s, {:.0f} stages/s\n", result.wall_s, result.stages_per_s);
    return;
  }
  fmt::print("host: inputs {:.3f} s, simulation {:.3f} s ({:.0f} stages/s), check {:.3f} s\n",
             inputs_s + result.setup_s, result.wall_s, result.stages_per_s, result.check_s);
}

int run_command(const Binary& binary, const Options& options) {
  check_program_options(binary, options);
  check_data_options(options);
  check_outputs(options);
  const arch::TopologyConfig topology = topology_of(binary, options);
  const Launch launch = launch_of(binary, options, topology);
  check_figure(options, launch, topology);
  RunRequest request;
  request.launch = &launch;
  request.seed = seed_of(options);
  const auto begin = std::chrono::steady_clock::now();
  const std::optional<kernels::HostTensors> inputs = inputs_of(options, launch);
  const std::chrono::duration<double> inputs_time = std::chrono::steady_clock::now() - begin;
  if (inputs) request.inputs = &*inputs;
  request.check_hazards = options.check_hazards;
  request.paths = options.paths;
  if (!options.vcd_pes.empty()) {
    request.vcd_pes = pes_of(options.vcd_pes, topology);
  }
  if (!options.figure_window.empty()) request.figure_window = window_of(options.figure_window);
  const std::vector<RunResult> results = simulate(topology, binary.memory, {request});
  fmt::print("{} on {}\n\n{}", launch.title(), arch::title_of(topology),
             summary_table(results, {"run"}));
  const std::string phases = phase_table(results[0]);
  if (!phases.empty()) fmt::print("\n{}", phases);
  if (options.data) print_numbers(results[0]);
  fmt::print("\n{}\n", bound_by(results[0]));
  print_host_time(results[0], inputs_time.count(), options.data);
  std::cout.flush();
  return verdict(binary, results);
}

int commands_command(const Binary& binary, const Options& options) {
  const arch::TopologyConfig topology = topology_of(binary, options);
  const Launch launch(kernel_of(binary.kernels, options.kernel), settings_of(options.parameters),
                      topology);
  const command::Index program =
      options.program_id.empty()
          ? 0
          : program_of(options.program_id, launch.title(), launch.programs());
  if (options.plan.empty()) {
    list_commands(std::cout, launch, topology, program);
  } else {
    list_plan(std::cout, launch, topology, whole_number("--plan", options.plan), program);
  }
  return kDone;
}

int list_command(const Binary& binary, const Options&) {
  list_kernels(std::cout, binary.kernels);
  return kDone;
}

int show_command(const Binary& binary, const Options& options) {
  std::cout << arch::to_yaml(topology_of(binary, options));
  return kDone;
}

int demo_command(const Binary& binary, const Options& options) {
  for (const std::string& file : demo_files(options.folder)) {
    check_paths({{"--topology", options.topology}, {"--out", file}});
  }
  const bool passed = run_demo(std::cout, binary.kernels, topology_of(binary, options),
                               binary.memory, options.folder);
  std::cout.flush();
  if (passed) return kDone;
  fmt::print(std::cerr,
             "{}: demo: a check failed: see FAIL, DIFFERENT or BROKEN in the report above\n",
             binary.name);
  return kFailed;
}

// --- the command line -----------------------------------------------------------------------

// The name of an option's value in the help.
constexpr char kFile[] = "FILE";
constexpr char kNumber[] = "N";

void add_kernel_arguments(CLI::App& command, Options& options) {
  command.add_option("kernel", options.kernel, "Name of a kernel")->type_name("")->required();
  command.add_option("parameters", options.parameters, "Kernel parameters")
      ->option_text("NAME=VALUE ...");
}

void add_topology_options(CLI::App& command, Options& options) {
  command.add_option("--topology", options.topology, "YAML file instead of the embedded topology")
      ->type_name(kFile);
  command.add_option("--set", options.sets, "Override a key, as in pe.math.lanes=128; repeatable")
      ->option_text("KEY=VALUE")
      ->allow_extra_args(false);
}

void add_data_options(CLI::App& command, Options& options) {
  command.add_flag("--data", options.data, "Compute numbers and compare them with float64")
      ->disable_flag_override();
  command.add_option("--seed", options.seed, "Seed of synthetic inputs (default: 0)")
      ->type_name(kNumber);
  command.add_option("--inputs", options.inputs, "Take the inputs from a file (safetensors)")
      ->type_name(kFile);
}

void add_hazard_option(CLI::App& command, Options& options) {
  command
      .add_flag("--check-hazards", options.check_hazards,
                "Look for stages that touch bytes out of program order, and reads of bytes that "
                "nothing has written")
      ->disable_flag_override();
}

void add_run_options(CLI::App& run, Options& options) {
  const auto add_file = [&](const char* name, std::string& path, const char* meaning) {
    run.add_option(name, path, meaning)->type_name(kFile);
  };
  run.add_option("kernel", options.kernel, "Name of a kernel, if there is no --program")
      ->type_name("");
  run.add_option("parameters", options.parameters, "Kernel parameters")
      ->option_text("NAME=VALUE ...");
  add_file("--program", options.program_file,
           "Replay a compiled kernel from a file that tlc has written");
  add_topology_options(run, options);
  add_data_options(run, options);
  add_hazard_option(run, options);
  add_file("--outputs", options.paths.outputs, "Write the results (safetensors)");
  add_file("--op-log", options.paths.op_log, "Write one row per stage (CSV)");
  add_file("--vcd", options.paths.vcd, "Write a waveform (VCD)");
  run.add_option("--vcd-pe", options.vcd_pes,
                 "PEs in the waveform, as in 0,5 or pe0 (default: all)")
      ->type_name("LIST");
  add_file("--trace", options.paths.trace, "Write a timeline for Perfetto (JSON)");
  add_file("--figure", options.paths.figure, "Write a chart of the stages (SVG)");
  run.add_option("--figure-window", options.figure_window,
                 "What the chart shows, in ns (default: all)")
      ->type_name("FROM:TO");
  add_file("--summary", options.paths.summary, "Write the summary (JSON)");
}

int run_command_line(int argc, char** argv, const Binary& binary) {
  Options options;
  options.folder = "kernbench_demo";
  CommandLine line(binary.name, "KernBench: what a kernel costs on this topology.",
                   "run KERNEL --data",
                   fmt::format(", SystemC {}.{}.{}", sc_core::sc_version_major,
                               sc_core::sc_version_minor, sc_core::sc_version_patch));
  std::vector<std::string> kernels;
  for (const kernels::Kernel& kernel : binary.kernels) kernels.push_back(kernel.name);
  line.suggest("run", std::move(kernels));
  const auto add = [&](const char* name, const char* meaning,
                       int (*command)(const Binary&, const Options&)) -> CLI::App& {
    return line.add(name, meaning, [&, command] { return command(binary, options); });
  };

  add("list", "The kernels, their parameters with defaults and meaning", list_command);

  add_topology_options(add("show", "The resolved topology as YAML", show_command), options);

  CLI::App& commands =
      add("commands", "What a kernel lowers to, without simulating", commands_command);
  add_kernel_arguments(commands, options);
  add_topology_options(commands, options);
  commands.add_option("--plan", options.plan, "Show the stages of command N")->type_name(kNumber);
  commands
      .add_option("--program-id", options.program_id,
                  "Show program N of those that the kernel starts (default: 0)")
      ->type_name(kNumber);

  add_run_options(add("run", "Simulate a kernel", run_command), options);

  CLI::App& compare =
      add("compare", "Simulate a kernel for a list of values of a parameter, or of a --set key",
          compare_command);
  add_kernel_arguments(compare, options);
  add_topology_options(compare, options);
  add_data_options(compare, options);
  add_hazard_option(compare, options);
  compare
      .add_option("--summary", options.paths.summary,
                  "Write all summaries and the ratios of the second to the first (JSON)")
      ->type_name(kFile);

  CLI::App& demo = add("demo", "Decode attention with opt2 and opt3, side by side", demo_command);
  add_topology_options(demo, options);
  demo.add_option("--out", options.folder, "Folder for the outputs (default: kernbench_demo)")
      ->type_name("FOLDER");

  return line.run(argc, argv);
}

// --- reports --------------------------------------------------------------------------------

/// Info and warnings go to stderr: stdout is for results.
void on_report(const sc_core::sc_report& report, const sc_core::sc_actions& actions) {
  sc_core::sc_actions rest = actions;
  if ((actions & sc_core::SC_DISPLAY) != 0) {
    fmt::print(std::cerr, "{}: {}\n", report.get_msg_type(), report.get_msg());
    rest &= ~static_cast<sc_core::sc_actions>(sc_core::SC_DISPLAY);
  }
  sc_core::sc_report_handler::default_handler(report, rest);
}

/// A report that ended the simulation. An exception that the host's own code throws in a kernel's
/// thread also arrives as a report; it is printed like elsewhere.
int fail_by_report(const Binary& binary, const sc_core::sc_report& report) {
  const std::string type = report.get_msg_type();
  const std::string what = report.get_msg();
  if (type == sc_core::SC_ID_SIMULATION_UNCAUGHT_EXCEPTION_) {
    if (what == std::bad_alloc().what()) throw std::bad_alloc();
    return fail(binary.name, kFailed, what);
  }
  // Further lines of a report of the model are details.
  const std::size_t end = std::min(what.find('\n'), what.size());
  std::string detail = what.substr(std::min(end + 1, what.size()));
  for (std::size_t at = 0; (at = detail.find("\n  ", at)) != std::string::npos;) {
    detail.erase(at + 1, 2);
  }
  return fail(binary.name, kFailed,
              fmt::format("the simulation failed at {} ns: {}: {}",
                          arch::nanoseconds(TimeBase().to_ps(report.get_time())), type,
                          what.substr(0, end)),
              detail.substr(std::min(detail.find_first_not_of(' '), detail.size())));
}

}  // namespace

int run_main(int argc, char** argv, const Binary& binary) {
  return run_guarded(binary.name, [&] {
    try {
      sc_core::sc_report_handler::set_actions(sc_core::SC_ERROR, sc_core::SC_THROW);
      sc_core::sc_report_handler::set_actions(sc_core::SC_FATAL, sc_core::SC_THROW);
      sc_core::sc_report_handler::set_handler(on_report);
      return run_command_line(argc, argv, binary);
    } catch (const SimulationError& error) {
      return fail(binary.name, kFailed, error.what(), error.detail());
    } catch (const sc_core::sc_report& report) {
      return fail_by_report(binary, report);
    }
  });
}

}  // namespace kernbench::runtime
