// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/inputs.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "tlm_if/command/error.hpp"

namespace kernbench::runtime {
namespace {

using command::DType;
using kernels::Direction;
using kernels::TensorSpec;

std::vector<TensorSpec> decode_tensors() {
  return {{"q", {8, 1, 4}, {8, 4}, DType::f16, Direction::in},
          {"k", {1, 16, 4}, {16, 4}, DType::f16, Direction::in},
          {"out", {8, 1, 4}, {8, 4}, DType::f16, Direction::out}};
}

TEST(SyntheticInputs, FollowSeedAndNameOnly) {
  const auto all = synthetic_inputs(decode_tensors(), 7);
  EXPECT_EQ(all.size(), 2U);  // no outputs
  EXPECT_EQ(all.at("q").size(), 32U);
  EXPECT_EQ(synthetic_inputs(decode_tensors(), 7), all);
  // Without q, k is the same: tensors are independent.
  const auto alone = synthetic_inputs({decode_tensors()[1]}, 7);
  EXPECT_EQ(alone.at("k"), all.at("k"));
  // Another name or seed is another sequence.
  EXPECT_NE(std::vector<double>(all.at("k").begin(), all.at("k").begin() + 32), all.at("q"));
  EXPECT_NE(synthetic_inputs(decode_tensors(), 8).at("q"), all.at("q"));
}

TEST(SyntheticInputs, FirstValuesAreFixed) {
  // Computed outside: FNV-1a of 8 seed bytes and "q", MT19937-64, Box-Muller, rounding to f16.
  const auto inputs = synthetic_inputs(decode_tensors(), 0);
  const std::vector<double> first(inputs.at("q").begin(), inputs.at("q").begin() + 4);
  EXPECT_EQ(first, (std::vector<double>{-0.78125, -1.76953125, 1.15234375, -0.62109375}));
}

TEST(SyntheticInputs, AreStandardNormalAndRepresentable) {
  // 2^16 entries: the mean is within 5 / 2^8 and the variance within 5 sqrt(2) / 2^8.
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32}) {
    const auto inputs = synthetic_inputs({{"x", {65536}, {65536}, dtype, Direction::in}}, 1);
    const std::vector<double>& x = inputs.at("x");
    const double mean = std::accumulate(x.begin(), x.end(), 0.0) / 65536;
    double variance = 0, beyond_two = 0;
    const double unit = dtype == DType::f16 ? 0x1p-11 : dtype == DType::bf16 ? 0x1p-8 : 0x1p-24;
    for (const double value : x) {
      variance += (value - mean) * (value - mean) / 65536;
      beyond_two += std::fabs(value) > 2 ? 1 : 0;
      // A significand of 11, 8 or 24 bits is a multiple of the unit of its binade.
      int exponent = 0;
      const double scaled = std::frexp(value, &exponent) / unit;
      if (std::fabs(value) > 0x1p-14) {
        ASSERT_EQ(scaled, std::floor(scaled)) << value;
      }
    }
    EXPECT_NEAR(mean, 0, 0.02);
    EXPECT_NEAR(variance, 1, 0.028);
    EXPECT_NEAR(beyond_two / 65536, 0.0455, 0.005);  // 2 (1 - Phi(2))
  }
}

// The same sequence as a normal tensor of that name, folded: 1 + |x|.
TEST(SyntheticInputs, AtLeastOneIsOnePlusTheMagnitude) {
  const TensorSpec normal{"l", {999}, {999}, DType::f32, Direction::in};
  TensorSpec folded = normal;
  folded.domain = kernels::Domain::at_least_one;
  const auto x = synthetic_inputs({normal}, 3).at("l"), y = synthetic_inputs({folded}, 3).at("l");
  ASSERT_EQ(y.size(), 999U);
  for (std::size_t i = 0; i < y.size(); ++i) {
    EXPECT_GE(y[i], 1);
    EXPECT_NEAR(y[i], 1 + std::fabs(x[i]), 4 * 0x1p-23);  // f32 below 8
  }
}

TEST(SyntheticInputs, AreScaled) {
  const TensorSpec normal{"w", {999}, {999}, DType::f16, Direction::in};
  TensorSpec halved = normal;
  halved.synthetic_scale = 0.5;
  const auto x = synthetic_inputs({normal}, 3).at("w"), y = synthetic_inputs({halved}, 3).at("w");
  // A power of two rounds nothing above 2^-14.
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(y[i], x[i] / 2, 0x1p-25);
}

