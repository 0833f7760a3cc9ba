// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "tl/context.hpp"
#include "tl/ops.hpp"

namespace kernbench::tl {

/// Lowers a builder to a flat CompositeCmd (R4.7): checks names and access, allocates, derives
/// primary_out, expands recipes, binds primary_out to the gemm's `a`, builds the epilogue, and
/// computes rw_handles.
class Lowering {
 public:
  struct Result {
    command::CompositeCmd command;
    Tensor out;
    /// Allocations up to this mark (the output) outlive the call; the recipes' scratch does not
    /// (R4.4).
    Scratch::Mark kept;
  };

  Lowering(Context& context, CallSite site) : context_(context), site_(site) {}

  Result lower(const GemmBuilder& builder);
  Result lower(const RecipeBuilder& builder);
  Result lower(const MathBuilder& builder);

 private:
  /// A recipe call with its arguments resolved: `values` are the operands, then the slots.
  struct BoundRecipe {
    const RecipeTable::Entry* entry = nullptr;
    std::vector<command::TensorHandle> values;
    std::vector<double> scalars;
  };
  class ArgumentList;
  class BoundArguments;

  /// `gemm_out`: what the recipe's gemm_out is bound to, if it has one.
  BoundRecipe bind(const std::string& name, const Arguments& arguments, Phase phase,
                   const Tensor* gemm_out = nullptr) const;
  /// Gives the slots their addresses; the primary output takes `primary` if there is one.
  void allocate_slots(BoundRecipe& recipe, const command::TensorHandle* primary);
  void expand(const BoundRecipe& recipe, std::vector<command::OpSpec>& ops) const;
  void append(BoundRecipe& recipe, command::CompositeCmd& command);
  void append_rw_handles(const BoundRecipe& recipe,
                         std::vector<command::TensorHandle>& handles) const;

  /// Appends what one .epilogue() of a gemm stands for.
  void append_epilogue(const EpilogueCall& call, const Tensor& out, command::CompositeCmd& command);
  Tensor gemm_output(const GemmBuilder& builder, const Shape& shape, DType dtype_of_a);
  command::OpSpec epilogue_op(const EpilogueOp& epilogue, const EpilogueCall& call,
                              const command::TensorHandle& out) const;
  /// A MATH op in its kernel form; without an `out` it gets scratch.
  command::OpSpec math_op(const std::string& name, const Arguments& arguments,
                          const std::optional<Tensor>& out);
  /// The same after a gemm, where `out` is one of the arguments.
  command::OpSpec postloop_op(const EpilogueCall& call);

  Context& context_;
  CallSite site_;
};

}  // namespace kernbench::tl
