// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "model/arch/config.hpp"

namespace kernbench::arch {

/// One key of a topology file (contract 9): the single source for loading, --set, `show` and the
/// reference page. Its default is the value in a default TopologyConfig.
struct TopologyKey {
  std::string path;     ///< `pe.dma.burst_bytes`
  std::string type;     ///< `whole number`, `decimal number`, `choice` or `name`
  std::string unit;     ///< empty: none
  std::string range;    ///< as in the reference page: `[1, 16]`
  std::string meaning;  ///< one sentence
  std::string allowed;  ///< the tail of a message: `a whole number in [1, 16]`
  bool number = false;  ///< a quoted scalar is refused
  std::function<std::string(const TopologyConfig&)> print;
  /// Sets the field from its text; returns what is wrong with the text, or nothing.
  std::function<std::string(TopologyConfig&, const std::string&)> assign;
};

/// In the order of the file.
const std::vector<TopologyKey>& topology_keys();
/// Null if there is no such key.
const TopologyKey* find_topology_key(std::string_view path);

/// The section whose keys are the names of the MATH ops.
inline constexpr std::string_view kOpRateSection = "pe.math.op_rate";
bool is_op_rate(const TopologyKey& key);

}  // namespace kernbench::arch
