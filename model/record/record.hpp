// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/arch/stage.hpp"

namespace kernbench::record {

using Picoseconds = std::uint64_t;

/// One executed stage, stall or wait: the only source of op log, VCD, trace and statistics (R6.13,
/// R10.5). Fields that do not apply are -1 or empty.
struct StageRecord {
  Picoseconds start = 0;
  Picoseconds end = 0;
  Picoseconds done = 0;  ///< DMA: last response; otherwise = end
  std::uint32_t pe = 0;
  arch::Engine engine = arch::Engine::cpu;
  std::uint32_t channel = 0;  ///< of dma_rd, dma_wr
  arch::StageKind stage = arch::StageKind::dispatch;
  std::string_view op;  ///< static text: an op kind, `load`, `store`, `composite`; or empty
  std::int64_t cmd = -1;
  std::int32_t op_index = -1;
  arch::TileIndex tile;      ///< send, recv: (slot of the message, peer, channel)
  std::string_view operand;  ///< static text, or empty
  bool has_addr = false;
  command::Address addr = 0;
  std::uint64_t bytes = 0;
  std::uint64_t elements = 0;
  /// Bit i: the stage belongs to PE_CPU's region number i. For statistics only; outputs and sinks
  /// do not get it.
  std::uint64_t regions = 0;
};

/// The name in op log, VCD and trace: `dma_rd` for channel 0, `dma_rd1` for the next (R10.2).
std::string engine_name(arch::Engine engine, std::uint32_t channel);

/// True for a row that is a stall or a wait: queue_stall, wait, admit_stall.
bool is_stall(arch::StageKind stage);
/// True for a slot of a message between PEs: send, recv.
bool is_message(arch::StageKind stage);
/// The number of the PE to which a slot goes or from which it comes.
std::uint32_t peer_of(const StageRecord& record);

/// A command entered (+1) or left (-1) the set in flight of a PE's scheduler; not an op-log row.
struct InflightChange {
  Picoseconds time = 0;
  std::uint32_t pe = 0;
  std::int32_t change = 0;
};

/// Consumes records in op-log order (R10.2). Called with non-decreasing start times.
class OrderedSink {
 public:
  virtual ~OrderedSink() = default;
  virtual void record(const StageRecord& record) = 0;
  /// Called in time order: after all records that start before `change.time`, and before those that
  /// start later.
  virtual void inflight(const InflightChange& /*change*/) {}
  /// No call follows; `end` is the simulated time of the end of the run.
  virtual void finish(Picoseconds end) = 0;
};

}  // namespace kernbench::record
