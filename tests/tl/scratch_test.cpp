// SPDX-License-Identifier: Apache-2.0
// R4.4: scopes, addresses, the message of an exhausted scratch, the peak.
#include <cmath>

#include "tests/tl/fixture.hpp"
#include "tl/range_set.hpp"

namespace kernbench::tl {
namespace {

class ScratchTest : public ContextTest {};

TEST_F(ScratchTest, AllocationsLieAtMultiplesOf64) {
  EXPECT_EQ(tl.empty({1}, f16).handle().addr, command::kTcmBase);
  EXPECT_EQ(tl.empty({33}, f16).handle().addr, command::kTcmBase + 64);  // 66 bytes
  EXPECT_EQ(tl.empty({1}, f32).handle().addr, command::kTcmBase + 192);
  EXPECT_EQ(tl.scratch_peak_bytes(), 196u);
}

TEST_F(ScratchTest, ScopesNest) {
  const Tensor kept = tl.empty({32}, f16);
  {
    auto outer = tl.scratch_scope();
    tl.empty({32}, f16);
    {
      auto inner = tl.scratch_scope();
      tl.empty({64}, f16);
      EXPECT_EQ(next_address(), command::kTcmBase + 256);
    }
    EXPECT_EQ(next_address(), command::kTcmBase + 128);
  }
  EXPECT_EQ(next_address(), command::kTcmBase + 64);
  EXPECT_EQ(tl.scratch_peak_bytes(), 256u + 2) << "next_address() allocates one entry";
  kept.first({1});
}

// An output allocated by a composite lives in the open scope; it outlives the recipe's block.
TEST_F(ScratchTest, ImplicitResultsBelongToTheOpenScope) {
  const Tensor a = tl.empty({8, 64}, f16), b = tl.empty({64, 8}, f16);
  Tensor out;
  {
    auto scope = tl.scratch_scope();
    out = tl.composite(tl::gemm(a, b)).named("out");
    tl.relu(out);
  }
  EXPECT_THAT(message_of([&] { tl.relu(out); }), HasSubstr("out (8, 8)"));
}

TEST(Scratch, ExhaustedNamesAllThatIsNeededToFixIt) {
  Target target;
  target.scratch_bytes = 1024;
  command::ProgramRecorder sink;
  Context tl(target, sink);
  tl.empty({128}, f16).named("K");                               // 256 bytes
  const auto allocate = [&] { return tl.empty({64, 2}, f16); };  // 256 bytes, one line
  allocate();
  const Tensor last = allocate();
  allocate();
  const std::string line = message_of(allocate);
  EXPECT_THAT(line, HasSubstr("needs 256 bytes, 0 of 1024 are free"));
  EXPECT_THAT(line, HasSubstr("at scratch_test.cpp:"));
  EXPECT_THAT(line,
              HasSubstr("live: K 256, tcm#3 256, " + last.handle().label() + " 256, tcm#5 256"));
  EXPECT_THAT(line, HasSubstr("this line has allocated 3 tensors before"));
  EXPECT_EQ(line.find("/tests/"), std::string::npos) << "no path of the build machine";
  try {
    allocate();
  } catch (const InputError& error) {
    EXPECT_THAT(error.detail(), HasSubstr("3 live, 768 bytes, of 3 allocated so far"));
  }
  EXPECT_EQ(tl.scratch_peak_bytes(), 1024u) << "a full scratch is no error";
  EXPECT_TRUE(sink.program().steps.empty());
}

TEST(Scratch, LongListsOfLiveTensorsAreCut) {
  Target target;
  target.scratch_bytes = 640;
  command::ProgramRecorder sink;
  Context tl(target, sink);
  tl.ring<10>({32}, f16);
  EXPECT_THAT(message_of([&] { tl.zeros({4}, f32); }), HasSubstr("tcm#8 64 and 2 more"));
  EXPECT_TRUE(sink.program().steps.empty());
}

TEST(Scratch, RecipeBlockThatDoesNotFitIsRefused) {
  Target target;
  target.scratch_bytes = 7424 + 1151;  // the operands end at 1024 + 64 + 64 + 4096 = 5248
  command::ProgramRecorder sink;
  Context tl(target, sink);
  const DecodeStep d(tl);
  tl.empty({1088}, f16);  // to 7424
  const auto call = [&] {
    tl.composite(tl::gemm().b(d.V).out(d.O).prologue(tl::softmax_merge(d.s, d.m, d.l, d.O)));
  };
  EXPECT_THAT(message_of(call),
              AllOf(HasSubstr("softmax_merge at"), HasSubstr("needs 1152 bytes, 1151 of 8575")));
  EXPECT_TRUE(sink.program().commands().empty());
}

TEST(Scratch, MustFitTheTcm) {
  Target target;
  target.scratch_bytes = target.tcm_bytes + 1;
  command::ProgramRecorder sink;
  EXPECT_THAT(message_of([&] { Context tl(target, sink); }), HasSubstr("does not fit the TCM"));
}

/// Contract 4 and R13.2: decode with G = 8, d = 128, TILE = 64.
struct Decode {
  explicit Decode(Context& tl)
      : q(tl.load(tl.ref(0, {8, 128}, f16))),
        m(tl.full({8}, kMinusInf, f32)),
        l(tl.zeros({8}, f32)),
        O(tl.zeros({8, 128}, f32)),
        K(tl.ref(0x10000, {64, 128}, f16)),
        S(tl.ring<2>({8, 64}, f16)) {}
  Tensor q, m, l, O, K;
  Ring<2> S;
};

// q 2048, m 64, l 64, O 4096, S 2 * 1024 = 8320; then div_bcast's out 2048 tops the block of 1152.
TEST(ScratchPeak, Opt2Takes10368Bytes) {
  command::ProgramRecorder sink;
  Context tl(Target{}, sink);
  const Decode d(tl);
  for (Index j = 0; j < 4; ++j) {
    tl.composite(tl::gemm(d.q, d.K.t()).out(d.S[j]).epilogue(tl::scale(1 / std::sqrt(128.0))));
    tl.composite(tl::gemm()
                     .b(d.K)
                     .out(d.O)
                     .prologue(tl::softmax_merge(d.S[j], d.m, d.l, d.O))
                     .epilogue(tl::add(d.O)));
  }
  EXPECT_EQ(tl.scratch_peak_bytes(), 8320u + 1152);
  tl.div_bcast(d.O, d.l, f16);
  EXPECT_EQ(tl.scratch_peak_bytes(), 10368u);
}

// As opt2, and P 2 * 1024, m_loc, m_new, corr, l_loc 4 * 64 before the out of div_bcast.
TEST(ScratchPeak, Opt3Takes12672Bytes) {
  command::ProgramRecorder sink;
  Context tl(Target{}, sink);
  const Decode d(tl);
  const auto P = tl.ring<2>({8, 64}, f16);
  const auto m_loc = tl.empty({8}, f32), m_new = tl.empty({8}, f32);
  const auto corr = tl.empty({8}, f32), l_loc = tl.empty({8}, f32);
  for (Index j = 0; j < 4; ++j) {
    tl.composite(tl::gemm(d.q, d.K.t()).out(d.S[j]).epilogue(tl::scale(1 / std::sqrt(128.0))));
    tl.rmax(d.S[j], m_loc);
    tl.max_elem(d.m, m_loc, m_new);
    tl.exp_diff(d.m, m_new, corr);
    tl.exp_diff(d.S[j], m_new, P[j]);
    tl.rsum(P[j], l_loc);
    tl.fma(d.l, corr, l_loc, d.l);
    tl.mul_bcast(d.O, corr, d.O);
    tl.copy(m_new, d.m);
    tl.composite(tl::gemm(P[j], d.K).out(d.O).epilogue(tl::add(d.O)));
  }
  tl.div_bcast(d.O, d.l, f16);
  EXPECT_EQ(tl.scratch_peak_bytes(), 12672u);
}

TEST(RangeSet, MergesAndRemoves) {
  RangeSet set;
  set.add({10, 20});
  set.add({30, 40});
  EXPECT_FALSE(set.overlaps({20, 30}));
  set.add({20, 30});  // joins both
  EXPECT_TRUE(set.overlaps({25, 26}));
  set.remove({15, 35});
  EXPECT_TRUE(set.overlaps({14, 15}));
  EXPECT_FALSE(set.overlaps({15, 35}));
  EXPECT_TRUE(set.overlaps({35, 36}));
  set.add({0, 100});
  set.remove({0, 100});
  EXPECT_FALSE(set.overlaps({0, 100}));
}

}  // namespace
}  // namespace kernbench::tl
