// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "tlm_if/command/command_sink.hpp"

namespace kernbench::command {

/// A sink that ignores every call which a derived class does not override.
class NullSink : public CommandSink {
 public:
  void issue(Command) override {}
  void wait(const std::vector<ByteRange>&) override {}
  void begin_region(std::string_view) override {}
  void end_region(std::string_view) override {}
  void observe(std::string_view, const TensorHandle&) override {}
};

}  // namespace kernbench::command
