// SPDX-License-Identifier: Apache-2.0
#include "tl/lowering.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tl/validation.hpp"
#include "tlm_if/command/error.hpp"
#include "tlm_if/command/spelling.hpp"

namespace kernbench::tl {
namespace {

using command::CompositeCmd;
using command::OperandName;
using command::OpKind;
using command::OpSpec;
using command::TensorHandle;

std::string unknown(std::string_view what, std::string_view name,
                    const std::vector<std::string>& valid) {
  return fmt::format("unknown {} '{}'; valid are {}{}", what, name,
                     valid.empty() ? "none" : fmt::format("{}", fmt::join(valid, ", ")),
                     did_you_mean(name, valid));
}

[[noreturn]] void refuse(std::string_view where, const std::string& what) {
  throw InputError(fmt::format("{}: {}", where, what));
}

const Tensor& tensor_of(const Argument& argument, std::string_view where) {
  if (const auto* tensor = std::get_if<Tensor>(&argument.value)) return *tensor;
  refuse(where, fmt::format("'{}' is a tensor operand, but a number was given", argument.name));
}

double scalar_of(const Argument& argument, std::string_view where) {
  if (const auto* scalar = std::get_if<double>(&argument.value)) return *scalar;
  refuse(where, fmt::format("'{}' is a number, but a tensor was given", argument.name));
}

void refuse_repeated(const Arguments& arguments, std::string_view where) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (arguments[i].name == arguments[j].name) {
        refuse(where, fmt::format("'{}' is given twice", arguments[i].name));
      }
    }
  }
}

void add_once(std::vector<TensorHandle>& handles, const TensorHandle& handle) {
  const bool known = std::any_of(handles.begin(), handles.end(), [&](const TensorHandle& other) {
    return other.same_view(handle);
  });
  if (!known) handles.push_back(handle);
}

// The gemm's `src` and `out` operands in tile ops name the accumulator: no memory access (R4.6).
bool reads(const OpSpec& op, const TensorHandle& handle) {
  const command::ByteRange range = handle.range();
  return std::any_of(op.operands.begin(), op.operands.end(), [&](const command::Operand& operand) {
    if (op.on_accumulator() && operand.name == OperandName::src) return false;
    return operand.handle.range().overlaps(range);
  });
}

}  // namespace

/// What a recipe's computed extras may read.
class Lowering::BoundArguments : public RecipeArguments {
 public:
  explicit BoundArguments(const BoundRecipe& bound) : bound_(bound) {}

  const Shape& shape(std::string_view operand) const override {
    return bound_.values[index(bound_.entry->recipe.operands, operand)].shape;
  }
  double scalar(std::string_view name) const override {
    return bound_.scalars[index(bound_.entry->recipe.scalars, name)];
  }

 private:
  template <class Named>
  std::size_t index(const std::vector<Named>& declared, std::string_view name) const {
    for (std::size_t i = 0; i < declared.size(); ++i) {
      if (declared[i].name == name) return i;
    }
    refuse("recipe " + bound_.entry->recipe.name,
           fmt::format("an extra asks for '{}', which is not declared", name));
  }

  const BoundRecipe& bound_;
};

Lowering::BoundRecipe Lowering::bind(const std::string& name, const Arguments& arguments,
                                     Phase phase) const {
  BoundRecipe bound;
  bound.entry = context_.recipes_.find(name);
  if (bound.entry == nullptr) {
    throw InputError(unknown("recipe", name, context_.recipes_.names(phase)));
  }
  const Recipe& recipe = bound.entry->recipe;
  if (recipe.phase != phase) {
    refuse(name, recipe.phase == Phase::prologue
                     ? "is a prologue recipe; give it to .prologue()"
                     : "is an epilogue recipe; give it to .epilogue() of a gemm");
  }
  refuse_repeated(arguments, name);

  std::size_t used = 0;
  const auto find = [&](const std::string& wanted) -> const Argument* {
    for (const Argument& argument : arguments) {
      if (argument.name != wanted) continue;
      ++used;
      return &argument;
    }
    return nullptr;
  };
  bound.values.reserve(recipe.operands.size() + recipe.slots.size());
  for (const RecipeOperand& operand : recipe.operands) {
    const Argument* argument = find(operand.name);
    if (argument == nullptr) refuse(name, fmt::format("operand '{}' is missing", operand.name));
    const TensorHandle& handle = context_.own(tensor_of(*argument, name), name, operand.name);
    if (operand.access == Access::read_write && !handle.pinned()) {  // R4.5
      refuse(name, fmt::format("RW operand '{}' is {}, in HBM; load it first", operand.name,
                               handle.describe()));
    }
    bound.values.push_back(handle);
  }
  for (const RecipeScalar& scalar : recipe.scalars) {
    const Argument* argument = find(scalar.name);
    if (argument == nullptr && !scalar.default_value) {
      refuse(name, fmt::format("scalar '{}' is missing", scalar.name));
    }
    bound.scalars.push_back(argument == nullptr ? *scalar.default_value
                                                : scalar_of(*argument, name));
  }
  if (used < arguments.size()) {
    std::vector<std::string> valid;
    for (const RecipeOperand& operand : recipe.operands) valid.push_back(operand.name);
    for (const RecipeScalar& scalar : recipe.scalars) valid.push_back(scalar.name);
    for (const Argument& argument : arguments) {
      if (std::find(valid.begin(), valid.end(), argument.name) == valid.end()) {
        refuse(name, unknown("operand", argument.name, valid));
      }
    }
  }
  bound.layout = slot_layout(*bound.entry, bound.values);
  return bound;
}

