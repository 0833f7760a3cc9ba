// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "kernels/kernel.hpp"
#include "model/arch/numerics.hpp"

namespace kernbench::kernels {

inline std::vector<double> rounded(DType dtype, std::vector<double> values) {
  for (double& value : values) {
    std::uint8_t bytes[4];
    arch::encode(dtype, static_cast<float>(value), bytes);
    value = static_cast<double>(arch::decode(dtype, bytes));
  }
  return values;
}

/// Inputs whose scores are normal, peaked, rising with the position, led by a sink, or all equal.
inline HostTensors decode_inputs(const Instance& instance, const std::string& kind,
                                 std::uint64_t seed = 5) {
  std::mt19937 random(static_cast<std::mt19937::result_type>(seed));
  std::normal_distribution<double> normal(0, 1);
  HostTensors inputs;
  for (const TensorSpec& spec : instance.tensors) {
    if (spec.direction == Direction::out) continue;
    std::vector<double> values(static_cast<std::size_t>(spec.shape.elements()));
    const auto cols = static_cast<std::size_t>(spec.shape.cols());
    const std::size_t rows = values.size() / cols;
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = normal(random);
      if (spec.domain == Domain::at_least_one) values[i] = 1 + std::abs(values[i]);
      const std::size_t row = i / cols, col = i % cols;
      if (kind == "uniform" && spec.name == "k") values[i] = 0;
      if (kind == "peaked" && spec.name == "k") values[i] *= 3;
      if (kind == "sink" && spec.name == "k" && row == 0) values[i] *= 8;
      if (kind == "rising" && spec.name == "q" && col == 0) values[i] = 8;
      if (kind == "rising" && spec.name == "k" && col == 0) {
        values[i] = 16 * static_cast<double>(row) / static_cast<double>(rows);
      }
    }
    inputs[spec.name] = rounded(spec.dtype, std::move(values));
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

}  // namespace kernbench::kernels
