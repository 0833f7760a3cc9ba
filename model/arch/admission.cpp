// SPDX-License-Identifier: Apache-2.0
#include "model/arch/admission.hpp"

#include <algorithm>

namespace kernbench::arch {
namespace {

bool share_a_handle(const Claim& x, const Claim& y) {
  if (!x.composite() || !y.composite()) return false;
  return std::any_of(x.rw_handles->begin(), x.rw_handles->end(), [&](const auto& handle) {
    return std::any_of(y.rw_handles->begin(), y.rw_handles->end(),
                       [&](const auto& other) { return other.id == handle.id; });
  });
}

}  // namespace

bool Admission::conflict(const Claim& head, const Claim& earlier) const {
  return config_.rw_match == RwMatch::range ? head.accesses->conflicts_with(*earlier.accesses)
                                            : share_a_handle(head, earlier);
}

bool Admission::conflicts(const Claim& head) const {
  return std::any_of(inflight_.begin(), inflight_.end(),
                     [&](const Entry& entry) { return conflict(head, entry.claim); });
}

bool Admission::may_admit(const Claim& head) {
  if (!draining_ && conflicts(head)) {
    if (config_.rw_policy != RwPolicy::drain_all) return false;
    draining_ = true;
  }
  if (draining_ && !inflight_.empty()) return false;
  return !head.composite() || composites_ < config_.max_inflight_composites;  // R6.10
}

void Admission::admit(std::uint64_t number, const Claim& head) {
  draining_ = false;
  inflight_.push_back({number, head});
  if (head.composite()) ++composites_;
}

void Admission::retire(std::uint64_t number) {
  const auto entry = std::find_if(inflight_.begin(), inflight_.end(),
                                  [&](const Entry& e) { return e.number == number; });
  if (entry->claim.composite()) --composites_;
  inflight_.erase(entry);
}

std::vector<std::uint64_t> Admission::blockers(const Claim& head) const {
  const bool slots_taken = head.composite() && composites_ >= config_.max_inflight_composites;
  std::vector<std::uint64_t> numbers;
  for (const Entry& entry : inflight_) {
    if (draining_ || conflict(head, entry.claim) || (slots_taken && entry.claim.composite())) {
      numbers.push_back(entry.number);
    }
  }
  return numbers;
}

}  // namespace kernbench::arch
