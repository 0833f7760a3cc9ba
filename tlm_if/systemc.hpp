// SPDX-License-Identifier: Apache-2.0
#pragma once

// The only place that handles differences between SystemC 2.3.4 and 3.0.

// Checked before SystemC's headers refer to a version symbol that libsystemc does not have. If
// CMake knows the standard, it reports this at configure time (cmake/KernBenchStandard.cmake).
#if __cplusplus != 201703L
#error "KernBench and libsystemc are built as C++17 and link with nothing else: add -std=c++17"
#endif

#include <cstdint>
#include <systemc>
#include <tlm>

#if SC_VERSION_MAJOR >= 3
#define KERNBENCH_HAS_PROCESS(module) static_assert(true)
#else
/// SC_HAS_PROCESS is required by 2.3.4 and deprecated in 3.0.
#define KERNBENCH_HAS_PROCESS(module) SC_HAS_PROCESS(module)
#endif

namespace kernbench {

/// Converts picoseconds to and from the simulation's time resolution. The model never sets the
/// resolution; a resolution coarser than 1 ps is refused.
class TimeBase {
 public:
  TimeBase();

  /// A duration that begins now. If it would end after the largest time, 2^64 - 1 units of the
  /// resolution, it is reported as `/kernbench/time/horizon`; if the program continues, the result
  /// is the time that is left.
  sc_core::sc_time to_sc_time(std::uint64_t ps) const {
    if (ps > horizon_ps_ - now()) return beyond_horizon(ps);
    return sc_core::sc_time::from_value(ps * ticks_per_ps_);
  }
  /// Rounded down where the resolution is finer than 1 ps.
  std::uint64_t to_ps(const sc_core::sc_time& time) const {
    // Called many times per stage, so there is no division at the usual resolution.
    return ticks_per_ps_ == 1 ? time.value() : time.value() / ticks_per_ps_;
  }
  std::uint64_t now() const { return to_ps(sc_core::sc_time_stamp()); }

 private:
  sc_core::sc_time beyond_horizon(std::uint64_t ps) const;

  std::uint64_t ticks_per_ps_;
  std::uint64_t horizon_ps_;  // the largest time
};

}  // namespace kernbench
