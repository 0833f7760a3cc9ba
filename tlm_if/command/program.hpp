// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tlm_if/command/command_sink.hpp"

namespace kernbench::command {

struct WaitStep {
  std::vector<ByteRange> ranges;
  friend bool operator==(const WaitStep& x, const WaitStep& y) { return x.ranges == y.ranges; }
};
struct BeginRegionStep {
  std::string name;
  friend bool operator==(const BeginRegionStep& x, const BeginRegionStep& y) {
    return x.name == y.name;
  }
};
struct EndRegionStep {
  std::string name;
  friend bool operator==(const EndRegionStep& x, const EndRegionStep& y) {
    return x.name == y.name;
  }
};
struct ObserveStep {
  std::string name;
  TensorHandle handle;
  friend bool operator==(const ObserveStep& x, const ObserveStep& y) {
    return x.name == y.name && x.handle == y.handle;
  }
};
using ProgramStep = std::variant<Command, WaitStep, BeginRegionStep, EndRegionStep, ObserveStep>;

/// The calls that a kernel made to its sink, in order. A replay gives the same run (R3.7).
struct Program {
  std::vector<ProgramStep> steps;

  void replay(CommandSink& sink) const;
  /// The commands alone, in issue order.
  std::vector<Command> commands() const;

  friend bool operator==(const Program& x, const Program& y) { return x.steps == y.steps; }
};

/// A sink that records and never waits.
class ProgramRecorder : public CommandSink {
 public:
  void issue(Command command) override;
  void wait(const std::vector<ByteRange>& ranges) override;
  void begin_region(std::string_view name) override;
  void end_region(std::string_view name) override;
  void observe(std::string_view name, const TensorHandle& handle) override;

  const Program& program() const { return program_; }
  Program take() { return std::move(program_); }

 private:
  Program program_;
};

}  // namespace kernbench::command