FileTensors good_file() {
  return {{"q", {FileDType::f16, {8, 1, 4}, std::vector<double>(32, 1)}},
          {"k", {FileDType::f16, {16, 4}, std::vector<double>(64, 2)}}};
}

std::string error_of(const FileTensors& given) {
  try {
    checked_inputs(decode_tensors(), given, "x.safetensors");
  } catch (const InputError& e) {
    return e.what();
  }
  return "no error";
}

TEST(CheckedInputs, TakesTheInputsAndDroppedAxesOfSizeOne) {
  const auto inputs = checked_inputs(decode_tensors(), good_file(), "x.safetensors");
  EXPECT_EQ(inputs.at("q"), std::vector<double>(32, 1));
  EXPECT_EQ(inputs.at("k"), std::vector<double>(64, 2));
  FileTensors file = good_file();
  file["q"].shape = {8, 4};
  EXPECT_EQ(error_of(file), "no error");
  file["k"].shape = {1, 16, 4};
  EXPECT_EQ(error_of(file), "no error");
}

TEST(CheckedInputs, RefusesWhatDoesNotFit) {
  FileTensors file = good_file();
  file["kk"] = file["k"];
  EXPECT_EQ(
      error_of(file),
      "x.safetensors: tensor 'kk' is not an input of the kernel; inputs are q, k; did you mean "
      "'k'?");
  EXPECT_EQ(error_of({}), "x.safetensors: missing tensors q, k; inputs are q, k");
  file = good_file();
  file.erase("k");
  EXPECT_EQ(error_of(file), "x.safetensors: missing tensor k; inputs are q, k");
  file = good_file();
  file["q"].dtype = FileDType::bf16;
  EXPECT_EQ(error_of(file), "x.safetensors: tensor 'q' has dtype BF16; the kernel takes F16");
  for (const std::vector<std::int64_t>& shape :
       {std::vector<std::int64_t>{4, 8}, {32}, {8, 4, 1}, {1, 8, 1, 4}, {8, 1, 1, 4}, {}}) {
    file = good_file();
    file["q"].shape = shape;
    EXPECT_NE(
        error_of(file).find("the kernel takes [8, 1, 4], where axes of size 1 may be missing"),
        std::string::npos);
  }
}

// Entry 9 of rows of 4 is [2, 1].
TEST(CheckedInputs, RefusesWhatIsNotFinite) {
  FileTensors file = good_file();
  file["k"].values[9] = std::nan("");
  EXPECT_EQ(error_of(file),
            "x.safetensors: tensor 'k' has nan at [2, 1]; its entries are finite numbers, as the "
            "check against float64 needs them; replace it");
  file["k"].values[9] = -std::numeric_limits<double>::infinity();
  EXPECT_NE(error_of(file).find("tensor 'k' has -inf at [2, 1]"), std::string::npos);
}

// A masked score is -inf; nothing else that is not finite is a score.
TEST(CheckedInputs, TakesMinusInfinityWhereEntriesMayBeMasked) {
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<TensorSpec> tensors{
      {"x", {2}, {2}, DType::f16, Direction::in, kernels::Domain::masked}};
  const auto checked = [&](std::vector<double> x) {
    return checked_inputs(tensors, {{"x", {FileDType::f16, {2}, std::move(x)}}}, "x.safetensors");
  };
  EXPECT_EQ(checked({-inf, 1}).at("x"), (std::vector<double>{-inf, 1}));
  for (const double odd : {inf, std::nan("")}) {
    try {
      checked({-inf, odd});
      ADD_FAILURE() << odd;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what())
                    .find(" at [1]; its entries are finite numbers or -inf, as the check"),
                std::string::npos)
          << error.what();
    }
  }
  // Synthetic entries are those of any tensor of that name.
  std::vector<TensorSpec> normal = tensors;
  normal[0].domain = kernels::Domain::normal;
  EXPECT_EQ(synthetic_inputs(tensors, 4), synthetic_inputs(normal, 4));
}

}  // namespace
}  // namespace kernbench::runtime
