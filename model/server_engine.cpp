// SPDX-License-Identifier: Apache-2.0
#include "model/server_engine.hpp"

namespace kernbench {

ServerEngine::ServerEngine(const sc_core::sc_module_name& name, PeContext& pe, arch::Engine engine,
                           ComponentOrder order)
    : sc_module(name),
      Settling(pe.hub, SettlePhase::grant, pe.index, static_cast<std::uint32_t>(order)),
      pe_(pe),
      engine_(engine) {
  KERNBENCH_HAS_PROCESS(ServerEngine);
  SC_METHOD(complete);
  sensitive << complete_event_;
  dont_initialize();
  stage_in.bind(*this);
}

tlm::tlm_sync_enum ServerEngine::nb_transport_fw(StageTransaction& stage, tlm::tlm_phase&,
                                                 sc_core::sc_time&) {
  stage.arrival = pe_.time.now();
  queue_.push(stage);
  if (current_ == nullptr) touch();
  return tlm::TLM_ACCEPTED;
}

void ServerEngine::settle() {
  if (current_ != nullptr || queue_.empty()) return;
  StageTransaction& stage = queue_.pop();
  current_ = &stage;
  const arch::Picoseconds time = duration(stage.spec) + pe_.extra_delay();
  stage.start = pe_.time.now();
  stage.end = stage.done = stage.start + time;
  pe_.begin(stage);
  signals_.begin(stage);
  if (stage.compute) begin_compute(stage);
  send_backward(stage_in, stage, tlm::END_REQ);
  complete_event_.notify(pe_.time.to_sc_time(time));
}

void ServerEngine::complete() {
  in_turn([this] {
    StageTransaction& stage = *current_;
    current_ = nullptr;
    signals_.end();
    if (stage.compute) end_compute(stage);
    pe_.record(stage, engine_);
    if (!queue_.empty()) touch();
    send_backward(stage_in, stage, tlm::BEGIN_RESP);
  });
}

void ServerEngine::trace(sc_core::sc_trace_file* file) const { signals_.trace(file, name()); }

}  // namespace kernbench
