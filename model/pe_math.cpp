// SPDX-License-Identifier: Apache-2.0
#include "model/pe_math.hpp"

#include "model/arch/numerics.hpp"
#include "model/arch/slice_bytes.hpp"

namespace kernbench {

PeMath::PeMath(const sc_core::sc_module_name& name, PeContext& pe)
    : ServerEngine(name, pe, arch::Engine::math, ComponentOrder::math) {}

arch::Picoseconds PeMath::duration(const arch::StageSpec& stage) const {
  return pe().timing.math(stage.op, stage.elements);
}

void PeMath::begin_compute(StageTransaction& stage) {
  const arch::StageSpec& spec = stage.spec;
  stage.inputs.resize(spec.operands.size());
  for (std::size_t i = 0; i < spec.operands.size(); ++i) {
    arch::read_slice(pe().tcm, spec.operands[i], stage.inputs[i]);
  }
  if (!spec.on_accumulator()) {
    arch::evaluate(spec, stage.inputs, stage.result);
    return;
  }
  // In place, as in PE_GEMM.
  const bool has_other = !spec.operands.empty();
  static const arch::Values kNone;
  arch::evaluate_on_accumulator(spec, has_other ? &spec.operands[0] : nullptr,
                                has_other ? stage.inputs[0] : kNone, *stage.accumulator);
}

void PeMath::end_compute(StageTransaction& stage) {
  const arch::StageSpec& spec = stage.spec;
  if (spec.on_accumulator()) return;
  if (spec.out.addr >= command::kTcmBase) {
    arch::write_slice(pe().tcm, spec.out, stage.result);
  } else {
    arch::pack(spec.out, stage.result, stage.bytes);  // for DMA_WRITE (R5.5)
  }
}

}  // namespace kernbench
