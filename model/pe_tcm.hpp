// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/server_engine.hpp"

namespace kernbench {

/// PE_TCM (tightly coupled memory): one server for FETCH (TCM to PE_GEMM's operand registers) and
/// STORE (accumulator to TCM, rounded to the output's dtype), R6.6.
///
/// Timing: ceil(bytes / bytes_per_cycle) cycles; FETCH moves the A and the B tile. Not modelled:
/// banks and bank conflicts, the TCM traffic of MATH and DMA.
class PeTcm : public ServerEngine {
 public:
  PeTcm(const sc_core::sc_module_name& name, PeContext& pe);

 private:
  arch::Picoseconds duration(const arch::StageSpec& stage) const override;
  void begin_compute(StageTransaction& stage) override;
  void end_compute(StageTransaction& stage) override;
};

}  // namespace kernbench
