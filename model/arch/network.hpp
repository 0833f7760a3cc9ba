// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/arch/config.hpp"
#include "model/arch/timing.hpp"

namespace kernbench::arch {

/// The endpoints of a cube's NoC, numbered from 0: PE_IPCQ of each PE; the memory port of each PE
/// and the HBM channels, if the channels are behind the NoC; last the link to other cubes.
struct CubeEndpoints {
  std::uint32_t pes;
  std::uint32_t channels;  ///< 0: each PE has its own memory, and no memory port is on the NoC

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
  std::uint32_t sip_link() const { return cubes + sips; }
};

/// One direction of a connection.
struct NetworkLink {
  std::string name;     ///< from_to: `ipcq3_n3`, `n3_n2`, `n2_channel2`, `c0_c1`
  std::uint32_t to;     ///< vertex at its end
  Picoseconds latency;  ///< of the head, from its start on this link to its arrival at the next one
};

/// Links, all of one rate, and the routes over them: a pure description without SystemC. With
/// virtual cut-through a packet's head moves on while its tail follows, so an unloaded route over
/// links 1 .. h takes sum(latency) + service(bytes). From network to network packets are stored and
/// forwarded.
class Network {
 public:
  /// There is no further link: the packet is at its endpoint.
  static constexpr std::uint32_t kArrived = ~std::uint32_t{0};

  /// The NoC of a cube with the endpoints CubeEndpoints{pes, channels}: PE i is at router i,
  /// channel c at router c * routers / channels, the link to other cubes at router 0, and router r
  /// at column r % cols of row r / cols. Routes go along the row first (XY routing). Throws
  /// InputError if the mesh has fewer routers than PEs.
  static Network mesh(const NocConfig& config, const Rational& clock_ghz, std::uint32_t pes,
                      std::uint32_t channels);
  /// Nodes 0 .. nodes - 1 with one link per direction between neighbours; endpoint i is at node i.
  /// Packets take the shorter direction, or the ascending one if both are equal. `gateway`: a
  /// further endpoint, number `nodes`, at node 0. Links are named prefixI_prefixJ.
  static Network ring(const RingConfig& config, std::uint32_t nodes, const std::string& prefix,
                      bool gateway);

  const std::vector<NetworkLink>& links() const { return links_; }
  std::uint32_t endpoints() const { return static_cast<std::uint32_t>(vertex_.size()); }

  /// The first link of the route, or kArrived if both endpoints are at one place, with no link
  /// between them.
  std::uint32_t first(std::uint32_t from, std::uint32_t to) const {
    return route(vertex_[from], to);
  }
  /// The link after `link`, or kArrived.
  std::uint32_t next(std::uint32_t link, std::uint32_t to) const {
    return route(links_[link].to, to);
  }

  /// Time for which a packet occupies a link: at least 1 ps, 0 for a packet of 0 bytes.
  Picoseconds service(std::uint64_t bytes) const;
  /// Sum of the latencies of the route.
  Picoseconds latency(std::uint32_t from, std::uint32_t to) const;

 private:
  Network(const Rational& ps_per_unit, std::uint64_t unit_bytes)
      : unit_time_(ps_per_unit), unit_bytes_(unit_bytes) {}

  std::uint32_t add_link(std::string name, std::uint32_t to, Picoseconds latency);
  std::uint32_t route(std::uint32_t vertex, std::uint32_t to) const {
    return routes_[std::size_t{vertex} * vertex_.size() + to];
  }

  ExactScale unit_time_;      // ps for a number of units
  std::uint64_t unit_bytes_;  // a partial unit takes as long as a whole one
  std::vector<NetworkLink> links_;
  std::vector<std::uint32_t> vertex_;  // of each endpoint
  std::vector<std::uint32_t> routes_;  // vertex x endpoint -> link or kArrived
};

}  // namespace kernbench::arch
