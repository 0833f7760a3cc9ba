// SPDX-License-Identifier: Apache-2.0
#include "runtime/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <memory>

#include "runtime/launch/arguments.hpp"
#include "runtime/launch/inputs.hpp"
#include "runtime/launch/plan_listing.hpp"
#include "tlm_if/command/error.hpp"
#include "tlm_if/command/program_file.hpp"

namespace kernbench::runtime {

arch::TopologyConfig topology_of(const Binary& binary, const Options& options,
                                 const std::vector<std::string>& sets) {
  if (!options.topology.empty()) return arch::read_topology_file(options.topology, sets);
  return arch::load_topology(binary.topology_text, binary.topology_name, sets,
                             binary.topology_includes);
}

arch::TopologyConfig topology_of(const Binary& binary, const Options& options) {
  return topology_of(binary, options, options.sets);
}

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

record::Figure::Window window_of(const std::string& text) {
  constexpr std::uint64_t kPicoseconds = 1000;
  constexpr std::uint64_t kLast = std::numeric_limits<std::uint64_t>::max() / kPicoseconds;
  const std::size_t colon = std::min(text.find(':'), text.size());
  const std::optional<std::uint64_t> from = parse_whole(text.substr(0, colon));
  const std::optional<std::uint64_t> to =
      parse_whole(text.substr(std::min(colon + 1, text.size())));
  if (!from || !to || *from >= *to || *to > kLast) {
    throw InputError(fmt::format(
        "--figure-window {} is not a window; give FROM:TO in whole ns, FROM less than TO and TO at "
        "most {}, as in 1000:1500",
        text, kLast));
  }
  return {*from * kPicoseconds, *to * kPicoseconds};
}

void check_data_options(const Options& options) {
  const auto needs_data = [&](const char* option, const std::string& value) {
    if (value.empty() || options.data) return;
    throw InputError(fmt::format("{} {} needs --data; add it", option, value));
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
  if (!options.program_file.empty() && !options.kernel.empty()) {
    throw InputError(fmt::format(
        "run: the kernel {} and --program {} are both given; drop one of them (a program file has "
        "its parameters in it)",
        options.kernel, options.program_file));
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

}  // namespace kernbench::runtime
