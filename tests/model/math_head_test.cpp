// SPDX-License-Identifier: Apache-2.0
// A MATH head that streams from HBM (R5.5): chunks of tile_m rows x tile_n columns, each a DMA_READ
// of every operand in HBM, the op, and a DMA_WRITE if out is in HBM; later ops once, afterwards.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model/raw_commands.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/legal_run.hpp"
#include "tests/support/program_order.hpp"
#include "tests/support/test_inputs.hpp"

namespace kernbench::test {
namespace {

using command::Index;
using command::OpKind;
using testing::ElementsAre;

/// unit_pe: a chunk of 8 x 32 f16 takes 8 ns of DMA (rows of 64 bytes, 1 ns each) and 4 of MATH.
arch::TopologyConfig streaming_pe(std::uint32_t tile_buffers) {
  arch::TopologyConfig topology = unit_pe();
  topology.pe.scheduler.math_head_from_hbm = true;
  topology.pe.scheduler.tile_buffers = tile_buffers;
  return topology;
}

BenchResult run(const arch::TopologyConfig& topology, const std::vector<command::OpSpec>& ops) {
  return run_kernel(topology, [&](command::CommandSink& sink) { sink.issue(composite(ops)); });
}

// Four chunks, three credits: the fourth read waits for the first op, then for the channel.
TEST(MathHead, R5_5_ChunksOverlap) {
  const auto x = hbm(0, {16, 64});
  const auto result =
      run(streaming_pe(3), {op(OpKind::relu, {x}, tcm(0, {16, 64})), fill(tcm(8192, {64}))});
  EXPECT_THAT(spans(result, 0, "dma_read"),
              ElementsAre(ns(10, 18), ns(18, 26), ns(26, 34), ns(34, 42)));
  // The op after the last chunk starts when that has ended; 64 entries take 1.
  EXPECT_THAT(spans(result, 0, "math"),
              ElementsAre(ns(18, 22), ns(26, 30), ns(34, 38), ns(42, 46), ns(46, 47)));
}

// One credit: a read waits for the op of the chunk before.
TEST(MathHead, R5_5_CreditsFreeAtTheEndOfTheOp) {
  const auto result =
      run(streaming_pe(1), {op(OpKind::relu, {hbm(0, {16, 64})}, tcm(0, {16, 64}))});
  EXPECT_THAT(spans(result, 0, "dma_read"),
              ElementsAre(ns(10, 18), ns(22, 30), ns(34, 42), ns(46, 54)));
}

// out in HBM: the write of chunk 0 and the read of chunk 1 are offered at 22 and share the memory
// burst by burst, reads first: the read has 8 of 15 ns, the write 8 of 16. Later ops wait for the
// last write (49).
TEST(MathHead, R5_5_WritesBack) {
  const auto result = run(streaming_pe(1), {op(OpKind::relu, {hbm(0, {8, 64})}, hbm(4096, {8, 64})),
                                            fill(tcm(8192, {64}))});
  EXPECT_THAT(spans(result, 0, "dma_read"), ElementsAre(ns(10, 18), ns(22, 37)));
  EXPECT_THAT(spans(result, 0, "dma_write"), ElementsAre(ns(22, 38), ns(41, 49)));
  EXPECT_THAT(spans(result, 0, "math"), ElementsAre(ns(18, 22), ns(37, 41), ns(49, 50)));
  EXPECT_TRUE(rows_of(result, 0, "store").empty());
  // Nothing is in HBM before the write: the op's row names out, but no address.
  const auto ops = rows_of(result, 0, "math"), writes = rows_of(result, 0, "dma_write");
  EXPECT_EQ(ops[0].operand, "out");
  EXPECT_FALSE(ops[0].addr.has_value());
  EXPECT_EQ(writes[0].addr, 4096u);
  EXPECT_EQ(writes[1].addr, 4096u + 64u);
}

// Every operand in HBM is read, in order; one in TCM is not. Rows name op, chunk and operand.
TEST(MathHead, R5_5_ReadsEachOperandInHbm) {
  const auto f32 = command::DType::f32;
  const auto x = hbm(0, {8, 32}), z = hbm(4096, {8, 32}), out = tcm(8192, {8, 32}, f32);
  const auto result = run_kernel(streaming_pe(1), [&](command::CommandSink& sink) {
    sink.issue(command::MathCmd{fill(tcm(0, {8, 32}))});
    sink.issue(composite({op(OpKind::fma, {x, tcm(0, {8, 32}), z}, out)}));
  });
  const auto reads = rows_of(result, 1, "dma_read");
  ASSERT_EQ(reads.size(), 2u);
  EXPECT_EQ(reads[0].operand, "src_a");
  EXPECT_EQ(reads[1].operand, "src_c");
  for (const OpLogRow& row : reads) {
    EXPECT_EQ(row.op, "fma");
    EXPECT_EQ(row.op_index, 0);
    EXPECT_EQ(row.tile_m, 0);
    EXPECT_EQ(row.tile_n, 0);
    EXPECT_EQ(row.tile_k, -1);
  }
  EXPECT_EQ(reads[0].start, 20'000u);
  EXPECT_EQ(reads[1].start, 28'000u);
}

// Edge chunks have their true size: (9, 33) is 8x32, 8x1, 1x32 and 1x1. A vector with one entry a
// row or a column goes with its chunk.
TEST(MathHead, R5_5_EdgesAndVectors) {
  const auto x = hbm(0, {9, 33});
  const auto rows = hbm(8192, {9}), cols = hbm(12288, {33});
  const auto bytes_read = [&](OpKind kind, const command::TensorHandle& vector) {
    return in_child([&] {
      std::string text;
      const auto result = run(streaming_pe(3), {op(kind, {x, vector}, tcm(0, {9, 33}))});
      for (const OpLogRow& row : rows_of(result, 0, "dma_read")) {
        text += row.operand + " " + std::to_string(row.bytes) + "; ";
      }
      return text;
    });
  };
  EXPECT_EQ(bytes_read(OpKind::mul_bcast, rows),
            "src_a 512; src_b 16; src_a 16; src_b 16; src_a 64; src_b 2; src_a 2; src_b 2; ");
  EXPECT_EQ(bytes_read(OpKind::mul_cols, cols),
            "src_a 512; src_b 64; src_a 16; src_b 2; src_a 64; src_b 64; src_a 2; src_b 2; ");
}

// Every kind of op on odd shapes, through HBM and back: the numbers of the whole tensor at once.
TEST(MathHead, R5_5_NumbersAreThoseOfTheWholeTensor) {
  kernels::Kernel kernel;
  kernel.name = "heads";
  kernel.make = [](const kernels::Parameters&, const tl::Target&) {
    using kernels::Direction;
    kernels::Instance instance;
    const auto add = [&](const char* name, const command::Shape& shape, Direction direction) {
      const std::vector<Index> file{shape.rows(), shape.cols()};
      instance.tensors.push_back({name, file, shape, command::DType::f16, direction});
    };
    add("x", {19, 45}, Direction::in);
    add("y", {19, 45}, Direction::in);
    add("rows", {19}, Direction::in);
    add("cols", {45}, Direction::in);
    add("tall", {19, 30}, Direction::in);
    for (const char* name : {"sum", "scaled", "biased", "masked", "filled"}) {
      add(name, {19, 45}, Direction::out);
    }
    instance.body = [](tl::Context& tl, const std::vector<tl::Tensor>& t) {
      tl.composite(tl::math("add", {{"src_a", t[0]}, {"src_b", t[1]}}).out(t[5]));
      tl.composite(tl::math("mul_bcast", {{"src_a", t[0]}, {"src_b", t[2]}}).out(t[6]));
      tl.composite(tl::math("add_cols", {{"src_a", t[6]}, {"src_b", t[3]}}).out(t[7]));
      tl.composite(
          tl::math("mask_cols",
                   {{"src", t[0]}, {"value", -2.0}, {"first_col", 3.0}, {"rows_per_step", 2.0}})
              .out(t[8]));
      tl.composite(tl::math("fill", {{"value", 0.5}}).out(t[9]));
      tl.composite(tl::math("relu", {{"src", t[9]}}).out(t[9]));  // in place
      tl.observe("top", tl.composite(tl::math("rmax", {{"src", t[4]}})));
      tl.observe("turned", tl.composite(tl::math("silu", {{"src", t[1].t()}})));
      const auto z = tl.load(t[1]);
      const auto out = tl.empty({19, 45}, tl::f32);
      tl.composite(tl::math("fma", {{"src_a", t[0]}, {"src_b", t[1]}, {"src_c", z}})
                       .out(out)
                       .then("square", {{"src", out}})
                       .out(out));
      tl.observe("fma", out);
    };
    return instance;
  };
  arch::TopologyConfig topology = streaming_pe(2);
  const auto compiled = compile(kernel, {}, runtime::make_target(topology));
  const auto inputs = test_inputs(compiled.instance, "normal");
  const runtime::Launch launch(kernel, {}, topology);
  EXPECT_EQ(results_in(run_as_text(topology, launch, inputs, poisoned())),
            text_of(run_in_program_order(compiled, inputs)));
}

}  // namespace
}  // namespace kernbench::test
