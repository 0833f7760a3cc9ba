// SPDX-License-Identifier: Apache-2.0
#include "model/pe_tcm.hpp"

#include "model/arch/slice_bytes.hpp"

namespace kernbench {

PeTcm::PeTcm(const sc_core::sc_module_name& name, PeContext& pe)
    : ServerEngine(name, pe, arch::Engine::tcm, ComponentOrder::tcm) {}

arch::Picoseconds PeTcm::duration(const arch::StageSpec& stage) const {
  return pe().timing.tcm(stage.bytes);
}

void PeTcm::begin_compute(StageTransaction& stage) {
  if (stage.spec.kind == arch::StageKind::fetch) {
    arch::read_slice(pe().tcm, stage.spec.operands[0], stage.operands->a);
    arch::read_slice(pe().tcm, stage.spec.operands[1], stage.operands->b);
  } else {
    stage.result = *stage.accumulator;
  }
}

void PeTcm::end_compute(StageTransaction& stage) {
  if (stage.spec.kind == arch::StageKind::fetch) return;
  if (stage.spec.out.addr >= command::kTcmBase) {
    arch::write_slice(pe().tcm, stage.spec.out, stage.result);
  } else {
    arch::pack(stage.spec.out, stage.result, stage.bytes);  // for DMA_WRITE
  }
}

}  // namespace kernbench
