// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "kernels/kernel.hpp"
#include "model/arch/config.hpp"
#include "runtime/launch/launch.hpp"
#include "tlm_if/command/commands.hpp"
#include "tlm_if/command/program_file.hpp"

namespace kernbench::runtime {

/// Lists the kernels with their parameters: default, allowed values, meaning.
void list_kernels(std::ostream& out, const std::vector<kernels::Kernel>& kernels);

/// Lists what a kernel issues, in order and without simulating: its commands with number, label,
/// logical bytes, segments, dispatch cycles and rw handles, their ops and operands; its waits,
/// regions and observed values.
void list_commands(std::ostream& out, const Launch& launch, const arch::TopologyConfig& topology,
                   command::Index program = 0);

/// Prints command `number` as list_commands() does; without a cost model it has no segments and
/// cycles.
void print_command(std::ostream& out, std::uint64_t number, const command::Command& command,
                   const arch::CostModelConfig* cost);

/// The text to add to a headline, such as ` in 4 programs; those of program 1, on pe1`. Empty if
/// the launch has one program.
std::string of_program(const Launch& launch, const arch::TopologyConfig& topology,
                       command::Index program);

/// Lists a program file without its commands: what it was compiled from, what it needs, its tensors
/// and their locations, its programs.
void list_file(std::ostream& out, const command::ProgramFile& file);

/// Lists the records of a program's stream, each with its offset in the file and its size: table
/// entries, and what list_commands() lists, without cycles. `bytes` are those from which `file` was
/// read.
void list_records(std::ostream& out, const command::ProgramFile& file,
                  const std::vector<std::uint8_t>& bytes, command::Index program);

}  // namespace kernbench::runtime
