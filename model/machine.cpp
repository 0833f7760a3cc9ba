// SPDX-License-Identifier: Apache-2.0
#include "model/machine.hpp"

#include <algorithm>

#include "model/arch/config_check.hpp"

namespace kernbench {

Machine::Machine(const arch::TopologyConfig& topology, const MachineOptions& options) {
  arch::check_config("machine", topology);
  if (topology.cubes() == 1) {
    only_cube_ = std::make_unique<Cube>(topology, 0, options);
    add("", *only_cube_);
    return;
  }
  const std::uint32_t sips = topology.sips, cubes = topology.cubes_per_sip;
  if (sips > 1) {
    sip_link_ = std::make_unique<Fabric>(
        "sip_link", arch::Network::ring(topology.sip_link, sips, "s", false),
        arch::NetworkOrder(topology).sip_link(),
        [pes = cubes * topology.pes_per_cube](const Packet& packet) { return packet.index / pes; });
  }
  sips_.resize(sips);
  for (std::uint32_t i = 0; i < sips; ++i) {
    const std::uint32_t index = options.reverse_creation ? sips - 1 - i : i;
    sips_[index] =
        std::make_unique<Sip>(("sip" + std::to_string(index)).c_str(), topology, index, options);
    if (sip_link_ == nullptr) continue;
    Sip& sip = *sips_[index];
    sip.d2d().out(sip.sip_endpoint()).bind(sip_link_->in(index));
    sip_link_->out(index).bind(sip.d2d().in(sip.sip_endpoint()));
  }
  for (std::uint32_t i = 0; i < sips; ++i) {
    const std::string name = "sip" + std::to_string(i);
    for (std::uint32_t j = 0; j < cubes; ++j) {
      add(name + ".cube" + std::to_string(j) + ".", sips_[i]->cube(j));
    }
    fabrics_.emplace_back(name + ".d2d.", &sips_[i]->d2d());
  }
  if (sip_link_ != nullptr) fabrics_.emplace_back("sip_link.", sip_link_.get());
}

void Machine::add(const std::string& prefix, Cube& cube) {
  cubes_.emplace_back(prefix, &cube);
  for (std::uint32_t i = 0; i < cube.pes(); ++i) pes_.push_back(&cube.pe(i));
  if (cube.noc() != nullptr) fabrics_.emplace_back(prefix + "noc.", cube.noc());
}

std::vector<LinkStatistics> Machine::links() const {
  std::vector<LinkStatistics> all;
  for (const auto& [prefix, fabric] : fabrics_) {
    for (LinkStatistics link : fabric->links()) {
      link.name = prefix + link.name;
      all.push_back(std::move(link));
    }
  }
  return all;
}

std::vector<std::pair<std::string, MemoryTotals>> Machine::memories() const {
  std::vector<std::pair<std::string, MemoryTotals>> all;
  for (const auto& [prefix, cube] : cubes_) {
    for (const auto& [name, totals] : cube->memories()) all.emplace_back(prefix + name, totals);
  }
  return all;
}

bool Machine::links_idle() const {
  return std::all_of(fabrics_.begin(), fabrics_.end(),
                     [](const auto& fabric) { return fabric.second->idle(); });
}

}  // namespace kernbench
