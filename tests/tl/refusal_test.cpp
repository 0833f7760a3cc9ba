// SPDX-License-Identifier: Apache-2.0
// R4.9 and R4.5: every refusal by its message, with nothing submitted and nothing left allocated
// (checked by ContextTest::refusal).
#include "tests/tl/fixture.hpp"

namespace kernbench::tl {
namespace {

using command::Extra;
using command::ExtraName;

struct RefusalTest : ContextTest {
  RefusalTest() {
    tl.composite(tl::gemm(A, B).out(C).epilogue(tl::relu()));
    flat = last_composite().ops;
    math.kind = OpKind::relu;
    math.operands = {{OperandName::src, A.handle()}};
    math.has_out = true;
    math.out = A.handle();
  }

  Tensor A = tl.empty({8, 64}, f16).named("A");
  Tensor B = tl.empty({64, 32}, f16).named("B");
  Tensor C = tl.empty({8, 32}, f32).named("C");
  Tensor H = tl.ref(0, {8, 64}, f16, "H");
  std::vector<OpSpec> flat;  // gemm, relu
  OpSpec math;               // relu of A in place, scope kernel
};

TEST_F(RefusalTest, EmptyOpList) {
  EXPECT_THAT(refusal([&] { tl.composite(std::vector<OpSpec>{}); }),
              HasSubstr("the op list is empty"));
}

TEST_F(RefusalTest, MoreThanOneGemm) {
  EXPECT_THAT(refusal([&] {
                tl.composite({flat[0], flat[1], flat[0]});
              }),
              HasSubstr("ops 0 and 2 are gemms; at most one is allowed"));
}

TEST_F(RefusalTest, GivenAAlthoughARecipeMakesOne) {
  const DecodeStep d(tl);
  EXPECT_THAT(refusal([&] {
                tl.composite(tl::gemm(A, d.V).prologue(tl::softmax_merge(d.s, d.m, d.l, d.O)));
              }),
              HasSubstr("a is given, but recipe softmax_merge makes it (its primary_out P)"));
}

TEST_F(RefusalTest, MissingGemmOperands) {
  EXPECT_THAT(refusal([&] { tl.composite(tl::gemm().b(B)); }),
              HasSubstr("the gemm has no a, and no prologue recipe makes one"));
  EXPECT_THAT(refusal([&] { tl.composite(tl::gemm().a(A)); }), HasSubstr("the gemm has no b"));
}

TEST_F(RefusalTest, TwoPrimaryOuts) {
  const DecodeStep d(tl);
  const auto call = tl::softmax_merge(d.s, d.m, d.l, d.O);
  EXPECT_THAT(refusal([&] { tl.composite(tl::gemm().b(d.V).prologue(call).prologue(call)); }),
              HasSubstr("recipes softmax_merge and softmax_merge both declare a primary_out"));
}

TEST_F(RefusalTest, HbmOperandOfAPrologue) {
  const DecodeStep d(tl);
  EXPECT_THAT(
      refusal([&] {
        tl.composite(tl::gemm().b(d.V).out(d.O).prologue(tl::softmax_merge(H, d.m, d.l, d.O)));
      }),
      HasSubstr("op 0 (rmax): src H (8, 64) f16 hbm is in HBM; it must lie in TCM"));
}

// R4.5
TEST_F(RefusalTest, HbmRwOperand) {
  const DecodeStep d(tl);
  const Tensor O = tl.ref(0, {8, 128}, f32, "O_hbm");
  EXPECT_THAT(
      refusal([&] {
        tl.composite(tl::gemm().b(d.V).out(d.O).prologue(tl::softmax_merge(d.s, d.m, d.l, O)));
      }),
      HasSubstr("softmax_merge: RW operand 'O' is O_hbm (8, 128) f32 hbm, in HBM"));
  EXPECT_THAT(refusal([&] { tl.composite({math}, {H.handle()}); }),
              HasSubstr("rw handle H (8, 64) f16 hbm is in HBM"));
}

TEST_F(RefusalTest, HbmOperandOfAnEpilogue) {
  const Tensor other = tl.ref(0, {8, 32}, f16, "other");
  EXPECT_THAT(refusal([&] { tl.composite(tl::gemm(A, B).epilogue(tl::add(other))); }),
              HasSubstr("op 1 (add): other other (8, 32) f16 hbm is in HBM"));
}

TEST_F(RefusalTest, HbmOperandOfAMathComposite) {
  EXPECT_THAT(refusal([&] {
                tl.composite(tl::math("square", {{"src", H}}));
              }),
              HasSubstr("op 0 (square): src H (8, 64) f16 hbm is in HBM"));
  EXPECT_THAT(refusal([&] {
                tl.composite(tl::math("square", {{"src", A}}).out(H));
              }),
              HasSubstr("op 0 (square): out H (8, 64) f16 hbm is in HBM"));
}

// R5.5: the flag allows it for op 0 only.
TEST(MathHeadFromHbm, IsAllowedByTheFlag) {
  Target target;
  target.math_head_from_hbm = true;
  command::ProgramRecorder sink;
  Context tl(target, sink);
  const Tensor H = tl.ref(0, {8, 64}, f16, "H");
  const Tensor y = tl.composite(tl::math("square", {{"src", H}}));
  tl.composite(tl::math("square", {{"src", y}}).out(H));
  EXPECT_THAT(message_of([&] {
                tl.composite(tl::math("square", {{"src", H}}).then("square", {{"src", H}}));
              }),
              HasSubstr("op 1 (square): src H"));
  EXPECT_EQ(sink.program().commands().size(), 2u);
}

TEST_F(RefusalTest, HbmOperandsOfSimpleCommands) {
  EXPECT_THAT(
      refusal([&] { tl.relu(H); }),
      HasSubstr("relu: src H (8, 64) f16 hbm is in HBM; it must lie in TCM, load it first"));
  EXPECT_THAT(refusal([&] { tl.relu(A, H); }), HasSubstr("relu: out H"));
  EXPECT_THAT(refusal([&] { tl.fill(H, 0); }), HasSubstr("fill: out H"));
  EXPECT_THAT(refusal([&] { tl.dot(H, B); }), HasSubstr("gemm: a H (8, 64) f16 hbm is in HBM"));
}

// Op, tensor names, both shapes and the bad dimension.
TEST_F(RefusalTest, ShapesOfAGemm) {
  EXPECT_THAT(refusal([&] { tl.composite(tl::gemm(A, A)); }),
              HasSubstr("gemm: a A (8, 64) f16 tcm does not fit b A (8, 64) f16 tcm: dimension 1 "
                        "of a is 64, dimension 0 of b is 8"));
  EXPECT_THAT(refusal([&] { tl.composite(tl::gemm(A, B).out(A)); }),
              HasSubstr("op 0 (gemm): out A (8, 64) f16 tcm does not fit a A (8, 64) f16 tcm times "
                        "b B (64, 32) f16 tcm: dimension 1 is 64, must be 32"));
  const Tensor vector = tl.empty({64}, f16).named("vector");
  EXPECT_THAT(refusal([&] { tl.dot(A, vector); }), HasSubstr("b vector (64,) f16 tcm must have"));
}

TEST_F(RefusalTest, DtypesOfAGemm) {
  const Tensor b = tl.empty({64, 32}, bf16).named("b16");
  EXPECT_THAT(refusal([&] { tl.dot(A, b); }),
              HasSubstr("a A (8, 64) f16 tcm and b b16 (64, 32) bf16 tcm differ in dtype"));
}

TEST_F(RefusalTest, ShapesOfMathOps) {
  const Tensor v4 = tl.empty({4}, f32).named("v4"), m = tl.empty({8, 1}, f16).named("m");
  EXPECT_THAT(refusal([&] { tl.add(A, C); }),
              HasSubstr("add: src_b C (8, 32) f32 tcm does not fit src_a A (8, 64) f16 tcm: "
                        "dimension 1 is 32, must be 64"));
  EXPECT_THAT(refusal([&] { tl.add(A, v4); }), HasSubstr("the rank is 1, must be 2"));
  EXPECT_THAT(refusal([&] { tl.relu(A, C); }), HasSubstr("out C (8, 32) f32 tcm does not fit"));
  EXPECT_THAT(refusal([&] { tl.mul_bcast(A, v4); }),
              HasSubstr("mul_bcast: src_b v4 (4,) f32 tcm does not fit src_a A (8, 64) f16 tcm: it "
                        "needs one entry per row, dimension 0 of A is 8"));
  EXPECT_THAT(refusal([&] { tl.add_cols(A, v4); }),
              HasSubstr("one entry per column, dimension 1 of A is 64"));
  EXPECT_THAT(refusal([&] { tl.rmax(A, v4); }),
              HasSubstr("rmax: out v4 (4,) f32 tcm does not fit src A (8, 64) f16 tcm"));
  EXPECT_THAT(refusal([&] { tl.exp_diff(v4, v4.first({3})); }),
              HasSubstr("dimension 0 is 3, must be 4"));
  tl.mul_bcast(A, m);  // a column is one entry a row, too
}

TEST_F(RefusalTest, ShapesInARecipe) {
  const DecodeStep d(tl);
  const Tensor m = tl.empty({4}, f32).named("m4");
  EXPECT_THAT(
      refusal([&] { tl.composite(tl::recipe(tl::softmax_merge(d.s, m, d.l, d.O))); }),
      HasSubstr("op 1 (max_elem): src_b m_loc (8,) f32 tcm does not fit src_a m4 (4,) f32 tcm"));
}

TEST_F(RefusalTest, ShapesOfEpilogueOperands) {
  const Tensor column = tl.empty({8, 1}, f16).named("column"),
               wide = tl.empty({33}, f16).named("wide");
  EXPECT_THAT(refusal([&] { tl.composite(tl::gemm(A, B).epilogue(tl::add(wide))); }),
              HasSubstr("its shape must be (8, 32), (32,), (8, 1) or (1,)"));
  EXPECT_THAT(refusal([&] { tl.composite(tl::gemm(A, B).epilogue(tl::bias(column))); }),
              HasSubstr("op 1 (bias): other column (8, 1) f16 tcm does not fit out"));
  const Tensor row = tl.empty({32}, f16), scalar = tl.empty({1}, f16),
               full = tl.empty({8, 32}, f16);
  for (const Tensor& other : {row, scalar, full, column}) {
    tl.composite(tl::gemm(A, B).epilogue(tl::mul(other)));
  }
}

TEST_F(RefusalTest, OpsAfterTheLoopThatRewriteOutInHbm) {
  const Tensor out = tl.ref(0, {8, 32}, f16, "out_hbm");
  tl.composite(tl::gemm(A, B).out(out));
  OpSpec op = math;
  op.operands = {{OperandName::src, C.handle()}};
  op.out = out.handle();
  EXPECT_THAT(refusal([&] {
                tl.composite({last_composite().ops[0], op});
              }),
              HasSubstr("op 1 (relu): rewrites out out_hbm (8, 32) f16 hbm after the tile loop"));
}

TEST_F(RefusalTest, TileOpsBeforeOrWithoutAGemm) {
  EXPECT_THAT(refusal([&] {
                tl.composite({flat[1], flat[0]});
              }),
              HasSubstr("op 0 (relu): scope output_tile needs a gemm before it; it is op 1"));
  EXPECT_THAT(refusal([&] {
                tl.composite({math, flat[1]});
              }),
              HasSubstr("op 1 (relu): scope output_tile needs a gemm before it; this composite has "
                        "none"));
  flat[1].scope = Scope::k_tile;
  EXPECT_THAT(refusal([&] { tl.composite({flat[1]}); }), HasSubstr("scope k_tile needs a gemm"));
  flat[0].scope = Scope::k_tile;
  EXPECT_THAT(refusal([&] { tl.composite({flat[0]}); }), HasSubstr("op 0 (gemm): scope k_tile"));
}

// Tiles are 8 x 128 x 128: 8x64x32 is one tile, 16 rows are two.
TEST_F(RefusalTest, OutOverlappingAnInput) {
  const Tensor square = tl.empty({64, 64}, f16).named("square");
  const Tensor small = square.rows(0, 8);
  tl.composite(tl::gemm(small, square).out(small));  // one tile: inputs are read before
  EXPECT_THAT(names_of(last_composite().rw_handles), ElementsAre("square"));
  EXPECT_THAT(
      refusal([&] { tl.composite(tl::gemm(square.rows(0, 16), square).out(square.rows(48, 16))); }),
      HasSubstr("overlaps b square (64, 64) f16 tcm and the gemm has more than one tile"));
  EXPECT_THAT(refusal([&] { tl.dot(square, B, square.cols(0, 32)); }),
              HasSubstr("overlaps a square"));
}

TEST_F(RefusalTest, OutOverlappingOtherInPart) {
  const Tensor big = tl.empty({9, 32}, f32).named("big");
  tl.composite(tl::gemm(A, B).out(big.rows(0, 8)).epilogue(tl::add(big.rows(0, 8))));
  EXPECT_THAT(refusal([&] {
                tl.composite(tl::gemm(A, B).out(big.rows(0, 8)).epilogue(tl::add(big.rows(1, 8))));
              }),
              HasSubstr("overlaps out big (8, 32) f32 tcm in part"));
  // Two column slices of one matrix overlap: hulls count (R3.3).
  const Tensor wide = tl.empty({8, 64}, f32);
  EXPECT_THAT(
      refusal([&] {
        tl.composite(tl::gemm(A, B).out(wide.cols(0, 32)).epilogue(tl::add(wide.cols(32, 32))));
      }),
      HasSubstr("in part"));
}

// Defaults: a tile buffer has (8*128 + 128*128) * 2 = 34,816 bytes.
TEST_F(RefusalTest, StreamedTilesThatDoNotFitATileBuffer) {
  const Tensor a = tl.ref(0, {8, 128}, f32, "a32"), b = tl.ref(0x100000, {128, 128}, f32, "b32");
  EXPECT_THAT(refusal([&] { tl.composite(tl::gemm(a, b)); }),
              AllOf(HasSubstr("a a32"), HasSubstr("take 69632 bytes, a tile buffer has 34816")));
  tl.composite(tl::gemm(a, b.cols(0, 60)));  // 4096 + 30720 = 34816: just fits
  EXPECT_THAT(refusal([&] { tl.composite(tl::gemm(a, b.cols(0, 61))); }),
              HasSubstr("take 35328 bytes"));
}

TEST_F(RefusalTest, StaleTensors) {
  Tensor inner;
  {
    auto scope = tl.scratch_scope();
    inner = tl.empty({8, 64}, f16).named("inner");
  }
  const auto ended = HasSubstr("inner (8, 64) f16 tcm is used after its scratch scope ended");
  EXPECT_THAT(refusal([&] { tl.relu(inner); }), ended);
  EXPECT_THAT(refusal([&] { inner.rows(0, 1); }), ended);
  EXPECT_THAT(refusal([&] { tl.composite(tl::gemm(inner, B)); }), ended);
  EXPECT_THAT(refusal([&] { tl.wait({inner}); }), ended);
  EXPECT_THAT(refusal([&] { tl.observe("inner", inner); }), ended);
  EXPECT_THAT(refusal([&] { tl.store(H, inner); }), ended);
  EXPECT_THAT(refusal([&] { tl.composite(tl::gemm(A, B).out(inner)); }), ended);
  EXPECT_THAT(refusal([&] { tl.composite(tl::gemm(A, B).epilogue(tl::add(inner))); }), ended);
  EXPECT_THAT(refusal([&] { tl.composite(tl::math("relu", {{"src", inner}})); }), ended);
  EXPECT_THAT(refusal([&] { tl.relu(A, inner); }), ended);
  // A younger tensor on the same bytes does not make it valid again.
  const Tensor younger = tl.empty({8, 64}, f16);
  EXPECT_EQ(younger.handle().addr, inner.handle().addr);
  EXPECT_THAT(refusal([&] { tl.relu(inner); }), ended);
  tl.relu(younger);
}

// What a composite returns lies where its handle says, however it was built.
TEST_F(RefusalTest, ResultsOfCompositesEndWithTheirScope) {
  std::vector<Tensor> results;
  {
    auto scope = tl.scratch_scope();
    const Tensor out = tl.empty({8, 64}, f16);
    math.out = out.handle();
    results = {tl.composite({math}), tl.composite(tl::math("relu", {{"src", A}}).out(out)),
               tl.composite(tl::gemm(A, B)), out.rows(0, 1)};
    for (const Tensor& result : results) tl.relu(result);
  }
  for (const Tensor& result : results) {
    EXPECT_THAT(refusal([&] { tl.relu(result); }), HasSubstr("after its scratch scope ended"));
  }
}

TEST_F(RefusalTest, RecipeScratchIsStaleAfterTheCall) {
  const DecodeStep d(tl);
  tl.composite(tl::gemm().b(d.V).out(d.O).prologue(tl::softmax_merge(d.s, d.m, d.l, d.O)));
  EXPECT_THAT(refusal([&] { tl.composite({last_composite().ops[0]}); }),
              HasSubstr("out m_loc (8,) f32 tcm is used after its scratch scope ended"));
}

TEST_F(RefusalTest, ForeignAndHandMadeHandles) {
  command::ProgramRecorder other_sink;
  Context other(Target{}, other_sink);
  const Tensor foreign = other.empty({8, 64}, f16).named("foreign");
  EXPECT_THAT(refusal([&] { tl.relu(foreign); }),
              HasSubstr("relu: src foreign (8, 64) f16 tcm belongs to another context"));
  EXPECT_THAT(refusal([&] { tl.relu(Tensor()); }), HasSubstr("relu: src is an empty tensor"));
  math.operands[0].handle.id = 10000;
  EXPECT_THAT(refusal([&] { tl.composite({math}); }), HasSubstr("was not made by this context"));
}

TEST_F(RefusalTest, ZeroAndNegativeDimensions) {
  EXPECT_THAT(refusal([&] { tl.empty({0, 4}, f16); }), HasSubstr("dimension 0 of"));
  EXPECT_THAT(refusal([&] { tl.empty(Shape(), f16); }), HasSubstr("dimension 0 of"));
  EXPECT_THAT(refusal([&] { tl.zeros({4, -1}, f16); }), HasSubstr("is -1; it must be at least 1"));
  EXPECT_THAT(refusal([&] { tl.ref(0, {0}, f16); }), HasSubstr("must be at least 1"));
  math.operands[0].handle.shape = {8, 0};
  EXPECT_THAT(refusal([&] { tl.composite({math}); }), HasSubstr("dimension 1 is 0"));
}

TEST_F(RefusalTest, HbmAddressesOutsideTheMemory) {
  Target target;
  target.hbm_bytes = 4096;
  command::ProgramRecorder small_sink;
  Context small(target, small_sink);
  small.ref(4096 - 128, {8, 8}, f16);  // ends at the last byte
  EXPECT_THAT(message_of([&] {
                small.ref(4096 - 127, {8, 8}, f16, "K");
              }),
              HasSubstr("K (8, 8) f16 hbm at 0xf81 ends at 0x1001, beyond the 4096 bytes of HBM"));
  // R3.4: a TCM address is no HBM address.
  EXPECT_THAT(refusal([&] { tl.ref(command::kTcmBase, {8}, f16, "T"); }),
              HasSubstr("beyond the 4831838208 bytes of HBM"));
  EXPECT_THAT(refusal([&] { tl.composite(tl::gemm(A, B).out_ptr(command::kTcmBase)); }),
              HasSubstr("beyond the 4831838208 bytes of HBM"));
}

TEST_F(RefusalTest, TransfersThatDoNotMatch) {
  const Tensor K = tl.ref(0, {64, 8}, f16, "K");
  EXPECT_THAT(refusal([&] { tl.load(A); }), HasSubstr("load: source A (8, 64) f16 tcm is in TCM"));
  EXPECT_THAT(refusal([&] { tl.load(K.t()); }),
              HasSubstr("load: K (8, 64) f16 hbm is a transposed view"));
  EXPECT_THAT(refusal([&] { tl.store(A, A); }), HasSubstr("store: destination A"));
  EXPECT_THAT(refusal([&] { tl.store(H, H); }), HasSubstr("store: source H"));
  EXPECT_THAT(refusal([&] { tl.store(H, C); }),
              HasSubstr("store: source C (8, 32) f32 tcm does not fit destination H (8, 64) f16 "
                        "hbm: dimension 1 is 32, must be 64"));
  EXPECT_THAT(refusal([&] {
                tl.store(tl.ref(0, {8, 32}, f16, "D"), C);
              }),
              HasSubstr("differ in dtype; DMA does not convert"));
  EXPECT_THAT(refusal([&] { tl.store(K.t(), A); }), HasSubstr("transposed view"));
}

// To and from program 0 of two.
TEST_F(RefusalTest, MessagesThatCannotBe) {
  Target target;
  target.num_programs = {2, 1, 1};
  target.pes = {0, 1};
  command::ProgramRecorder two_sink;
  Context two(target, two_sink);
  const Tensor x = two.empty({8, 64}, f16).named("x"), h = two.ref(0, {8, 64}, f16, "h");
  EXPECT_EQ(message_of([&] { two.send(2, x); }),
            "send: there is no program 2 for program 0 of 2 to talk to; give another one in [0, "
            "1]");
  EXPECT_THAT(message_of([&] { two.recv(0, x); }), HasSubstr("recv: there is no program 0"));
  EXPECT_THAT(message_of([&] { two.recv(-1, x); }), HasSubstr("recv: there is no program -1"));
  EXPECT_EQ(message_of([&] { two.recv(1, x, 4); }),
            "recv: channel 4 does not exist; give one in [0, 3], or raise pe.ipcq.channels");
  EXPECT_EQ(message_of([&] { two.send(1, h); }),
            "send: source h (8, 64) f16 hbm is in HBM; it must lie in TCM");
  EXPECT_THAT(message_of([&] { two.recv(1, h); }), HasSubstr("recv: destination h"));
  EXPECT_EQ(message_of([&] { two.send(1, x.t()); }),
            "send: source x (64, 8) f16 tcm is a transposed view; move it as it lies and take .t() "
            "of the result");
  EXPECT_THAT(message_of([&] { two.send(1, A); }), HasSubstr("belongs to another context"));
  EXPECT_TRUE(two_sink.program().steps.empty());
  two.send(1, x.cols(0, 8), 3);
  two.recv(1, x.rows(0, 1));
  EXPECT_EQ(two_sink.program().steps.size(), 2U);
}

TEST_F(RefusalTest, MessagesOfALaunchOfOneProgram) {
  EXPECT_EQ(refusal([&] { tl.send(1, A); }),
            "send: there is no program 1 to talk to: the launch has one program; give it more");
  EXPECT_THAT(refusal([&] { tl.recv(0, A); }), HasSubstr("recv: there is no program 0 to talk"));
}

// The structure of hand-written ops (R3.5, R4.6).
TEST_F(RefusalTest, MalformedOpsOfAFlatList) {
  const auto refused_as = [&](OpSpec op) { return refusal([&] { tl.composite({flat[0], op}); }); };
  OpSpec op = flat[1];
  op.operands = {{OperandName::src, A.handle()}};
  EXPECT_THAT(refused_as(op), HasSubstr("op 1 (relu): src A (8, 64) f16 tcm must name the "
                                        "accumulator; give the gemm's out C"));
  op = flat[1];
  op.out = A.handle();
  EXPECT_THAT(refused_as(op), HasSubstr("out A (8, 64) f16 tcm must name the accumulator"));
  op = flat[1];
  op.kind = OpKind::add;
  EXPECT_THAT(refused_as(op),
              HasSubstr("operands are src; at scope output_tile they must be src, other"));
  op = flat[1];
  op.kind = OpKind::rmax;
  EXPECT_THAT(refused_as(op), HasSubstr("has no output_tile form"));
  op = math;
  op.operands = {{OperandName::src_a, A.handle()}};
  EXPECT_THAT(refused_as(op), HasSubstr("operands are src_a; they must be src"));
  op = math;
  op.has_out = false;
  EXPECT_THAT(refused_as(op), HasSubstr("has no out; give one"));
  op = math;
  op.kind = OpKind::scale;
  EXPECT_THAT(refused_as(op), HasSubstr("lacks its extra 'value'"));
  op.extras = {Extra::i32(ExtraName::value, 1)};
  EXPECT_THAT(refused_as(op), HasSubstr("as another type"));
  op = math;
  op.extras = {Extra::f32(ExtraName::value, 1)};
  EXPECT_THAT(refused_as(op), HasSubstr("takes no extra 'value'"));
  op = math;
  op.kind = OpKind::bias;
  EXPECT_THAT(refused_as(op), HasSubstr("is an epilogue op only"));
  flat[0].extras[1] = Extra::u32(ExtraName::k, 63);
  EXPECT_THAT(refusal([&] { tl.composite({flat[0]}); }),
              HasSubstr("extras m, k, n are 8, 63, 32; a A (8, 64) f16 tcm and b B (64, 32) f16 "
                        "tcm make them 8, 64, 32"));
}

TEST_F(RefusalTest, RepeatedRwHandle) {
  EXPECT_THAT(refusal([&] {
                tl.composite({math}, {A.handle(), A.handle()});
              }),
              HasSubstr("rw handle A (8, 64) f16 tcm is given twice"));
}

// R4.5: unknown names come with the valid ones and the nearest.
TEST_F(RefusalTest, UnknownNames) {
  const DecodeStep d(tl);
  EXPECT_THAT(refusal([&] { tl.composite(tl::gemm().b(d.V).prologue("softmax_marge", {})); }),
              HasSubstr("unknown recipe 'softmax_marge'; valid are softmax_merge, rmsnorm_linear, "
                        "state_merge; did you mean 'softmax_merge'?"));
  EXPECT_THAT(refusal([&] {
                tl.composite(tl::gemm().b(d.V).prologue(
                    "softmax_merge", {{"s", d.s}, {"m", d.m}, {"l", d.l}, {"O", d.O}, {"o", d.O}}));
              }),
              HasSubstr("softmax_merge: unknown operand 'o'; valid are s, m, l, O"));
  EXPECT_THAT(refusal([&] {
                tl.composite(tl::gemm().b(d.V).prologue("softmax_merge", {{"s", d.s}, {"m", d.m}}));
              }),
              HasSubstr("softmax_merge: operand 'l' is missing"));
  EXPECT_THAT(refusal([&] { tl.composite(tl::gemm(A, B).epilogue("relo")); }),
              HasSubstr("unknown epilogue op 'relo'; valid are add, bias, mul, gelu, silu, relu, "
                        "scale, linear_gelu_norm; did you mean 'relu'?"));
  EXPECT_THAT(refusal([&] {
                tl.composite(tl::gemm(A, B).epilogue("bias", {{"bais", A}}));
              }),
              HasSubstr("bias: unknown operand 'bais'; valid are bias; did you mean 'bias'?"));
  EXPECT_THAT(refusal([&] {
                tl.composite(tl::math("sqare", {{"src", A}}));
              }),
              AllOf(HasSubstr("unknown op 'sqare'"), HasSubstr("did you mean 'square'?")));
  EXPECT_THAT(refusal([&] {
                tl.composite(tl::math("square", {{"source", A}}));
              }),
              HasSubstr("square: operand 'src' is missing"));
  EXPECT_THAT(refusal([&] {
                tl.composite(tl::math("square", {{"src", A}, {"scr", A}}));
              }),
              HasSubstr("square: unknown operand 'scr'; valid are src"));
  // The axes follow from the op.
  EXPECT_THAT(refusal([&] {
                tl.composite(tl::math("rmax", {{"src", A}, {"reduce_axis", 0.0}}));
              }),
              HasSubstr("rmax: unknown operand 'reduce_axis'; valid are src"));
}

TEST_F(RefusalTest, ArgumentsOfTheStringForms) {
  EXPECT_THAT(refusal([&] {
                tl.composite(tl::gemm(A, B).epilogue("scale", {{"value", A}}));
              }),
              HasSubstr("scale: 'value' is a number, but a tensor was given"));
  EXPECT_THAT(refusal([&] {
                tl.composite(tl::gemm(A, B).epilogue("add", {{"other", 1.0}}));
              }),
              HasSubstr("add: 'other' is a tensor operand, but a number was given"));
  EXPECT_THAT(refusal([&] { tl.composite(tl::gemm(A, B).epilogue("scale")); }),
              HasSubstr("scale: operand 'value' is missing"));
  EXPECT_THAT(refusal([&] {
                tl.composite(tl::gemm(A, B).epilogue("gelu", {{"x", A}}));
              }),
              HasSubstr("gelu: unknown operand 'x'; valid are none"));
  EXPECT_THAT(refusal([&] {
                tl.composite(tl::gemm(A, B).epilogue("scale", {{"value", 1.0}, {"value", 2.0}}));
              }),
              HasSubstr("scale: 'value' is given twice"));
  EXPECT_THAT(refusal([&] {
                tl.composite(tl::gemm(A, B).epilogue("relu", {{"src", A}}, Scope::kernel));
              }),
              HasSubstr("relu: operand 'out' is missing; an op after the tile loop names its"));
  EXPECT_THAT(refusal([&] {
                tl.composite(tl::gemm(A, B).epilogue("linear_gelu_norm", {}, Scope::output_tile));
              }),
              HasSubstr("linear_gelu_norm: a recipe has the scopes of its ops"));
  EXPECT_THAT(refusal([&] {
                tl.composite(tl::math("gemm", {{"a", A}, {"b", B}}));
              }),
              HasSubstr("use tl::gemm"));
  EXPECT_THAT(refusal([&] {
                tl.composite(tl::math("fill", {{"value", 0.0}}));
              }),
              HasSubstr("give .out()"));
  EXPECT_THAT(refusal([&] { tl.composite(tl::gemm(A, B).epilogue(tl::scale(1e39))); }),
              HasSubstr("scale: value = 1e+39 does not fit its 4 bytes"));
}

}  // namespace
}  // namespace kernbench::tl
