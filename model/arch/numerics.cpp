// SPDX-License-Identifier: Apache-2.0
#include "model/arch/numerics.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>

namespace kernbench::arch {
namespace {

using command::DType;
using command::ExtraName;
using command::Index;
using command::OpKind;

static_assert(std::numeric_limits<float>::is_iec559);

// Memory is little-endian by definition; on such a host these are plain loads and stores.
template <class T>
T load(const std::uint8_t* bytes) {
  T bits = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    bits = static_cast<T>(bits | static_cast<T>(static_cast<T>(bytes[i]) << (8 * i)));
  }
  return bits;
}
template <class T>
void save(T bits, std::uint8_t* bytes) {
  for (std::size_t i = 0; i < sizeof(T); ++i) bytes[i] = static_cast<std::uint8_t>(bits >> (8 * i));
}

struct F16 {
  static constexpr std::size_t kBytes = 2;
  static float decode(const std::uint8_t* bytes) {
    return static_cast<float>(
        Eigen::numext::bit_cast<Eigen::half, std::uint16_t>(load<std::uint16_t>(bytes)));
  }
  static void encode(float value, std::uint8_t* bytes) {
    save(Eigen::numext::bit_cast<std::uint16_t>(Eigen::half(value)), bytes);
  }
};
struct Bf16 {
  static constexpr std::size_t kBytes = 2;
  static float decode(const std::uint8_t* bytes) {
    return static_cast<float>(
        Eigen::numext::bit_cast<Eigen::bfloat16, std::uint16_t>(load<std::uint16_t>(bytes)));
  }
  static void encode(float value, std::uint8_t* bytes) {
    save(Eigen::numext::bit_cast<std::uint16_t>(Eigen::bfloat16(value)), bytes);
  }
};
struct F32 {
  static constexpr std::size_t kBytes = 4;
  static float decode(const std::uint8_t* bytes) {
    const auto bits = load<std::uint32_t>(bytes);
    float value = 0;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  static void encode(float value, std::uint8_t* bytes) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    save(bits, bytes);
  }
};

/// Calls `function` with the codec of `dtype`.
template <class Function>
auto with_codec(DType dtype, Function&& function) {
  switch (dtype) {
    case DType::f16:
      return function(F16{});
    case DType::bf16:
      return function(Bf16{});
    case DType::f32:
      return function(F32{});
  }
  throw std::logic_error("no codec for this dtype");
}

/// A slice as `count` runs of `length` consecutive entries each.
struct Runs {
  Index count, length, stride;  // from run to run, in entries
  // Place of a run's first entry, and step to its next, in row-major values.
  Index value_stride, value_step;
};

Runs runs_of(const Slice& slice) {
  if (slice.col_stride != 1 && slice.cols > 1) {  // a transposed view: a column is a run
    return {slice.cols, slice.rows, slice.col_stride, 1, slice.cols};
  }
  if (slice.row_stride == slice.cols || slice.rows == 1) {
    return {1, slice.rows * slice.cols, 0, 0, 1};
  }
  return {slice.rows, slice.cols, slice.row_stride, slice.cols, 1};
}

constexpr Index kChunk = 1024;  // entries converted at a time, on the stack

/// Calls `move(address, values index of the first entry, count)` for each chunk of each run.
template <class Move>
void for_each_chunk(const Slice& slice, const Runs& runs, Move&& move) {
  for (Index run = 0; run < runs.count; ++run) {
    for (Index begin = 0; begin < runs.length; begin += kChunk) {
      const auto offset = static_cast<std::uint64_t>(run * runs.stride + begin);
      move(slice.addr + command::bytes_of(slice.dtype, offset),
           run * runs.value_stride + begin * runs.value_step,
           std::min(kChunk, runs.length - begin));
    }
  }
}

float max_of(float x, float y) { return x > y || x != x ? x : y; }
// Evaluated in double and rounded, so that the result does not depend on a libm's float version.
float exp_of(float x) { return static_cast<float>(std::exp(static_cast<double>(x))); }
float tanh_of(float x) { return static_cast<float>(std::tanh(static_cast<double>(x))); }
float relu(float x) { return max_of(x, 0.0F); }
float silu(float x) { return x / (1.0F + exp_of(-x)); }
float gelu(float x) {
  return 0.5F * x * (1.0F + tanh_of(0.7978845608F * (x + 0.044715F * (x * x * x))));
}

const command::Extra& extra(const StageSpec& stage, ExtraName name) {
  for (const command::Extra& candidate : stage.extras) {
    if (candidate.name == name) return candidate;
  }
  throw std::logic_error("op " + std::string(to_string(stage.op)) + " without its scalar " +
                         std::string(to_string(name)));
}
float scalar(const StageSpec& stage, ExtraName name) { return extra(stage, name).as_f32(); }

template <class Function>
void map(const Values& x, Values& result, Function&& function) {
  for (std::size_t i = 0; i < x.size(); ++i) result[i] = function(x[i]);
}

template <class Function>
void map(const Values& x, const Values& y, Values& result, Function&& function) {
  for (std::size_t i = 0; i < x.size(); ++i) result[i] = function(x[i], y[i]);
}

/// `y` has one entry per row of `x`, which has `cols` columns, or has the shape of `x` (exp_diff of
/// two vectors).
template <class Function>
void map_rows(const Values& x, const Values& y, std::size_t cols, Values& result,
              Function&& function) {
  if (x.size() == y.size()) return map(x, y, result, function);
  for (std::size_t row = 0, i = 0; row < y.size(); ++row) {
    for (std::size_t col = 0; col < cols; ++col, ++i) result[i] = function(x[i], y[row]);
  }
}

/// `y` has one entry per column of `x`.
template <class Function>
void map_cols(const Values& x, const Values& y, Values& result, Function&& function) {
  for (std::size_t i = 0; i < x.size();) {
    for (std::size_t col = 0; col < y.size(); ++col, ++i) result[i] = function(x[i], y[col]);
  }
}

/// Folds each row in ascending order, starting with its first entry.
template <class Function>
void reduce_rows(const Values& x, std::size_t cols, Values& result, Function&& function) {
  for (std::size_t row = 0; row < result.size(); ++row) {
    const float* entry = x.data() + row * cols;
    float value = entry[0];
    for (std::size_t col = 1; col < cols; ++col) value = function(value, entry[col]);
    result[row] = value;
  }
}

const auto kAdd = [](float x, float y) { return x + y; };
const auto kMul = [](float x, float y) { return x * y; };

}  // namespace

