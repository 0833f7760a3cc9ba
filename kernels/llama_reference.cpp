// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "kernels/error_bound.hpp"
#include "kernels/llama_model.hpp"

namespace kernbench::kernels {
namespace {

// With eight consecutive products, bounds of errors are useless, because each product adds up the
// bounds of its inputs. Here errors are treated as independent and of either sign, and are
// estimated by their variance, to first order. Only roundings to f16 count; roundings to f32 are
// 2^-13 of them.

/// Row-major entries, and for each the variance of the kernel's error.
struct Estimate {
  std::vector<double> value, variance;
};

double squared(double x) { return x * x; }

/// The variance of a rounding of x to f16, uniform in one unit.
double rounding(double x) { return squared(kRoundF16 * std::abs(x) + kTinyF16) / 3; }

Estimate stored_in_f16(Estimate x) {
  for (std::size_t i = 0; i < x.value.size(); ++i) x.variance[i] += rounding(x.value[i]);
  return x;
}

Estimate without_error(std::vector<double> values) {
  std::vector<double> none(values.size(), 0);
  return {std::move(values), std::move(none)};
}

/// Entries [begin, begin + count).
Estimate part_of(const Estimate& x, Index begin, Index count) {
  return {{x.value.begin() + begin, x.value.begin() + begin + count},
          {x.variance.begin() + begin, x.variance.begin() + begin + count}};
}

void append(Estimate& x, const Estimate& more) {
  x.value.insert(x.value.end(), more.value.begin(), more.value.end());
  x.variance.insert(x.variance.end(), more.variance.begin(), more.variance.end());
}

Estimate operator+(Estimate x, const Estimate& y) {
  for (std::size_t i = 0; i < x.value.size(); ++i) {
    x.value[i] += y.value[i];
    x.variance[i] += y.variance[i];
  }
  return x;
}

/// x times y, entry by entry.
Estimate operator*(Estimate x, const Estimate& y) {
  for (std::size_t i = 0; i < x.value.size(); ++i) {
    x.variance[i] = x.variance[i] * squared(y.value[i]) + y.variance[i] * squared(x.value[i]);
    x.value[i] *= y.value[i];
  }
  return x;
}

/// A row times the exact w [x.size(), cols].
Estimate product(const Estimate& x, const std::vector<double>& w, Index cols) {
  const auto n = static_cast<std::size_t>(cols);
  Estimate out = without_error(std::vector<double>(n, 0));
  for (std::size_t i = 0; i < x.value.size(); ++i) {
    for (std::size_t col = 0; col < n; ++col) {
      out.value[col] += x.value[i] * w[i * n + col];
      out.variance[col] += x.variance[i] * squared(w[i * n + col]);
    }
  }
  return out;
}

/// The recipe rmsnorm_linear: xn is stored before and after it is multiplied by gamma.
Estimate rmsnorm(Estimate x, const std::vector<double>& gamma) {
  const auto n = static_cast<double>(x.value.size());
  double squares = 0, variance = 0;
  for (std::size_t i = 0; i < x.value.size(); ++i) {
    squares += squared(x.value[i]);
    variance += squared(2 * x.value[i]) * x.variance[i];
  }
  const double mean = squares / n + tl::kNormEps;
  const double r = 1 / std::sqrt(mean);
  const double r_variance = variance / squared(2 * n * mean) * squared(r);
  for (std::size_t i = 0; i < x.value.size(); ++i) {
    x.variance[i] = x.variance[i] * squared(r) + squared(x.value[i]) * r_variance;
    x.value[i] *= r;
  }
  return stored_in_f16(stored_in_f16(std::move(x)) * without_error(gamma));
}

Estimate silu(Estimate x) {
  for (std::size_t i = 0; i < x.value.size(); ++i) {
    const double sigmoid = 1 / (1 + std::exp(-x.value[i]));
    x.variance[i] *= squared(sigmoid * (1 + x.value[i] * (1 - sigmoid)));
    x.value[i] *= sigmoid;
  }
  return x;
}

class Layer {
 public:
  Layer(const Llama& p, const HostTensors& inputs, Index l) : p_(p), inputs_(inputs), l_(l) {}

