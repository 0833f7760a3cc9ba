// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tlm_if/command/commands.hpp"

namespace kernbench::command::test {

/// P (8, 64) times V (64, 128) plus O, in place: the composite of contract 3 with 82 bytes.
inline CompositeCmd pv_composite(const TensorHandle& p, const TensorHandle& v,
                                 const TensorHandle& o) {
  CompositeCmd command;
  OpSpec& gemm = command.ops.emplace_back();
  gemm.kind = OpKind::gemm;
  gemm.operands = {{OperandName::a, p}, {OperandName::b, v}};
  gemm.extras = {Extra::u32(ExtraName::m, 8), Extra::u32(ExtraName::k, 64),
                 Extra::u32(ExtraName::n, 128)};
  gemm.has_out = true;
  gemm.out = o;
  OpSpec& add = command.ops.emplace_back();
  add.kind = OpKind::add;
  add.scope = Scope::output_tile;
  add.operands = {{OperandName::src, o}, {OperandName::other, o}};
  add.has_out = true;
  add.out = o;
  command.rw_handles = {o};
  return command;
}

}  // namespace kernbench::command::test
