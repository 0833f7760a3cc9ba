// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tlm_if/command/commands.hpp"

namespace kernbench::tl {

// What the compiler adds to the op table: epilogue spellings, result shapes, and the check that
// scalars fit.

/// An op as an epilogue: the user's key for its argument becomes operand `other` or extra `value`.
struct EpilogueOp {
  std::string_view name;
  command::OpKind kind;
  std::string_view key;  ///< empty: takes no argument
  bool scalar = false;
};
/// Null if there is none.
const EpilogueOp* find_epilogue(std::string_view name);
std::vector<std::string> epilogue_names();

/// The extra of that name as the op table types it. Throws InputError if `value` does not fit its
/// 4 bytes (R3.5): an f32 beyond the range of f32, an integer with a fraction or out of range.
command::Extra make_extra(const command::OpInfo& info, command::ExtraName name, double value);

/// Appends reduce_axis and bcast_axis, which follow from the op and its first operand.
void push_axis_extras(command::OpSpec& op);

/// The shape of a kernel-scope op's result, by its first operand; of gemm, by both.
command::Shape result_shape(const command::OpSpec& op);

/// gemm{a, b} with extra m, k, n and the given output, from rank-2 operands.
command::OpSpec make_gemm(const command::TensorHandle& a, const command::TensorHandle& b,
                          const command::TensorHandle& out);

}  // namespace kernbench::tl
