// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "kernels/kernel.hpp"
#include "runtime/run.hpp"

namespace kernbench::runtime {

/// The files that the demo writes into `folder`.
std::vector<std::string> demo_files(const std::string& folder);

/// Runs decode with the head geometry of Llama 70B as opt2 and opt3, with data. Writes op log, VCD,
/// trace and summary of each into `folder`, which it creates, and a report to `out`. Returns true
/// if all checks passed. Throws InputError if gqa_decode is not among `kernels`.
bool run_demo(std::ostream& out, const std::vector<kernels::Kernel>& kernels,
              const arch::TopologyConfig& topology, const MemoryFactory& memory,
              const std::string& folder);

}  // namespace kernbench::runtime
