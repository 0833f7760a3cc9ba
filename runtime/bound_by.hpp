// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "runtime/summary.hpp"

namespace kernbench::runtime {

/// Says what limits the run. This is the busiest engine of any PE, relative to the longest window
/// of a PE, if it is busy for at least 80 %. It is a link or HBM instead if that is busier over the
/// run, or nearly as busy as an engine that is occupied while it waits for it. Otherwise it is
/// serial dependencies. A load imbalance follows, if there is one.
std::string bound_by(const RunResult& result);

}  // namespace kernbench::runtime
