// SPDX-License-Identifier: Apache-2.0
#include "model/record/statistics.hpp"

namespace kernbench::record {

bool StallStatistics::add(arch::StageKind stage, Picoseconds duration) {
  switch (stage) {
    case arch::StageKind::queue_stall:
      queue_ps += duration;
      return true;
    case arch::StageKind::admit_stall:
      admit_ps += duration;
      return true;
    case arch::StageKind::wait:
      await_ps += duration;
      return true;
    default:
      return false;
  }
}

StallStatistics& StallStatistics::operator+=(const StallStatistics& other) {
  queue_ps += other.queue_ps;
  admit_ps += other.admit_ps;
  await_ps += other.await_ps;
  return *this;
}

void Statistics::add(const StageRecord& record) {
  if (record.pe >= pes_.size()) pes_.resize(record.pe + std::size_t{1});
  PeStatistics& pe = pes_[record.pe];
  const Picoseconds duration = record.end - record.start;
  ++pe.rows;
  if (record.regions != 0) add_to_regions(pe, record);
  if (pe.stalls.add(record.stage, duration)) return;
  switch (record.stage) {
    case arch::StageKind::dma_read:
      pe.hbm_read_bytes += record.bytes;
      break;
    case arch::StageKind::dma_write:
      pe.hbm_write_bytes += record.bytes;
      break;
    case arch::StageKind::send:
      ++pe.ipcq.sent_slots;
      pe.ipcq.sent_bytes += record.bytes;
      break;
    case arch::StageKind::recv:
      ++pe.ipcq.received_slots;
      pe.ipcq.received_bytes += record.bytes;
      break;
    default:
      break;
  }
  EngineStatistics& engine = pe.engines[static_cast<std::size_t>(record.engine)];
  engine.busy_ps += duration;
  ++engine.stages;
  engine.bytes += record.bytes;
  engine.elements += record.elements;
}

void Statistics::add_to_regions(PeStatistics& pe, const StageRecord& record) {
  const Picoseconds duration = record.end - record.start;
  std::size_t number = 0;
  for (std::uint64_t rest = record.regions; rest != 0; rest >>= 1, ++number) {
    if ((rest & 1) == 0) continue;
    if (number >= pe.regions.size()) pe.regions.resize(number + 1);
    RegionStatistics& region = pe.regions[number];
    if (!region.stalls.add(record.stage, duration)) {
      region.busy_ps[static_cast<std::size_t>(record.engine)] += duration;
    }
    if (record.stage == arch::StageKind::dma_read || record.stage == arch::StageKind::dma_write) {
      region.hbm_bytes += record.bytes;
    }
  }
}

std::uint64_t Statistics::rows() const {
  std::uint64_t rows = 0;
  for (const PeStatistics& pe : pes_) rows += pe.rows;
  return rows;
}

}  // namespace kernbench::record
