// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "model/arch/config.hpp"
#include "model/arch/storage.hpp"
#include "model/arch/timing.hpp"
#include "model/record/recorder.hpp"
#include "model/settle_hub.hpp"
#include "tlm_if/systemc.hpp"
#include "tlm_if/transactions.hpp"

namespace kernbench {

/// What the modules of one PE share. Owned by Pe.
struct PeContext {
  PeContext(const arch::PeConfig& pe_config, std::uint32_t pe_index)
      : config(pe_config),
        timing(pe_config),
        index(pe_index),
        hub(SettleHub::of_simulation()),
        tcm({command::kTcmBase, command::kTcmBase + pe_config.tcm.bytes}) {}

  const arch::PeConfig config;
  const arch::PeTiming timing;
  const std::uint32_t index;
  const TimeBase time;
  const std::shared_ptr<SettleHub> hub;
  arch::Storage tcm;  ///< used in data mode only

  /// A stage is over: its row, from the times that its transaction carries (R6.13).
  void record(const StageTransaction& stage, arch::Engine engine, std::uint32_t channel = 0);

  // Set before the simulation starts.
  record::Recorder* recorder = nullptr;  ///< none: nothing is recorded
  bool data = false;
};

/// Order of the components of a PE within a settle phase.
enum class ComponentOrder : std::uint32_t { scheduler, cpu, gemm, math, tcm, dma };

}  // namespace kernbench
