// SPDX-License-Identifier: Apache-2.0
// What composites of a kernel see of each other, read from the op log: order by the bytes they
// share, overlap of those that share none, K before V, DMA by where operands lie; and the rows of
// PE_CPU and scheduler, regions, and replayed programs. ps, or ns(start, end).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/model/raw_commands.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/kernel_bench.hpp"
#include "tlm_if/command/program.hpp"

namespace kernbench {
namespace {

using command::CommandSink;
using command::MathCmd;
using test::BenchResult;
using test::composite;
using test::copy;
using test::fill;
using test::gemm;
using test::ns;
using test::ns_of_math;
using test::OpLogRow;
using test::rows_of;
using test::run_kernel;
using test::Span;
using test::spans;
using test::tcm;
using test::unit_pe;
using test::work_of;
using test::work_span;
using testing::Each;
using testing::ElementsAre;
using testing::Field;
using testing::Ge;
using testing::IsEmpty;

BenchResult run_tl(const std::function<void(tl::Context&)>& body) {
  const auto topology = test::single_pe();
  return run_kernel(topology, [&](CommandSink& sink) {
    tl::Context tl(runtime::make_target(topology), sink);
    body(tl);
  });
}

// ---- composites that share bytes ----------------------------------------------------------------

// P.V + O as in decode, default single_pe: dispatch 45.125 (82 bytes), then DMA 144, latency 100,
// FETCH (1024 + 16384) / 512 = 34, GEMM 1*4*8 = 32, add 1024 / 64 = 16, STORE 4096 / 512 = 8: 334.
struct Accumulation {
  explicit Accumulation(tl::Context& context)
      : tl(context),
        P(tl.empty({8, 64}, tl::f16)),
        O(tl.empty({8, 128}, tl::f32)),
        V(tl.ref(0, {192, 128}, tl::f16)) {}
  void issue(tl::Index j) {
    tl.composite(tl::gemm(P, V.rows(64 * j, 64)).out(O).epilogue(tl::add(O)));
  }
  tl::Context& tl;
  tl::Tensor P, O, V;
};

// Three composites with rw = (O): dispatch order, and each starts when the one before is done.
// Unordered, the DMA of the second would start with the channel at 45.125 + 144 = 189.125.
TEST(CompositeOrder, SharedRwHandleRunsInDispatchOrder) {
  const auto result = run_tl([](tl::Context& tl) {
    Accumulation step(tl);
    for (tl::Index j = 0; j < 3; ++j) step.issue(j);
  });
  EXPECT_EQ(work_span(result, 0), Span(45125, 379125));
  EXPECT_EQ(work_span(result, 1), Span(379125, 713125));
  EXPECT_EQ(work_span(result, 2), Span(713125, 1047125));
  EXPECT_THAT(spans(result, 1, "admit_stall"), ElementsAre(Span(90250, 379125)));
  // Behind 1 in the queue; at its head when 1 is admitted.
  EXPECT_THAT(spans(result, 2, "admit_stall"), ElementsAre(Span(379125, 713125)));
  // No stage of a later one before an earlier one is done: the rows come in blocks.
  std::int64_t last = 0;
  for (const OpLogRow& row : result.rows) {
    if (row.engine == "cpu" || row.engine == "scheduler") continue;
    EXPECT_GE(row.cmd, last);
    last = row.cmd;
  }
}

// A has rw = (O); B reads O, and has no rw handle of it. Compared by rw handles alone, B would
// start with its dispatch, at 87.1875.
TEST(CompositeOrder, ReaderWaitsForTheWriter) {
  const auto result = run_tl([](tl::Context& tl) {
    Accumulation step(tl);
    step.issue(0);
    tl.composite(tl::math("copy", {{"src", step.O}}));
  });
  EXPECT_EQ(work_span(result, 0), Span(45125, 379125));
  EXPECT_THAT(work_of(result, 1), Each(Field(&OpLogRow::start, Ge(379125u))));
  EXPECT_THAT(spans(result, 1, "math"), ElementsAre(Span(379125, 395125)));
}

// A view of a quarter of O is the same bytes under another id: by ids B would not wait.
TEST(CompositeOrder, ReaderOfAViewWaitsForTheWriter) {
  const auto result = run_tl([](tl::Context& tl) {
    Accumulation step(tl);
    step.issue(0);
    tl.composite(tl::math("copy", {{"src", step.O.cols(96, 32)}}));
  });
  EXPECT_THAT(spans(result, 1, "math"), ElementsAre(Span(379125, 383125)));
}

// B writes what A only reads: A's P must not change under it.
TEST(CompositeOrder, WriterWaitsForTheReader) {
  const auto result = run_tl([](tl::Context& tl) {
    Accumulation step(tl);
    const auto other = tl.empty({8, 64}, tl::f16);
    step.issue(0);
    tl.composite(tl::math("copy", {{"src", other}}).out(step.P));
  });
  EXPECT_THAT(spans(result, 1, "math"), ElementsAre(Span(379125, 387125)));
}

// Two accumulations of different O share nothing (both read P): the second's DMA follows the
// first's on the channel, 189.125, within the first's latency.
TEST(CompositeOrder, CompositesThatShareNothingOverlap) {
  const auto result = run_tl([](tl::Context& tl) {
    Accumulation step(tl);
    step.issue(0);
    step.O = tl.empty({8, 128}, tl::f32);
    step.issue(1);
  });
  EXPECT_EQ(spans(result, 1, "dma_read")[0], Span(189125, 333125));
  EXPECT_THAT(spans(result, 1, "admit_stall"), IsEmpty());
}

// ---- decode -------------------------------------------------------------------------------------

constexpr int kTiles = 4;
constexpr std::uint64_t kTileBytes = 64 * 128 * 2;
// R3.4: q (2048 bytes) at 0, k at 4096, v behind it.
constexpr std::uint64_t kKeys = 4096;
constexpr std::uint64_t kValues = kKeys + kTiles * kTileBytes;

BenchResult decode(const std::string& variant, std::uint32_t read_channels = 1) {
  auto topology = test::single_pe();
  topology.pe.dma.read_channels = read_channels;
  return test::run_catalogue(topology, "gqa_decode",
                             {{"variant", variant}, {"s_kv", std::to_string(64 * kTiles)}});
}

// The DMA of tile j of K or V.
OpLogRow tile_read(const BenchResult& result, std::uint64_t base, int j) {
  const auto rows = test::select(result.rows, [&](const OpLogRow& row) {
    return row.stage == "dma_read" && row.addr == base + static_cast<std::uint64_t>(j) * kTileBytes;
  });
  if (rows.size() != 1) throw std::runtime_error("not one DMA of the tile");
  return rows.front();
}

// #1(j+1) shares nothing with #2(j): it starts before #2(j) is done. Ordered by anything else (all
// earlier composites, say) it would start after.
TEST(CompositeOrder, Opt2ScoresOfTheNextTileOverlapTheMerge) {
  const auto result = decode("opt2");
  for (int j = 0; j + 1 < kTiles; ++j) {
    const auto merge = tile_read(result, kValues, j).cmd;
    const auto scores = tile_read(result, kKeys, j + 1).cmd;
    EXPECT_EQ(scores, merge + 1);  // issued after it
    EXPECT_LT(work_span(result, scores).first, work_span(result, merge).second) << j;
    EXPECT_THAT(spans(result, scores, "admit_stall"), IsEmpty());
  }
}

// #2(j) waits for S(j) of #1(j), whatever else goes on.
TEST(CompositeOrder, Opt2MergeWaitsForItsScores) {
  const auto result = decode("opt2");
  for (int j = 0; j < kTiles; ++j) {
    const auto merge = tile_read(result, kValues, j).cmd;
    const auto scores = tile_read(result, kKeys, j).cmd;
    EXPECT_GE(work_span(result, merge).first, work_span(result, scores).second) << j;
  }
}

// K before V, opt2: no DMA of V before the composite's eighth prologue MATH has ended. DMA by the
// gemm's operands at admission (what a scheduler without phases does) would start it 44 ns earlier.
TEST(CompositeOrder, KBeforeVOpt2) {
  const auto result = decode("opt2");
  for (int j = 0; j < kTiles; ++j) {
    const OpLogRow read = tile_read(result, kValues, j);
    const auto ops = test::select(rows_of(result, read.cmd, "math"),
                                  [](const OpLogRow& row) { return row.op_index < 8; });
    ASSERT_EQ(ops.size(), 8u);
    EXPECT_GE(read.start, ops.back().end) << j;
    EXPECT_GE(read.start, tile_read(result, kKeys, j).done) << j;
    // The legal prefetch: the next K may pass this V.
    if (j + 1 < kTiles) {
      EXPECT_LT(tile_read(result, kKeys, j + 1).start, read.start) << j;
    }
  }
}

// With two channels one is always free for V: its DMA starts just when the prologue ends, neither
// earlier, for all that the channel is idle, nor behind the next K.
TEST(CompositeOrder, KBeforeVOpt2WithAFreeChannel) {
  const auto result = decode("opt2", 2);
  for (int j = 0; j < kTiles; ++j) {
    const OpLogRow read = tile_read(result, kValues, j);
    const auto ops = test::select(rows_of(result, read.cmd, "math"),
                                  [](const OpLogRow& row) { return row.op_index < 8; });
    ASSERT_EQ(ops.size(), 8u);
    EXPECT_EQ(read.start, ops.back().end) << j;
  }
}

// opt1: softmax_merge is the composite before P.V + O, which reads its P.
TEST(CompositeOrder, KBeforeVOpt1) {
  const auto result = decode("opt1");
  for (int j = 0; j < kTiles; ++j) {
    const OpLogRow read = tile_read(result, kValues, j);
    const auto ops = rows_of(result, read.cmd - 1, "math");
    ASSERT_EQ(ops.size(), 8u);
    EXPECT_GE(read.start, ops.back().end) << j;
    EXPECT_GE(read.start, tile_read(result, kKeys, j).done) << j;
  }
}

// opt3: the eight MATH commands before P.V + O.
TEST(CompositeOrder, KBeforeVOpt3) {
  const auto result = decode("opt3");
  for (int j = 0; j < kTiles; ++j) {
    const OpLogRow read = tile_read(result, kValues, j);
    for (int i = 1; i <= 8; ++i) {
      const auto op = rows_of(result, read.cmd - i, "math");
      ASSERT_EQ(op.size(), 1u);
      EXPECT_GE(read.start, op[0].end) << j;
    }
    EXPECT_GE(read.start, tile_read(result, kKeys, j).done) << j;
  }
}

// ---- DMA by where operands lie ------------------------------------------------------------------

// A streamed operand is read, a pinned one is not; an output in HBM is written back, one in TCM is
// not. Composite i: bit 0 a, bit 1 b, bit 2 out in HBM.
TEST(CompositeOrder, DmaFollowsFromTheSpaceOfOperands) {
  const auto result = run_kernel(unit_pe(), [](CommandSink& sink) {
    for (unsigned i = 0; i < 8; ++i) {
      sink.issue(composite({gemm((i & 1) != 0 ? test::hbm(0, {8, 32}) : tcm(0, {8, 32}),
                                 (i & 2) != 0 ? test::hbm(4096, {32, 32}) : tcm(4096, {32, 32}),
                                 (i & 4) != 0 ? test::hbm(8192, {8, 32}) : tcm(8192, {8, 32}))}));
    }
  });
  for (unsigned i = 0; i < 8; ++i) {
    std::string reads;
    for (const OpLogRow& row : rows_of(result, i, "dma_read")) reads += row.operand;
    const std::string expected = std::string((i & 1) != 0 ? "a" : "") + ((i & 2) != 0 ? "b" : "");
    EXPECT_EQ(reads, expected) << i;
    EXPECT_EQ(rows_of(result, i, "dma_write").size(), (i & 4) != 0 ? 1u : 0u) << i;
    EXPECT_EQ(rows_of(result, i, "fetch").size(), 1u) << i;
    EXPECT_EQ(rows_of(result, i, "store").size(), 1u) << i;
  }
}

// ---- rows of waits and stalls (R10.2) -----------------------------------------------------------

command::TensorHandle x(command::Index time) { return ns_of_math(0, time); }
command::TensorHandle gemm_out() { return tcm(118784, {8, 32}); }
// FETCH, GEMM, STORE: 58 ns.
command::CompositeCmd gemm_58() {
  return composite({gemm(tcm(110592, {8, 32}), tcm(112640, {32, 32}), gemm_out())});
}

// wait for X (command 0, until 110) and the product (command 1, 20 to 78): when 0 is done, so is 1:
// one row. A row a handle, or a command, would give a second.
TEST(CompositeOrder, WaitGivesARowForACommandReallyWaitedFor) {
  const auto result = run_kernel(unit_pe(), [](CommandSink& sink) {
    sink.issue(composite({fill(x(100))}));
    sink.issue(gemm_58());
    sink.wait({x(100).range(), gemm_out().range()});
    sink.issue(command::PeCpuOverheadCmd{1});
  });
  EXPECT_THAT(spans(result, 0, "wait"), ElementsAre(ns(20, 110)));
  EXPECT_THAT(spans(result, 1, "wait"), IsEmpty());
  EXPECT_THAT(spans(result, 2, "dispatch"), ElementsAre(ns(110, 111)));
}

// In issue order, with the number of the command waited for: 0 until 60, then 1 until 78. The order
// of the ranges does not matter.
TEST(CompositeOrder, WaitGoesInIssueOrder) {
  const auto result = run_kernel(unit_pe(), [](CommandSink& sink) {
    sink.issue(composite({fill(x(50))}));
    sink.issue(gemm_58());
    sink.wait({gemm_out().range(), x(50).range()});
  });
  EXPECT_THAT(spans(result, 0, "wait"), ElementsAre(ns(20, 60)));
  EXPECT_THAT(spans(result, 1, "wait"), ElementsAre(ns(60, 78)));
}

// Done already, or only read: nothing to wait for, and no row.
TEST(CompositeOrder, WaitForNothingGivesNoRow) {
  const auto result = run_kernel(unit_pe(), [](CommandSink& sink) {
    sink.issue(composite({fill(x(1))}));
    sink.issue(composite({copy(ns_of_math(16384, 50), ns_of_math(32768, 50))}));
    sink.wait({x(1).range(), ns_of_math(16384, 50).range()});
    sink.issue(command::PeCpuOverheadCmd{1});
  });
  EXPECT_THAT(test::select(result.rows, [](const OpLogRow& row) { return row.stage == "wait"; }),
              IsEmpty());
  EXPECT_THAT(spans(result, 2, "dispatch"), ElementsAre(ns(20, 21)));
}

// Done at the very instant of the wait (10 to 20): no row of zero length.
TEST(CompositeOrder, WaitOfZeroLengthGivesNoRow) {
  const auto result = run_kernel(unit_pe(), [](CommandSink& sink) {
    sink.issue(composite({fill(x(10))}));
    sink.issue(command::PeCpuOverheadCmd{10});
    sink.wait({x(10).range()});
    sink.issue(MathCmd{fill(x(10))});
  });
  EXPECT_EQ(work_span(result, 0), ns(10, 20));
  EXPECT_THAT(test::select(result.rows, [](const OpLogRow& row) { return row.stage == "wait"; }),
              IsEmpty());
  EXPECT_THAT(spans(result, 2, "dispatch"), ElementsAre(ns(20, 30)));
}

// A lazy await that takes two commands: a row each, with the number of the command that waits.
TEST(CompositeOrder, LazyAwaitRowsCarryTheWaitingCommand) {
  const auto result = run_kernel(unit_pe(), [](CommandSink& sink) {
    sink.issue(composite({fill(x(50))}));
    sink.issue(gemm_58());
    sink.issue(MathCmd{
        test::op(command::OpKind::add, {tcm(0, {8, 32}), gemm_out()}, tcm(122880, {8, 32}))});
  });
  EXPECT_THAT(spans(result, 2, "wait"), ElementsAre(ns(20, 60), ns(60, 78)));
  EXPECT_THAT(spans(result, 2, "dispatch"), ElementsAre(ns(78, 88)));
  EXPECT_EQ(result.statistics.pes().at(0).stalls.await_ps, 58000u);
}

// Engines and totals of the standing still: depth 1, command 1 waits for 0 at the head 20 to 60,
// command 2 before the queue 30 to 60.
TEST(CompositeOrder, StallRowsAndTotals) {
  auto topology = unit_pe();
  topology.pe.cpu.cmd_queue_depth = 1;
  const auto result = run_kernel(topology, [](CommandSink& sink) {
    sink.issue(composite({fill(x(50))}));
    sink.issue(composite({copy(x(50), ns_of_math(16384, 50))}));
    sink.issue(gemm_58());
  });
  const auto admit = rows_of(result, 1, "admit_stall"), queue = rows_of(result, 2, "queue_stall");
  ASSERT_EQ(admit.size(), 1u);
  ASSERT_EQ(queue.size(), 1u);
  EXPECT_EQ(admit[0].engine, "scheduler");
  EXPECT_EQ(queue[0].engine, "cpu");
  const auto& stalls = result.statistics.pes().at(0).stalls;
  EXPECT_EQ(stalls.admit_ps, 40000u);
  EXPECT_EQ(stalls.queue_ps, 30000u);
  EXPECT_EQ(stalls.await_ps, 0u);
}

// ---- cpu_overhead (R3.9) ------------------------------------------------------------------------

// Its cycles, nothing else: at the default 40 + bytes / 16 the formula would make it 47.3125 or so.
// It takes number 1, is busy time of PE_CPU, adds no logical bytes or dispatch cycles, and waits
// for nobody.
TEST(CompositeOrder, R3_9_CpuOverhead) {
  const auto result = run_kernel(test::single_pe(), [](CommandSink& sink) {
    sink.issue(composite({fill(x(500))}));
    sink.issue(command::PeCpuOverheadCmd{7});
    sink.issue(MathCmd{fill(ns_of_math(81920, 1))});
  });
  // The composite has 4 + 1 + 16 + 1 = 22 bytes ({}+out+value: 1+1+1+8+1+4): 41.375; the fill 17.
  EXPECT_THAT(spans(result, 0, "dispatch"), ElementsAre(Span(0, 41375)));
  EXPECT_THAT(spans(result, 1, "dispatch"), ElementsAre(Span(41375, 48375)));
  EXPECT_THAT(spans(result, 2, "dispatch"), ElementsAre(Span(48375, 48375 + 41063)));
  EXPECT_EQ(rows_of(result, 1, "dispatch")[0].op, "cpu_overhead");
  EXPECT_EQ(result.totals.commands, 3u);
  EXPECT_EQ(result.totals.segments, 2u);
  EXPECT_EQ(result.totals.logical_bytes, 22u + 17);
  const auto& cpu = result.statistics.pes().at(0).engines[0];
  EXPECT_EQ(cpu.busy_ps, 41375u + 7000 + 41063);
}

// ---- regions (R13.1) ----------------------------------------------------------------------------

// Re-entered, a region spans from the first dispatch to the last stage of its own commands: 5 to 93
// (gemm 35 to 93); neither the command between (65 to 66), which is not counted, nor the one
// behind.
TEST(CompositeOrder, RegionReEntry) {
  const auto result = run_kernel(unit_pe(), [](CommandSink& sink) {
    sink.issue(command::PeCpuOverheadCmd{5});
    sink.begin_region("loop");
    sink.issue(composite({fill(x(50))}));
    sink.end_region("loop");
    sink.issue(composite({fill(ns_of_math(16384, 1))}));
    sink.begin_region("loop");
    sink.issue(gemm_58());
    sink.end_region("loop");
    sink.issue(composite({fill(ns_of_math(32768, 200))}));
  });
  ASSERT_EQ(result.regions.size(), 1u);
  const Region& loop = result.region("loop");
  EXPECT_EQ(Span(loop.start_ps, loop.end_ps), ns(5, 93));
  EXPECT_EQ(loop.commands, 2u);
  EXPECT_EQ(loop.segments, 2u);
}

// It starts with the first dispatch, not with the wait before it, and ends with the last stage even
// if that is not the last command's.
TEST(CompositeOrder, RegionStartsWithADispatch) {
  const auto result = run_kernel(unit_pe(), [](CommandSink& sink) {
    sink.issue(composite({fill(x(50))}));
    sink.begin_region("loop");
    sink.issue(MathCmd{copy(x(50), ns_of_math(16384, 50))});  // waits until 60
    sink.issue(composite({gemm(tcm(110592, {8, 8}), tcm(112640, {8, 8}), tcm(118784, {8, 8}))}));
    sink.end_region("loop");
  });
  const Region& loop = result.region("loop");
  EXPECT_EQ(loop.start_ps, 60000u);
  EXPECT_EQ(loop.end_ps, 120000u);  // MATH 70 to 120; the gemm 80 to 80 + 4 + 7 + 2
  EXPECT_EQ(work_span(result, 2), ns(80, 93));
}

TEST(CompositeOrder, RegionsNest) {
  const auto result = run_kernel(unit_pe(), [](CommandSink& sink) {
    sink.begin_region("outer");
    sink.issue(composite({fill(x(1))}));
    sink.begin_region("inner");
    sink.issue(command::PeCpuOverheadCmd{40});
    sink.end_region("inner");
    sink.issue(composite({fill(ns_of_math(16384, 1))}));
    sink.end_region("outer");
    sink.begin_region("empty");
    sink.end_region("empty");
  });
  const Region &outer = result.region("outer"), &inner = result.region("inner");
  EXPECT_EQ(Span(outer.start_ps, outer.end_ps), ns(0, 61));
  EXPECT_EQ(outer.commands, 3u);
  EXPECT_EQ(outer.segments, 2u);
  EXPECT_EQ(Span(inner.start_ps, inner.end_ps), ns(10, 50));
  EXPECT_EQ(inner.commands, 1u);
  EXPECT_EQ(inner.segments, 0u);
  EXPECT_FALSE(result.region("empty").entered);
}

// ---- one run, told in different ways ------------------------------------------------------------

// Everything that a run says: its op log and its regions.
std::string told(const BenchResult& result) {
  std::string text = result.op_log;
  for (const Region& region : result.regions) {
    text += region.name + " " + std::to_string(region.start_ps) + " " +
            std::to_string(region.end_ps) + " " + std::to_string(region.logical_bytes) + "\n";
  }
  return text;
}

// R3.7: a recorded program replayed is the same run: waits, lazy awaits and regions included, in a
// small queue that stalls.
void check_replay(const std::string& variant) {
  auto topology = test::single_pe();
  topology.pe.cpu.cmd_queue_depth = 2;
  const auto launched = test::launch(topology, "gqa_decode",
                                     {{"variant", variant}, {"s_kv", "200"}, {"kv_heads", "2"}});
  const auto body = [&](command::CommandSink& sink) { launched.issue(sink); };
  command::ProgramRecorder recorder;
  body(recorder);
  const std::string live = test::in_child([&] { return told(run_kernel(topology, body)); });
  const std::string replayed = test::in_child([&] {
    return told(run_kernel(topology, [&](CommandSink& sink) { recorder.program().replay(sink); }));
  });
  EXPECT_GT(live.size(), 1000u);
  EXPECT_EQ(live, replayed);
}
TEST(CompositeOrder, R3_7_ReplayedProgramIsTheSameRunOpt1) { check_replay("opt1"); }
TEST(CompositeOrder, R3_7_ReplayedProgramIsTheSameRunOpt2) { check_replay("opt2"); }
TEST(CompositeOrder, R3_7_ReplayedProgramIsTheSameRunOpt3) { check_replay("opt3"); }

std::string told_by(const std::function<void(tl::Context&)>& body) {
  return test::in_child([&] { return told(run_tl(body)); });
}

// R4.1: typed call, the documents' legacy call and a flat list have one op log.
TEST(CompositeOrder, R4_1_SpellingsOfAnEpilogue) {
  using Spell = std::function<void(tl::Context&, const tl::Tensor&, const tl::Tensor&,
                                   const tl::Tensor&, const tl::Tensor&)>;
  const auto run = [](const Spell& spell) {
    return told_by([&](tl::Context& tl) {
      const auto a = tl.empty({8, 128}, tl::f16), bias = tl.empty({300}, tl::f16),
                 out = tl.empty({8, 300}, tl::f16);
      spell(tl, a, tl.ref(0, {128, 300}, tl::f16), bias, out);
    });
  };
  using T = tl::Tensor;
  const std::string typed =
      run([](tl::Context& tl, const T& a, const T& b, const T& bias, const T& out) {
        tl.composite(tl::gemm(a, b).out(out).epilogue(tl::bias(bias)).epilogue(tl::scale(0.5)));
      });
  const std::string legacy =
      run([](tl::Context& tl, const T& a, const T& b, const T& bias, const T& out) {
        tl.composite(tl::gemm(a, b)
                         .out(out)
                         .epilogue("bias", {{"bias", bias}})
                         .epilogue("scale", {{"value", 0.5}}));
      });
  const std::string flat =
      run([](tl::Context& tl, const T& a, const T& b, const T& bias, const T& out) {
        command::OpSpec op = test::add(out.handle(), bias.handle());
        op.kind = command::OpKind::bias;
        tl.composite({gemm(a.handle(), b.handle(), out.handle()), op,
                      test::scale(command::Scope::output_tile, 0.5F)});
      });
  EXPECT_NE(typed.find("bias"), std::string::npos);
  EXPECT_EQ(typed, legacy);
  EXPECT_EQ(typed, flat);
}

// The same for the decode step with its recipe.
TEST(CompositeOrder, R4_1_SpellingsOfTheDecodeStep) {
  using Spell = std::function<tl::GemmBuilder(const std::vector<tl::Tensor>&)>;
  const auto run = [](const Spell& spell) {
    return told_by([&](tl::Context& tl) {
      const std::vector<tl::Tensor> t{tl.empty({8, 64}, tl::f16), tl.empty({8}, tl::f32),
                                      tl.empty({8}, tl::f32), tl.empty({8, 128}, tl::f32)};
      tl.composite(spell(t).b(tl.ref(0, {64, 128}, tl::f16)).out(t[3]));
    });
  };
  const std::string typed = run([](const std::vector<tl::Tensor>& t) {
    return tl::gemm().prologue(tl::softmax_merge(t[0], t[1], t[2], t[3])).epilogue(tl::add(t[3]));
  });
  const std::string strings = run([](const std::vector<tl::Tensor>& t) {
    return tl::gemm()
        .prologue("softmax_merge", {{"s", t[0]}, {"m", t[1]}, {"l", t[2]}, {"O", t[3]}})
        .epilogue("add", {{"other", t[3]}});
  });
  EXPECT_NE(typed.find("exp_diff"), std::string::npos);
  EXPECT_EQ(typed, strings);
}

}  // namespace
}  // namespace kernbench
