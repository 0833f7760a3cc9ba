// SPDX-License-Identifier: Apache-2.0
#include "tlm_if/command/program.hpp"

namespace kernbench::command {

void Program::replay(CommandSink& sink) const {
  const Overloaded issue{[&](const Command& command) { sink.issue(command); },
                         [&](const WaitStep& step) { sink.wait(step.ranges); },
                         [&](const BeginRegionStep& step) { sink.begin_region(step.name); },
                         [&](const EndRegionStep& step) { sink.end_region(step.name); },
                         [&](const ObserveStep& step) { sink.observe(step.name, step.handle); }};
  for (const ProgramStep& step : steps) std::visit(issue, step);
}

std::vector<Command> Program::commands() const {
  std::vector<Command> commands;
  for (const ProgramStep& step : steps) {
    if (const auto* command = std::get_if<Command>(&step)) commands.push_back(*command);
  }
  return commands;
}

void ProgramRecorder::issue(Command command) { program_.steps.emplace_back(std::move(command)); }
void ProgramRecorder::wait(const std::vector<ByteRange>& ranges) {
  program_.steps.emplace_back(WaitStep{ranges});
}
void ProgramRecorder::begin_region(std::string_view name) {
  program_.steps.emplace_back(BeginRegionStep{std::string(name)});
}
void ProgramRecorder::end_region(std::string_view name) {
  program_.steps.emplace_back(EndRegionStep{std::string(name)});
}
void ProgramRecorder::observe(std::string_view name, const TensorHandle& handle) {
  program_.steps.emplace_back(ObserveStep{std::string(name), handle});
}

}  // namespace kernbench::command
