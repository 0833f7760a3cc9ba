// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "kernels/kernel.hpp"
#include "model/arch/topology_file.hpp"
#include "runtime/design.hpp"

namespace kernbench::runtime {

/// What defines a binary (contract 11): a topology and an explicit list of kernels.
struct Binary {
  std::string name;
  std::string topology_name;  ///< file name of the embedded topology, for messages
  std::string topology_text;  ///< YAML
  std::vector<kernels::Kernel> kernels;
  /// Makes a memory in place of the embedded one; empty: EmbeddedHbm.
  MemoryFactory memory = {};
  arch::TopologyIncludes topology_includes = {};  ///< files that the topology includes
};

/// The whole command line. Returns the exit code (R11.1): 0 done and within tolerance, 1 simulation
/// or numeric failure, 2 usage, topology or input error. Throws nothing. Call it once per process,
/// from sc_main.
int run_main(int argc, char** argv, const Binary& binary);

}  // namespace kernbench::runtime
