// SPDX-License-Identifier: Apache-2.0
#include "model/sip.hpp"

#include <string>

namespace kernbench {

/// The module below which a cube's modules are named.
class Sip::CubeModule : public sc_core::sc_module {
 public:
  CubeModule(const sc_core::sc_module_name& name, const arch::TopologyConfig& topology,
             std::uint32_t cube_number, const MachineOptions& options)
      : sc_module(name), cube(topology, cube_number, options) {}

  Cube cube;
};

Sip::Sip(const sc_core::sc_module_name& name, const arch::TopologyConfig& topology,
         std::uint32_t sip, const MachineOptions& options)
    : sc_module(name),
      cubes_(topology.cubes_per_sip),
      d2d_(
          "d2d", arch::Network::ring(topology.d2d, topology.cubes_per_sip, "c", true),
          arch::NetworkOrder(topology).d2d(sip),
          [sip, cubes = topology.cubes_per_sip, pes = topology.pes_per_cube](const Packet& packet) {
            const std::uint32_t cube = packet.index / pes;
            return cube / cubes == sip ? cube % cubes : cubes;
          }) {
  for (std::uint32_t i = 0; i < topology.cubes_per_sip; ++i) {
    const std::uint32_t index = options.reverse_creation ? topology.cubes_per_sip - 1 - i : i;
    cubes_[index] = std::make_unique<CubeModule>(("cube" + std::to_string(index)).c_str(), topology,
                                                 sip * topology.cubes_per_sip + index, options);
    Cube& cube = cubes_[index]->cube;
    cube.noc()->out(cube.d2d_endpoint()).bind(d2d_.in(index));
    d2d_.out(index).bind(cube.noc()->in(cube.d2d_endpoint()));
  }
}

Sip::~Sip() = default;

Cube& Sip::cube(std::uint32_t index) { return cubes_[index]->cube; }

}  // namespace kernbench
