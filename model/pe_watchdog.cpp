// SPDX-License-Identifier: Apache-2.0
#include "model/pe_watchdog.hpp"

#include <fmt/format.h>

#include <string>

#include "model/arch/timing.hpp"
#include "model/pe.hpp"

namespace kernbench {

PeWatchdog::PeWatchdog(const sc_core::sc_module_name& name, PeContext& pe, const Pe& of)
    : sc_module(name),
      context_(pe),
      pe_(of),
      limit_ps_(arch::ExactScale(pe.config.watchdog_ns).rounded(1000)) {
  KERNBENCH_HAS_PROCESS(PeWatchdog);
  SC_METHOD(look);
  sensitive << look_event_;
  dont_initialize();
}

void PeWatchdog::start() {
  context_.last_progress = context_.time.now();
  look_event_.notify(context_.time.to_sc_time(limit_ps_ + 1));
}

// 1 ps later than the limit, so that progress at the very end of the limit counts, whichever
// process runs first.
void PeWatchdog::look() {
  if (pe_.serving()) context_.last_progress = context_.time.now();
  const std::uint64_t silence = context_.time.now() - context_.last_progress;
  if (silence > limit_ps_) {
    report(silence);
  } else {
    look_event_.notify(context_.time.to_sc_time(limit_ps_ + 1 - silence));
  }
}

void PeWatchdog::report(std::uint64_t silence_ps) const {
  std::string waits;
  for (const std::string& line : pe_.waiting()) waits += "\n  " + line;
  SC_REPORT_ERROR(
      "/kernbench/pe/watchdog",
      fmt::format("{}: nothing has gone on for {} ns while commands are outstanding; check the "
                  "memory and the PEs that it waits for, or raise pe.watchdog_ns{}",
                  pe_.name(), arch::nanoseconds(silence_ps), waits)
          .c_str());
}

}  // namespace kernbench
