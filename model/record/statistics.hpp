// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "model/record/record.hpp"

namespace kernbench::record {

/// Sums over the stages of one engine of one PE; dma_rd and dma_wr sum their channels.
struct EngineStatistics {
  Picoseconds busy_ps = 0;   ///< cpu: dispatch and cpu_overhead; scheduler: 0
  std::uint64_t stages = 0;  ///< rows that are work, without stalls and waits
  std::uint64_t bytes = 0;
  std::uint64_t elements = 0;
};

/// Time spent in stalls and waits, by cause (contract 12).
struct StallStatistics {
  Picoseconds queue_ps = 0;  ///< PE_CPU waits at a full scheduler queue
  Picoseconds admit_ps = 0;  ///< the head of the queue waits for admission
  Picoseconds await_ps = 0;  ///< PE_CPU in tl.wait and lazy awaits

  /// Counts a row of that kind; false if it is not a stall or a wait.
  bool add(arch::StageKind stage, Picoseconds duration);
  StallStatistics& operator+=(const StallStatistics& other);
};

/// Slots of messages between PEs. Their time is that of engine ipcq.
struct IpcqStatistics {
  std::uint64_t sent_slots = 0;
  std::uint64_t sent_bytes = 0;
  std::uint64_t received_slots = 0;
  std::uint64_t received_bytes = 0;
};

/// Work for the commands of one region, on any engine, and their stalls and waits.
struct RegionStatistics {
  std::array<Picoseconds, arch::kEngines> busy_ps{};
  StallStatistics stalls;
  std::uint64_t hbm_bytes = 0;
};

struct PeStatistics {
  std::array<EngineStatistics, arch::kEngines> engines;
  StallStatistics stalls;
  std::uint64_t hbm_read_bytes = 0;
  std::uint64_t hbm_write_bytes = 0;
  IpcqStatistics ipcq;
  std::vector<RegionStatistics> regions;  ///< by their number in PE_CPU
  std::uint64_t rows = 0;                 ///< op-log rows, stalls and waits included
};

/// Counters that are kept during the run. They need no order of rows and no growing memory.
class Statistics {
 public:
  void add(const StageRecord& record);
  /// By PE index; a PE without a record has zeros.
  const std::vector<PeStatistics>& pes() const { return pes_; }
  std::uint64_t rows() const;

 private:
  static void add_to_regions(PeStatistics& pe, const StageRecord& record);

  std::vector<PeStatistics> pes_;
};

}  // namespace kernbench::record
