// SPDX-License-Identifier: Apache-2.0
#include "runtime/loop_window.hpp"

#include <algorithm>

namespace kernbench::runtime {

const Region* LoopWindow::region() const {
  for (const Region& region : cpu_.regions()) {
    if (region.name == name_) return &region;
  }
  return nullptr;
}

// The end of a region moves to the present when one of its commands is done. Rows that have been
// handed over by then lie in the past, so all that was beyond the old end is within the new one.
void LoopWindow::follow_region() {
  const Region* known = region();
  if (known == nullptr || !known->entered) return;
  entered_ = true;
  inside_.start_ps = known->start_ps;
  if (known->end_ps == inside_.end_ps) return;
  inside_.end_ps = known->end_ps;
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
  follow_region();
  if (!entered_) return;  // what is over by now ended before the region began
  add(inside_, record, inside_.start_ps, inside_.end_ps);
  add(after_, record, inside_.end_ps, record.end);
}

void LoopWindow::finish(record::Picoseconds) { follow_region(); }

}  // namespace kernbench::runtime
