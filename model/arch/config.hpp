// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "model/arch/rational.hpp"
#include "tlm_if/command/op_table.hpp"

namespace kernbench::arch {

// The resolved configuration: what modules see, const. The file as written, its keys, ranges and
// messages are in topology_file.hpp. Every field is a key of contract 9 under the same name.

struct CostModelConfig {
  std::uint64_t fixed_cycles = 40;
  Rational cycles_per_byte{1, 16};
  std::uint64_t max_composite_logical_bytes = 1024;
};

struct CpuConfig {
  std::uint32_t cmd_queue_depth = 16;
};

/// What makes a head wait that conflicts with a command in flight (R7.1, R7.2).
enum class RwPolicy : std::uint8_t { overlap, drain_all };

/// What makes two commands conflict: the bytes they touch, or the rw_handles ids of composites
/// (R7.3, kept to study what it misses).
enum class RwMatch : std::uint8_t { range, handle_id };

struct SchedulerConfig {
  RwPolicy rw_policy = RwPolicy::overlap;
  RwMatch rw_match = RwMatch::range;
  std::uint32_t tile_buffers = 3;
  std::uint32_t max_inflight_composites = 4;
  bool math_head_from_hbm = false;  ///< R5.5
};

struct DmaConfig {
  std::uint32_t read_channels = 1;
  std::uint32_t write_channels = 1;
  std::uint64_t setup_cycles = 16;
  std::uint32_t burst_bytes = 4096;
  std::uint64_t max_outstanding_bytes = 32768;  ///< per channel, issue to response
};

struct TcmConfig {
  std::uint64_t bytes = 1048576;
  std::uint64_t bytes_per_cycle = 512;
  std::uint64_t scratch_bytes = 131072;
};

enum class GemmModel : std::uint8_t { block, systolic_ws, systolic_os };

struct GemmConfig {
  GemmModel model = GemmModel::block;
  std::uint64_t block_m = 8, block_k = 16, block_n = 16;
  std::uint64_t rows = 16, cols = 16;
  std::uint64_t fill_cycles = 0;
  std::int64_t tile_m = 8, tile_k = 128, tile_n = 128;
};

struct MathConfig {
  std::uint64_t lanes = 64;
  std::uint64_t fixed_cycles = 0;
  /// Lane-loads per cycle of each op, by OpKind; 1 unless set.
  std::array<Rational, command::kOpKinds> op_rate = [] {
    std::array<Rational, command::kOpKinds> rates;
    rates.fill(Rational(1));
    return rates;
  }();
};

struct PeConfig {
  Rational clock_ghz{1};
  CostModelConfig pe_cost_model;
  CpuConfig cpu;
  SchedulerConfig scheduler;
  DmaConfig dma;
  TcmConfig tcm;
  GemmConfig gemm;
  MathConfig math;
  /// Bytes of the memory behind the DMA port: the range that it accepts (R3.4).
  std::uint64_t hbm_bytes = 4831838208;

  /// TCM bytes of one tile buffer: an A and a B tile of 2-byte entries, A first.
  std::uint64_t tile_buffer_bytes() const {
    return static_cast<std::uint64_t>(gemm.tile_m * gemm.tile_k + gemm.tile_k * gemm.tile_n) * 2;
  }
};

struct HbmConfig {
  Rational gbps{128};  ///< 1 GB/s = 1e9 bytes/s
  Rational latency_ns{100};
  Rational efficiency{1};
  std::uint64_t bytes = 4831838208;
};

struct TopologyConfig {
  std::string name;
  std::uint32_t sips = 1;
  std::uint32_t cubes_per_sip = 1;
  std::uint32_t pes_per_cube = 1;
  PeConfig pe;
  HbmConfig hbm;
};

}  // namespace kernbench::arch