void Lowering::allocate_slots(BoundRecipe& recipe, const TensorHandle* primary) {
  const auto& slots = recipe.entry->recipe.slots;
  const auto is_given = [&](std::size_t i) {
    return primary != nullptr && recipe.entry->primary_out == i;
  };
  std::uint64_t bytes = recipe.layout.scratch_bytes;
  if (primary != nullptr) bytes -= primary->bytes();
  command::Address addr = bytes == 0 ? 0
                                     : context_.scratch_.allocate(bytes, context_.next_id_,
                                                                  recipe.entry->recipe.name, site_);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (is_given(i)) {
      recipe.values.push_back(*primary);
      continue;
    }
    const auto& [shape, dtype] = recipe.layout.slots[i];
    recipe.values.push_back(command::make_handle(context_.next_id_++, addr, shape, dtype,
                                                 command::Space::tcm, slots[i].name));
    addr += recipe.values.back().bytes();
  }
}

void Lowering::expand(const BoundRecipe& recipe, std::vector<OpSpec>& ops) const {
  const BoundArguments arguments(recipe);
  const auto& steps = recipe.entry->steps;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const RecipeStep& step = recipe.entry->recipe.engine_seq[i];
    const command::OpInfo& info = command::op_info(step.kind);
    OpSpec& op = ops.emplace_back();
    op.kind = step.kind;
    for (std::size_t j = 0; j < info.operands.size(); ++j) {
      command::Operand& operand = op.operands.grow();
      operand.name = info.operands[j];
      operand.handle = recipe.values[steps[i].inputs[j]];
    }
    for (const StepExtra& extra : step.extras) {
      op.extras.push_back(
          make_extra(info, extra.name, extra.computed ? extra.computed(arguments) : extra.value));
    }
    op.has_out = true;
    op.out = recipe.values[steps[i].output];
  }
}

void Lowering::append_rw_handles(const BoundRecipe& recipe,
                                 std::vector<TensorHandle>& handles) const {
  const auto& operands = recipe.entry->recipe.operands;
  handles.reserve(handles.size() + operands.size() + 1);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].access == Access::read_write) add_once(handles, recipe.values[i]);
  }
}

TensorHandle Lowering::gemm_output(const GemmBuilder& builder, const Shape& shape,
                                   DType dtype_of_a) {
  if (builder.out_ && builder.out_ptr_) {
    refuse("composite", "both out and out_ptr are given; give one of them");
  }
  if (builder.out_) {
    const TensorHandle& out = context_.own(*builder.out_, "composite", "out");
    if (builder.dtype_ && *builder.dtype_ != out.dtype) {
      refuse("composite", fmt::format("dtype {} is given, but out is {}; leave dtype away",
                                      to_string(*builder.dtype_), out.describe()));
    }
    return out;
  }
  const DType dtype = builder.dtype_.value_or(dtype_of_a);
  if (builder.out_ptr_) return context_.ref(*builder.out_ptr_, shape, dtype).handle();
  return context_.allocate(shape, dtype, {}, site_);
}

