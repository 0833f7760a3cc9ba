// SPDX-License-Identifier: Apache-2.0
// Contract 13, the rows that speak of decode: total of the region `loop`, default single_pe, G=8,
// d=128, TILE=64.

#include <gtest/gtest.h>

#include "model/arch/topology_file.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/kernel_bench.hpp"

namespace kernbench {
namespace {

using test::BenchResult;
using test::Settings;

BenchResult decode(const std::string& variant, int tiles,
                   const arch::TopologyConfig& topology = test::single_pe()) {
  return test::run_catalogue(topology, "gqa_decode",
                             {{"variant", variant}, {"s_kv", std::to_string(64 * tiles)}});
}

arch::TopologyConfig single_pe_ns() {
  return arch::read_topology_file(KERNBENCH_SOURCE_DIR "/topologies/single_pe_ns.yaml");
}

// #1(0) cold with scale (365.375), then a tile of 478 = 144 (K) + 144 (V) + 100 latency + 36 + 32
// ... as contract 13 has it, and 378 for the last #2.
TEST(DecodeTiming, Opt2Total1) {
  EXPECT_EQ(decode("opt2", 1).region_ps("loop"), 365375u + 378000u);
}
TEST(DecodeTiming, Opt2Total2) {
  EXPECT_EQ(decode("opt2", 2).region_ps("loop"), 365375u + 478000u + 378000u);
}
TEST(DecodeTiming, Opt2Total16) {
  EXPECT_EQ(decode("opt2", 16).region_ps("loop"), 365375u + 15 * 478000u + 378000u);
}
TEST(DecodeTiming, Opt2Total64) {
  EXPECT_EQ(decode("opt2", 64).region_ps("loop"), 365375u + 63 * 478000u + 378000u);
}

// 462.501 n + 616.503 (each tile ends a dispatch of 33 bytes, 42.0625 cycles, rounded to 42.063).
TEST(DecodeTiming, Opt3Total1) { EXPECT_EQ(decode("opt3", 1).region_ps("loop"), 1079004u); }
TEST(DecodeTiming, Opt3Total2) { EXPECT_EQ(decode("opt3", 2).region_ps("loop"), 1541505u); }
TEST(DecodeTiming, Opt3Total3) { EXPECT_EQ(decode("opt3", 3).region_ps("loop"), 2004006u); }
TEST(DecodeTiming, Opt3Total16) { EXPECT_EQ(decode("opt3", 16).region_ps("loop"), 8016519u); }
TEST(DecodeTiming, Opt3Total64) { EXPECT_EQ(decode("opt3", 64).region_ps("loop"), 30216567u); }

TEST(DecodeTiming, Opt1Total1) { EXPECT_EQ(decode("opt1", 1).region_ps("loop"), 743375u); }
TEST(DecodeTiming, Opt1Total16) {
  EXPECT_EQ(decode("opt1", 16).region_ps("loop"), 743375u + 15 * 510000u);
}

TEST(DecodeTiming, NsCalibrationOpt2Total16) {
  EXPECT_EQ(decode("opt2", 16, single_pe_ns()).region_ps("loop"), 15 * 478000u + 745500u);
}
TEST(DecodeTiming, NsCalibrationOpt3Total16) {
  EXPECT_EQ(decode("opt3", 16, single_pe_ns()).region_ps("loop"), 16 * 464000u + 604000u);
}

// R13.1: loads, fills and the wait take 180.502 at defaults.
TEST(DecodeTiming, LoopStartsAt180502ps) {
  EXPECT_EQ(decode("opt2", 2).region("loop").start_ps, 180502u);
}

double dispatch_cycles_per_tile(const BenchResult& result, int tiles,
                                const arch::TopologyConfig& topology) {
  const Region& loop = result.region("loop");
  return arch::dispatch_cycles(topology.pe.pe_cost_model, loop.segments, loop.logical_bytes)
             .to_double() /
         tiles;
}

TEST(DecodeTiming, DispatchCyclesPerTileOpt2) {
  EXPECT_EQ(dispatch_cycles_per_tile(decode("opt2", 16), 16, test::single_pe()), 103.5);
}
TEST(DecodeTiming, DispatchCyclesPerTileOpt3) {
  EXPECT_EQ(dispatch_cycles_per_tile(decode("opt3", 16), 16, test::single_pe()), 423.0);
}
TEST(DecodeTiming, DispatchCyclesPerTileOpt1) {
  EXPECT_EQ(dispatch_cycles_per_tile(decode("opt1", 16), 16, test::single_pe()), 144.375);
}
TEST(DecodeTiming, DispatchCyclesPerTileNs) {
  EXPECT_EQ(dispatch_cycles_per_tile(decode("opt3", 16, single_pe_ns()), 16, single_pe_ns()),
            412.0);
}
TEST(DecodeTiming, DispatchCyclesPerTileNsOpt2) {
  EXPECT_EQ(dispatch_cycles_per_tile(decode("opt2", 16, single_pe_ns()), 16, single_pe_ns()),
            158.0);
}
TEST(DecodeTiming, DispatchCyclesPerTileNsOpt1) {
  EXPECT_EQ(dispatch_cycles_per_tile(decode("opt1", 16, single_pe_ns()), 16, single_pe_ns()),
            193.5);
}

// R13.5: opt3 / opt2 of the loop over 32 tiles at 256 GB/s, to two decimals; a fork each.
std::uint64_t loop_ps(const std::string& variant, int tile, int tiles,
                      const arch::TopologyConfig& topology) {
  return std::stoull(test::in_child([&] {
    const auto result = test::run_catalogue(topology, "gqa_decode",
                                            {{"variant", variant},
                                             {"tile", std::to_string(tile)},
                                             {"s_kv", std::to_string(tile * tiles)}});
    return std::to_string(result.region_ps("loop"));
  }));
}

TEST(DecodeTiming, Opt2WinsAtSmallTilesAndWithFastHbm) {
  arch::TopologyConfig fast = test::single_pe();
  fast.hbm.gbps = arch::Rational(256);
  const auto ratio = [&](int tile) {
    return static_cast<double>(loop_ps("opt3", tile, 32, fast)) /
           static_cast<double>(loop_ps("opt2", tile, 32, fast));
  };
  EXPECT_NEAR(ratio(16), 2.05, 0.005);
  EXPECT_NEAR(ratio(64), 1.25, 0.005);
  EXPECT_NEAR(ratio(128), 1.10, 0.005);
  EXPECT_NEAR(ratio(256), 0.90, 0.005);
}

TEST(DecodeTiming, Opt2IsAheadUpTo22TilesAtTheDefaults) {
  const auto topology = test::single_pe();
  EXPECT_LT(loop_ps("opt2", 64, 22, topology), loop_ps("opt3", 64, 22, topology));
  EXPECT_GT(loop_ps("opt2", 64, 23, topology), loop_ps("opt3", 64, 23, topology));
}

}  // namespace
}  // namespace kernbench
