// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "tlm_if/systemc.hpp"

namespace kernbench {

class SettleHub;

/// What settles, in the order of the calls within one instant (contract 6, "Same time"). Phase
/// `completion` handles bursts finished by LT threads, so that thread order cannot affect results.
/// Other completions arrive as callbacks.
enum class SettlePhase : std::uint8_t {
  completion,
  admission,
  grant,
  memory_port,
  network,
  memory
};
inline constexpr std::size_t kSettlePhases = 6;

/// A component that decides only when everything of an instant has completed. It calls touch() when
/// it has something to decide; settle() is called once for any number of touches.
class Settling {
 public:
  /// Ties within a phase are broken by PE, then by component, never by creation order.
  Settling(std::shared_ptr<SettleHub> hub, SettlePhase phase, std::uint32_t pe,
           std::uint32_t component)
      : hub_(std::move(hub)), phase_(phase), order_((std::uint64_t{pe} << 32) | component) {}
  virtual ~Settling() = default;
  Settling(const Settling&) = delete;
  Settling& operator=(const Settling&) = delete;

 protected:
  void touch();
  /// Runs the body of one of the component's own processes. What it touches is settled at its end,
  /// in the same process, if nothing else is pending at this time. Otherwise the hub's process is
  /// woken.
  template <class Body>
  void in_turn(Body body);
  /// For a settle() that has woken a thread. The remaining components are settled after everything
  /// that the thread starts at this instant has ended.
  void end_pass();

 private:
  friend class SettleHub;
  virtual void settle() = 0;

  std::shared_ptr<SettleHub> hub_;
  SettlePhase phase_;
  std::uint64_t order_;
  bool touched_ = false;
  Settling* next_touched_ = nullptr;  // of the same phase
};

/// Settles components. There is one hub per simulation, not one per PE, since two hubs would re-arm
/// each other forever. It waits until SystemC has nothing more to run at the current time, however
/// many deltas that takes, and then calls the touched components in a fixed order. This happens in
/// the hub's own process, or at the end of a component's process (Settling::in_turn). So results
/// depend neither on the order in which the kernel runs processes nor on the order in which modules
/// were created.
class SettleHub : public sc_core::sc_module, public std::enable_shared_from_this<SettleHub> {
 public:
  /// The hub of the current simulation, shared by all. Whoever asks first creates it as a child.
  static std::shared_ptr<SettleHub> of_simulation();

  /// Use of_simulation().
  explicit SettleHub(const sc_core::sc_module_name& name);

  /// Restarts the livelock count, because something was done that one instant can hold only so many
  /// of. A memory that takes no time answers all bursts of a stage at one instant. Commands, and so
  /// stages, of one instant are few, since each dispatch takes time (R6.1).
  void progress() { rounds_ = 0; }

 private:
  friend class Settling;
  void touch(Settling& settling);
  void link(Settling& settling);
  void arm();
  void end_turn();
  void run();
  void settle_all();

  sc_core::sc_event run_event_;
  std::array<Settling*, kSettlePhases> touched_{};  // the last one; it leads to those before
  std::vector<Settling*> batch_;
  std::uint32_t touched_phases_ = 0;  // bit p: touched_[p] is not null
  bool armed_ = false;                // the hub's process will run
  bool in_turn_ = false;              // end_turn() will be called
  bool running_ = false;
  bool pass_ended_ = false;
  std::uint64_t instant_ = 0;  // raw sc_time value
  std::uint32_t rounds_ = 0;   // of the hub's process, at that instant, since the last progress
};

inline void Settling::touch() {
  if (!touched_) hub_->touch(*this);
}

inline void Settling::end_pass() { hub_->pass_ended_ = true; }

template <class Body>
void Settling::in_turn(Body body) {
  hub_->in_turn_ = true;
  body();
  hub_->end_turn();
}

}  // namespace kernbench