float decode(DType dtype, const std::uint8_t* bytes) {
  return with_codec(dtype, [&](auto codec) { return codec.decode(bytes); });
}

void encode(DType dtype, float value, std::uint8_t* bytes) {
  with_codec(dtype, [&](auto codec) { codec.encode(value, bytes); });
}

void read_slice(const Storage& storage, const Slice& slice, Values& values) {
  values.resize(slice.elements());
  with_codec(slice.dtype, [&](auto codec) {
    using Codec = decltype(codec);
    std::array<std::uint8_t, kChunk * Codec::kBytes> buffer;
    const Runs runs = runs_of(slice);
    for_each_chunk(slice, runs, [&](command::Address addr, Index first, Index count) {
      storage.read(addr, buffer.data(), static_cast<std::uint64_t>(count) * Codec::kBytes);
      float* value = values.data() + first;
      const std::uint8_t* bytes = buffer.data();
      for (Index i = 0; i < count; ++i, bytes += Codec::kBytes) {
        value[i * runs.value_step] = Codec::decode(bytes);
      }
    });
  });
}

void write_slice(Storage& storage, const Slice& slice, const Values& values) {
  with_codec(slice.dtype, [&](auto codec) {
    using Codec = decltype(codec);
    std::array<std::uint8_t, kChunk * Codec::kBytes> buffer;
    const Runs runs = runs_of(slice);
    for_each_chunk(slice, runs, [&](command::Address addr, Index first, Index count) {
      const float* value = values.data() + first;
      std::uint8_t* bytes = buffer.data();
      for (Index i = 0; i < count; ++i, bytes += Codec::kBytes) {
        Codec::encode(value[i * runs.value_step], bytes);
      }
      storage.write(addr, buffer.data(), static_cast<std::uint64_t>(count) * Codec::kBytes);
    });
  });
}

