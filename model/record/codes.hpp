// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <variant>

#include "model/arch/stage.hpp"
#include "tlm_if/command/commands.hpp"

namespace kernbench::record {

// Numeric codes for names in a waveform; 0 means none or idle. record::Vcd and Pe::trace() use
// them.

/// Commands that are not a single op.
enum class CommandCode : std::uint32_t {
  composite = 1,
  load,
  store,
  dot,
  cpu_overhead,
  send,
  recv
};

/// Op codes start here. The gap after the command codes allows new commands without moving op
/// codes.
inline constexpr std::uint32_t kFirstOpKindCode = 16;

constexpr std::uint32_t op_code(command::OpKind kind) {
  return kFirstOpKindCode + static_cast<std::uint32_t>(kind);
}

constexpr std::uint32_t op_code(CommandCode code) { return static_cast<std::uint32_t>(code); }

/// A MathCmd has the code of its op.
inline std::uint32_t op_code(const command::Command& command) {
  return std::visit(
      command::Overloaded{
          [](const command::CompositeCmd&) { return op_code(CommandCode::composite); },
          [](const command::DmaReadCmd&) { return op_code(CommandCode::load); },
          [](const command::DmaWriteCmd&) { return op_code(CommandCode::store); },
          [](const command::MathCmd& math) { return op_code(math.op.kind); },
          [](const command::GemmCmd&) { return op_code(CommandCode::dot); },
          [](const command::PeCpuOverheadCmd&) { return op_code(CommandCode::cpu_overhead); },
          [](const command::IpcqSendCmd&) { return op_code(CommandCode::send); },
          [](const command::IpcqRecvCmd&) { return op_code(CommandCode::recv); }},
      command);
}

constexpr std::uint32_t operand_code(command::OperandName name) {
  return static_cast<std::uint32_t>(name) + 1;
}

/// The state of PE_CPU: 1 dispatch, 2 queue_stall, 3 wait.
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
