// SPDX-License-Identifier: Apache-2.0
#include "runtime/loop_window.hpp"

#include <algorithm>

namespace kernbench::runtime {

// The end of a region moves to the present or beyond when one of its commands starts or is done.
// Rows that have been handed over by then lie in the past, so all that was beyond the old end is
// within the new one.
void LoopWindow::follow_region() {
  record::Picoseconds start = 0, end = 0;
  bool entered = false;
  for (const PeCpu* cpu : cpus_) {
    for (const Region& region : cpu->regions()) {
      if (region.name != name_ || !region.entered) continue;
      start = entered ? std::min(start, region.start_ps) : region.start_ps;
      end = std::max(end, region.end_ps);
      entered = true;
    }
  }
  if (!entered) return;
  entered_ = true;
  inside_.start_ps = start;
  if (end == inside_.end_ps) return;
  inside_.end_ps = end;
  for (std::size_t i = 0; i < inside_.busy_ps.size(); ++i) {
    inside_.busy_ps[i] += after_.busy_ps[i];
  }
  inside_.stalls.queue_ps += after_.stalls.queue_ps;
  inside_.stalls.admit_ps += after_.stalls.admit_ps;
  inside_.stalls.await_ps += after_.stalls.await_ps;
  after_ = {};
}

void LoopWindow::add(WindowStatistics& sums, const record::StageRecord& record,
                     record::Picoseconds begin, record::Picoseconds end) {
  const record::Picoseconds from = std::max(record.start, begin);
  const record::Picoseconds to = std::min(record.end, end);
  if (from >= to) return;
  switch (record.stage) {
    case arch::StageKind::queue_stall:
      sums.stalls.queue_ps += to - from;
      return;
    case arch::StageKind::admit_stall:
      sums.stalls.admit_ps += to - from;
      return;
    case arch::StageKind::wait:
      sums.stalls.await_ps += to - from;
      return;
    default:
      sums.busy_ps[static_cast<std::size_t>(record.engine)] += to - from;
  }
}

void LoopWindow::record(const record::StageRecord& record) {
  rows_.push_back(record);
  if (rows_.size() == kRowsAtOnce) take_rows();
}

// All rows lie in the past: only the end of the region that is known now decides.
void LoopWindow::take_rows() {
  follow_region();
  if (entered_) {  // else what is over by now ended before the region began
    for (const record::StageRecord& row : rows_) {
      add(inside_, row, inside_.start_ps, inside_.end_ps);
      add(after_, row, inside_.end_ps, row.end);
    }
  }
  rows_.clear();
}

void LoopWindow::finish(record::Picoseconds) { take_rows(); }

}  // namespace kernbench::runtime
