// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <ostream>

#include "model/arch/config.hpp"
#include "runtime/launch/launch.hpp"

namespace kernbench::runtime {

/// The number of stages of all programs, which is the same in every run. Waits, stalls and further
/// slots of messages are not counted.
std::uint64_t stages_without_waits(const Launch& launch, const arch::TopologyConfig& topology);

/// The stages of command `number` (R5.6), each with the time for which it occupies its engine; a
/// long tile loop is shortened to a count. Throws InputError if there is no such command.
void list_plan(std::ostream& out, const Launch& launch, const arch::TopologyConfig& topology,
               std::uint64_t number, command::Index program = 0);

}  // namespace kernbench::runtime
