// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "model/arch/config.hpp"
#include "model/arch/storage.hpp"
#include "model/arch/timing.hpp"
#include "model/record/hazards.hpp"
#include "model/record/recorder.hpp"
#include "model/settle_hub.hpp"
#include "tlm_if/systemc.hpp"
#include "tlm_if/transactions.hpp"

namespace kernbench {

class PeWatchdog;

/// Hooks for tests of the model; not features or parameters of a PE.
struct TestHooks {
  /// Extra time in ps for each dispatch, DMA setup, slot of PE_IPCQ, and stage of PE_TCM, PE_GEMM
  /// and PE_MATH; called at its start. Tests use it to show that results do not depend on times.
  /// Empty: 0.
  std::function<std::uint64_t()> extra_delay = {};
  /// The value of TCM bytes that nobody has written: 0xff makes NaNs in every dtype.
  std::uint8_t unwritten_tcm = 0;
};

/// An error during execution, which no check of the command itself can find.
struct PeFault {
  enum class Kind : std::uint8_t {
    memory,        ///< the memory has answered with an error
    address,       ///< it has answered that nothing is there
    message_size,  ///< the message that has arrived differs in size from the receive
  };
  std::uint64_t command = 0;     ///< its number
  command::Address address = 0;  ///< in HBM; 0 with message_size
  Kind kind = Kind::memory;
  std::string reason;  ///< one line of text
};
/// Handles a fault instead of reporting it. Returns false if the fault belongs to another launch.
using FaultHandler = std::function<bool(const PeFault& fault)>;

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

  /// A stage starts, at the time that its transaction carries (R6.13).
  void begin(StageTransaction& stage) {
    begin_row(stage);
    begin_access(stage);
  }
  /// The stage has ended.
  void record(const StageTransaction& stage, arch::Engine engine, std::uint32_t channel = 0) {
    end_access(stage);
    end_row(stage, engine, channel);
  }

  // begin() and record() in two parts for PE_IPCQ, which has one row per slot and one access per
  // message.
  void begin_row(StageTransaction& stage) {
    progress();
    if (recorder != nullptr) stage.ticket = recorder->begin(stage.start);
  }
  void end_row(const StageTransaction& stage, arch::Engine engine, std::uint32_t channel = 0);
  /// A row of PE_CPU or PE_SCHEDULER, which no engine's stage is, ends now. There is none if that
  /// is when it started (R10.2). To be called with a recorder only.
  void end_row(std::uint64_t ticket, record::StageRecord& row) const;
  void begin_access(StageTransaction& stage) {
    if (hazards != nullptr) check_begin(stage);
  }
  void end_access(const StageTransaction& stage) {
    if (hazards != nullptr) hazards->end(stage.hazard_ticket, stage.done);
  }

  // Set before the simulation starts.
  record::Recorder* recorder = nullptr;      ///< none: nothing is recorded
  record::HazardChecker* hazards = nullptr;  ///< none: nothing is checked
  bool data = false;
  void set_test_hooks(TestHooks hooks) {
    tcm.set_unwritten(hooks.unwritten_tcm);
    extra_delay_ = std::move(hooks.extra_delay);
  }
  /// A stage or a dispatch has begun or ended, or a burst has been accepted or answered.
  void progress() {
    if (watchdog != nullptr) last_progress = time.now();
  }
  /// False: the caller must report the fault.
  bool takes(const PeFault& fault) const { return fault_handler && fault_handler(fault); }
  FaultHandler fault_handler;       ///< none: all faults are reported
  PeWatchdog* watchdog = nullptr;   ///< none: pe.watchdog_ns is 0
  std::uint64_t last_progress = 0;  ///< ps; with a watchdog

  /// In ps; 0 without test hooks.
  std::uint64_t extra_delay() const { return extra_delay_ ? extra_delay_() : 0; }

 private:
  void check_begin(StageTransaction& stage);

  std::function<std::uint64_t()> extra_delay_;
};

/// Order of the components of a PE within a settle phase.
enum class ComponentOrder : std::uint32_t { scheduler, cpu, gemm, math, tcm, dma, ipcq, host_port };

}  // namespace kernbench
