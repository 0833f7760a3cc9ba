// SPDX-License-Identifier: Apache-2.0
// The plan of a command without SystemC (R5.6): phases by position and scope (contract 5), tiles
// (R5.2), slices (R4.6), DMA by where operands lie.
#include "model/arch/plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <tuple>

#include "tests/tl/fixture.hpp"
#include "tl/ops.hpp"

namespace kernbench::arch {
namespace {

using command::Command;
using command::DType;
using command::Index;
using command::OperandName;
using command::OpKind;
using command::OpSpec;
using command::Scope;
using command::Shape;
using command::Space;
using command::TensorHandle;
using testing::ElementsAre;

// ---- everything that a plan says, as values -----------------------------------------------------

using SliceValues = std::tuple<OperandName, DType, command::Address, Index, Index, Index, Index>;

SliceValues values(const Slice& slice) {
  return {slice.name, slice.dtype,      slice.addr,      slice.rows,
          slice.cols, slice.row_stride, slice.col_stride};
}

struct StageValues {
  std::tuple<StageKind, OpKind, Scope, std::int32_t> what;
  std::tuple<std::int32_t, std::int32_t, std::int32_t> tile;
  std::vector<SliceValues> slices;
  std::tuple<std::uint64_t, std::uint64_t> amounts;
  std::vector<std::uint32_t> extras;

