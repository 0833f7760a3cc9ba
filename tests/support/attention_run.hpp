// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "tests/support/in_child.hpp"
#include "tests/support/kernel_bench.hpp"
#include "tests/support/legal_run.hpp"
#include "tests/support/program_order.hpp"
#include "tests/support/test_inputs.hpp"

namespace kernbench::test {

/// Inputs by tensor name, and row and column of the tensor on the device; rounded to its dtype.
inline kernels::HostTensors inputs_of(
    const kernels::Instance& instance,
    const std::function<double(const std::string& name, command::Index row, command::Index col)>&
        entry) {
  kernels::HostTensors inputs;
  for (const kernels::TensorSpec& spec : instance.tensors) {
    if (spec.direction == kernels::Direction::out) continue;
    std::vector<double> values;
    for (command::Index row = 0; row < spec.shape.rows(); ++row) {
      for (command::Index col = 0; col < spec.shape.cols(); ++col) {
        values.push_back(entry(spec.name, row, col));
      }
    }
    inputs[spec.name] = rounded(spec.dtype, std::move(values));
  }
  return inputs;
}

/// Outputs and observed values of running a kernel on the PE of the default topology, in a
/// process of its own, where every byte that nobody wrote is NaN. They are checked to be those of
/// its commands in program order, bit by bit.
inline kernels::HostTensors run_on_pe(const kernels::Kernel& kernel, const Settings& settings,
                                      const kernels::HostTensors& inputs) {
  const kernels::HostTensors expected = run_in_program_order(compile(kernel, settings), inputs);
  const std::string run = in_child([&] {
    const arch::TopologyConfig topology = single_pe();
    return run_as_text(topology, runtime::Launch(kernel, settings, topology), inputs, poisoned());
  });
  EXPECT_EQ(results_in(run), text_of(expected)) << kernel.name;
  return expected;
}
inline kernels::HostTensors run_on_pe(const std::string& kernel, const Settings& settings,
                                      const kernels::HostTensors& inputs) {
  return run_on_pe(catalogue_kernel(kernel), settings, inputs);
}

inline void expect_within_tolerance(const kernels::Instance& instance,
                                    const kernels::HostTensors& inputs,
                                    const kernels::HostTensors& results) {
  const kernels::Reference reference = instance.reference(inputs);
  const Error error = error_against(reference.outputs.at("out"), results.at("out"));
  EXPECT_LE(error.rms, reference.max_rms_rel);
  EXPECT_LE(error.max, reference.max_abs_rel);
}

/// Entries [begin, begin + count).
inline std::vector<double> part_of(const std::vector<double>& values, command::Index begin,
                                   command::Index count) {
  return {values.begin() + begin, values.begin() + begin + count};
}

}  // namespace kernbench::test
