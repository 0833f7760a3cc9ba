// SPDX-License-Identifier: Apache-2.0
#include "tl/recipes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tl/ops.hpp"
#include "tlm_if/command/error.hpp"
#include "tlm_if/command/spelling.hpp"

namespace kernbench::tl {
namespace {

using command::DType;
using command::ExtraName;
using command::OperandName;
using command::OpKind;
using command::Shape;

/// Checks a recipe and resolves its names to the numbers of operands and slots.
class Compiler {
 public:
  explicit Compiler(Recipe recipe) {
    entry_.recipe = std::move(recipe);
    for (const RecipeOperand& operand : entry_.recipe.operands) declare(names_, operand.name);
    operands_ = names_.size();
    for (const RecipeSlot& slot : entry_.recipe.slots) declare(names_, slot.name);
    std::vector<std::string> all = names_;
    for (const RecipeScalar& scalar : entry_.recipe.scalars) declare(all, scalar.name);
  }

  RecipeTable::Entry compile() {
    const Recipe& recipe = entry_.recipe;
    if (recipe.tile_alignment == TileAlignment::tile_aligned) {
      refuse("tile_alignment is tile_aligned; only single_shot is supported");
    }
    if (recipe.engine_seq.empty()) refuse("engine_seq is empty; give at least one step");
    for (const RecipeSlot& slot : recipe.slots) {
      entry_.slots.push_back({operand(slot.shape_from), slot.dtype ? 0 : operand(slot.dtype_from)});
    }
    if (recipe.primary_out) {
      const std::size_t value = resolve(*recipe.primary_out);
      if (value < operands_) {
        refuse(fmt::format("primary_out '{}' is an operand; name a slot", *recipe.primary_out));
      }
      if (recipe.phase == Phase::epilogue) {
        refuse("an epilogue recipe has no primary_out: no gemm follows that could take it");
      }
      entry_.primary_out = value - operands_;
    }
    if (recipe.gemm_out) {
      entry_.gemm_out = operand_number(*recipe.gemm_out);
      if (recipe.phase == Phase::prologue) {
        refuse("a prologue recipe has no gemm_out: the gemm comes after it");
      }
    }
    for (const RecipeStep& step : recipe.engine_seq) entry_.steps.push_back(resolve_step(step));
    return std::move(entry_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw InputError(fmt::format("recipe {}: {}", entry_.recipe.name, what));
  }

  void declare(std::vector<std::string>& names, const std::string& name) const {
    if (std::find(names.begin(), names.end(), name) != names.end()) {
      refuse(
          fmt::format("the name '{}' is used twice; names of operands, slots and scalars must "
                      "differ",
                      name));
    }
    names.push_back(name);
  }

  std::size_t resolve(const std::string& name) const {
    const auto found = std::find(names_.begin(), names_.end(), name);
    if (found == names_.end()) {
      refuse(fmt::format("'{}' is neither an operand nor a slot; there are {}{}", name,
                         fmt::join(names_, ", "), did_you_mean(name, names_)));
    }
    return static_cast<std::size_t>(found - names_.begin());
  }

  std::size_t operand(const std::string& name) const {
    const std::size_t value = resolve(name);
    if (value >= operands_) {
      refuse(fmt::format("'{}' is a slot; a slot's shape and dtype come from an operand", name));
    }
    return value;
  }

  std::size_t operand_number(const std::string& name) const {
    const std::size_t value = resolve(name);
    if (value >= operands_) refuse(fmt::format("gemm_out '{}' is a slot; name an operand", name));
    return value;
  }

  // The number of inputs of a step; at a tile scope the accumulator does not count.
  std::size_t inputs_of(const RecipeStep& step) const {
    const command::OpInfo& info = command::op_info(step.kind);
    if (step.scope == command::Scope::kernel) {
      if (!info.kernel_form) {
        refuse(
            fmt::format("{} is an epilogue op only; give its step scope output_tile", info.name));
      }
      return info.operands.size();
    }
    if (!info.tile_operands) {
      refuse(fmt::format("step {} has no {} form; give it scope kernel", info.name,
                         to_string(step.scope)));
    }
    if (!entry_.gemm_out || step.output != *entry_.recipe.gemm_out) {
      refuse(fmt::format("step {} of scope {} writes '{}'; it must write gemm_out", info.name,
                         to_string(step.scope), step.output));
    }
    const auto& names = *info.tile_operands;
    return static_cast<std::size_t>(std::count(names.begin(), names.end(), OperandName::other));
  }

  RecipeTable::Entry::Step resolve_step(const RecipeStep& step) const {
    const command::OpInfo& info = command::op_info(step.kind);
    if (step.kind == OpKind::gemm) {
      refuse("engine_seq holds a gemm; a recipe is MATH only, the gemm stands beside it");
    }
    if (const std::size_t expected = inputs_of(step); step.inputs.size() != expected) {
      refuse(fmt::format("step {} has {} inputs; it takes {}", info.name, step.inputs.size(),
                         expected));
    }
    for (const command::ExtraInfo& extra : info.extras) {
      const bool given =
          std::any_of(step.extras.begin(), step.extras.end(),
                      [&](const StepExtra& candidate) { return candidate.name == extra.name; });
      if (extra.required && !given) {
        refuse(fmt::format("step {} lacks its extra '{}'", info.name, to_string(extra.name)));
      }
    }
    if (step.extras.size() > info.extras.size()) {
      refuse(fmt::format("step {} has {} extras; it takes {}", info.name, step.extras.size(),
                         info.extras.size()));
    }
    RecipeTable::Entry::Step resolved;
    const command::ExtraInfo* expected = info.extras.begin();
    for (const StepExtra& extra : step.extras) {
      while (expected != info.extras.end() && expected->name != extra.name) ++expected;
      if (expected == info.extras.end()) {
        refuse(
            fmt::format("step {} takes no extra '{}' here; give extras in the order of the op "
                        "table",
                        info.name, to_string(extra.name)));
      }
      if (extra.computed) resolved.has_computed_extras = true;
      resolved.extras.push_back(make_extra(info, extra.name, extra.computed ? 0 : extra.value));
      ++expected;
    }
    for (const std::string& input : step.inputs) resolved.inputs.push_back(resolve(input));
    resolved.output = resolve(step.output);
    if (resolved.output < operands_ &&
        entry_.recipe.operands[resolved.output].access == Access::read) {
      refuse(fmt::format("step {} writes operand '{}', which is declared read-only", info.name,
                         step.output));
    }
    return resolved;
  }

  RecipeTable::Entry entry_;
  std::vector<std::string> names_;
  std::size_t operands_ = 0;
};

Shape part_of(const Shape& shape, ShapeOf part) {
  switch (part) {
    case ShapeOf::same:
      return shape;
    case ShapeOf::transposed:
      return Shape::matrix(shape.cols(), shape.rows());
    case ShapeOf::rows:
      return Shape::vector(shape.rows());
    case ShapeOf::cols:
      return Shape::vector(shape.cols());
  }
  return shape;
}

StepExtra over_row() { return {ExtraName::reduce_axis, -1}; }
StepExtra bcast_axis(int axis) { return {ExtraName::bcast_axis, static_cast<double>(axis)}; }
/// One over the row length of an operand.
StepExtra one_over_cols(ExtraName name, const std::string& operand) {
  return {name, 0, [operand](const RecipeArguments& arguments) {
            return 1 / static_cast<double>(arguments.shape(operand).cols());
          }};
}
StepExtra scalar(ExtraName name, const std::string& argument) {
  return {name, 0,
          [argument](const RecipeArguments& arguments) { return arguments.scalar(argument); }};
}

// The online-softmax update of flash attention: s (G, TILE), m and l (G,), O (G, d).
Recipe softmax_merge_recipe() {
  Recipe recipe;
  recipe.name = "softmax_merge";
  recipe.operands = {{"s", Access::read},
                     {"m", Access::read_write},
                     {"l", Access::read_write},
                     {"O", Access::read_write}};
  recipe.slots = {{"m_loc", ShapeOf::rows, "s", "m"},
                  {"m_new", ShapeOf::rows, "s", "m"},
                  {"corr", ShapeOf::rows, "s", "m"},
                  {"l_loc", ShapeOf::rows, "s", "m"},
                  {"P", ShapeOf::same, "s", "s"}};
  recipe.primary_out = "P";
  recipe.engine_seq = {{OpKind::rmax, {"s"}, "m_loc", {over_row()}},
                       {OpKind::max_elem, {"m", "m_loc"}, "m_new"},
                       {OpKind::exp_diff, {"m", "m_new"}, "corr"},
                       {OpKind::exp_diff, {"s", "m_new"}, "P", {bcast_axis(0)}},
                       {OpKind::rsum, {"P"}, "l_loc", {over_row()}},
                       {OpKind::fma, {"l", "corr", "l_loc"}, "l"},
                       {OpKind::mul_bcast, {"O", "corr"}, "O", {bcast_axis(1)}},
                       {OpKind::copy, {"m_new"}, "m"}};
  return recipe;
}

// Root-mean-square norm of x (M, K) by gamma (K,), as the gemm's a.
Recipe rmsnorm_linear_recipe() {
  Recipe recipe;
  recipe.name = "rmsnorm_linear";
  recipe.operands = {{"x", Access::read}, {"gamma", Access::read}};
  recipe.scalars = {{"eps", kNormEps}};
  recipe.slots = {{"sq", ShapeOf::same, "x", "", DType::f32},
                  {"ss", ShapeOf::rows, "x", "", DType::f32},
                  {"ms", ShapeOf::rows, "x", "", DType::f32},
                  {"r", ShapeOf::rows, "x", "", DType::f32},
                  {"xn", ShapeOf::same, "x", "x"}};
  recipe.primary_out = "xn";
  recipe.engine_seq = {{OpKind::square, {"x"}, "sq"},
                       {OpKind::rsum, {"sq"}, "ss", {over_row()}},
                       {OpKind::scale_add,
                        {"ss"},
                        "ms",
                        {one_over_cols(ExtraName::a, "x"), scalar(ExtraName::b, "eps")}},
                       {OpKind::rsqrt, {"ms"}, "r"},
                       {OpKind::mul_bcast, {"x", "r"}, "xn", {bcast_axis(1)}},
                       {OpKind::mul_cols, {"xn", "gamma"}, "xn", {bcast_axis(0)}}};
  return recipe;
}

// bias (N,) and gelu on each tile of the gemm's out y (M, N), then its layer norm by gamma, beta
// (N,).
Recipe linear_gelu_norm_recipe() {
  Recipe recipe;
  recipe.name = "linear_gelu_norm";
  recipe.phase = Phase::epilogue;
  recipe.operands = {{"y", Access::read_write},
                     {"bias", Access::read},
                     {"gamma", Access::read},
                     {"beta", Access::read}};
  recipe.scalars = {{"eps", kNormEps}};
  recipe.slots = {
      {"s1", ShapeOf::rows, "y", "", DType::f32},  {"mu", ShapeOf::rows, "y", "", DType::f32},
      {"sq", ShapeOf::same, "y", "", DType::f32},  {"s2", ShapeOf::rows, "y", "", DType::f32},
      {"var", ShapeOf::rows, "y", "", DType::f32}, {"r", ShapeOf::rows, "y", "", DType::f32}};
  recipe.gemm_out = "y";
  recipe.engine_seq = {
      {OpKind::bias, {"bias"}, "y", {}, command::Scope::output_tile},
      {OpKind::gelu, {}, "y", {}, command::Scope::output_tile},
      {OpKind::rsum, {"y"}, "s1", {over_row()}},
      {OpKind::scale_add, {"s1"}, "mu", {one_over_cols(ExtraName::a, "y"), {ExtraName::b, 0}}},
      {OpKind::sub_bcast, {"y", "mu"}, "y", {bcast_axis(1)}},
      {OpKind::square, {"y"}, "sq"},
      {OpKind::rsum, {"sq"}, "s2", {over_row()}},
      {OpKind::scale_add,
       {"s2"},
       "var",
       {one_over_cols(ExtraName::a, "y"), scalar(ExtraName::b, "eps")}},
      {OpKind::rsqrt, {"var"}, "r"},
      {OpKind::mul_bcast, {"y", "r"}, "y", {bcast_axis(1)}},
      {OpKind::mul_cols, {"y", "gamma"}, "y", {bcast_axis(0)}},
      {OpKind::add_cols, {"y", "beta"}, "y", {bcast_axis(0)}}};
  return recipe;
}

// The merge of two partial softmax states, (m, l, O) and (m2, l2, O2), into the first.
Recipe state_merge_recipe() {
  Recipe recipe;
  recipe.name = "state_merge";
  recipe.operands = {{"m", Access::read_write}, {"l", Access::read_write},
                     {"O", Access::read_write}, {"m2", Access::read},
                     {"l2", Access::read},      {"O2", Access::read}};
  recipe.slots = {{"mn", ShapeOf::same, "m", "m"},
                  {"ca", ShapeOf::same, "m", "m"},
                  {"cb", ShapeOf::same, "m", "m"},
                  {"t", ShapeOf::same, "l", "l"},
                  {"u", ShapeOf::same, "O", "O"}};
  recipe.engine_seq = {{OpKind::max_elem, {"m", "m2"}, "mn"},
                       {OpKind::exp_diff, {"m", "mn"}, "ca"},
                       {OpKind::exp_diff, {"m2", "mn"}, "cb"},
                       {OpKind::mul, {"l2", "cb"}, "t"},
                       {OpKind::fma, {"l", "ca", "t"}, "l"},
                       {OpKind::mul_bcast, {"O", "ca"}, "O", {bcast_axis(1)}},
                       {OpKind::mul_bcast, {"O2", "cb"}, "u", {bcast_axis(1)}},
                       {OpKind::add, {"O", "u"}, "O"},
                       {OpKind::copy, {"mn"}, "m"}};
  return recipe;
}

}  // namespace

void RecipeTable::add(Recipe recipe) {
  if (find(recipe.name) != nullptr) {
    throw InputError(
        fmt::format("recipe {} is in the table already; choose another name", recipe.name));
  }
  entries_.push_back(Compiler(std::move(recipe)).compile());
}

const RecipeTable::Entry* RecipeTable::find(std::string_view name) const {
  for (const Entry& entry : entries_) {
    if (entry.recipe.name == name) return &entry;
  }
  return nullptr;
}

std::vector<std::string> RecipeTable::names(Phase phase) const {
  std::vector<std::string> names;
  for (const Entry& entry : entries_) {
    if (entry.recipe.phase == phase) names.push_back(entry.recipe.name);
  }
  return names;
}

const RecipeTable& builtin_recipes() {
  static const RecipeTable kTable = [] {
    RecipeTable table;
    table.add(softmax_merge_recipe());
    table.add(rmsnorm_linear_recipe());
    table.add(linear_gelu_norm_recipe());
    table.add(state_merge_recipe());
    return table;
  }();
  return kTable;
}

SlotType slot_type(const RecipeTable::Entry& entry, std::size_t slot,
                   const std::vector<command::TensorHandle>& operands) {
  const RecipeSlot& declared = entry.recipe.slots[slot];
  const RecipeTable::Entry::Slot& from = entry.slots[slot];
  return {part_of(operands[from.shape_from].shape, declared.shape),
          declared.dtype ? *declared.dtype : operands[from.dtype_from].dtype};
}

std::uint64_t scratch_bytes(const RecipeTable::Entry& entry,
                            const std::vector<command::TensorHandle>& operands) {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < entry.slots.size(); ++i) {
    bytes += slot_type(entry, i, operands).bytes();
  }
  return bytes;
}

}  // namespace kernbench::tl
