// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "model/pe_cpu.hpp"
#include "model/record/record.hpp"
#include "model/record/statistics.hpp"

namespace kernbench::runtime {

/// Time that engines worked, and that things stood still, within a window of a run; of several PEs,
/// summed.
struct WindowStatistics {
  std::uint64_t start_ps = 0;
  std::uint64_t end_ps = 0;
  std::array<std::uint64_t, arch::kEngines> busy_ps{};
  record::StallStatistics stalls;

  std::uint64_t length_ps() const { return end_ps - start_ps; }
};

/// Sums up what lies within a region, cut at its ends, while the run goes on. With several PEs the
/// region reaches from the first start to the last end on any of them.
class LoopWindow : public record::OrderedSink {
 public:
  /// `cpus` run the kernels with the region, on the PEs of the recorder, and must outlive this.
  LoopWindow(std::vector<const PeCpu*> cpus, std::string region)
      : cpus_(std::move(cpus)), name_(std::move(region)) {}

  void record(const record::StageRecord& record) override;
  void finish(record::Picoseconds end) override;

  /// After finish(): a command was dispatched in the region.
  bool entered() const { return entered_; }
  const WindowStatistics& statistics() const { return inside_; }

 private:
  /// Rows that are looked at together: to ask every PE for its region costs more than a row.
  static constexpr std::size_t kRowsAtOnce = 256;

  void take_rows();
  void follow_region();
  static void add(WindowStatistics& sums, const record::StageRecord& record,
                  record::Picoseconds begin, record::Picoseconds end);

  const std::vector<const PeCpu*> cpus_;
  const std::string name_;
  bool entered_ = false;
  std::vector<record::StageRecord> rows_;  // not yet in the sums
  WindowStatistics inside_;
  WindowStatistics after_;  // beyond the end of the region as known so far
};

}  // namespace kernbench::runtime
