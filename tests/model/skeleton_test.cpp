// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/support/pe_bench.hpp"

namespace kernbench {
namespace {

using command::CompositeCmd;
using command::DType;
using command::Extra;
using command::ExtraName;
using command::OperandName;
using command::OpKind;
using command::OpSpec;
using command::Shape;
using command::Space;

OpSpec gemm_op(Space a_space, Space b_space, Space out_space) {
  OpSpec op;
  op.kind = OpKind::gemm;
  const auto at = [](Space space, command::Address addr) {
    return space == Space::tcm ? command::kTcmBase + addr : addr;
  };
  op.operands.push_back({OperandName::a, command::make_handle(1, at(a_space, 0), Shape{8, 128},
                                                              DType::f16, a_space, "a")});
  op.operands.push_back({OperandName::b, command::make_handle(2, at(b_space, 4096), Shape{128, 64},
                                                              DType::f16, b_space, "b")});
  op.extras = {Extra::u32(ExtraName::m, 8), Extra::u32(ExtraName::k, 128),
               Extra::u32(ExtraName::n, 64)};
  op.has_out = true;
  op.out =
      command::make_handle(3, at(out_space, 65536), Shape{8, 64}, DType::f16, out_space, "out");
  return op;
}

test::BenchResult run_gemm(Space a, Space b, Space out, const test::BenchOptions& options = {},
                           const arch::TopologyConfig& topology = test::single_pe()) {
  const auto kernel = [=](command::CommandSink& sink) {
    sink.begin_region("loop");
    sink.issue(CompositeCmd{{0}, {gemm_op(a, b, out)}, {}});
    sink.end_region("loop");
  };
  return test::run_kernel(topology, kernel, options);
}

// Contract 13: 42.875 dispatch (40 + 46/16) + 144 DMA (16 setup + 16384 B / 128 B/ns) + 100 latency
// + 36 FETCH (18432 B / 512) + 32 GEMM (1*8*4 blocks) + 2 STORE (1024 B / 512).
TEST(Skeleton, OneGemmCompositeTakes356875ps) {
  const auto result = run_gemm(Space::tcm, Space::hbm, Space::tcm);
  EXPECT_EQ(result.end_ps, 356875u);
  EXPECT_EQ(result.region_ps("loop"), 356875u);
  EXPECT_TRUE(result.idle);
  ASSERT_EQ(result.rows.size(), 5u) << result.op_log;
}

// + 16 setup + 1024 B / 128 + 100 latency.
TEST(Skeleton, OutInHbmAdds124000ps) {
  EXPECT_EQ(run_gemm(Space::tcm, Space::hbm, Space::hbm).end_ps, 480875u);
}

// - 144 - 100.
TEST(Skeleton, PinnedBTakes244000psLess) {
  EXPECT_EQ(run_gemm(Space::tcm, Space::tcm, Space::tcm).end_ps, 112875u);
}

// The hook adds to each dispatch, DMA setup and stage of an engine: here to the dispatch, the read,
// FETCH, GEMM, STORE and the write, 1 ns each.
TEST(TestHooks, ExtraDelayIsAddedToEveryStage) {
  test::BenchOptions options;
  options.extra_delay = [] { return 1000; };
  EXPECT_EQ(run_gemm(Space::tcm, Space::hbm, Space::hbm, options).end_ps, 480875u + 6000u);
}

// The setup of a, granted first, is overtaken by that of b on the other channel: after the
// dispatch, 42.875, 516 and 36 ns of setup; then 2048 and 16384 bytes at 128 B/ns.
TEST(TestHooks, SetupsOfDifferentLengthsEndInTheirOwnTime) {
  arch::TopologyConfig topology = test::single_pe();
  topology.pe.dma.read_channels = 2;
  const std::vector<std::uint64_t> extra{0, 500'000, 20'000};  // dispatch, a, b
  std::size_t calls = 0;
  test::BenchOptions options;
  options.extra_delay = [&] { return calls < extra.size() ? extra[calls++] : 0; };
  const auto reads =
      test::select(run_gemm(Space::hbm, Space::hbm, Space::tcm, options, topology).rows,
                   [](const test::OpLogRow& row) { return row.stage == "dma_read"; });
  ASSERT_EQ(reads.size(), 2u);
  EXPECT_EQ(reads[0].operand, "b");
  EXPECT_EQ(reads[0].end, 42875u + 36000u + 128000u);
  EXPECT_EQ(reads[1].operand, "a");
  EXPECT_EQ(reads[1].end, 42875u + 516000u + 16000u);
}

}  // namespace
}  // namespace kernbench
