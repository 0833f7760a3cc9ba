// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "model/arch/rational.hpp"
#include "tlm_if/command/op_table.hpp"

namespace kernbench::arch {

// The resolved configuration that modules get. topology_file.hpp reads it from a file; the keys and
// ranges are in topology_keys.hpp. Every field is the key of contract 9 with the same name, unless
// its comment says otherwise.

struct CostModelConfig {
  std::uint64_t fixed_cycles = 40;
  Rational cycles_per_byte{1, 16};
  std::uint64_t max_composite_logical_bytes = 1024;
};

struct CpuConfig {
  std::uint32_t cmd_queue_depth = 16;
  Rational launch_ns{0};  ///< once per launch and PE, before the kernel's first command
};

/// What a head that conflicts with a command in flight waits for (R7.1, R7.2).
enum class RwPolicy : std::uint8_t { overlap, drain_all };

/// What makes two commands conflict: the bytes that they access, or the ids of composites'
/// rw_handles (R7.3; exists to study what it misses).
enum class RwMatch : std::uint8_t { range, handle_id };

struct SchedulerConfig {
  RwPolicy rw_policy = RwPolicy::overlap;
  RwMatch rw_match = RwMatch::range;
  std::uint32_t tile_buffers = 3;
  std::uint32_t max_inflight_composites = 4;
  bool math_head_from_hbm = false;  ///< R5.5
};

/// How the DMA port calls the memory: the four phases of the base protocol, or b_transport.
enum class DmaPort : std::uint8_t { at, lt };

struct DmaConfig {
  DmaPort port = DmaPort::at;
  std::uint32_t read_channels = 1;
  std::uint32_t write_channels = 1;
  std::uint64_t setup_cycles = 16;
  std::uint32_t burst_bytes = 4096;
  std::uint64_t max_outstanding_bytes = 32768;  ///< per channel, issue to response
  std::uint64_t bus_bytes = 32;                 ///< bytes per beat; for statistics only
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

struct IpcqConfig {
  std::uint32_t channels = 4;       ///< per ordered pair of PEs
  std::uint32_t depth = 16;         ///< slots per channel
  std::uint32_t slot_bytes = 8192;  ///< a longer message takes several slots
  std::uint64_t send_cycles = 10;   ///< of a slot
  std::uint64_t recv_cycles = 10;   ///< of a slot

  /// The number of slots of a message.
  std::uint64_t slots(std::uint64_t bytes) const { return (bytes + slot_bytes - 1) / slot_bytes; }
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
  IpcqConfig ipcq;
  /// Bytes of the memory behind the DMA port, which is the address range that the port accepts
  /// (R3.4). Not a topology key: TopologyConfig::pe_config() derives it. For a PE without a
  /// topology, set it by hand.
  std::uint64_t hbm_bytes = 4831838208;
  /// Where that range begins at the memory socket: it is added to each address there and nowhere
  /// else. Not a topology key; a multiple of dma.burst_bytes.
  std::uint64_t memory_offset = 0;
  /// Time without progress after which outstanding work is reported; 0: never.
  Rational watchdog_ns{0};
  /// Stack size of the thread that runs the kernels of a PE: at least 65536. Not a topology key.
  std::uint64_t kernel_stack_bytes = 4u << 20;
  /// Number of PEs of the design, which IPCQ messages can name. Not a topology key; derived like
  /// hbm_bytes.
  std::uint32_t pes = 1;

  /// TCM bytes of one tile buffer: an A and a B tile of 2-byte entries, A first.
  std::uint64_t tile_buffer_bytes() const {
    return static_cast<std::uint64_t>(gemm.tile_m * gemm.tile_k + gemm.tile_k * gemm.tile_n) * 2;
  }
};

/// How the PEs of a cube share its HBM: each PE has a slice with its share of bandwidth and bytes,
/// or all PEs access every channel through the NoC.
enum class HbmMap : std::uint8_t { pe_local, interleaved };

/// The HBM stack of a cube.
struct HbmConfig {
  Rational gbps{128};  ///< 1 GB/s = 1e9 bytes/s
  Rational latency_ns{100};
  Rational efficiency{1};
  std::uint64_t bytes = 4831838208;
  HbmMap map = HbmMap::pe_local;
  std::uint32_t channels = 8;             ///< interleaved: each with its share of the bandwidth
  std::uint64_t interleave_bytes = 4096;  ///< interleaved: block size; consecutive blocks are on
                                          ///< consecutive channels
};

/// The mesh in a cube: PE i at column i % cols of row i / cols.
struct NocConfig {
  std::uint32_t cols = 4;
  std::uint32_t rows = 2;
  std::uint64_t bytes_per_cycle = 64;  ///< per link and direction; cycles of the PE clock
  std::uint64_t hop_cycles = 8;        ///< from router to router
  std::uint64_t niu_cycles = 5;        ///< from an endpoint into the mesh, and out of it
};

/// A ring of point-to-point links: UCIe between the cubes of a SIP, or links between SIPs.
struct RingConfig {
  Rational gbps{256};  ///< per link and direction
  Rational latency_ns{20};
};

struct TopologyConfig {
  std::string name;
  std::uint32_t sips = 1;
  std::uint32_t cubes_per_sip = 1;
  std::uint32_t pes_per_cube = 1;
  PeConfig pe;  ///< the keys `pe.*`; make a Pe from pe_config()
  HbmConfig hbm;
  NocConfig noc;
  RingConfig d2d{Rational{256}, Rational{20}};
  RingConfig sip_link{Rational{100}, Rational{500}};
  bool check_protocol = false;         ///< a BaseProtocolMonitor on every memory socket
  std::vector<std::string> overrides;  ///< each `key=value` of --set, as given

  std::uint32_t cubes() const { return sips * cubes_per_sip; }
  std::uint32_t pes() const { return cubes() * pes_per_cube; }
  /// The part of its cube's stack that one PE has with `pe_local`: its share of bandwidth and
  /// bytes.
  HbmConfig pe_slice() const {
    HbmConfig slice = hbm;
    slice.gbps = hbm.gbps / Rational(pes_per_cube);
    slice.bytes = hbm.bytes / pes_per_cube;
    return slice;
  }
  /// The configuration of each Pe: `pe`, with the two fields that follow from other keys.
  PeConfig pe_config() const {
    PeConfig config = pe;
    config.hbm_bytes = hbm.map == HbmMap::pe_local ? pe_slice().bytes : hbm.bytes;
    config.pes = pes();
    return config;
  }
};

/// The name, and what --set has changed: `single_pe with hbm.gbps=256`.
inline std::string title_of(const TopologyConfig& topology) {
  std::string title = topology.name;
  for (const std::string& setting : topology.overrides) {
    title += (&setting == &topology.overrides.front() ? " with " : " ") + setting;
  }
  return title;
}

/// `pe3` in a design with one cube, otherwise `sip0.cube1.pe3`: instance, VCD scope, and key of
/// outputs.
inline std::string pe_name(const TopologyConfig& topology, std::uint32_t pe) {
  std::string name = "pe" + std::to_string(pe % topology.pes_per_cube);
  if (topology.cubes() == 1) return name;
  const std::uint32_t cube = pe / topology.pes_per_cube;
  return "sip" + std::to_string(cube / topology.cubes_per_sip) + ".cube" +
         std::to_string(cube % topology.cubes_per_sip) + "." + name;
}

}  // namespace kernbench::arch
