// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "tlm_if/systemc.hpp"
#include "tlm_if/transactions.hpp"

namespace kernbench {

/// What an engine or a DMA channel shows of its current stage in a user's own waveform file, under
/// the names and codes of record::Vcd (R10.3). Plain members: SystemC polls them.
struct EngineSignals {
  bool busy = false;
  std::uint64_t cmd = 0;
  std::uint32_t op = 0;
  std::int32_t tile_m = -1, tile_n = -1, tile_k = -1;
  std::uint64_t seq = 0;  ///< counts stages, so that back-to-back ones are told apart

  void begin(const StageTransaction& stage);
  void end() { busy = false; }
  void trace(sc_core::sc_trace_file* file, const std::string& scope) const;
};

struct ChannelSignals : EngineSignals {
  std::uint32_t operand = 0;
  std::uint64_t addr = 0;  ///< in HBM
  std::uint64_t bytes = 0;

  void begin(const StageTransaction& stage, const arch::Slice& hbm_side);
  void trace(sc_core::sc_trace_file* file, const std::string& scope) const;
};

/// PE_IPCQ: the slot that is served. The tile's indices are those of slot, peer and channel.
struct IpcqSignals : EngineSignals {
  std::uint64_t bytes = 0;

  void begin(const StageTransaction& slot);
  void trace(sc_core::sc_trace_file* file, const std::string& scope) const;
};

}  // namespace kernbench
