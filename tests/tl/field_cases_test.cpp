// SPDX-License-Identifier: Apache-2.0
// What users of such compilers trip over (docs/field_cases.md): messages that do not say what is
// wrong (44), scratch that runs out or leaks (46), handles that outlive their bytes (47), epilogues
// that are dropped or doubled (48). Here: what `tl` refuses and what it emits; numbers are in
// tests/model/field_cases_test.cpp.
#include <optional>
#include <type_traits>

#include "tests/tl/fixture.hpp"

namespace kernbench::tl {
namespace {

// ---- 44: messages, at build time, with nothing submitted or allocated (ContextTest::refusal) ----

struct MessageTest : ContextTest {
  /// Refused, and the line has all of `parts`.
  template <class Call>
  void expect_refused(Call call, const std::vector<std::string>& parts) {
    const std::string line = refusal(call);
    for (const std::string& part : parts) EXPECT_THAT(line, HasSubstr(part));
  }

  Tensor A = tl.empty({4, 8}, f16).named("A");
  Tensor B = tl.empty({7, 4}, f16).named("B");
  Tensor C = tl.empty({8, 4}, f16).named("C");
  Tensor W = tl.empty({8, 4}, f32).named("W");
};

TEST_F(MessageTest, GemmOfShapesThatDoNotFit) {
  const std::vector<std::string> parts{"A (4, 8)", "B (7, 4)", "dimension 1 of a is 8",
                                       "dimension 0 of b is 7"};
  expect_refused([&] { tl.dot(A, B); }, parts);
  expect_refused([&] { tl.composite(tl::gemm(A, B)); }, parts);
  expect_refused([&] { tl.composite(tl::gemm(A, B).out_ptr(0)); }, parts);
  expect_refused([&] { tl.composite(tl::gemm(A, B).epilogue("relu")); }, parts);
}

TEST_F(MessageTest, GemmOfTwoDtypes) {
  const std::vector<std::string> parts{"A (4, 8) f16", "W (8, 4) f32", "differ in dtype"};
  expect_refused([&] { tl.dot(A, W); }, parts);
  expect_refused([&] { tl.composite(tl::gemm(A, W)); }, parts);
  expect_refused([&] { tl.composite(tl::gemm(A, W).dtype(f32)); }, parts);
}

// The accumulator is f32 (R4.6): there is no way to ask for another, and an op that names it under
// another dtype names something else.
TEST_F(MessageTest, AccumulatorOfAnotherDtype) {
  tl.composite(tl::gemm(A, C).out(tl.empty({4, 4}, f32).named("acc")).epilogue(tl::relu()));
  const std::vector<OpSpec> ops = last_composite().ops;
  std::vector<OpSpec> narrow = ops;
  narrow[1].operands[0].handle.dtype = f16;
  expect_refused([&] { tl.composite(narrow); }, {"op 1 (relu)", "src acc (4, 4) f16",
                                                 "must name the accumulator", "acc (4, 4) f32"});
  narrow = ops;
  narrow[1].out.dtype = f16;
  expect_refused([&] { tl.composite(narrow); },
                 {"op 1 (relu)", "out acc (4, 4) f16", "acc (4, 4) f32"});
}

TEST_F(MessageTest, SumOfATensorAndItsTransposedShape) {
  const std::vector<std::string> parts{"add", "A (4, 8)", "C (8, 4)",
                                       "dimension 0 is 8, must be 4"};
  expect_refused([&] { tl.add(A, C); }, parts);
  expect_refused([&] { tl.composite(tl::math("add", {{"src_a", A}, {"src_b", C}})); }, parts);
  const Tensor D = tl.empty({8, 8}, f16).named("D");
  expect_refused([&] { tl.composite(tl::gemm(A, D).epilogue(tl::add(C))); },
                 {"op 1 (add)", "other C (8, 4)", "(4, 8)"});
}

TEST_F(MessageTest, DimensionsBelowOne) {
  expect_refused([&] { tl.empty({4, 0}, f16); }, {"dimension 1", "(4, 0)", "is 0", "at least 1"});
  expect_refused([&] { tl.empty({-4, 8}, f16); }, {"dimension 0", "(-4, 8)", "is -4"});
  expect_refused([&] { tl.zeros({0}, f32); }, {"dimension 0", "is 0"});
  expect_refused([&] { tl.ring<2>({8, -1}, f16); }, {"dimension 1", "is -1"});
  expect_refused([&] { tl.ref(0, {0, 8}, f16, "K"); }, {"dimension 0", "K", "is 0"});
  expect_refused([&] { A.rows(0, 0); }, {"A (4, 8)", "rows [0, 0)"});
  expect_refused([&] { A.cols(2, -1); }, {"A (4, 8)", "columns [2, 1)"});
  expect_refused([&] { A.first({4, 0}); }, {"A (4, 8)", "columns [0, 0)"});
}

TEST_F(MessageTest, TensorOfAnotherContext) {
  command::ProgramRecorder other_sink;
  Context other(Target{}, other_sink);
  // A handle of the same id and place as one of ours.
  const Tensor foreign = other.empty({8, 4}, f16).named("foreign");
  const std::vector<std::string> parts{"foreign (8, 4)", "belongs to another context"};
  expect_refused([&] { tl.dot(A, foreign); }, parts);
  expect_refused([&] { tl.composite(tl::gemm(A, foreign)); }, parts);
  expect_refused([&] { tl.composite(tl::gemm(A, C).epilogue(tl::add(foreign))); }, parts);
  expect_refused([&] { tl.store(tl.ref(0, {8, 4}, f16), foreign); }, parts);
  expect_refused([&] { tl.wait({foreign}); }, parts);
  EXPECT_TRUE(other_sink.program().steps.empty());
}

TEST_F(MessageTest, UseBeforeAnyLoad) {
  const Tensor nothing;
  const auto empty_tensor = "is an empty tensor";
  expect_refused([&] { tl.dot(A, nothing); }, {"dot: b", empty_tensor});
  expect_refused([&] { tl.composite(tl::gemm(nothing, C)); }, {"a", empty_tensor});
  expect_refused([&] { tl.composite(tl::gemm(A, C).epilogue(tl::add(nothing))); },
                 {"other", empty_tensor});
  expect_refused(
      [&] {
        tl.store(tl.ref(0, {8, 4}, f16), nothing);
      },
      {"store: source", empty_tensor});
  expect_refused([&] { tl.observe("x", nothing); }, {"observe: tensor", empty_tensor});
  expect_refused([&] { nothing.rows(0, 1); }, {"empty tensor"});
  // Nothing would ever end this wait.
  expect_refused([&] { tl.wait({A}); }, {"no issued command writes A (4, 8)"});
}

// ---- 46: out of scratch -------------------------------------------------------------------------

Target with_scratch(std::uint64_t bytes) {
  Target target;
  target.scratch_bytes = bytes;
  return target;
}

// A bump allocator has no holes: the largest hole is all that is free.
TEST(OutOfScratch, OneByteOverIsRefusedAndAnExactFitIsNot) {
  command::ProgramRecorder sink;
  Context small(with_scratch(127), sink);
  EXPECT_THAT(message_of([&] { small.empty({64}, f16); }),
              AllOf(HasSubstr("needs 128 bytes"), HasSubstr("127 of 127 are free"),
                    HasSubstr("live: none"), HasSubstr("at field_cases_test.cpp:")));
  small.empty({63}, f16);  // nothing of the refused one stays

  Context exact(with_scratch(128), sink);
  exact.empty({64}, f16);
  EXPECT_EQ(exact.scratch_peak_bytes(), 128U);

  // Beside a live tensor, of which 64 bytes are taken up for the sake of alignment.
  for (const std::uint64_t bytes : {64U + 128, 64U + 127}) {
    Context tl(with_scratch(bytes), sink);
    tl.empty({1}, f16).named("counter");
    const std::string line = message_of([&] { tl.empty({64}, f16); });
    if (bytes == 192) {
      EXPECT_EQ(line, "");
    } else {
      EXPECT_THAT(line, AllOf(HasSubstr("needs 128 bytes, 127 of 191 are free"),
                              HasSubstr("live: counter 2;")));
    }
  }
}

TEST(OutOfScratch, TenThousandPairsLeakNothing) {
  command::ProgramRecorder sink;
  Context tl(with_scratch(8192), sink);
  const Tensor kept = tl.empty({16}, f32).named("kept");  // 64 bytes
  std::uint64_t peak = 0;
  for (int i = 0; i < 10'000; ++i) {
    auto scope = tl.scratch_scope();
    const Tensor x = tl.empty({i % 2 == 0 ? 3 : 4000}, f16);
    EXPECT_EQ(x.handle().addr, kept.handle().addr + 64);
    if (i == 1) peak = tl.scratch_peak_bytes();
  }
  EXPECT_EQ(peak, 64U + 8000);
  EXPECT_EQ(tl.scratch_peak_bytes(), peak);
  tl.zeros({8128 / 4}, f32);  // all the rest, in one piece
  tl.relu(kept, kept);
}

// A recipe's block and the output of a refused call are given back as well.
TEST(OutOfScratch, RecipesAndRefusedCallsLeakNothing) {
  command::ProgramRecorder sink;
  Context tl(Target{}, sink);
  const DecodeStep d(tl);
  std::uint64_t peak = 0;
  for (int i = 0; i < 1'000; ++i) {
    tl.composite(tl::gemm().b(d.V).out(d.O).prologue(tl::softmax_merge(d.s, d.m, d.l, d.O)));
    EXPECT_THAT(message_of([&] { tl.composite(tl::gemm(d.s, d.s)); }), HasSubstr("does not fit"));
    if (i == 0) peak = tl.scratch_peak_bytes();
  }
  EXPECT_EQ(tl.scratch_peak_bytes(), peak);
}

// Each slot alone would fit; nothing of a ring that does not is left behind.
TEST(OutOfScratch, ARingThatDoesNotFitSaysHowManySlotsItHas) {
  command::ProgramRecorder sink;
  Context tl(with_scratch(4096), sink);
  const std::string line = message_of([&] { tl.ring<3>({1024}, f16); });
  EXPECT_THAT(line,
              AllOf(HasSubstr("slot 2 of ring<3>: "), HasSubstr("needs 2048 bytes, 0 of 4096"),
                    HasSubstr("this line has allocated 2 tensors before")));
  EXPECT_EQ(line.find('\n'), std::string::npos);
  tl.ring<2>({1024}, f16);
  EXPECT_EQ(tl.scratch_peak_bytes(), 4096U);
}

// ---- 47: handles and their bytes ----------------------------------------------------------------

// Nothing can be freed twice: a scope is no value, and no call frees a tensor.
static_assert(!std::is_copy_constructible_v<ScratchScope>);
static_assert(!std::is_move_constructible_v<ScratchScope>);
static_assert(!std::is_copy_assignable_v<ScratchScope>);

struct LifetimeTest : ContextTest {
  /// A scope that a test can end when it likes.
  struct Held {
    explicit Held(Context& tl) : scope(tl.scratch_scope()) {}
    ScratchScope scope;
  };
};

TEST_F(LifetimeTest, AHandleThatLeavesItsScopeIsRefused) {
  const auto leaked = [&] {
    auto scope = tl.scratch_scope();
    return tl.zeros({8, 64}, f16).named("leaked");
  }();
  EXPECT_THAT(refusal([&] { tl.relu(leaked); }),
              HasSubstr("src leaked (8, 64) f16 tcm is used after its scratch scope ended"));
}

// A slot, a copy and a view know when their bytes have gone, whoever has them now.
TEST_F(LifetimeTest, RingsCopiesAndViewsEndWithTheirScope) {
  std::optional<Ring<2>> ring;
  std::vector<Tensor> left;
  {
    auto scope = tl.scratch_scope();
    ring = tl.ring<2>({8, 64}, f16);
    const Tensor copy = (*ring)[1];
    left = {copy, (*ring)[0].rows(1, 2), copy.t(), copy.named("renamed")};
    for (const Tensor& tensor : left) tl.relu(tensor, tensor);
  }
  tl.zeros({16, 64}, f16);  // on the same bytes
  left.push_back((*ring)[0]);
  left.push_back((*ring)[7]);
  for (const Tensor& tensor : left) {
    EXPECT_THAT(refusal([&] { tl.relu(tensor, tensor); }), HasSubstr("scratch scope ended"));
  }
}

// The C++ object that a tensor was made as is nothing special.
TEST_F(LifetimeTest, ACopyOutlivesTheOriginal) {
  Tensor copy;
  {
    const Tensor original = tl.zeros({8, 64}, f16).named("x");
    copy = original;
  }
  tl.relu(copy, copy);
  EXPECT_EQ(std::get<command::MathCmd>(last()).op.out.addr, copy.handle().addr);
}

// The inner scope ends last: what was allocated after the outer one had ended is kept or known to
// be gone, and never lies on live bytes.
TEST_F(LifetimeTest, ScopesThatEndInAnyOrderNeverShareBytes) {
  std::optional<Held> outer;
  std::optional<Held> inner;
  outer.emplace(tl);
  tl.empty({64}, f16);
  inner.emplace(tl);
  const Tensor innermost = tl.empty({64}, f16);
  outer.reset();
  EXPECT_THAT(refusal([&] { tl.relu(innermost, innermost); }), HasSubstr("scope ended"));
  const Tensor younger = tl.zeros({1024}, f16).named("younger");  // over the mark of `inner`
  inner.reset();
  tl.relu(younger, younger);
  tl.wait({younger});
  EXPECT_GE(next_address(), younger.handle().range().end);
}

// ---- 48: the fused epilogue ---------------------------------------------------------------------

struct EpilogueTest : ContextTest {
  Tensor A = tl.empty({8, 2}, f16).named("A");
  Tensor B = tl.empty({2, 32}, f16).named("B");
  Tensor C = tl.empty({8, 32}, f32).named("C");
  Tensor bias = tl.empty({32}, f16).named("bias");
};

// No op is dropped, merged or moved; the destination that is also the residual is an RW handle.
TEST_F(EpilogueTest, OpsKeepTheirOrderAndScope) {
  tl.composite(
      tl::gemm(A, B).out(C).epilogue(tl::bias(bias)).epilogue(tl::relu()).epilogue(tl::add(C)));
  EXPECT_THAT(kinds_of(last_composite()),
              ElementsAre(OpKind::gemm, OpKind::bias, OpKind::relu, OpKind::add));
  for (std::size_t i = 1; i < 4; ++i) {
    EXPECT_EQ(last_composite().ops[i].scope, Scope::output_tile);
  }
  EXPECT_EQ(last_composite().ops[3].operand(OperandName::other)->addr, C.handle().addr);
  EXPECT_THAT(names_of(last_composite().rw_handles), ElementsAre("C"));
}

// K = 0 has no shape: a reduction over nothing cannot be written down.
TEST_F(EpilogueTest, AReductionOverNothingIsRefused) {
  EXPECT_THAT(refusal([&] { tl.empty({8, 0}, f16); }), HasSubstr("dimension 1"));
  EXPECT_THAT(refusal([&] { tl.composite(tl::gemm(A.cols(0, 0), B.rows(0, 0))); }),
              HasSubstr("at least one is needed"));
  tl.composite(tl::gemm(A, B).out(C));
  std::vector<OpSpec> ops = last_composite().ops;
  ops[0].operands[0].handle.shape = {8, 0};
  ops[0].operands[1].handle.shape = {0, 32};
  ops[0].extras[1].bits = 0;
  EXPECT_THAT(refusal([&] { tl.composite(ops); }), HasSubstr("dimension 1 is 0"));
}

// Destination, residual and left operand in one: right in one tile, which reads before it writes;
// refused in several. Tiles are 8x128x128.
TEST_F(EpilogueTest, DestinationResidualAndLeftOperandInOne) {
  const Tensor X = tl.empty({16, 64}, f16).named("X"), Y = tl.empty({64, 64}, f16).named("Y");
  const Tensor top = X.rows(0, 8);
  tl.composite(tl::gemm(top, Y).out(top).epilogue(tl::add(top)));
  EXPECT_THAT(refusal([&] { tl.composite(tl::gemm(X, Y).out(X).epilogue(tl::add(X))); }),
              AllOf(HasSubstr("out X (16, 64)"), HasSubstr("overlaps a X"),
                    HasSubstr("more than one tile")));
}

}  // namespace
}  // namespace kernbench::tl
