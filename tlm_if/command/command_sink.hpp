// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "tlm_if/command/commands.hpp"

namespace kernbench::command {

/// Where a kernel's commands go (R3.7): PE_CPU, or a recorder.
class CommandSink {
 public:
  virtual ~CommandSink() = default;

  virtual void issue(Command command) = 0;
  /// Returns when every issued command that writes a byte of `ranges` is done.
  virtual void wait(const std::vector<ByteRange>& ranges) = 0;
  virtual void begin_region(std::string_view name) = 0;
  virtual void end_region(std::string_view name) = 0;
  /// Makes the value of `handle`, after every command issued so far is done, a named result of the
  /// kernel. It takes no time and no command: it is an aid for the host side, not a part of the PE.
  virtual void observe(std::string_view name, const TensorHandle& handle) = 0;
};

}  // namespace kernbench::command
