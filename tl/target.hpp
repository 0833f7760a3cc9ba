// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "tlm_if/command/address_map.hpp"
#include "tlm_if/command/tensor_handle.hpp"

namespace kernbench::tl {

/// What the compiler knows of the PE it compiles for (R4.3).
struct Target {
  command::Address scratch_base = command::kTcmBase;
  std::uint64_t scratch_bytes = 131072;
  std::uint64_t tcm_bytes = 1048576;
  std::uint64_t hbm_bytes = 4831838208;
  command::Index tile_m = 8;
  command::Index tile_k = 128;
  command::Index tile_n = 128;
  /// Op 0 of a composite without a gemm may have operands in HBM (R5.5).
  bool math_head_from_hbm = false;
  /// Which shard this PE is, and of how many, per axis.
  std::array<command::Index, 3> program_id{0, 0, 0};
  std::array<command::Index, 3> num_programs{1, 1, 1};

  /// Bytes of one tile buffer: an A and a B tile of 2-byte entries.
  std::uint64_t tile_buffer_bytes() const {
    return static_cast<std::uint64_t>(tile_m * tile_k + tile_k * tile_n) * 2;
  }
};

}  // namespace kernbench::tl
