// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/arch/config.hpp"
#include "model/arch/timing.hpp"

namespace kernbench::arch {

/// The endpoints of a cube's NoC, numbered from 0: PE_IPCQ of each PE, the memory port of each PE
/// and the HBM channels (only where the channels are behind the NoC), last the link to other cubes.
struct CubeEndpoints {
  std::uint32_t pes;
  std::uint32_t channels;  ///< 0: each PE has its memory to itself, no port of it is on the NoC

  std::uint32_t ipcq(std::uint32_t pe) const { return pe; }
  std::uint32_t memory(std::uint32_t pe) const { return pes + pe; }
  std::uint32_t channel(std::uint32_t index) const { return 2 * pes + index; }
  std::uint32_t d2d() const { return channels == 0 ? pes : 2 * pes + channels; }
  std::uint32_t count() const { return d2d() + 1; }
};

/// The order in which the networks of a design settle: the NoCs by cube, the rings of the SIPs by
/// SIP, the ring between SIPs.
struct NetworkOrder {
  std::uint32_t cubes;  ///< in the design
  std::uint32_t sips;

  explicit NetworkOrder(const TopologyConfig& topology)
      : cubes(topology.cubes()), sips(topology.sips) {}
  static std::uint32_t noc(std::uint32_t cube) { return cube; }
  std::uint32_t d2d(std::uint32_t sip) const { return cubes + sip; }
  std::uint32_t sip_ring() const { return cubes + sips; }
};

/// One direction of a connection.
struct NetworkLink {
  std::string name;     ///< from_to: `ipcq3_n3`, `n3_n2`, `n2_channel2`, `c0_c1`
  std::uint32_t to;     ///< vertex at its end
  Picoseconds latency;  ///< of the head, from its start on this link to its arrival at the next
};

/// Links, all of one rate, and the ways over them: a pure description (no SystemC). Virtual
/// cut-through: a packet's head goes on while its tail follows, so a way of links 1 .. h takes
/// sum(latency) + service(bytes) when nothing else is under way. From network to network packets
/// are stored and forwarded.
class Network {
 public:
  /// No further link: the packet is at its endpoint.
  static constexpr std::uint32_t kArrived = ~std::uint32_t{0};

  /// The NoC of a cube with the endpoints CubeEndpoints{pes, channels}: PE i at router i, channel c
  /// at router c * routers / channels, the link to other cubes at router 0; router r at column
  /// r % cols of row r / cols. The way is along the row first (XY). Throws InputError if the mesh
  /// has fewer routers than PEs.
  static Network mesh(const NocConfig& config, const Rational& clock_ghz, std::uint32_t pes,
                      std::uint32_t channels);
  /// Nodes 0 .. nodes - 1 with a link each way between neighbours, endpoint i at node i; the
  /// shorter way, of two equal ones the ascending. `gateway`: a further endpoint, number `nodes`,
  /// at node 0. Links are named prefixI_prefixJ.
  static Network ring(const RingConfig& config, std::uint32_t nodes, const std::string& prefix,
                      bool gateway);

  const std::vector<NetworkLink>& links() const { return links_; }
  std::uint32_t endpoints() const { return static_cast<std::uint32_t>(vertex_.size()); }

  /// The first link of the way, or kArrived: endpoints of one place have no link in between.
  std::uint32_t first(std::uint32_t from, std::uint32_t to) const {
    return route(vertex_[from], to);
  }
  /// The link after `link`, or kArrived.
  std::uint32_t next(std::uint32_t link, std::uint32_t to) const {
    return route(links_[link].to, to);
  }
  /// Indices into links(), in order; none from an endpoint to another of the same place.
  std::vector<std::uint32_t> path(std::uint32_t from, std::uint32_t to) const;

  /// Time for which a packet occupies a link: at least 1 ps, 0 for a packet of 0 bytes.
  Picoseconds service(std::uint64_t bytes) const;
  /// Sum of the latencies of the way.
  Picoseconds latency(std::uint32_t from, std::uint32_t to) const;
  /// From the first byte at `from` to the last at `to`, nothing else being under way.
  Picoseconds unloaded(std::uint32_t from, std::uint32_t to, std::uint64_t bytes) const;

 private:
  Network(const Rational& ps_per_unit, std::uint64_t unit_bytes)
      : unit_time_(ps_per_unit), unit_bytes_(unit_bytes) {}

  std::uint32_t add_link(std::string name, std::uint32_t to, Picoseconds latency);
  std::uint32_t route(std::uint32_t vertex, std::uint32_t to) const {
    return routes_[std::size_t{vertex} * vertex_.size() + to];
  }

  ExactScale unit_time_;      // of so many units, in ps
  std::uint64_t unit_bytes_;  // a part of a unit takes as long as a whole one
  std::vector<NetworkLink> links_;
  std::vector<std::uint32_t> vertex_;  // of each endpoint
  std::vector<std::uint32_t> routes_;  // vertex x endpoint -> link or kArrived
};

}  // namespace kernbench::arch
