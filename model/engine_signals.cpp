// SPDX-License-Identifier: Apache-2.0
#include "model/engine_signals.hpp"

#include "model/record/codes.hpp"

namespace kernbench {

void EngineSignals::begin(const StageTransaction& stage) {
  busy = true;
  cmd = stage.command;
  op = record::op_code(stage.spec.op);
  tile_m = stage.spec.tile.m;
  tile_n = stage.spec.tile.n;
  tile_k = stage.spec.tile.k;
  ++seq;
}

void EngineSignals::trace(sc_core::sc_trace_file* file, const std::string& scope) const {
  sc_core::sc_trace(file, busy, scope + ".busy");
  sc_core::sc_trace(file, cmd, scope + ".cmd");
  sc_core::sc_trace(file, op, scope + ".op");
  sc_core::sc_trace(file, tile_m, scope + ".tile.m");
  sc_core::sc_trace(file, tile_n, scope + ".tile.n");
  sc_core::sc_trace(file, tile_k, scope + ".tile.k");
  sc_core::sc_trace(file, seq, scope + ".seq");
}

void ChannelSignals::begin(const StageTransaction& stage, const arch::Slice& hbm_side) {
  EngineSignals::begin(stage);
  if (stage.spec.op_index < 0) {  // a simple command
    op = record::op_code(stage.spec.kind == arch::StageKind::dma_read ? record::CommandCode::load
                                                                      : record::CommandCode::store);
  }
  operand = record::operand_code(hbm_side.name);
  addr = hbm_side.addr;
  bytes = stage.spec.bytes;
}

void ChannelSignals::trace(sc_core::sc_trace_file* file, const std::string& scope) const {
  EngineSignals::trace(file, scope);
  sc_core::sc_trace(file, operand, scope + ".operand");
  sc_core::sc_trace(file, addr, scope + ".addr");
  sc_core::sc_trace(file, bytes, scope + ".bytes");
}

void IpcqSignals::begin(const StageTransaction& slot) {
  EngineSignals::begin(slot);
  op = record::op_code(slot.spec.kind == arch::StageKind::send ? record::CommandCode::send
                                                               : record::CommandCode::recv);
  bytes = slot.spec.bytes;
}

void IpcqSignals::trace(sc_core::sc_trace_file* file, const std::string& scope) const {
  sc_core::sc_trace(file, busy, scope + ".busy");
  sc_core::sc_trace(file, cmd, scope + ".cmd");
  sc_core::sc_trace(file, op, scope + ".op");
  sc_core::sc_trace(file, tile_m, scope + ".slot");
  sc_core::sc_trace(file, tile_n, scope + ".peer");
  sc_core::sc_trace(file, tile_k, scope + ".channel");
  sc_core::sc_trace(file, bytes, scope + ".bytes");
  sc_core::sc_trace(file, seq, scope + ".seq");
}

}  // namespace kernbench
