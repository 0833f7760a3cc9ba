// SPDX-License-Identifier: Apache-2.0
#include "runtime/main.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <iostream>
#include <limits>
#include <new>
#include <optional>

#include "model/arch/topology_file.hpp"
#include "model/record/output_file.hpp"
#include "runtime/demo.hpp"
#include "runtime/inputs.hpp"
#include "runtime/listing.hpp"
#include "runtime/run.hpp"
#include "tlm_if/command/error.hpp"
#include "tlm_if/command/spelling.hpp"

namespace kernbench::runtime {
namespace {

// Exit codes of R11.1.
constexpr int kDone = 0;
constexpr int kFailed = 1;
constexpr int kRefused = 2;

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
  std::string folder;
};

// --- what the options say -------------------------------------------------------------------

std::optional<std::uint64_t> parse_whole(const std::string& text) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || last != end) return std::nullopt;
  return value;
}

std::uint64_t whole_number(const std::string& option, const std::string& text) {
  const std::optional<std::uint64_t> value = parse_whole(text);
  if (value) return *value;
  throw InputError(fmt::format("{} {} is not a whole number; give one from 0 to {}", option, text,
                               std::numeric_limits<std::uint64_t>::max()));
}

/// The items of a comma list, of which there is at least one.
std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> items;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    items.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return items;
}

arch::TopologyConfig topology_of(const Binary& binary, const Options& options) {
  if (!options.topology.empty()) return arch::read_topology_file(options.topology, options.sets);
  return arch::load_topology(binary.topology_text, binary.topology_name, options.sets,
                             binary.topology_includes);
}

const kernels::Kernel& kernel_of(const Binary& binary, const std::string& name) {
  std::vector<std::string> names;
  for (const kernels::Kernel& kernel : binary.kernels) {
    if (kernel.name == name) return kernel;
    names.push_back(kernel.name);
  }
  throw InputError(fmt::format("no kernel '{}'; kernels are {}{}", name, fmt::join(names, ", "),
                               did_you_mean(name, names)));
}

Settings settings_of(const std::vector<std::string>& parameters) {
  Settings settings;
  for (const std::string& text : parameters) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw InputError(
          fmt::format("'{}' is no kernel parameter; write name=value, as in tile=64", text));
    }
    settings.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return settings;
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

command::Index program_of(const Options& options, const Launch& launch) {
  if (options.program.empty()) return 0;
  const std::optional<std::uint64_t> program = parse_whole(options.program);
  if (!program || *program >= static_cast<std::uint64_t>(launch.programs())) {
    const std::string title = launch.title();
    if (launch.programs() == 1) {
      throw InputError(
          fmt::format("--program {}: {} has one program; give 0", options.program, title));
    }
    throw InputError(fmt::format("--program {}: {} has {} programs; give a number from 0 to {}",
                                 options.program, title, launch.programs(), launch.programs() - 1));
  }
  return static_cast<command::Index>(*program);
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

/// No file may be written twice, or over what is read.
void check_paths(const std::vector<std::pair<const char*, std::string>>& files) {
  namespace fs = std::filesystem;
  std::vector<std::pair<const char*, fs::path>> seen;
  for (const auto& [option, path] : files) {
    std::error_code error;
    // Devices such as /dev/null take any number of outputs.
    if (path.empty() || (fs::exists(path, error) && !fs::is_regular_file(path, error))) continue;
    const fs::path resolved = record::resolved_path(path, error);
    if (error) continue;  // opening it tells what is wrong
    for (const auto& [other, known] : seen) {
      if (known == resolved) {
        throw InputError(fmt::format("{} and {} name the same file '{}'; give each its own", other,
                                     option, path));
      }
    }
    seen.emplace_back(option, resolved);
  }
}

void check_paths(const Options& options) {
  check_paths({{"--topology", options.topology},
               {"--inputs", options.inputs},
               {"--op-log", options.paths.op_log},
               {"--vcd", options.paths.vcd},
               {"--trace", options.paths.trace},
               {"--figure", options.paths.figure},
               {"--summary", options.paths.summary},
               {"--outputs", options.paths.outputs}});
}

std::optional<kernels::HostTensors> inputs_of(const Options& options, const Launch& launch) {
  if (!options.data) return std::nullopt;
  const std::vector<kernels::TensorSpec>& tensors = launch.instance().tensors;
  if (!options.inputs.empty()) {
    return checked_inputs(tensors, read_safetensors(options.inputs), options.inputs);
  }
  return synthetic_inputs(tensors, options.seed.empty() ? 0 : whole_number("--seed", options.seed));
}

// --- the commands ---------------------------------------------------------------------------

int fail(const Binary& binary, int code, const std::string& line, const std::string& detail = {}) {
  std::cout.flush();
  std::string one_line = line;
  std::replace(one_line.begin(), one_line.end(), '\n', ' ');
  fmt::print(std::cerr, "{}: {}\n", binary.name, one_line);
  for (std::size_t begin = 0; begin < detail.size();) {
    const std::size_t end = std::min(detail.find('\n', begin), detail.size());
    fmt::print(std::cerr, "  {}\n", detail.substr(begin, end - begin));
    begin = end + 1;
  }
  return code;
}

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
      code = fail(binary, kRefused, result.refused_figure);
    }
  }
  return code;
}

