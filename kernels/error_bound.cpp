// SPDX-License-Identifier: Apache-2.0
#include "kernels/error_bound.hpp"

#include <algorithm>
#include <cmath>

namespace kernbench::kernels {
namespace {

double rms(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return values.empty() ? 0 : std::sqrt(sum / static_cast<double>(values.size()));
}

// The slope of gelu is at most 1.13, of silu 1.1.
constexpr double kMaxSlope = 1.13;
// exp or tanh, sums and products: one rounding to f32 each. If terms cancel, the error is that of
// the argument.
constexpr double kActivationRoundings = 8;

template <class Function>
Bounded activation(Bounded x, Function function) {
  for (std::size_t i = 0; i < x.value.size(); ++i) {
    x.error[i] = kMaxSlope * x.error[i] + kActivationRoundings * kRoundF32 * std::abs(x.value[i]);
    x.value[i] = function(x.value[i]);
  }
  return x;
}

/// One row of `normalized`, in place.
class NormalizedRow {
 public:
  NormalizedRow(double* value, double* error, const Norm& norm)
      : value_(value),
        error_(error),
        norm_(norm),
        cols_(static_cast<std::size_t>(norm.cols)),
        n_(static_cast<double>(norm.cols)) {}

  void centre() {
    double sum = 0, size = 0, error = 0;
    for (std::size_t i = 0; i < cols_; ++i) {
      sum += value_[i];
      size += std::abs(value_[i]);
      error += error_[i];
    }
    const double mean = sum / n_;
    const double mean_error = error / n_ + kRoundF32 * (n_ + 1) * size / n_;
    for (std::size_t i = 0; i < cols_; ++i) {
      value_[i] -= mean;
      error_[i] += mean_error;
      round(i);
    }
  }

  void scale_to_one() {
    double squares = 0, error = 0;
    for (std::size_t i = 0; i < cols_; ++i) {
      squares += value_[i] * value_[i];
      error += 2 * std::abs(value_[i]) * error_[i];
    }
    const double square = squares / n_ + tl::kNormEps;
    const double r = 1 / std::sqrt(square);
    // Half the relative error of the sum (squares, n additions, scale_add), two for rsqrt.
    const double r_error = error / n_ / square / 2 + kRoundF32 * ((n_ + 3) / 2 + 2);
    for (std::size_t i = 0; i < cols_; ++i) {
      value_[i] *= r;
      error_[i] = error_[i] * r + std::abs(value_[i]) * r_error;
      round(i);
    }
  }

  void apply_gamma_and_beta() {
    for (std::size_t i = 0; i < cols_; ++i) {
      value_[i] *= norm_.gamma[i];
      error_[i] *= std::abs(norm_.gamma[i]);
      round(i);
      if (norm_.beta == nullptr) continue;
      value_[i] += (*norm_.beta)[i];
      round(i);
    }
  }

 private:
  void round(std::size_t i) {
    error_[i] += norm_.steps_in_f16 ? kRoundF16 * std::abs(value_[i]) + kTinyF16
                                    : kRoundF32 * std::abs(value_[i]);
  }

  double* value_;
  double* error_;
  const Norm& norm_;
  std::size_t cols_;
  double n_;
};

}  // namespace

Bounded exact(const std::vector<double>& values) {
  return {values, std::vector<double>(values.size(), 0)};
}

Bounded stored_in_f16(Bounded x) {
  for (std::size_t i = 0; i < x.value.size(); ++i) {
    x.error[i] += kRoundF16 * std::abs(x.value[i]) + kTinyF16;
  }
  return x;
}

// The roundings of the sum are 2^-24 of each product and of each partial sum. The errors of a's
// entries are independent roundings, so their squares add up; four times that is allowed. This is
// never exceeded up to a depth of 16 (Cauchy-Schwarz), and not in practice beyond it.
Bounded product(const Bounded& a, const std::vector<double>& b, Index rows, Index depth,
                Index cols) {
  const auto m = static_cast<std::size_t>(rows), k = static_cast<std::size_t>(depth);
  const auto n = static_cast<std::size_t>(cols);
  Bounded out{std::vector<double>(m * n, 0), std::vector<double>(m * n)};
  std::vector<double> roundings(n), inherited(n);
  for (std::size_t row = 0; row < m; ++row) {
    double* sum = &out.value[row * n];
    roundings.assign(n, 0);
    inherited.assign(n, 0);
    for (std::size_t i = 0; i < k; ++i) {
      const double factor = a.value[row * k + i], error = a.error[row * k + i];
      for (std::size_t col = 0; col < n; ++col) {
        const double term = factor * b[i * n + col], term_error = error * b[i * n + col];
        sum[col] += term;
        roundings[col] += std::abs(term) + std::abs(sum[col]);
        inherited[col] += term_error * term_error;
      }
    }
    for (std::size_t col = 0; col < n; ++col) {
      out.error[row * n + col] = kRoundF32 * roundings[col] + 4 * std::sqrt(inherited[col]);
    }
  }
  return out;
}

Bounded scaled(Bounded x, double power_of_two) {
  for (double& value : x.value) value *= power_of_two;
  for (double& error : x.error) error *= power_of_two;
  return x;
}

Bounded biased(Bounded x, const std::vector<double>& bias) {
  for (std::size_t i = 0; i < x.value.size(); ++i) {
    x.value[i] += bias[i % bias.size()];
    x.error[i] += kRoundF32 * std::abs(x.value[i]);
  }
  return x;
}

double gelu(double x) {
  return 0.5 * x * (1 + std::tanh(0.7978845608 * (x + 0.044715 * x * x * x)));
}
double silu(double x) { return x / (1 + std::exp(-x)); }

Bounded gelu(Bounded x) {
  return activation(std::move(x), [](double v) { return gelu(v); });
}
Bounded silu(Bounded x) {
  return activation(std::move(x), [](double v) { return silu(v); });
}

Bounded normalized(const Bounded& x, const Norm& norm) {
  Bounded out = x;
  for (Index row = 0; row < norm.rows; ++row) {
    const auto first = static_cast<std::size_t>(row * norm.cols);
    NormalizedRow entries(&out.value[first], &out.error[first], norm);
    if (norm.beta != nullptr) entries.centre();
    entries.scale_to_one();
    entries.apply_gamma_and_beta();
  }
  return norm.steps_in_f16 ? out : stored_in_f16(std::move(out));
}

Reference checked(const std::string& name, const Bounded& result) {
  Reference reference;
  reference.outputs.emplace(name, result.value);
  reference.checked = name;
  // A result of zeros allows no error.
  if (const double size = rms(result.value); size > 0) {
    reference.max_rms_rel = rms(result.error) / size;
    reference.max_abs_rel = *std::max_element(result.error.begin(), result.error.end()) / size;
  }
  return reference;
}

}  // namespace kernbench::kernels
