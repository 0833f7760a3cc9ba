// SPDX-License-Identifier: Apache-2.0
// A user's own recipe: normalizes the rows of x to length one, as the a of the gemm that follows.
#pragma once

#include <memory>

#include "tl/tl.hpp"

inline constexpr double kL2NormEps = 1e-12;  // a row of zeros stays zeros

/// x / sqrt(sum of x^2 over a row + eps): five MATH ops, x (M, K) in TCM. The sums are f32, the
/// result has the dtype of x.
inline kernbench::tl::Recipe l2norm() {
  using namespace kernbench::tl;
  using kernbench::command::ExtraName;
  using kernbench::command::OpKind;
  Recipe recipe;
  recipe.name = "l2norm";
  recipe.operands = {{"x", Access::read}};
  recipe.scalars = {{"eps", kL2NormEps}};
  recipe.slots = {{"sq", ShapeOf::same, "x", "", f32},
                  {"ss", ShapeOf::rows, "x", "", f32},
                  {"r", ShapeOf::rows, "x", "", f32},
                  {"xn", ShapeOf::same, "x", "x"}};
  recipe.primary_out = "xn";
  const StepExtra eps{ExtraName::b, 0,
                      [](const RecipeArguments& call) { return call.scalar("eps"); }};
  recipe.engine_seq = {{OpKind::square, {"x"}, "sq"},
                       {OpKind::rsum, {"sq"}, "ss", {{ExtraName::reduce_axis, -1}}},
                       {OpKind::scale_add, {"ss"}, "ss", {{ExtraName::a, 1}, eps}},
                       {OpKind::rsqrt, {"ss"}, "r"},
                       {OpKind::mul_bcast, {"x", "r"}, "xn", {{ExtraName::bcast_axis, 1}}}};
  return recipe;
}

/// The built-in recipes and l2norm.
inline std::shared_ptr<const kernbench::tl::RecipeTable> recipes_with_l2norm() {
  auto table = std::make_shared<kernbench::tl::RecipeTable>(kernbench::tl::builtin_recipes());
  table->add(l2norm());
  return table;
}
