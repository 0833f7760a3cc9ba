// SPDX-License-Identifier: Apache-2.0
// Dispatch cost of composites around the segment size (R3.8), as PE_CPU takes it:
// segments * 40 + bytes / 16 cycles of 1 ns, segments = ceil(bytes / max_composite_logical_bytes).
#include <gtest/gtest.h>

#include "tests/model/raw_commands.hpp"

namespace kernbench::test {
namespace {

using command::OpKind;

/// 6 bytes of framing and ops of 20 and 24 bytes: any 6 + 4k bytes that are long enough.
command::CompositeCmd composite_of(std::uint64_t bytes) {
  const auto matrix = tcm(0, {8, 64});
  const auto row = tcm(4096, {8}, command::DType::f32);
  command::OpSpec rsum = op(OpKind::rsum, {matrix}, row);
  rsum.extras = {command::Extra::i32(command::ExtraName::reduce_axis, -1)};
  const std::uint64_t ops = (bytes - 6) / 20, longer = (bytes - 6) % 20 / 4;
  std::vector<command::OpSpec> list(longer, rsum);
  list.resize(ops, copy(matrix, tcm(8192, {8, 64})));
  const auto command = composite(std::move(list));
  EXPECT_EQ(command::logical_bytes(command), bytes);
  return command;
}

struct Case {
  std::uint64_t bytes, cap, segments;
};

void check(const Case& expected, const BenchResult& result) {
  const auto dispatch = spans(result, 0, "dispatch");
  ASSERT_EQ(dispatch.size(), 1u);
  // 1/16 cycle of 1 ns a byte: 62.5 ps, exact for an even number of bytes.
  EXPECT_EQ(dispatch[0].second - dispatch[0].first,
            expected.segments * 40'000 + expected.bytes * 625 / 10);
  EXPECT_EQ(result.totals.segments, expected.segments);
  EXPECT_EQ(result.totals.logical_bytes, expected.bytes);
}

void run(const Case& c) {
  arch::TopologyConfig topology = single_pe();
  topology.pe.pe_cost_model.max_composite_logical_bytes = c.cap;
  check(c, run_kernel(topology,
                      [&](command::CommandSink& sink) { sink.issue(composite_of(c.bytes)); }));
}

TEST(CostModel, R3_8_1022BytesAreOneSegment) { run({1022, 1024, 1}); }
TEST(CostModel, R3_8_1026BytesAreTwo) { run({1026, 1024, 2}); }
TEST(CostModel, R3_8_2046BytesAreTwo) { run({2046, 1024, 2}); }
TEST(CostModel, R3_8_2050BytesAreThree) { run({2050, 1024, 3}); }
// The cap itself still fits.
TEST(CostModel, R3_8_1026BytesWithACapOf1026AreOne) { run({1026, 1026, 1}); }

// The override of a topology, as single_pe_ns has it: 32 + 0.25 a byte.
TEST(CostModel, R3_8_TopologyOverride) {
  arch::TopologyConfig topology = single_pe();
  topology.pe.pe_cost_model.fixed_cycles = 32;
  topology.pe.pe_cost_model.cycles_per_byte = arch::Rational(1, 4);
  const auto result =
      run_kernel(topology, [](command::CommandSink& sink) { sink.issue(composite_of(1026)); });
  EXPECT_EQ(spans(result, 0, "dispatch"), std::vector<Span>{Span(0, (2 * 32 + 256) * 1000 + 500)});
}

// R3.9: its own cycles, by neither formula nor bytes.
TEST(CostModel, R3_9_CpuOverheadBypassesTheFormula) {
  const auto result = run_kernel(single_pe(), [](command::CommandSink& sink) {
    sink.issue(command::PeCpuOverheadCmd{7});
    sink.issue(command::MathCmd{fill(tcm(0, {8}))});
  });
  // fill: 4 + 1 + 8 + 4 = 17 bytes, 41.0625 ns.
  EXPECT_EQ(spans(result, 0, "dispatch"), std::vector<Span>{Span(0, 7000)});
  EXPECT_EQ(spans(result, 1, "dispatch"), std::vector<Span>{Span(7000, 48063)});
  EXPECT_EQ(result.totals.segments, 1u);
  EXPECT_EQ(result.totals.logical_bytes, 17u);
}

}  // namespace
}  // namespace kernbench::test
