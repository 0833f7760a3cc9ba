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

/// Busy times of a PE's engines, and stalls and waits, within a part of its run; for several PEs,
/// summed.
struct WindowStatistics {
  std::uint64_t time_ps = 0;  ///< length of the part
  std::array<std::uint64_t, arch::kEngines> busy_ps{};
  record::StallStatistics stalls;
};

/// Sums up, during the run of a design with one PE, the stages between the first start and the last
/// end of a region, clipped to that interval. Stages of all commands count, so for a region that is
/// entered again also those between its entries.
class LoopWindow : public record::OrderedSink {
 public:
  /// `cpu` runs the kernel with the region, on the recorder's PE, and must outlive this object.
  LoopWindow(const PeCpu& cpu, std::string region) : cpu_(cpu), name_(std::move(region)) {}

  void record(const record::StageRecord& record) override;
  void finish(record::Picoseconds end) override;

  /// After finish(); all zeros if no command was dispatched in the region.
  WindowStatistics statistics() const;

 private:
  /// Rows that are processed together, since looking up the region costs more than a row.
  static constexpr std::size_t kRowsAtOnce = 256;

  void take_rows();
  void follow_region();
  static void add(WindowStatistics& sums, const record::StageRecord& record,
                  record::Picoseconds begin, record::Picoseconds end);

  const PeCpu& cpu_;
  const std::string name_;
  bool entered_ = false;
  record::Picoseconds start_ps_ = 0, end_ps_ = 0;  // of the region as known so far
  std::vector<record::StageRecord> rows_;          // not yet in the sums
  WindowStatistics inside_;
  WindowStatistics after_;  // beyond end_ps_
};

}  // namespace kernbench::runtime
