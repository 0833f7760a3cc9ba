// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "model/arch/stage.hpp"
#include "tlm_if/command/commands.hpp"

namespace kernbench::record {

// Numbers for names in a waveform, 0 being none or idle: record::Vcd's and those of Pe::trace().

/// Commands that are no single op stand below, at a distance: a new one moves no code.
inline constexpr std::uint32_t kFirstOpKindCode = 16;

constexpr std::uint32_t op_code(command::OpKind kind) {
  return kFirstOpKindCode + static_cast<std::uint32_t>(kind);
}

/// 1 composite, 2 load, 3 store, 4 dot, 5 cpu_overhead; a MathCmd has the code of its op.
inline std::uint32_t op_code(const command::Command& command) {
  if (std::holds_alternative<command::CompositeCmd>(command)) return 1;
  if (std::holds_alternative<command::DmaReadCmd>(command)) return 2;
  if (std::holds_alternative<command::DmaWriteCmd>(command)) return 3;
  if (std::holds_alternative<command::GemmCmd>(command)) return 4;
  if (std::holds_alternative<command::PeCpuOverheadCmd>(command)) return 5;
  return op_code(std::get<command::MathCmd>(command).op.kind);
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
