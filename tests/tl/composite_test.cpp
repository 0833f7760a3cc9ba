// SPDX-License-Identifier: Apache-2.0
// Lowering of composites: bytes (contract 3), R4.2, R4.6, R4.7, R4.8, and one result for every
// spelling (R4.1).
#include "tests/tl/fixture.hpp"

namespace kernbench::tl {
namespace {

using command::Extra;
using command::ExtraName;

struct CompositeTest : ContextTest {
  Tensor q = tl.empty({8, 128}, f16).named("q");
  Tensor K = tl.ref(0, {64, 128}, f16, "K");
  Tensor V = tl.ref(0x10000, {64, 128}, f16, "V");
  Tensor P = tl.empty({8, 64}, f16).named("P");
  Tensor O = tl.empty({8, 128}, f32).named("O");
};

// gemm{a,b}+out+{m,k,n} = 1+1+1+16+8+1+12 = 40; 4 framing + 1 + 40 + 1.
TEST_F(CompositeTest, BareGemmHas46Bytes) {
  tl.composite(tl::gemm(q, K.t()));
  EXPECT_EQ(last_bytes(), 46u);
}

// 46 + scale{}+{value}: 1+1+1+1+4 = 8.
TEST_F(CompositeTest, ScoresHave54Bytes) {
  tl.composite(tl::gemm(q, K.t()).epilogue(tl::scale(0.125)));
  EXPECT_EQ(last_bytes(), 54u);
}

// 46 + add{src,other}+out: 1+1+1+16+8+1 = 28, + 8 for the rw handle O.
TEST_F(CompositeTest, ProductWithAddHas82Bytes) {
  tl.composite(tl::gemm(P, V).out(O).epilogue(tl::add(O)));
  EXPECT_EQ(last_bytes(), 82u);
  EXPECT_THAT(names_of(last_composite().rw_handles), ElementsAre("O"));
}

TEST_F(CompositeTest, BytesOfEveryEpilogueOp) {
  const Tensor bias = tl.empty({64}, f16), other = tl.empty({8, 64}, f16);
  const auto bytes_with = [&](const EpilogueCall& call) {
    tl.composite(tl::gemm(q, K.t()).epilogue(call));
    return last_bytes() - 46;
  };
  EXPECT_EQ(bytes_with(tl::add(other)), 28u);
  EXPECT_EQ(bytes_with(tl::mul(other)), 28u);
  EXPECT_EQ(bytes_with(tl::bias(bias)), 28u);
  EXPECT_EQ(bytes_with(tl::gelu()), 20u);
  EXPECT_EQ(bytes_with(tl::silu()), 20u);
  EXPECT_EQ(bytes_with(tl::relu()), 20u);
  EXPECT_EQ(bytes_with(tl::scale(2)), 8u);
}

TEST_F(CompositeTest, GemmCarriesItsExtents) {
  tl.composite(tl::gemm(q, K.t()));
  const OpSpec gemm = last_composite().ops.at(0);
  EXPECT_EQ(gemm.extra(ExtraName::m)->bits, 8u);
  EXPECT_EQ(gemm.extra(ExtraName::k)->bits, 128u);
  EXPECT_EQ(gemm.extra(ExtraName::n)->bits, 64u);
}

// R4.2: given, by address, or allocated in TCM with the dtype of a unless another is asked for.
TEST_F(CompositeTest, OutputIsReturnedInEveryCase) {
  EXPECT_EQ(tl.composite(tl::gemm(P, V).out(O)).handle(), O.handle());

  const Tensor hbm = tl.composite(tl::gemm(P, V).out_ptr(0x40000));
  EXPECT_EQ(hbm.handle().space, command::Space::hbm);
  EXPECT_EQ(hbm.handle().addr, 0x40000u);
  EXPECT_EQ(hbm.shape(), Shape::matrix(8, 128));
  EXPECT_EQ(hbm.dtype(), f16);
  EXPECT_EQ(last_composite().ops.at(0).out, hbm.handle());

  const Tensor scratch = tl.composite(tl::gemm(P, V));
  EXPECT_TRUE(scratch.handle().pinned());
  EXPECT_EQ(scratch.dtype(), f16);
  EXPECT_EQ(tl.composite(tl::gemm(P, V).dtype(f32)).dtype(), f32);
  tl.wait({scratch});  // it feeds later calls
  tl.composite(tl::gemm(scratch, tl.ref(0, {128, 32}, f16)));
}

TEST_F(CompositeTest, DtypeAndOutMustAgree) {
  EXPECT_THAT(refusal([&] { tl.composite(tl::gemm(P, V).out(O).dtype(f16)); }),
              HasSubstr("dtype f16 is given, but out is O (8, 128) f32 tcm"));
  EXPECT_THAT(refusal([&] { tl.composite(tl::gemm(P, V).out(O).out_ptr(0)); }),
              HasSubstr("both out and out_ptr"));
}

// R4.8 for the flagship's call.
TEST_F(CompositeTest, DecodeStepIsTenOpsOf322Bytes) {
  const DecodeStep d(tl);
  tl.composite(tl::gemm()
                   .b(d.V)
                   .out(d.O)
                   .prologue(tl::softmax_merge(d.s, d.m, d.l, d.O))
                   .epilogue(tl::add(d.O)));
  const CompositeCmd command = last_composite();
  using Kind = OpKind;
  EXPECT_THAT(kinds_of(command),
              ElementsAre(Kind::rmax, Kind::max_elem, Kind::exp_diff, Kind::exp_diff, Kind::rsum,
                          Kind::fma, Kind::mul_bcast, Kind::copy, Kind::gemm, Kind::add));
  EXPECT_THAT(names_of(command.rw_handles), ElementsAre("m", "l", "O"));
  EXPECT_EQ(command.rw_handles[0], d.m.handle());
  EXPECT_EQ(command.rw_handles[1], d.l.handle());
  EXPECT_EQ(command.rw_handles[2], d.O.handle());
  // 6 framing + (24+28+28+32+24+36+32+20 = 224) + 40 + 28 + 3 * 8.
  EXPECT_EQ(last_bytes(), 322u);
  EXPECT_LT(last_bytes(), 1024u);
}

// The table of softmax_merge, step by step: what each op reads, writes and carries.
TEST_F(CompositeTest, SoftmaxMergeExpandsAsTheTableSays) {
  const DecodeStep d(tl);
  tl.composite(tl::gemm().b(d.V).out(d.O).prologue(tl::softmax_merge(d.s, d.m, d.l, d.O)));
  std::vector<std::string> lines;
  for (const OpSpec& op : last_composite().ops) {
    std::string line(to_string(op.kind));
    for (const auto& operand : op.operands) {
      line += " " + std::string(to_string(operand.name)) + "=" + operand.handle.label();
    }
    line += " out=" + op.out.label();
    for (const Extra& extra : op.extras) {
      line += " " + std::string(to_string(extra.name)) + "=" + std::to_string(extra.as_i32());
    }
    lines.push_back(line);
  }
  EXPECT_THAT(
      lines,
      ElementsAre("rmax src=s out=m_loc reduce_axis=-1", "max_elem src_a=m src_b=m_loc out=m_new",
                  "exp_diff src_a=m src_b=m_new out=corr",
                  "exp_diff src_a=s src_b=m_new out=P bcast_axis=0",
                  "rsum src=P out=l_loc reduce_axis=-1", "fma src_a=l src_b=corr src_c=l_loc out=l",
                  "mul_bcast src_a=O src_b=corr out=O bcast_axis=1", "copy src=m_new out=m",
                  "gemm a=P b=V out=O m=8 k=64 n=128"));
}

// "Every address concrete": the block follows O and the s, m, l, O of this test, in listed order,
// at a multiple of 64: m_loc, m_new, corr, l_loc (8 f32 = 32 bytes each), P (8 * 64 * 2 = 1024).
TEST_F(CompositeTest, RecipeScratchIsOnePackedBlock) {
  const DecodeStep d(tl);
  const command::Address block = next_address();
  tl.composite(tl::gemm().b(d.V).out(d.O).prologue(tl::softmax_merge(d.s, d.m, d.l, d.O)));
  const auto& ops = last_composite().ops;
  EXPECT_EQ(block % 64, 0u);
  EXPECT_EQ(ops[0].out.addr, block);        // m_loc
  EXPECT_EQ(ops[1].out.addr, block + 32);   // m_new
  EXPECT_EQ(ops[2].out.addr, block + 64);   // corr
  EXPECT_EQ(ops[4].out.addr, block + 96);   // l_loc
  EXPECT_EQ(ops[3].out.addr, block + 128);  // P
  EXPECT_EQ(next_address(), block) << "released when the call returns (R4.4)";
}

// Each recipe of a composite has scratch of its own: the P of the first is read by the gemm, after
// the second has run.
TEST_F(CompositeTest, RecipesOfOneCompositeShareNoScratch) {
  const DecodeStep d(tl), other(tl);
  const command::Address block = next_address();
  tl.composite(tl::gemm()
                   .b(d.V)
                   .out(d.O)
                   .prologue(tl::softmax_merge(d.s, d.m, d.l, d.O))
                   .prologue(tl::state_merge(d.m, d.l, d.O, other.m, other.l, other.O)));
  const auto& ops = last_composite().ops;
  ASSERT_EQ(ops.size(), 8u + 9u + 1u);
  const auto scratch_of = [&](std::size_t first, std::size_t last) {
    std::vector<command::ByteRange> slots;
    for (std::size_t i = first; i < last; ++i) {
      if (ops[i].out.addr >= block) command::add_range(slots, ops[i].out.range());
    }
    return slots;
  };
  const auto softmax = scratch_of(0, 8), merge = scratch_of(8, 17);
  ASSERT_EQ(softmax.size(), 1u);
  ASSERT_EQ(merge.size(), 1u);
  EXPECT_LE(softmax[0].end, merge[0].begin);
}

TEST_F(CompositeTest, PrimaryOutBecomesTheGemmsA) {
  const DecodeStep d(tl);
  tl.composite(tl::gemm().b(d.V).out(d.O).prologue(tl::softmax_merge(d.s, d.m, d.l, d.O)));
  const auto& ops = last_composite().ops;
  EXPECT_EQ(*ops[8].operand(OperandName::a), ops[3].out);
  EXPECT_EQ(ops[3].out.shape, d.s.shape());
  EXPECT_EQ(ops[3].out.dtype, f16);
}

// 6 + 224 + 3 * 8.
TEST_F(CompositeTest, SoftmaxMergeAloneHas254Bytes) {
  const DecodeStep d(tl);
  const Tensor result = tl.composite(tl::recipe(tl::softmax_merge(d.s, d.m, d.l, d.O)));
  EXPECT_EQ(last_bytes(), 254u);
  EXPECT_THAT(names_of(last_composite().rw_handles), ElementsAre("m", "l", "O"));
  EXPECT_EQ(result.handle(), last_composite().ops.at(3).out);
  EXPECT_EQ(result.shape(), d.s.shape());
  tl.composite(tl::gemm(result, d.V));  // P stays allocated
}

TEST_F(CompositeTest, SoftmaxMergeAloneWritesAGivenP) {
  const DecodeStep d(tl);
  const Tensor given = tl.empty({8, 64}, f16).named("mine");
  const command::Address before = next_address();
  const Tensor result = tl.composite(tl::recipe(tl::softmax_merge(d.s, d.m, d.l, d.O)).out(given));
  EXPECT_EQ(result.handle(), given.handle());
  EXPECT_EQ(last_composite().ops.at(3).out, given.handle());
  // m_loc, m_new, corr, l_loc without P between them.
  EXPECT_EQ(last_composite().ops.at(4).out.addr, before + 96);
  EXPECT_EQ(next_address(), before);
  EXPECT_THAT(
      refusal([&] { tl.composite(tl::recipe(tl::softmax_merge(d.s, d.m, d.l, d.O)).out(d.O)); }),
      HasSubstr("out O (8, 128) f32 tcm does not fit its primary_out P, which is (8, 64) "
                "f16"));
}

// R4.6: src and out name the accumulator, which is the gemm's output; other is the operand.
TEST_F(CompositeTest, EpilogueNamesTheAccumulator) {
  tl.composite(tl::gemm(P, V).out(O).epilogue(tl::add(O)).epilogue(tl::scale(2, Scope::k_tile)));
  const auto& ops = last_composite().ops;
  EXPECT_EQ(ops[1].scope, Scope::output_tile);
  EXPECT_EQ(*ops[1].operand(OperandName::src), O.handle());
  EXPECT_EQ(*ops[1].operand(OperandName::other), O.handle());
  EXPECT_EQ(ops[1].out, O.handle());
  EXPECT_EQ(ops[2].scope, Scope::k_tile);
  EXPECT_FALSE(ops[2].has_out);
  EXPECT_EQ(ops[2].operands.size(), 0u);
  EXPECT_EQ(ops[2].extra(ExtraName::value)->as_f32(), 2.0f);
}

// R4.7: out is an rw handle when an op reads it, not when it is only written.
TEST_F(CompositeTest, RwHandles) {
  tl.composite(tl::gemm(P, V).out(O));
  EXPECT_TRUE(last_composite().rw_handles.empty());
  tl.composite(tl::gemm(P, V).out(O).epilogue(tl::relu()));
  EXPECT_TRUE(last_composite().rw_handles.empty()) << "the accumulator is no memory";
  const Tensor other = tl.empty({8, 128}, f32).named("other");
  tl.composite(tl::gemm(P, V).out(O).epilogue(tl::add(other)));
  EXPECT_TRUE(last_composite().rw_handles.empty());
  tl.composite(tl::gemm(P, V).out(O).epilogue(tl::add(O)).epilogue(tl::mul(O)));
  EXPECT_THAT(names_of(last_composite().rw_handles), ElementsAre("O")) << "once";
  // The scores themselves as output: the prologue reads them.
  const DecodeStep d(tl);
  const Tensor B = tl.empty({64, 64}, f16).named("B");
  tl.composite(tl::gemm().b(B).out(d.s).prologue(tl::softmax_merge(d.s, d.m, d.l, d.O)));
  EXPECT_THAT(names_of(last_composite().rw_handles), ElementsAre("m", "l", "O", "s"));
}

TEST_F(CompositeTest, CompletionIsTheCommandNumber) {
  tl.cpu_overhead(10);
  tl.composite(tl::gemm(P, V));
  tl.fill(O, 0);
  tl.composite(tl::gemm(P, V));
  EXPECT_EQ(std::get<CompositeCmd>(commands()[1]).completion.id, 1u);
  EXPECT_EQ(last_composite().completion.id, 3u);
}

TEST_F(CompositeTest, DataOpIsCarried) {
  tl.composite(tl::gemm(P, V).data_op(false));
  EXPECT_FALSE(last_composite().data_op);
  tl.composite(tl::gemm(P, V));
  EXPECT_TRUE(last_composite().data_op);
}

TEST_F(CompositeTest, MathChain) {
  const Tensor x = tl.empty({8, 64}, f16).named("x"), r = tl.empty({8}, f32).named("r");
  const Tensor y = tl.empty({8, 64}, f16).named("y");
  const Tensor out = tl.composite(tl::math("mul_bcast", {{"src_a", x}, {"src_b", r}})
                                      .out(y)
                                      .then("scale", {{"src", y}, {"value", 2}}));
  const CompositeCmd command = last_composite();
  EXPECT_THAT(kinds_of(command), ElementsAre(OpKind::mul_bcast, OpKind::scale));
  EXPECT_EQ(command.ops[0].extra(ExtraName::bcast_axis)->as_i32(), 1);
  EXPECT_EQ(command.ops[0].out, y.handle());
  EXPECT_EQ(out.handle(), command.ops[1].out);
  EXPECT_EQ(out.shape(), Shape::matrix(8, 64));
  // 6 + mul_bcast 32 + scale{src}+out+{value}: 1+1+1+8+8+1+4 = 24.
  EXPECT_EQ(last_bytes(), 62u);
}

// --- spellings (R4.1) -------------------------------------------------------------------------

/// The same calls in fresh contexts give the same handles, so that commands compare whole.
template <class Spell>
Command spelled(Spell spell) {
  command::ProgramRecorder sink;
  Context tl(Target{}, sink);
  const DecodeStep d(tl);
  const Tensor h = tl.empty({128}, f16).named("h");
  spell(tl, d, h);
  EXPECT_EQ(sink.program().commands().size(), 1u);
  return sink.program().commands().at(0);
}

TEST(Spellings, TypedAndStringDecodeStepAreOneCommand) {
  const Command typed = spelled([](Context& tl, const DecodeStep& d, const Tensor&) {
    tl.composite(tl::gemm()
                     .b(d.V)
                     .out(d.O)
                     .prologue(tl::softmax_merge(d.s, d.m, d.l, d.O))
                     .epilogue(tl::add(d.O)));
  });
  const Command strings = spelled([](Context& tl, const DecodeStep& d, const Tensor&) {
    tl.composite(tl::gemm()
                     .b(d.V)
                     .out(d.O)
                     .prologue("softmax_merge", {{"s", d.s}, {"m", d.m}, {"l", d.l}, {"O", d.O}})
                     .epilogue("add", {{"other", d.O}}));
  });
  // Order of the arguments does not matter: operands are named.
  const Command reordered = spelled([](Context& tl, const DecodeStep& d, const Tensor&) {
    tl.composite(tl::gemm()
                     .prologue("softmax_merge", {{"O", d.O}, {"l", d.l}, {"m", d.m}, {"s", d.s}})
                     .epilogue("add", {{"other", d.O}}, Scope::output_tile)
                     .out(d.O)
                     .b(d.V));
  });
  EXPECT_EQ(typed, strings);
  EXPECT_EQ(typed, reordered);
}

TEST(Spellings, LegacyCallAndFlatListAreOneCommand) {
  const Command typed = spelled([](Context& tl, const DecodeStep& d, const Tensor& h) {
    tl.composite(tl::gemm(d.s, d.V).out(d.O).epilogue(tl::bias(h)).epilogue(tl::scale(0.5)));
  });
  const Command legacy = spelled([](Context& tl, const DecodeStep& d, const Tensor& h) {
    tl.composite(tl::gemm(d.s, d.V)
                     .out(d.O)
                     .epilogue("bias", {{"bias", h}})
                     .epilogue("scale", {{"value", 0.5}}));
  });
  const Command flat = spelled([](Context& tl, const DecodeStep& d, const Tensor& h) {
    OpSpec gemm;
    gemm.kind = OpKind::gemm;
    gemm.operands = {{OperandName::a, d.s.handle()}, {OperandName::b, d.V.handle()}};
    gemm.extras = {Extra::u32(ExtraName::m, 8), Extra::u32(ExtraName::k, 64),
                   Extra::u32(ExtraName::n, 128)};
    gemm.has_out = true;
    gemm.out = d.O.handle();
    OpSpec bias;
    bias.kind = OpKind::bias;
    bias.scope = Scope::output_tile;
    bias.operands = {{OperandName::src, d.O.handle()}, {OperandName::other, h.handle()}};
    bias.has_out = true;
    bias.out = d.O.handle();
    OpSpec scale;
    scale.kind = OpKind::scale;
    scale.scope = Scope::output_tile;
    scale.extras = {Extra::f32(ExtraName::value, 0.5f)};
    const Tensor out = tl.composite({gemm, bias, scale});
    EXPECT_EQ(out.handle(), d.O.handle());
  });
  EXPECT_EQ(typed, legacy);
  EXPECT_EQ(typed, flat);
}

// The ops of a lowered decode step, handed in as a flat list with slots of the caller's own.
TEST_F(CompositeTest, FlatDecodeStep) {
  const DecodeStep d(tl);
  tl.composite(tl::gemm()
                   .b(d.V)
                   .out(d.O)
                   .prologue(tl::softmax_merge(d.s, d.m, d.l, d.O))
                   .epilogue(tl::add(d.O)));
  const CompositeCmd lowered = last_composite();
  CompositeCmd flat = lowered;
  const Tensor block = tl.empty({288}, f32);  // 1152 bytes, where the released block was
  const auto revive = [&](TensorHandle& handle) {
    if (block.handle().range().contains(handle.range())) handle.id = block.handle().id;
  };
  for (OpSpec& op : flat.ops) {
    for (auto& operand : op.operands) revive(operand.handle);
    revive(op.out);
  }
  const Tensor out = tl.composite(flat.ops, flat.rw_handles);
  EXPECT_EQ(out.handle(), d.O.handle());
  EXPECT_EQ(last_bytes(), 322u);
  EXPECT_EQ(last_composite().ops, flat.ops);
  EXPECT_EQ(last_composite().rw_handles, lowered.rw_handles);
}

// kernel-scope ops after the loop, from a flat list: legal while out is in TCM.
TEST_F(CompositeTest, FlatListWithOpsAfterTheLoop) {
  tl.composite(tl::gemm(P, V).out(O));
  std::vector<OpSpec> ops = last_composite().ops;
  OpSpec relu;
  relu.kind = OpKind::relu;
  relu.operands = {{OperandName::src, O.handle()}};
  relu.has_out = true;
  relu.out = O.handle();
  ops.push_back(relu);
  tl.composite(ops, {O.handle()}, false);
  EXPECT_EQ(last_composite().ops, ops);
  EXPECT_FALSE(last_composite().data_op);
  EXPECT_EQ(last_bytes(), 46u + 20 + 8);
}

}  // namespace
}  // namespace kernbench::tl