  Estimate of(const Estimate& x) const {
    const Estimate attended = attention(project_qkv(normalized(x, "attention_norm")));
    const Estimate y = stored_in_f16(x + row_parallel(attended, "wo", p_.out));
    const Estimate yn = normalized(y, "mlp_norm");
    const Estimate gate = stored_in_f16(silu(column_parallel(yn, "wgate", p_.up)));
    const Estimate h = stored_in_f16(column_parallel(yn, "wup", p_.up) * gate);
    return stored_in_f16(y + row_parallel(h, "wdown", p_.down));
  }

 private:
  /// `count` entries of an input.
  std::vector<double> entries(const char* name, Index first, Index count) const {
    const auto begin = inputs_.at(name).begin() + first;
    return {begin, begin + count};
  }

  Estimate normalized(const Estimate& x, const char* gamma) const {
    return rmsnorm(x, entries(gamma, l_ * p_.hidden, p_.hidden));
  }

  /// [hidden, width]
  std::vector<double> panel(const char* name, const Panels& panels, Index program, Index j) const {
    const Index size = p_.hidden * panels.width;
    return entries(name, ((l_ * p_.programs() + program) * panels.count + j) * size, size);
  }
  /// [width, hidden]
  std::vector<double> transposed_panel(const char* name, const Panels& panels, Index program,
                                       Index j) const {
    const std::vector<double> stored = panel(name, panels, program, j);
    std::vector<double> result;
    for (Index col = 0; col < panels.width; ++col) {
      for (Index row = 0; row < p_.hidden; ++row) {
        result.push_back(stored[static_cast<std::size_t>(row * panels.width + col)]);
      }
    }
    return result;
  }

  /// x times a weight that is split by columns, with the programs' columns one after the other.
  Estimate column_parallel(const Estimate& x, const char* name, const Panels& panels) const {
    Estimate result;
    for (Index program = 0; program < p_.programs(); ++program) {
      for (Index j = 0; j < panels.count; ++j) {
        append(result, product(x, panel(name, panels, program, j), panels.width));
      }
    }
    return result;
  }

  /// x times a weight that is split by rows: the sum of the programs' parts, each stored in f16
  /// after each of its panels. A part passes through at most log2(N) or N - 1 additions. Each
  /// rounds a sum whose square is on average the sum of its terms' squares.
  Estimate row_parallel(const Estimate& x, const char* name, const Panels& panels) const {
    const auto programs = static_cast<double>(p_.programs());
    const double additions = p_.ring ? programs - 1 : std::ceil(std::log2(programs));
    Estimate sum = without_error(std::vector<double>(static_cast<std::size_t>(p_.hidden), 0));
    for (Index program = 0; program < p_.programs(); ++program) {
      Estimate own = sum;
      for (Index j = 0; j < panels.count; ++j) {
        const Index first = program * panels.size() + j * panels.width;
        const Estimate term = product(part_of(x, first, panels.width),
                                      transposed_panel(name, panels, program, j), p_.hidden);
        own = stored_in_f16(j == 0 ? term : own + term);
      }
      for (std::size_t i = 0; i < own.value.size(); ++i) {
        own.variance[i] += additions * rounding(own.value[i]);
      }
      sum = sum + own;
    }
    return sum;
  }

  struct Heads {
    Estimate q;     ///< [heads, d]
    Estimate k, v;  ///< [kv_heads, d], of the new token
  };
  Heads project_qkv(const Estimate& x) const {
    const Estimate records = stored_in_f16(column_parallel(x, "wqkv", p_.qkv));
    Heads heads;
    for (Index program = 0; program < p_.programs(); ++program) {
      Index first = program * p_.qkv.size();
      append(heads.q, part_of(records, first, p_.q_size()));
      first += p_.q_size();
      append(heads.k, part_of(records, first, p_.kv_size()));
      append(heads.v, part_of(records, first + p_.kv_size(), p_.kv_size()));
    }
    return heads;
  }

