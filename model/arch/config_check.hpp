// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "model/arch/config.hpp"

namespace kernbench::arch {

/// Keys that do not fit together.
struct Conflict {
  std::vector<const char*> keys;  ///< their paths, the likelier mistake first
  std::string message;
};

/// The first conflict, if there is one. `described`: returns a key, given by its path, with its
/// value, for the message.
std::optional<Conflict> find_conflict(
    const TopologyConfig& topology, const std::function<std::string(const char* path)>& described);

// Checks for configurations that do not come from a topology file. They throw InputError, whose
// message begins with `who`, at the first field outside the range of its key (docs/topology.md),
// otherwise at the first conflict between the keys that are given.

void check_config(const std::string& who, const PeConfig& pe);
/// For a whole stack, or for a slice or channel of one, whose `gbps` is a share and may be below
/// the range and have any decimals. Checks ranges only, because its keys must fit keys elsewhere in
/// the topology.
void check_config(const std::string& who, const HbmConfig& hbm);
/// Checks every key except the name.
void check_config(const std::string& who, const TopologyConfig& topology);

}  // namespace kernbench::arch
