// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "model/cube.hpp"
#include "model/fabric.hpp"

namespace kernbench {

/// A SIP (system in package): cubes on a ring of UCIe links. Its modules are `cubeC` and `d2d` (die
/// to die).
class Sip : public sc_core::sc_module {
 public:
  /// `sip`: its number in the design.
  Sip(const sc_core::sc_module_name& name, const arch::TopologyConfig& topology, std::uint32_t sip,
      const MachineOptions& options);
  ~Sip() override;

  Cube& cube(std::uint32_t index);
  /// Endpoint i is cube i; the last is the link to other SIPs, at cube 0.
  Fabric& d2d() { return d2d_; }
  std::uint32_t sip_endpoint() const { return static_cast<std::uint32_t>(cubes_.size()); }

 private:
  class CubeModule;
  std::vector<std::unique_ptr<CubeModule>> cubes_;
  Fabric d2d_;
};

}  // namespace kernbench
