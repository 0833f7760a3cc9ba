// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/server_engine.hpp"

namespace kernbench {

/// PE_MATH: element-wise and reduction ops, on TCM tensors or on PE_GEMM's accumulator.
///
/// Timing: ceil(n_elements / lanes) / op_rate[op] + fixed_cycles; the op has no other effect on
/// time. Not modelled: the log-depth tail of a reduction, TCM bandwidth.
class PeMath : public ServerEngine {
 public:
  PeMath(const sc_core::sc_module_name& name, PeContext& pe);

 private:
  arch::Picoseconds duration(const arch::StageSpec& stage) const override;
  void begin_compute(StageTransaction& stage) override;
  void end_compute(StageTransaction& stage) override;
};

}  // namespace kernbench
