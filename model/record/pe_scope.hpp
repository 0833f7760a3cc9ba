// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/arch/config.hpp"

namespace kernbench::record {

/// A PE as shown in waveform and trace.
struct PeScope {
  std::uint32_t number = 0;  ///< StageRecord::pe
  std::string name;          ///< path of scopes: `pe3`, `sip0.cube1.pe3`
  /// Path of the scope that counts the accesses of its memory; PEs may share one.
  std::string memory;
  std::uint32_t read_channels = 1, write_channels = 1;
  bool ipcq = false;  ///< the design has other PEs
  bool shown = true;  ///< in the waveform; accesses of a PE that is not shown still count in its
                      ///< memory's scope
};

/// The PEs of a design, by number. A memory is the `hbm` beside the PEs of its cube.
std::vector<PeScope> scopes_of(const arch::TopologyConfig& topology);

}  // namespace kernbench::record
