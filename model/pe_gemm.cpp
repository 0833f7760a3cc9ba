// SPDX-License-Identifier: Apache-2.0
#include "model/pe_gemm.hpp"

#include "model/arch/numerics.hpp"

namespace kernbench {

PeGemm::PeGemm(const sc_core::sc_module_name& name, PeContext& pe)
    : ServerEngine(name, pe, arch::Engine::gemm, ComponentOrder::gemm) {}

arch::Picoseconds PeGemm::duration(const arch::StageSpec& stage) const {
  return pe().timing.gemm(static_cast<std::uint64_t>(stage.m), static_cast<std::uint64_t>(stage.k),
                          static_cast<std::uint64_t>(stage.n));
}

// Computed in place at the start, since the scheduler lets no other stage see the accumulator
// before the end.
void PeGemm::begin_compute(StageTransaction& stage) {
  arch::multiply_accumulate(stage.spec.m, stage.spec.k, stage.spec.n, stage.operands->a,
                            stage.operands->b, *stage.accumulator);
}

void PeGemm::end_compute(StageTransaction&) {}

}  // namespace kernbench
