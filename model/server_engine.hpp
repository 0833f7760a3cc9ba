// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/arrival_queue.hpp"
#include "model/engine_signals.hpp"
#include "model/pe_context.hpp"
#include "tlm_if/protocols.hpp"

namespace kernbench {

/// An engine that serves one stage at a time in order of arrival: PE_TCM, PE_GEMM, PE_MATH. It is
/// an SC_METHOD state machine. A derived engine defines the duration of a stage and, in data mode,
/// its computation.
class ServerEngine : public sc_core::sc_module,
                     protected Settling,
                     protected ForwardInterface<StageProtocol> {
 public:
  TargetSocket<StageProtocol> stage_in{"stage_in"};

  bool serving() const { return current_ != nullptr; }

  /// Registers EngineSignals in a user's waveform file; polled by SystemC at every step.
  void trace(sc_core::sc_trace_file* file) const override;

 protected:
  ServerEngine(const sc_core::sc_module_name& name, PeContext& pe, arch::Engine engine,
               ComponentOrder order);

  PeContext& pe() const { return pe_; }

 private:
  virtual arch::Picoseconds duration(const arch::StageSpec& stage) const = 0;
  /// Inputs are sampled when the stage starts (R8.1).
  virtual void begin_compute(StageTransaction& stage) = 0;
  /// Outputs become visible when the stage ends.
  virtual void end_compute(StageTransaction& stage) = 0;

  tlm::tlm_sync_enum nb_transport_fw(StageTransaction& stage, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay) override;
  void settle() override;
  void complete();

  PeContext& pe_;
  const arch::Engine engine_;
  sc_core::sc_event complete_event_;
  ArrivalQueue queue_;
  StageTransaction* current_ = nullptr;
  EngineSignals signals_;
};

}  // namespace kernbench
