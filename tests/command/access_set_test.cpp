// SPDX-License-Identifier: Apache-2.0
// What a command reads and writes (R7.1), as hulls (R3.3), without the accumulator (R4.6).
#include "tlm_if/command/access_set.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kernbench::command {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A dense (rows, cols) f16 tensor `offset` bytes into TCM.
TensorHandle tcm(Address offset, Index rows, Index cols, HandleId id = 1) {
  return make_handle(id, kTcmBase + offset, Shape{rows, cols}, DType::f16, Space::tcm);
}
ByteRange at(Address begin, Address end) { return {kTcmBase + begin, kTcmBase + end}; }

OpSpec op(OpKind kind, Scope scope, InlineVector<Operand, 3> operands, const TensorHandle* out) {
  OpSpec spec;
  spec.kind = kind;
  spec.scope = scope;
  spec.operands = operands;
  if (out != nullptr) {
    spec.has_out = true;
    spec.out = *out;
  }
  return spec;
}

TEST(AccessSet, OfASimpleOp) {
  const TensorHandle x = tcm(0, 2, 4), y = tcm(100, 2, 4), out = tcm(200, 2, 4);
  const AccessSet set = access_set(MathCmd{
      op(OpKind::add, Scope::kernel, {{OperandName::src_a, x}, {OperandName::src_b, y}}, &out)});
  EXPECT_THAT(set.reads, ElementsAre(at(0, 16), at(100, 116)));
  EXPECT_THAT(set.writes, ElementsAre(at(200, 216)));
}

TEST(AccessSet, OfTransfers) {
  const TensorHandle hbm = make_handle(1, 4096, Shape{2, 4}, DType::f16, Space::hbm);
  const AccessSet read = access_set(DmaReadCmd{hbm, tcm(0, 2, 4)});
  EXPECT_THAT(read.reads, ElementsAre(ByteRange{4096, 4112}));
  EXPECT_THAT(read.writes, ElementsAre(at(0, 16)));
  const AccessSet write = access_set(DmaWriteCmd{tcm(0, 2, 4), hbm});
  EXPECT_THAT(write.reads, ElementsAre(at(0, 16)));
  EXPECT_THAT(write.writes, ElementsAre(ByteRange{4096, 4112}));
}

TEST(AccessSet, OfCpuOverheadIsEmpty) {
  const AccessSet set = access_set(PeCpuOverheadCmd{5});
  EXPECT_THAT(set.reads, IsEmpty());
  EXPECT_THAT(set.writes, IsEmpty());
}

// R4.6: src of a tile op is the accumulator, other is memory; out is written by STORE.
TEST(AccessSet, LeavesTheAccumulatorOut) {
  const TensorHandle a = tcm(0, 2, 4), b = tcm(100, 4, 4), out = tcm(200, 2, 4),
                     bias = tcm(300, 1, 4);
  CompositeCmd command;
  command.ops = {op(OpKind::gemm, Scope::kernel, {{OperandName::a, a}, {OperandName::b, b}}, &out),
                 op(OpKind::bias, Scope::output_tile,
                    {{OperandName::src, out}, {OperandName::other, bias}}, &out)};
  const AccessSet set = access_set(command);
  EXPECT_THAT(set.reads, ElementsAre(at(0, 16), at(100, 132), at(300, 308)));
  EXPECT_THAT(set.writes, ElementsAre(at(200, 216)));

  // The same op at kernel scope reads its src.
  command.ops[1] = op(OpKind::relu, Scope::kernel, {{OperandName::src, out}}, &out);
  EXPECT_THAT(access_set(command).reads, ElementsAre(at(0, 16), at(100, 132), at(200, 216)));
}

TEST(AccessSet, RwHandlesAreWrites) {
  const TensorHandle x = tcm(0, 2, 4), rw = tcm(500, 1, 2);
  CompositeCmd command;
  command.ops = {op(OpKind::relu, Scope::kernel, {{OperandName::src, x}}, &x)};
  command.rw_handles = {rw};
  EXPECT_THAT(access_set(command).writes, ElementsAre(at(0, 16), at(500, 504)));
}

