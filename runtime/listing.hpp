// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <ostream>
#include <vector>

#include "kernels/kernel.hpp"
#include "model/arch/config.hpp"
#include "runtime/launch.hpp"

namespace kernbench::runtime {

/// The kernels with their parameters: default, what is allowed, meaning.
void list_kernels(std::ostream& out, const std::vector<kernels::Kernel>& kernels);

/// What a kernel asks of the PE, in order, without simulating: its commands with number, label,
/// logical bytes, segments, dispatch cycles and rw handles, their ops and operands; its waits,
/// regions and observed values.
void list_commands(std::ostream& out, const Launch& launch, const arch::TopologyConfig& topology,
                   command::Index program = 0);

/// The stages of command `number` (R5.6), each with the time that it occupies its engine; a long
/// tile loop is cut short with a count. Throws InputError if there is no such command.
void list_plan(std::ostream& out, const Launch& launch, const arch::TopologyConfig& topology,
               std::uint64_t number, command::Index program = 0);

}  // namespace kernbench::runtime
