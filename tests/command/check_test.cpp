// SPDX-License-Identifier: Apache-2.0
// R4.9 on commands that nobody compiled: what a PE is given by a file or a host. What `tl` can
// reach of it is tested there (RefusalTest); both use the same code.
#include "tlm_if/command/check.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tlm_if/command/error.hpp"

namespace kernbench::command {
namespace {

using testing::HasSubstr;

/// Tiles of 8 x 16 x 32 and scratch of 64 KiB; PE 2 of 4.
Limits limits() {
  Limits limits;
  limits.hbm_bytes = 1 << 20;
  limits.scratch = {kTcmBase, kTcmBase + 65536};
  limits.tile_m = 8;
  limits.tile_k = 16;
  limits.tile_n = 32;
  limits.tile_buffer_bytes = (8 * 16 + 16 * 32) * 2;
  limits.pes = 4;
  limits.pe = 2;
  limits.ipcq_channels = 3;
  return limits;
}

std::string refusal(const Command& command, const Limits& limits = command::limits()) {
  try {
    check(command, limits);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TensorHandle tcm(HandleId id, const Shape& shape, DType dtype = DType::f16) {
  return make_handle(id, kTcmBase + 1024 * id, shape, dtype, Space::tcm);
}
TensorHandle hbm(HandleId id, const Shape& shape, DType dtype = DType::f16) {
  return make_handle(id, 4096 * id, shape, dtype, Space::hbm);
}

OpSpec op(OpKind kind, InlineVector<Operand, 3> operands, const TensorHandle& out,
          InlineVector<Extra, 3> extras = {}) {
  OpSpec op;
  op.kind = kind;
  op.operands = operands;
  op.extras = extras;
  op.has_out = true;
  op.out = out;
  return op;
}
OpSpec copy(const TensorHandle& src, const TensorHandle& out) {
  return op(OpKind::copy, {{OperandName::src, src}}, out);
}
OpSpec gemm(const TensorHandle& a, const TensorHandle& b, const TensorHandle& out) {
  return op(OpKind::gemm, {{OperandName::a, a}, {OperandName::b, b}}, out,
            {Extra::u32(ExtraName::m, static_cast<std::uint32_t>(a.shape.rows())),
             Extra::u32(ExtraName::k, static_cast<std::uint32_t>(a.shape.cols())),
             Extra::u32(ExtraName::n, static_cast<std::uint32_t>(b.shape.cols()))});
}
CompositeCmd composite(std::vector<OpSpec> ops, std::vector<TensorHandle> rw = {}) {
  return {{}, std::move(ops), std::move(rw), true};
}

const TensorHandle kA = tcm(1, Shape{8, 16});
const TensorHandle kB = hbm(2, Shape{16, 32});
const TensorHandle kOut = tcm(3, Shape{8, 32}, DType::f32);

TEST(Limits, SoundCommandsPass) {
  const TensorHandle x = tcm(1, Shape{8, 8});
  const TensorHandle y = tcm(2, Shape{8, 8});
  EXPECT_EQ(refusal(MathCmd{copy(x, y)}), "accepted");
  EXPECT_EQ(refusal(GemmCmd{gemm(kA, tcm(4, Shape{16, 32}), kOut)}), "accepted");
  EXPECT_EQ(refusal(composite({gemm(kA, kB, kOut)}, {kOut})), "accepted");
  EXPECT_EQ(refusal(DmaReadCmd{hbm(3, Shape{8, 8}), x}), "accepted");
  EXPECT_EQ(refusal(DmaWriteCmd{x, hbm(3, Shape{8, 8})}), "accepted");
  EXPECT_EQ(refusal(IpcqSendCmd{x, {3, 2}}), "accepted");
  EXPECT_EQ(refusal(IpcqRecvCmd{x, {0, 0}}), "accepted");
  EXPECT_EQ(refusal(PeCpuOverheadCmd{kMaxOverheadCycles}), "accepted");
}

// What an engine would trip over: ops in another form than the table's.
TEST(Limits, FormsAreThoseOfTheOpTable) {
  const TensorHandle x = tcm(1, Shape{8, 8});
  EXPECT_THAT(refusal(MathCmd{gemm(kA, kB, kOut)}), HasSubstr("gemm: is a gemm"));
  EXPECT_THAT(refusal(GemmCmd{copy(x, x)}), HasSubstr("copy: is not a gemm"));
  OpSpec other = copy(x, x);
  other.scope = Scope::output_tile;
  EXPECT_THAT(refusal(MathCmd{other}), HasSubstr("scope output_tile needs a gemm before it"));
  EXPECT_THAT(refusal(composite({other, gemm(kA, kB, kOut)})), HasSubstr("op 0 (copy): scope"));
  EXPECT_THAT(refusal(composite({gemm(kA, kB, kOut), other})),
              HasSubstr("op 1 (copy): has no output_tile form"));
  other = copy(x, x);
  other.has_out = false;
  EXPECT_THAT(refusal(MathCmd{other}), HasSubstr("copy: has no out"));
  other = copy(x, x);
  other.operands.clear();
  EXPECT_THAT(refusal(MathCmd{other}), HasSubstr("operands are none; they must be src"));
  other = op(OpKind::bias, {{OperandName::src, x}, {OperandName::other, x}}, x);
  EXPECT_THAT(refusal(MathCmd{other}), HasSubstr("is an epilogue op only"));
  other = op(OpKind::fill, {}, x, {Extra::u32(ExtraName::value, 0)});
  EXPECT_THAT(refusal(MathCmd{other}), HasSubstr("lacks its extra 'value'"));
  EXPECT_THAT(refusal(composite({})), HasSubstr("the op list is empty"));
  EXPECT_THAT(refusal(composite({gemm(kA, kB, kOut), gemm(kA, kB, kOut)})),
              HasSubstr("ops 0 and 1 are gemms"));
}

// R3.4: each tensor in the HBM that there is, or in scratch; never in the tile buffers behind it.
TEST(Limits, TensorsLieInsideTheMemory) {
  const TensorHandle x = tcm(1, Shape{8, 8});
  const auto at = [](Address addr, Space space) {
    return make_handle(7, addr, Shape{8, 8}, DType::f16, space);  // 128 bytes
  };
  const Address end = kTcmBase + 65536, hbm_end = 1 << 20;
  EXPECT_EQ(refusal(MathCmd{copy(x, at(end - 128, Space::tcm))}), "accepted");
  EXPECT_THAT(refusal(MathCmd{copy(x, at(end - 127, Space::tcm))}),
              HasSubstr("copy: out tcm#7 (8, 8) f16 tcm at 0x1000000ff81 lies outside the scratch "
                        "[0x10000000000, 0x10000010000)"));
  EXPECT_EQ(refusal(DmaReadCmd{at(hbm_end - 128, Space::hbm), x}), "accepted");
  EXPECT_THAT(
      refusal(DmaReadCmd{at(hbm_end - 127, Space::hbm), x}),
      HasSubstr("load: source: hbm#7 (8, 8) f16 hbm at 0xfff81 ends at 0x100001, beyond the "
                "1048576 bytes of HBM"));
  EXPECT_THAT(refusal(DmaWriteCmd{x, at(hbm_end, Space::hbm)}), HasSubstr("store: destination"));
  EXPECT_THAT(refusal(IpcqRecvCmd{at(end, Space::tcm), {0, 0}}), HasSubstr("recv: destination"));
  EXPECT_THAT(refusal(IpcqSendCmd{at(end, Space::tcm), {0, 0}}), HasSubstr("send: source"));
  EXPECT_THAT(refusal(composite({copy(x, x)}, {at(end, Space::tcm)})),
              HasSubstr("composite: rw handle: tcm#7"));
  EXPECT_THAT(refusal(composite({copy(x, x), copy(at(end, Space::tcm), x)})),
              HasSubstr("op 1 (copy): src tcm#7"));
}

// A handle that make_handle() and the views cannot have made never gets as far as a plan.
TEST(Limits, TensorsAreSound) {
  const TensorHandle x = tcm(1, Shape{8, 8});
  const auto with = [&](const std::function<void(TensorHandle&)>& change) {
    TensorHandle handle = tcm(7, Shape{8, 8});
    change(handle);
    return refusal(MathCmd{copy(x, handle)});
  };
  EXPECT_THAT(with([](TensorHandle& h) { h.id = 0; }), HasSubstr("out tcm#0: the id is 0"));
  EXPECT_THAT(with([](TensorHandle& h) { h.shape = Shape(); }), HasSubstr("cols is 0"));
  EXPECT_THAT(with([](TensorHandle& h) { h.shape = Shape{-8, -8}; }), HasSubstr("rows is -8"));
  EXPECT_THAT(with([](TensorHandle& h) { h.row_stride = 7; }), HasSubstr("would share bytes"));
  EXPECT_THAT(with([](TensorHandle& h) { h.col_stride = 8; }), HasSubstr("col_stride is 8"));
  EXPECT_THAT(with([](TensorHandle& h) { h.addr = 64; }), HasSubstr("is one of HBM"));
  EXPECT_THAT(with([](TensorHandle& h) { h.space = Space::hbm; }), HasSubstr("where TCM starts"));
  EXPECT_THAT(with([](TensorHandle& h) { h.row_stride = Index{1} << 60; }),
              HasSubstr("row_stride is 1152921504606846976"));
}

TEST(Limits, DmaMovesBetweenHbmAndTcmAsTensorsLie) {
  const TensorHandle x = tcm(1, Shape{8, 4}), y = hbm(2, Shape{8, 4});
  EXPECT_THAT(refusal(DmaReadCmd{x, x}), HasSubstr("load: source tcm#1 (8, 4) f16 tcm is in TCM"));
  EXPECT_THAT(refusal(DmaReadCmd{y, y}), HasSubstr("load: destination"));
  EXPECT_THAT(refusal(DmaWriteCmd{y, y}), HasSubstr("store: source"));
  EXPECT_THAT(refusal(DmaWriteCmd{x, x}), HasSubstr("store: destination"));
  EXPECT_THAT(refusal(DmaReadCmd{hbm(2, Shape{4, 8}), x}),
              HasSubstr("dimension 0 is 4, must be 8"));
  EXPECT_THAT(refusal(DmaWriteCmd{x, hbm(2, Shape{8, 4}, DType::bf16)}),
              HasSubstr("differ in dtype"));
  EXPECT_THAT(refusal(DmaWriteCmd{x, view_transposed(hbm(2, Shape{4, 8}), 3)}),
              HasSubstr("is a transposed view"));
}

TEST(Limits, MessagesGoToAnotherPeOfTheDesign) {
  const TensorHandle x = tcm(1, Shape{8, 8});
  EXPECT_EQ(refusal(IpcqSendCmd{x, {4, 0}}), "send: there is no PE 4; name one in [0, 3]");
  EXPECT_EQ(refusal(IpcqRecvCmd{x, {2, 0}}), "recv: PE 2 is this one; name another");
  EXPECT_EQ(refusal(IpcqRecvCmd{x, {1, 3}}),
            "recv: channel 3 does not exist; name one in [0, 2], or raise pe.ipcq.channels");
  EXPECT_THAT(refusal(IpcqSendCmd{hbm(1, Shape{8, 8}), {1, 0}}), HasSubstr("is in HBM"));
  EXPECT_THAT(refusal(IpcqSendCmd{view_transposed(x, 2), {1, 0}}), HasSubstr("transposed view"));
  Limits alone = limits();
  alone.pes = 1;
  alone.pe.reset();
  EXPECT_EQ(refusal(IpcqSendCmd{x, {0, 0}}, alone),
            "send: there is no PE 0 to talk to: the design has one, or does not connect this one");
}

// The loop's counts come from m, k, n alone: they must be those of the operands.
TEST(Limits, GemmExtrasAreTheShapes) {
  for (std::size_t i = 0; i < 3; ++i) {
    for (const std::uint32_t value : {0U, 1U, 0xffffffffU}) {
      OpSpec other = gemm(kA, kB, kOut);
      other.extras[i].bits = value;
      EXPECT_THAT(refusal(composite({other})), HasSubstr("extras m, k, n are"));
    }
  }
}

// Tile numbers are signed and have 32 bits.
TEST(Limits, TileCountsAreBounded) {
  Limits large = limits();
  large.hbm_bytes = kTcmBase;
  large.tile_m = large.tile_k = large.tile_n = 1;
  large.math_head_from_hbm = true;
  const Index most = kMaxTiles;
  const auto column = [](HandleId id, Index rows) {
    return make_handle(id, static_cast<Address>(id - 1) << 38, Shape{rows, 1}, DType::f16,
                       Space::hbm);
  };
  const TensorHandle one = hbm(9, Shape{1, 1});
  TensorHandle b = one;
  b.addr = kTcmBase - 64;
  EXPECT_EQ(refusal(composite({gemm(column(1, most - 1), b, column(2, most - 1))}), large),
            "accepted");
  EXPECT_EQ(refusal(composite({copy(column(1, most - 1), column(2, most - 1))}), large),
            "accepted");
  EXPECT_THAT(refusal(composite({gemm(column(1, most), b, column(2, most))}), large),
              HasSubstr("a dimension of 2147483647 makes more than 2^31 - 1 tiles of 1"));
  EXPECT_THAT(refusal(composite({copy(column(1, most), column(2, most))}), large),
              HasSubstr("more than 2^31 - 1 tiles"));
  large.tile_m = 2;
  EXPECT_EQ(refusal(composite({copy(column(1, most), column(2, most))}), large), "accepted");
}

// R5.5: the first op of a composite streams in chunks of 8 x 32; 512 bytes of f16 each.
TEST(Limits, StreamedHeadsFitATileBufferAndTheirOut) {
  Limits tight = limits();
  tight.math_head_from_hbm = true;
  tight.tile_buffer_bytes = 512;
  const TensorHandle x = hbm(1, Shape{16, 32});
  EXPECT_EQ(refusal(composite({copy(x, tcm(2, Shape{16, 32}))}), tight), "accepted");
  // The out may be the tensor itself, chunk by chunk, and not one that is a row further on.
  EXPECT_EQ(refusal(composite({copy(x, x)}), tight), "accepted");
  TensorHandle shifted = x;
  shifted.addr += 64;
  EXPECT_THAT(refusal(composite({copy(x, shifted)}), tight), HasSubstr("in part and streams in"));
  tight.tile_buffer_bytes = 511;
  EXPECT_THAT(refusal(composite({copy(x, tcm(2, Shape{16, 32}))}), tight),
              HasSubstr("a chunk of its operands in HBM takes 512 bytes, a tile buffer has 511"));
}

TEST(Limits, RwHandlesAreTensorsInTcm) {
  const TensorHandle out = hbm(5, Shape{8, 32});
  EXPECT_EQ(refusal(composite({gemm(kA, kB, out)}, {out})), "accepted");
  EXPECT_THAT(refusal(composite({gemm(kA, kB, out)}, {kB})), HasSubstr("rw handle hbm#2"));
  EXPECT_THAT(refusal(composite({gemm(kA, kB, out)}, {kA, kA})), HasSubstr("is given twice"));
}

TEST(Limits, ScalarWorkIsBounded) {
  EXPECT_EQ(refusal(PeCpuOverheadCmd{kMaxOverheadCycles + 1}),
            "cpu_overhead: 1099511627777 cycles are more than 2^40; issue several");
}

TEST(Limits, StepsAreCheckedToo) {
  const auto step_refusal = [](const ProgramStep& step) {
    try {
      check_step(step, limits());
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  const TensorHandle x = tcm(1, Shape{8, 8});
  EXPECT_EQ(step_refusal(ObserveStep{"m", x}), "accepted");
  EXPECT_THAT(step_refusal(ObserveStep{"m", tcm(64, Shape{8, 8})}),
              HasSubstr("observe m: tcm#64 (8, 8) f16 tcm at 0x10000010000 lies outside"));
  EXPECT_THAT(step_refusal(Command(DmaReadCmd{x, x})), HasSubstr("load: source"));
  EXPECT_EQ(step_refusal(WaitStep{{{0, ~std::uint64_t{0}}}}), "accepted");
  EXPECT_EQ(step_refusal(BeginRegionStep{"loop"}), "accepted");
  EXPECT_EQ(step_refusal(EndRegionStep{"never begun"}), "accepted");
}

}  // namespace
}  // namespace kernbench::command
