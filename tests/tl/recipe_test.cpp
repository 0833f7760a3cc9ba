// SPDX-License-Identifier: Apache-2.0
// The recipe table: a recipe is a table entry, nothing else (contract 4, Recipes).
#include "tests/tl/fixture.hpp"

namespace kernbench::tl {
namespace {

using command::ExtraName;

// A sound recipe with a scalar and computed extras, to be spoiled.
Recipe rmsnorm_linear() { return builtin_recipes().find("rmsnorm_linear")->recipe; }

// A post-loop recipe: y is scaled by the largest entry of its row.
Recipe row_max_scale() {
  Recipe recipe;
  recipe.name = "row_max_scale";
  recipe.phase = Phase::epilogue;
  recipe.operands = {{"y", Access::read_write}};
  recipe.slots = {{"top", ShapeOf::rows, "y", "y"}};
  recipe.engine_seq = {{OpKind::rmax, {"y"}, "top", {{ExtraName::reduce_axis, -1}}},
                       {OpKind::div_bcast, {"y", "top"}, "y", {{ExtraName::bcast_axis, 1}}}};
  return recipe;
}

struct GivenTable : testing::Test {
  GivenTable() {
    table.add(rmsnorm_linear());
    table.add(row_max_scale());
  }
  RecipeTable table;
  command::ProgramRecorder sink;
  Context tl{Target{}, sink, table};
  Tensor x = tl.empty({8, 64}, f16).named("x");
  Tensor gamma = tl.empty({64}, f16).named("gamma");
  Tensor W = tl.ref(0, {64, 32}, f16, "W");
};

TEST_F(GivenTable, PhasesAreNotMixedUp) {
  EXPECT_THAT(message_of([&] {
                tl.composite(tl::gemm(x, W).prologue("row_max_scale", {{"y", x}}));
              }),
              HasSubstr("row_max_scale: is an epilogue recipe"));
  EXPECT_THAT(
      message_of([&] {
        tl.composite(tl::gemm(x, W).epilogue("rmsnorm_linear", {{"x", x}, {"gamma", gamma}}));
      }),
      HasSubstr("rmsnorm_linear: is a prologue recipe"));
  EXPECT_THAT(message_of([&] { tl.composite(tl::gemm(x, W).epilogue("row_max_scales")); }),
              HasSubstr("did you mean 'row_max_scale'?"));
  // The table is the one given: softmax_merge is not in it.
  EXPECT_THAT(message_of([&] { tl.composite(tl::recipe("softmax_merge", {})); }),
              HasSubstr("unknown recipe 'softmax_merge'; valid are rmsnorm_linear"));
  EXPECT_TRUE(sink.program().commands().empty());
}

// Contract 4: all f16 2 * (4G + G * TILE) = 1088 bytes, f32 statistics 1152, at G = 8, TILE = 64.
TEST(SoftmaxMerge, ScratchBytes) {
  command::ProgramRecorder sink;
  Context tl(Target{}, sink);
  const auto bytes = [&](DType stats) {
    const DecodeStep d(tl, stats);
    const auto* entry = builtin_recipes().find("softmax_merge");
    return scratch_bytes(*entry, {d.s.handle(), d.m.handle(), d.l.handle(), d.O.handle()});
  };
  EXPECT_EQ(bytes(f16), 1088u);
  EXPECT_EQ(bytes(f32), 1152u);
}

std::string refusal_of(void (*spoil)(Recipe&)) {
  Recipe recipe = rmsnorm_linear();
  spoil(recipe);
  RecipeTable table;
  return message_of([&] { table.add(recipe); });
}

TEST(RecipeTable, RefusesWhatIsNotSound) {
  EXPECT_EQ(refusal_of([](Recipe&) {}), "");
  EXPECT_THAT(refusal_of([](Recipe& r) { r.tile_alignment = TileAlignment::tile_aligned; }),
              HasSubstr("recipe rmsnorm_linear: tile_alignment is tile_aligned; only single_shot"));
  EXPECT_THAT(refusal_of([](Recipe& r) { r.engine_seq[0].kind = OpKind::gemm; }),
              HasSubstr("engine_seq holds a gemm; a recipe is MATH only"));
  EXPECT_THAT(refusal_of([](Recipe& r) { r.engine_seq[0].kind = OpKind::bias; }),
              HasSubstr("bias is an epilogue op only; give its step scope output_tile"));
  EXPECT_THAT(refusal_of([](Recipe& r) { r.engine_seq.clear(); }),
              HasSubstr("engine_seq is empty"));
  EXPECT_THAT(refusal_of([](Recipe& r) { r.engine_seq[0].output = "sg"; }),
              testing::EndsWith(
                  "'sg' is neither an operand nor a slot; there are x, gamma, sq, ss, ms, r, xn"));
  EXPECT_THAT(refusal_of([](Recipe& r) { r.engine_seq[0].output = "gama"; }),
              testing::EndsWith("; did you mean 'gamma'?"));
  EXPECT_THAT(refusal_of([](Recipe& r) {
                r.engine_seq[0].inputs = {"x", "x"};
              }),
              HasSubstr("step square has 2 inputs; it takes 1"));
  EXPECT_THAT(refusal_of([](Recipe& r) { r.engine_seq[1].extras.clear(); }),
              HasSubstr("step rsum lacks its extra 'reduce_axis'"));
  EXPECT_THAT(refusal_of([](Recipe& r) {
                r.engine_seq[0].extras = {{ExtraName::value, 1}};
              }),
              HasSubstr("step square has 1 extras; it takes 0"));
  EXPECT_THAT(refusal_of([](Recipe& r) {
                std::swap(r.engine_seq[2].extras[0], r.engine_seq[2].extras[1]);
              }),
              HasSubstr("step scale_add takes no extra 'a' here; give extras in the order"));
  EXPECT_THAT(refusal_of([](Recipe& r) {
                r.scalars = {{"gamma", 1.0}};
              }),
              HasSubstr("the name 'gamma' is used twice"));
  EXPECT_THAT(refusal_of([](Recipe& r) { r.engine_seq[0].output = "x"; }),
              HasSubstr("step square writes operand 'x', which is declared read-only"));
  EXPECT_THAT(refusal_of([](Recipe& r) { r.slots[0].name = "x"; }),
              HasSubstr("the name 'x' is used twice"));
  EXPECT_THAT(refusal_of([](Recipe& r) { r.slots[1].shape_from = "sq"; }),
              HasSubstr("'sq' is a slot; a slot's shape and dtype come from an operand"));
  EXPECT_THAT(refusal_of([](Recipe& r) { r.primary_out = "x"; }),
              HasSubstr("primary_out 'x' is an operand"));
  EXPECT_THAT(refusal_of([](Recipe& r) { r.phase = Phase::epilogue; }),
              HasSubstr("an epilogue recipe has no primary_out"));
  EXPECT_THAT(refusal_of([](Recipe& r) { r.gemm_out = "x"; }),
              HasSubstr("a prologue recipe has no gemm_out"));
  EXPECT_THAT(refusal_of([](Recipe& r) { r.engine_seq[0].scope = Scope::output_tile; }),
              HasSubstr("step square has no output_tile form; give it scope kernel"));
  EXPECT_THAT(refusal_of([](Recipe& r) {
                r.engine_seq[0] = {OpKind::relu, {}, "sq", {}, Scope::output_tile};
              }),
              HasSubstr("step relu of scope output_tile writes 'sq'; it must write gemm_out"));
  RecipeTable table;
  table.add(rmsnorm_linear());
  EXPECT_THAT(message_of([&] { table.add(rmsnorm_linear()); }), HasSubstr("in the table already"));
}

}  // namespace
}  // namespace kernbench::tl
