// SPDX-License-Identifier: Apache-2.0
#include "runtime/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <iostream>
#include <optional>

#include "model/record/output_file.hpp"
#include "runtime/bound_by.hpp"
#include "runtime/launch/arguments.hpp"
#include "runtime/summary_json.hpp"
#include "runtime/summary_table.hpp"
#include "runtime/verdict.hpp"
#include "tlm_if/command/error.hpp"

namespace kernbench::runtime {
namespace {

/// A parameter of the kernel, or a key of --set, with several values to compare; by default
/// neither.
struct Axis {
  std::string name;
  std::vector<std::string> values{""};
};

/// Makes `axis` that of `name` if `value` is a list. `what`: the kind of name, for the message.
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

/// The runs of a sweep, and what their requests point to.
struct Runs {
  std::deque<arch::TopologyConfig> topologies;
  std::deque<Launch> launches;
  std::deque<kernels::HostTensors> inputs;  ///< the same for equal problems
  std::vector<RunRequest> requests;
  std::vector<std::string> labels;
};

void add_run(Runs& runs, const Binary& binary, const Options& options,
             const kernels::Kernel& kernel, const Variant& variant) {
  const arch::TopologyConfig& topology =
      runs.topologies.emplace_back(topology_of(binary, options, variant.sets));
  const Launch& launch = runs.launches.emplace_back(kernel, variant.settings, topology);
  runs.labels.push_back(variant.label);
  RunRequest request;
  request.launch = &launch;
  request.topology = &topology;
  request.seed = seed_of(options);
  if (std::optional<kernels::HostTensors> own = inputs_of(options, launch)) {
    const auto known = std::find(runs.inputs.begin(), runs.inputs.end(), *own);
    request.inputs =
        known != runs.inputs.end() ? &*known : &runs.inputs.emplace_back(std::move(*own));
  }
  request.check_hazards = options.check_hazards;
  runs.requests.push_back(std::move(request));
}

/// With --data: says which runs were not checked, and whether all have the same results.
void print_data_lines(const Runs& runs, const std::vector<RunResult>& results) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i].numerics) continue;
    fmt::print("{}: checked nothing: {}\n", runs.labels[i], runs.launches[i].why_no_reference());
  }
  // Different problems have different results.
  if (runs.inputs.size() == 1) {
    fmt::print("results of all runs: {}\n", to_string(compare_results(results)));
  }
}

/// Each run over the first.
void print_ratios(const Runs& runs, const std::vector<RunResult>& results) {
  for (std::size_t i = 1; i < results.size(); ++i) {
    fmt::print("{} / {}: dispatch cycles per tile {:.3f}, simulated time {:.3f}\n", runs.labels[i],
               runs.labels[0],
               ratio(results[i].dispatch_cycles_per_tile, results[0].dispatch_cycles_per_tile),
               ratio(static_cast<double>(results[i].sim_time_ps),
                     static_cast<double>(results[0].sim_time_ps)));
  }
}

}  // namespace

int compare_command(const Binary& binary, const Options& options) {
  check_data_options(options);
  check_outputs(options);
  const kernels::Kernel& kernel = kernel_of(binary.kernels, options.kernel);
  const Sweep sweep = sweep_of(kernel, settings_of(options.parameters), options.sets);
  Runs runs;
  for (const Variant& variant : sweep.variants) add_run(runs, binary, options, kernel, variant);
  std::optional<record::OutputFile> summary;
  if (!options.paths.summary.empty()) summary.emplace(options.paths.summary);

  const std::vector<RunResult> results =
      simulate(runs.topologies.front(), binary.memory, runs.requests);
  if (summary) {
    summary->write(comparison_json(results).dump(2));
    summary->put('\n');
    summary->commit();
  }
  fmt::print("{}\n\n{}\n", title_of(sweep, runs.launches.front(), runs.topologies.front()),
             summary_table(results, runs.labels));
  for (std::size_t i = 0; i < results.size(); ++i) {
    fmt::print("{}: {}\n", runs.labels[i], bound_by(results[i]));
  }
  if (options.data) print_data_lines(runs, results);
  print_ratios(runs, results);
  std::cout.flush();
  return verdict(binary, results);
}

}  // namespace kernbench::runtime
