// SPDX-License-Identifier: Apache-2.0
#include "model/record/pe_scope.hpp"

namespace kernbench::record {

std::vector<PeScope> scopes_of(const arch::TopologyConfig& topology) {
  std::vector<PeScope> scopes(topology.pes());
  for (std::uint32_t number = 0; number < topology.pes(); ++number) {
    PeScope& scope = scopes[number];
    scope.number = number;
    scope.name = pe_name(topology, number);
    scope.memory = scope.name.substr(0, scope.name.rfind('.') + 1) + "hbm";
    scope.read_channels = topology.pe.dma.read_channels;
    scope.write_channels = topology.pe.dma.write_channels;
    scope.ipcq = topology.pes() > 1;
  }
  return scopes;
}

}  // namespace kernbench::record