OpSpec Lowering::epilogue_op(const EpilogueOp& epilogue, const EpilogueCall& call,
                             const TensorHandle& out) const {
  const command::OpInfo& info = command::op_info(epilogue.kind);
  OpSpec op;
  op.kind = epilogue.kind;
  op.scope = call.scope.value_or(Scope::output_tile);
  if (!op.on_accumulator()) {
    refuse(call.name,
           "an epilogue op has scope k_tile or output_tile, not kernel; issue it as an "
           "op of its own, or give a flat list");
  }
  refuse_repeated(call.arguments, call.name);
  const Argument* argument = nullptr;
  for (const Argument& given : call.arguments) {
    if (epilogue.key.empty() || given.name != epilogue.key) {
      std::vector<std::string> valid;
      if (!epilogue.key.empty()) valid.emplace_back(epilogue.key);
      refuse(call.name, unknown("operand", given.name, valid));
    }
    argument = &given;
  }
  if (argument == nullptr && !epilogue.key.empty()) {
    refuse(call.name, fmt::format("operand '{}' is missing", epilogue.key));
  }
  for (const OperandName name : *info.tile_operands) {
    command::Operand& operand = op.operands.grow();
    operand.name = name;
    operand.handle = name == OperandName::src
                         ? out
                         : context_.own(tensor_of(*argument, call.name), call.name, argument->name);
  }
  if (epilogue.scalar) {
    op.extras.push_back(
        make_extra(info, command::ExtraName::value, scalar_of(*argument, call.name)));
  }
  if (info.tile_out) {
    op.has_out = true;
    op.out = out;
  }
  return op;
}

Lowering::Result Lowering::lower(const GemmBuilder& builder) {
  std::vector<BoundRecipe> prologue;
  prologue.reserve(builder.prologue_.size());
  const BoundRecipe* producer = nullptr;  // of primary_out
  for (const RecipeCall& call : builder.prologue_) {
    prologue.push_back(bind(call.name, call.arguments, Phase::prologue));
    if (!prologue.back().entry->primary_out) continue;
    if (producer != nullptr) {
      refuse("composite", fmt::format("recipes {} and {} both declare a primary_out; at most one "
                                      "may",
                                      producer->entry->recipe.name, call.name));
    }
    producer = &prologue.back();
  }
  if (!builder.b_) refuse("composite", "the gemm has no b; give one with .b()");
  if (builder.a_ && producer != nullptr) {
    refuse("composite",
           fmt::format("a is given, but recipe {} makes it (its primary_out {}); leave a away",
                       producer->entry->recipe.name, *producer->entry->recipe.primary_out));
  }
  if (!builder.a_ && producer == nullptr) {
    refuse("composite",
           "the gemm has no a, and no prologue recipe makes one (primary_out); give a");
  }

  // The output comes before the recipes' scratch, which is released when the call returns.
  TensorHandle a;
  if (producer != nullptr) {
    const std::size_t slot = *producer->entry->primary_out;
    std::tie(a.shape, a.dtype) = producer->layout.slots[slot];
    a.space = command::Space::tcm;
    a.name = producer->entry->recipe.slots[slot].name;
  } else {
    a = context_.own(*builder.a_, "gemm", "a");
  }
  const TensorHandle& b = context_.own(*builder.b_, "gemm", "b");
  check_gemm_operands("gemm", a, b);
  Result result;
  result.out = gemm_output(builder, Shape::matrix(a.shape.rows(), b.shape.cols()), a.dtype);
  result.kept = context_.scratch_.mark();

  CompositeCmd& command = result.command;
  command.data_op = builder.data_op_;
  std::size_t ops = 1 + builder.epilogue_.size();
  for (const BoundRecipe& recipe : prologue) ops += recipe.entry->steps.size();
  command.ops.reserve(ops);
  for (BoundRecipe& recipe : prologue) {
    allocate_slots(recipe, nullptr);
    expand(recipe, command.ops);
    append_rw_handles(recipe, command.rw_handles);
  }
  if (producer != nullptr) {
    a = producer->values[producer->entry->recipe.operands.size() + *producer->entry->primary_out];
  }
  command.ops.push_back(make_gemm(a, b, result.out));
  for (const EpilogueCall& call : builder.epilogue_) {
    if (const EpilogueOp* op = find_epilogue(call.name)) {
      command.ops.push_back(epilogue_op(*op, call, result.out));
    } else if (context_.recipes_.find(call.name) != nullptr) {
      BoundRecipe recipe = bind(call.name, call.arguments, Phase::epilogue);
      allocate_slots(recipe, nullptr);
      expand(recipe, command.ops);
      append_rw_handles(recipe, command.rw_handles);
    } else {
      std::vector<std::string> valid = epilogue_names();
      for (std::string& name : context_.recipes_.names(Phase::epilogue)) {
        valid.push_back(std::move(name));
      }
      throw InputError(unknown("epilogue op", call.name, valid));
    }
  }
  if (std::any_of(command.ops.begin(), command.ops.end(),
                  [&](const OpSpec& op) { return reads(op, result.out); })) {
    add_once(command.rw_handles, result.out);
  }
  return result;
}

