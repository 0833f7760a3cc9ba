// SPDX-License-Identifier: Apache-2.0
// Rules of contract 5 to 7, each with a case in which the other reading gives another number. All
// times are ns after the start of the run unless said; unit_pe() has the time of each stage.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <tuple>

#include "tests/model/raw_commands.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/kernel_bench.hpp"

namespace kernbench {
namespace {

using command::CommandSink;
using command::DmaReadCmd;
using command::DmaWriteCmd;
using command::DType;
using command::GemmCmd;
using command::MathCmd;
using command::Scope;
using command::TensorHandle;
using test::add;
using test::BenchResult;
using test::composite;
using test::copy;
using test::fill;
using test::gemm;
using test::hbm;
using test::ns;
using test::ns_of_math;
using test::OpLogRow;
using test::rows_of;
using test::run_kernel;
using test::scale;
using test::Span;
using test::spans;
using test::tcm;
using test::transposed;
using test::unit_pe;
using test::work_of;
using test::work_span;
using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;

// Operands of a gemm with n_tiles column tiles of 32; a tile of b is one run of 2048 bytes.
TensorHandle a_tcm() { return tcm(0, {8, 32}); }
TensorHandle b_tcm(command::Index n_tiles) { return tcm(4096, {32, 32 * n_tiles}); }
TensorHandle b_hbm(command::Index n_tiles) { return transposed(hbm(0, {32 * n_tiles, 32})); }
TensorHandle out_tcm(command::Index n_tiles) { return tcm(65536, {8, 32 * n_tiles}); }
TensorHandle out_hbm(command::Index n_tiles) { return transposed(hbm(1 << 20, {32 * n_tiles, 8})); }

// Tensors that MATH takes 50 ns for, and others that take 1.
TensorHandle x50() { return ns_of_math(0, 50); }
TensorHandle small(int i) { return ns_of_math(100000 + 128 * static_cast<unsigned>(i), 1); }

// A composite that shares nothing with the tensors above: FETCH, GEMM, STORE of one tile, 58 ns.
command::CompositeCmd unrelated_gemm() {
  return composite({gemm(tcm(110592, {8, 32}), tcm(112640, {32, 32}), tcm(118784, {8, 32}))});
}

auto tile_of(const OpLogRow& row) { return std::tuple(row.tile_m, row.tile_n, row.tile_k); }

// ---- contract 5: placement ----------------------------------------------------------------------

// `kernel` means once per composite: the prologue op runs once before two tiles, and again in the
// next composite. Once a tile would give 2 rows each, once a launch 1 and 0.
TEST(TimingRules, R5_1_KernelScopeRunsOncePerComposite) {
  const auto result = run_kernel(unit_pe(), [](CommandSink& sink) {
    const auto command =
        composite({fill(a_tcm(), 1), gemm(a_tcm(), b_tcm(2), out_tcm(2))}, {a_tcm()});
    sink.issue(command);
    sink.issue(command);
  });
  EXPECT_EQ(rows_of(result, 0, "math").size(), 1u);
  EXPECT_EQ(rows_of(result, 1, "math").size(), 1u);
  EXPECT_EQ(rows_of(result, 0, "gemm").size(), 2u);
  EXPECT_EQ(spans(result, 0, "math")[0], ns(10, 14));
  EXPECT_EQ(spans(result, 0, "fetch")[0], ns(14, 54));  // the loop follows the last prologue op
}

// Without a gemm all ops run once, in order, over whole tensors: 16 + 16 ns for 1024 entries.
TEST(TimingRules, R5_1_WithoutGemmAllOpsOnceInOrder) {
  const auto result = run_kernel(unit_pe(), [](CommandSink& sink) {
    const auto x = tcm(0, {16, 64}), y = tcm(4096, {16, 64});
    sink.issue(composite({copy(x, y), copy(y, x)}));
  });
  EXPECT_THAT(spans(result, 0, "math"), ElementsAre(ns(10, 26), ns(26, 42)));
  EXPECT_EQ(work_of(result, 0).size(), 2u);
}

// m outer, n, then k inner; edges at their true size (12 x 40 x 40 in tiles of 8 x 32 x 32). n
// outer would start (0,0,0) (0,0,1) (1,0,0); padded tiles would all have 8192 entries.
TEST(TimingRules, R5_2_OrderAndTrueSizes) {
  const auto result = run_kernel(unit_pe(), [](CommandSink& sink) {
    const auto out = hbm(1 << 20, {12, 40});
    sink.issue(
        composite({gemm(hbm(0, {12, 40}), hbm(65536, {40, 40}), out), scale(Scope::output_tile)}));
  });
  const auto gemms = rows_of(result, 0, "gemm");
  std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t>> tiles;
  std::vector<std::uint64_t> elements;
  for (const OpLogRow& row : gemms) {
    tiles.push_back(tile_of(row));
    elements.push_back(row.elements);
  }
  using T = std::tuple<std::int64_t, std::int64_t, std::int64_t>;
  EXPECT_THAT(tiles, ElementsAre(T{0, 0, 0}, T{0, 0, 1}, T{0, 1, 0}, T{0, 1, 1}, T{1, 0, 0},
                                 T{1, 0, 1}, T{1, 1, 0}, T{1, 1, 1}));
  EXPECT_THAT(elements, ElementsAre(8192, 2048, 2048, 512, 4096, 1024, 1024, 256));
  std::vector<std::uint64_t> a_bytes, b_bytes, out_bytes;
  for (const OpLogRow& row : rows_of(result, 0, "dma_read")) {
    (row.operand == "a" ? a_bytes : b_bytes).push_back(row.bytes);
  }
  for (const OpLogRow& row : rows_of(result, 0, "dma_write")) out_bytes.push_back(row.bytes);
  EXPECT_THAT(a_bytes, ElementsAre(512, 128, 512, 128, 256, 64, 256, 64));
  EXPECT_THAT(b_bytes, ElementsAre(2048, 512, 512, 128, 2048, 512, 512, 128));
  // Output ops, STORE and DMA_WRITE at the last k only.
  EXPECT_THAT(out_bytes, ElementsAre(512, 128, 256, 64));
  EXPECT_EQ(rows_of(result, 0, "store").size(), 4u);
  EXPECT_EQ(rows_of(result, 0, "math").size(), 4u);
}

// With out = O and add other = O the result is P.V + O: 32 * 1 * 1 + 5. An accumulator that is
// written to `out` before the ops have run would be added to itself: 64.
TEST(TimingRules, R5_3_AccumulatorIsStoredAfterTheOutputOps) {
  test::BenchOptions options;
  options.data = true;
  const auto O = tcm(65536, {8, 32}, DType::f32);
  const auto result = run_kernel(
      unit_pe(),
      [&](CommandSink& sink) {
        sink.issue(MathCmd{fill(a_tcm(), 1)});
        sink.issue(MathCmd{fill(b_tcm(1), 1)});
        sink.issue(MathCmd{fill(O, 5)});
        sink.issue(composite({gemm(a_tcm(), b_tcm(1), O), add(O, O)}, {O}));
        sink.observe("O", O);
      },
      options);
  EXPECT_EQ(result.observed.at("O"), std::vector<float>(256, 37.0F));
  ASSERT_EQ(spans(result, 3, "store").size(), 1u);
  EXPECT_EQ(spans(result, 3, "store")[0].first, spans(result, 3, "math")[0].second);
}

// Two buffers: tile 2 may start its DMA when tile 0 has finished GEMM, at 92; b tiles arrive at 42
// and 74, FETCH 42 to 82, GEMM 82 to 92. Three tiles in flight: 74; a credit back at the end of
// FETCH: 82. FETCH 1 82 to 122; FETCH 2 124 (its data) but STORE 0 122 to 130 is on the server, so
// 130 to 170; GEMM 2 to 180, STORE 2 to 188.
TEST(TimingRules, R5_4_TilesInFlight) {
  auto topology = unit_pe();
  topology.pe.scheduler.tile_buffers = 2;
  const auto result = run_kernel(topology, [](CommandSink& sink) {
    sink.issue(composite({gemm(a_tcm(), b_hbm(3), out_tcm(3))}));
  });
  EXPECT_THAT(spans(result, 0, "dma_read"), ElementsAre(ns(10, 42), ns(42, 74), ns(92, 124)));
  EXPECT_THAT(spans(result, 0, "fetch"), ElementsAre(ns(42, 82), ns(82, 122), ns(130, 170)));
  EXPECT_EQ(result.end_ps, 188000u);
}

// (Tiles on demand: tests/arch/plan_test.cpp.) Here: 128 K tiles of one output come in order.
TEST(TimingRules, R5_6_ManyKTiles) {
  const auto result = run_kernel(unit_pe(), [](CommandSink& sink) {
    sink.issue(
        composite({gemm(tcm(0, {8, 4096}), transposed(hbm(0, {8, 4096})), tcm(65536, {8, 8}))}));
  });
  const auto gemms = rows_of(result, 0, "gemm");
  ASSERT_EQ(gemms.size(), 128u);
  for (std::size_t i = 0; i < gemms.size(); ++i) {
    EXPECT_EQ(tile_of(gemms[i]), std::tuple(0, 0, static_cast<std::int64_t>(i)));
  }
}

// ---- R6.0 to R6.2 -------------------------------------------------------------------------------

// A MathCmd is one stage, a GemmCmd FETCH, GEMM, STORE a tile with the same credits, and a load one
// DMA stage over 64 KiB, not one a tile, without FETCH or STORE.
TEST(TimingRules, R6_0_SimpleCommands) {
  const auto result = run_kernel(unit_pe(), [](CommandSink& sink) {
    sink.issue(MathCmd{fill(ns_of_math(0, 50))});
    sink.issue(GemmCmd{gemm(tcm(20480, {8, 32}), tcm(24576, {32, 64}), tcm(40960, {8, 64}))});
    sink.issue(DmaReadCmd{hbm(0, {64, 512}), tcm(65536, {64, 512})});
  });
  EXPECT_THAT(spans(result, 0, "math"), ElementsAre(ns(10, 60)));
  EXPECT_EQ(work_of(result, 0).size(), 1u);
  EXPECT_THAT(spans(result, 1, "fetch"), ElementsAre(ns(20, 60), ns(60, 100)));
  EXPECT_THAT(spans(result, 1, "gemm"), ElementsAre(ns(60, 70), ns(100, 110)));
  EXPECT_THAT(spans(result, 1, "store"), ElementsAre(ns(100, 108), ns(110, 118)));
  EXPECT_EQ(work_of(result, 1).size(), 6u);
  EXPECT_THAT(spans(result, 2, "dma_read"), ElementsAre(ns(30, 1054)));
  EXPECT_EQ(work_of(result, 2).size(), 1u);
}

// At 1.2 GHz 3 cycles are 2500 ps and 10 are 8333; a rounded period would give 2499 and 8330.
TEST(TimingRules, R6_1_OneConversionADuration) {
  auto topology = unit_pe();
  topology.pe.clock_ghz = arch::Rational(6, 5);
  const auto result =
      run_kernel(topology, [](CommandSink& sink) { sink.issue(MathCmd{fill(ns_of_math(0, 3))}); });
  EXPECT_THAT(spans(result, 0, "dispatch"), ElementsAre(Span{0, 8333}));
  EXPECT_THAT(spans(result, 0, "math"), ElementsAre(Span{8333, 10833}));
}

// A fill has 17 bytes: 41.0625 cycles, 41062.5 ps, half up 41063 (half to even: 41062). Two of them
// end at 82126, while the summary's cycles stay 82.125.
TEST(TimingRules, R6_1_HalfUpAndUnroundedCycles) {
  const auto topology = test::single_pe();
  const auto result = run_kernel(topology, [](CommandSink& sink) {
    sink.begin_region("loop");
    sink.issue(MathCmd{fill(small(0))});
    sink.issue(MathCmd{fill(small(1))});
    sink.end_region("loop");
  });
  EXPECT_THAT(spans(result, 0, "dispatch"), ElementsAre(Span{0, 41063}));
  EXPECT_THAT(spans(result, 1, "dispatch"), ElementsAre(Span{41063, 82126}));
  const Region& loop = result.region("loop");
  EXPECT_EQ(arch::dispatch_cycles(topology.pe.pe_cost_model, loop.segments, loop.logical_bytes),
            arch::Rational(657, 8));
}

// Depth 1. Command 1 conflicts with 0 and waits at the head from 20 to 60, in the queue's only
// place, so the offer of command 2 at 30 stalls until then. A head that left the queue to wait
// would let 2 in at 30, and 3 stall from 40.
TEST(TimingRules, R6_2_TheHeadKeepsItsPlaceInTheQueue) {
  auto topology = unit_pe();
  topology.pe.cpu.cmd_queue_depth = 1;
  const auto result = run_kernel(topology, [](CommandSink& sink) {
    sink.issue(composite({fill(x50())}));
    sink.issue(composite({copy(x50(), ns_of_math(16384, 50))}));
    sink.issue(unrelated_gemm());
    sink.issue(composite({fill(small(0))}));
  });
  EXPECT_THAT(spans(result, 1, "admit_stall"), ElementsAre(ns(20, 60)));
  EXPECT_THAT(spans(result, 2, "queue_stall"), ElementsAre(ns(30, 60)));
  EXPECT_THAT(spans(result, 3, "queue_stall"), IsEmpty());
  EXPECT_THAT(spans(result, 3, "dispatch"), ElementsAre(ns(60, 70)));
}

// ---- R6.3 to R6.6: tiles ------------------------------------------------------------------------

// Latency 100, two buffers, a and b streamed over one channel: both tiles are offered at 10, a
// first: a0 b0 a1 b1 back to back. FETCH 0 waits for both, until 150. Offers one tile after the
// other's data would start a1 at 150; b first would read b0 from 10; FETCH after a alone: 118.
TEST(TimingRules, R6_3_EveryTileWithACreditOffersItsDmasAtOnce) {
  auto topology = unit_pe();
  topology.pe.scheduler.tile_buffers = 2;
  topology.hbm.latency_ns = arch::Rational(100);
  const auto result = run_kernel(topology, [](CommandSink& sink) {
    sink.issue(composite({gemm(hbm(1 << 20, {8, 32}), b_hbm(2), out_tcm(2))}));
  });
  const auto reads = rows_of(result, 0, "dma_read");
  EXPECT_THAT(spans(result, 0, "dma_read"),
              ElementsAre(ns(10, 18), ns(18, 50), ns(50, 58), ns(58, 90)));
  EXPECT_EQ(reads[0].operand + reads[1].operand + reads[2].operand + reads[3].operand, "abab");
  EXPECT_EQ(reads[1].done, 150000u);
  EXPECT_THAT(spans(result, 0, "fetch"), ElementsAre(ns(150, 190), ns(190, 230)));
}

// On two channels a and b start together. One row a 512-byte burst: a is served 10 to 18, b
// from 18.
TEST(TimingRules, R6_3_AAndBAreOfferedTogether) {
  auto topology = unit_pe();
  topology.pe.dma.read_channels = 2;
  const auto result = run_kernel(topology, [](CommandSink& sink) {
    sink.issue(composite({gemm(hbm(1 << 20, {8, 32}), b_hbm(1), out_tcm(1))}));
  });
  const auto reads = rows_of(result, 0, "dma_read");
  ASSERT_EQ(reads.size(), 2u);
  EXPECT_EQ(reads[0].operand + reads[0].engine, "adma_rd");
  EXPECT_EQ(reads[1].operand + reads[1].engine, "bdma_rd1");
  EXPECT_EQ(reads[1].start, 10000u);
  EXPECT_THAT(spans(result, 0, "fetch"), ElementsAre(ns(50, 90)));
}

// One buffer: DMA 10 to 42, FETCH to 82, GEMM to 92: DMA of tile 1 at 92. A credit back at the end
// of FETCH: 82; at the end of STORE: 100.
TEST(TimingRules, R6_4_CreditFreesAtEndOfGemm) {
  auto topology = unit_pe();
  topology.pe.scheduler.tile_buffers = 1;
  const auto result = run_kernel(topology, [](CommandSink& sink) {
    sink.issue(composite({gemm(a_tcm(), b_hbm(2), out_tcm(2))}));
  });
  EXPECT_THAT(spans(result, 0, "dma_read"), ElementsAre(ns(10, 42), ns(92, 124)));
}

// The same without DMA: FETCH 10 to 50, GEMM to 60, then FETCH 1 arrives, with STORE 0 before it
// (60 to 68). Ungated, FETCH 1 would run from 50. In a GemmCmd alike.
TEST(TimingRules, R6_4_CreditGatesFetchWithoutDma) {
  auto topology = unit_pe();
  topology.pe.scheduler.tile_buffers = 1;
  const auto result = run_kernel(topology, [](CommandSink& sink) {
    sink.issue(composite({gemm(a_tcm(), b_tcm(2), out_tcm(2))}));
    sink.issue(GemmCmd{gemm(a_tcm(), b_tcm(2), out_tcm(2))});
  });
  EXPECT_THAT(spans(result, 0, "fetch"), ElementsAre(ns(10, 50), ns(68, 108)));
  EXPECT_EQ(result.rows.back().cmd, 1);
  const auto dot = spans(result, 1, "fetch");
  EXPECT_EQ(dot[1].first - dot[0].first, 58000u);
}

// Two channels, bursts of 512: tile 0 (2048 bytes, 4 bursts) and tile 1 (8 columns, 512 bytes, 1)
// alternate at the memory; tile 1's data is there at 26, tile 0's at 50. FETCH still is offered in
// tile order: 50 to 90, then 90 to 106. By arrival of the data tile 1 would be fetched at 26.
TEST(TimingRules, R6_4_OffersInTileOrder) {
  auto topology = unit_pe();
  topology.pe.dma.read_channels = 2;
  topology.pe.dma.burst_bytes = 512;
  const auto result = run_kernel(topology, [](CommandSink& sink) {
    sink.issue(composite({gemm(a_tcm(), transposed(hbm(0, {40, 32})), tcm(65536, {8, 40}))}));
  });
  EXPECT_THAT(spans(result, 0, "dma_read"), ElementsAre(ns(10, 26), ns(10, 50)));
  EXPECT_THAT(spans(result, 0, "fetch"), ElementsAre(ns(50, 90), ns(90, 106)));
  const auto gemms = rows_of(result, 0, "gemm");
  EXPECT_EQ(gemms[0].tile_n, 0);
  EXPECT_EQ(gemms[1].tile_n, 1);
}

// a is read for every n tile, b for every m tile: 2 x 2 tiles read 4 * 512 + 4 * 2048 bytes. Each
// once would be 2 * 512 + 2 * 2048.
TEST(TimingRules, R6_5_OperandsAreReadAgain) {
  const auto result = run_kernel(unit_pe(), [](CommandSink& sink) {
    sink.issue(composite({gemm(hbm(1 << 20, {16, 32}), b_hbm(2), tcm(65536, {16, 64}))}));
  });
  EXPECT_EQ(result.statistics.pes().at(0).hbm_read_bytes, 4u * 512 + 4 * 2048);
}

// G = 16 with tile_m = 8 reads K and V (16384 bytes each) twice, q (4096) once.
TEST(TimingRules, R6_5_SixteenHeadsReadKAndVTwice) {
  const auto result =
      test::run_catalogue(test::single_pe(), "gqa_decode", {{"g", "16"}, {"s_kv", "64"}});
  EXPECT_EQ(result.statistics.pes().at(0).hbm_read_bytes, 4096u + 2 * 2 * 16384);
}

// FETCH 0 10 to 50, FETCH 1 to 90 on the one server; STORE 0, ready at 60, follows at 90. Servers
// of their own would store it 60 to 68.
TEST(TimingRules, R6_6_FetchAndStoreShareAServer) {
  const auto result = run_kernel(unit_pe(), [](CommandSink& sink) {
    sink.issue(composite({gemm(a_tcm(), b_tcm(2), out_tcm(2))}));
  });
  EXPECT_THAT(spans(result, 0, "fetch"), ElementsAre(ns(10, 50), ns(50, 90)));
  EXPECT_THAT(spans(result, 0, "store"), ElementsAre(ns(90, 98), ns(100, 108)));
}

// FETCH moves both tiles in one stage: 32 + 32 bytes are one cycle of 64; rounded each, two.
TEST(TimingRules, R6_6_FetchCountsBothTilesTogether) {
  const auto result = run_kernel(unit_pe(), [](CommandSink& sink) {
    sink.issue(composite({gemm(tcm(0, {8, 2}), tcm(4096, {2, 8}), tcm(65536, {8, 8}))}));
  });
  EXPECT_THAT(spans(result, 0, "fetch"), ElementsAre(ns(10, 11)));
}

// MATH takes 104: the epilogue of tile 0 runs 60 to 164. GEMM 1 starts with its FETCH at 90; if it
// waited for the accumulator it would at 164, or with STORE 0 at 172.
TEST(TimingRules, R6_6_GemmDoesNotWaitForTheEpilogue) {
  auto topology = unit_pe();
  topology.pe.math.fixed_cycles = 100;
  const auto result = run_kernel(topology, [](CommandSink& sink) {
    sink.issue(composite({gemm(a_tcm(), b_tcm(2), out_tcm(2)), scale(Scope::output_tile)}));
  });
  EXPECT_THAT(spans(result, 0, "gemm"), ElementsAre(ns(50, 60), ns(90, 100)));
  EXPECT_THAT(spans(result, 0, "math"), ElementsAre(ns(60, 164), ns(164, 268)));
  EXPECT_THAT(spans(result, 0, "store"), ElementsAre(ns(164, 172), ns(268, 276)));
}

// The GEMM of K tile 1 waits for the k_tile op of K tile 0, until 164; otherwise it would start
// with its FETCH at 90. k_tile ops run at every K tile, and the output op once, after the last.
TEST(TimingRules, R6_6_NextKTileWaitsForKTileOps) {
  auto topology = unit_pe();
  topology.pe.math.fixed_cycles = 100;
  const auto result = run_kernel(topology, [](CommandSink& sink) {
    sink.issue(composite({gemm(tcm(0, {8, 64}), tcm(4096, {64, 32}), out_tcm(1)),
                          scale(Scope::k_tile), scale(Scope::output_tile)}));
  });
  EXPECT_THAT(spans(result, 0, "gemm"), ElementsAre(ns(50, 60), ns(164, 174)));
  EXPECT_THAT(spans(result, 0, "math"), ElementsAre(ns(60, 164), ns(174, 278), ns(278, 382)));
  EXPECT_THAT(spans(result, 0, "store"), ElementsAre(ns(382, 390)));
}

// Without k_tile ops K tile 1 follows its FETCH.
TEST(TimingRules, R6_6_NextKTileWithoutKTileOps) {
  auto topology = unit_pe();
  topology.pe.math.fixed_cycles = 100;
  const auto result = run_kernel(topology, [](CommandSink& sink) {
    sink.issue(composite(
        {gemm(tcm(0, {8, 64}), tcm(4096, {64, 32}), out_tcm(1)), scale(Scope::output_tile)}));
  });
  EXPECT_THAT(spans(result, 0, "gemm"), ElementsAre(ns(50, 60), ns(90, 100)));
}

// The first K tile of the next output tile has an accumulator of its own: it does not wait for
// k_tile ops. Tiles (n, k): GEMM (0,0) 50, (0,1) after its predecessor's op at 164; (1,0) is next
// in the queue of GEMM at 174 (its FETCH 90 to 130 is long done), not at 278 when (0,1)'s op ends.
TEST(TimingRules, R6_6_NextOutputTileDoesNotWaitForKTileOps) {
  auto topology = unit_pe();
  topology.pe.math.fixed_cycles = 100;
  topology.pe.scheduler.tile_buffers = 4;
  const auto result = run_kernel(topology, [](CommandSink& sink) {
    sink.issue(
        composite({gemm(tcm(0, {8, 64}), tcm(4096, {64, 64}), out_tcm(2)), scale(Scope::k_tile)}));
  });
  const auto gemms = spans(result, 0, "gemm");
  ASSERT_EQ(gemms.size(), 4u);
  EXPECT_EQ(gemms[1], ns(164, 174));
  EXPECT_EQ(gemms[2], ns(174, 184));
}

// ---- R6.7, R6.8: DMA ----------------------------------------------------------------------------

command::Command load(command::Address addr, command::Index bytes, command::Address offset) {
  return DmaReadCmd{hbm(addr, {bytes / 2}), tcm(offset, {bytes / 2})};
}

// Latency 100, setup 5: load 0 occupies the channel for setup and bytes, 10 to 47, its data is
// complete at 147; load 1 starts at 47. Occupied until the response it would start at 147.
TEST(TimingRules, R6_7_AChannelIsFreeWhenItsLastBurstIsAccepted) {
  auto topology = unit_pe();
  topology.pe.dma.setup_cycles = 5;
  topology.hbm.latency_ns = arch::Rational(100);
  const auto result = run_kernel(topology, [](CommandSink& sink) {
    sink.issue(load(0, 2048, 0));
    sink.issue(load(4096, 2048, 4096));
  });
  EXPECT_THAT(spans(result, 0, "dma_read"), ElementsAre(ns(10, 47)));
  EXPECT_EQ(rows_of(result, 0, "dma_read")[0].done, 147000u);
  EXPECT_THAT(spans(result, 1, "dma_read"), ElementsAre(ns(47, 84)));
  EXPECT_EQ(result.end_ps, 184000u);
}

// Bursts of 512 (8 ns), two channels. Load 0 (8 bursts) 10, 18, then load 1 (one, arrived at 20) is
// served 26 to 34 on channel 1, which load 2, waiting since 30, takes: stages dealt to channels in
// turn would put it on channel 0, behind load 0. Load 3, when all are free, takes channel 0.
TEST(TimingRules, R6_7_AStageTakesTheLowestFreeChannel) {
  auto topology = unit_pe();
  topology.pe.dma.read_channels = 2;
  topology.pe.dma.burst_bytes = 512;
  const auto result = run_kernel(topology, [](CommandSink& sink) {
    sink.issue(load(0, 4096, 0));
    sink.issue(load(4096, 512, 4096));
    sink.issue(load(8192, 512, 8192));
    sink.issue(command::PeCpuOverheadCmd{200});
    sink.issue(load(12288, 512, 12288));
  });
  EXPECT_EQ(rows_of(result, 0, "dma_read")[0].engine, "dma_rd");
  EXPECT_EQ(rows_of(result, 1, "dma_read")[0].engine, "dma_rd1");
  EXPECT_EQ(rows_of(result, 2, "dma_read")[0].engine, "dma_rd1");
  EXPECT_EQ(rows_of(result, 4, "dma_read")[0].engine, "dma_rd");
  EXPECT_THAT(spans(result, 1, "dma_read"), ElementsAre(ns(20, 34)));
  // Load 0's third burst is served 34 to 42; its fourth arrives at 42, load 2's has waited
  // since 34.
  EXPECT_THAT(spans(result, 2, "dma_read"), ElementsAre(ns(34, 50)));
}

// Bursts of 256 (4 ns): a has 2, b 8, on two channels from 10. One request a channel at a time, by
// arrival: a1 b1 a2 b2 ...: a ends at 22. If a channel's bursts were served together, at 18.
TEST(TimingRules, R6_7_ChannelsTakeTurnsByBurst) {
  auto topology = unit_pe();
  topology.pe.dma.read_channels = 2;
  topology.pe.dma.burst_bytes = 256;
  const auto result = run_kernel(topology, [](CommandSink& sink) {
    sink.issue(composite({gemm(hbm(1 << 20, {8, 32}), b_hbm(1), out_tcm(1))}));
  });
  EXPECT_THAT(spans(result, 0, "dma_read"), ElementsAre(ns(10, 22), ns(10, 50)));
}

// max_outstanding_bytes from issue to response: with 512 and latency 100 the second burst of 512
// waits until 118: end 126, done 226. Counted until acceptance only: end 26, done 126.
TEST(TimingRules, R6_7_OutstandingBytesUntilTheResponse) {
  auto topology = unit_pe();
  topology.pe.dma.burst_bytes = 512;
  topology.pe.dma.max_outstanding_bytes = 512;
  topology.hbm.latency_ns = arch::Rational(100);
  const auto result = run_kernel(topology, [](CommandSink& sink) { sink.issue(load(0, 1024, 0)); });
  EXPECT_THAT(spans(result, 0, "dma_read"), ElementsAre(ns(10, 126)));
  EXPECT_EQ(result.end_ps, 226000u);
}

// Credits belong to the channel and outlive the stage: load 1 is granted at 20 and waits for load
// 0's response at 118. A count of its own would let it end at 28.
TEST(TimingRules, R6_7_OutstandingBytesAreOfTheChannel) {
  auto topology = unit_pe();
  topology.pe.dma.burst_bytes = 512;
  topology.pe.dma.max_outstanding_bytes = 512;
  topology.hbm.latency_ns = arch::Rational(100);
  const auto result = run_kernel(topology, [](CommandSink& sink) {
    sink.issue(load(0, 512, 0));
    sink.issue(load(4096, 512, 4096));
  });
  EXPECT_THAT(spans(result, 0, "dma_read"), ElementsAre(ns(10, 18)));
  EXPECT_THAT(spans(result, 1, "dma_read"), ElementsAre(ns(20, 126)));
}

// Each channel has its own: on two channels load 1 ends at 28.
TEST(TimingRules, R6_7_OutstandingBytesPerChannel) {
  auto topology = unit_pe();
  topology.pe.dma.read_channels = 2;
  topology.pe.dma.burst_bytes = 512;
  topology.pe.dma.max_outstanding_bytes = 512;
  topology.hbm.latency_ns = arch::Rational(100);
  const auto result = run_kernel(topology, [](CommandSink& sink) {
    sink.issue(load(0, 1024, 0));
    sink.issue(load(4096, 512, 4096));
  });
  EXPECT_THAT(spans(result, 1, "dma_read"), ElementsAre(ns(20, 28)));
  EXPECT_THAT(spans(result, 0, "dma_read"), ElementsAre(ns(10, 126)));
}

// One buffer, out in HBM, bursts of 512. GEMM 0 ends at 92: DMA of tile 1 92, its second burst
// arrives at 100, as the write of tile 0 does (STORE 92 to 100). Read before write: the write is
// served 108 to 116; write first would end it at 108. The read: 92-100-108, 116-124-132.
TEST(TimingRules, R6_7_ReadsBeforeWritesAtTheSocket) {
  auto topology = unit_pe();
  topology.pe.scheduler.tile_buffers = 1;
  topology.pe.dma.burst_bytes = 512;
  const auto result = run_kernel(topology, [](CommandSink& sink) {
    sink.issue(composite({gemm(a_tcm(), b_hbm(2), out_hbm(2))}));
  });
  EXPECT_EQ(spans(result, 0, "dma_read")[1], ns(92, 132));
  EXPECT_EQ(spans(result, 0, "dma_write")[0], ns(100, 116));
}

// 96 GB/s: a burst of 64 bytes takes 666.67, rounded 667; three take 2001 ps, not 2000.
TEST(TimingRules, R6_8_EachBurstIsRounded) {
  auto topology = unit_pe();
  topology.pe.dma.burst_bytes = 64;
  topology.hbm.gbps = arch::Rational(96);
  const auto result = run_kernel(topology, [](CommandSink& sink) { sink.issue(load(0, 192, 0)); });
  EXPECT_THAT(spans(result, 0, "dma_read"), ElementsAre(Span{10000, 12001}));
}

// From address 2 the 64 bytes are bursts of 2, 4, 8, 16, 32 and 2: 6 * 0.67 at 3 GB/s rounds each:
// 667 + 1333 + 2667 + 5333 + 10667 + 667 = 21334; one burst would take 21333.
TEST(TimingRules, R6_8_UnalignedStart) {
  auto topology = unit_pe();
  topology.hbm.gbps = arch::Rational(3);
  const auto result = run_kernel(topology, [](CommandSink& sink) { sink.issue(load(2, 64, 0)); });
  EXPECT_THAT(spans(result, 0, "dma_read"), ElementsAre(Span{10000, 31334}));
}

// ---- R6.9, R6.10, R6.13 -------------------------------------------------------------------------

// n = 40 in tiles of 32: 8 * 32 and 8 * 8 entries, 4 and 1 ns. The whole of `other` would be 320
// entries, 5 ns, each time.
TEST(TimingRules, R6_9_ElementsOfATileOp) {
  const auto result = run_kernel(unit_pe(), [](CommandSink& sink) {
    const auto out = tcm(65536, {8, 40});
    sink.issue(composite({gemm(a_tcm(), tcm(4096, {32, 40}), out), add(out, tcm(73728, {8, 40}))}));
  });
  const auto ops = rows_of(result, 0, "math");
  ASSERT_EQ(ops.size(), 2u);
  EXPECT_EQ(ops[0].elements, 256u);
  EXPECT_EQ(ops[1].elements, 64u);
  EXPECT_EQ(ops[0].end - ops[0].start, 4000u);
  EXPECT_EQ(ops[1].end - ops[1].start, 1000u);
}

// A reduction counts its input: 50 * 64 entries, 50 ns; its 50 results would take 1.
TEST(TimingRules, R6_9_AReductionCountsItsInput) {
  const auto result = run_kernel(unit_pe(), [](CommandSink& sink) {
    sink.issue(MathCmd{test::op(command::OpKind::rsum, {x50()}, tcm(65536, {50}))});
  });
  EXPECT_THAT(spans(result, 0, "math"), ElementsAre(ns(10, 60)));
}

// Post-loop ops start when the last tile's DMA_WRITE is done: FETCH 10, GEMM 50, STORE 60, write 68
// to 76, done at 176 with latency 100. After STORE it would be 68, after the channel 76.
TEST(TimingRules, R6_9_PostLoopFollowsTheLastWrite) {
  auto topology = unit_pe();
  topology.hbm.latency_ns = arch::Rational(100);
  const auto result = run_kernel(topology, [](CommandSink& sink) {
    sink.issue(composite({gemm(a_tcm(), b_tcm(1), out_hbm(1)), fill(small(0)), fill(small(1))}));
  });
  EXPECT_THAT(spans(result, 0, "dma_write"), ElementsAre(ns(68, 76)));
  EXPECT_THAT(spans(result, 0, "math"), ElementsAre(ns(176, 177), ns(177, 178)));
}

// Two output tiles: after the last STORE (100 to 108), not after the first (90 to 98).
TEST(TimingRules, R6_9_PostLoopFollowsTheLastStore) {
  const auto result = run_kernel(unit_pe(), [](CommandSink& sink) {
    sink.issue(composite({gemm(a_tcm(), b_tcm(2), out_tcm(2)), fill(small(0))}));
  });
  EXPECT_THAT(spans(result, 0, "math"), ElementsAre(ns(108, 109)));
}

// Kernel-scope ops after the gemm keep their order among ops of other scopes: fill (op 1) and fill
// (op 3) run after the loop, the scale (op 2) in it. Taken as neighbours, ops 1 and 2 would.
TEST(TimingRules, R6_9_PostLoopAmongOtherScopes) {
  const auto result = run_kernel(unit_pe(), [](CommandSink& sink) {
    sink.issue(composite({gemm(a_tcm(), b_tcm(1), out_tcm(1)), fill(small(0)),
                          scale(Scope::output_tile), fill(small(1))}));
  });
  const auto ops = rows_of(result, 0, "math");
  ASSERT_EQ(ops.size(), 3u);
  EXPECT_EQ(ops[0].op_index, 2);
  EXPECT_EQ(ops[1].op_index, 1);
  EXPECT_EQ(ops[2].op_index, 3);
}

// Command 0 reads X in its prologue (10 to 14) and goes on to 72 (FETCH 14, GEMM 54, STORE 64);
// it holds X until then: command 1, which writes X, starts at 72, not at 20.
TEST(TimingRules, R6_10_RangesAreHeldToTheEnd) {
  const auto result = run_kernel(unit_pe(), [](CommandSink& sink) {
    const auto X = tcm(73728, {8, 32});
    sink.issue(composite({copy(X, a_tcm()), gemm(a_tcm(), b_tcm(1), out_tcm(1))}));
    sink.issue(composite({fill(X)}));
  });
  EXPECT_EQ(work_span(result, 0), ns(10, 72));
  EXPECT_THAT(spans(result, 1, "math"), ElementsAre(ns(72, 76)));
}

// In flight until the write's last response: 176 as in R6.9, not 76. Command 1 streams what
// command 0 wrote.
TEST(TimingRules, R6_10_InFlightUntilTheWriteIsDone) {
  auto topology = unit_pe();
  topology.hbm.latency_ns = arch::Rational(100);
  const auto result = run_kernel(topology, [](CommandSink& sink) {
    sink.issue(composite({gemm(a_tcm(), b_tcm(1), out_hbm(1))}));
    sink.issue(composite({gemm(tcm(77824, {8, 8}), out_hbm(1), tcm(81920, {8, 32}))}));
  });
  EXPECT_EQ(spans(result, 1, "dma_read")[0].first, 176000u);
}

// Limit 1: a load and a MATH command enter beside composite 0 (10 to 60), composite 3 does not.
// Counting all, the load would start at 60; counting none, the gemm at 40.
TEST(TimingRules, R6_10_TheLimitIsOfComposites) {
  auto topology = unit_pe();
  topology.pe.scheduler.max_inflight_composites = 1;
  const auto result = run_kernel(topology, [](CommandSink& sink) {
    sink.issue(composite({fill(x50())}));
    sink.issue(load(0, 2048, 32768));
    sink.issue(MathCmd{fill(small(0))});
    sink.issue(unrelated_gemm());
  });
  EXPECT_THAT(spans(result, 1, "dma_read"), ElementsAre(ns(20, 52)));
  EXPECT_THAT(spans(result, 2, "math"), ElementsAre(ns(60, 61)));  // MATH itself is busy
  EXPECT_THAT(spans(result, 2, "admit_stall"), IsEmpty());
  EXPECT_THAT(spans(result, 3, "admit_stall"), ElementsAre(ns(40, 60)));
  EXPECT_THAT(spans(result, 3, "fetch"), ElementsAre(ns(60, 100)));
}

// Only DMA rows have a `done` of their own: a read is done the latency after its end.
TEST(TimingRules, R6_13_TimesOfARow) {
  const auto result = test::run_catalogue(test::single_pe(), "gqa_decode", {{"s_kv", "256"}});
  for (const OpLogRow& row : result.rows) {
    EXPECT_LT(row.start, row.end);
    const bool dma = row.stage == "dma_read" || row.stage == "dma_write";
    EXPECT_EQ(row.done, row.end + (dma ? 100000u : 0)) << row.engine << " " << row.start;
  }
}

// ---- R6.11, R6.12: lazy await -------------------------------------------------------------------

// Waits before the dispatch cost: MATH reads X, which composite 0 writes until 60: wait 10 to 60,
// dispatch to 70. Awaited after the dispatch, or by the scheduler, MATH would start at 60.
TEST(TimingRules, R6_11_ReadAfterWrite) {
  const auto result = run_kernel(unit_pe(), [](CommandSink& sink) {
    sink.issue(composite({fill(x50())}));
    sink.issue(MathCmd{test::op(command::OpKind::rsum, {x50()}, tcm(65536, {50}))});
  });
  EXPECT_THAT(spans(result, 1, "wait"), ElementsAre(ns(10, 60)));
  EXPECT_THAT(spans(result, 1, "dispatch"), ElementsAre(ns(60, 70)));
  EXPECT_EQ(spans(result, 1, "math")[0].first, 70000u);
}

// "or reads bytes it writes": MATH overwrites what composite 0 reads. Waits for writers only would
// dispatch at 10.
TEST(TimingRules, R6_11_WriteAfterRead) {
  const auto result = run_kernel(unit_pe(), [](CommandSink& sink) {
    sink.issue(composite({copy(x50(), ns_of_math(16384, 50))}));
    sink.issue(MathCmd{fill(x50())});
  });
  EXPECT_THAT(spans(result, 1, "wait"), ElementsAre(ns(10, 60)));
}

TEST(TimingRules, R6_11_WriteAfterWrite) {
  const auto result = run_kernel(unit_pe(), [](CommandSink& sink) {
    sink.issue(composite({fill(x50())}));
    sink.issue(MathCmd{fill(ns_of_math(0, 1))});  // its first row
  });
  EXPECT_THAT(spans(result, 1, "wait"), ElementsAre(ns(10, 60)));
}

// Two readers do not wait for each other.
TEST(TimingRules, R6_11_ReadAfterRead) {
  const auto result = run_kernel(unit_pe(), [](CommandSink& sink) {
    sink.issue(composite({copy(x50(), ns_of_math(16384, 50))}));
    sink.issue(MathCmd{copy(x50(), ns_of_math(32768, 50))});
  });
  EXPECT_THAT(spans(result, 1, "wait"), IsEmpty());
  EXPECT_THAT(spans(result, 1, "dispatch"), ElementsAre(ns(10, 20)));
}

// A conflict on the same engine is no reason to wait in the kernel: MATH after MATH dispatches at
// 10. (Admission orders them, R6.12.)
TEST(TimingRules, R6_11_SameEngineIsExempt) {
  const auto result = run_kernel(unit_pe(), [](CommandSink& sink) {
    sink.issue(MathCmd{fill(x50())});
    sink.issue(MathCmd{copy(x50(), ns_of_math(16384, 50))});
  });
  EXPECT_THAT(spans(result, 1, "wait"), IsEmpty());
  EXPECT_THAT(spans(result, 1, "dispatch"), ElementsAre(ns(10, 20)));
}

// MATH, then GEMM on its result: another engine.
TEST(TimingRules, R6_11_AnotherEngineIsNotExempt) {
  const auto result = run_kernel(unit_pe(), [](CommandSink& sink) {
    sink.issue(MathCmd{fill(tcm(0, {128, 32}))});  // 64 ns
    sink.issue(GemmCmd{gemm(tcm(0, {8, 32}), tcm(16384, {32, 32}), tcm(20480, {8, 32}))});
  });
  EXPECT_THAT(spans(result, 1, "wait"), ElementsAre(ns(10, 74)));
}

// dma_rd and dma_wr are different engines: the store of what is being loaded waits until the data
// is complete, 142 with latency 100. A load on top of a load does not wait.
TEST(TimingRules, R6_11_ReadAndWriteDmaAreDifferentEngines) {
  auto topology = unit_pe();
  topology.hbm.latency_ns = arch::Rational(100);
  const auto result = run_kernel(topology, [](CommandSink& sink) {
    sink.issue(load(0, 2048, 0));
    sink.issue(DmaWriteCmd{tcm(0, {1024}), hbm(8192, {1024})});
    sink.issue(load(4096, 2048, 4096));
    sink.issue(load(16384, 2048, 4096));
  });
  EXPECT_THAT(spans(result, 1, "wait"), ElementsAre(ns(10, 142)));
  EXPECT_THAT(spans(result, 1, "dispatch"), ElementsAre(ns(142, 152)));
  EXPECT_THAT(spans(result, 3, "wait"), IsEmpty());
  EXPECT_THAT(spans(result, 3, "dispatch"), ElementsAre(ns(162, 172)));
}

// A composite never makes the kernel wait: it is dispatched at 10, and the scheduler orders it.
TEST(TimingRules, R6_11_CompositesNeverWaitInTheKernel) {
  const auto result = run_kernel(unit_pe(), [](CommandSink& sink) {
    sink.issue(MathCmd{fill(x50())});
    sink.issue(composite({copy(x50(), ns_of_math(16384, 50))}));
  });
  EXPECT_THAT(spans(result, 1, "wait"), IsEmpty());
  EXPECT_THAT(spans(result, 1, "dispatch"), ElementsAre(ns(10, 20)));
  EXPECT_THAT(spans(result, 1, "admit_stall"), ElementsAre(ns(20, 60)));
}

// Commands in the queue count as well: composite 1 (limit 1) is not in flight before 60, and writes
// until 61; MATH 2 reads that and waits 20 to 61. With commands in flight only, nothing would be in
// its way at 20.
TEST(TimingRules, R6_11_QueuedCommandsCount) {
  auto topology = unit_pe();
  topology.pe.scheduler.max_inflight_composites = 1;
  const auto result = run_kernel(topology, [](CommandSink& sink) {
    sink.issue(composite({fill(x50())}));
    sink.issue(composite({fill(small(0))}));
    sink.issue(MathCmd{copy(small(0), small(1))});
  });
  EXPECT_THAT(spans(result, 2, "wait"), ElementsAre(ns(20, 61)));
  EXPECT_THAT(spans(result, 2, "dispatch"), ElementsAre(ns(61, 71)));
}

// MATH 1 conflicts with MATH 0 and waits for it at the head, so that gemm 2, which shares nothing,
// starts at 60. Exempt, 1 would stand in MATH's queue and 2 start at 30.
TEST(TimingRules, R6_12_AdmissionMakesNoExemption) {
  const auto result = run_kernel(unit_pe(), [](CommandSink& sink) {
    sink.issue(MathCmd{fill(x50())});
    sink.issue(MathCmd{copy(x50(), ns_of_math(16384, 50))});
    sink.issue(unrelated_gemm());
  });
  EXPECT_THAT(spans(result, 1, "admit_stall"), ElementsAre(ns(20, 60)));
  EXPECT_EQ(spans(result, 2, "fetch")[0], ns(60, 100));
}

// ---- R7.1, R7.2, R7.4: admission ----------------------------------------------------------------

// Composite 1 waits for X; composite 2 shares nothing with either, and waits behind it. Overtaking,
// it would start at 30.
TEST(TimingRules, R7_1_NothingOvertakesTheHead) {
  const auto result = run_kernel(unit_pe(), [](CommandSink& sink) {
    sink.issue(composite({fill(x50())}));
    sink.issue(composite({copy(x50(), ns_of_math(16384, 50))}));
    sink.issue(unrelated_gemm());
  });
  EXPECT_EQ(work_span(result, 2).first, 60000u);
  // It reached the head when 1 was admitted, and was admitted itself: no row.
  EXPECT_THAT(spans(result, 2, "admit_stall"), IsEmpty());
}

// Composite 0 writes X until 60, composite 1 Y from 20 until 78 (40 + 10 + 8); composite 2 reads
// both: 78. With the first of them only: 60.
TEST(TimingRules, R7_1_WaitsForAllEarlierOverlapping) {
  const auto result = run_kernel(unit_pe(), [](CommandSink& sink) {
    const auto Y = tcm(118784, {8, 32}), X = tcm(0, {8, 32});
    sink.issue(composite({fill(x50())}));
    sink.issue(unrelated_gemm());
    sink.issue(composite({test::op(command::OpKind::add, {X, Y}, tcm(122880, {8, 32}))}));
  });
  EXPECT_EQ(work_span(result, 1), ns(20, 78));
  EXPECT_THAT(spans(result, 2, "admit_stall"), ElementsAre(ns(30, 78)));
  EXPECT_THAT(spans(result, 2, "math"), ElementsAre(ns(78, 82)));
}

// rw_handles are writes, also of bytes that no op names as its out. Without them command 1 would
// start at 20.
TEST(TimingRules, R7_1_RwHandlesAreWrites) {
  const auto result = run_kernel(unit_pe(), [](CommandSink& sink) {
    sink.issue(composite({fill(x50())}, {tcm(65536, {8, 32})}));
    sink.issue(composite({gemm(tcm(65536, {8, 32}), tcm(73728, {32, 32}), tcm(81920, {8, 32}))}));
  });
  EXPECT_EQ(work_span(result, 1).first, 60000u);
}

// Simple commands are tracked: composite 1 reads what load 0 writes until 142. Untracked: 20; until
// the channel is free: 42.
TEST(TimingRules, R7_1_SimpleCommandsAreTracked) {
  auto topology = unit_pe();
  topology.hbm.latency_ns = arch::Rational(100);
  const auto result = run_kernel(topology, [](CommandSink& sink) {
    sink.issue(load(0, 2048, 0));
    sink.issue(composite({copy(tcm(0, {1024}), tcm(4096, {1024}))}));
  });
  EXPECT_EQ(spans(result, 1, "math")[0].first, 142000u);
}

// Composite 0 writes X until 50, composite 1 shares nothing and runs 20 to 78. Composite 2 reads X:
// at 50 under overlap, at 78 under drain_all.
BenchResult conflict_beside_a_long_composite(arch::RwPolicy policy) {
  auto topology = unit_pe();
  topology.pe.scheduler.rw_policy = policy;
  return run_kernel(topology, [](CommandSink& sink) {
    const auto X = ns_of_math(0, 40);
    sink.issue(composite({fill(X)}));
    sink.issue(unrelated_gemm());
    sink.issue(composite({copy(X, ns_of_math(16384, 40))}));
    sink.issue(composite({fill(small(0))}));
  });
}
TEST(TimingRules, R7_2_OverlapWaitsForTheOverlapping) {
  const auto result = conflict_beside_a_long_composite(arch::RwPolicy::overlap);
  EXPECT_THAT(spans(result, 2, "math"), ElementsAre(ns(50, 90)));
}
TEST(TimingRules, R7_2_DrainAllWaitsForAll) {
  const auto result = conflict_beside_a_long_composite(arch::RwPolicy::drain_all);
  EXPECT_EQ(work_span(result, 1), ns(20, 78));  // did not conflict: entered at once
  EXPECT_THAT(spans(result, 2, "math"), ElementsAre(ns(78, 118)));
  EXPECT_THAT(spans(result, 3, "admit_stall"), IsEmpty());  // nor does 3: it enters beside 2
}

// Admission waits without holding up PE_CPU: while command 1 waits, 2 and 3 are dispatched on time.
TEST(TimingRules, R7_4_AdmissionDoesNotBlockTheKernel) {
  const auto result = run_kernel(unit_pe(), [](CommandSink& sink) {
    sink.issue(composite({fill(x50())}));
    sink.issue(composite({copy(x50(), ns_of_math(16384, 50))}));
    sink.issue(composite({fill(small(0))}));
    sink.issue(composite({fill(small(1))}));
  });
  EXPECT_THAT(spans(result, 2, "dispatch"), ElementsAre(ns(20, 30)));
  EXPECT_THAT(spans(result, 3, "dispatch"), ElementsAre(ns(30, 40)));
  EXPECT_TRUE(result.idle);
}

// ---- contract 8: when bytes are read and written ------------------------------------------------

// With rw_match handle_id composites meet commands that they conflict with (R7.3), and show when
// each side touches its bytes. X and Y take 32 ns of MATH and 64 ns of DMA, in four bursts; HBM
// holds 0, and ones() 1.
TensorHandle x32() { return ns_of_math(0, 32); }
TensorHandle y32() { return ns_of_math(16384, 32); }
TensorHandle ones() { return tcm(32768, {32, 32}); }
TensorHandle product() { return tcm(36864, {8, 32}); }
/// product() = the first 8 * 32 entries of `x`, as a matrix, times ones().
command::CompositeCmd sums_of(const TensorHandle& x) {
  TensorHandle first = x;
  first.shape = {8, 32};
  first.row_stride = 32;
  return composite({gemm(first, ones(), product())});
}
BenchResult run_meeting(const std::function<void(CommandSink&)>& kernel) {
  auto topology = unit_pe();
  topology.pe.scheduler.rw_match = arch::RwMatch::handle_id;
  topology.pe.dma.burst_bytes = 1024;
  test::BenchOptions options;
  options.data = true;
  options.expects_hazards = true;
  return run_kernel(topology, kernel, options);
}

// The load ends at 116, within the copy of what X held before.
TEST(TimingRules, R8_1_InputsAreSampledAtTheStart) {
  const auto result = run_meeting([](CommandSink& sink) {
    sink.issue(MathCmd{fill(x32(), 1)});
    sink.wait({x32().range()});
    sink.issue(DmaReadCmd{hbm(0, {32, 64}), x32()});
    sink.issue(command::PeCpuOverheadCmd{40});
    sink.issue(composite({copy(x32(), y32())}));
    sink.observe("y", y32());
  });
  EXPECT_THAT(spans(result, 1, "dma_read"), ElementsAre(ns(52, 116)));
  EXPECT_THAT(spans(result, 3, "math"), ElementsAre(ns(102, 134)));
  EXPECT_THAT(result.observed.at("y"), Each(1));
}

// FETCH reads Y while the copy of X to Y runs: 32 entries of 2 a sum, not of 1.
TEST(TimingRules, R8_1_ResultsAreVisibleAtTheEnd) {
  const auto result = run_meeting([](CommandSink& sink) {
    sink.issue(MathCmd{fill(x32(), 1)});
    sink.issue(MathCmd{fill(y32(), 2)});
    sink.issue(MathCmd{fill(ones(), 1)});
    sink.wait({x32().range(), y32().range(), ones().range()});
    sink.issue(composite({copy(x32(), y32())}));
    sink.issue(sums_of(y32()));
    sink.observe("sums", product());
  });
  EXPECT_THAT(spans(result, 3, "math"), ElementsAre(ns(100, 132)));
  EXPECT_THAT(spans(result, 4, "fetch"), ElementsAre(ns(110, 150)));
  EXPECT_THAT(result.observed.at("sums"), Each(64));
}

// The copy to Y ends at 126; the last burst of the write that began at 84 leaves at 132.
TEST(TimingRules, R8_1_AWriteIsSampledAtItsStart) {
  const auto result = run_meeting([](CommandSink& sink) {
    sink.issue(MathCmd{fill(x32(), 1)});
    sink.issue(MathCmd{fill(y32(), 2)});
    sink.wait({x32().range(), y32().range()});
    sink.issue(DmaWriteCmd{y32(), hbm(0, {32, 64})});
    sink.issue(composite({copy(x32(), y32())}));
    sink.issue(DmaReadCmd{hbm(0, {32, 64}), x32()});
    sink.observe("written", x32());
  });
  EXPECT_THAT(spans(result, 2, "dma_write"), ElementsAre(ns(84, 148)));
  EXPECT_THAT(spans(result, 3, "math"), ElementsAre(ns(94, 126)));
  EXPECT_THAT(result.observed.at("written"), Each(2));
}

// FETCH at 98 reads what the first burst of the load, answered at 84, brings: not before 132.
TEST(TimingRules, R8_1_AReadIsThereWhenDone) {
  const auto result = run_meeting([](CommandSink& sink) {
    sink.issue(MathCmd{fill(x32(), 1)});
    sink.issue(MathCmd{fill(ones(), 1)});
    sink.wait({x32().range(), ones().range()});
    sink.issue(DmaReadCmd{hbm(0, {32, 64}), x32()});
    sink.issue(command::PeCpuOverheadCmd{20});
    sink.issue(sums_of(x32()));
    sink.observe("sums", product());
  });
  EXPECT_THAT(spans(result, 2, "dma_read"), ElementsAre(ns(68, 132)));
  EXPECT_THAT(spans(result, 4, "fetch"), ElementsAre(ns(98, 138)));
  EXPECT_THAT(result.observed.at("sums"), Each(32));
}

// MATH at 126 reads what STORE, 122 to 130, is about to replace: 3, not the sum of 32 ones.
TEST(TimingRules, R8_1_AStoreIsVisibleAtItsEnd) {
  const auto result = run_meeting([](CommandSink& sink) {
    sink.issue(MathCmd{fill(x32(), 1)});
    sink.issue(MathCmd{fill(ones(), 1)});
    sink.issue(MathCmd{fill(product(), 3)});
    sink.wait({x32().range(), ones().range(), product().range()});
    sink.issue(sums_of(x32()));
    sink.issue(command::PeCpuOverheadCmd{44});
    sink.issue(composite({copy(product(), tcm(40960, {8, 32}))}));
    sink.observe("copy", tcm(40960, {8, 32}));
  });
  EXPECT_THAT(spans(result, 3, "store"), ElementsAre(ns(122, 130)));
  EXPECT_THAT(spans(result, 5, "math"), ElementsAre(ns(126, 130)));
  EXPECT_THAT(result.observed.at("copy"), Each(3));
}

// ---- "Same time" --------------------------------------------------------------------------------

// One buffer, no DMA: at 60 STORE 0 and FETCH 1 arrive at the TCM server. (tile, stage): STORE of
// tile 0 first. By stage alone FETCH 1 would run 60 to 100.
TEST(TimingRules, SameTime_TileBeforeStage) {
  auto topology = unit_pe();
  topology.pe.scheduler.tile_buffers = 1;
  const auto result = run_kernel(topology, [](CommandSink& sink) {
    sink.issue(composite({gemm(a_tcm(), b_tcm(2), out_tcm(2))}));
  });
  EXPECT_EQ(spans(result, 0, "store")[0], ns(60, 68));
  EXPECT_EQ(spans(result, 0, "fetch")[1], ns(68, 108));
}

// At 60 the output op of command 0 (tile 0) and the prologue of command 2 (tile -1) arrive at MATH:
// the lower command goes first. By tile the prologue would.
TEST(TimingRules, SameTime_CommandBeforeTile) {
  const auto result = run_kernel(unit_pe(), [](CommandSink& sink) {
    sink.issue(composite({gemm(a_tcm(), b_tcm(1), out_tcm(1)), scale(Scope::output_tile)}));
    sink.issue(command::PeCpuOverheadCmd{40});
    sink.issue(composite({fill(small(0))}));
  });
  EXPECT_THAT(spans(result, 2, "dispatch"), ElementsAre(ns(50, 60)));
  EXPECT_THAT(spans(result, 0, "math"), ElementsAre(ns(60, 64)));
  EXPECT_THAT(spans(result, 2, "math"), ElementsAre(ns(64, 65)));
}

// At 60 GEMM of composite 0 and the first op of composite 1 end, and both send MATH an op. By
// command number, whichever stage had begun first: at 20 before GEMM, at 55 after it. By insertion
// one of the two would differ.
TEST(TimingRules, SameTime_CommandBeforeInsertion) {
  for (const bool later : {false, true}) {
    const std::string told = test::in_child([&] {
      const auto result = run_kernel(unit_pe(), [&](CommandSink& sink) {
        sink.issue(composite({gemm(a_tcm(), b_tcm(1), out_tcm(1)), scale(Scope::output_tile)}));
        if (later) sink.issue(command::PeCpuOverheadCmd{35});
        sink.issue(composite({fill(ns_of_math(16384, later ? 5 : 40)), fill(small(0))}));
      });
      EXPECT_EQ(spans(result, 0, "gemm")[0], ns(50, 60));
      EXPECT_THAT(spans(result, later ? 2 : 1, "math"),
                  ElementsAre(later ? ns(55, 60) : ns(20, 60), ns(64, 65)));
      EXPECT_THAT(spans(result, 0, "math"), ElementsAre(ns(60, 64)));
      return std::string("ran");
    });
    EXPECT_EQ(told, "ran") << (later ? "later" : "earlier");
  }
}

// Setup 0: at 68 the write of composite 0 arrives at its channel, and load 2 is admitted. The load
// is granted a channel within that instant, and at the socket reads go first.
TEST(TimingRules, SameTime_AdmissionBeforeGrants) {
  const auto result = run_kernel(unit_pe(), [](CommandSink& sink) {
    sink.issue(composite({gemm(a_tcm(), b_tcm(1), out_hbm(1))}));
    sink.issue(command::PeCpuOverheadCmd{48});
    sink.issue(load(0, 512, 16384));
  });
  EXPECT_EQ(spans(result, 2, "dispatch")[0], ns(58, 68));
  EXPECT_THAT(spans(result, 2, "dma_read"), ElementsAre(ns(68, 76)));
  EXPECT_THAT(spans(result, 0, "dma_write"), ElementsAre(ns(68, 84)));
}

// Arrival comes before the key: MATH is busy with command 1 until 65; command 2 has waited since
// 30, the output op of command 0 since 60: 2 first. By command number 0 would start at 65.
TEST(TimingRules, SameTime_ArrivalBeforeCommand) {
  const auto result = run_kernel(unit_pe(), [](CommandSink& sink) {
    sink.issue(composite({gemm(a_tcm(), b_tcm(1), out_tcm(1)), scale(Scope::output_tile)}));
    sink.issue(composite({fill(ns_of_math(73728, 45))}));
    sink.issue(composite({fill(small(0))}));
  });
  EXPECT_THAT(spans(result, 1, "math"), ElementsAre(ns(20, 65)));
  EXPECT_THAT(spans(result, 2, "math"), ElementsAre(ns(65, 66)));
  EXPECT_THAT(spans(result, 0, "math"), ElementsAre(ns(66, 70)));
}

// Everything that completes at an instant comes before any grant: at 42 the data of command 0 is
// complete and command 2 enters, both for the TCM server, which is idle. Granted as they come in,
// either might be first; the lower command is.
TEST(TimingRules, SameTime_CompletionsBeforeGrants) {
  const auto result = run_kernel(unit_pe(), [](CommandSink& sink) {
    sink.issue(composite({gemm(a_tcm(), b_hbm(1), out_tcm(1))}));
    sink.issue(command::PeCpuOverheadCmd{22});
    sink.issue(unrelated_gemm());
  });
  EXPECT_THAT(spans(result, 2, "dispatch"), ElementsAre(ns(32, 42)));
  EXPECT_THAT(spans(result, 0, "fetch"), ElementsAre(ns(42, 82)));
  EXPECT_THAT(spans(result, 2, "fetch"), ElementsAre(ns(82, 122)));
}

// drain_all judges after all completions of the instant: command 2, which reads X, is offered at 30
// just as command 0, which wrote X, ends. There is no conflict any more, and it enters beside 1.
// Judged before, it would drain until 78.
TEST(TimingRules, SameTime_DrainAllJudgesAfterCompletions) {
  auto topology = unit_pe();
  topology.pe.scheduler.rw_policy = arch::RwPolicy::drain_all;
  const auto result = run_kernel(topology, [](CommandSink& sink) {
    const auto X = ns_of_math(0, 20);
    sink.issue(composite({fill(X)}));
    sink.issue(unrelated_gemm());
    sink.issue(composite({copy(X, ns_of_math(16384, 20))}));
  });
  EXPECT_EQ(work_span(result, 1), ns(20, 78));
  EXPECT_THAT(spans(result, 2, "math"), ElementsAre(ns(30, 50)));
  EXPECT_THAT(spans(result, 2, "admit_stall"), IsEmpty());
}

// A channel granted at t with setup 0 takes part in the memory grant at t. Bursts of 512 (8 ns),
// two channels, one buffer, GEMM of 16. DMA 0 (channel 0) and load 1 of 13 bursts (channel 1, from
// 20): d1 10, d2 18, z1 26, d3 34, z2 42, d4 50 to 58, then z3 58 to 66 ... z9 106 to 114. FETCH
// 58, GEMM 98 to 114: at 114 DMA 1 is offered and granted on channel 0 while z10 arrives on channel
// 1: the lower channel first: e1 114, z10 122, e2 130, z11 138, e3 146, z12 154, e4 162 to 170, z13
// to 178. Granted too late for 114: z10 114, e1 122 ... e4 170 to 178.
TEST(TimingRules, SameTime_ChannelGrantedWithSetup0TakesPartAtOnce) {
  auto topology = unit_pe();
  topology.pe.dma.read_channels = 2;
  topology.pe.dma.burst_bytes = 512;
  topology.pe.scheduler.tile_buffers = 1;
  topology.pe.gemm.fill_cycles = 12;
  const auto result = run_kernel(topology, [](CommandSink& sink) {
    sink.issue(composite({gemm(a_tcm(), b_hbm(2), out_tcm(2))}));
    sink.issue(load(1 << 20, 13 * 512, 73728));
  });
  EXPECT_THAT(spans(result, 0, "dma_read"), ElementsAre(ns(10, 58), ns(114, 170)));
  EXPECT_THAT(spans(result, 1, "dma_read"), ElementsAre(ns(20, 178)));
}

// A place in the queue that frees at 30, as PE_CPU offers, is taken at once: no queue_stall row.
// Depth 1; command 0 ends at 30, which admits command 1 and makes room for 2.
TEST(TimingRules, SameTime_QueueRefillsBeforeAStall) {
  auto topology = unit_pe();
  topology.pe.cpu.cmd_queue_depth = 1;
  const auto result = run_kernel(topology, [](CommandSink& sink) {
    const auto X = ns_of_math(0, 20);
    sink.issue(composite({fill(X)}));
    sink.issue(composite({copy(X, ns_of_math(16384, 20))}));
    sink.issue(composite({fill(small(0))}));
    sink.issue(composite({fill(small(1))}));
  });
  EXPECT_THAT(spans(result, 1, "admit_stall"), ElementsAre(ns(20, 30)));
  EXPECT_THAT(spans(result, 2, "queue_stall"), IsEmpty());
  EXPECT_THAT(spans(result, 3, "dispatch"), ElementsAre(ns(30, 40)));
}

}  // namespace
}  // namespace kernbench
