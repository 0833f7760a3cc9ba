// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "model/arch/stage.hpp"
#include "tlm_if/command/commands.hpp"

namespace kernbench::record {

// Numbers for names in a waveform, 0 being none or idle: record::Vcd's and those of Pe::trace().

/// Commands that are no single op.
enum class CommandCode : std::uint32_t {
  composite = 1,
  load,
  store,
  dot,
  cpu_overhead,
  send,
  recv
};

/// The commands stand below, at a distance: a new one moves no code.
inline constexpr std::uint32_t kFirstOpKindCode = 16;

constexpr std::uint32_t op_code(command::OpKind kind) {
  return kFirstOpKindCode + static_cast<std::uint32_t>(kind);
}

constexpr std::uint32_t op_code(CommandCode code) { return static_cast<std::uint32_t>(code); }

/// A MathCmd has the code of its op.
inline std::uint32_t op_code(const command::Command& command) {
  if (const auto* math = std::get_if<command::MathCmd>(&command)) return op_code(math->op.kind);
  if (std::holds_alternative<command::DmaReadCmd>(command)) return op_code(CommandCode::load);
  if (std::holds_alternative<command::DmaWriteCmd>(command)) return op_code(CommandCode::store);
  if (std::holds_alternative<command::GemmCmd>(command)) return op_code(CommandCode::dot);
  if (std::holds_alternative<command::PeCpuOverheadCmd>(command)) {
    return op_code(CommandCode::cpu_overhead);
  }
  if (std::holds_alternative<command::IpcqSendCmd>(command)) return op_code(CommandCode::send);
  if (std::holds_alternative<command::IpcqRecvCmd>(command)) return op_code(CommandCode::recv);
  return op_code(CommandCode::composite);
}

constexpr std::uint32_t operand_code(command::OperandName name) {
  return static_cast<std::uint32_t>(name) + 1;
}

/// What PE_CPU does: 1 dispatch, 2 queue_stall, 3 wait.
constexpr std::uint32_t state_code(arch::StageKind stage) {
  switch (stage) {
    case arch::StageKind::dispatch:
      return 1;
    case arch::StageKind::queue_stall:
      return 2;
    case arch::StageKind::wait:
      return 3;
    default:
      return 0;
  }
}

}  // namespace kernbench::record
