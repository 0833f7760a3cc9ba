// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/sip.hpp"

namespace kernbench {

/// All that a topology describes: SIPs (systems in package) on a ring of links, cubes in SIPs, PEs
/// in cubes. Not an sc_module: its modules are children of the module under construction. For a
/// single cube these are the cube's modules, otherwise `sipS` and `sip_link`.
class Machine {
 public:
  /// Throws InputError if a field of `topology` is outside the range of its key, or keys do not fit
  /// each other.
  Machine(const arch::TopologyConfig& topology, const MachineOptions& options);

  /// By number in the design: (sip * cubes_per_sip + cube) * pes_per_cube + pe.
  const std::vector<Pe*>& pes() const { return pes_; }
  Pe& pe(std::uint32_t number) const { return *pes_[number]; }
  /// What each link has carried, named after its network: `sip0.cube1.noc.n0_n1`.
  std::vector<LinkStatistics> links() const;
  /// What each embedded memory has served, with names like `hbm` and `sip0.cube1.hbm.channel3`.
  std::vector<std::pair<std::string, MemoryTotals>> memories() const;
  /// No packet is in flight.
  bool links_idle() const;

 private:
  void add(const std::string& prefix, Cube& cube);

  std::unique_ptr<Cube> only_cube_;
  std::vector<std::unique_ptr<Sip>> sips_;
  std::unique_ptr<Fabric> sip_link_;
  std::vector<Pe*> pes_;
  std::vector<std::pair<std::string, Cube*>> cubes_;      // with the prefix of their names
  std::vector<std::pair<std::string, Fabric*>> fabrics_;  // with prefixes too
};

}  // namespace kernbench
