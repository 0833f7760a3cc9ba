// SPDX-License-Identifier: Apache-2.0
// R6.8, by hand: row by row in address order, contiguous rows merged, each run in naturally aligned
// powers of two of at most burst_bytes.
#include "model/arch/bursts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <vector>

namespace kernbench::arch {

bool operator==(const Burst& x, const Burst& y) {
  return x.addr == y.addr && x.bytes == y.bytes && x.offset == y.offset;
}
std::ostream& operator<<(std::ostream& out, const Burst& burst) {
  return out << burst.bytes << " bytes at " << burst.addr << ", offset " << burst.offset;
}

namespace {

using command::DType;
using command::Index;
using testing::ElementsAre;

Slice slice(command::Address addr, Index rows, Index cols, Index row_stride, Index col_stride = 1,
            DType dtype = DType::f16) {
  return {command::OperandName::src, dtype, addr, rows, cols, row_stride, col_stride};
}

std::vector<Burst> bursts(const Slice& source, std::uint32_t burst_bytes) {
  std::vector<Burst> result;
  for (BurstCursor cursor(source, burst_bytes); !cursor.done();) {
    result.push_back(cursor.peek());
    cursor.advance(result.back().bytes);
  }
  return result;
}

TEST(Bursts, AnAlignedRunIsCutAtBurstBytes) {
  EXPECT_THAT(bursts(slice(4096, 1, 5120, 5120), 4096),
              ElementsAre(Burst{4096, 4096, 0}, Burst{8192, 4096, 4096}, Burst{12288, 2048, 8192}));
}

// Address 0 is aligned to everything.
TEST(Bursts, FromAddressZero) {
  EXPECT_THAT(bursts(slice(0, 1, 96, 96), 128), ElementsAre(Burst{0, 128, 0}, Burst{128, 64, 128}));
}

// [100, 1100): grows to the alignment, then shrinks to the end. Cut at burst_bytes from the start
// (256, 256, 256, 232) would be neither aligned nor powers of two.
TEST(Bursts, AnUnalignedStart) {
  EXPECT_THAT(
      bursts(slice(100, 1, 500, 500), 256),
      ElementsAre(Burst{100, 4, 0}, Burst{104, 8, 4}, Burst{112, 16, 12}, Burst{128, 128, 28},
                  Burst{256, 256, 156}, Burst{512, 256, 412}, Burst{768, 256, 668},
                  Burst{1024, 64, 924}, Burst{1088, 8, 988}, Burst{1096, 4, 996}));
}

TEST(Bursts, OddSizes) {
  EXPECT_THAT(bursts(slice(4096, 1, 3, 3), 4096),
              ElementsAre(Burst{4096, 4, 0}, Burst{4100, 2, 4}));
  EXPECT_THAT(bursts(slice(4098, 1, 3, 3), 4096),
              ElementsAre(Burst{4098, 2, 0}, Burst{4100, 4, 2}));
  EXPECT_THAT(bursts(slice(4, 1, 1, 1, 1, DType::f32), 4096), ElementsAre(Burst{4, 4, 0}));
}

// Rows of 20 bytes, 100 apart, from 4: each row is a run of its own.
TEST(Bursts, StridedRows) {
  EXPECT_THAT(bursts(slice(4, 3, 10, 50), 4096),
              ElementsAre(Burst{4, 4, 0}, Burst{8, 8, 4}, Burst{16, 8, 12},         //
                          Burst{104, 8, 20}, Burst{112, 8, 28}, Burst{120, 4, 36},  //
                          Burst{204, 4, 40}, Burst{208, 16, 44}));
}

// 3 rows of 20 bytes without gaps are one run of 60; row by row the first would be 16, 4.
TEST(Bursts, ContiguousRowsAreMerged) {
  EXPECT_THAT(bursts(slice(0, 3, 10, 10), 4096),
              ElementsAre(Burst{0, 32, 0}, Burst{32, 16, 32}, Burst{48, 8, 48}, Burst{56, 4, 56}));
}

// A transposed view moves in the order of its memory: its columns are the runs.
TEST(Bursts, TransposedViews) {
  EXPECT_EQ(bursts(slice(0, 10, 3, 1, 10), 4096), bursts(slice(0, 3, 10, 10), 4096));
  EXPECT_EQ(bursts(slice(4, 10, 3, 1, 50), 4096), bursts(slice(4, 3, 10, 50), 4096));
}

// One column of a row-major matrix: an entry a row; dense as a (4, 1) tensor: one run.
TEST(Bursts, SingleColumns) {
  EXPECT_THAT(bursts(slice(64, 3, 1, 32), 4096),
              ElementsAre(Burst{64, 2, 0}, Burst{128, 2, 2}, Burst{192, 2, 4}));
  EXPECT_THAT(bursts(slice(64, 4, 1, 1), 4096), ElementsAre(Burst{64, 8, 0}));
}

// Runs end inside a burst's span: the rows of a 64 B wide tile in a 128 B wide matrix.
TEST(Bursts, ARunNeverReachesIntoTheGap) {
  EXPECT_THAT(bursts(slice(0, 2, 32, 64), 4096), ElementsAre(Burst{0, 64, 0}, Burst{128, 64, 64}));
}

}  // namespace
}  // namespace kernbench::arch