  /// [s_kv, d] of a head: as given, and last the new token.
  Estimate cached(const char* name, const Estimate& added, Index head) const {
    const Index d = p_.flash.d, before = (p_.s_kv - 1) * d;
    Estimate rows = without_error(entries(name, (l_ * p_.kv_heads + head) * p_.s_kv * d, before));
    append(rows, part_of(added, head * d, d));
    return rows;
  }

  /// softmax(q k^T / sqrt(d)) v. l is the sum of P as it is stored (R8.2), so that an error e of a
  /// score moves the result by e p / l (v - result). Errors of q move all scores: they are summed
  /// up over the tokens first.
  Estimate attention_of_head(const Estimate& q, const Estimate& k, const Estimate& v) const {
    const auto d = q.value.size(), tokens = v.value.size() / d;
    const double scale = 1 / std::sqrt(static_cast<double>(d));
    std::vector<double> weights, variances;  // P / l; variances without the errors of q
    for (std::size_t t = 0; t < tokens; ++t) {
      double score = 0, variance = 0;
      for (std::size_t i = 0; i < d; ++i) {
        score += q.value[i] * k.value[t * d + i] * scale;
        variance += squared(q.value[i] * scale) * k.variance[t * d + i];
      }
      weights.push_back(score);
      variances.push_back(variance + rounding(score));
    }
    const double largest = *std::max_element(weights.begin(), weights.end());
    double l = 0;
    for (std::size_t t = 0; t < tokens; ++t) {
      weights[t] = std::exp(weights[t] - largest);
      variances[t] = squared(weights[t]) * variances[t] + rounding(weights[t]);
      l += weights[t];
    }
    for (std::size_t t = 0; t < tokens; ++t) {
      weights[t] /= l;
      variances[t] /= squared(l);
    }

    Estimate out;
    for (std::size_t col = 0; col < d; ++col) {
      double value = 0, variance = 0;
      for (std::size_t t = 0; t < tokens; ++t) value += weights[t] * v.value[t * d + col];
      std::vector<double> by_q(d, 0);
      for (std::size_t t = 0; t < tokens; ++t) {
        const double lever = v.value[t * d + col] - value;
        variance += squared(lever) * variances[t] + squared(weights[t]) * v.variance[t * d + col];
        for (std::size_t i = 0; i < d; ++i) {
          by_q[i] += weights[t] * lever * k.value[t * d + i] * scale;
        }
      }
      for (std::size_t i = 0; i < d; ++i) variance += squared(by_q[i]) * q.variance[i];
      out.value.push_back(value);
      out.variance.push_back(variance);
    }
    return stored_in_f16(std::move(out));
  }

  Estimate attention(const Heads& heads) const {
    Estimate out;
    const Index d = p_.flash.d;
    for (Index head = 0; head < p_.kv_heads; ++head) {
      const Estimate k = cached("k", heads.k, head), v = cached("v", heads.v, head);
      for (Index i = head * p_.g(); i < (head + 1) * p_.g(); ++i) {
        append(out, attention_of_head(part_of(heads.q, i * d, d), k, v));
      }
    }
    return out;
  }

  const Llama& p_;
  const HostTensors& inputs_;
  Index l_;
};

}  // namespace

Reference reference(const Llama& p, const HostTensors& inputs) {
  Estimate x = without_error(inputs.at("x"));
  for (Index l = 0; l < p.layers; ++l) x = Layer(p, inputs, l).of(x);
  Bounded deviations{x.value, {}};
  for (const double variance : x.variance) deviations.error.push_back(std::sqrt(variance));
  Reference result = checked("out", deviations);
  // Entries share some of their errors, so their rms is not an average over many independent ones.
  // The largest of many errors is beyond 4 standard deviations.
  constexpr double kOfAll = 3, kOfOne = 6;
  result.max_rms_rel *= kOfAll;
  result.max_abs_rel *= kOfOne;
  return result;
}

}  // namespace kernbench::kernels
