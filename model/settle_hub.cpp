// SPDX-License-Identifier: Apache-2.0
#include "model/settle_hub.hpp"

#include <algorithm>
#include <utility>

namespace kernbench {
namespace {

// Far above what chains of zero-delay calls need, and below what looks like a hang.
constexpr std::uint32_t kMaxRounds = 100'000;

// Through the object hierarchy, which belongs to the simulation, so that no global variable is
// needed (R1.5).
SettleHub* find_hub(const std::vector<sc_core::sc_object*>& objects) {
  for (sc_core::sc_object* object : objects) {
    if (auto* hub = dynamic_cast<SettleHub*>(object)) return hub;
    if (SettleHub* hub = find_hub(object->get_child_objects())) return hub;
  }
  return nullptr;
}

}  // namespace

std::shared_ptr<SettleHub> SettleHub::of_simulation() {
  if (SettleHub* hub = find_hub(sc_core::sc_get_top_level_objects())) {
    return hub->shared_from_this();
  }
  return std::make_shared<SettleHub>("settle_hub");
}

SettleHub::SettleHub(const sc_core::sc_module_name& name) : sc_module(name) {
  KERNBENCH_HAS_PROCESS(SettleHub);
  SC_METHOD(run);
  sensitive << run_event_;
  dont_initialize();
}

void SettleHub::touch(Settling& settling) {
  settling.touched_ = true;
  link(settling);
  if (!in_turn_ && !running_) arm();
}

void SettleHub::link(Settling& settling) {
  const auto phase = static_cast<std::size_t>(settling.phase_);
  settling.next_touched_ = std::exchange(touched_[phase], &settling);
  touched_phases_ |= 1U << phase;
}

void SettleHub::arm() {
  if (armed_) return;
  armed_ = true;
  run_event_.notify();  // at the end of this evaluation phase
}

void SettleHub::end_turn() {
  in_turn_ = false;
  if (touched_phases_ == 0) return;
  if (sc_core::sc_pending_activity_at_current_time()) {
    arm();
  } else {
    settle_all();
  }
}

void SettleHub::run() {
  armed_ = false;
  const std::uint64_t instant = sc_core::sc_time_stamp().value();
  rounds_ = instant == instant_ ? rounds_ + 1 : 0;
  instant_ = instant;
  if (rounds_ > kMaxRounds) {
    SC_REPORT_ERROR("/kernbench/settle_hub/livelock",
                    ("activity at " + sc_core::sc_time_stamp().to_string() +
                     " does not end: components answer each other without letting time pass")
                        .c_str());
    return;
  }
  if (sc_core::sc_pending_activity_at_current_time()) {
    armed_ = true;
    run_event_.notify(sc_core::SC_ZERO_TIME);
  } else {
    settle_all();
  }
}

void SettleHub::settle_all() {
  running_ = true;
  pass_ended_ = false;
  const auto settle = [](Settling& settling) {
    settling.touched_ = false;
    settling.settle();
  };
  // In ascending order: a phase that is touched again after its turn waits for the next pass.
  std::uint32_t ahead = ~0U;
  while ((touched_phases_ & ahead) != 0 && !pass_ended_) {
    const auto phase = static_cast<std::size_t>(__builtin_ctz(touched_phases_ & ahead));
    ahead = ~0U << phase;
    touched_phases_ &= ~(1U << phase);
    Settling* touched = std::exchange(touched_[phase], nullptr);
    if (touched->next_touched_ == nullptr) {  // by far the most frequent
      settle(*touched);
      continue;
    }
    batch_.clear();
    for (; touched != nullptr; touched = touched->next_touched_) batch_.push_back(touched);
    std::sort(batch_.begin(), batch_.end(),
              [](const Settling* x, const Settling* y) { return x->order_ < y->order_; });
    auto next = batch_.begin();
    while (next != batch_.end() && !pass_ended_) settle(**next++);
    while (next != batch_.end()) link(**next++);  // for the next pass
  }
  running_ = false;
  // An answer of a memory within this pass may have touched an earlier phase again.
  if (touched_phases_ != 0) {
    armed_ = true;
    run_event_.notify(sc_core::SC_ZERO_TIME);
  }
}

}  // namespace kernbench
