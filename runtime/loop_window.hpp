// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>

#include "model/pe_cpu.hpp"
#include "model/record/record.hpp"
#include "model/record/statistics.hpp"

namespace kernbench::runtime {

/// Time that engines worked, and that things stood still, within a window of a run.
struct WindowStatistics {
  std::uint64_t start_ps = 0;
  std::uint64_t end_ps = 0;
  std::array<std::uint64_t, arch::kEngines> busy_ps{};
  record::StallStatistics stalls;

  std::uint64_t length_ps() const { return end_ps - start_ps; }
};

/// Sums up what lies within a region, cut at its ends, while the run goes on: no row is kept.
class LoopWindow : public record::OrderedSink {
 public:
  /// `cpu` runs the kernel with the region and must outlive this.
  LoopWindow(const PeCpu& cpu, std::string region) : cpu_(cpu), name_(std::move(region)) {}

  void record(const record::StageRecord& record) override;
  void finish(record::Picoseconds end) override;

  /// After finish(): a command was dispatched in the region.
  bool entered() const { return entered_; }
  const WindowStatistics& statistics() const { return inside_; }

 private:
  const Region* region() const;
  void follow_region();
  static void add(WindowStatistics& sums, const record::StageRecord& record,
                  record::Picoseconds begin, record::Picoseconds end);

  const PeCpu& cpu_;
  std::string name_;
  bool entered_ = false;
  WindowStatistics inside_;
  WindowStatistics after_;  // beyond the end of the region as known so far
};

}  // namespace kernbench::runtime
