// SPDX-License-Identifier: Apache-2.0
#include "tlm_if/command/program.hpp"

namespace kernbench::command {

void Program::replay(CommandSink& sink) const {
  struct Replay {
    CommandSink& sink;
    void operator()(const Command& command) const { sink.issue(command); }
    void operator()(const WaitStep& step) const { sink.wait(step.ranges); }
    void operator()(const BeginRegionStep& step) const { sink.begin_region(step.name); }
    void operator()(const EndRegionStep& step) const { sink.end_region(step.name); }
    void operator()(const ObserveStep& step) const { sink.observe(step.name, step.handle); }
  };
  for (const ProgramStep& step : steps) std::visit(Replay{sink}, step);
}

std::vector<Command> Program::commands() const {
  std::vector<Command> commands;
  for (const ProgramStep& step : steps) {
    if (const auto* command = std::get_if<Command>(&step)) commands.push_back(*command);
  }
  return commands;
}

void Recorder::issue(Command command) { program_.steps.emplace_back(std::move(command)); }
void Recorder::wait(const std::vector<ByteRange>& ranges) {
  program_.steps.emplace_back(WaitStep{ranges});
}
void Recorder::begin_region(std::string_view name) {
  program_.steps.emplace_back(BeginRegionStep{std::string(name)});
}
void Recorder::end_region(std::string_view name) {
  program_.steps.emplace_back(EndRegionStep{std::string(name)});
}
void Recorder::observe(std::string_view name, const TensorHandle& handle) {
  program_.steps.emplace_back(ObserveStep{std::string(name), handle});
}

}  // namespace kernbench::command
