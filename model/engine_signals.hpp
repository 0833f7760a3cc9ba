// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "tlm_if/systemc.hpp"
#include "tlm_if/transactions.hpp"

namespace kernbench {

/// The signals of an engine's or a DMA channel's current stage for a user's own waveform file, with
/// the names and codes of record::Vcd (R10.3). They are plain members, which SystemC polls.
struct EngineSignals {
  bool busy = false;
  std::uint64_t cmd = 0;
  std::uint32_t op = 0;
  std::int32_t tile_m = -1, tile_n = -1, tile_k = -1;
  std::uint64_t seq = 0;  ///< counts stages, which separates back-to-back stages

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

/// The slot that PE_IPCQ serves. The tile indices hold slot, peer and channel.
struct IpcqSignals : EngineSignals {
  std::uint64_t bytes = 0;

  void begin(const StageTransaction& slot);
  void trace(sc_core::sc_trace_file* file, const std::string& scope) const;
};

}  // namespace kernbench