void print_other_errors(const RunResult& result) {
  if (!result.numerics) return;
  for (const ErrorFigures& other : result.numerics->others) {
    fmt::print("{} against float64: rms(err) / rms(ref) {:.3g}, max |err| {:.3g}\n", other.name,
               other.rms_rel_err, other.max_abs_err);
  }
}

int run_command(const Binary& binary, const Options& options) {
  check_data_options(options);
  check_paths(options);
  const arch::TopologyConfig topology = topology_of(binary, options);
  const Launch launch(kernel_of(binary, options.kernel), settings_of(options.parameters), topology);
  RunRequest request;
  request.launch = &launch;
  request.inputs = inputs_of(options, launch);
  request.check_hazards = options.check_hazards;
  request.paths = options.paths;
  if (!options.vcd_pes.empty()) {
    request.vcd_pes = pes_of(options.vcd_pes, topology);
  }
  if (!options.figure_window.empty()) request.figure_window = window_of(options.figure_window);
  const std::vector<RunResult> results = simulate(topology, binary.memory, {request});
  fmt::print("{} on {}\n\n{}", launch.title(), topology.name, summary_table(results, {"run"}));
  const std::string phases = phase_table(results[0]);
  if (!phases.empty()) fmt::print("\n{}", phases);
  print_other_errors(results[0]);
  fmt::print("\n{}\n", bound_by(results[0]));
  fmt::print("host: {:.3f} s, {:.0f} stages/s\n", results[0].wall_s, results[0].stages_per_s);
  std::cout.flush();
  return verdict(binary, results);
}

/// The one parameter that is given several values, spread out.
struct Sweep {
  std::string parameter;
  std::vector<std::string> values;
  std::vector<Settings> settings;
};

Sweep sweep_of(const kernels::Kernel& kernel, const Settings& settings) {
  Sweep sweep;
  for (const auto& [name, value] : settings) {
    const kernels::Parameter* parameter = kernels::find_parameter(kernel.parameters, name);
    const bool is_one_value = parameter != nullptr && parameter->list;  // such as lengths=0,5,64
    if (is_one_value || value.find(',') == std::string::npos) continue;
    if (!sweep.parameter.empty()) {
      throw InputError(
          fmt::format("compare: {} and {} both have several values; give several to one, and one "
                      "to every other parameter",
                      sweep.parameter, name));
    }
    sweep.parameter = name;
    sweep.values = split(value);
  }
  if (sweep.parameter.empty()) {
    throw InputError(
        "compare: no parameter has several values to compare; give two or more to one, as in "
        "variant=opt2,opt3 (a list such as lengths=5,64 is one value)");
  }
  for (const std::string& value : sweep.values) {
    Settings run = settings;
    for (auto& [name, text] : run) {
      if (name == sweep.parameter) text = value;
    }
    sweep.settings.push_back(std::move(run));
  }
  return sweep;
}

