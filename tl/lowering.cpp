// SPDX-License-Identifier: Apache-2.0
#include "tl/lowering.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tlm_if/command/check.hpp"
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

// Not an argument: push_axis_extras() knows it.
bool follows_from_op(command::ExtraName name) {
  return name == command::ExtraName::reduce_axis || name == command::ExtraName::bcast_axis;
}

bool is_among(const std::vector<TensorHandle>& handles, const TensorHandle& handle) {
  return std::any_of(handles.begin(), handles.end(),
                     [&](const TensorHandle& other) { return other.same_view(handle); });
}

// In tile ops `src` and `out` refer to the accumulator: they do not access memory (R4.6).
bool reads(const OpSpec& op, const command::ByteRange& range) {
  return std::any_of(op.operands.begin(), op.operands.end(), [&](const command::Operand& operand) {
    if (op.on_accumulator() && operand.name == OperandName::src) return false;
    return operand.handle.range().overlaps(range);
  });
}

}  // namespace

/// The arguments of a call, looked up by name: at once if they come in the declared order.
class Lowering::ArgumentList {
 public:
  /// `where` begins the messages.
  ArgumentList(const Arguments& arguments, std::string_view where)
      : arguments_(arguments), where_(where) {}

  /// Null if there is no argument of that name. Each name is looked up once.
  const Argument* find(std::string_view name) {
    if (used_ < arguments_.size() && arguments_[used_].name == name) return &arguments_[used_++];
    for (const Argument& argument : arguments_) {
      if (argument.name != name) continue;
      ++used_;
      return &argument;
    }
    return nullptr;
  }
  [[noreturn]] void refuse_missing(std::string_view what, std::string_view name) const {
    refuse_repeated();
    refuse(where_, fmt::format("{} '{}' is missing", what, name));
  }
  bool all_used() const { return used_ == arguments_.size(); }
  /// An argument is given twice, or is not one of `valid`.
  [[noreturn]] void refuse_unused(const std::vector<std::string>& valid) const {
    refuse_repeated();
    const auto stray =
        std::find_if(arguments_.begin(), arguments_.end(), [&](const Argument& argument) {
          return std::find(valid.begin(), valid.end(), argument.name) == valid.end();
        });
    refuse(where_, unknown("operand", stray->name, valid));
  }

 private:
  void refuse_repeated() const {
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (arguments_[i].name == arguments_[j].name) {
          refuse(where_, fmt::format("'{}' is given twice", arguments_[i].name));
        }
      }
    }
  }

  const Arguments& arguments_;
  std::string_view where_;
  std::size_t used_ = 0;
};

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
                                     Phase phase, const Tensor* gemm_out) const {
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
  ArgumentList given(arguments, name);
  bound.values.reserve(recipe.operands.size() + recipe.slots.size());
  for (const RecipeOperand& operand : recipe.operands) {
    const Tensor* tensor = gemm_out;
    if (recipe.gemm_out != operand.name) {
      const Argument* argument = given.find(operand.name);
      if (argument == nullptr) given.refuse_missing("operand", operand.name);
      tensor = &tensor_of(*argument, name);
    }
    const TensorHandle& handle = context_.own(*tensor, name, operand.name);
    if (operand.access == Access::read_write && !handle.pinned()) {  // R4.5
      refuse(name, fmt::format("RW operand '{}' is {}, in HBM; load it first", operand.name,
                               handle.describe()));
    }
    bound.values.push_back(handle);
  }
  for (const RecipeScalar& scalar : recipe.scalars) {
    const Argument* argument = given.find(scalar.name);
    if (argument == nullptr && !scalar.default_value) given.refuse_missing("scalar", scalar.name);
    bound.scalars.push_back(argument == nullptr ? *scalar.default_value
                                                : scalar_of(*argument, name));
  }
  if (!given.all_used()) {
    std::vector<std::string> valid;
    for (const RecipeOperand& operand : recipe.operands) {
      if (recipe.gemm_out != operand.name) valid.push_back(operand.name);
    }
    for (const RecipeScalar& scalar : recipe.scalars) valid.push_back(scalar.name);
    given.refuse_unused(valid);
  }
  return bound;
}

