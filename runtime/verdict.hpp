// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "runtime/main.hpp"
#include "runtime/summary.hpp"

namespace kernbench::runtime {

/// The exit code of completed runs. Writes to stderr what failed: hazards, numbers out of
/// tolerance, a figure that could not be drawn.
int verdict(const Binary& binary, const std::vector<RunResult>& results);

}  // namespace kernbench::runtime
