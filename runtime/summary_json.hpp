// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "runtime/summary.hpp"

namespace kernbench::runtime {

/// A summary with the keys of contract 12. Without a launch it lacks the keys of a kernel and of
/// the host's time.
nlohmann::ordered_json summary_json(const RunResult& result);
/// `{runs, ratios}` of several runs; ratios are the second run over the first.
nlohmann::ordered_json comparison_json(const std::vector<RunResult>& results);

}  // namespace kernbench::runtime
