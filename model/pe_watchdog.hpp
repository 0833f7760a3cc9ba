// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "model/pe_context.hpp"
#include "tlm_if/systemc.hpp"

namespace kernbench {

class Pe;

/// Ends a run that makes no progress. It reports `/kernbench/pe/watchdog` with the lines of
/// Pe::waiting() when commands are outstanding, but for more than pe.watchdog_ns no stage or
/// dispatch has begun or ended and no burst has been accepted or answered. A stage that is being
/// served and a dispatch count as progress, however long they take. A kernel without outstanding
/// commands that waits for its host is ignored. The activity of other PEs does not count: a wait
/// for a message is not progress, however busy its sender is.
///
/// It checks only while a command is outstanding and leaves no event pending, so a run ends when it
/// would end without the watchdog. After a report it checks again when the outstanding commands are
/// done.
class PeWatchdog : public sc_core::sc_module {
 public:
  /// `of`: the PE to which `pe` belongs.
  PeWatchdog(const sc_core::sc_module_name& name, PeContext& pe, const Pe& of);

  /// A command is outstanding.
  void start();
  /// No command is outstanding any more.
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
