// SPDX-License-Identifier: Apache-2.0
#include "runtime/main.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <deque>
#include <filesystem>
#include <iostream>
#include <limits>
#include <new>
#include <optional>

#include "model/arch/timing.hpp"
#include "model/arch/topology_file.hpp"
#include "model/record/output_file.hpp"
#include "runtime/demo.hpp"
#include "runtime/launch/arguments.hpp"
#include "runtime/launch/command_line.hpp"
#include "runtime/launch/inputs.hpp"
#include "runtime/launch/listing.hpp"
#include "runtime/run.hpp"
#include "tlm_if/command/error.hpp"
#include "tlm_if/command/spelling.hpp"
#include "tlm_if/systemc.hpp"

namespace kernbench::runtime {
namespace {

struct Options {
  std::string kernel;
  std::vector<std::string> parameters;
  std::string topology;
  std::vector<std::string> sets;
  bool data = false;
  bool check_hazards = false;
  std::string seed, inputs;
  OutputPaths paths;
  std::string vcd_pes, figure_window;
  std::string plan, program;
  std::string program_file;
  std::string folder;
};

// --- what the options say -------------------------------------------------------------------

arch::TopologyConfig topology_of(const Binary& binary, const Options& options,
                                 const std::vector<std::string>& sets) {
  if (!options.topology.empty()) return arch::read_topology_file(options.topology, sets);
  return arch::load_topology(binary.topology_text, binary.topology_name, sets,
                             binary.topology_includes);
}
arch::TopologyConfig topology_of(const Binary& binary, const Options& options) {
  return topology_of(binary, options, options.sets);
}

/// `0,pe1` as PE numbers; names as in the VCD.
std::vector<std::uint32_t> pes_of(const std::string& list, const arch::TopologyConfig& topology) {
  std::vector<std::uint32_t> pes;
  for (const std::string& item : split(list)) {
    std::optional<std::uint64_t> number = parse_whole(item);
    for (std::uint32_t pe = 0; pe < topology.pes() && !number; ++pe) {
      if (item == arch::pe_name(topology, pe)) number = pe;
    }
    if (!number || *number >= topology.pes()) {
      if (topology.pes() == 1) {
        throw InputError(fmt::format("--vcd-pe {}: there is no PE '{}'; the only PE is 0 ({})",
                                     list, item, arch::pe_name(topology, 0)));
      }
      throw InputError(
          fmt::format("--vcd-pe {}: there is no PE '{}'; give a list of numbers from 0 to {} or "
                      "names from {} to "
                      "{}",
                      list, item, topology.pes() - 1, arch::pe_name(topology, 0),
                      arch::pe_name(topology, topology.pes() - 1)));
    }
    if (std::find(pes.begin(), pes.end(), *number) != pes.end()) {
      throw InputError(
          fmt::format("--vcd-pe {}: PE {} is named twice; name it once", list, *number));
    }
    pes.push_back(static_cast<std::uint32_t>(*number));
  }
  return pes;
}

/// `1000:1500` in ns.
record::Figure::Window window_of(const std::string& text) {
  constexpr std::uint64_t kPicoseconds = 1000;
  constexpr std::uint64_t kLast = std::numeric_limits<std::uint64_t>::max() / kPicoseconds;
  const std::size_t colon = std::min(text.find(':'), text.size());
  const std::optional<std::uint64_t> from = parse_whole(text.substr(0, colon));
  const std::optional<std::uint64_t> to =
      parse_whole(text.substr(std::min(colon + 1, text.size())));
  if (!from || !to || *from >= *to || *to > kLast) {
    throw InputError(fmt::format(
        "--figure-window {} is no window; give FROM:TO in whole ns, FROM less than TO and TO at "
        "most {}, as in 1000:1500",
        text, kLast));
  }
  return {*from * kPicoseconds, *to * kPicoseconds};
}

void check_data_options(const Options& options) {
  const auto needs_data = [&](const char* option, const std::string& value) {
    if (value.empty() || options.data) return;
    throw InputError(fmt::format("{} {} has no meaning without --data; add it", option, value));
  };
  needs_data("--seed", options.seed);
  needs_data("--inputs", options.inputs);
  needs_data("--outputs", options.paths.outputs);
  if (!options.seed.empty() && !options.inputs.empty()) {
    throw InputError("--seed is for synthetic inputs and --inputs gives real ones; drop one");
  }
  if (!options.vcd_pes.empty() && options.paths.vcd.empty()) {
    throw InputError("--vcd-pe chooses what --vcd shows; add --vcd FILE");
  }
  if (!options.figure_window.empty() && options.paths.figure.empty()) {
    throw InputError("--figure-window chooses what --figure shows; add --figure FILE");
  }
}

/// What is known of a figure before the run. How many stages are in a window is not.
void check_figure(const Options& options, const Launch& launch,
                  const arch::TopologyConfig& topology) {
  const std::string& path = options.paths.figure;
  const std::string extension = std::filesystem::path(path).extension().string();
  if (!extension.empty() && extension != ".svg") {
    throw InputError(fmt::format(
        "--figure {}: a figure is SVG; give a name that ends in .svg, and convert it afterwards",
        path));
  }
  if (path.empty() || !options.figure_window.empty()) return;
  const std::uint64_t stages = stages_without_waits(launch, topology);
  if (stages <= record::Figure::kMaxBars) return;
  throw InputError(
      fmt::format("--figure {}: {} has {} stages without its waits, of which at most {} can be "
                  "told apart; take "
                  "a smaller problem, or a part of the run with --figure-window FROM:TO",
                  path, launch.title(), stages, record::Figure::kMaxBars));
}

void check_outputs(const Options& options) {
  check_paths({{"--topology", options.topology},
               {"--program", options.program_file},
               {"--inputs", options.inputs},
               {"--op-log", options.paths.op_log},
               {"--vcd", options.paths.vcd},
               {"--trace", options.paths.trace},
               {"--figure", options.paths.figure},
               {"--summary", options.paths.summary},
               {"--outputs", options.paths.outputs}});
}

void check_program_options(const Binary& binary, const Options& options) {
  if (options.program_file.empty() && options.kernel.empty()) {
    throw InputError(
        fmt::format("run: a kernel is required, or a compiled one by --program; see {} run --help",
                    binary.name));
  }
  if (options.program_file.empty()) return;
  if (!options.kernel.empty()) {
    throw InputError(fmt::format(
        "run: the kernel {} and --program {} are both given; drop one of them (a program file has "
        "its parameters in it)",
        options.kernel, options.program_file));
  }
  if (parse_whole(options.program_file) && !std::filesystem::exists(options.program_file)) {
    throw InputError(fmt::format(
        "run: --program {0} is no file; give one that tlc has written (the number of a program is "
        "for {1} commands)",
        options.program_file, binary.name));
  }
}

Launch launch_of(const Binary& binary, const Options& options,
                 const arch::TopologyConfig& topology) {
  if (options.program_file.empty()) {
    return {kernel_of(binary.kernels, options.kernel), settings_of(options.parameters), topology};
  }
  const std::string& path = options.program_file;
  return {path, std::make_shared<const command::ProgramFile>(command::read_program_file(path)),
          topology, binary.kernels};
}

std::optional<std::uint64_t> seed_of(const Options& options) {
  if (!options.data || !options.inputs.empty()) return std::nullopt;
  return options.seed.empty() ? 0 : whole_number("--seed", options.seed);
}

std::optional<kernels::HostTensors> inputs_of(const Options& options, const Launch& launch) {
  if (!options.data) return std::nullopt;
  const std::vector<kernels::TensorSpec>& tensors = launch.instance().tensors;
  if (!options.inputs.empty()) {
    return checked_inputs(tensors, read_safetensors(options.inputs), options.inputs);
  }
  return synthetic_inputs(tensors, *seed_of(options));
}

// --- the commands ---------------------------------------------------------------------------

constexpr std::size_t kMaxHazardLines = 50;

/// Tells on stderr of hazards: the first on a line complete by itself, then the others.
void print_hazards(const Binary& binary, const RunResult& result) {
  const HazardReport& found = *result.hazards;
  const std::vector<std::string>& lines = found.lines;
  fmt::print(std::cerr, "{}: {}: {} hazard{}: {}; {}\n", binary.name, result.launch->title(),
             lines.size(), lines.size() == 1 ? "" : "s", lines.front(),
             found.races == 0 ? "fill or load it first"
                              : "let the later wait for the earlier, or give it other bytes");
  const std::size_t shown = std::min(lines.size(), kMaxHazardLines);
  for (std::size_t i = 1; i < shown; ++i) fmt::print(std::cerr, "  {}\n", lines[i]);
  if (lines.size() > shown) {
    fmt::print(std::cerr, "  and {} more; a smaller problem shows all of its own\n",
               lines.size() - shown);
  }
}

/// Tells on stderr of hazards, which numbers are out of tolerance, and of a figure that cannot be.
int verdict(const Binary& binary, const std::vector<RunResult>& results) {
  int code = kDone;
  for (const RunResult& result : results) {
    if (!result.hazards || result.hazards->lines.empty()) continue;
    print_hazards(binary, result);
    code = kFailed;
  }
  for (const RunResult& result : results) {
    if (!result.numerics || result.numerics->pass) continue;
    const NumericsCheck& check = *result.numerics;
    fmt::print(std::cerr,
               "{}: {}: numbers are out of tolerance against float64: {} has rms(err)/rms(ref) "
               "{:.3g} (allowed {:.3g}) and max|err| {:.3g} (allowed {:.3g})\n",
               binary.name, result.launch->title(), check.checked.name, check.checked.rms_rel_err,
               check.rms_rel_tolerance, check.checked.max_abs_err, check.max_abs_tolerance);
    code = kFailed;
  }
  for (const RunResult& result : results) {
    if (!result.refused_figure.empty() && code == kDone) {
      code = fail(binary.name, kFailed, result.refused_figure);
    }
  }
  return code;
}

/// After --data: what the table does not say of the numbers.
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

/// With data the simulation is the smaller part of it.
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

/// A parameter of the kernel, or a key of --set, with several values to compare; by default
/// neither.
struct Axis {
  std::string name;
  std::vector<std::string> values{""};
};

/// Makes `axis` that of `name` if `value` is a list. `what` the name is of, for the message.
void take_list(Axis& axis, const char* what, const std::string& name, const std::string& value) {
  if (value.find(',') == std::string::npos) return;
  if (!axis.name.empty()) {
    throw InputError(
        fmt::format("compare: {0} and {1} both have several values; give several to one {2}, and "
                    "one to every other {2}",
                    axis.name, name, what));
  }
  axis = {name, split(value)};
}

/// One of the runs to compare.
struct Variant {
  Settings settings;
  std::vector<std::string> sets;
  std::string label;  ///< `variant=opt2 hbm.gbps=256`: what tells it from the others
};

/// Every value of one parameter with every value of one key of the topology.
struct Sweep {
  Axis parameter, key;
  std::vector<Variant> variants;

