// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/arch/config.hpp"
#include "tests/support/op_log_reader.hpp"
#include "tests/support/program_order.hpp"

namespace kernbench::test {

using Ps = std::uint64_t;

/// The part of a way that lies in one network, cut-through: its links, and how long a packet
/// occupies each.
struct Leg {
  struct Link {
    std::string name;
    Ps latency;
  };
  std::vector<Link> links;
  Ps service = 0;

  Ps latency() const {
    Ps sum = 0;
    for (const Link& link : links) sum += link.latency;
    return sum;
  }
};

/// From PE to PE, straight from the rules: the mesh of the sender's cube to its neighbour or to
/// router 0, the ring of cubes to cube 0 or the receiver's, the ring of SIPs, and back down.
std::vector<Leg> way(const arch::TopologyConfig& topology, std::uint32_t from, std::uint32_t to,
                     std::uint64_t bytes);
/// The same, added up: stored and forwarded from network to network.
Ps way_ps(const arch::TopologyConfig& topology, std::uint32_t from, std::uint32_t to,
          std::uint64_t bytes);
/// Latencies alone, which a credit takes.
Ps latency_ps(const arch::TopologyConfig& topology, std::uint32_t from, std::uint32_t to);

/// When things happen to programs of loads, stores, MATH, sends and receives, computed from the
/// formulas of contract 6 and 7 and the rules of PE_IPCQ and of links, and nothing of the model.
/// One line a stage, `start end pe stage cmd slot`, sorted; of dispatch, dma_read, dma_write, math,
/// send and recv. Throws std::logic_error for a command that it does not know, or if the programs
/// do not end.
std::vector<std::string> stage_times(const arch::TopologyConfig& topology,
                                     const std::vector<Compiled>& programs);
/// The same lines of an op log.
std::vector<std::string> stage_times(const std::vector<OpLogRow>& rows);

}  // namespace kernbench::test
