// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "model/arch/config.hpp"
#include "tlm_if/command/access_set.hpp"

namespace kernbench::arch {

/// Decides when the head of the scheduler's queue may enter flight (contract 7). Knows byte ranges
/// only. The caller judges strictly in order, after all completions of an instant.
class Admission {
 public:
  explicit Admission(const SchedulerConfig& config) : config_(config) {}

  /// True if the head may be admitted now. Under drain_all a head that once conflicted waits until
  /// nothing is in flight (R7.2).
  bool may_admit(const command::AccessSet& head, bool composite);
  /// The head enters flight; `accesses` stays valid until retire().
  void admit(std::uint64_t number, const command::AccessSet& accesses, bool composite);
  void retire(std::uint64_t number);

  std::size_t inflight() const { return inflight_.size(); }
  /// Numbers of the commands in flight that keep `head` waiting, for reports.
  std::vector<std::uint64_t> blockers(const command::AccessSet& head, bool composite) const;

 private:
  struct Entry {
    std::uint64_t number;
    const command::AccessSet* accesses;
    bool composite;
  };
  bool conflicts(const command::AccessSet& head) const;

  SchedulerConfig config_;
  std::vector<Entry> inflight_;  // in admission order
  std::uint32_t composites_ = 0;
  bool draining_ = false;
};

}  // namespace kernbench::arch
