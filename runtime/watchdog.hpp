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

/// A run that did not come to its end, or came to it with something left. `what()` is one complete
/// line, `detail()` holds further ones.
class SimulationError : public std::runtime_error {
 public:
  SimulationError(const std::string& line, std::string detail)
      : std::runtime_error(line), detail_(std::move(detail)) {}
  const std::string& detail() const { return detail_; }

 private:
  std::string detail_;
};

using PesByName = std::vector<std::pair<std::string, const Pe*>>;

/// The error of a run that ended before its PEs were idle: a line of `what`, the time, and the
/// circle of waits if there is one, else `advice` and the first wait; the detail is who waits for
/// what.
SimulationError work_in_flight(const std::string& what, const PesByName& pes,
                               const std::string& advice);

/// The error of messages that nobody has received, of which there are some: a line of `what`, the
/// first of them and `when`; the detail lists all.
SimulationError never_received(const std::string& what, const PesByName& pes,
                               const std::vector<Unreceived>& messages, const std::string& when);

/// A memory that is not the embedded one may have a clock, and never answer: a run in which no
/// stage ends for so long is given up.
inline constexpr std::uint64_t kSilencePs = 100'000'000'000;

/// A design to be run, and what it is called in messages.
struct Watched {
  const Design* design = nullptr;
  std::string title;
};

/// Simulates until every launch is over. Throws what a kernel has thrown, and SimulationError with
/// the graph of who waits for what (R11.1) when nothing can go on any more: no event is left, or
/// every PE waits for another, whatever a clock elsewhere may do; or when a launch has ended with
/// messages that nobody has received. `own_memory`: a memory is not the embedded one, hence
/// kSilencePs. `look`, if any, is called between stretches of simulated time.
/// Throws InputError after sc_stop.
void run_to_end(const std::vector<Watched>& designs, bool own_memory,
                const std::function<void()>& look = {});

}  // namespace kernbench::runtime
