// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/main.hpp"
#include "runtime/options.hpp"

namespace kernbench::runtime {

/// Runs a kernel for each value of a parameter, of a --set key, or for each pair of both, and
/// prints the runs side by side with their ratios to the first run. Returns the exit code (R11.1).
int compare_command(const Binary& binary, const Options& options);

}  // namespace kernbench::runtime
