// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kernels/kernel.hpp"
#include "tests/support/pe_bench.hpp"

namespace kernbench::test {

using Settings = std::vector<std::pair<std::string, std::string>>;

tl::Target target_of(const arch::TopologyConfig& topology);

/// A kernel's body, its HBM tensors bound from address 0 in steps of 4096 (R3.4).
KernelBody bind_kernel(const kernels::Instance& instance, const tl::Target& target);

/// A kernel of the catalogue.
kernels::Instance make_instance(const arch::TopologyConfig& topology, const std::string& kernel,
                                const Settings& settings);
BenchResult run_catalogue(const arch::TopologyConfig& topology, const std::string& kernel,
                          const Settings& settings, const BenchOptions& options = {});

}  // namespace kernbench::test
