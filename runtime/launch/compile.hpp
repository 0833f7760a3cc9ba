// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/launch/launch.hpp"
#include "tlm_if/command/program_file.hpp"

namespace kernbench::runtime {

/// Compiles a launch: runs its kernel and returns the commands of each program, the placed tensors,
/// and what a PE must have. A Launch made from it gives the same run (R3.7).
command::ProgramFile compile(const Launch& launch);

}  // namespace kernbench::runtime
