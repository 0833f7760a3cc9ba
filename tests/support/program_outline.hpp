// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/program_order.hpp"
#include "tlm_if/command/error.hpp"

namespace kernbench::test {

using Strings = std::vector<std::string>;

/// Labels of commands, and `wait`, `{`, `}`, `observe NAME` for the other steps.
inline Strings outline(const Compiled& compiled) {
  Strings result;
  for (const command::ProgramStep& step : compiled.program.steps) {
    if (const auto* command = std::get_if<command::Command>(&step)) {
      result.emplace_back(label(*command));
    } else if (const auto* observed = std::get_if<command::ObserveStep>(&step)) {
      result.push_back("observe " + observed->name);
    } else if (std::holds_alternative<command::WaitStep>(step)) {
      result.emplace_back("wait");
    } else {
      result.emplace_back(std::holds_alternative<command::BeginRegionStep>(step) ? "{" : "}");
    }
  }
  return result;
}

/// The commands inside the region `loop` (R13.1).
inline std::vector<command::Command> loop_of(const Compiled& compiled) {
  std::vector<command::Command> commands;
  bool inside = false;
  for (const command::ProgramStep& step : compiled.program.steps) {
    if (const auto* begin = std::get_if<command::BeginRegionStep>(&step)) {
      EXPECT_EQ(begin->name, "loop");
      inside = true;
    } else if (std::holds_alternative<command::EndRegionStep>(step)) {
      inside = false;
    } else if (const auto* command = std::get_if<command::Command>(&step);
               inside && command != nullptr) {
      commands.push_back(*command);
    }
  }
  return commands;
}

inline std::uint64_t bytes_of(const std::vector<command::Command>& commands) {
  std::uint64_t sum = 0;
  for (const command::Command& command : commands) sum += logical_bytes(command);
  return sum;
}

inline std::string error_of(const std::string& kernel, const Settings& settings) {
  try {
    compile(kernel, settings);
  } catch (const InputError& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace kernbench::test
