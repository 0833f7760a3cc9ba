// SPDX-License-Identifier: Apache-2.0
#include "model/arch/numerics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <ostream>
#include <random>

namespace kernbench::arch {
namespace {

using command::DType;
using command::Extra;
using command::ExtraName;
using command::Index;
using command::OpKind;
using command::Scope;

constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();

std::uint32_t bits(float value) {
  std::uint32_t result = 0;
  std::memcpy(&result, &value, sizeof result);
  return result;
}

std::uint32_t encoded(DType dtype, float value) {
  std::uint8_t bytes[4] = {};
  encode(dtype, value, bytes);
  std::uint32_t pattern = 0;
  for (int i = 3; i >= 0; --i) pattern = pattern << 8 | bytes[i];
  return pattern;
}

float decoded(DType dtype, std::uint32_t pattern) {
  const std::uint8_t bytes[4] = {
      static_cast<std::uint8_t>(pattern), static_cast<std::uint8_t>(pattern >> 8),
      static_cast<std::uint8_t>(pattern >> 16), static_cast<std::uint8_t>(pattern >> 24)};
  return decode(dtype, bytes);
}

Slice dense(Index rows, Index cols, DType dtype = DType::f32, command::Address addr = 0) {
  Slice slice;
  slice.dtype = dtype;
  slice.addr = addr;
  slice.rows = rows;
  slice.cols = cols;
  slice.row_stride = cols;
  return slice;
}

// ---- conversion -------------------------------------------------------------------------------

TEST(Numerics, F16DecodesEveryFiniteBitPatternByItsDefinition) {
  for (std::uint32_t pattern = 0; pattern < 0x10000; ++pattern) {
    const int exponent = static_cast<int>(pattern >> 10 & 0x1f);
    const int fraction = static_cast<int>(pattern & 0x3ff);
    const float value = decoded(DType::f16, pattern);
    if (exponent == 31) {
      EXPECT_EQ(std::isnan(value), fraction != 0);
      continue;
    }
    // IEEE 754 binary16: 10 fraction bits, bias 15, subnormals of unit 2^-24.
    double expected =
        exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
    if ((pattern & 0x8000) != 0) expected = -expected;
    ASSERT_EQ(static_cast<double>(value), expected) << pattern;
    ASSERT_EQ(encoded(DType::f16, value), pattern);
  }
}

TEST(Numerics, Bf16IsTheUpperHalfOfF32) {
  for (std::uint32_t pattern = 0; pattern < 0x10000; ++pattern) {
    const float value = decoded(DType::bf16, pattern);
    if (std::isnan(value)) continue;
    ASSERT_EQ(bits(value), pattern << 16);
    ASSERT_EQ(encoded(DType::bf16, value), pattern);
  }
}

struct Rounding {
  DType dtype;
  float value;
  std::uint32_t pattern;
};

TEST(Numerics, NarrowingRoundsToNearestTiesToEven) {
  const Rounding cases[] = {
      // f16 has 11 significant bits: above 2048 the unit is 2, so odd integers are ties.
      {DType::f16, 2049, 0x6800},           // 2048, even fraction
      {DType::f16, 2051, 0x6802},           // 2052, even fraction
      {DType::f16, 0x1.002002p0F, 0x3c01},  // just above the tie 1 + 2^-11
      {DType::f16, 0x1.001ffep0F, 0x3c00},  // just below it
      {DType::f16, 65504, 0x7bff},          // the largest finite
      {DType::f16, 65519.996F, 0x7bff},     // below the tie with 65536
      {DType::f16, 65520, 0x7c00},          // the tie: to even, infinity
      {DType::f16, -65520, 0xfc00},
      {DType::f16, 0x1p-24F, 0x0001},  // the smallest subnormal
      {DType::f16, 0x1p-25F, 0x0000},  // tie with 0
      {DType::f16, 0x1.000002p-25F, 0x0001},
      {DType::f16, 0x1.8p-24F, 0x0002},    // tie between 1 and 2 units
      {DType::f16, 0x1.ffcp-15F, 0x0400},  // tie between the largest subnormal and 2^-14
      {DType::f16, -0.0F, 0x8000},
      {DType::f16, kInf, 0x7c00},
      {DType::f16, -kInf, 0xfc00},
      // bf16 has 8 significant bits: above 256 the unit is 2.
      {DType::bf16, 257, 0x4380},  // 256
      {DType::bf16, 259, 0x4382},  // 260
      {DType::bf16, 0x1.010002p0F, 0x3f81},
      {DType::bf16, 0x1.00fffep0F, 0x3f80},
      {DType::bf16, 0x1.fep127F, 0x7f7f},  // the largest finite
      {DType::bf16, 0x1.ffp127F, 0x7f80},  // the tie with 2^128: to even, infinity
      {DType::bf16, 0x1.fefffep127F, 0x7f7f},
      {DType::bf16, 0x1p-133F, 0x0001},    // the smallest subnormal
      {DType::bf16, 0x1p-134F, 0x0000},    // tie with 0
      {DType::bf16, 0x1.8p-133F, 0x0002},  // tie between 1 and 2 units
      {DType::bf16, -kInf, 0xff80},
      {DType::f32, 0x1.fffffep127F, 0x7f7fffff},
      {DType::f32, 0x1p-149F, 0x00000001},
  };
  for (const Rounding& c : cases) {
    EXPECT_EQ(encoded(c.dtype, c.value), c.pattern)
        << to_string(c.dtype) << " " << std::hexfloat << c.value;
  }
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32}) {
    EXPECT_TRUE(std::isnan(decoded(dtype, encoded(dtype, kNan))));
  }
}

