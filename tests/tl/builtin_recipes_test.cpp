// SPDX-License-Identifier: Apache-2.0
// The recipes of contract 13, op by op: bytes, reads, writes, scalars, scratch and rw_handles.
#include "tests/tl/fixture.hpp"

namespace kernbench::tl {
namespace {

using command::ExtraName;
using testing::IsEmpty;

/// `square(x)->sq`, with `@output_tile` behind an op of that scope and its scalars in brackets.
std::string text_of(const OpSpec& op) {
  std::string text(to_string(op.kind));
  text += '(';
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    text += (i == 0 ? "" : ",") + op.operands[i].handle.label();
  }
  text += ')';
  if (op.has_out) text += "->" + op.out.label();
  if (op.on_accumulator()) text += "@" + std::string(to_string(op.scope));
  return text;
}

std::vector<std::string> texts_of(const CompositeCmd& command) {
  std::vector<std::string> texts;
  for (const OpSpec& op : command.ops) texts.push_back(text_of(op));
  return texts;
}

struct BuiltinRecipes : ContextTest {
  Tensor x = tl.empty({8, 64}, f16).named("x");
  Tensor gamma_k = tl.empty({64}, f16).named("gamma");
  Tensor W = tl.ref(0, {64, 32}, f16, "W");
  Tensor y = tl.empty({8, 32}, f16).named("y");
  Tensor bias = tl.empty({32}, f16).named("bias");
  Tensor gamma = tl.empty({32}, f16).named("gamma");
  Tensor beta = tl.empty({32}, f16).named("beta");
};

// 6 + square 20, rsum 24, scale_add 28, rsqrt 20, mul_bcast 32, mul_cols 32, gemm 40 = 202.
TEST_F(BuiltinRecipes, RmsnormLinear) {
  tl.composite(tl::gemm().b(W).out(y).prologue(tl::rmsnorm_linear(x, gamma_k, 0.5)));
  const CompositeCmd command = last_composite();
  EXPECT_EQ(last_bytes(), 202u);
  EXPECT_THAT(texts_of(command),
              ElementsAre("square(x)->sq", "rsum(sq)->ss", "scale_add(ss)->ms", "rsqrt(ms)->r",
                          "mul_bcast(x,r)->xn", "mul_cols(xn,gamma)->xn", "gemm(xn,W)->y"));
  EXPECT_EQ(command.ops[2].extra(ExtraName::a)->as_f32(), 1.0F / 64);
  EXPECT_EQ(command.ops[2].extra(ExtraName::b)->as_f32(), 0.5F);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(command.ops[i].out.dtype, f32) << i;
  EXPECT_EQ(command.ops[5].out.dtype, f16);
  EXPECT_EQ(command.ops[5].out.shape, x.shape());
  EXPECT_THAT(command.rw_handles, IsEmpty());
  tl.composite(tl::gemm().b(W).prologue("rmsnorm_linear", {{"x", x}, {"gamma", gamma_k}}));
  EXPECT_EQ(last_composite().ops[2].extra(ExtraName::b)->as_f32(), 1e-5F) << "the default";
}

// 6 + gemm 40, bias 28, gelu 20, rsum 24, scale_add 28, sub_bcast 32, square 20, rsum 24,
// scale_add 28, rsqrt 20, mul_bcast 32, mul_cols 32, add_cols 32, rw handle 8 = 374.
TEST_F(BuiltinRecipes, LinearGeluNorm) {
  tl.composite(tl::gemm(x, W).out(y).epilogue(tl::linear_gelu_norm(bias, gamma, beta, 0.25)));
  const CompositeCmd command = last_composite();
  EXPECT_EQ(last_bytes(), 374u);
  EXPECT_THAT(texts_of(command),
              ElementsAre("gemm(x,W)->y", "bias(y,bias)->y@output_tile", "gelu(y)->y@output_tile",
                          "rsum(y)->s1", "scale_add(s1)->mu", "sub_bcast(y,mu)->y", "square(y)->sq",
                          "rsum(sq)->s2", "scale_add(s2)->var", "rsqrt(var)->r",
                          "mul_bcast(y,r)->y", "mul_cols(y,gamma)->y", "add_cols(y,beta)->y"));
  EXPECT_EQ(command.ops[4].extra(ExtraName::a)->as_f32(), 1.0F / 32);
  EXPECT_EQ(command.ops[4].extra(ExtraName::b)->as_f32(), 0);
  EXPECT_EQ(command.ops[8].extra(ExtraName::a)->as_f32(), 1.0F / 32);
  EXPECT_EQ(command.ops[8].extra(ExtraName::b)->as_f32(), 0.25F);
  EXPECT_THAT(names_of(command.rw_handles), ElementsAre("y"));
  EXPECT_EQ(command.rw_handles[0], y.handle());
}

// Its y is the gemm's out, whoever allocated it, and may not lie in HBM (R4.5, R4.9).
TEST_F(BuiltinRecipes, LinearGeluNormWorksOnTheGemmsOut) {
  const auto call = tl::linear_gelu_norm(bias, gamma, beta);
  const Tensor out = tl.composite(tl::gemm(x, W).epilogue(call));
  EXPECT_EQ(last_composite().rw_handles.at(0), out.handle());
  const Tensor hbm = tl.ref(0x10000, {8, 32}, f16, "far");
  EXPECT_THAT(refusal([&] { tl.composite(tl::gemm(x, W).out(hbm).epilogue(call)); }),
              HasSubstr("linear_gelu_norm: RW operand 'y' is far (8, 32) f16 hbm, in HBM"));
  EXPECT_THAT(
      refusal([&] {
        tl.composite(tl::gemm(x, W).out(y).epilogue(
            "linear_gelu_norm", {{"y", y}, {"bias", bias}, {"gamma", gamma}, {"beta", beta}}));
      }),
      HasSubstr("linear_gelu_norm: unknown operand 'y'; valid are bias, gamma, beta, eps"));
}

// 6 + max_elem 28, exp_diff 28, exp_diff 28, mul 28, fma 36, mul_bcast 32, mul_bcast 32, add 28,
// copy 20, three rw handles 24 = 290.
TEST_F(BuiltinRecipes, StateMerge) {
  const auto row = [&](const char* name) { return tl.empty({8}, f32).named(name); };
  const auto matrix = [&](const char* name) { return tl.empty({8, 128}, f32).named(name); };
  const Tensor m = row("m"), l = row("l"), O = matrix("O");
  const Tensor m2 = row("m2"), l2 = row("l2"), O2 = matrix("O2");
  tl.composite(tl::recipe(tl::state_merge(m, l, O, m2, l2, O2)));
  EXPECT_EQ(last_bytes(), 290u);
  EXPECT_THAT(texts_of(last_composite()),
              ElementsAre("max_elem(m,m2)->mn", "exp_diff(m,mn)->ca", "exp_diff(m2,mn)->cb",
                          "mul(l2,cb)->t", "fma(l,ca,t)->l", "mul_bcast(O,ca)->O",
                          "mul_bcast(O2,cb)->u", "add(O,u)->O", "copy(mn)->m"));
  EXPECT_THAT(names_of(last_composite().rw_handles), ElementsAre("m", "l", "O"));
}

// Sizes of the scratch blocks: slots packed in listed order (R4.4).
TEST_F(BuiltinRecipes, ScratchBytes) {
  const auto bytes = [&](const char* name, const std::vector<TensorHandle>& operands) {
    return scratch_bytes(*builtin_recipes().find(name), operands);
  };
  // sq 8 x 64 x 4, ss, ms, r 8 x 4 each, xn 8 x 64 x 2.
  EXPECT_EQ(bytes("rmsnorm_linear", {x.handle(), gamma_k.handle()}), 2048u + 96u + 1024u);
  // s1, mu, s2, var, r 8 x 4 each, sq 8 x 32 x 4.
  EXPECT_EQ(bytes("linear_gelu_norm", {y.handle(), bias.handle(), gamma.handle(), beta.handle()}),
            160u + 1024u);
  const Tensor m = tl.empty({8}, f32), O = tl.empty({8, 128}, f32);
  // mn, ca, cb, t 8 x 4 each, u 8 x 128 x 4.
  EXPECT_EQ(bytes("state_merge",
                  {m.handle(), m.handle(), O.handle(), m.handle(), m.handle(), O.handle()}),
            128u + 4096u);
}

// Kernel-scope ops after the loop by the builder: the flat list of the same ops (contract 5).
TEST_F(BuiltinRecipes, OpsAfterTheLoop) {
  const Tensor top = tl.empty({8}, f32).named("top");
  tl.composite(
      tl::gemm(x, W)
          .out(y)
          .epilogue(tl::gelu())
          .epilogue("rmax", {{"src", y}, {"out", top}}, Scope::kernel)
          .epilogue("div_bcast", {{"src_a", y}, {"src_b", top}, {"out", y}}, Scope::kernel));
  const CompositeCmd built = last_composite();
  EXPECT_THAT(texts_of(built), ElementsAre("gemm(x,W)->y", "gelu(y)->y@output_tile", "rmax(y)->top",
                                           "div_bcast(y,top)->y"));
  EXPECT_THAT(names_of(built.rw_handles), ElementsAre("y"));
  tl.composite(built.ops, built.rw_handles);
  EXPECT_EQ(last_composite().ops, built.ops);
  // Contract 5: they rewrite out, so it may not be in HBM; another tensor they may write.
  const Tensor hbm = tl.ref(0x10000, {8, 32}, f16, "far");
  EXPECT_THAT(refusal([&] {
                tl.composite(tl::gemm(x, W).out(hbm).epilogue("relu", {{"src", y}, {"out", hbm}},
                                                              Scope::kernel));
              }),
              HasSubstr("rewrites out far (8, 32) f16 hbm after the tile loop"));
  EXPECT_THAT(refusal([&] {
                tl.composite(tl::gemm(x, W).out(hbm).epilogue("relu", {{"src", hbm}, {"out", y}},
                                                              Scope::kernel));
              }),
              HasSubstr("src far (8, 32) f16 hbm is in HBM"));
}

}  // namespace
}  // namespace kernbench::tl
