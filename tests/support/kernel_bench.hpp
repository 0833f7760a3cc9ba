// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "runtime/launch/launch.hpp"
#include "tests/support/pe_bench.hpp"

namespace kernbench::test {

using runtime::Settings;

/// A kernel of the catalogue, as the command line launches it.
runtime::Launch launch(const arch::TopologyConfig& topology, const std::string& kernel,
                       const Settings& settings);

BenchResult run_catalogue(const arch::TopologyConfig& topology, const std::string& kernel,
                          const Settings& settings, const BenchOptions& options = {});

}  // namespace kernbench::test
