// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "model/arch/network.hpp"

namespace kernbench::test {

/// The links of the way between two endpoints in order, as indices into network.links(); none
/// between endpoints of one place.
inline std::vector<std::uint32_t> path(const arch::Network& network, std::uint32_t from,
                                       std::uint32_t to) {
  std::vector<std::uint32_t> links;
  for (std::uint32_t link = network.first(from, to); link != arch::Network::kArrived;
       link = network.next(link, to)) {
    links.push_back(link);
  }
  return links;
}

/// From the first byte at `from` to the last at `to`, nothing else being under way.
inline arch::Picoseconds unloaded(const arch::Network& network, std::uint32_t from,
                                  std::uint32_t to, std::uint64_t bytes) {
  const bool same_place = network.first(from, to) == arch::Network::kArrived;
  return same_place ? 0 : network.latency(from, to) + network.service(bytes);
}

}  // namespace kernbench::test