int compare_command(const Binary& binary, const Options& options) {
  check_data_options(options);
  check_paths(options);
  const arch::TopologyConfig topology = topology_of(binary, options);
  const kernels::Kernel& kernel = kernel_of(binary, options.kernel);
  const Sweep sweep = sweep_of(kernel, settings_of(options.parameters));
  std::deque<Launch> launches;  // requests point to them
  std::vector<RunRequest> requests;
  for (const Settings& settings : sweep.settings) {
    const Launch& launch = launches.emplace_back(kernel, settings, topology);
    RunRequest request;
    request.launch = &launch;
    request.inputs = inputs_of(options, launch);
    request.check_hazards = options.check_hazards;
    requests.push_back(std::move(request));
  }
  std::optional<record::OutputFile> summary;
  if (!options.paths.summary.empty()) summary.emplace(options.paths.summary);

  const std::vector<RunResult> results = simulate(topology, binary.memory, requests);
  if (summary) {
    summary->write(comparison_json(results).dump(2));
    summary->put('\n');
    summary->commit();
  }
  std::vector<std::string> labels;
  for (const std::string& value : sweep.values) {
    labels.push_back(fmt::format("{}={}", sweep.parameter, value));
  }
  fmt::print("{} on {}, by {}\n\n{}\n", launches.front().title(sweep.parameter), topology.name,
             sweep.parameter, summary_table(results, labels));
  for (std::size_t i = 0; i < results.size(); ++i) {
    fmt::print("{}: {}\n", labels[i], bound_by(results[i]));
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
  const Launch launch(kernel_of(binary, options.kernel), settings_of(options.parameters), topology);
  const command::Index program = program_of(options, launch);
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

class CommandLine {
 public:
  explicit CommandLine(const Binary& binary)
      : binary_(binary), app_("KernBench: what a kernel costs on this PE.", binary.name) {
    app_.require_subcommand(0, 1);
    app_.allow_extras();

    add("list", "The kernels, their parameters with defaults and meaning", list_command);

    CLI::App* show = add("show", "The resolved topology as YAML", show_command);
    add_topology_options(show);

    CLI::App* commands =
        add("commands", "What a kernel lowers to, without simulating", commands_command);
    add_kernel_arguments(commands);
    add_topology_options(commands);
    commands->add_option("--plan", options_.plan, "The stages of the command of that number");
    commands->add_option("--program", options_.program, "Of the program of that number (0)");

    CLI::App* run = add("run", "Simulate a kernel", run_command);
    add_kernel_arguments(run);
    add_topology_options(run);
    add_data_options(run);
    add_hazard_option(run);
    run->add_option("--outputs", options_.paths.outputs, "Write the results (safetensors)");
    run->add_option("--op-log", options_.paths.op_log, "Write a row a stage (CSV)");
    run->add_option("--vcd", options_.paths.vcd, "Write a waveform (VCD)");
    run->add_option("--vcd-pe", options_.vcd_pes, "PEs in the waveform, as in 0,5 or pe0 (all)");
    run->add_option("--trace", options_.paths.trace, "Write a timeline for Perfetto (JSON)");
    run->add_option("--figure", options_.paths.figure, "Write a chart of the stages (SVG)");
    run->add_option("--figure-window", options_.figure_window,
                    "What the chart shows, FROM:TO in ns (all)");
    run->add_option("--summary", options_.paths.summary, "Write the summary (JSON)");

    CLI::App* compare =
        add("compare", "Simulate a kernel for a list of values of one parameter", compare_command);
    add_kernel_arguments(compare);
    add_topology_options(compare);
    add_data_options(compare);
    add_hazard_option(compare);
    compare->add_option("--summary", options_.paths.summary,
                        "Write all summaries and the ratios of the second to the first (JSON)");

    CLI::App* demo = add("demo", "Decode attention with opt2 and opt3, side by side", demo_command);
    add_topology_options(demo);
    options_.folder = "kernbench_demo";
    demo->add_option("--out", options_.folder, "Folder for the outputs (kernbench_demo)");
  }

  int run(int argc, char** argv) {
    refuse_flag_values({argv, argv + argc});
    try {
      app_.parse(argc, argv);
    } catch (const CLI::Success& help) {
      return app_.exit(help);
    } catch (const CLI::ParseError& error) {
      throw InputError(fmt::format("{}; {}", error.what(), see_help()));
    }
    refuse_extras();
    for (const auto& [app, command] : commands_) {
      if (!app->parsed()) continue;
      refuse_empty_values(*app);
      return command(binary_, options_);
    }
    throw InputError(fmt::format("no command given; commands are {}; {}",
                                 fmt::join(command_names(), ", "), see_help()));
  }

 private:
  using Command = int (*)(const Binary&, const Options&);

  CLI::App* add(const char* name, const char* meaning, Command command) {
    CLI::App* app = app_.add_subcommand(name, meaning);
    app->allow_extras();  // refuse_extras() has better messages
    commands_.emplace_back(app, command);
    return app;
  }

  void add_kernel_arguments(CLI::App* app) {
    app->add_option("kernel", options_.kernel, "Name of a kernel")->required();
    app->add_option("parameters", options_.parameters, "Kernel parameters, name=value");
  }
  void add_topology_options(CLI::App* app) {
    app->add_option("--topology", options_.topology, "YAML file instead of the embedded topology");
    app->add_option("--set", options_.sets, "Override a key, as in pe.math.lanes=128; repeatable")
        ->allow_extra_args(false);
  }
  void add_data_options(CLI::App* app) {
    app->add_flag("--data", options_.data, "Compute numbers and compare them with float64")
        ->disable_flag_override();
    app->add_option("--seed", options_.seed, "Seed of synthetic inputs (0)");
    app->add_option("--inputs", options_.inputs, "Take the inputs from a file (safetensors)");
  }

  void add_hazard_option(CLI::App* app) {
    app->add_flag("--check-hazards", options_.check_hazards,
                  "Look for stages that touch bytes out of program order, and reads of bytes that "
                  "nothing has written")
        ->disable_flag_override();
  }

  std::vector<std::string> command_names() const {
    std::vector<std::string> names;
    for (const auto& entry : commands_) names.push_back(entry.first->get_name());
    return names;
  }
  std::string see_help() const {
    const std::vector<CLI::App*> given = app_.get_subcommands();
    const std::string command = given.empty() ? "" : given.front()->get_name() + " ";
    return fmt::format("see {} {}--help", binary_.name, command);
  }

  /// The parser's own message would not tell what to write.
  static void refuse_flag_values(const std::vector<std::string>& arguments) {
    for (const std::string& argument : arguments) {
      for (const std::string flag : {"--data", "--check-hazards"}) {
        if (argument.rfind(flag + '=', 0) != 0) continue;
        throw InputError(
            fmt::format("{0} takes no value, and '{1}' is given; write {0} to turn it "
                        "on, or leave it away",
                        flag, argument.substr(flag.size() + 1)));
      }
    }
  }

  /// An empty value is a mistake in a script: an option that is not wanted is left out.
  static void refuse_empty_values(const CLI::App& app) {
    for (const CLI::Option* option : app.get_options()) {
      for (const std::string& value : option->results()) {
        if (value.empty()) {
          throw InputError(fmt::format("{}: {} is given an empty value; give one or leave it out",
                                       app.get_name(), option->get_name()));
        }
      }
    }
  }

  void refuse_extras() const {
    for (const auto& entry : commands_) {
      if (entry.first->parsed()) refuse_extras(*entry.first, entry.first->get_name());
    }
    refuse_extras(app_, "the command");
  }
  /// Arguments that `app` does not know.
  void refuse_extras(const CLI::App& app, const std::string& where) const {
    const std::vector<std::string> extras = app.remaining();
    if (extras.empty()) return;
    const std::string& extra = extras.front();
    if (extra.rfind('-', 0) != 0) {
      if (&app != &app_) {
        throw InputError(
            fmt::format("{}: '{}' is one argument too many; {}", where, extra, see_help()));
      }
      throw InputError(fmt::format("no command '{}'; commands are {}{}", extra,
                                   fmt::join(command_names(), ", "),
                                   did_you_mean(extra, command_names())));
    }
    const std::string name = extra.substr(0, extra.find('='));
    std::vector<std::string> known;
    for (const CLI::Option* option : app.get_options()) {
      if (option->nonpositional()) known.push_back("--" + option->get_lnames().front());
    }
    if (&app == &app_) {
      throw InputError(
          fmt::format("no option '{}' before the command; options follow it, as in {} "
                      "run KERNEL --data",
                      name, binary_.name));
    }
    throw InputError(fmt::format("{}: no option '{}'; options are {}{}", where, name,
                                 fmt::join(known, ", "), did_you_mean(name, known)));
  }

  const Binary& binary_;
  CLI::App app_;
  Options options_;
  std::vector<std::pair<CLI::App*, Command>> commands_;
};

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

int fail_for_memory(const Binary& binary) {
  return fail(binary, kFailed,
              "out of memory; choose a smaller problem, or leave --data out if only time matters");
}

/// A report that ended the simulation. What the host's own code throws in a kernel's thread comes
/// as one as well, and reads as it does elsewhere.
int fail(const Binary& binary, const sc_core::sc_report& report) {
  const std::string type = report.get_msg_type();
  if (type == sc_core::SC_ID_SIMULATION_UNCAUGHT_EXCEPTION_) {
    const std::string what = report.get_msg();
    return what == std::bad_alloc().what() ? fail_for_memory(binary) : fail(binary, kFailed, what);
  }
  return fail(binary, kFailed,
              fmt::format("the simulation failed at {}: {}: {}", report.get_time().to_string(),
                          type, report.get_msg()));
}

/// Both ways to stdout that the commands use.
bool stdout_is_written() {
  std::cout.flush();
  return std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.good();
}

}  // namespace

int run_main(int argc, char** argv, const Binary& binary) {
  try {
    sc_core::sc_report_handler::set_actions(sc_core::SC_ERROR, sc_core::SC_THROW);
    sc_core::sc_report_handler::set_actions(sc_core::SC_FATAL, sc_core::SC_THROW);
    sc_core::sc_report_handler::set_handler(on_report);
    const int code = CommandLine(binary).run(argc, argv);
    if (code != kDone || stdout_is_written()) return code;
    return fail(binary, kFailed,
                "the report could not be written to stdout; free some space or send it elsewhere");
  } catch (const InputError& error) {
    return fail(binary, kRefused, error.what(), error.detail());
  } catch (const SimulationError& error) {
    return fail(binary, kFailed, error.what(), error.detail());
  } catch (const sc_core::sc_report& report) {
    return fail(binary, report);
  } catch (const std::bad_alloc&) {
    return fail_for_memory(binary);
  } catch (const std::exception& error) {
    return fail(binary, kFailed, error.what());
  } catch (...) {
    return fail(binary, kFailed, "failed with an exception that is no std::exception");
  }
}

}  // namespace kernbench::runtime