void evaluate(const StageSpec& stage, const std::vector<Values>& inputs, Values& result) {
  result.resize(stage.out.elements());
  static const Values kNone;
  const Values& x = !inputs.empty() ? inputs[0] : kNone;
  const Values& y = inputs.size() > 1 ? inputs[1] : kNone;
  const std::size_t cols = stage.operands.empty()
                               ? static_cast<std::size_t>(stage.out.cols)
                               : static_cast<std::size_t>(stage.operands[0].cols);
  switch (stage.op) {
    case OpKind::rmax:
      return reduce_rows(x, cols, result, max_of);
    case OpKind::rsum:
      return reduce_rows(x, cols, result, kAdd);
    case OpKind::max_elem:
      return map(x, y, result, max_of);
    case OpKind::add:
      return map(x, y, result, kAdd);
    case OpKind::mul:
      return map(x, y, result, kMul);
    case OpKind::div:
      return map(x, y, result, [](float p, float q) { return p / q; });
    case OpKind::exp_diff:  // the guard keeps -inf minus -inf from being NaN (R8.2)
      return map_rows(x, y, cols, result, [](float p, float q) {
        return p == -std::numeric_limits<float>::infinity() ? 0.0F : exp_of(p - q);
      });
    case OpKind::mul_bcast:
      return map_rows(x, y, cols, result, kMul);
    case OpKind::sub_bcast:
      return map_rows(x, y, cols, result, [](float p, float q) { return p - q; });
    case OpKind::div_bcast:  // a fully masked row has sum 0 and result 0 (R8.2)
      return map_rows(x, y, cols, result,
                      [](float p, float q) { return q == 0.0F ? 0.0F : p / q; });
    case OpKind::mul_cols:
      return map_cols(x, y, result, kMul);
    case OpKind::add_cols:
      return map_cols(x, y, result, kAdd);
    case OpKind::fma: {
      const Values& z = inputs[2];
      for (std::size_t i = 0; i < x.size(); ++i) result[i] = std::fma(x[i], y[i], z[i]);
      return;
    }
    case OpKind::scale:
      return map(x, result, [v = scalar(stage, ExtraName::value)](float p) { return p * v; });
    case OpKind::scale_add:
      return map(x, result,
                 [a = scalar(stage, ExtraName::a), b = scalar(stage, ExtraName::b)](float p) {
                   return std::fma(p, a, b);
                 });
    case OpKind::square:
      return map(x, result, [](float p) { return p * p; });
    case OpKind::rsqrt:
      return map(x, result, [](float p) { return 1.0F / std::sqrt(p); });
    case OpKind::recip:
      return map(x, result, [](float p) { return 1.0F / p; });
    case OpKind::copy:
      return map(x, result, [](float p) { return p; });
    case OpKind::relu:
      return map(x, result, relu);
    case OpKind::silu:
      return map(x, result, silu);
    case OpKind::gelu:
      return map(x, result, gelu);
    case OpKind::fill:
      return std::fill(result.begin(), result.end(), scalar(stage, ExtraName::value));
    case OpKind::mask_cols: {
      const float value = scalar(stage, ExtraName::value);
      // Below 0: the first rows are masked completely.
      const Index first_col = extra(stage, ExtraName::first_col).as_i32();
      const Index rows_per_step = extra(stage, ExtraName::rows_per_step).bits;
      const auto width = static_cast<Index>(cols);
      for (std::size_t i = 0; i < x.size(); ++i) {
        const Index row = stage.row + static_cast<Index>(i) / width;
        const Index limit = first_col + (rows_per_step == 0 ? 0 : row / rows_per_step);
        result[i] = stage.col + static_cast<Index>(i) % width >= limit ? value : x[i];
      }
      return;
    }
    case OpKind::gemm:
    case OpKind::bias:
      break;
  }
  throw std::logic_error("op " + std::string(to_string(stage.op)) +
                         " is not a kernel-scope MATH op");
}

void evaluate_on_accumulator(const StageSpec& stage, const Slice* other_slice, const Values& other,
                             Values& accumulator) {
  // `other` is (m, n), (n,), (m, 1) or a scalar: an axis of size 1 is broadcast (R4.6).
  const auto with_other = [&](auto&& function) {
    const Index rows = stage.m, cols = stage.n;
    const Index row_step = other_slice->rows == 1 ? 0 : other_slice->cols;
    const Index col_step = other_slice->cols == 1 ? 0 : 1;
    for (Index row = 0; row < rows; ++row) {
      float* entry = accumulator.data() + row * cols;
      const float* y = other.data() + row * row_step;
      for (Index col = 0; col < cols; ++col) {
        entry[col] = function(entry[col], y[col * col_step]);
      }
    }
  };
  switch (stage.op) {
    case OpKind::add:
    case OpKind::bias:
      return with_other(kAdd);
    case OpKind::mul:
      return with_other(kMul);
    case OpKind::scale:
      return map(accumulator, accumulator,
                 [v = scalar(stage, ExtraName::value)](float p) { return p * v; });
    case OpKind::relu:
      return map(accumulator, accumulator, relu);
    case OpKind::silu:
      return map(accumulator, accumulator, silu);
    case OpKind::gelu:
      return map(accumulator, accumulator, gelu);
    default:
      throw std::logic_error("op " + std::string(to_string(stage.op)) +
                             " has no form on the accumulator");
  }
}

void multiply_accumulate(Index m, Index k, Index n, const Values& a, const Values& b,
                         Values& accumulator) {
  // i-k-j: the inner loop is over independent sums, so it vectorises without reordering any (R8.2).
  for (Index row = 0; row < m; ++row) {
    float* __restrict sum = accumulator.data() + row * n;
    for (Index i = 0; i < k; ++i) {
      const float factor = a[static_cast<std::size_t>(row * k + i)];
      const float* __restrict entry = b.data() + i * n;
      for (Index col = 0; col < n; ++col) sum[col] += factor * entry[col];
    }
  }
}

}  // namespace kernbench::arch
