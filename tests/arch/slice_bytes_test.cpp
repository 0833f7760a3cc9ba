// SPDX-License-Identifier: Apache-2.0
// The order in which a slice's bytes move (R6.8), by hand on the 2 x 3 matrix 1 2 3 / 4 5 6.
#include "model/arch/slice_bytes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kernbench::arch {
namespace {

using command::DType;
using command::OperandName;
using testing::ElementsAre;

constexpr Slice kRowMajor{OperandName::src, DType::f32, 0, 2, 3, 3, 1};
constexpr Slice kColumnMajor{OperandName::out, DType::f32, 256, 2, 3, 1, 2};
const Values kMatrix{1, 2, 3, 4, 5, 6};

Values values_of(const std::vector<std::uint8_t>& bytes) {
  Values values;
  for (std::size_t i = 0; i < bytes.size(); i += 4) {
    values.push_back(decode(DType::f32, bytes.data() + i));
  }
  return values;
}

TEST(SliceBytes, GatherFollowsTheOrderOfTheTarget) {
  Storage storage({0, 4096});
  write_slice(storage, kRowMajor, kMatrix);
  std::vector<std::uint8_t> bytes;
  gather(storage, kRowMajor, kRowMajor, bytes);
  EXPECT_THAT(values_of(bytes), ElementsAre(1, 2, 3, 4, 5, 6));
  gather(storage, kRowMajor, kColumnMajor, bytes);
  EXPECT_THAT(values_of(bytes), ElementsAre(1, 4, 2, 5, 3, 6));
}

TEST(SliceBytes, ScatterUndoesGather) {
  Storage storage({0, 4096});
  write_slice(storage, kRowMajor, kMatrix);
  std::vector<std::uint8_t> bytes;
  gather(storage, kRowMajor, kRowMajor, bytes);
  scatter(storage, kColumnMajor, kRowMajor, bytes);
  Values values;
  read_slice(storage, kColumnMajor, values);
  EXPECT_EQ(values, kMatrix);
}

TEST(SliceBytes, PackIsTheOrderOfTheSlice) {
  std::vector<std::uint8_t> bytes;
  pack(kColumnMajor, kMatrix, bytes);
  EXPECT_THAT(values_of(bytes), ElementsAre(1, 4, 2, 5, 3, 6));
}

// Rows of 12 bytes every 20, and the same transposed; without gaps one run.
TEST(SliceBytes, RunsLeaveOutTheGaps) {
  using command::ByteRange;
  std::vector<ByteRange> runs{{1, 2}};
  byte_runs({OperandName::src, DType::f32, 100, 2, 3, 5, 1}, runs);
  EXPECT_THAT(runs, ElementsAre(ByteRange{100, 112}, ByteRange{120, 132}));
  byte_runs({OperandName::src, DType::f32, 100, 3, 2, 1, 5}, runs);
  EXPECT_THAT(runs, ElementsAre(ByteRange{100, 112}, ByteRange{120, 132}));
  byte_runs(kRowMajor, runs);
  EXPECT_THAT(runs, ElementsAre(ByteRange{0, 24}));
}

}  // namespace
}  // namespace kernbench::arch
