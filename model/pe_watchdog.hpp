// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "model/pe_context.hpp"
#include "tlm_if/systemc.hpp"

namespace kernbench {

class Pe;

/// Ends a run in which nothing goes on: the report `/kernbench/pe/watchdog`, with the lines of
/// Pe::waiting(), when for more than pe.watchdog_ns no stage and no dispatch has begun or ended and
/// no burst has been accepted or answered, although commands are outstanding. An engine that serves
/// a stage goes on by itself, however long that takes, and so does a dispatch; a kernel that has no
/// command outstanding, and waits for its host, is not looked at. What goes on in other PEs does
/// not count: a wait for a message is silence, however busy its sender is.
///
/// It looks only while a command is outstanding, and leaves no event behind: a run ends when it
/// would end without. Once it has reported it looks again when the outstanding commands are done.
class PeWatchdog : public sc_core::sc_module {
 public:
  /// `of`: the PE that `pe` is of.
  PeWatchdog(const sc_core::sc_module_name& name, PeContext& pe, const Pe& of);

  /// A command is outstanding.
  void start();
  /// None is any more.
  void stop() { look_event_.cancel(); }

 private:
  void look();
  void report(std::uint64_t silence_ps) const;

  PeContext& context_;
  const Pe& pe_;
  const std::uint64_t limit_ps_;
  sc_core::sc_event look_event_;
};

}  // namespace kernbench
