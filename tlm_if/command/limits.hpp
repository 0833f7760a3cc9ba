// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "tlm_if/command/tensor_handle.hpp"

namespace kernbench::command {

/// The limits of a PE, against which a command is checked before it is issued.
struct Limits {
  std::uint64_t hbm_bytes = 0;
  ByteRange scratch;  ///< the part of TCM for tensors; tile buffers follow
  Index tile_m = 1, tile_k = 1, tile_n = 1;
  std::uint64_t tile_buffer_bytes = 0;
  bool math_head_from_hbm = false;  ///< R5.5
  std::uint32_t pes = 1;            ///< number of PEs of the design, which IPCQ commands may name
  std::optional<std::uint32_t> pe;  ///< the PE's own number, which they may not name; empty: not
                                    ///< known
  std::uint32_t ipcq_channels = 1;
};

/// Largest number of cycles of one PeCpuOverheadCmd: 2^40 cycles are 18 minutes at 1 GHz. Times are
/// 64-bit numbers of picoseconds.
inline constexpr std::uint64_t kMaxOverheadCycles = std::uint64_t{1} << 40;
/// Largest number of tiles in each direction: tile numbers of the op log are signed 32-bit numbers.
inline constexpr Index kMaxTiles = (Index{1} << 31) - 1;

/// Number of region names for which a PE keeps statistics, over all its launches.
inline constexpr std::size_t kMaxRegions = 64;

}  // namespace kernbench::command
