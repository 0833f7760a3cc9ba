// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/arch/config.hpp"

namespace kernbench::arch {

// Reads the topology file (contract 9), which is strict YAML, into the resolved configuration.
// Keys, units, ranges and meanings are in topology_keys.hpp; docs/topology.md is generated from
// them.

/// The texts that `include:` may name, by path relative to the folder of the including topology.
using TopologyIncludes = std::map<std::string, std::string>;

/// The configuration that `yaml_text` describes, after the overrides `sets` (each `path=value`, as
/// given to --set). Only `name` is required. `include: FILE` at the top reads the keys of that text
/// of `includes` first. `file_name` is for messages, and its folder is that of `includes`. Nothing
/// is read from disk. Throws InputError, one line `file:line: key path: ...`, for anything invalid.
TopologyConfig load_topology(std::string_view yaml_text, const std::string& file_name,
                             const std::vector<std::string>& sets = {},
                             const TopologyIncludes& includes = {});

/// The same for a file, which includes others by paths relative to it. Throws InputError if a file
/// cannot be read.
TopologyConfig read_topology_file(const std::string& path,
                                  const std::vector<std::string>& sets = {});

/// Every key with its value, as YAML: loading it gives the same configuration again.
std::string to_yaml(const TopologyConfig& config);

/// The reference page docs/topology.md.
std::string reference_markdown();

}  // namespace kernbench::arch
