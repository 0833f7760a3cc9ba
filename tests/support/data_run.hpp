// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "model/arch/numerics.hpp"
#include "tests/support/kernel_bench.hpp"
#include "tests/support/slice_of.hpp"

namespace kernbench::test {

/// What a run in data mode leaves.
struct DataRun {
  kernels::HostTensors results;  ///< output tensors and observed values
  std::string op_log;
};

/// Runs a kernel on the given inputs; `options` but for load, inspect and inputs. Once a process.
inline DataRun run_with_data(const arch::TopologyConfig& topology, const runtime::Launch& launched,
                             const kernels::HostTensors& inputs, BenchOptions options) {
  const std::vector<kernels::TensorSpec>& tensors = launched.instance().tensors;
  const auto slice = [&](std::size_t i) {
    return slice_of(launched.tensors()[i]->parts.front().handle);
  };
  DataRun run;
  options.inputs = launched.inputs();
  options.load = [&](arch::Storage& hbm) {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (tensors[i].direction == kernels::Direction::out) continue;
      const std::vector<double>& values = inputs.at(tensors[i].name);
      arch::write_slice(hbm, slice(i), arch::Values(values.begin(), values.end()));
    }
  };
  options.inspect = [&](const arch::Storage& hbm) {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (tensors[i].direction == kernels::Direction::in) continue;
      arch::Values values;
      arch::read_slice(hbm, slice(i), values);
      run.results[tensors[i].name].assign(values.begin(), values.end());
    }
  };
  const BenchResult result = run_kernel(
      topology, [&](command::CommandSink& sink) { launched.issue(sink); }, options);
  for (const auto& [name, values] : result.observed) {
    run.results[name].assign(values.begin(), values.end());
  }
  run.op_log = result.op_log;
  return run;
}

/// A kernel of the catalogue.
inline DataRun run_with_data(const arch::TopologyConfig& topology, const std::string& kernel,
                             const Settings& settings, const kernels::HostTensors& inputs) {
  BenchOptions options;
  options.data = true;
  return run_with_data(topology, launch(topology, kernel, settings), inputs, options);
}

}  // namespace kernbench::test
