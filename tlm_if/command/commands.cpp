// SPDX-License-Identifier: Apache-2.0
#include "tlm_if/command/commands.hpp"

#include <algorithm>
#include <cstring>

#include "tlm_if/command/encoding.hpp"

namespace kernbench::command {
namespace {

std::uint64_t simple_bytes(std::uint64_t handles, std::uint64_t scalars) {
  return kFramingBytes + 1 + kReferenceBytes * handles + kScalarBytes * scalars;
}
std::uint64_t simple_bytes(const OpSpec& op) {
  return simple_bytes(op.operands.size() + (op.has_out ? 1 : 0), op.extras.size());
}

}  // namespace

bool touches_hbm(const OpSpec& op) {
  return (op.has_out && !op.out.pinned()) ||
         std::any_of(op.operands.begin(), op.operands.end(),
                     [](const Operand& operand) { return !operand.handle.pinned(); });
}

Spread spread_of(const OpSpec& op, OperandName name, const Shape& shape) {
  if (op.operands.empty() || name == op.operands[0].name) return Spread::matrix;
  switch (op_info(op.kind).shape) {
    case OpShape::reduce_row:
      return Spread::one_a_row;  // out
    case OpShape::row_vector:
      // out, and exp_diff of two equal shapes, have the shape of the first operand.
      return shape == op.operands[0].handle.shape ? Spread::matrix : Spread::one_a_row;
    case OpShape::col_vector:
      return name == OperandName::out ? Spread::matrix : Spread::one_a_column;
    default:
      return Spread::matrix;
  }
}

std::string_view to_string(Scope scope) {
  switch (scope) {
    case Scope::kernel:
      return "kernel";
    case Scope::k_tile:
      return "k_tile";
    case Scope::output_tile:
      return "output_tile";
  }
  return "?";
}

Extra Extra::i32(ExtraName name, std::int32_t value) {
  return {name, ExtraType::i32, static_cast<std::uint32_t>(value)};
}
Extra Extra::f32(ExtraName name, float value) {
  Extra extra{name, ExtraType::f32, 0};
  std::memcpy(&extra.bits, &value, sizeof value);
  return extra;
}
float Extra::as_f32() const {
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
std::int32_t Extra::as_i32() const { return static_cast<std::int32_t>(bits); }

const TensorHandle* OpSpec::operand(OperandName name) const {
  for (const Operand& operand : operands) {
    if (operand.name == name) return &operand.handle;
  }
  return nullptr;
}

const Extra* OpSpec::extra(ExtraName name) const {
  for (const Extra& extra : extras) {
    if (extra.name == name) return &extra;
  }
  return nullptr;
}

std::uint64_t OpSpec::logical_bytes() const {
  return 1 + 1 + 1 + kReferenceBytes * operands.size() + (has_out ? kReferenceBytes : 0) + 1 +
         kScalarBytes * extras.size();
}

bool operator==(const OpSpec& x, const OpSpec& y) {
  return x.kind == y.kind && x.scope == y.scope && x.operands == y.operands &&
         x.extras == y.extras && x.has_out == y.has_out && (!x.has_out || x.out == y.out);
}
bool operator==(const CompositeCmd& x, const CompositeCmd& y) {
  return x.completion == y.completion && x.ops == y.ops && x.rw_handles == y.rw_handles &&
         x.data_op == y.data_op;
}
bool operator==(const DmaReadCmd& x, const DmaReadCmd& y) {
  return x.src == y.src && x.dst == y.dst;
}
bool operator==(const DmaWriteCmd& x, const DmaWriteCmd& y) {
  return x.src == y.src && x.dst == y.dst;
}
bool operator==(const MathCmd& x, const MathCmd& y) { return x.op == y.op; }
bool operator==(const GemmCmd& x, const GemmCmd& y) { return x.op == y.op; }
bool operator==(const PeCpuOverheadCmd& x, const PeCpuOverheadCmd& y) {
  return x.cycles == y.cycles;
}
bool operator==(const IpcqSendCmd& x, const IpcqSendCmd& y) {
  return x.src == y.src && x.to == y.to;
}
bool operator==(const IpcqRecvCmd& x, const IpcqRecvCmd& y) {
  return x.dst == y.dst && x.from == y.from;
}

std::uint64_t logical_bytes(const Command& command) {
  return std::visit(Overloaded{[](const CompositeCmd& c) {
                                 std::uint64_t bytes =
                                     kFramingBytes + 1 + 1 + kReferenceBytes * c.rw_handles.size();
                                 for (const OpSpec& op : c.ops) bytes += op.logical_bytes();
                                 return bytes;
                               },
                               [](const DmaReadCmd&) { return simple_bytes(2, 0); },
                               [](const DmaWriteCmd&) { return simple_bytes(2, 0); },
                               [](const MathCmd& c) { return simple_bytes(c.op); },
                               [](const GemmCmd& c) { return simple_bytes(c.op); },
                               [](const IpcqSendCmd&) { return simple_bytes(1, 1); },
                               [](const IpcqRecvCmd&) { return simple_bytes(1, 1); },
                               [](const PeCpuOverheadCmd&) { return std::uint64_t{0}; }},
                    command);
}

std::string_view label(const Command& command) {
  using View = std::string_view;
  return std::visit(Overloaded{[](const CompositeCmd&) { return View{"composite"}; },
                               [](const DmaReadCmd&) { return View{"load"}; },
                               [](const DmaWriteCmd&) { return View{"store"}; },
                               [](const MathCmd& c) { return to_string(c.op.kind); },
                               [](const GemmCmd&) { return View{"dot"}; },
                               [](const IpcqSendCmd&) { return View{"send"}; },
                               [](const IpcqRecvCmd&) { return View{"recv"}; },
                               [](const PeCpuOverheadCmd&) { return View{"cpu_overhead"}; }},
                    command);
}

}  // namespace kernbench::command
