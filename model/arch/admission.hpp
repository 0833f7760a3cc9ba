// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "model/arch/config.hpp"
#include "tlm_if/command/access_set.hpp"

namespace kernbench::arch {

/// What admission knows about a command. Both must stay valid while the command is in flight.
struct Claim {
  const command::AccessSet* accesses = nullptr;
  /// The rw handles of a composite; null for a simple command.
  const std::vector<command::TensorHandle>* rw_handles = nullptr;

  bool composite() const { return rw_handles != nullptr; }
};

/// Decides when the head of the scheduler's queue may enter flight (contract 7). It uses only byte
/// ranges, or with rw_match handle_id the rw handles of composites (R7.3). The caller must ask
/// strictly in order, after all completions of an instant.
class Admission {
 public:
  explicit Admission(const SchedulerConfig& config) : config_(config) {}

  /// True if the head may be admitted now. Under drain_all a head that has conflicted waits until
  /// nothing is in flight (R7.2).
  bool may_admit(const Claim& head);
  /// The head enters flight.
  void admit(std::uint64_t number, const Claim& head);
  void retire(std::uint64_t number);

  std::size_t inflight() const { return inflight_.size(); }
  /// Numbers of the commands in flight that keep `head` waiting, for reports.
  std::vector<std::uint64_t> blockers(const Claim& head) const;

 private:
  struct Entry {
    std::uint64_t number;
    Claim claim;
  };
  bool conflict(const Claim& head, const Claim& earlier) const;
  bool conflicts(const Claim& head) const;

  SchedulerConfig config_;
  std::vector<Entry> inflight_;  // in admission order
  std::uint32_t composites_ = 0;
  bool draining_ = false;
};

}  // namespace kernbench::arch
