// SPDX-License-Identifier: Apache-2.0
#include "tests/support/catalogue_programs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "kernels/catalogue.hpp"
#include "runtime/launch/launch.hpp"
#include "tlm_if/command/encoding.hpp"
#include "tlm_if/command/error.hpp"
#include "tlm_if/command/program_file.hpp"

namespace kernbench::test {
namespace {

/// What one step looks like, but for numbers: of two alike one is enough.
std::string outline(const command::ProgramStep& step) {
  const auto* command = std::get_if<command::Command>(&step);
  if (command == nullptr) return fmt::format("step {}", step.index());
  std::string text = fmt::format("{} {}", label(*command), logical_bytes(*command));
  for (const command::OpSpec& op : command::ops_of(*command)) {
    text += fmt::format(" {} {} {}", to_string(op.kind), to_string(op.scope), touches_hbm(op));
  }
  return text;
}

}  // namespace

arch::TopologyConfig catalogue_topology() {
  arch::TopologyConfig topology;
  topology.name = "cube";
  topology.pes_per_cube = 8;
  topology.hbm.bytes = std::uint64_t{1} << 40;  // a whole layer on one PE
  topology.pe.scheduler.math_head_from_hbm = true;
  return topology;
}

std::vector<NamedProgram> catalogue_programs() {
  const arch::TopologyConfig topology = catalogue_topology();
  std::vector<NamedProgram> programs;
  const auto add = [&](const kernels::Kernel& kernel, runtime::Settings settings) {
    if (kernels::find_parameter(kernel.parameters, "layers") != nullptr) {
      settings.emplace_back("layers", "2");  // of 80 that are alike
    }
    const runtime::Launch launch(kernel, settings, topology);
    for (const command::Index number : std::set<command::Index>{0, launch.programs() - 1}) {
      command::ProgramRecorder recorder;
      launch.issue(recorder, number);
      programs.push_back({fmt::format("{} program {}", launch.title(), number), recorder.take()});
    }
  };
  for (const kernels::Kernel& kernel : kernels::catalogue()) {
    add(kernel, {});
    for (const kernels::Parameter& parameter : kernel.parameters) {
      for (const std::string& choice : parameter.choices) {
        if (choice == parameter.default_value) continue;
        try {
          add(kernel, {{parameter.name, choice}});
        } catch (const InputError&) {
          // A choice that needs another one beside it.
        }
      }
    }
  }
  return programs;
}

std::vector<std::vector<std::uint8_t>> sample_streams() {
  std::vector<std::vector<std::uint8_t>> streams;
  std::set<std::string> seen;
  for (const NamedProgram& named : catalogue_programs()) {
    for (const command::ProgramStep& step : named.program.steps) {
      if (!seen.insert(outline(step)).second) continue;
      command::ProgramStep copy = step;
      if (auto* command = std::get_if<command::Command>(&copy)) {
        auto* composite = std::get_if<command::CompositeCmd>(command);
        if (composite != nullptr) composite->completion.id = 0;  // the first of its stream
      }
      streams.push_back(command::encode({{copy}}));
    }
  }
  return streams;
}

std::vector<std::vector<std::uint8_t>> sample_programs(std::uint32_t table_entries) {
  constexpr std::size_t kSteps = 16;
  std::vector<std::vector<std::uint8_t>> streams;
  for (NamedProgram& named : catalogue_programs()) {
    auto& steps = named.program.steps;
    steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(std::min(kSteps, steps.size())),
                steps.end());
    try {
      streams.push_back(command::encode(named.program, table_entries));
    } catch (const InputError&) {
      // A command with more tensors than the table has entries.
    }
  }
  return streams;
}

std::vector<std::uint8_t> sample_file() {
  using command::Index;
  using command::Shape;
  command::ProgramFile file;
  file.title = "copy rows=4";
  file.hbm_bytes = 8192;
  command::ProgramFile::Tensor tensor{"x", true, command::DType::f16, Shape{4, 6}, {2, 1, 12}, {}};
  for (std::uint32_t program = 0; program < 2; ++program) {
    const Index row = 2 * static_cast<Index>(program);
    tensor.parts.push_back({program,
                            command::make_handle(0, 4096 * program, Shape{2, 6}, tensor.dtype,
                                                 command::Space::hbm, tensor.name),
                            {{row, 1}, {row + 1, 1}},
                            0,
                            6});
    const auto src = command::make_handle(1, command::kTcmBase, Shape{2, 6}, tensor.dtype,
                                          command::Space::tcm, "y");
    const auto dst = command::make_handle(2, 4096 * program, Shape{2, 6}, tensor.dtype,
                                          command::Space::hbm, "x");
    file.streams.push_back({program, {{command::Command(command::DmaWriteCmd{src, dst})}}});
  }
  file.tensors.push_back(tensor);
  return command::to_bytes(file);
}

}  // namespace kernbench::test
