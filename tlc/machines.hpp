// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "model/arch/topology_file.hpp"

namespace kernbench {

/// A topology that the program carries.
struct EmbeddedMachine {
  std::string name;
  std::string file_name;  ///< for messages
  std::string text;       ///< YAML
  arch::TopologyIncludes includes;
};

const std::vector<EmbeddedMachine>& embedded_machines();

}  // namespace kernbench
