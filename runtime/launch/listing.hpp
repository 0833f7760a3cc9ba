// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <ostream>
#include <vector>

#include "kernels/kernel.hpp"
#include "model/arch/config.hpp"
#include "runtime/launch/launch.hpp"
#include "tlm_if/command/program_file.hpp"

namespace kernbench::runtime {

/// The kernels with their parameters: default, what is allowed, meaning.
void list_kernels(std::ostream& out, const std::vector<kernels::Kernel>& kernels);

/// What a kernel asks of the PE, in order, without simulating: its commands with number, label,
/// logical bytes, segments, dispatch cycles and rw handles, their ops and operands; its waits,
/// regions and observed values.
void list_commands(std::ostream& out, const Launch& launch, const arch::TopologyConfig& topology,
                   command::Index program = 0);

/// What a program file holds but for its commands: what it was compiled from and needs, its tensors
/// and where they lie, its programs.
void list_file(std::ostream& out, const command::ProgramFile& file);

/// The records of a program's stream, each with its offset in the file and its size: table entries,
/// and what list_commands() lists but for cycles. `bytes` are those that `file` was read from.
void list_records(std::ostream& out, const command::ProgramFile& file,
                  const std::vector<std::uint8_t>& bytes, command::Index program);

/// Those of every program, in any run of them; waits and stalls, and further slots of a message,
/// come on top.
std::uint64_t stages_without_waits(const Launch& launch, const arch::TopologyConfig& topology);

/// The stages of command `number` (R5.6), each with the time that it occupies its engine; a long
/// tile loop is cut short with a count. Throws InputError if there is no such command.
void list_plan(std::ostream& out, const Launch& launch, const arch::TopologyConfig& topology,
               std::uint64_t number, command::Index program = 0);

}  // namespace kernbench::runtime
