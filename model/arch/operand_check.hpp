// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "model/arch/config.hpp"
#include "model/arch/plan.hpp"
#include "tlm_if/command/access_set.hpp"

namespace kernbench::arch {

/// An operand that the engines cannot serve where it lies, or as it is.
struct OperandProblem {
  command::OperandName operand;
  std::string what;  ///< with its remedy, to follow the operand's name
};

/// What is wrong with the operands of a command: one that must lie in TCM and does not (R3.4), or
/// one that streams and whose tiles do not fit a tile buffer, or whose rows are reduced and do not
/// fit a chunk (R5.5). A program may come from elsewhere than `tl`. Whether what a DMA moves lies
/// within HBM and TCM is for PE_DMA to check. `accesses`: of the command. No allocation when
/// nothing is wrong.
std::vector<OperandProblem> operand_problems(const command::Command& command,
                                             const command::AccessSet& accesses, const Plan& plan,
                                             const PeConfig& config);

}  // namespace kernbench::arch
