// SPDX-License-Identifier: Apache-2.0
// Adding a recipe is adding a table entry (contract 4, Recipes): two that exist in this file only,
// one before and one after the gemm, run on the model with numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "tests/support/data_run.hpp"
#include "tests/support/legal_run.hpp"
#include "tests/support/program_order.hpp"
#include "tests/support/test_inputs.hpp"

namespace kernbench::test {
namespace {

using command::ExtraName;
using command::Index;
using command::OpKind;
using command::Scope;
using kernels::Direction;
using kernels::HostTensors;
using testing::ElementsAre;

// Two tiles each way, with partial ones at the edges.
constexpr Index kM = 9, kK = 140, kN = 130;
constexpr double kGain = 0.5, kPull = 0.25;

tl::StepExtra scalar(ExtraName extra, const std::string& name) {
  return {extra, 0, [name](const tl::RecipeArguments& call) { return call.scalar(name); }};
}
tl::StepExtra one_over_cols(ExtraName extra, const std::string& operand) {
  return {extra, 0, [operand](const tl::RecipeArguments& call) {
            return 1 / static_cast<double>(call.shape(operand).cols());
          }};
}

/// gain (x - mean of its row), as the gemm's a.
tl::Recipe centered() {
  tl::Recipe recipe;
  recipe.name = "centered";
  recipe.operands = {{"x", tl::Access::read}};
  recipe.scalars = {{"gain", std::nullopt}};
  recipe.slots = {{"sum", tl::ShapeOf::rows, "x", "", tl::f32},
                  {"mean", tl::ShapeOf::rows, "x", "", tl::f32},
                  {"c", tl::ShapeOf::same, "x", "x"}};
  recipe.primary_out = "c";
  recipe.engine_seq = {{OpKind::rsum, {"x"}, "sum", {{ExtraName::reduce_axis, -1}}},
                       {OpKind::scale, {"sum"}, "mean", {one_over_cols(ExtraName::value, "x")}},
                       {OpKind::sub_bcast, {"x", "mean"}, "c", {{ExtraName::bcast_axis, 1}}},
                       {OpKind::scale, {"c"}, "c", {scalar(ExtraName::value, "gain")}}};
  return recipe;
}

/// z = relu(y + residual) on the accumulator; then z / (pull * largest z of its row + 1 / N).
tl::Recipe peak_normed() {
  tl::Recipe recipe;
  recipe.name = "peak_normed";
  recipe.phase = tl::Phase::epilogue;
  recipe.operands = {{"y", tl::Access::read_write}, {"residual", tl::Access::read}};
  recipe.scalars = {{"pull", kPull}};
  recipe.slots = {{"top", tl::ShapeOf::rows, "y", "", tl::f32}};
  recipe.gemm_out = "y";
  recipe.engine_seq = {{OpKind::add, {"residual"}, "y", {}, Scope::output_tile},
                       {OpKind::relu, {}, "y", {}, Scope::output_tile},
                       {OpKind::rmax, {"y"}, "top", {{ExtraName::reduce_axis, -1}}},
                       {OpKind::scale_add,
                        {"top"},
                        "top",
                        {scalar(ExtraName::a, "pull"), one_over_cols(ExtraName::b, "y")}},
                       {OpKind::div_bcast, {"y", "top"}, "y", {{ExtraName::bcast_axis, 1}}}};
  return recipe;
}

kernels::Kernel own_kernel() {
  kernels::Kernel kernel;
  kernel.name = "own_recipes";
  kernel.make = [](const kernels::Parameters&, const tl::Target&) {
    kernels::Instance instance;
    instance.tensors = {{"x", {kM, kK}, {kM, kK}, tl::f16, Direction::in},
                        {"w", {kK, kN}, {kK, kN}, tl::f16, Direction::in},
                        {"residual", {kM, kN}, {kM, kN}, tl::f16, Direction::in},
                        {"out", {kM, kN}, {kM, kN}, tl::f16, Direction::out}};
    auto table = std::make_shared<tl::RecipeTable>();
    table->add(centered());
    table->add(peak_normed());
    instance.recipes = table;
    instance.body = [](tl::Context& tl, const std::vector<tl::Tensor>& bound) {
      const auto x = tl.load(bound[0]), residual = tl.load(bound[2]);
      const auto y = tl.empty({kM, kN}, tl::f16);
      tl.composite(tl::gemm()
                       .b(bound[1])
                       .out(y)
                       .prologue("centered", {{"x", x}, {"gain", kGain}})
                       .epilogue("peak_normed", {{"residual", residual}}));
      tl.store(bound[3], y);
    };
    return instance;
  };
  return kernel;
}

std::vector<double> formula(const HostTensors& inputs) {
  const auto& x = inputs.at("x");
  const auto& w = inputs.at("w");
  std::vector<double> out = inputs.at("residual");
  const auto at = [](Index row, Index cols, Index col) {
    return static_cast<std::size_t>(row * cols + col);
  };
  for (Index m = 0; m < kM; ++m) {
    double mean = 0, top = 0;
    for (Index k = 0; k < kK; ++k) mean += x[at(m, kK, k)] / static_cast<double>(kK);
    for (Index n = 0; n < kN; ++n) {
      double& z = out[at(m, kN, n)];
      for (Index k = 0; k < kK; ++k) z += kGain * (x[at(m, kK, k)] - mean) * w[at(k, kN, n)];
      z = std::max(z, 0.0);
      top = std::max(top, z);
    }
    for (Index n = 0; n < kN; ++n) out[at(m, kN, n)] /= kPull * top + 1 / static_cast<double>(kN);
  }
  return out;
}

TEST(OwnRecipe, ResultsAreThoseOfProgramOrderAndOfTheFormula) {
  const arch::TopologyConfig topology = single_pe();
  const kernels::Kernel kernel = own_kernel();
  const Compiled compiled = compile(kernel, {}, runtime::make_target(topology));
  const HostTensors inputs = test_inputs(compiled.instance);
  const HostTensors expected = run_in_program_order(compiled, inputs);
  const runtime::Launch launch(kernel, {}, topology);
  EXPECT_EQ(results_in(run_as_text(topology, launch, inputs, poisoned())), text_of(expected));

  // c twice, y twice are stored in f16, each a rounding of rms 2^-11 / sqrt(3) = 2.8e-4 at most.
  const Error error = error_against(formula(inputs), expected.at("out"));
  EXPECT_LE(error.rms, 6e-4);
  EXPECT_GT(error.rms, 1e-4);
}

// 104 bytes of MATH before the gemm's 40, 48 of tile ops and 84 of ops after the loop, one rw
// handle 8, 6 more. Entries: x, a row's sum, x, x; the tiles 8x128, 8x2, 1x128, 1x2; y, rows, y.
TEST(OwnRecipe, ItsStagesAreItsOps) {
  const runtime::Launch launch(own_kernel(), {}, single_pe());
  const HostTensors inputs = test_inputs(launch.instance());
  const auto rows =
      parse_op_log(run_with_data(single_pe(), launch, inputs, plain().options).op_log);
  constexpr std::int64_t kComposite = 2;  // after two loads
  const auto of = [&](const std::string& stage) {
    return select(rows,
                  [&](const OpLogRow& row) { return row.cmd == kComposite && row.stage == stage; });
  };
  EXPECT_EQ(of("dispatch").at(0).bytes, 104U + 40 + 48 + 84 + 8 + 6);

  std::vector<std::string> before, on_tiles, after;
  std::uint64_t first_read = UINT64_MAX, last_store = 0;
  for (const OpLogRow& row : of("dma_read")) first_read = std::min(first_read, row.start);
  for (const OpLogRow& row : of("store")) last_store = std::max(last_store, row.end);
  for (const OpLogRow& row : of("math")) {
    const std::string op =
        std::to_string(row.op_index) + " " + row.op + " " + std::to_string(row.elements);
    (row.end <= first_read ? before : row.start >= last_store ? after : on_tiles).push_back(op);
  }
  EXPECT_THAT(before, ElementsAre("0 rsum 1260", "1 scale 9", "2 sub_bcast 1260", "3 scale 1260"));
  EXPECT_THAT(on_tiles, ElementsAre("5 add 1024", "6 relu 1024", "5 add 16", "6 relu 16",
                                    "5 add 128", "6 relu 128", "5 add 2", "6 relu 2"));
  EXPECT_THAT(after, ElementsAre("7 rmax 1170", "8 scale_add 9", "9 div_bcast 1170"));
  EXPECT_EQ(of("gemm").size(), 8U);
}

}  // namespace
}  // namespace kernbench::test