// ---- slices -----------------------------------------------------------------------------------

TEST(Numerics, SlicesOfAMatrixAreReadAndWrittenInPlace) {
  // A 5 x 7 f16 matrix of 10 * row + col that lies across a block border of the storage.
  const command::Address base = 196598;  // 10 bytes before a border
  Storage storage({0, 1 << 20});
  Values matrix;
  for (int r = 0; r < 5; ++r) {
    for (int c = 0; c < 7; ++c) matrix.push_back(static_cast<float>(10 * r + c));
  }
  write_slice(storage, dense(5, 7, DType::f16, base), matrix);

  Slice block = dense(2, 3, DType::f16, base + 18);  // from (1, 2): rows 1-2, columns 2-4
  block.row_stride = 7;
  Values values;
  read_slice(storage, block, values);
  EXPECT_EQ(values, (Values{12, 13, 14, 22, 23, 24}));

  Slice transposed = block;  // the same entries as 3 x 2
  transposed.rows = 3;
  transposed.cols = 2;
  transposed.row_stride = 1;
  transposed.col_stride = 7;
  read_slice(storage, transposed, values);
  EXPECT_EQ(values, (Values{12, 22, 13, 23, 14, 24}));

  Slice column = dense(5, 1, DType::f16, base + 12);
  column.row_stride = 7;
  read_slice(storage, column, values);
  EXPECT_EQ(values, (Values{6, 16, 26, 36, 46}));

  Slice row_of_transposed = transposed;
  row_of_transposed.rows = 1;
  read_slice(storage, row_of_transposed, values);
  EXPECT_EQ(values, (Values{12, 22}));

  write_slice(storage, transposed, {1, 2, 3, 4, 5, 6});
  read_slice(storage, dense(5, 7, DType::f16, base), values);
  Values expected = matrix;
  for (const auto& [at, value] :
       {std::pair{9, 1.0F}, {16, 2.0F}, {10, 3.0F}, {17, 4.0F}, {11, 5.0F}, {18, 6.0F}}) {
    expected[static_cast<std::size_t>(at)] = value;
  }
  EXPECT_EQ(values, expected);
}

TEST(Numerics, LongSlicesKeepEveryEntryAndTheirNeighbours) {
  // 3 x 5000 exceeds the conversion chunk; the guard entries around it stay 7.
  for (const DType dtype : {DType::bf16, DType::f32}) {
    const std::uint64_t size = command::bytes_of(dtype, 1);
    Storage storage({0, 1 << 20});
    write_slice(storage, dense(1, 15100, dtype, 0), Values(15100, 7));
    Slice slice = dense(3, 5000, dtype, 50 * size);
    Values values;
    for (int i = 0; i < 15000; ++i) values.push_back(static_cast<float>(i % 251));
    write_slice(storage, slice, values);
    Values back;
    read_slice(storage, slice, back);
    EXPECT_EQ(back, values);
    read_slice(storage, dense(1, 50, dtype, 0), back);
    EXPECT_EQ(back, Values(50, 7));
    read_slice(storage, dense(1, 50, dtype, 15050 * size), back);
    EXPECT_EQ(back, Values(50, 7));
  }
}

