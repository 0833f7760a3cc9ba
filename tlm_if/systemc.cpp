// SPDX-License-Identifier: Apache-2.0
#include "tlm_if/systemc.hpp"

#include <string>

namespace kernbench {

TimeBase::TimeBase() {
  const sc_core::sc_time ps(1, sc_core::SC_PS);
  ticks_per_ps_ = ps.value();
  if (ticks_per_ps_ == 0) {
    ticks_per_ps_ = 1;  // in case the report does not end the program
    SC_REPORT_ERROR("/kernbench/time/resolution",
                    ("the time resolution " + sc_core::sc_get_time_resolution().to_string() +
                     " is coarser than 1 ps; set 1 ps or finer before the first module")
                        .c_str());
  }
  horizon_ps_ = to_ps(sc_core::sc_max_time());
}

sc_core::sc_time TimeBase::beyond_horizon(std::uint64_t ps) const {
  SC_REPORT_ERROR("/kernbench/time/horizon",
                  ("a duration of " + std::to_string(ps) + " ps begins at " +
                   std::to_string(now()) + " ps, and at the time resolution of " +
                   sc_core::sc_get_time_resolution().to_string() + " time ends at " +
                   std::to_string(horizon_ps_) + " ps; simulate less, or set a resolution of 1 ps")
                      .c_str());
  return sc_core::sc_max_time() - sc_core::sc_time_stamp();
}

}  // namespace kernbench
