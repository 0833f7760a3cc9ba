// SPDX-License-Identifier: Apache-2.0
#include "tests/support/kernel_bench.hpp"

#include <stdexcept>

#include "kernels/catalogue.hpp"

namespace kernbench::test {

runtime::Launch launch(const arch::TopologyConfig& topology, const std::string& name,
                       const Settings& settings) {
  for (const kernels::Kernel& kernel : kernels::catalogue()) {
    if (kernel.name == name) return {kernel, settings, topology};
  }
  throw std::runtime_error("no kernel " + name);
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
