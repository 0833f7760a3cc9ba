// SPDX-License-Identifier: Apache-2.0
// The gemm rows of contract 13, compared with the op log row by row. ps throughout.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "tests/support/kernel_bench.hpp"

namespace kernbench {
namespace {

using test::BenchResult;
using test::OpLogRow;

BenchResult gemm(arch::TopologyConfig topology, const test::Settings& settings) {
  return test::run_catalogue(topology, "gemm", settings);
}

// + scale: the scale op is 8 bytes more to dispatch (0.5 cycles) and 8 cycles of MATH (512 / 64).
TEST(GemmTiming, ScaleEpilogueTakes8500psMore) {
  EXPECT_EQ(gemm(test::single_pe(), {{"b", "hbm"}, {"epilogue", "scale"}}).region_ps("loop"),
            365375u);
}
TEST(GemmTiming, Bare) {
  EXPECT_EQ(gemm(test::single_pe(), {{"b", "hbm"}}).region_ps("loop"), 356875u);
}
TEST(GemmTiming, OutInHbm) {
  EXPECT_EQ(gemm(test::single_pe(), {{"b", "hbm"}, {"out", "hbm"}}).region_ps("loop"),
            356875u + 124000u);
}
TEST(GemmTiming, PinnedB) {
  EXPECT_EQ(gemm(test::single_pe(), {{"b", "tcm"}}).region_ps("loop"), 356875u - 244000u);
}

// d_i = max(d_(i-1), e_(i-B)) + Kd; a_i = d_i + L; f_i = max(f_(i-1), a_i) + F;
// e_i = max(e_(i-1), f_i) + g; then + 42.875 dispatch + 2 last STORE. 16 n-tiles of 8x128x64.
void check_recurrence(std::uint32_t buffers, std::uint64_t fill_cycles,
                      std::uint64_t expected_e16) {
  arch::TopologyConfig topology = test::single_pe();
  topology.pe.gemm.tile_n = 64;
  topology.pe.scheduler.tile_buffers = buffers;
  topology.pe.gemm.fill_cycles = fill_cycles;
  const BenchResult result = gemm(topology, {{"n", "1024"}, {"b", "hbm"}});
  const std::uint64_t kd = 144000, latency = 100000, fetch = 36000;
  const std::uint64_t g = 32000 + fill_cycles * 1000;
  const std::uint64_t t0 = result.region("loop").start_ps + 42875;

  const auto rows = [&](const std::string& stage) {
    return test::select(result.rows, [&](const OpLogRow& row) {
      return row.stage == stage && row.op == "gemm" && row.tile_n >= 0;
    });
  };
  const auto reads = rows("dma_read"), fetches = rows("fetch"), gemms = rows("gemm");
  ASSERT_EQ(reads.size(), 16u);
  ASSERT_EQ(fetches.size(), 16u);
  ASSERT_EQ(gemms.size(), 16u);
  std::array<std::uint64_t, 17> d{}, f{}, e{};
  for (std::size_t i = 1; i <= 16; ++i) {
    d[i] = std::max(d[i - 1], i > buffers ? e[i - buffers] : 0) + kd;
    const std::uint64_t a = d[i] + latency;
    f[i] = std::max(f[i - 1], a) + fetch;
    e[i] = std::max(e[i - 1], f[i]) + g;
    EXPECT_EQ(reads[i - 1].end, t0 + d[i]) << i;
    EXPECT_EQ(reads[i - 1].done, t0 + a) << i;
    EXPECT_EQ(fetches[i - 1].end, t0 + f[i]) << i;
    EXPECT_EQ(gemms[i - 1].end, t0 + e[i]) << i;
    EXPECT_EQ(gemms[i - 1].tile_n, static_cast<std::int64_t>(i - 1));
  }
  EXPECT_EQ(e[16], expected_e16);
  EXPECT_EQ(result.region_ps("loop"), 42875 + e[16] + 2000);
}

TEST(GemmTiming, Recurrence16TilesB2) { check_recurrence(2, 0, 2640000); }
TEST(GemmTiming, Recurrence16TilesB3) { check_recurrence(3, 0, 2472000); }
TEST(GemmTiming, Recurrence16TilesSlowGemmB2) { check_recurrence(2, 368, 6680000); }
TEST(GemmTiming, Recurrence16TilesSlowGemmB3) { check_recurrence(3, 368, 6680000); }

// With out in HBM the write of tile i (1024 B / 128 = 8 ns at the shared server) falls into the
// read of tile i + 2, which takes 8 ns longer: tiles 1 to 14 do, for 15 and 16 there is no such
// read. Total: 42.875 + 16 * 144 + 14 * 8 + 100 + 36 + 32 + 2 + (16 + 8 + 100).
TEST(GemmTiming, EarlierWritesDelayLaterReadsBy8ns) {
  arch::TopologyConfig topology = test::single_pe();
  topology.pe.gemm.tile_n = 64;
  const BenchResult result = gemm(topology, {{"n", "1024"}, {"b", "hbm"}, {"out", "hbm"}});
  const auto reads = test::select(
      result.rows, [](const OpLogRow& row) { return row.stage == "dma_read" && row.tile_n >= 0; });
  ASSERT_EQ(reads.size(), 16u);
  for (std::size_t i = 0; i < 16; ++i) {
    EXPECT_EQ(reads[i].end - reads[i].start, i < 2 ? 144000u : 152000u) << i;
  }
  EXPECT_EQ(result.region_ps("loop"), 2752875u);
}

}  // namespace
}  // namespace kernbench
