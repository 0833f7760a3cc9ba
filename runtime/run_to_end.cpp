// SPDX-License-Identifier: Apache-2.0
#include "runtime/run_to_end.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "model/arch/timing.hpp"
#include "model/arch/wait_graph.hpp"
#include "tlm_if/command/error.hpp"
#include "tlm_if/command/text.hpp"

namespace kernbench::runtime {
namespace {

using command::plural;

SimulationError not_ended(const Watched& watched) {
  PesByName pes;
  // Without the name of the design, as in the outputs.
  const std::size_t prefix = std::string(watched.design->name()).size() + 1;
  for (const Pe* pe : watched.design->machine.pes()) pes.emplace_back(pe->name() + prefix, pe);
  if (const auto& leak = watched.design->leak()) {
    const std::string name = leak->title == watched.title ? "" : fmt::format(" ({})", leak->title);
    return never_received(watched.title, pes, leak->messages,
                          fmt::format("when launch {}{} ended at {} ns", leak->number, name,
                                      arch::nanoseconds(leak->end_ps)));
  }
  return work_in_flight(watched.title + " stopped", pes,
                        "nothing is left that could go on; check sends and receives, and the "
                        "memory behind the PE");
}

bool ended(const Design& design) {
  return design.done() || design.leak() || design.failure() != nullptr;
}

/// `pe1 has not received 2 messages (16 slots) of pe0 on channel 0`.
std::string sentence(const PesByName& pes, const Unreceived& messages) {
  const auto name = [&](std::uint32_t index) {
    return std::find_if(pes.begin(), pes.end(),
                        [&](const auto& pe) { return pe.second->index() == index; })
        ->first;
  };
  return fmt::format("{} has not received {} ({}) of {} on channel {}", name(messages.receiver),
                     plural(messages.count.messages, "message"),
                     plural(messages.count.slots, "slot"), name(messages.sender), messages.channel);
}

/// True if nothing in the design can proceed by itself.
bool stuck(const Design& design) {
  const std::vector<Pe*>& pes = design.machine.pes();
  return design.machine.links_idle() && std::all_of(pes.begin(), pes.end(), [](const Pe* pe) {
           return pe->idle() || pe->stuck();
         });
}

/// Detects that no stage of any design has ended for kSilencePs.
class Silence {
 public:
  explicit Silence(const std::vector<Watched>& designs) : designs_(designs) {}

  bool too_long() {
    std::uint64_t rows = 0;
    for (const Watched& watched : designs_) rows += watched.design->recorder.statistics().rows();
    const std::uint64_t now = TimeBase().now();
    if (rows != rows_) since_ = now;
    rows_ = rows;
    return now - since_ >= kSilencePs;
  }

 private:
  const std::vector<Watched>& designs_;
  std::uint64_t rows_ = 0, since_ = 0;
};

}  // namespace

SimulationError work_in_flight(const std::string& what, const PesByName& pes,
                               const std::string& advice) {
  arch::WaitGraph graph;
  for (const auto& [name, pe] : pes) pe->waits(graph, name);
  const std::vector<std::string> waits = graph.lines();
  std::string detail;
  for (const std::string& line : waits) detail += line + '\n';
  const std::string where =
      fmt::format("{} at {} ns with work in flight", what, arch::nanoseconds(TimeBase().now()));
  if (const std::string cycle = graph.cycle(); !cycle.empty()) {
    return {fmt::format("{}: deadlock: {}; let one of them go on before it waits", where, cycle),
            detail};
  }
  // For a caller that prints only what().
  const std::string first = waits.empty() ? "" : "; " + waits.front();
  const std::string others =
      waits.size() < 2 ? "" : fmt::format(" (and {})", plural(waits.size() - 1, "more wait"));
  return {fmt::format("{}: {}{}{}", where, advice, first, others), detail};
}

SimulationError never_received(const std::string& what, const PesByName& pes,
                               const std::vector<Unreceived>& messages, const std::string& when) {
  std::string detail;
  for (const Unreceived& of_channel : messages) detail += sentence(pes, of_channel) + '\n';
  const std::size_t others = messages.size() - 1;
  return {fmt::format(
              "{}: {} {}{}; receive all that is sent, or do not send it", what,
              sentence(pes, messages.front()), when,
              others == 0 ? "" : fmt::format(", nor those of {}", plural(others, "other channel"))),
          detail};
}

void run_to_end(const std::vector<Watched>& designs, bool own_memory,
                const std::function<void()>& look) {
  if (sc_core::sc_get_status() >= sc_core::SC_STOPPED) {
    throw InputError(
        fmt::format("{}: run() comes after sc_stop, and SystemC runs nothing any more; do without "
                    "sc_stop, or call it when all has run",
                    designs.front().title));
  }
  // A memory with a clock never runs out of events, so the designs are checked after slices of
  // time. Slices grow, so that a long run has few.
  const sc_core::sc_time longest(1, sc_core::SC_MS);
  sc_core::sc_time slice(1, sc_core::SC_US);
  Silence silence(designs);
  const auto going_on = [&] {
    return std::any_of(designs.begin(), designs.end(), [](const Watched& watched) {
      return !ended(*watched.design) && !stuck(*watched.design);
    });
  };
  sc_core::sc_start(slice, sc_core::SC_EXIT_ON_STARVATION);
  while (going_on() && sc_core::sc_pending_activity() && !(own_memory && silence.too_long()) &&
         sc_core::sc_get_status() != sc_core::SC_STOPPED) {
    if (look) look();
    slice = std::min(slice + slice, longest);
    // At least up to the next event, since simulated time does not advance in a slice that ends
    // before it.
    sc_core::sc_start(std::max(slice, sc_core::sc_time_to_pending_activity()),
                      sc_core::SC_EXIT_ON_STARVATION);
  }

  for (const Watched& watched : designs) {
    if (const std::exception_ptr failure = watched.design->failure()) {
      std::rethrow_exception(failure);
    }
    if (!watched.design->done()) throw not_ended(watched);
  }
}

}  // namespace kernbench::runtime
