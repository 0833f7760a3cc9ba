// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "runtime/design.hpp"

namespace kernbench::runtime {

/// A run that did not complete, or that left messages behind. `what()` is one complete line;
/// `detail()` has further lines.
class SimulationError : public std::runtime_error {
 public:
  SimulationError(const std::string& line, std::string detail)
      : std::runtime_error(line), detail_(std::move(detail)) {}
  const std::string& detail() const { return detail_; }

 private:
  std::string detail_;
};

using PesByName = std::vector<std::pair<std::string, const Pe*>>;

/// The error of a run that ended before its PEs were idle. Its line has `what`, the time, and the
/// cycle of waits if there is one, otherwise `advice` and the first wait. Its detail is the wait
/// graph.
SimulationError work_in_flight(const std::string& what, const PesByName& pes,
                               const std::string& advice);

/// The error of messages that nobody has received; `messages` is not empty. Its line has `what`,
/// the first message and `when`; its detail lists all messages.
SimulationError never_received(const std::string& what, const PesByName& pes,
                               const std::vector<Unreceived>& messages, const std::string& when);

/// A memory that is not the embedded one may have a clock and never answer. A run ends if no stage
/// has ended for this time.
inline constexpr std::uint64_t kSilencePs = 100'000'000'000;

/// A design to run, and its name in messages.
struct Watched {
  const Design* design = nullptr;
  std::string title;
};

/// Simulates until every launch has ended. Throws what a kernel has thrown. Throws SimulationError
/// with the wait graph (R11.1) when nothing can proceed: no event is left, or every PE waits for
/// another PE, even if a clock elsewhere is running; or when a launch has ended with messages that
/// nobody has received. `own_memory`: a memory is not the embedded one, so kSilencePs applies.
/// `look`, if any, is called between slices of simulated time. Throws InputError after sc_stop.
void run_to_end(const std::vector<Watched>& designs, bool own_memory,
                const std::function<void()>& look = {});

}  // namespace kernbench::runtime
