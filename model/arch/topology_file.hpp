// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/arch/config.hpp"

namespace kernbench::arch {

// The topology file (contract 9): strict YAML in, the resolved configuration out. Keys, units,
// ranges and meanings are in topology_keys.hpp; docs/topology.md is generated from them.

/// The configuration that `yaml_text` describes, after the overrides `sets` (each `path=value`, as
/// given to --set). Only `name` is required. `file_name` is for messages only.
/// Throws InputError, one line `file:line: key path: ...`, for anything that is not exactly right.
TopologyConfig load_topology(std::string_view yaml_text, const std::string& file_name,
                             const std::vector<std::string>& sets = {});

/// The same for a file. Throws InputError if it cannot be read.
TopologyConfig read_topology_file(const std::string& path,
                                  const std::vector<std::string>& sets = {});

/// Every key with its value, as YAML: loading it gives the same configuration again.
std::string to_yaml(const TopologyConfig& config);

/// The reference page docs/topology.md.
std::string reference_markdown();

}  // namespace kernbench::arch