TEST(Numerics, ReadingASliceReusesTheCapacityOfItsValues) {
  Storage storage({0, 4096});
  Values values;
  values.reserve(64);
  const float* memory = values.data();
  read_slice(storage, dense(8, 8, DType::f16), values);
  EXPECT_EQ(values.data(), memory);
}

// ---- ops --------------------------------------------------------------------------------------

StageSpec stage_of(OpKind op, const std::vector<Slice>& operands, const Slice& out,
                   const std::vector<Extra>& extras = {}) {
  StageSpec stage;
  stage.op = op;
  for (const Slice& operand : operands) stage.operands.push_back(operand);
  for (const Extra& extra : extras) stage.extras.push_back(extra);
  stage.has_out = true;
  stage.out = out;
  return stage;
}

Values run(OpKind op, const std::vector<Slice>& operands, const std::vector<Values>& inputs,
           const Slice& out, const std::vector<Extra>& extras = {}) {
  Values result;
  evaluate(stage_of(op, operands, out, extras), inputs, result);
  return result;
}

struct ElementOp {
  OpKind op;
  std::size_t inputs;
  std::vector<Extra> extras;
  std::function<double(double, double, double)> formula;  // in double, rounded by the test
  int ulps;  // 0: at most one f32 rounding, hence exact
};

float ulps_from(float value, int ulps) {
  for (int i = 0; i < std::abs(ulps); ++i) value = std::nextafterf(value, ulps > 0 ? kInf : -kInf);
  return value;
}

TEST(Numerics, ElementwiseOpsFollowTheirFormulas) {
  const double a = static_cast<double>(0.7F), b = static_cast<double>(-0.3F);
  const std::vector<ElementOp> ops = {
      {OpKind::max_elem, 2, {}, [](double x, double y, double) { return std::max(x, y); }, 0},
      {OpKind::add, 2, {}, [](double x, double y, double) { return x + y; }, 0},
      {OpKind::mul, 2, {}, [](double x, double y, double) { return x * y; }, 0},
      {OpKind::div, 2, {}, [](double x, double y, double) { return x / y; }, 0},
      // x - y rounds before the exponential: relative error |x - y| * 2^-24 on top of one rounding.
      {OpKind::exp_diff, 2, {}, [](double x, double y, double) { return std::exp(x - y); }, 6},
      // The product is exact in double, and so is the test's: one rounding to f32.
      {OpKind::fma, 3, {}, [](double x, double y, double z) { return std::fma(x, y, z); }, 0},
      {OpKind::scale,
       1,
       {Extra::f32(ExtraName::value, 0.7F)},
       [=](double x, double, double) { return x * a; },
       0},
      {OpKind::scale_add,
       1,
       {Extra::f32(ExtraName::a, 0.7F), Extra::f32(ExtraName::b, -0.3F)},
       [=](double x, double, double) { return std::fma(x, a, b); },
       0},
      {OpKind::square, 1, {}, [](double x, double, double) { return x * x; }, 0},
      {OpKind::rsqrt, 1, {}, [](double x, double, double) { return 1 / std::sqrt(x); }, 1},
      {OpKind::recip, 1, {}, [](double x, double, double) { return 1 / x; }, 0},
      {OpKind::copy, 1, {}, [](double x, double, double) { return x; }, 0},
      {OpKind::relu, 1, {}, [](double x, double, double) { return x > 0 ? x : 0; }, 0},
      {OpKind::silu, 1, {}, [](double x, double, double) { return x / (1 + std::exp(-x)); }, 2},
  };
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(-4, 4);
  const Index n = 200;
  for (const ElementOp& op : ops) {
    std::vector<Values> inputs(op.inputs, Values(n));
    for (Values& values : inputs) {
      for (float& value : values) {
        value = uniform(random);
        if (op.op == OpKind::rsqrt) value = std::fabs(value) + 0.01F;
      }
    }
    const Values result =
        run(op.op, std::vector<Slice>(op.inputs, dense(1, n)), inputs, dense(1, n), op.extras);
    for (std::size_t i = 0; i < n; ++i) {
      const auto input = [&](std::size_t k) {
        return k < op.inputs ? static_cast<double>(inputs[k][i]) : 0;
      };
      const auto expected = static_cast<float>(op.formula(input(0), input(1), input(2)));
      EXPECT_GE(result[i], ulps_from(expected, -op.ulps)) << to_string(op.op) << " " << input(0);
      EXPECT_LE(result[i], ulps_from(expected, op.ulps)) << to_string(op.op) << " " << input(0);
    }
  }
}