Lowering::Result Lowering::lower(const RecipeBuilder& builder) {
  BoundRecipe recipe = bind(builder.call_.name, builder.call_.arguments, Phase::prologue);
  const std::string& name = recipe.entry->recipe.name;
  Result result;
  const TensorHandle* primary = nullptr;
  if (recipe.entry->primary_out) {
    const std::size_t slot = *recipe.entry->primary_out;
    const auto& [shape, dtype] = recipe.layout.slots[slot];
    const std::string& slot_name = recipe.entry->recipe.slots[slot].name;
    if (builder.out_) {
      result.out = context_.own(*builder.out_, "composite", "out");
      if (result.out.shape != shape || result.out.dtype != dtype) {
        refuse(name,
               fmt::format("out {} does not fit its primary_out {}, which is {} {}",
                           result.out.describe(), slot_name, to_string(shape), to_string(dtype)));
      }
    } else {
      result.out = context_.allocate(shape, dtype, slot_name, site_);
    }
    primary = &result.out;
  } else if (builder.out_) {
    refuse(name, "has no primary_out that could go to out; leave out away");
  }
  result.kept = context_.scratch_.mark();
  allocate_slots(recipe, primary);
  result.command.data_op = builder.data_op_;
  result.command.ops.reserve(recipe.entry->steps.size());
  expand(recipe, result.command.ops);
  append_rw_handles(recipe, result.command.rw_handles);
  if (primary == nullptr) result.out = result.command.ops.back().out;
  return result;
}

OpSpec Lowering::math_op(const MathBuilder::Step& step) {
  const auto kind = command::find_op(step.op);
  if (!kind) throw InputError(unknown("op", step.op, command::op_names()));
  const command::OpInfo& info = command::op_info(*kind);
  if (*kind == OpKind::gemm || !info.kernel_form) {
    refuse(step.op, "is no MATH op of its own; use tl::gemm and its epilogue");
  }
  refuse_repeated(step.arguments, step.op);
  OpSpec op;
  op.kind = *kind;
  std::size_t used = 0;
  const auto find = [&](std::string_view wanted) -> const Argument* {
    for (const Argument& argument : step.arguments) {
      if (argument.name != wanted) continue;
      ++used;
      return &argument;
    }
    return nullptr;
  };
  for (const OperandName name : info.operands) {
    const Argument* argument = find(to_string(name));
    if (argument == nullptr) {
      refuse(step.op, fmt::format("operand '{}' is missing", to_string(name)));
    }
    op.operands.push_back(
        {name, context_.own(tensor_of(*argument, step.op), step.op, to_string(name))});
  }
  push_axis_extras(op);
  for (const command::ExtraInfo& extra : info.extras) {
    if (extra.name == command::ExtraName::reduce_axis ||
        extra.name == command::ExtraName::bcast_axis) {
      continue;  // follow from the op
    }
    const Argument* argument = find(to_string(extra.name));
    if (argument == nullptr) {
      refuse(step.op, fmt::format("scalar '{}' is missing", to_string(extra.name)));
    }
    op.extras.push_back(make_extra(info, extra.name, scalar_of(*argument, step.op)));
  }
  if (used < step.arguments.size()) {
    std::vector<std::string> valid;
    for (const OperandName name : info.operands) valid.emplace_back(to_string(name));
    for (const command::ExtraInfo& extra : info.extras) valid.emplace_back(to_string(extra.name));
    for (const Argument& argument : step.arguments) {
      if (std::find(valid.begin(), valid.end(), argument.name) == valid.end()) {
        refuse(step.op, unknown("operand", argument.name, valid));
      }
    }
  }
  op.has_out = true;
  if (step.out) {
    op.out = context_.own(*step.out, step.op, "out");
  } else if (op.operands.empty()) {
    refuse(step.op, "has no operand to take the shape of its result from; give .out()");
  } else {
    op.out = context_.allocate(result_shape(op), op.operands[0].handle.dtype, {}, site_);
  }
  return op;
}

Lowering::Result Lowering::lower(const MathBuilder& builder) {
  Result result;
  result.command.data_op = builder.data_op_;
  for (const MathBuilder::Step& step : builder.steps_) {
    result.command.ops.push_back(math_op(step));
  }
  result.out = result.command.ops.back().out;
  result.kept = context_.scratch_.mark();
  return result;
}

}  // namespace kernbench::tl
