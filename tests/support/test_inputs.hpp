// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "kernels/kernel.hpp"
#include "model/arch/numerics.hpp"
#include "runtime/launch/inputs.hpp"

namespace kernbench::test {

inline std::vector<double> rounded(command::DType dtype, std::vector<double> values) {
  for (double& value : values) {
    std::uint8_t bytes[4];
    arch::encode(dtype, static_cast<float>(value), bytes);
    value = static_cast<double>(arch::decode(dtype, bytes));
  }
  return values;
}

/// The entries that a run without `--inputs` takes. By `kind` attention scores become peaked,
/// rising with the position, led by a sink, or uniform: all equal.
inline kernels::HostTensors test_inputs(const kernels::Instance& instance,
                                        const std::string& kind = "normal",
                                        std::uint64_t seed = 5) {
  kernels::HostTensors inputs = runtime::synthetic_inputs(instance.tensors, seed);
  for (const kernels::TensorSpec& spec : instance.tensors) {
    if (kind == "normal" || (spec.name != "q" && spec.name != "k")) continue;
    std::vector<double>& values = inputs.at(spec.name);
    const auto cols = static_cast<std::size_t>(spec.shape.cols());
    const std::size_t rows = values.size() / cols;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::size_t row = i / cols, col = i % cols;
      if (kind == "uniform" && spec.name == "k") values[i] = 0;
      if (kind == "peaked" && spec.name == "k") values[i] *= 3;
      if (kind == "sink" && spec.name == "k" && row == 0) values[i] *= 8;
      if (kind == "rising" && spec.name == "q" && col == 0) values[i] = 8;
      if (kind == "rising" && spec.name == "k" && col == 0) {
        values[i] = 16 * static_cast<double>(row) / static_cast<double>(rows);
      }
    }
    values = rounded(spec.dtype, std::move(values));
  }
  return inputs;
}

struct Error {
  double rms, max;  // relative to the rms of the reference
};
inline Error error_against(const std::vector<double>& reference,
                           const std::vector<double>& values) {
  double sum = 0, squares = 0, largest = 0;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    const double error = std::abs(values[i] - reference[i]);
    sum += error * error;
    squares += reference[i] * reference[i];
    largest = std::isfinite(values[i]) ? std::max(largest, error) : HUGE_VAL;
  }
  const auto n = static_cast<double>(reference.size());
  return {std::sqrt(sum / squares), largest / std::sqrt(squares / n)};
}

}  // namespace kernbench::test