TEST(Numerics, GeluFollowsItsFormula) {
  // 0.5 x (1 + tanh(u)) cancels for negative x, so the error is measured against |x|.
  Values x;
  for (int i = -60; i <= 60; ++i) x.push_back(static_cast<float>(i) / 10);
  const auto n = static_cast<Index>(x.size());
  const Values result = run(OpKind::gelu, {dense(1, n)}, {x}, dense(1, n));
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto v = static_cast<double>(x[i]);
    const double expected = 0.5 * v * (1 + std::tanh(0.7978845608 * (v + 0.044715 * v * v * v)));
    EXPECT_NEAR(static_cast<double>(result[i]), expected, std::fabs(v) * 0x1p-22) << v;
  }
}

TEST(Numerics, FmaRoundsOnce) {
  // (1 + 2^-12)^2 - (1 + 2^-11) = 2^-24, which a rounded product loses.
  const float x = 1 + 0x1p-12F;
  const Values result = run(OpKind::fma, {dense(1, 1), dense(1, 1), dense(1, 1)},
                            {{x}, {x}, {-(1 + 0x1p-11F)}}, dense(1, 1));
  EXPECT_EQ(result, Values{0x1p-24F});
}

TEST(Numerics, ReductionsRunOverRowsInAscendingOrder) {
  // 1e8 + 1 is 1e8 in f32: only left to right gives 0 + 3 in the first row, 1 + 3 in the second.
  const Values x{1e8F, 1, -1e8F, 3, 1e8F, -1e8F, 1, 3};
  EXPECT_EQ(run(OpKind::rsum, {dense(2, 4)}, {x}, dense(1, 2)), (Values{3, 4}));
  EXPECT_EQ(run(OpKind::rmax, {dense(2, 4)}, {x}, dense(1, 2)), (Values{1e8F, 1e8F}));
  EXPECT_EQ(run(OpKind::rmax, {dense(1, 2)}, {{-kInf, -kInf}}, dense(1, 1)), Values{-kInf});
}

TEST(Numerics, NanPassesThroughEveryMaximum) {
  for (const Values& row : {Values{kNan, 1, 2}, Values{1, kNan, 2}, Values{1, 2, kNan}}) {
    EXPECT_TRUE(std::isnan(run(OpKind::rmax, {dense(1, 3)}, {row}, dense(1, 1))[0]));
  }
  EXPECT_TRUE(
      std::isnan(run(OpKind::max_elem, {dense(1, 1), dense(1, 1)}, {{1}, {kNan}}, dense(1, 1))[0]));
  EXPECT_TRUE(
      std::isnan(run(OpKind::max_elem, {dense(1, 1), dense(1, 1)}, {{kNan}, {1}}, dense(1, 1))[0]));
  EXPECT_TRUE(std::isnan(run(OpKind::relu, {dense(1, 1)}, {{kNan}}, dense(1, 1))[0]));
}

TEST(Numerics, GuardsOfMaskedRows) {
  const auto exp_diff = [](float x, float y) {
    return run(OpKind::exp_diff, {dense(1, 1), dense(1, 1)}, {{x}, {y}}, dense(1, 1))[0];
  };
  EXPECT_EQ(exp_diff(-kInf, -kInf), 0);
  EXPECT_EQ(exp_diff(-kInf, 3), 0);
  EXPECT_EQ(exp_diff(3, 3), 1);
  const Values quotient =
      run(OpKind::div_bcast, {dense(2, 2), dense(1, 2)}, {{1, kInf, 1, -3}, {0, 2}}, dense(2, 2));
  EXPECT_EQ(quotient, (Values{0, 0, 0.5F, -1.5F}));
}