// Columns 2..3 of a (3, 8) matrix: from entry 2 to entry 2 * 8 + 3.
TEST(AccessSet, StridedViewsCountAsHulls) {
  const TensorHandle matrix = tcm(0, 3, 8);
  const TensorHandle left = view_cols(matrix, 0, 2, 2), right = view_cols(matrix, 2, 2, 3);
  EXPECT_EQ(right.range(), at(4, 40));
  EXPECT_TRUE(left.range().overlaps(right.range()));
  EXPECT_EQ(view_transposed(right, 4).range(), at(4, 40));
  EXPECT_FALSE(view_rows(matrix, 0, 1, 5).range().overlaps(view_rows(matrix, 1, 2, 6).range()));
}

TEST(AccessSet, MergesTouchingAndOverlappingRanges) {
  CompositeCmd command;
  for (const Address offset : {Address{48}, Address{0}, Address{16}, Address{24}}) {
    const TensorHandle x = tcm(offset, 2, 4);
    command.ops.push_back(op(OpKind::relu, Scope::kernel, {{OperandName::src, x}}, &x));
  }
  // [0, 16) [16, 32) [24, 40) are one; [48, 64) stays.
  EXPECT_THAT(access_set(command).reads, ElementsAre(at(0, 40), at(48, 64)));
  EXPECT_THAT(access_set(command).writes, ElementsAre(at(0, 40), at(48, 64)));
}

// Ascending ranges that never touch, whatever is added.
TEST(AddRange, MergesWhatTouches) {
  std::vector<ByteRange> ranges;
  const auto add = [&](Address begin, Address end) {
    add_range(ranges, at(begin, end));
    return ranges;
  };
  EXPECT_THAT(add(40, 50), ElementsAre(at(40, 50)));
  EXPECT_THAT(add(60, 70), ElementsAre(at(40, 50), at(60, 70)));
  EXPECT_THAT(add(20, 30), ElementsAre(at(20, 30), at(40, 50), at(60, 70)));
  EXPECT_THAT(add(42, 48), ElementsAre(at(20, 30), at(40, 50), at(60, 70))) << "contained";
  EXPECT_THAT(add(50, 52), ElementsAre(at(20, 30), at(40, 52), at(60, 70))) << "touches";
  EXPECT_THAT(add(25, 55), ElementsAre(at(20, 55), at(60, 70))) << "joins two";
  EXPECT_THAT(add(70, 80), ElementsAre(at(20, 55), at(60, 80)));
  EXPECT_THAT(add(0, 100), ElementsAre(at(0, 100))) << "swallows all";
}

TEST(AccessSet, ReusedObjectForgetsTheLastCommand) {
  AccessSet set = access_set(DmaReadCmd{tcm(0, 2, 4), tcm(100, 2, 4)});
  access_set(PeCpuOverheadCmd{1}, set);
  EXPECT_THAT(set.reads, IsEmpty());
  EXPECT_THAT(set.writes, IsEmpty());
}

// R7.1: W & (R | W) or R & W.
TEST(AccessSet, Conflicts) {
  const AccessSet a{{at(0, 16)}, {at(16, 32)}};
  EXPECT_FALSE(a.conflicts_with({{at(0, 16)}, {at(32, 40)}})) << "two readers";
  EXPECT_TRUE(a.conflicts_with({{at(31, 33)}, {at(40, 50)}})) << "read after write";
  EXPECT_TRUE(a.conflicts_with({{at(40, 50)}, {at(15, 16)}})) << "write after read";
  EXPECT_TRUE(a.conflicts_with({{at(40, 50)}, {at(0, 4), at(20, 21)}})) << "write after write";
  EXPECT_FALSE(a.conflicts_with({{at(32, 50)}, {at(50, 60)}})) << "touching is not overlapping";
  EXPECT_TRUE(a.writes_any_of({at(100, 101), at(31, 32)}));
  EXPECT_FALSE(a.writes_any_of({at(0, 16), at(32, 33)}));
}

}  // namespace
}  // namespace kernbench::command
