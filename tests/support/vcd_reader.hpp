// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kernbench::test {

/// No value: x.
using VcdValue = std::optional<std::uint64_t>;

struct VcdChange {
  std::uint64_t time = 0;
  VcdValue value;
};

struct VcdVariable {
  unsigned width = 1;
  std::vector<VcdChange> changes;  ///< the initial value first, at time 0
  VcdValue at(std::uint64_t time) const;
};

/// A stage, stall or wait read back from the waveform. Indices that do not apply are -1.
struct VcdStage {
  std::uint64_t start = 0, end = 0;
  std::string state;  ///< of a cpu: dispatch, queue_stall, wait
  std::int64_t cmd = -1;
  std::string op, operand;  ///< names, by the code tables in the file's comment
  std::int64_t tile_m = -1, tile_n = -1, tile_k = -1;
  std::int64_t slot = -1, peer = -1, channel = -1;  ///< of an ipcq
  std::optional<std::uint64_t> addr;
  std::uint64_t bytes = 0;
};

/// A parsed value change dump (IEEE 1364-2005, 18.2).
struct VcdFile {
  std::string comment;
  std::string timescale;
  std::map<std::string, VcdVariable> variables;  ///< by full path: `pe0.dma_rd.busy`
  std::uint64_t end = 0;                         ///< the last timestamp
  bool has_date = false, has_version = false;

  const VcdVariable& variable(const std::string& path) const;
  /// The intervals of one scope, for example `pe0.dma_rd`, by its busy, state or blocked variable
  /// and by seq. Throws if seq jumps, or a stage starts while none is shown as active.
  std::vector<VcdStage> stages(const std::string& scope) const;
};

/// Throws std::runtime_error for what is not a well-formed, change-only dump: an unknown or
/// repeated identifier, a scope that is opened twice, a value before the definitions end, wider
/// than its variable or unchanged, a second change in one instant, time going back or standing
/// still, a variable without initial value, a missing newline at the end.
VcdFile parse_vcd(std::string_view text);
VcdFile read_vcd(const std::string& path);

}  // namespace kernbench::test