TEST(Numerics, VectorOperandsGiveOneEntryARowOrAColumn) {
  const Values x{1, 2, 3, 4, 5, 6};  // 2 x 3
  const std::vector<Slice> with_rows{dense(2, 3), dense(1, 2)};
  const std::vector<Slice> with_cols{dense(2, 3), dense(1, 3)};
  const Slice out = dense(2, 3);
  EXPECT_EQ(run(OpKind::mul_bcast, with_rows, {x, {10, 100}}, out),
            (Values{10, 20, 30, 400, 500, 600}));
  EXPECT_EQ(run(OpKind::sub_bcast, with_rows, {x, {1, 4}}, out), (Values{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(run(OpKind::div_bcast, with_rows, {x, {1, 2}}, out), (Values{1, 2, 3, 2, 2.5F, 3}));
  EXPECT_EQ(run(OpKind::exp_diff, with_rows, {{1, -kInf, 1, 4, 4, -kInf}, {1, 4}}, out),
            (Values{1, 0, 1, 1, 1, 0}));
  EXPECT_EQ(run(OpKind::mul_cols, with_cols, {x, {1, 10, 100}}, out),
            (Values{1, 20, 300, 4, 50, 600}));
  EXPECT_EQ(run(OpKind::add_cols, with_cols, {x, {10, 20, 30}}, out),
            (Values{11, 22, 33, 14, 25, 36}));
  // bcast_axis never changes the result (contract 4).
  EXPECT_EQ(run(OpKind::mul_bcast, with_rows, {x, {10, 100}}, out,
                {Extra::i32(ExtraName::bcast_axis, 0)}),
            (Values{10, 20, 30, 400, 500, 600}));
}

TEST(Numerics, FillAndMask) {
  EXPECT_EQ(run(OpKind::fill, {}, {}, dense(2, 2), {Extra::f32(ExtraName::value, -kInf)}),
            Values(4, -kInf));
  const auto mask = [](std::int32_t first_col, std::uint32_t rows_per_step) {
    return run(OpKind::mask_cols, {dense(4, 3)}, {Values(12, 1)}, dense(4, 3),
               {Extra::f32(ExtraName::value, 9), Extra::i32(ExtraName::first_col, first_col),
                Extra::u32(ExtraName::rows_per_step, rows_per_step)});
  };
  EXPECT_EQ(mask(2, 0), (Values{1, 1, 9, 1, 1, 9, 1, 1, 9, 1, 1, 9}));
  EXPECT_EQ(mask(1, 2), (Values{1, 9, 9, 1, 9, 9, 1, 1, 9, 1, 1, 9}));
  EXPECT_EQ(mask(3, 1), Values(12, 1));
  // Below 0: row r begins at column r - 2.
  EXPECT_EQ(mask(-2, 1), (Values{9, 9, 9, 9, 9, 9, 9, 9, 9, 1, 9, 9}));
}

// ---- the accumulator --------------------------------------------------------------------------

Values on_accumulator(OpKind op, const Slice* other_slice, const Values& other, Values accumulator,
                      const std::vector<Extra>& extras = {}) {
  StageSpec stage;
  stage.op = op;
  stage.scope = Scope::output_tile;
  for (const Extra& extra : extras) stage.extras.push_back(extra);
  stage.m = 2;
  stage.n = 3;
  evaluate_on_accumulator(stage, other_slice, other, accumulator);
  return accumulator;
}

TEST(Numerics, AccumulatorOpsTakeOtherByItsShape) {
  const Values acc{1, 2, 3, 4, 5, 6};
  const Slice matrix = dense(2, 3), per_col = dense(1, 3), per_row = dense(2, 1), one = dense(1, 1);
  EXPECT_EQ(on_accumulator(OpKind::add, &matrix, {1, 1, 1, 2, 2, 2}, acc),
            (Values{2, 3, 4, 6, 7, 8}));
  EXPECT_EQ(on_accumulator(OpKind::add, &per_row, {10, 20}, acc), (Values{11, 12, 13, 24, 25, 26}));
  EXPECT_EQ(on_accumulator(OpKind::bias, &per_col, {10, 20, 30}, acc),
            (Values{11, 22, 33, 14, 25, 36}));
  EXPECT_EQ(on_accumulator(OpKind::mul, &per_col, {1, 10, 100}, acc),
            (Values{1, 20, 300, 4, 50, 600}));
  EXPECT_EQ(on_accumulator(OpKind::mul, &one, {2}, acc), (Values{2, 4, 6, 8, 10, 12}));
}

TEST(Numerics, AccumulatorOpsDoNotRound) {
  // 1/3 in f32 has no f16 form: it must survive (R4.6).
  const float third = 1.0F / 3;
  const Values acc{third, third, third, -third, -third, -third};
  EXPECT_EQ(on_accumulator(OpKind::scale, nullptr, {}, acc, {Extra::f32(ExtraName::value, 0.25F)}),
            (Values{third / 4, third / 4, third / 4, -third / 4, -third / 4, -third / 4}));
  EXPECT_EQ(on_accumulator(OpKind::relu, nullptr, {}, acc), (Values{third, third, third, 0, 0, 0}));
  const Values kernel_form = run(OpKind::silu, {dense(2, 3)}, {acc}, dense(2, 3));
  EXPECT_EQ(on_accumulator(OpKind::silu, nullptr, {}, acc), kernel_form);
  const Values gelu = run(OpKind::gelu, {dense(2, 3)}, {acc}, dense(2, 3));
  EXPECT_EQ(on_accumulator(OpKind::gelu, nullptr, {}, acc), gelu);
}

TEST(Numerics, GemmAddsEachEntryInAscendingKWithoutContraction) {
  // 5x63x7 is where a library's kernels changed 21 of 35 entries (R8.2). Two K tiles, 40 + 23.
  const Index m = 5, k = 63, n = 7;
  std::mt19937 random(3);
  std::uniform_real_distribution<float> uniform(-1, 1);
  Values a(m * k), b(k * n);
  for (float& value : a) value = uniform(random);
  for (float& value : b) value = uniform(random);

  Values accumulator(m * n, 0);
  for (const auto& [begin, count] : {std::pair<Index, Index>{0, 40}, {40, 23}}) {
    Values a_tile;
    for (Index i = 0; i < m; ++i) {
      for (Index j = begin; j < begin + count; ++j) {
        a_tile.push_back(a[static_cast<std::size_t>(i * k + j)]);
      }
    }
    const Values b_tile(b.begin() + begin * n, b.begin() + (begin + count) * n);
    multiply_accumulate(m, count, n, a_tile, b_tile, accumulator);
  }
  for (Index i = 0; i < m; ++i) {
    for (Index j = 0; j < n; ++j) {
      float sum = 0;
      for (Index x = 0; x < k; ++x) {
        const volatile float product =  // volatile: rounded for sure
            a[static_cast<std::size_t>(i * k + x)] * b[static_cast<std::size_t>(x * n + j)];
        sum += product;
      }
      EXPECT_EQ(bits(accumulator[static_cast<std::size_t>(i * n + j)]), bits(sum)) << i << " " << j;
    }
  }
}

// ---- storage ----------------------------------------------------------------------------------

TEST(Storage, UnwrittenBytesAreZeroAndBlockBordersAreSeamless) {
  const command::Address base = std::uint64_t{1} << 40;
  Storage storage({base, base + (std::uint64_t{36} << 30)});
  std::vector<std::uint8_t> data(200000);  // spans four blocks of 64 KiB
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::uint8_t>(i % 253);
  storage.write(base + 65530, data.data(), data.size());
  std::vector<std::uint8_t> back(data.size() + 20, 1);
  storage.read(base + 65520, back.data(), back.size());
  for (std::size_t i = 0; i < back.size(); ++i) {
    const bool written = i >= 10 && i < 10 + data.size();
    ASSERT_EQ(back[i], written ? data[i - 10] : 0) << i;
  }
  std::uint8_t last = 1;
  storage.read(storage.range().end - 1, &last, 1);
  EXPECT_EQ(last, 0);
}

}  // namespace
}  // namespace kernbench::arch
