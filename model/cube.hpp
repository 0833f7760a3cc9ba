// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/arch/config.hpp"
#include "model/embedded_hbm.hpp"
#include "model/fabric.hpp"
#include "model/interleaved_hbm.hpp"
#include "model/pe.hpp"
#include "tlm_if/base_protocol_monitor.hpp"

namespace kernbench {

/// Creates a memory of that name as a child of the module under construction, and binds it to the
/// given socket, which is that of the PE or of the monitor in front of the memory. In data mode the
/// memory must answer transport_dbg.
using MemoryFactory = std::function<std::unique_ptr<sc_core::sc_module>(
    const char* name, tlm::tlm_initiator_socket<32>& pe_memory)>;

struct MachineOptions {
  bool data = false;
  /// Makes a memory for each PE, in place of the topology's memory; empty: the topology's.
  MemoryFactory memory = {};
  /// For tests: PEs, channels, cubes and SIPs are created in the reverse order. Results are the
  /// same.
  bool reverse_creation = false;
};

/// The PEs of a cube around its HBM, and the NoC (network on chip) between them if they share
/// anything. Not an sc_module: its modules `peN`, `hbm` (`hbmN`: the slice of PE N) and `noc` are
/// children of the module under construction. With check_protocol there is also `monitor`
/// (`monitorN`) between PE and slice.
class Cube {
 public:
  /// `cube`: its number in the design.
  Cube(const arch::TopologyConfig& topology, std::uint32_t cube, const MachineOptions& options);

  std::uint32_t pes() const { return static_cast<std::uint32_t>(pes_.size()); }
  Pe& pe(std::uint32_t index) { return *pes_[index]; }
  /// The embedded memories, by name: channels, or slices.
  std::vector<std::pair<std::string, MemoryTotals>> memories() const;
  /// Null for a single PE that has its HBM to itself.
  Fabric* noc() { return noc_.get(); }
  /// The endpoint of the NoC that leads to the other cubes.
  std::uint32_t d2d_endpoint() const { return endpoints_.d2d(); }

 private:
  void add_memory(const arch::TopologyConfig& topology, std::uint32_t pe,
                  const MachineOptions& options);

  const arch::CubeEndpoints endpoints_;
  std::unique_ptr<Fabric> noc_;
  std::unique_ptr<InterleavedHbm> stack_;                       // shared by all PEs
  std::vector<std::unique_ptr<sc_core::sc_module>> memories_;   // or one per PE
  std::vector<std::unique_ptr<BaseProtocolMonitor>> monitors_;  // null without check_protocol
  std::vector<std::unique_ptr<Pe>> pes_;
};

}  // namespace kernbench
