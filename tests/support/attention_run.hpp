// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "tests/support/decode_inputs.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/kernel_bench.hpp"
#include "tests/support/legal_run.hpp"
#include "tests/support/program_order.hpp"

namespace kernbench::kernels {

/// Inputs by tensor name, and row and column of the tensor on the device; rounded to its dtype.
inline HostTensors inputs_of(
    const Instance& instance,
    const std::function<double(const std::string& name, Index row, Index col)>& entry) {
  HostTensors inputs;
  for (const TensorSpec& spec : instance.tensors) {
    if (spec.direction == Direction::out) continue;
    std::vector<double> values;
    for (Index row = 0; row < spec.shape.rows(); ++row) {
      for (Index col = 0; col < spec.shape.cols(); ++col) {
        values.push_back(entry(spec.name, row, col));
      }
    }
    inputs[spec.name] = rounded(spec.dtype, std::move(values));
  }
  return inputs;
}

/// Outputs and observed values of running the kernel on the PE of the default topology, in a
/// process of its own, where every byte that nobody wrote is NaN. They are checked to be those of
/// its commands in program order, bit by bit.
inline HostTensors run_on_pe(const std::string& kernel, const Settings& settings,
                             const HostTensors& inputs) {
  const HostTensors expected = run_in_program_order(compile(kernel, settings), inputs);
  const std::string run = test::in_child([&] {
    const arch::TopologyConfig topology = test::single_pe();
    return test::run_as_text(topology, test::launch(topology, kernel, settings), inputs,
                             test::poisoned());
  });
  EXPECT_EQ(test::results_in(run), test::text_of(expected)) << kernel;
  return expected;
}

inline void expect_within_tolerance(const Instance& instance, const HostTensors& inputs,
                                    const HostTensors& results) {
  const Reference reference = instance.reference(inputs);
  const Error error = error_against(reference.outputs.at("out"), results.at("out"));
  EXPECT_LE(error.rms, reference.max_rms_rel);
  EXPECT_LE(error.max, reference.max_abs_rel);
}

/// Entries [begin, begin + count).
inline std::vector<double> part_of(const std::vector<double>& values, Index begin, Index count) {
  return {values.begin() + begin, values.begin() + begin + count};
}

}  // namespace kernbench::kernels
