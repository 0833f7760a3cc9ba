// SPDX-License-Identifier: Apache-2.0
#include "tlm_if/systemc.hpp"

namespace kernbench {

TimeBase::TimeBase() {
  const sc_core::sc_time ps(1, sc_core::SC_PS);
  ticks_per_ps_ = ps.value();
  if (ticks_per_ps_ == 0) {
    ticks_per_ps_ = 1;  // should the report not end the program
    SC_REPORT_ERROR("/kernbench/time/resolution",
                    ("the time resolution " + sc_core::sc_get_time_resolution().to_string() +
                     " is coarser than 1 ps; set 1 ps or finer before the first module")
                        .c_str());
  }
}

}  // namespace kernbench
