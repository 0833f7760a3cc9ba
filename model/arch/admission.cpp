// SPDX-License-Identifier: Apache-2.0
#include "model/arch/admission.hpp"

#include <algorithm>

namespace kernbench::arch {

bool Admission::conflicts(const command::AccessSet& head) const {
  return std::any_of(inflight_.begin(), inflight_.end(),
                     [&](const Entry& entry) { return head.conflicts_with(*entry.accesses); });
}

bool Admission::may_admit(const command::AccessSet& head, bool composite) {
  if (!draining_ && conflicts(head)) {
    if (config_.rw_policy != RwPolicy::drain_all) return false;
    draining_ = true;
  }
  if (draining_ && !inflight_.empty()) return false;
  return !composite || composites_ < config_.max_inflight_composites;  // R6.10
}

void Admission::admit(std::uint64_t number, const command::AccessSet& accesses, bool composite) {
  draining_ = false;
  inflight_.push_back({number, &accesses, composite});
  if (composite) ++composites_;
}

void Admission::retire(std::uint64_t number) {
  const auto entry = std::find_if(inflight_.begin(), inflight_.end(),
                                  [&](const Entry& e) { return e.number == number; });
  if (entry->composite) --composites_;
  inflight_.erase(entry);
}

std::vector<std::uint64_t> Admission::blockers(const command::AccessSet& head,
                                               bool composite) const {
  const bool slots_taken = composite && composites_ >= config_.max_inflight_composites;
  std::vector<std::uint64_t> numbers;
  for (const Entry& entry : inflight_) {
    if (draining_ || head.conflicts_with(*entry.accesses) || (slots_taken && entry.composite)) {
      numbers.push_back(entry.number);
    }
  }
  return numbers;
}

}  // namespace kernbench::arch
