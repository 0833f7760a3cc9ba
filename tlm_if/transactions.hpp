// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "model/arch/numerics.hpp"
#include "model/arch/stage.hpp"
#include "tlm_if/command/access_set.hpp"

namespace kernbench {

/// Payload of the command protocol, PE_CPU to PE_SCHEDULER. BEGIN_REQ: the command is offered.
/// END_REQ: it has entered the queue. BEGIN_RESP: every stage is done; the scheduler does not use
/// the object after that.
struct CommandTransaction {
  command::Command command;
  std::uint64_t number = 0;  ///< in issue order of the PE, from 0
  command::AccessSet accesses;
  std::uint64_t regions = 0;  ///< set of PE_CPU's regions in which it was issued, for statistics

  bool composite() const { return std::holds_alternative<command::CompositeCmd>(command); }
};

/// Order of service among arrivals of one instant: (command number, tile, stage), where the
/// prologue is tile -1 and post-loop ops are tile n_tiles (contract 6, "Same time").
struct ServiceKey {
  std::uint64_t command = 0;
  std::uint64_t tile_stage = 0;

  enum Stage : std::uint64_t {
    dma_a,
    dma_b,
    fetch,
    gemm,
    k_tile,
    output_tile,
    store,
    dma_write,
  };
  static constexpr std::uint64_t kStages = dma_write + 1;
  static ServiceKey make(std::uint64_t command, std::int64_t tile, Stage stage) {
    return {command, static_cast<std::uint64_t>(tile + 1) * kStages + stage};
  }
  friend bool operator<(const ServiceKey& x, const ServiceKey& y) {
    return x.command != y.command ? x.command < y.command : x.tile_stage < y.tile_stage;
  }
};

/// A and B tile as PE_GEMM's operand registers hold them after FETCH.
struct OperandTiles {
  arch::Values a;
  arch::Values b;
};

/// Payload of the stage protocol, PE_SCHEDULER to engines. BEGIN_REQ: the stage is offered.
/// END_REQ: it has entered service. BEGIN_RESP: it is done. The engine annotates the times (R6.13).
struct StageTransaction {
  arch::StageSpec spec;
  std::uint64_t command = 0;
  std::uint64_t regions = 0;  ///< of the command
  ServiceKey key;
  void* owner = nullptr;      ///< the scheduler's flight
  std::int64_t tile = -1;     ///< number of the tile, for the scheduler
  std::int32_t position = 0;  ///< index of a MATH op in its phase, for the scheduler

  std::uint64_t arrival = 0;  ///< in ps, like the next ones
  std::uint64_t start = 0;
  std::uint64_t end = 0;            ///< the engine is free again
  std::uint64_t done = 0;           ///< the data is complete
  std::uint64_t ticket = 0;         ///< of the recorder
  std::uint64_t hazard_ticket = 0;  ///< of the hazard checker
  std::uint32_t open_bursts = 0;    ///< DMA: requested, not yet answered
  bool refused = false;             ///< DMA: an address has been reported, no burst is sent

  // Data mode. Without it, or for a command with data_op false, `compute` is false and the other
  // fields are not used.
  bool compute = false;
  OperandTiles* operands = nullptr;     ///< FETCH fills, GEMM reads
  arch::Values* accumulator = nullptr;  ///< GEMM and tile ops update, STORE reads; (m, n) f32
  std::vector<arch::Values> inputs;     ///< MATH, sampled at start
  arch::Values result;                  ///< sampled at start, visible at done
  std::vector<std::uint8_t> bytes;      ///< DMA: the slice in transfer order
};

}  // namespace kernbench