  friend bool operator==(const StageValues& x, const StageValues& y) {
    return x.what == y.what && x.tile == y.tile && x.slices == y.slices && x.amounts == y.amounts &&
           x.extras == y.extras;
  }
};

std::ostream& operator<<(std::ostream& out, const StageValues& stage) {
  return out << testing::PrintToString(stage.what) << testing::PrintToString(stage.tile)
             << testing::PrintToString(stage.slices) << testing::PrintToString(stage.amounts)
             << testing::PrintToString(stage.extras) << "\n";
}

StageValues values(const StageSpec& stage) {
  StageValues result{{stage.kind, stage.op, stage.scope, stage.op_index},
                     {stage.tile.m, stage.tile.n, stage.tile.k},
                     {},
                     {stage.bytes, stage.elements},
                     {}};
  for (const Slice& operand : stage.operands) result.slices.push_back(values(operand));
  if (stage.has_out) result.slices.push_back(values(stage.out));
  for (const command::Extra& extra : stage.extras) result.extras.push_back(extra.bits);
  return result;
}

constexpr command::Address kBuffer = command::kTcmBase + 131072;

std::vector<StageSpec> stages_of(const Plan& plan) {
  std::vector<StageSpec> stages;
  for (std::int32_t i = 0; i < plan.prologue_stages(); ++i) stages.push_back(plan.prologue(i));
  for (std::int64_t number = 0; number < plan.tiles(); ++number) {
    const Tile tile = plan.tile(number);
    if (plan.streams_a()) stages.push_back(plan.read_a(tile, kBuffer));
    if (plan.streams_b()) stages.push_back(plan.read_b(tile, kBuffer));
    stages.push_back(plan.fetch(tile, kBuffer));
    stages.push_back(plan.gemm(tile));
    for (std::int32_t i = 0; i < plan.k_tile_ops(); ++i) {
      stages.push_back(plan.k_tile_op(tile, i));
    }
    if (!tile.last_k) continue;
    for (std::int32_t i = 0; i < plan.output_tile_ops(); ++i) {
      stages.push_back(plan.output_tile_op(tile, i));
    }
    stages.push_back(plan.store(tile));
    if (plan.writes_back()) stages.push_back(plan.write_out(tile));
  }
  for (std::int32_t i = 0; i < plan.epilogue_stages(); ++i) stages.push_back(plan.epilogue(i));
  return stages;
}

std::vector<StageValues> values(const Plan& plan) {
  std::vector<StageValues> result;
  for (const StageSpec& stage : stages_of(plan)) result.push_back(values(stage));
  return result;
}

std::vector<StageKind> kinds(const Plan& plan) {
  std::vector<StageKind> result;
  for (const StageSpec& stage : stages_of(plan)) result.push_back(stage.kind);
  return result;
}

/// A gemm with operands at given places; rows of `a` and `out` are M, columns of `b` N.
Command gemm_command(const TensorHandle& a, const TensorHandle& b, const TensorHandle& out,
                     const std::vector<OpSpec>& more = {}) {
  std::vector<OpSpec> ops{tl::make_gemm(a, b, out)};
  ops.insert(ops.end(), more.begin(), more.end());
  return command::CompositeCmd{{0}, ops, {}};
}

TensorHandle tcm(command::Address offset, const Shape& shape, DType dtype = DType::f16) {
  return command::make_handle(1, command::kTcmBase + offset, shape, dtype, Space::tcm);
}
TensorHandle hbm(command::Address addr, const Shape& shape) {
  return command::make_handle(1, addr, shape, DType::f16, Space::hbm);
}

OpSpec add_other(const TensorHandle& out, const TensorHandle& other) {
  OpSpec op;
  op.kind = OpKind::add;
  op.scope = Scope::output_tile;
  op.operands = {{OperandName::src, out}, {OperandName::other, other}};
  op.has_out = true;
  op.out = out;
  return op;
}

// Tiles of 8 x 32 x 16.
GemmConfig small_tiles() {
  GemmConfig config;
  config.tile_m = 8;
  config.tile_k = 32;
  config.tile_n = 16;
  return config;
}

// ---- the flagship -------------------------------------------------------------------------------

class Flagship : public tl::ContextTest {
 protected:
  const tl::DecodeStep d{tl};
  Command typed() {
    tl.composite(tl::gemm()
                     .b(d.V)
                     .out(d.O)
                     .prologue(tl::softmax_merge(d.s, d.m, d.l, d.O))
                     .epilogue(tl::add(d.O)));
    return last();
  }
};

// R4.8, and the issue of one DMA: V. (8, 64) x (64, 128) is one tile of the default 8 x 128 x 128.
TEST_F(Flagship, PhasesAndCounts) {
  const Command command = typed();
  const Plan plan(command, GemmConfig{});
  EXPECT_FALSE(plan.is_transfer());
  EXPECT_EQ(plan.prologue_stages(), 8);
  EXPECT_EQ(plan.epilogue_stages(), 0);
  EXPECT_EQ(plan.m_tiles(), 1);
  EXPECT_EQ(plan.k_tiles(), 1);
  EXPECT_EQ(plan.n_tiles(), 1);
  EXPECT_FALSE(plan.streams_a());
  EXPECT_TRUE(plan.streams_b());
  EXPECT_FALSE(plan.writes_back());
  using K = StageKind;
  EXPECT_THAT(kinds(plan),
              ElementsAre(K::math, K::math, K::math, K::math, K::math, K::math, K::math, K::math,
                          K::dma_read, K::fetch, K::gemm, K::math, K::store));
}

// The entries that each prologue op processes: what 8+1+1+8+8+1+16+1 cycles follow from. A
// reduction counts its input (512), not its output (8).
TEST_F(Flagship, PrologueStages) {
  const Command command = typed();
  const Plan plan(command, GemmConfig{});
  const OpKind op[] = {OpKind::rmax, OpKind::max_elem, OpKind::exp_diff,  OpKind::exp_diff,
                       OpKind::rsum, OpKind::fma,      OpKind::mul_bcast, OpKind::copy};
  const std::uint64_t elements[] = {512, 8, 8, 512, 512, 8, 1024, 8};
  for (std::int32_t i = 0; i < 8; ++i) {
    const StageSpec stage = plan.prologue(i);
    EXPECT_EQ(stage.op, op[i]);
    EXPECT_EQ(stage.elements, elements[i]) << i;
    EXPECT_EQ(stage.op_index, i);
    EXPECT_EQ(stage.tile.m, -1);
    EXPECT_FALSE(stage.on_accumulator());
  }
}

// R4.6: the add stage carries `other`, with its address; `src` is the accumulator, no memory.
TEST_F(Flagship, AddStageCarriesOther) {
  const Command command = typed();
  const Plan plan(command, GemmConfig{});
  const StageSpec stage = plan.output_tile_op(plan.tile(0), 0);
  EXPECT_EQ(stage.op, OpKind::add);
  EXPECT_EQ(stage.op_index, 9);
  ASSERT_EQ(stage.operands.size(), 1u);
  EXPECT_EQ(values(stage.operands[0]),
            SliceValues(OperandName::other, DType::f32, d.O.handle().addr, 8, 128, 128, 1));
  EXPECT_EQ(stage.operand(OperandName::src), nullptr);
  EXPECT_FALSE(stage.has_out);
  EXPECT_EQ(stage.elements, 1024u);
}

TEST_F(Flagship, DmaFetchAndStore) {
  const Command command = typed();
  const Plan plan(command, GemmConfig{});
  const Tile tile = plan.tile(0);
  const StageSpec read = plan.read_b(tile, kBuffer);
  EXPECT_EQ(values(read.operands[0]),
            SliceValues(OperandName::b, DType::f16, 0x100000, 64, 128, 128, 1));
  EXPECT_EQ(read.out.addr, kBuffer);
  EXPECT_EQ(read.bytes, 16384u);
  const StageSpec fetch = plan.fetch(tile, kBuffer);
  EXPECT_EQ(fetch.operand(OperandName::b)->addr, kBuffer);
  EXPECT_EQ(fetch.bytes, 1024u + 16384u);  // P and V
  const StageSpec store = plan.store(tile);
  EXPECT_EQ(values(store.out),
            SliceValues(OperandName::out, DType::f32, d.O.handle().addr, 8, 128, 128, 1));
  EXPECT_EQ(store.bytes, 4096u);
}

// R4.1: typed, string and flat spelling have the same bytes and stages.
TEST_F(Flagship, SpellingsHaveTheSameStages) {
  const Command typed_command = typed();
  tl.composite(tl::gemm()
                   .b(d.V)
                   .out(d.O)
                   .prologue("softmax_merge", {{"s", d.s}, {"m", d.m}, {"l", d.l}, {"O", d.O}})
                   .epilogue("add", {{"other", d.O}}));
  const Command strings = last();

  // By hand: the eight rows of the table in contract 4, the gemm, the add, on a block of the
  // caller's own, which lies where that of the recipe was, with the slots at the same places.
  const tl::Tensor block = tl.empty({288}, tl::f32);
  const std::vector<OpSpec> lowered = std::get<command::CompositeCmd>(typed_command).ops;
  const auto slot = [&](std::size_t producer, const Shape& shape, DType dtype) {
    return command::make_handle(block.handle().id, lowered[producer].out.addr, shape, dtype,
                                Space::tcm);
  };
  const TensorHandle m_loc = slot(0, {8}, DType::f32), m_new = slot(1, {8}, DType::f32),
                     corr = slot(2, {8}, DType::f32), P = slot(3, {8, 64}, DType::f16),
                     l_loc = slot(4, {8}, DType::f32), s = d.s.handle(), m = d.m.handle(),
                     l = d.l.handle(), O = d.O.handle();
  const auto math = [](OpKind kind, std::initializer_list<TensorHandle> inputs,
                       const TensorHandle& out) {
    OpSpec op;
    op.kind = kind;
    std::size_t i = 0;
    for (const TensorHandle& input : inputs) {
      op.operands.push_back({command::op_info(kind).operands[i++], input});
    }
    op.has_out = true;
    op.out = out;
    return op;
  };
  const auto with = [](OpSpec op, command::ExtraName name, std::int32_t value) {
    op.extras.push_back(command::Extra::i32(name, value));
    return op;
  };
  using command::ExtraName;
  const std::vector<OpSpec> ops{
      with(math(OpKind::rmax, {s}, m_loc), ExtraName::reduce_axis, -1),
      math(OpKind::max_elem, {m, m_loc}, m_new),
      math(OpKind::exp_diff, {m, m_new}, corr),
      with(math(OpKind::exp_diff, {s, m_new}, P), ExtraName::bcast_axis, 0),
      with(math(OpKind::rsum, {P}, l_loc), ExtraName::reduce_axis, -1),
      math(OpKind::fma, {l, corr, l_loc}, l),
      with(math(OpKind::mul_bcast, {O, corr}, O), ExtraName::bcast_axis, 1),
      math(OpKind::copy, {m_new}, m),
      tl::make_gemm(P, d.V.handle(), O),
      add_other(O, O)};
  tl.composite(ops, {m, l, O});
  const Command flat = last();

  for (const Command& command : {typed_command, strings, flat}) {
    EXPECT_EQ(command::logical_bytes(command), 322u);
    EXPECT_EQ(values(Plan(command, GemmConfig{})), values(Plan(typed_command, GemmConfig{})));
  }
}

// The documents' legacy call, tl.composite(tl::gemm(A, B).epilogue("bias", ...)), likewise.
TEST_F(Flagship, LegacyCallHasTheSameStages) {
  const tl::Tensor h = tl.empty({128}, tl::f16), out = tl.empty({8, 128}, tl::f16);
  tl.composite(tl::gemm(d.s, d.V).out(out).epilogue(tl::bias(h)));
  const Command typed_command = last();
  tl.composite(tl::gemm(d.s, d.V).out(out).epilogue("bias", {{"bias", h}}));
  const Command legacy = last();
  OpSpec bias = add_other(out.handle(), h.handle());
  bias.kind = OpKind::bias;
  tl.composite({tl::make_gemm(d.s.handle(), d.V.handle(), out.handle()), bias});
  const Command flat = last();
  for (const Command& command : {typed_command, legacy, flat}) {
    EXPECT_EQ(command::logical_bytes(command), 74u);  // 46 + 28
    EXPECT_EQ(values(Plan(command, GemmConfig{})), values(Plan(typed_command, GemmConfig{})));
  }
}

// ---- phases -------------------------------------------------------------------------------------

// R5.1: without a gemm all ops once, in order, over whole tensors of any size.
TEST(Plan, R5_1_NoGemm) {
  OpSpec square, relu;
  square.kind = OpKind::square;
  square.operands = {{OperandName::src, tcm(0, {64, 64})}};
  square.has_out = true;
  square.out = tcm(8192, {64, 64});
  relu = square;
  relu.kind = OpKind::relu;
  const Command command = command::CompositeCmd{{0}, {square, relu}, {}};
  const Plan plan(command, small_tiles());
  EXPECT_EQ(plan.prologue_stages(), 2);
  EXPECT_EQ(plan.epilogue_stages(), 0);
  EXPECT_EQ(plan.tiles(), 0);
  EXPECT_EQ(plan.prologue(0).op, OpKind::square);
  EXPECT_EQ(plan.prologue(1).op, OpKind::relu);
  EXPECT_EQ(plan.prologue(0).elements, 4096u);
}

// Position gives the phase, scope the repetition: the four kinds after the gemm, in an order in
// which they do not run. The kernel-scope ops are 2 and 5, not 2 and 3.
TEST(Plan, ScopesMayBeMixedAfterTheGemm) {
  const TensorHandle out = tcm(4096, {8, 16}), x = tcm(8192, {8, 16}), y = tcm(12288, {8, 16});
  const auto kernel_op = [](OpKind kind, const TensorHandle& src, const TensorHandle& result) {
    OpSpec op;
    op.kind = kind;
    op.operands = {{OperandName::src, src}};
    op.has_out = true;
    op.out = result;
    return op;
  };
  const auto scale = [](Scope scope) {
    OpSpec op;
    op.kind = OpKind::scale;
    op.scope = scope;
    op.extras = {command::Extra::f32(command::ExtraName::value, 2)};
    return op;
  };
  const Command command = gemm_command(
      tcm(0, {8, 64}), tcm(1024, {64, 16}), out,
      {scale(Scope::output_tile), kernel_op(OpKind::square, out, x), scale(Scope::k_tile),
       scale(Scope::output_tile), kernel_op(OpKind::copy, x, y)});
  const Plan plan(command, small_tiles());
  EXPECT_EQ(plan.k_tile_ops(), 1);
  EXPECT_EQ(plan.output_tile_ops(), 2);
  ASSERT_EQ(plan.epilogue_stages(), 2);
  EXPECT_EQ(plan.epilogue(0).op, OpKind::square);
  EXPECT_EQ(plan.epilogue(0).op_index, 2);
  EXPECT_EQ(plan.epilogue(1).op, OpKind::copy);
  EXPECT_EQ(plan.epilogue(1).op_index, 5);
  EXPECT_EQ(plan.k_tile_op(plan.tile(0), 0).op_index, 3);
  EXPECT_EQ(plan.output_tile_op(plan.tile(1), 0).op_index, 1);
  EXPECT_EQ(plan.output_tile_op(plan.tile(1), 1).op_index, 4);
}

// ---- tiles --------------------------------------------------------------------------------------

// R5.2: m outer, n, k inner; edge tiles at their true size: 12 x 40 x 24 in tiles of 8 x 32 x 16.
TEST(Plan, R5_2_OrderAndEdges) {
  const Command command = gemm_command(hbm(0, {12, 40}), hbm(4096, {40, 24}), hbm(8192, {12, 24}));
  const Plan plan(command, small_tiles());
  ASSERT_EQ(plan.tiles(), 8);
  const Index row[] = {0, 0, 0, 0, 8, 8, 8, 8}, col[] = {0, 0, 16, 16, 0, 0, 16, 16},
              depth[] = {0, 32, 0, 32, 0, 32, 0, 32};
  const Index m[] = {8, 8, 8, 8, 4, 4, 4, 4}, n[] = {16, 16, 8, 8, 16, 16, 8, 8},
              k[] = {32, 8, 32, 8, 32, 8, 32, 8};
  for (int i = 0; i < 8; ++i) {
    const Tile tile = plan.tile(i);
    EXPECT_EQ(std::tuple(tile.row, tile.col, tile.depth), std::tuple(row[i], col[i], depth[i]))
        << i;
    EXPECT_EQ(std::tuple(tile.m, tile.n, tile.k), std::tuple(m[i], n[i], k[i])) << i;
    EXPECT_EQ(tile.first_k, i % 2 == 0);
    EXPECT_EQ(tile.last_k, i % 2 == 1);
    EXPECT_EQ(plan.gemm(tile).elements, static_cast<std::uint64_t>(m[i] * n[i] * k[i]));
    EXPECT_EQ(plan.read_a(tile, kBuffer).bytes, static_cast<std::uint64_t>(m[i] * k[i] * 2));
    EXPECT_EQ(plan.read_b(tile, kBuffer).bytes, static_cast<std::uint64_t>(k[i] * n[i] * 2));
    EXPECT_EQ(plan.write_out(tile).bytes, static_cast<std::uint64_t>(m[i] * n[i] * 2));
  }
  // Tile 7: a (8.., 32..), b (32.., 16..), out (8.., 16..).
  const Tile last = plan.tile(7);
  EXPECT_EQ(values(plan.read_a(last, kBuffer).operands[0]),
            SliceValues(OperandName::a, DType::f16, (8 * 40 + 32) * 2, 4, 8, 40, 1));
  EXPECT_EQ(values(plan.read_b(last, kBuffer).operands[0]),
            SliceValues(OperandName::b, DType::f16, 4096 + (32 * 24 + 16) * 2, 8, 8, 24, 1));
  EXPECT_EQ(values(plan.write_out(last).out),
            SliceValues(OperandName::out, DType::f16, 8192 + (8 * 24 + 16) * 2, 4, 8, 24, 1));
}

// Streamed tiles lie without gaps in the tile buffer: a of 4 x 8 (64 bytes), then b.
TEST(Plan, TileBufferHoldsAThenB) {
  const Command command = gemm_command(hbm(0, {12, 40}), hbm(4096, {40, 24}), tcm(0, {12, 24}));
  const Plan plan(command, small_tiles());
  const StageSpec fetch = plan.fetch(plan.tile(7), kBuffer);
  EXPECT_EQ(values(fetch.operands[0]),
            SliceValues(OperandName::a, DType::f16, kBuffer, 4, 8, 8, 1));
  EXPECT_EQ(values(fetch.operands[1]),
            SliceValues(OperandName::b, DType::f16, kBuffer + 64, 8, 8, 8, 1));
  EXPECT_EQ(plan.read_b(plan.tile(7), kBuffer).out.addr, kBuffer + 64);
  EXPECT_EQ(fetch.bytes, 64u + 128u);
}

// K^T of keys (24, 40): entry (k, n) of b is keys[n][k]; a tile's columns are the memory's rows.
TEST(Plan, TransposedOperands) {
  const TensorHandle b = command::view_transposed(hbm(4096, {24, 40}), 2);
  const TensorHandle a = command::view_transposed(tcm(0, {40, 12}), 3);
  const Command command = gemm_command(a, b, tcm(4096, {12, 24}));
  const Plan plan(command, small_tiles());
  const Tile tile = plan.tile(7);  // rows 8.., columns 16.., depth 32..
  EXPECT_EQ(values(plan.read_b(tile, kBuffer).operands[0]),
            SliceValues(OperandName::b, DType::f16, 4096 + (16 * 40 + 32) * 2, 8, 8, 1, 40));
  const StageSpec fetch = plan.fetch(tile, kBuffer);
  EXPECT_EQ(
      values(fetch.operands[0]),
      SliceValues(OperandName::a, DType::f16, command::kTcmBase + (32 * 12 + 8) * 2, 4, 8, 1, 12));
  // In the buffer: still column by column, now without gaps.
  EXPECT_EQ(values(fetch.operands[1]),
            SliceValues(OperandName::b, DType::f16, kBuffer, 8, 8, 1, 8));
}

// R4.6: `other` is sliced by the tile: (M, N) by both, (N,) by columns, (M, 1) by rows, one entry
// not at all. Tile 3 of 12 x 24 (k one tile): rows 8..11, columns 16..23.
TEST(Plan, R4_6_SlicesOfOther) {
  const TensorHandle out = tcm(0, {12, 24});
  const auto other_slice = [&](const TensorHandle& other) {
    const Command command =
        gemm_command(tcm(4096, {12, 32}), tcm(8192, {32, 24}), out, {add_other(out, other)});
    const Plan plan(command, small_tiles());
    EXPECT_EQ(plan.tiles(), 4);
    const StageSpec stage = plan.output_tile_op(plan.tile(3), 0);
    EXPECT_EQ(stage.elements, 32u);  // R6.9: m n of the tile, whatever `other` is
    EXPECT_EQ(stage.operands.size(), 1u);
    const Slice& slice = stage.operands[0];
    return std::tuple(slice.addr - command::kTcmBase, slice.rows, slice.cols);
  };
  const auto at = [](std::uint64_t addr, Index rows, Index cols) {
    return std::tuple(addr, rows, cols);
  };
  EXPECT_EQ(other_slice(tcm(32768, {12, 24})), at(32768 + (8 * 24 + 16) * 2, 4, 8));
  EXPECT_EQ(other_slice(tcm(32768, {24})), at(32768 + 16 * 2, 1, 8));
  EXPECT_EQ(other_slice(tcm(32768, {12, 1})), at(32768 + 8 * 2, 4, 1));
  EXPECT_EQ(other_slice(tcm(32768, {1})), at(32768, 1, 1));
  EXPECT_EQ(other_slice(tcm(32768, {12, 24}, DType::f32)), at(32768 + (8 * 24 + 16) * 4, 4, 8));
}

// R5.6: 16384^3 in 8 x 128 x 128 is 2048 * 128 * 128 tiles; the last one is made as fast as the
// first.
TEST(Plan, R5_6_TilesOnDemand) {
  const Command command = gemm_command(hbm(0, {16384, 16384}), hbm(Index{1} << 29, {16384, 16384}),
                                       hbm(Index{1} << 30, {16384, 16384}));
  const Plan plan(command, GemmConfig{});
  EXPECT_EQ(plan.m_tiles(), 2048);
  EXPECT_EQ(plan.n_tiles(), 128);
  EXPECT_EQ(plan.k_tiles(), 128);
  EXPECT_EQ(plan.tiles(), 33'554'432);
  const Tile last = plan.tile(33'554'431);
  EXPECT_EQ(std::tuple(last.index.m, last.index.n, last.index.k), std::tuple(2047, 127, 127));
  EXPECT_EQ(std::tuple(last.row, last.col, last.depth), std::tuple(16376, 16256, 16256));
  EXPECT_TRUE(last.last_k);
  // Its rows start (16376 * 16384 + 16256) entries into a.
  EXPECT_EQ(plan.read_a(last, kBuffer).operands[0].addr, (16376u * 16384u + 16256u) * 2u);
}

// ---- simple commands (R6.0) ---------------------------------------------------------------------

TEST(Plan, R6_0_SimpleCommands) {
  const Command load = command::DmaReadCmd{hbm(4096, {64, 64}), tcm(0, {64, 64})};
  const Plan load_plan(load, small_tiles());
  EXPECT_TRUE(load_plan.is_transfer());
  EXPECT_EQ(load_plan.tiles(), 0);
  EXPECT_EQ(load_plan.transfer().kind, StageKind::dma_read);
  EXPECT_EQ(load_plan.transfer().bytes, 8192u);  // whole, not by tiles

  const Command store = command::DmaWriteCmd{tcm(0, {64, 64}), hbm(4096, {64, 64})};
  EXPECT_EQ(Plan(store, small_tiles()).transfer().kind, StageKind::dma_write);
  EXPECT_EQ(Plan(store, small_tiles()).transfer().out.addr, 4096u);

  const Command dot =
      command::GemmCmd{tl::make_gemm(tcm(0, {8, 64}), tcm(1024, {64, 16}), tcm(4096, {8, 16}))};
  using K = StageKind;
  EXPECT_THAT(kinds(Plan(dot, small_tiles())),
              ElementsAre(K::fetch, K::gemm, K::fetch, K::gemm, K::store));
}

}  // namespace
}  // namespace kernbench::arch
