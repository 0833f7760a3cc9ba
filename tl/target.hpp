// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "tlm_if/command/limits.hpp"

namespace kernbench::tl {

/// What the compiler knows about the PE for which it compiles (R4.3).
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
  /// The id of this program and the number of programs, per axis.
  std::array<command::Index, 3> program_id{0, 0, 0};
  std::array<command::Index, 3> num_programs{1, 1, 1};
  /// The machine around it.
  command::Index sips = 1, cubes_per_sip = 1, pes_per_cube = 1;
  /// The PE that runs each program, in row-major order of the program ids.
  std::vector<std::uint32_t> pes{0};
  /// Channels between two PEs.
  std::uint32_t ipcq_channels = 4;

  /// This PE's program, and how many there are, in row-major order of the program ids.
  command::Index program() const {
    return (program_id[0] * num_programs[1] + program_id[1]) * num_programs[2] + program_id[2];
  }
  command::Index programs() const { return num_programs[0] * num_programs[1] * num_programs[2]; }

  /// Bytes of one tile buffer: an A and a B tile of 2-byte entries.
  std::uint64_t tile_buffer_bytes() const {
    return static_cast<std::uint64_t>(tile_m * tile_k + tile_k * tile_n) * 2;
  }

  /// What finished commands are checked against.
  command::Limits limits() const {
    command::Limits limits;
    limits.hbm_bytes = hbm_bytes;
    limits.scratch = {scratch_base, scratch_base + scratch_bytes};
    limits.tile_m = tile_m;
    limits.tile_k = tile_k;
    limits.tile_n = tile_n;
    limits.tile_buffer_bytes = tile_buffer_bytes();
    limits.math_head_from_hbm = math_head_from_hbm;
    limits.pes = static_cast<std::uint32_t>(sips * cubes_per_sip * pes_per_cube);
    for (const std::uint32_t pe : pes) limits.pes = std::max(limits.pes, pe + 1);
    limits.ipcq_channels = ipcq_channels;
    return limits;
  }
};

}  // namespace kernbench::tl
