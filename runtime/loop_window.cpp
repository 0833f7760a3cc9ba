// SPDX-License-Identifier: Apache-2.0
#include "runtime/loop_window.hpp"

#include <algorithm>

namespace kernbench::runtime {

// The end of a region moves to the present time or later when one of its commands starts or is
// done. Rows that have been handed over by then are in the past, so everything after the old end is
// before the new end.
void LoopWindow::follow_region() {
  const std::vector<Region>& regions = cpu_.regions();
  const auto region = std::find_if(regions.begin(), regions.end(),
                                   [&](const Region& known) { return known.name == name_; });
  if (region == regions.end() || !region->entered) return;
  entered_ = true;
  start_ps_ = region->start_ps;
  if (region->end_ps == end_ps_) return;
  end_ps_ = region->end_ps;
  for (std::size_t i = 0; i < inside_.busy_ps.size(); ++i) {
    inside_.busy_ps[i] += after_.busy_ps[i];
  }
  inside_.stalls += after_.stalls;
  after_ = {};
}

void LoopWindow::add(WindowStatistics& sums, const record::StageRecord& record,
                     record::Picoseconds begin, record::Picoseconds end) {
  const record::Picoseconds from = std::max(record.start, begin);
  const record::Picoseconds to = std::min(record.end, end);
  if (from >= to || sums.stalls.add(record.stage, to - from)) return;
  sums.busy_ps[static_cast<std::size_t>(record.engine)] += to - from;
}

void LoopWindow::record(const record::StageRecord& record) {
  rows_.push_back(record);
  if (rows_.size() == kRowsAtOnce) take_rows();
}

// All rows are in the past, so only the present end of the region matters.
void LoopWindow::take_rows() {
  follow_region();
  if (entered_) {  // otherwise all ended rows ended before the region began
    for (const record::StageRecord& row : rows_) {
      add(inside_, row, start_ps_, end_ps_);
      add(after_, row, end_ps_, row.end);
    }
  }
  rows_.clear();
}

void LoopWindow::finish(record::Picoseconds) { take_rows(); }

WindowStatistics LoopWindow::statistics() const {
  WindowStatistics statistics = inside_;
  statistics.time_ps = end_ps_ - start_ps_;
  return statistics;
}

}  // namespace kernbench::runtime