  /// Of `setting`, `path=value`.
  bool is_of_key(const std::string& setting) const {
    return !key.name.empty() && setting.rfind(key.name + '=', 0) == 0;
  }
};

Sweep sweep_of(const kernels::Kernel& kernel, const Settings& settings,
               const std::vector<std::string>& sets) {
  Sweep sweep;
  for (const auto& [name, value] : settings) {
    const kernels::Parameter* parameter = kernels::find_parameter(kernel.parameters, name);
    const bool is_one_value = parameter != nullptr && parameter->list;  // such as lengths=0,5,64
    if (!is_one_value) take_list(sweep.parameter, "parameter", name, value);
  }
  for (const std::string& setting : sets) {
    const std::size_t equals = std::min(setting.find('='), setting.size());
    take_list(sweep.key, "key of --set", setting.substr(0, equals),
              setting.substr(std::min(equals + 1, setting.size())));
  }
  if (sweep.parameter.name.empty() && sweep.key.name.empty()) {
    throw InputError(
        "compare: nothing has several values to compare; give two or more to a parameter, as in "
        "variant=opt2,opt3, or to a key of the topology, as in --set hbm.gbps=128,256 (a list such "
        "as lengths=5,64 is one value)");
  }
  for (const std::string& value : sweep.parameter.values) {
    for (const std::string& of_key : sweep.key.values) {
      Variant variant{settings, sets, {}};
      for (auto& [name, text] : variant.settings) {
        if (name != sweep.parameter.name) continue;
        text = value;
        variant.label = fmt::format("{}={}", name, value);
      }
      for (std::string& setting : variant.sets) {
        if (!sweep.is_of_key(setting)) continue;
        setting = fmt::format("{}={}", sweep.key.name, of_key);
        variant.label += (variant.label.empty() ? "" : " ") + setting;
      }
      sweep.variants.push_back(std::move(variant));
    }
  }
  return sweep;
}

/// `gemm m=8 on single_pe with hbm.latency_ns=50, by n and hbm.gbps`.
std::string title_of(const Sweep& sweep, const Launch& launch, arch::TopologyConfig topology) {
  std::vector<std::string>& same = topology.overrides;
  same.erase(std::remove_if(same.begin(), same.end(),
                            [&](const std::string& setting) { return sweep.is_of_key(setting); }),
             same.end());
  const bool both = !sweep.parameter.name.empty() && !sweep.key.name.empty();
  return fmt::format("{} on {}, by {}{}{}", launch.title_without(sweep.parameter.name),
                     arch::title_of(topology), sweep.parameter.name, both ? " and " : "",
                     sweep.key.name);
}

int compare_command(const Binary& binary, const Options& options) {
  check_data_options(options);
  check_outputs(options);
  const kernels::Kernel& kernel = kernel_of(binary.kernels, options.kernel);
  const Sweep sweep = sweep_of(kernel, settings_of(options.parameters), options.sets);
  std::deque<arch::TopologyConfig> topologies;  // requests point to them
  std::deque<Launch> launches;                  // and to these
  std::deque<kernels::HostTensors> inputs;      // and to these, the same for equal problems
  std::vector<RunRequest> requests;
  std::vector<std::string> labels;
  for (const Variant& variant : sweep.variants) {
    const arch::TopologyConfig& topology =
        topologies.emplace_back(topology_of(binary, options, variant.sets));
    const Launch& launch = launches.emplace_back(kernel, variant.settings, topology);
    labels.push_back(variant.label);
    RunRequest request;
    request.launch = &launch;
    request.topology = &topology;
    request.seed = seed_of(options);
    if (std::optional<kernels::HostTensors> own = inputs_of(options, launch)) {
      const auto known = std::find(inputs.begin(), inputs.end(), *own);
      request.inputs = known != inputs.end() ? &*known : &inputs.emplace_back(std::move(*own));
    }
    request.check_hazards = options.check_hazards;
    requests.push_back(std::move(request));
  }
  std::optional<record::OutputFile> summary;
  if (!options.paths.summary.empty()) summary.emplace(options.paths.summary);

  const std::vector<RunResult> results = simulate(topologies.front(), binary.memory, requests);
  if (summary) {
    summary->write(comparison_json(results).dump(2));
    summary->put('\n');
    summary->commit();
  }
  fmt::print("{}\n\n{}\n", title_of(sweep, launches.front(), topologies.front()),
             summary_table(results, labels));
  for (std::size_t i = 0; i < results.size(); ++i) {
    fmt::print("{}: {}\n", labels[i], bound_by(results[i]));
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!options.data || results[i].numerics) continue;
    fmt::print("{}: checked nothing: {}\n", labels[i], launches[i].why_no_reference());
  }
  // Different problems have different results.
  const bool same_inputs = std::all_of(
      requests.begin(), requests.end(),
      [&](const RunRequest& request) { return request.inputs == requests.front().inputs; });
  if (options.data && same_inputs) {
    fmt::print("results of all runs: {}\n", to_string(compare_results(results)));
  }
  for (std::size_t i = 1; i < results.size(); ++i) {
    fmt::print("{} / {}: dispatch cycles a tile {:.3f}, simulated time {:.3f}\n", labels[i],
               labels[0],
               ratio(results[i].dispatch_cycles_per_tile, results[0].dispatch_cycles_per_tile),
               ratio(static_cast<double>(results[i].sim_time_ps),
                     static_cast<double>(results[0].sim_time_ps)));
  }
  std::cout.flush();
  return verdict(binary, results);
}

int commands_command(const Binary& binary, const Options& options) {
  const arch::TopologyConfig topology = topology_of(binary, options);
  const Launch launch(kernel_of(binary.kernels, options.kernel), settings_of(options.parameters),
                      topology);
  if (options.program.find_first_not_of("0123456789") != std::string::npos) {
    throw InputError(fmt::format(
        "commands: --program {} is no number; give that of a program of the kernel (a program file "
        "is shown by tlc disasm FILE)",
        options.program));
  }
  const command::Index program =
      options.program.empty() ? 0 : program_of(options.program, launch.title(), launch.programs());
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

// What the help calls the value of an option.
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
  command.add_option("--seed", options.seed, "Seed of synthetic inputs (0)")->type_name(kNumber);
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
  add_file("--op-log", options.paths.op_log, "Write a row a stage (CSV)");
  add_file("--vcd", options.paths.vcd, "Write a waveform (VCD)");
  run.add_option("--vcd-pe", options.vcd_pes, "PEs in the waveform, as in 0,5 or pe0 (all)")
      ->type_name("LIST");
  add_file("--trace", options.paths.trace, "Write a timeline for Perfetto (JSON)");
  add_file("--figure", options.paths.figure, "Write a chart of the stages (SVG)");
  run.add_option("--figure-window", options.figure_window, "What the chart shows, in ns (all)")
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
  commands.add_option("--plan", options.plan, "The stages of the command of that number")
      ->type_name(kNumber);
  commands
      .add_option("--program", options.program,
                  "Of the program of that number (0); of a file see tlc disasm")
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
  demo.add_option("--out", options.folder, "Folder for the outputs (kernbench_demo)")
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

/// A report that ended the simulation. What the host's own code throws in a kernel's thread comes
/// as one as well, and reads as it does elsewhere.
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
