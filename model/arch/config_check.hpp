// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "model/arch/config.hpp"

namespace kernbench::arch {

/// Keys of a PE that do not fit each other.
struct Conflict {
  std::vector<const char*> keys;  ///< paths of them, the likelier mistake first
  std::string message;
};

/// The first one there is. `described`: a key, by its path, with its value, for the message.
std::optional<Conflict> find_conflict(
    const PeConfig& pe, const std::function<std::string(const char* path)>& described);

// For configurations that no topology file has given: throw InputError, beginning with `who`, at
// the first field outside the range of its key (docs/topology.md), else at a conflict.

void check_config(const std::string& who, const PeConfig& pe);
/// Of a whole stack, or a slice or channel of one: its `gbps`, a share, may lie below the range and
/// have any decimals.
void check_config(const std::string& who, const HbmConfig& hbm);
/// Every key but the name.
void check_config(const std::string& who, const TopologyConfig& topology);

}  // namespace kernbench::arch
