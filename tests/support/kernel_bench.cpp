// SPDX-License-Identifier: Apache-2.0
#include "tests/support/kernel_bench.hpp"

#include "tests/support/program_order.hpp"

namespace kernbench::test {

runtime::Launch launch(const arch::TopologyConfig& topology, const std::string& name,
                       const Settings& settings) {
  return {catalogue_kernel(name), settings, topology};
}

BenchResult run_catalogue(const arch::TopologyConfig& topology, const std::string& kernel,
                          const Settings& settings, const BenchOptions& options) {
  const runtime::Launch launched = launch(topology, kernel, settings);
  BenchOptions with_inputs = options;
  with_inputs.inputs = launched.inputs();
  return run_kernel(
      topology, [&](command::CommandSink& sink) { launched.issue(sink); }, with_inputs);
}

}  // namespace kernbench::test
