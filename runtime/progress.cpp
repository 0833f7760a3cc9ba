// SPDX-License-Identifier: Apache-2.0
#include "runtime/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "model/arch/timing.hpp"

namespace kernbench::runtime {

Progress::Progress(const std::vector<Watched>& designs, std::uint64_t commands)
    : designs_(designs), commands_(commands), is_terminal_(isatty(STDERR_FILENO) != 0) {}

Progress::~Progress() {
  if (shown_) fmt::print(stderr, "\r\x1b[K");
}

void Progress::show() {
  const auto now = std::chrono::steady_clock::now();
  if (!is_terminal_ || now - last_ < std::chrono::seconds(1)) return;
  last_ = now;
  shown_ = true;
  std::uint64_t stages = 0, issued = 0;
  for (const Watched& watched : designs_) {
    stages += watched.design->recorder.statistics().rows();
    for (const Pe* pe : watched.design->machine.pes()) issued += pe->cpu.totals().commands;
  }
  fmt::print(stderr, "\rsimulated: {} ns, {} stages, {} of {} commands issued\x1b[K",
             arch::nanoseconds(TimeBase().now()), stages, issued, commands_);
  std::fflush(stderr);
}

}  // namespace kernbench::runtime