void Lowering::allocate_slots(BoundRecipe& recipe, const TensorHandle* primary) {
  const auto& slots = recipe.entry->recipe.slots;
  const auto is_given = [&](std::size_t i) {
    return primary != nullptr && recipe.entry->primary_out == i;
  };
  const RecipeTable::Entry& entry = *recipe.entry;
  std::uint64_t bytes = scratch_bytes(entry, recipe.values);
  if (primary != nullptr) bytes -= primary->bytes();
  command::Address addr =
      bytes == 0
          ? 0
          : context_.scratch_.allocate(bytes, context_.next_id_, entry.recipe.name, site_).addr;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (is_given(i)) {
      recipe.values.push_back(*primary);
      continue;
    }
    const SlotType type = slot_type(entry, i, recipe.values);
    recipe.values.push_back(command::make_handle(context_.next_id_++, addr, type.shape, type.dtype,
                                                 command::Space::tcm, slots[i].name));
    addr += type.bytes();
  }
}

void Lowering::expand(const BoundRecipe& recipe, std::vector<OpSpec>& ops) const {
  const RecipeTable::Entry& entry = *recipe.entry;
  for (std::size_t i = 0; i < entry.steps.size(); ++i) {
    const RecipeTable::Entry::Step& step = entry.steps[i];
    const RecipeStep& declared = entry.recipe.engine_seq[i];
    const command::OpInfo& info = command::op_info(declared.kind);
    OpSpec& op = ops.emplace_back();
    op.kind = declared.kind;
    op.scope = declared.scope;
    op.extras = step.extras;
    if (step.has_computed_extras) {
      const BoundArguments arguments(recipe);
      for (std::size_t j = 0; j < declared.extras.size(); ++j) {
        const StepExtra& extra = declared.extras[j];
        if (extra.computed) op.extras[j] = make_extra(info, extra.name, extra.computed(arguments));
      }
    }
    op.out = recipe.values[step.output];
    op.has_out = !op.on_accumulator() || info.tile_out;
    std::size_t input = 0;
    if (op.on_accumulator()) {
      for (const OperandName name : *info.tile_operands) {
        op.operands.emplace_back(
            name, name == OperandName::src ? op.out : recipe.values[step.inputs[input++]]);
      }
    } else {
      for (const OperandName name : info.operands) {
        op.operands.emplace_back(name, recipe.values[step.inputs[input++]]);
      }
    }
  }
}

void Lowering::append(BoundRecipe& recipe, CompositeCmd& command) {
  allocate_slots(recipe, nullptr);
  expand(recipe, command.ops);
  append_rw_handles(recipe, command.rw_handles);
}

void Lowering::append_rw_handles(const BoundRecipe& recipe,
                                 std::vector<TensorHandle>& handles) const {
  const auto& operands = recipe.entry->recipe.operands;
  handles.reserve(handles.size() + operands.size() + 1);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const TensorHandle& handle = recipe.values[i];
    if (operands[i].access == Access::read_write && !is_among(handles, handle)) {
      handles.push_back(handle);
    }
  }
}

Tensor Lowering::gemm_output(const GemmBuilder& builder, const Shape& shape, DType dtype_of_a) {
  if (builder.out_ && builder.out_ptr_) {
    refuse("composite", "both out and out_ptr are given; give one of them");
  }
  if (builder.out_) {
    const TensorHandle& out = context_.own(*builder.out_, "composite", "out");
    if (builder.dtype_ && *builder.dtype_ != out.dtype) {
      refuse("composite", fmt::format("dtype {} is given, but out is {}; leave dtype away",
                                      to_string(*builder.dtype_), out.describe()));
    }
    return *builder.out_;
  }
  const DType dtype = builder.dtype_.value_or(dtype_of_a);
  if (builder.out_ptr_) return context_.ref(*builder.out_ptr_, shape, dtype);
  return context_.allocate(shape, dtype, {}, site_);
}

