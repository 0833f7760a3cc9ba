// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/launch/launch.hpp"
#include "tlm_if/command/program_file.hpp"

namespace kernbench::runtime {

/// What a launch is once its kernel has run: the commands of each of its programs, the tensors
/// where they lie, and what a PE must have. A Launch made from it is the same run (R3.7).
command::ProgramFile compile(const Launch& launch);

}  // namespace kernbench::runtime
