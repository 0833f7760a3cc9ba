// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "runtime/summary.hpp"

namespace kernbench::runtime {

/// One row per region of the kernel: how many PEs entered it and how often, the longest time of a
/// PE in it and the mean time, and relative to the mean the HBM traffic, the busy shares of the
/// engines for its commands, and the kernel's waits. A line explains the shares. Empty if the
/// design has one PE and the kernel one region.
std::string phase_table(const RunResult& result);

/// A table with one column per run, headed by `labels`.
std::string summary_table(const std::vector<RunResult>& results,
                          const std::vector<std::string>& labels);

}  // namespace kernbench::runtime
