// SPDX-License-Identifier: Apache-2.0
// The byte rule of contract 3 (structural), and the op table behind it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tlm_if/command/commands.hpp"
#include "tlm_if/command/spelling.hpp"

namespace kernbench::command {
namespace {

TensorHandle handle(HandleId id = 1) {
  return make_handle(id, kTcmBase, Shape{8, 64}, DType::f16, Space::tcm, "x");
}

/// An op with all operands and extras of its kernel-scope form.
OpSpec kernel_form(OpKind kind, bool optional_extras = true) {
  const OpInfo& info = op_info(kind);
  OpSpec op;
  op.kind = kind;
  for (const OperandName name : info.operands) op.operands.push_back({name, handle()});
  for (const ExtraInfo& extra : info.extras) {
    if (extra.required || optional_extras) op.extras.push_back({extra.name, extra.type, 0});
  }
  op.has_out = true;
  op.out = handle();
  return op;
}

OpSpec tile_form(OpKind kind) {
  const OpInfo& info = op_info(kind);
  OpSpec op;
  op.kind = kind;
  op.scope = Scope::output_tile;
  for (const OperandName name : *info.tile_operands) op.operands.push_back({name, handle()});
  for (const ExtraInfo& extra : info.extras) op.extras.push_back({extra.name, extra.type, 0});
  op.has_out = info.tile_out;
  return op;
}

// The worked list of contract 3, as OpSpecs: 1 opcode + 1 scope + 1 + 8 per operand + 8 for out + 1
// + 4 per extra.
TEST(LogicalBytes, OfOpSpecs) {
  EXPECT_EQ(kernel_form(OpKind::rmax).logical_bytes(), 24u);
  EXPECT_EQ(kernel_form(OpKind::max_elem).logical_bytes(), 28u);
  EXPECT_EQ(kernel_form(OpKind::exp_diff, false).logical_bytes(), 28u);
  EXPECT_EQ(kernel_form(OpKind::exp_diff).logical_bytes(), 32u);
  EXPECT_EQ(kernel_form(OpKind::rsum).logical_bytes(), 24u);
  EXPECT_EQ(kernel_form(OpKind::fma).logical_bytes(), 36u);
  EXPECT_EQ(kernel_form(OpKind::mul_bcast).logical_bytes(), 32u);
  EXPECT_EQ(kernel_form(OpKind::copy).logical_bytes(), 20u);
  EXPECT_EQ(kernel_form(OpKind::gemm).logical_bytes(), 40u);
  EXPECT_EQ(tile_form(OpKind::add).logical_bytes(), 28u);
  EXPECT_EQ(tile_form(OpKind::bias).logical_bytes(), 28u);
  EXPECT_EQ(tile_form(OpKind::gelu).logical_bytes(), 20u);
  EXPECT_EQ(tile_form(OpKind::scale).logical_bytes(), 8u);
}

// 4 framing + 1 opcode + 8 per handle + 4 per scalar.
TEST(LogicalBytes, OfSimpleCommands) {
  EXPECT_EQ(logical_bytes(MathCmd{kernel_form(OpKind::rmax)}), 25u);
  EXPECT_EQ(logical_bytes(MathCmd{kernel_form(OpKind::max_elem)}), 29u);
  EXPECT_EQ(logical_bytes(MathCmd{kernel_form(OpKind::exp_diff, false)}), 29u);
  EXPECT_EQ(logical_bytes(MathCmd{kernel_form(OpKind::exp_diff)}), 33u);
  EXPECT_EQ(logical_bytes(MathCmd{kernel_form(OpKind::fma)}), 37u);
  EXPECT_EQ(logical_bytes(MathCmd{kernel_form(OpKind::copy)}), 21u);
  EXPECT_EQ(logical_bytes(MathCmd{kernel_form(OpKind::fill)}), 17u);
  EXPECT_EQ(logical_bytes(GemmCmd{kernel_form(OpKind::gemm)}), 41u);
  EXPECT_EQ(logical_bytes(DmaReadCmd{handle(), handle()}), 21u);
  EXPECT_EQ(logical_bytes(DmaWriteCmd{handle(), handle()}), 21u);
  EXPECT_EQ(logical_bytes(PeCpuOverheadCmd{1000}), 0u);  // R3.9
}

// 4 framing + 1 + sum(OpSpec) + 1 + 8 per rw handle.
TEST(LogicalBytes, OfComposites) {
  CompositeCmd command;
  command.ops = {kernel_form(OpKind::gemm)};
  EXPECT_EQ(logical_bytes(command), 46u);
  command.ops.push_back(tile_form(OpKind::scale));
  EXPECT_EQ(logical_bytes(command), 54u);
  command.ops.back() = tile_form(OpKind::add);
  command.rw_handles = {handle()};
  EXPECT_EQ(logical_bytes(command), 82u);
  command.data_op = false;
  EXPECT_EQ(logical_bytes(command), 82u) << "no field of the byte rule";
}

// "A composite is always 6 + 4k bytes" (R3.8).
TEST(LogicalBytes, OfEveryOpAreMultiplesOfFour) {
  for (int i = 0; i < kOpKinds; ++i) {
    const auto kind = static_cast<OpKind>(i);
    const OpInfo& info = op_info(kind);
    if (info.kernel_form) {
      EXPECT_EQ(kernel_form(kind).logical_bytes() % 4, 0u) << info.name;
    }
    if (info.tile_operands) {
      EXPECT_EQ(tile_form(kind).logical_bytes() % 4, 0u) << info.name;
    }
  }
}

TEST(OpTable, IsIndexedByKindWithUniqueNames) {
  std::set<std::string_view> names;
  for (int i = 0; i < kOpKinds; ++i) {
    const auto kind = static_cast<OpKind>(i);
    EXPECT_EQ(op_info(kind).kind, kind);
    EXPECT_EQ(find_op(op_info(kind).name), kind);
    EXPECT_TRUE(names.insert(op_info(kind).name).second) << op_info(kind).name;
  }
  EXPECT_EQ(find_op("nonsense"), std::nullopt);
}

TEST(OpTable, TileFormsAreThoseOfContract4) {
  std::vector<std::string_view> with_tile_form;
  for (int i = 0; i < kOpKinds; ++i) {
    const OpInfo& info = op_info(static_cast<OpKind>(i));
    if (info.tile_operands) with_tile_form.push_back(info.name);
  }
  EXPECT_THAT(with_tile_form,
              testing::UnorderedElementsAre("add", "bias", "mul", "gelu", "silu", "relu", "scale"));
}

TEST(Extras, KeepTheirBits) {
  EXPECT_EQ(Extra::i32(ExtraName::reduce_axis, -1).as_i32(), -1);
  EXPECT_EQ(Extra::i32(ExtraName::reduce_axis, -1).bits, 0xffffffffu);
  EXPECT_EQ(Extra::f32(ExtraName::value, 0.5f).as_f32(), 0.5f);
  EXPECT_EQ(Extra::f32(ExtraName::value, 0.5f).bits, 0x3f000000u);
}

TEST(Labels, NameTheCommand) {
  EXPECT_EQ(label(CompositeCmd{}), "composite");
  EXPECT_EQ(label(DmaReadCmd{}), "load");
  EXPECT_EQ(label(DmaWriteCmd{}), "store");
  EXPECT_EQ(label(MathCmd{kernel_form(OpKind::rsum)}), "rsum");
  EXPECT_EQ(label(GemmCmd{}), "dot");
  EXPECT_EQ(label(PeCpuOverheadCmd{}), "cpu_overhead");
}

TEST(DTypes, AreSizedInBits) {
  EXPECT_EQ(bytes_of(DType::f16, 3), 6u);
  EXPECT_EQ(bytes_of(DType::bf16, 3), 6u);
  EXPECT_EQ(bytes_of(DType::f32, 3), 12u);
}

TEST(Spelling, NearestName) {
  const std::vector<std::string> names{"softmax_merge", "rmax", "rsum"};
  EXPECT_EQ(nearest_spelling("softmax_marge", names), "softmax_merge");
  EXPECT_EQ(nearest_spelling("rmxa", names), "rmax");
  EXPECT_EQ(nearest_spelling("zzzzzz", names), "");
  EXPECT_EQ(nearest_spelling("rmum", {"rsum", "rmux"}), "") << "equally near";
  EXPECT_EQ(nearest_spelling("opt4", {"opt1", "opt2", "opt3"}), "");
  EXPECT_EQ(nearest_spelling("S_KV", {"s_kw", "s_kv"}), "s_kv") << "case comes first";
  EXPECT_EQ(nearest_spelling("--op-log", {"--topology", "--set"}), "") << "two letters of six";
  EXPECT_EQ(nearest_spelling("--op_log", {"--topology", "--op-log"}), "--op-log");
  EXPECT_EQ(nearest_spelling("tiel", {"tile", "t_q"}), "tile") << "a swap is one letter";
  EXPECT_EQ(nearest_spelling("x", {"m", "k"}), "");
  EXPECT_EQ(did_you_mean("rsun", names), "; did you mean 'rsum'?");
  EXPECT_EQ(did_you_mean("zzzzzz", names), "");
}

}  // namespace
}  // namespace kernbench::command
