// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/server_engine.hpp"

namespace kernbench {

/// PE_GEMM: accumulates the product of one (m, k) and one (k, n) tile.
///
/// Timing: arch::gemm_cycles, a block or a systolic-array model.
/// Not modelled: a limit on the number of accumulators (R6.6).
class PeGemm : public ServerEngine {
 public:
  PeGemm(const sc_core::sc_module_name& name, PeContext& pe);

 private:
  arch::Picoseconds duration(const arch::StageSpec& stage) const override;
  void begin_compute(StageTransaction& stage) override;
  void end_compute(StageTransaction& stage) override;
};

}  // namespace kernbench
