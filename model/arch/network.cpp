// SPDX-License-Identifier: Apache-2.0
#include "model/arch/network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "tlm_if/command/error.hpp"

namespace kernbench::arch {
namespace {

/// Where an endpoint is attached to the mesh.
struct Place {
  std::string name;
  std::uint32_t router;
};

/// Of each endpoint.
std::vector<Place> places_of(const CubeEndpoints& ends, std::uint32_t routers) {
  std::vector<Place> places(ends.count());
  for (std::uint32_t pe = 0; pe < ends.pes; ++pe) {
    places[ends.ipcq(pe)] = {fmt::format("ipcq{}", pe), pe};
    if (ends.channels > 0) places[ends.memory(pe)] = {fmt::format("memory{}", pe), pe};
  }
  for (std::uint32_t i = 0; i < ends.channels; ++i) {
    const auto router = static_cast<std::uint32_t>(std::uint64_t{i} * routers / ends.channels);
    places[ends.channel(i)] = {fmt::format("channel{}", i), router};
  }
  places[ends.d2d()] = {"d2d", 0};
  return places;
}

enum Direction : std::uint8_t { east, west, south, north };

/// The direction of the next hop from one router to another in a mesh of `cols` columns: along the
/// row first.
Direction towards(std::uint32_t router, std::uint32_t target, std::uint32_t cols) {
  const std::uint32_t col = router % cols, target_col = target % cols;
  if (col != target_col) return col < target_col ? east : west;
  return router < target ? south : north;
}

}  // namespace

Network Network::mesh(const NocConfig& config, const Rational& clock_ghz, std::uint32_t pes,
                      std::uint32_t channels) {
  const std::uint32_t routers = config.cols * config.rows;
  if (routers < pes || routers == 0) {
    throw InputError(fmt::format(
        "noc: a mesh of cols = {} by rows = {} has {} routers for {} PEs; each PE needs "
        "one of its own: raise noc.cols or noc.rows, or lower pes_per_cube",
        config.cols, config.rows, routers, pes));
  }
  const Rational period = Rational(1000) / clock_ghz;
  const Picoseconds niu = ExactScale(period).rounded(config.niu_cycles);
  const Picoseconds hop = ExactScale(period).rounded(config.hop_cycles);
  const CubeEndpoints ends{pes, channels};
  Network network(period, config.bytes_per_cycle);

  const std::vector<Place> places = places_of(ends, routers);

  // Vertices: the endpoints, then the routers.
  const std::uint32_t endpoints = ends.count();
  std::vector<std::uint32_t> entry(endpoints);
  std::vector<std::uint32_t> leave(endpoints);
  for (std::uint32_t e = 0; e < endpoints; ++e) {
    const auto& [name, router] = places[e];
    network.vertex_.push_back(e);
    entry[e] = network.add_link(fmt::format("{}_n{}", name, router), endpoints + router, niu);
    leave[e] = network.add_link(fmt::format("n{}_{}", router, name), e, niu);
  }
  std::vector<std::array<std::uint32_t, 4>> neighbour(routers);  // links to them
  for (std::uint32_t r = 0; r < routers; ++r) {
    const auto connect = [&](Direction direction, std::uint32_t other) {
      neighbour[r].at(direction) =
          network.add_link(fmt::format("n{}_n{}", r, other), endpoints + other, hop);
    };
    const std::uint32_t col = r % config.cols;
    if (col + 1 < config.cols) connect(east, r + 1);
    if (col > 0) connect(west, r - 1);
    if (r + config.cols < routers) connect(south, r + config.cols);
    if (r >= config.cols) connect(north, r - config.cols);
  }

  for (std::uint32_t from = 0; from < endpoints; ++from) {
    for (std::uint32_t to = 0; to < endpoints; ++to) {
      network.routes_.push_back(from == to ? kArrived : entry[from]);
    }
  }
  for (std::uint32_t r = 0; r < routers; ++r) {
    for (std::uint32_t to = 0; to < endpoints; ++to) {
      const std::uint32_t target = places[to].router;
      network.routes_.push_back(r == target ? leave[to]
                                            : neighbour[r].at(towards(r, target, config.cols)));
    }
  }
  return network;
}

Network Network::ring(const RingConfig& config, std::uint32_t nodes, const std::string& prefix,
                      bool gateway) {
  Network network(Rational(1000) / config.gbps, 1);
  const Picoseconds latency = ExactScale(config.latency_ns).rounded(1000);
  std::vector<std::uint32_t> up(nodes, kArrived);
  std::vector<std::uint32_t> down(nodes, kArrived);
  const auto connect = [&](std::uint32_t node, std::uint32_t other) {
    return network.add_link(fmt::format("{0}{1}_{0}{2}", prefix, node, other), other, latency);
  };
  for (std::uint32_t node = 0; node < nodes; ++node) {
    network.vertex_.push_back(node);
    if (nodes > 1) up[node] = connect(node, (node + 1) % nodes);
    if (nodes > 2) down[node] = connect(node, (node + nodes - 1) % nodes);
  }
  if (gateway) network.vertex_.push_back(0);
  for (std::uint32_t node = 0; node < nodes; ++node) {
    for (const std::uint32_t target : network.vertex_) {
      const std::uint32_t ascending = (target + nodes - node) % nodes;
      std::uint32_t link = kArrived;
      if (ascending > 0) link = ascending <= nodes - ascending ? up[node] : down[node];
      network.routes_.push_back(link);
    }
  }
  return network;
}

std::uint32_t Network::add_link(std::string name, std::uint32_t to, Picoseconds latency) {
  links_.push_back({std::move(name), to, latency});
  return static_cast<std::uint32_t>(links_.size() - 1);
}

Picoseconds Network::service(std::uint64_t bytes) const {
  if (bytes == 0) return 0;
  return std::max<Picoseconds>(
      1, unit_time_.rounded(bytes / unit_bytes_ + (bytes % unit_bytes_ != 0 ? 1 : 0)));
}

Picoseconds Network::latency(std::uint32_t from, std::uint32_t to) const {
  Picoseconds sum = 0;
  for (std::uint32_t link = first(from, to); link != kArrived; link = next(link, to)) {
    sum += links_[link].latency;
  }
  return sum;
}

}  // namespace kernbench::arch