OpSpec Lowering::epilogue_op(const EpilogueOp& epilogue, const EpilogueCall& call,
                             const TensorHandle& out) const {
  const command::OpInfo& info = command::op_info(epilogue.kind);
  OpSpec op;
  op.kind = epilogue.kind;
  op.scope = call.scope.value_or(Scope::output_tile);
  ArgumentList given(call.arguments, call.name);
  const Argument* argument = nullptr;
  if (!epilogue.key.empty()) argument = given.find(epilogue.key);
  if (!given.all_used()) {
    std::vector<std::string> valid;
    if (!epilogue.key.empty()) valid.emplace_back(epilogue.key);
    given.refuse_unused(valid);
  }
  if (argument == nullptr && !epilogue.key.empty()) given.refuse_missing("operand", epilogue.key);
  for (const OperandName name : *info.tile_operands) {
    op.operands.emplace_back(
        name, name == OperandName::src
                  ? out
                  : context_.own(tensor_of(*argument, call.name), call.name, argument->name));
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

OpSpec Lowering::postloop_op(const EpilogueCall& call) {
  Arguments arguments = call.arguments;
  const auto given = std::find_if(arguments.begin(), arguments.end(),
                                  [](const Argument& argument) { return argument.name == "out"; });
  if (given == arguments.end()) {
    refuse(call.name, "operand 'out' is missing; an op after the tile loop names its destination");
  }
  const Tensor out = tensor_of(*given, call.name);
  arguments.erase(given);
  return math_op(call.name, arguments, out);
}

void Lowering::append_epilogue(const EpilogueCall& call, const Tensor& out, CompositeCmd& command) {
  if (call.scope == Scope::kernel) {
    command.ops.push_back(postloop_op(call));
  } else if (const EpilogueOp* op = find_epilogue(call.name)) {
    command.ops.push_back(epilogue_op(*op, call, out.handle()));
  } else if (context_.recipes_.find(call.name) != nullptr) {
    if (call.scope) refuse(call.name, "a recipe has the scopes of its ops; leave scope away");
    BoundRecipe recipe = bind(call.name, call.arguments, Phase::epilogue, &out);
    append(recipe, command);
  } else {
    std::vector<std::string> valid = epilogue_names();
    for (std::string& name : context_.recipes_.names(Phase::epilogue)) {
      valid.push_back(std::move(name));
    }
    throw InputError(unknown("epilogue op", call.name, valid));
  }
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
    const SlotType type = slot_type(*producer->entry, slot, producer->values);
    a.shape = type.shape;
    a.dtype = type.dtype;
    a.space = command::Space::tcm;
    a.name = producer->entry->recipe.slots[slot].name;
  } else {
    a = context_.own(*builder.a_, "gemm", "a");
  }
  const TensorHandle& b = context_.own(*builder.b_, "gemm", "b");
  command::check_gemm_operands("gemm", a, b);
  Result result;
  result.out = gemm_output(builder, Shape::matrix(a.shape.rows(), b.shape.cols()), a.dtype);
  result.kept = context_.scratch_.mark();

  CompositeCmd& command = result.command;
  command.data_op = builder.data_op_;
  std::size_t ops = 1 + builder.epilogue_.size();
  for (const BoundRecipe& recipe : prologue) ops += recipe.entry->steps.size();
  command.ops.reserve(ops);
  for (BoundRecipe& recipe : prologue) append(recipe, command);
  if (producer != nullptr) {
    a = producer->values[producer->entry->recipe.operands.size() + *producer->entry->primary_out];
  }
  const TensorHandle& out = result.out.handle();
  command.ops.push_back(make_gemm(a, b, out));
  for (const EpilogueCall& call : builder.epilogue_) {
    append_epilogue(call, result.out, command);
  }
  if (!is_among(command.rw_handles, out) &&
      std::any_of(command.ops.begin(), command.ops.end(),
                  [range = out.range()](const OpSpec& op) { return reads(op, range); })) {
    command.rw_handles.push_back(out);
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
    const SlotType type = slot_type(*recipe.entry, slot, recipe.values);
    const std::string& slot_name = recipe.entry->recipe.slots[slot].name;
    if (builder.out_) {
      result.out = *builder.out_;
      const TensorHandle& out = context_.own(result.out, "composite", "out");
      if (out.shape != type.shape || out.dtype != type.dtype) {
        refuse(name,
               fmt::format("out {} does not fit its primary_out {}, which is {} {}", out.describe(),
                           slot_name, to_string(type.shape), to_string(type.dtype)));
      }
    } else {
      result.out = context_.allocate(type.shape, type.dtype, slot_name, site_);
    }
    primary = &result.out.handle();
  } else if (builder.out_) {
    refuse(name, "has no primary_out that could go to out; leave out away");
  }
  result.kept = context_.scratch_.mark();
  allocate_slots(recipe, primary);
  result.command.data_op = builder.data_op_;
  result.command.ops.reserve(recipe.entry->steps.size());
  expand(recipe, result.command.ops);
  append_rw_handles(recipe, result.command.rw_handles);
  if (primary == nullptr) result.out = context_.adopt(result.command.ops.back().out);
  return result;
}

OpSpec Lowering::math_op(const std::string& name, const Arguments& arguments,
                         const std::optional<Tensor>& out) {
  const auto kind = command::find_op(name);
  if (!kind) throw InputError(unknown("op", name, command::op_names()));
  const command::OpInfo& info = command::op_info(*kind);
  if (*kind == OpKind::gemm || !info.kernel_form) {
    refuse(name, "is not a MATH op of its own; use tl::gemm and its epilogue");
  }
  OpSpec op;
  op.kind = *kind;
  ArgumentList given(arguments, name);
  for (const OperandName operand : info.operands) {
    const Argument* argument = given.find(to_string(operand));
    if (argument == nullptr) given.refuse_missing("operand", to_string(operand));
    op.operands.emplace_back(operand,
                             context_.own(tensor_of(*argument, name), name, to_string(operand)));
  }
  push_axis_extras(op);
  for (const command::ExtraInfo& extra : info.extras) {
    if (follows_from_op(extra.name)) continue;
    const Argument* argument = given.find(to_string(extra.name));
    if (argument == nullptr) given.refuse_missing("scalar", to_string(extra.name));
    op.extras.push_back(make_extra(info, extra.name, scalar_of(*argument, name)));
  }
  if (!given.all_used()) {
    std::vector<std::string> valid;
    for (const OperandName operand : info.operands) valid.emplace_back(to_string(operand));
    for (const command::ExtraInfo& extra : info.extras) {
      if (!follows_from_op(extra.name)) valid.emplace_back(to_string(extra.name));
    }
    given.refuse_unused(valid);
  }
  op.has_out = true;
  if (out) {
    op.out = context_.own(*out, name, "out");
  } else if (op.operands.empty()) {
    refuse(name, "has no operand to take the shape of its result from; give .out()");
  } else {
    op.out = context_.allocate(result_shape(op), op.operands[0].handle.dtype, {}, site_).handle();
  }
  return op;
}

Lowering::Result Lowering::lower(const MathBuilder& builder) {
  Result result;
  result.command.data_op = builder.data_op_;
  result.command.ops.reserve(builder.steps_.size());
  for (const MathBuilder::Step& step : builder.steps_) {
    result.command.ops.push_back(math_op(step.op, step.arguments, step.out));
  }
  result.out = context_.adopt(result.command.ops.back().out);
  result.kept = context_.scratch_.mark();
  return result;
}

}  // namespace kernbench::tl
