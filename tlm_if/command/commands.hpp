// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "tlm_if/command/inline_vector.hpp"
#include "tlm_if/command/op_table.hpp"
#include "tlm_if/command/tensor_handle.hpp"

namespace kernbench::command {

/// A visitor made of several lambdas for std::visit. If no lambda takes a new alternative, it does
/// not compile.
template <class... Visitors>
struct Overloaded : Visitors... {
  using Visitors::operator()...;
};
template <class... Visitors>
Overloaded(Visitors...) -> Overloaded<Visitors...>;

/// How often an op runs; its position relative to the gemm says when (contract 5).
enum class Scope : std::uint8_t { kernel, k_tile, output_tile };
std::string_view to_string(Scope scope);

struct Operand {
  OperandName name = OperandName::src;
  TensorHandle handle;
  friend bool operator==(const Operand& x, const Operand& y) {
    return x.name == y.name && x.handle == y.handle;
  }
};

/// A named 4-byte scalar (R3.5).
struct Extra {
  ExtraName name = ExtraName::value;
  ExtraType type = ExtraType::u32;
  std::uint32_t bits = 0;

  static Extra u32(ExtraName name, std::uint32_t value) { return {name, ExtraType::u32, value}; }
  static Extra i32(ExtraName name, std::int32_t value);
  static Extra f32(ExtraName name, float value);
  float as_f32() const;
  std::int32_t as_i32() const;

  friend bool operator==(const Extra& x, const Extra& y) {
    return x.name == y.name && x.type == y.type && x.bits == y.bits;
  }
};

/// One operation of a command (R3.5).
struct OpSpec {
  OpKind kind = OpKind::fill;
  Scope scope = Scope::kernel;
  InlineVector<Operand, 3> operands;
  InlineVector<Extra, 3> extras;
  bool has_out = false;
  TensorHandle out;

  const TensorHandle* operand(OperandName name) const;
  const Extra* extra(ExtraName name) const;
  std::uint64_t logical_bytes() const;
  /// True for a k_tile or output_tile op, whose `src` and `out` refer to the f32 accumulator
  /// (R4.6).
  bool on_accumulator() const { return scope != Scope::kernel; }
};
bool operator==(const OpSpec& x, const OpSpec& y);

/// True if a tensor of the op is in HBM.
bool touches_hbm(const OpSpec& op);

/// How a tensor of a kernel-scope op relates to the rows and columns of its first operand.
enum class Spread : std::uint8_t { matrix, one_a_row, one_a_column };
/// The spread of operand or output `name`, whose shape must fit the op.
Spread spread_of(const OpSpec& op, OperandName name, const Shape& shape);

/// Identifies a composite of a kernel by its command number, which the producer counts.
struct CompletionHandle {
  std::uint64_t id = 0;
  friend bool operator==(CompletionHandle x, CompletionHandle y) { return x.id == y.id; }
};

/// A fused command: flat ops, of which at most one is a gemm (R3.6).
struct CompositeCmd {
  CompletionHandle completion;
  std::vector<OpSpec> ops;
  std::vector<TensorHandle> rw_handles;
  bool data_op = true;  ///< false: timing as usual, no data is computed
};
/// HBM -> TCM.
struct DmaReadCmd {
  TensorHandle src, dst;
};
/// TCM -> HBM.
struct DmaWriteCmd {
  TensorHandle src, dst;
};
/// One op of the catalogue on TCM operands.
struct MathCmd {
  OpSpec op;
};
/// A product of TCM operands, tiled like a composite's gemm (R6.0).
struct GemmCmd {
  OpSpec op;
};
/// What an IPCQ command has besides its handle: one 4-byte scalar, with the peer in the low 24
/// bits.
struct IpcqChannel {
  std::uint32_t peer = 0;     ///< the other PE, by its number in the design
  std::uint32_t channel = 0;  ///< number of the queue between the two
  friend bool operator==(IpcqChannel x, IpcqChannel y) {
    return x.peer == y.peer && x.channel == y.channel;
  }
};
inline constexpr std::uint32_t kMaxIpcqPeers = 1u << 24;
inline constexpr std::uint32_t kMaxIpcqChannels = 1u << 8;
/// TCM -> the queue to another PE. Done when the last slot has been sent; `src` may then be reused.
struct IpcqSendCmd {
  TensorHandle src;
  IpcqChannel to;
};
/// The queue from another PE -> TCM: the next message of that channel, which must have the same
/// number of bytes.
struct IpcqRecvCmd {
  TensorHandle dst;
  IpcqChannel from;
};
/// Scalar work on PE_CPU; bypasses the dispatch formula (R3.9).
struct PeCpuOverheadCmd {
  std::uint64_t cycles = 0;
};

using Command = std::variant<CompositeCmd, DmaReadCmd, DmaWriteCmd, MathCmd, GemmCmd,
                             PeCpuOverheadCmd, IpcqSendCmd, IpcqRecvCmd>;

bool operator==(const CompositeCmd& x, const CompositeCmd& y);
bool operator==(const DmaReadCmd& x, const DmaReadCmd& y);
bool operator==(const DmaWriteCmd& x, const DmaWriteCmd& y);
bool operator==(const MathCmd& x, const MathCmd& y);
bool operator==(const GemmCmd& x, const GemmCmd& y);
bool operator==(const PeCpuOverheadCmd& x, const PeCpuOverheadCmd& y);
bool operator==(const IpcqSendCmd& x, const IpcqSendCmd& y);
bool operator==(const IpcqRecvCmd& x, const IpcqRecvCmd& y);

/// The logical size in hardware by the byte rule of contract 3, which determines the dispatch cost.
/// 0 for PeCpuOverheadCmd.
std::uint64_t logical_bytes(const Command& command);

/// `composite`, `load`, `store`, `dot`, `send`, `recv`, `cpu_overhead`, or the op of a MathCmd.
std::string_view label(const Command& command);

/// A view of the ops of a command: those of a composite, or the single op of a MathCmd or GemmCmd.
struct Ops {
  const OpSpec* first = nullptr;
  std::size_t count = 0;
  const OpSpec* begin() const { return first; }
  const OpSpec* end() const { return first + count; }
  std::size_t size() const { return count; }
  const OpSpec& operator[](std::size_t i) const { return first[i]; }
};
inline Ops ops_of(const Command& command) {
  if (const auto* composite = std::get_if<CompositeCmd>(&command)) {
    return {composite->ops.data(), composite->ops.size()};
  }
  if (const auto* math = std::get_if<MathCmd>(&command)) return {&math->op, 1};
  if (const auto* gemm = std::get_if<GemmCmd>(&command)) return {&gemm->op, 1};
  return {};
}

}  // namespace kernbench::command
