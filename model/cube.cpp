// SPDX-License-Identifier: Apache-2.0
#include "model/cube.hpp"

#include <string>

namespace kernbench {
namespace {

/// A user's own memory has the PE's port to itself, so nothing is interleaved.
bool interleaved(const arch::TopologyConfig& topology, const MachineOptions& options) {
  return topology.hbm.map == arch::HbmMap::interleaved && !options.memory;
}

std::unique_ptr<Fabric> make_noc(const arch::TopologyConfig& topology, std::uint32_t cube,
                                 const arch::CubeEndpoints& endpoints) {
  const std::uint32_t pes = topology.pes_per_cube;
  return std::make_unique<Fabric>(
      "noc",
      arch::Network::mesh(topology.noc, topology.pe.clock_ghz, endpoints.pes, endpoints.channels),
      arch::NetworkOrder::noc(cube), [endpoints, cube, pes](const Packet& packet) {
        switch (packet.to) {
          case Packet::To::memory:
            return endpoints.memory(packet.index % pes);
          case Packet::To::channel:
            return endpoints.channel(packet.index);
          case Packet::To::ipcq:
            break;
        }
        return packet.index / pes == cube ? endpoints.ipcq(packet.index % pes) : endpoints.d2d();
      });
}

}  // namespace

Cube::Cube(const arch::TopologyConfig& topology, std::uint32_t cube, const MachineOptions& options)
    : endpoints_{topology.pes_per_cube, interleaved(topology, options) ? topology.hbm.channels : 0},
      memories_(topology.pes_per_cube),
      monitors_(topology.pes_per_cube),
      pes_(topology.pes_per_cube) {
  const std::uint32_t first_pe = cube * pes();
  if (topology.pes() > 1 || endpoints_.channels > 0) noc_ = make_noc(topology, cube, endpoints_);
  if (endpoints_.channels > 0) {
    stack_ = std::make_unique<InterleavedHbm>("hbm", topology, cube, *noc_, options.data,
                                              options.reverse_creation);
  }
  const arch::PeConfig pe_config = topology.pe_config();
  for (std::uint32_t i = 0; i < pes(); ++i) {
    const std::uint32_t pe = options.reverse_creation ? pes() - 1 - i : i;
    pes_[pe] = std::make_unique<Pe>(("pe" + std::to_string(pe)).c_str(), pe_config, first_pe + pe);
    if (stack_ != nullptr) {
      pes_[pe]->memory.bind(stack_->port(pe));
    } else {
      add_memory(topology, pe, options);
    }
    if (noc_ == nullptr) continue;
    pes_[pe]->ipcq_out.bind(noc_->in(endpoints_.ipcq(pe)));
    noc_->out(endpoints_.ipcq(pe)).bind(pes_[pe]->ipcq_in);
  }
}

void Cube::add_memory(const arch::TopologyConfig& topology, std::uint32_t pe,
                      const MachineOptions& options) {
  const std::string number = pes() == 1 ? "" : std::to_string(pe);
  const std::string name = "hbm" + number;
  tlm::tlm_initiator_socket<32>* socket = &pes_[pe]->memory;
  if (topology.check_protocol) {
    monitors_[pe] = std::make_unique<BaseProtocolMonitor>(
        ("monitor" + number).c_str(), BaseProtocolMonitor::Checks::with_port_rules,
        BaseProtocolMonitor::OnViolation::report);
    socket->bind(monitors_[pe]->upstream);
    socket = &monitors_[pe]->downstream;
  }
  if (options.memory) {
    memories_[pe] = options.memory(name.c_str(), *socket);
    return;
  }
  auto hbm = std::make_unique<EmbeddedHbm>(name.c_str(), topology.pe_slice(), 1, options.data,
                                           pes_[pe]->index());
  socket->bind(hbm->port(0));
  memories_[pe] = std::move(hbm);
}

std::vector<std::pair<std::string, MemoryTotals>> Cube::memories() const {
  std::vector<std::pair<std::string, MemoryTotals>> all;
  for (std::uint32_t i = 0; stack_ != nullptr && i < stack_->channels(); ++i) {
    const EmbeddedHbm& channel = stack_->channel(i);
    all.emplace_back("hbm." + std::string(channel.basename()), channel.totals());
  }
  for (const auto& memory : memories_) {
    const auto* hbm = dynamic_cast<const EmbeddedHbm*>(memory.get());
    if (hbm != nullptr) all.emplace_back(hbm->basename(), hbm->totals());
  }
  return all;
}

}  // namespace kernbench
