// SPDX-License-Identifier: Apache-2.0
// The timing formulas of contract 6 and R3.8, by hand. ps unless said.
#include "model/arch/timing.hpp"

#include <gtest/gtest.h>

#include <array>

#include "tests/support/scale_sim.hpp"

namespace kernbench::arch {
namespace {

using command::OpKind;

TEST(Nanoseconds, AreExact) {
  EXPECT_EQ(nanoseconds(0), "0.000");
  EXPECT_EQ(nanoseconds(1234005), "1234.005");
}

// ---- gemm models --------------------------------------------------------------------------------

GemmConfig systolic(GemmModel model, std::uint64_t rows, std::uint64_t cols) {
  GemmConfig config;
  config.model = model;
  config.rows = rows;
  config.cols = cols;
  return config;
}

// Contract 13, against SCALE-Sim v3: every cell of the table.
TEST(GemmCycles, SystolicModelsAgreeWithScaleSim) {
  for (const test::ScaleSimRow& row : test::kScaleSim) {
    EXPECT_EQ(
        gemm_cycles(systolic(GemmModel::systolic_ws, row.array, row.array), row.m, row.k, row.n),
        row.weight_stationary)
        << row.m << "," << row.k << "," << row.n << " on " << row.array;
    EXPECT_EQ(
        gemm_cycles(systolic(GemmModel::systolic_os, row.array, row.array), row.m, row.k, row.n),
        row.output_stationary)
        << row.m << "," << row.k << "," << row.n << " on " << row.array;
  }
}

// ceil(k/R) ceil(n/C) (2R + C + m - 2) - 1 on 16 rows, 8 columns: R and C are not alike, so that
// their exchange shows (1,1,1 would be 8*2 + 16 + 1 - 2 - 1 = 30).
TEST(GemmCycles, WeightStationaryOnAnOblongArray) {
  const GemmConfig config = systolic(GemmModel::systolic_ws, 16, 8);
  EXPECT_EQ(gemm_cycles(config, 1, 1, 1), 38u);      // 32 + 8 + 1 - 2 - 1
  EXPECT_EQ(gemm_cycles(config, 16, 16, 8), 53u);    // 32 + 8 + 16 - 2 - 1
  EXPECT_EQ(gemm_cycles(config, 17, 17, 9), 219u);   // 2 * 2 * (40 + 17 - 2) - 1
  EXPECT_EQ(gemm_cycles(config, 32, 32, 16), 279u);  // 2 * 2 * (40 + 32 - 2) - 1
  EXPECT_EQ(gemm_cycles(config, 16, 17, 8), 107u);   // only k is over: 2 * 54 - 1
  EXPECT_EQ(gemm_cycles(config, 16, 16, 9), 107u);   // only n
}

// ceil(m/R) ceil(n/C) (k + R + C - 2) - 1.
TEST(GemmCycles, OutputStationaryOnAnOblongArray) {
  const GemmConfig config = systolic(GemmModel::systolic_os, 16, 8);
  EXPECT_EQ(gemm_cycles(config, 1, 1, 1), 22u);      // 1 + 16 + 8 - 2 - 1
  EXPECT_EQ(gemm_cycles(config, 16, 16, 8), 37u);    // 16 + 22 - 1
  EXPECT_EQ(gemm_cycles(config, 17, 17, 9), 155u);   // 2 * 2 * (17 + 22) - 1
  EXPECT_EQ(gemm_cycles(config, 32, 32, 16), 215u);  // 2 * 2 * (32 + 22) - 1
  EXPECT_EQ(gemm_cycles(config, 17, 16, 8), 75u);    // only m is over: 2 * 38 - 1
  EXPECT_EQ(gemm_cycles(config, 16, 16, 9), 75u);    // only n
}

// ceil(m/bm) ceil(k/bk) ceil(n/bn) + fill: fill once, not once a block.
TEST(GemmCycles, Block) {
  GemmConfig config;
  config.block_m = 8;
  config.block_k = 16;
  config.block_n = 32;
  config.fill_cycles = 5;
  EXPECT_EQ(gemm_cycles(config, 1, 1, 1), 6u);
  EXPECT_EQ(gemm_cycles(config, 8, 16, 32), 6u);
  EXPECT_EQ(gemm_cycles(config, 9, 17, 33), 13u);
  EXPECT_EQ(gemm_cycles(config, 16, 32, 64), 13u);
  EXPECT_EQ(gemm_cycles(config, 9, 16, 32), 7u);
  EXPECT_EQ(gemm_cycles(config, 8, 17, 32), 7u);
  EXPECT_EQ(gemm_cycles(config, 8, 16, 33), 7u);
}

// ---- dispatch (R3.8) ----------------------------------------------------------------------------

// The worked bytes of contract 3 at 40 + bytes / 16 cycles.
TEST(Dispatch, WorkedCommands) {
  const PeTiming timing{PeConfig{}};
  EXPECT_EQ(timing.dispatch(46), 42875u);
  EXPECT_EQ(timing.dispatch(54), 43375u);
  EXPECT_EQ(timing.dispatch(82), 45125u);
  EXPECT_EQ(timing.dispatch(322), 60125u);
}

// ceil(bytes / 1024) fixed costs. 1 + bytes / 1024 would charge 1,024 bytes two.
TEST(Dispatch, Segments) {
  const PeTiming timing{PeConfig{}};
  EXPECT_EQ(timing.dispatch(1022), 103875u);  // 40 + 63.875
  EXPECT_EQ(timing.dispatch(1024), 104000u);  // 40 + 64
  EXPECT_EQ(timing.dispatch(1026), 144125u);  // 80 + 64.125
  EXPECT_EQ(timing.dispatch(2046), 207875u);  // 80 + 127.875
  EXPECT_EQ(timing.dispatch(2050), 248125u);  // 120 + 128.125
  const CostModelConfig cost;
  EXPECT_EQ(dispatch_segments(cost, 0), 1u);
  EXPECT_EQ(dispatch_segments(cost, 2046), 2u);
  EXPECT_EQ(dispatch_segments(cost, 2050), 3u);
}

// R6.1, half up: 42312.5 becomes 42313 (half to even, or cut off: 42312); 41562.5 and 42062.5, too.
TEST(Dispatch, RoundsHalfUp) {
  const PeTiming timing{PeConfig{}};
  EXPECT_EQ(timing.dispatch(37), 42313u);
  EXPECT_EQ(timing.dispatch(25), 41563u);
  EXPECT_EQ(timing.dispatch(33), 42063u);
}

// Contract 13: 54 + 82 + 232 bytes in 10 commands are 423 cycles, 322 + 54 in 2 are 103.5; the sum
// of rounded durations of opt3 would be 423.002.
TEST(Dispatch, CyclesStayUnrounded) {
  const CostModelConfig cost;
  EXPECT_EQ(dispatch_cycles(cost, 10, 54 + 82 + 232), Rational(423));
  EXPECT_EQ(dispatch_cycles(cost, 2, 322 + 54), Rational(207, 2));
}

// ---- clocks whose period is no whole number of ps (R6.1) ----------------------------------------

PeConfig at_clock(const char* ghz) {
  PeConfig config;
  config.clock_ghz = Rational::parse(ghz);
  return config;
}

// 1.2 GHz: 833.33 ps. A rounded period would give 833 n.
TEST(Clock, OneAndAFifthGigahertz) {
  const PeTiming timing{at_clock("1.2")};
  EXPECT_EQ(timing.cycles(1), 833u);
  EXPECT_EQ(timing.cycles(2), 1667u);
  EXPECT_EQ(timing.cycles(3), 2500u);
  EXPECT_EQ(timing.cycles(3'000'000'000), 2'500'000'000'000u);
  EXPECT_EQ(timing.tcm(18432), 30000u);             // 36 cycles; 29988
  EXPECT_EQ(timing.gemm(8, 128, 64), 26667u);       // 32 cycles; 26656
  EXPECT_EQ(timing.math(OpKind::add, 512), 6667u);  // 8 cycles; 6664
  EXPECT_EQ(timing.dma_setup(), 13333u);            // 16 cycles; 13328
  EXPECT_EQ(timing.dispatch(46), 35729u);           // 42.875 cycles; 43 whole ones are 35833
}

// 0.7 GHz: 1428.57 ps; a rounded period would give 1429 n.
TEST(Clock, SevenTenthsGigahertz) {
  const PeTiming timing{at_clock("0.7")};
  EXPECT_EQ(timing.cycles(1), 1429u);
  EXPECT_EQ(timing.cycles(2), 2857u);
  EXPECT_EQ(timing.cycles(7), 10000u);
  EXPECT_EQ(timing.cycles(7'000'000), 10'000'000'000u);
  EXPECT_EQ(timing.dispatch(46), 61250u);  // 42.875 / 0.7
}

// A cost a byte that is no binary fraction: 40 + 46 * 0.1 = 44.6 cycles.
TEST(Clock, DecimalCostPerByte) {
  PeConfig config;
  config.pe_cost_model.cycles_per_byte = Rational::parse("0.1");
  EXPECT_EQ(PeTiming(config).dispatch(46), 44600u);
}

// ---- MATH ---------------------------------------------------------------------------------------

TEST(MathTime, WholeBeats) {
  const PeTiming timing{PeConfig{}};
  EXPECT_EQ(timing.math(OpKind::add, 1), 1000u);
  EXPECT_EQ(timing.math(OpKind::add, 64), 1000u);
  EXPECT_EQ(timing.math(OpKind::add, 65), 2000u);
  EXPECT_EQ(timing.math(OpKind::add, 512), 8000u);
}

// Contract 13: 8 + 1 + 1 + 8 + 8 + 1 + 16 + 1 = 44 cycles at G=8, TILE=64, d=128.
TEST(MathTime, PrologueOfTheFlagship) {
  const PeTiming timing{PeConfig{}};
  Picoseconds sum = 0;
  constexpr std::array<std::uint64_t, 8> kElements{512, 8, 8, 512, 512, 8, 1024, 8};
  for (const std::uint64_t elements : kElements) {
    sum += timing.math(OpKind::copy, elements);
  }
  EXPECT_EQ(sum, 44000u);
}

// ceil(512 / 64) / rate + fixed: the quotient is not rounded to a whole cycle (8/3 would be 3000),
// and fixed is not divided by the rate ((8 + 2) / 0.5 would be 20000).
TEST(MathTime, RateAndFixedCycles) {
  PeConfig config;
  const auto rate = [&](OpKind op) -> Rational& {
    return config.math.op_rate[static_cast<std::size_t>(op)];
  };
  rate(OpKind::add) = Rational(3);
  rate(OpKind::gelu) = Rational(1, 2);
  EXPECT_EQ(PeTiming(config).math(OpKind::add, 512), 2667u);
  EXPECT_EQ(PeTiming(config).math(OpKind::gelu, 512), 16000u);
  EXPECT_EQ(PeTiming(config).math(OpKind::mul, 512), 8000u);
  config.math.fixed_cycles = 2;
  EXPECT_EQ(PeTiming(config).math(OpKind::add, 512), 4667u);
  EXPECT_EQ(PeTiming(config).math(OpKind::gelu, 512), 18000u);
  config.clock_ghz = Rational::parse("0.7");
  EXPECT_EQ(PeTiming(config).math(OpKind::add, 512), 6667u);  // (8/3 + 2) / 0.7 = 6666.67
}

// ---- TCM, HBM, the least time -------------------------------------------------------------------

TEST(TcmTime, WholeCycles) {
  const PeTiming timing{PeConfig{}};
  EXPECT_EQ(timing.tcm(1), 1000u);
  EXPECT_EQ(timing.tcm(512), 1000u);
  EXPECT_EQ(timing.tcm(513), 2000u);
  EXPECT_EQ(timing.tcm(18432), 36000u);
  EXPECT_EQ(timing.tcm(1024), 2000u);
}

// 1 GB/s = 1e9 bytes/s; with 2^30 the 4096 bytes would take 29802.
TEST(HbmTime, ServiceAndLatency) {
  HbmConfig config;
  EXPECT_EQ(HbmTiming(config).service(4096), 32000u);
  EXPECT_EQ(HbmTiming(config).service(1), 8u);  // 7.8125
  EXPECT_EQ(HbmTiming(config).latency(), 100000u);
  config.efficiency = Rational::parse("0.8");
  EXPECT_EQ(HbmTiming(config).service(4096), 40000u);
  config.efficiency = Rational(1);
  config.gbps = Rational(96);
  EXPECT_EQ(HbmTiming(config).service(64), 667u);
  config.latency_ns = Rational::parse("0.0005");
  EXPECT_EQ(HbmTiming(config).latency(), 1u);  // half up
}

// "A stage, a dispatch and a burst last at least 1 ps"; setup and latency may be 0.
TEST(LeastTime, OnePicosecond) {
  PeConfig config;
  config.pe_cost_model.fixed_cycles = 0;
  config.pe_cost_model.cycles_per_byte = Rational(0);
  config.dma.setup_cycles = 0;
  config.math.op_rate[static_cast<std::size_t>(OpKind::copy)] = Rational(1'000'000);
  const PeTiming timing(config);
  EXPECT_EQ(timing.dispatch(46), 1u);
  EXPECT_EQ(timing.cycles(0), 1u);
  EXPECT_EQ(timing.math(OpKind::copy, 1), 1u);
  EXPECT_EQ(timing.dma_setup(), 0u);
  HbmConfig hbm;
  hbm.gbps = Rational(1'000'000);
  hbm.latency_ns = Rational(0);
  EXPECT_EQ(HbmTiming(hbm).service(64), 1u);
  EXPECT_EQ(HbmTiming(hbm).latency(), 0u);
}

}  // namespace
}  // namespace kernbench::arch
