// SPDX-License-Identifier: Apache-2.0
// Simple commands, views, waits, regions: what each call sends to the sink.
#include <cmath>
#include <limits>

#include "tests/tl/fixture.hpp"

namespace kernbench::tl {
namespace {

using command::DmaReadCmd;
using command::DmaWriteCmd;
using command::ExtraName;
using command::GemmCmd;
using command::MathCmd;

struct SimpleTest : ContextTest {
  Tensor x = tl.empty({8, 64}, f16).named("x");
  Tensor v = tl.empty({8}, f32).named("v");
  Tensor w = tl.empty({64}, f16).named("w");
};

// The ops of a builder as commands of their own: those of the typed calls.
TEST_F(SimpleTest, OneByOneIssuesTheOpsOfABuilder) {
  const Tensor y = tl.empty({8, 64}, f16);
  const Tensor result = tl.one_by_one(tl::math("scale_add", {{"src", x}, {"a", 2}, {"b", 3}})
                                          .out(y)
                                          .then("exp_diff", {{"src_a", y}, {"src_b", v}}));
  const auto commands = sink.program().commands();
  ASSERT_EQ(commands.size(), 2u);
  tl.scale_add(x, 2, 3, y);
  EXPECT_EQ(last(), commands[0]);
  tl.exp_diff(y, v, result);
  EXPECT_EQ(last(), commands[1]);
  EXPECT_EQ(result.dtype(), f16);
}

// Refused as a whole: the first op is right.
TEST_F(SimpleTest, OneByOneIssuesNothingThatIsRefused) {
  const Tensor far = tl.ref(0, {8, 64}, f16, "H");
  EXPECT_THAT(refusal([&] {
                tl.one_by_one(tl::math("relu", {{"src", x}}).then("relu", {{"src", far}}));
              }),
              HasSubstr("relu: src H (8, 64) f16 hbm is in HBM"));
  EXPECT_THAT(refusal([&] {
                tl.one_by_one(tl::math("relu", {{"src", x}}).data_op(false));
              }),
              HasSubstr("data_op(false) is for composites"));
}

// 4 framing + 1 opcode + 8 per handle.
TEST_F(SimpleTest, LoadAndStore) {
  const Tensor src = tl.ref(4096, {8, 64}, f16, "q"), dst = tl.ref(8192, {8, 64}, f16, "out");
  const Tensor loaded = tl.load(src);
  EXPECT_EQ(last_bytes(), 21u);
  const auto read = std::get<DmaReadCmd>(last());
  EXPECT_EQ(read.src, src.handle());
  EXPECT_EQ(read.dst, loaded.handle());
  EXPECT_TRUE(loaded.handle().pinned());
  EXPECT_EQ(loaded.handle().label(), "q");
  tl.store(dst, loaded);
  EXPECT_EQ(last_bytes(), 21u);
  EXPECT_EQ(std::get<DmaWriteCmd>(last()).dst, dst.handle());
}

// Into a given tensor: no new scratch, and what does not fit it is refused as anywhere.
TEST_F(SimpleTest, LoadIntoATensor) {
  const Tensor src = tl.ref(4096, {8, 64}, f16, "q");
  const std::uint64_t peak = tl.scratch_peak_bytes();
  tl.load(src, x);
  EXPECT_EQ(last_bytes(), 21u);
  EXPECT_EQ(std::get<DmaReadCmd>(last()).src, src.handle());
  EXPECT_EQ(std::get<DmaReadCmd>(last()).dst, x.handle());
  EXPECT_EQ(tl.scratch_peak_bytes(), peak);
  tl.wait({x});
  EXPECT_THAT(refusal([&] { tl.load(src, x.rows(0, 4)); }),
              HasSubstr("does not fit destination x (4, 64) f16 tcm"));
  EXPECT_THAT(refusal([&] { tl.load(src, src); }),
              HasSubstr("destination q (8, 64) f16 hbm is in HBM"));
}

TEST_F(SimpleTest, ColumnSlicesMayBeMoved) {
  const Tensor matrix = tl.ref(0, {8, 256}, f16, "A");
  const Tensor loaded = tl.load(matrix.cols(64, 64));
  EXPECT_EQ(loaded.handle().row_stride, 64) << "dense in TCM";
  tl.store(matrix.cols(128, 64), loaded);
}

// fill: out + value = 5 + 8 + 4.
TEST_F(SimpleTest, Fill) {
  const Tensor m = tl.full({8}, kMinusInf, f32);
  EXPECT_EQ(last_bytes(), 17u);
  EXPECT_EQ(std::get<MathCmd>(last()).op.extra(ExtraName::value)->as_f32(),
            -std::numeric_limits<float>::infinity());
  EXPECT_EQ(std::get<MathCmd>(last()).op.out, m.handle());
  tl.zeros({8, 4}, f16);
  EXPECT_EQ(std::get<MathCmd>(last()).op.extra(ExtraName::value)->as_f32(), 0.0f);
}

// dot: a, b, out and m, k, n = 5 + 24 + 12.
TEST_F(SimpleTest, Dot) {
  const Tensor b = tl.empty({64, 32}, f16);
  const Tensor y = tl.dot(x, b, f32);
  EXPECT_EQ(last_bytes(), 41u);
  EXPECT_EQ(y.shape(), Shape::matrix(8, 32));
  EXPECT_EQ(y.dtype(), f32);
  EXPECT_EQ(std::get<GemmCmd>(last()).op.extra(ExtraName::n)->bits, 32u);
  EXPECT_EQ(tl.dot(x, b).dtype(), f16);
}

// The worked list of contract 3: 25, 29, 29, 33, 25, 37, 33, 21, together 232.
TEST_F(SimpleTest, TheEightOpsOfSoftmaxMergeHave232Bytes) {
  const Tensor m = tl.empty({8}, f32), l = tl.empty({8}, f32), O = tl.empty({8, 128}, f32);
  const auto m_loc = tl.rmax(x, f32);
  const auto m_new = tl.max_elem(m, m_loc);
  const auto corr = tl.exp_diff(m, m_new);
  const auto P = tl.exp_diff(x, m_new);
  const auto l_loc = tl.rsum(P, f32);
  tl.fma(l, corr, l_loc, l);
  tl.mul_bcast(O, corr, O);
  tl.copy(m_new, m);
  std::vector<std::uint64_t> bytes;
  std::uint64_t sum = 0;
  for (const Command& command : commands()) {
    bytes.push_back(command::logical_bytes(command));
    sum += bytes.back();
  }
  EXPECT_THAT(bytes, ElementsAre(25u, 29u, 29u, 33u, 25u, 37u, 33u, 21u));
  EXPECT_EQ(sum, 232u);
  EXPECT_EQ(P.dtype(), f16);
  EXPECT_EQ(P.shape(), x.shape());
  EXPECT_EQ(m_loc.shape(), Shape::vector(8));
}

// Contract 13: the final step of decode.
TEST_F(SimpleTest, DivBcastHas33Bytes) {
  const Tensor O = tl.empty({8, 128}, f32), l = tl.empty({8}, f32);
  const Tensor out = tl.div_bcast(O, l, f16);
  EXPECT_EQ(last_bytes(), 33u);
  EXPECT_EQ(out.dtype(), f16);
}

// Operand names of the op table, in order: one `src`, two src_a, src_b, three src_a .. src_c.
TEST_F(SimpleTest, EveryOpNamesItsOperands) {
  const auto line = [&] {
    const OpSpec op = std::get<MathCmd>(last()).op;
    std::string text(to_string(op.kind));
    for (const auto& operand : op.operands) text += " " + std::string(to_string(operand.name));
    for (const auto& extra : op.extras) text += " +" + std::string(to_string(extra.name));
    return text + " -> " + to_string(op.out.shape);
  };
  const auto of = [&](const Tensor&) { return line(); };
  EXPECT_EQ(of(tl.rmax(x)), "rmax src +reduce_axis -> (8,)");
  EXPECT_EQ(of(tl.rsum(x)), "rsum src +reduce_axis -> (8,)");
  EXPECT_EQ(of(tl.max_elem(x, x)), "max_elem src_a src_b -> (8, 64)");
  EXPECT_EQ(of(tl.add(x, x)), "add src_a src_b -> (8, 64)");
  EXPECT_EQ(of(tl.mul(x, x)), "mul src_a src_b -> (8, 64)");
  EXPECT_EQ(of(tl.div(x, x)), "div src_a src_b -> (8, 64)");
  EXPECT_EQ(of(tl.exp_diff(v, v)), "exp_diff src_a src_b -> (8,)");
  EXPECT_EQ(of(tl.exp_diff(x, v)), "exp_diff src_a src_b +bcast_axis -> (8, 64)");
  EXPECT_EQ(of(tl.mul_bcast(x, v)), "mul_bcast src_a src_b +bcast_axis -> (8, 64)");
  EXPECT_EQ(of(tl.sub_bcast(x, v)), "sub_bcast src_a src_b +bcast_axis -> (8, 64)");
  EXPECT_EQ(of(tl.div_bcast(x, v)), "div_bcast src_a src_b +bcast_axis -> (8, 64)");
  EXPECT_EQ(of(tl.mul_cols(x, w)), "mul_cols src_a src_b +bcast_axis -> (8, 64)");
  EXPECT_EQ(of(tl.add_cols(x, w)), "add_cols src_a src_b +bcast_axis -> (8, 64)");
  EXPECT_EQ(of(tl.fma(x, x, x)), "fma src_a src_b src_c -> (8, 64)");
  EXPECT_EQ(of(tl.scale(x, 2)), "scale src +value -> (8, 64)");
  EXPECT_EQ(of(tl.scale_add(x, 2, 1)), "scale_add src +a +b -> (8, 64)");
  EXPECT_EQ(of(tl.square(x)), "square src -> (8, 64)");
  EXPECT_EQ(of(tl.rsqrt(x)), "rsqrt src -> (8, 64)");
  EXPECT_EQ(of(tl.recip(x)), "recip src -> (8, 64)");
  EXPECT_EQ(of(tl.copy(x)), "copy src -> (8, 64)");
  EXPECT_EQ(of(tl.relu(x)), "relu src -> (8, 64)");
  EXPECT_EQ(of(tl.silu(x)), "silu src -> (8, 64)");
  EXPECT_EQ(of(tl.gelu(x)), "gelu src -> (8, 64)");
  EXPECT_EQ(of(tl.mask_cols(x, 0, 3, 1)),
            "mask_cols src +value +first_col +rows_per_step -> (8, 64)");
}

// R3.5: a value that does not fit is refused.
TEST_F(SimpleTest, ScalarsMustFit) {
  EXPECT_THAT(refusal([&] { tl.scale(x, 1e300); }),
              HasSubstr("scale: value = 1e+300 does not fit its 4 bytes"));
  EXPECT_THAT(refusal([&] { tl.mask_cols(x, 0, Index{1} << 31, 0); }),
              HasSubstr("mask_cols: first_col = 2147483648 does not fit its 4 bytes; give an "
                        "integer in [-2147483648, 2147483647]"));
  EXPECT_THAT(refusal([&] { tl.mask_cols(x, 0, 0, -1); }),
              HasSubstr("mask_cols: rows_per_step = -1 does not fit its 4 bytes; give an integer "
                        "in [0, 4294967295]"));
  EXPECT_THAT(refusal([&] { tl.mask_cols(x, 0, 0, Index{1} << 32); }),
              HasSubstr("rows_per_step = 4294967296 does not fit"));
  tl.scale(x, 3.4028234663852886e38);
  tl.mask_cols(x, 0, 2147483647, 4294967295);
}

TEST_F(SimpleTest, ViewsShareBytesAndHaveNewIds) {
  const Tensor a = tl.ref(4096, {16, 32}, f16, "A");
  const Tensor rows = a.rows(4, 2), cols = a.cols(8, 4), corner = a.first({3, 5}), t = a.t();
  EXPECT_EQ(rows.handle().addr, 4096u + 4 * 32 * 2);
  EXPECT_EQ(rows.shape(), Shape::matrix(2, 32));
  EXPECT_EQ(cols.handle().addr, 4096u + 8 * 2);
  EXPECT_EQ(cols.handle().row_stride, 32);
  EXPECT_EQ(corner.shape(), Shape::matrix(3, 5));
  EXPECT_EQ(t.shape(), Shape::matrix(32, 16));
  EXPECT_EQ(t.handle().row_stride, 1);
  EXPECT_EQ(t.handle().col_stride, 32);
  EXPECT_EQ(a.named("B").handle().label(), "B");
  std::vector<command::HandleId> ids;
  for (const Tensor& view : {a, rows, cols, corner, t}) ids.push_back(view.handle().id);
  for (std::size_t i = 1; i < ids.size(); ++i) EXPECT_GT(ids[i], ids[i - 1]);
  EXPECT_TRUE(commands().empty()) << "R3.9: views issue no command";
}

TEST_F(SimpleTest, ViewsAreBoundsChecked) {
  const Tensor a = tl.ref(0, {16, 32}, f16, "A");
  EXPECT_THAT(refusal([&] { a.rows(15, 2); }),
              HasSubstr("rows [15, 17) of A (16, 32) f16 hbm lie outside [0, 16)"));
  EXPECT_THAT(refusal([&] { a.cols(-1, 2); }), HasSubstr("columns [-1, 1) of A"));
  EXPECT_THAT(refusal([&] { a.first({16, 33}); }), HasSubstr("columns [0, 33) of A"));
  EXPECT_THAT(refusal([&] { a.first({0, 4}); }), HasSubstr("at least one is needed"));
  EXPECT_THAT(refusal([&] { v.rows(0, 1); }), HasSubstr("rank"));
  EXPECT_THAT(refusal([&] { v.t(); }), HasSubstr("rank"));
  EXPECT_THAT(refusal([&] { Tensor().t(); }), HasSubstr("an empty tensor has no views"));
}

TEST_F(SimpleTest, UnnamedTensorsAreNamedByTheirId) {
  const Tensor a = tl.empty({2}, f16);
  EXPECT_EQ(a.handle().label(), "tcm#" + std::to_string(a.handle().id));
}

TEST_F(SimpleTest, SlotsOfARingHaveItsNameAndTheirNumber) {
  const auto S = tl.ring<2>({8, 64}, f16, "S");
  EXPECT_EQ(S[0].handle().label(), "S0");
  EXPECT_EQ(S[1].handle().label(), "S1");
  EXPECT_THAT(refusal([&] { tl.ring<2>({1 << 16}, f16, "P"); }),
              HasSubstr("slot 0 of ring<2>: TCM scratch is exhausted: P0 at simple_test.cpp:"));
}

TEST_F(SimpleTest, RingTakesTurns) {
  const auto S = tl.ring<2>({8, 64}, f16);
  EXPECT_EQ(S[0].handle(), S[2].handle());
  EXPECT_EQ(S[1].handle(), S[5].handle());
  EXPECT_EQ(S[1].handle().addr, S[0].handle().addr + 1024);
}

TEST_F(SimpleTest, WaitPassesTheRangesOfItsTensors) {
  const Tensor a = tl.zeros({8}, f32), b = tl.zeros({8, 64}, f16);
  tl.wait({a, b});
  const auto step = std::get<command::WaitStep>(sink.program().steps.back());
  EXPECT_THAT(step.ranges, ElementsAre(a.handle().range(), b.handle().range()));
}

TEST_F(SimpleTest, WaitForWhatNothingWritesIsRefused) {
  EXPECT_THAT(refusal([&] { tl.wait({x}); }),
              HasSubstr("wait: no issued command writes x (8, 64) f16 tcm"));
  const Tensor K = tl.ref(0, {8, 64}, f16, "K");
  const Tensor loaded = tl.load(K);
  tl.wait({loaded});
  EXPECT_THAT(refusal([&] { tl.wait({K}); }), HasSubstr("writes K"));
  tl.fill(x.cols(0, 1), 0);
  tl.wait({x.rows(3, 1)});  // a byte of the hull is enough (R3.3)
  tl.store(K, loaded);
  tl.wait({K});
  tl.wait({K.rows(7, 1)});
}

// A recipe's RW operands and outputs count as written; its scratch is gone when the call returns,
// and a new tensor on released bytes has not been written yet.
TEST_F(SimpleTest, WaitForCompositeResults) {
  const DecodeStep d(tl);
  tl.composite(tl::gemm().b(d.V).out(d.O).prologue(tl::softmax_merge(d.s, d.m, d.l, d.O)));
  tl.wait({d.m, d.l, d.O});
  EXPECT_THAT(refusal([&] { tl.wait({d.s}); }), HasSubstr("writes s"));
  const Tensor fresh = tl.empty({8, 64}, f16).named("fresh");
  EXPECT_THAT(refusal([&] { tl.wait({fresh}); }), HasSubstr("writes fresh"));
}

TEST_F(SimpleTest, RegionsAndObservationsReachTheSink) {
  {
    auto loop = tl.region("loop");
    tl.observe("m", v);
  }
  const auto& steps = sink.program().steps;
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_EQ(std::get<command::BeginRegionStep>(steps[0]).name, "loop");
  EXPECT_EQ(std::get<command::ObserveStep>(steps[1]).handle, v.handle());
  EXPECT_EQ(std::get<command::EndRegionStep>(steps[2]).name, "loop");
  EXPECT_THAT(refusal([&] { auto unnamed = tl.region(""); }), HasSubstr("needs a name"));
}

TEST_F(SimpleTest, CpuOverheadIsACommandWithoutBytes) {
  tl.cpu_overhead(123);
  EXPECT_EQ(std::get<command::PeCpuOverheadCmd>(last()).cycles, 123u);
  EXPECT_EQ(last_bytes(), 0u);
}

TEST(ProgramId, ComesFromTheTarget) {
  Target target;
  target.program_id = {3, 0, 1};
  target.num_programs = {4, 1, 2};
  command::ProgramRecorder sink;
  Context tl(target, sink);
  EXPECT_EQ(tl.program_id(0), 3);
  EXPECT_EQ(tl.num_programs(2), 2);
  EXPECT_THAT(message_of([&] { tl.program_id(3); }), HasSubstr("axis 3 does not exist"));
}

// R1.5: nothing is shared; the same calls give the same commands.
TEST(TwoContexts, AreIndependentAndAlike) {
  command::ProgramRecorder sink_x, sink_y;
  Context x(Target{}, sink_x), y(Target{}, sink_y);
  const auto step = [](Context& tl) { return tl.add(tl.zeros({8}, f32), tl.full({8}, 1, f32)); };
  const Tensor from_x = step(x);
  const Tensor from_y = step(y);
  EXPECT_EQ(from_x.handle(), from_y.handle());
  EXPECT_EQ(sink_x.program().commands(), sink_y.program().commands());
  EXPECT_THAT(message_of([&] { y.relu(from_x.named("x").first({8})); }),
              HasSubstr("another context"));
  EXPECT_THAT(message_of([&] { y.wait({from_x}); }), HasSubstr("another context"));
  EXPECT_THAT(message_of([&] { y.composite(tl::gemm(from_x.named("x"), from_y)); }),
              HasSubstr("gemm: a x (8,) f32 tcm belongs to another context"));
  EXPECT_EQ(sink_y.program().commands().size(), 3u);
}

}  // namespace
}  // namespace kernbench::tl
