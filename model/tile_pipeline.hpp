// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "model/arch/plan.hpp"
#include "model/pe_context.hpp"
#include "tlm_if/pool.hpp"
#include "tlm_if/transactions.hpp"

namespace kernbench {

/// A command in flight, and the progress of its stages. Tiles are at most tile_buffers ahead of the
/// finished gemms (R5.4).
struct Flight {
  CommandTransaction* command = nullptr;
  arch::Plan plan;
  std::int32_t slot = -1;  ///< of the tile buffers, for a composite
  bool compute = false;

  std::int64_t next_credit = 0;   ///< tiles that hold or held a credit
  std::int64_t next_fetch = 0;    ///< tiles whose FETCH was offered
  std::int64_t fetched = 0;       ///< tiles whose FETCH is done
  std::int64_t next_compute = 0;  ///< tiles whose GEMM or MATH head was offered
  std::int64_t computed = 0;      ///< tiles whose GEMM or MATH head is done: returned credits
  std::int64_t added = 0;         ///< tiles whose k_tile ops are done: the next K tile may add
  std::int64_t stored = 0;        ///< output tiles that have left

  std::vector<std::int32_t> reads_open;  ///< by credit: running DMA reads
  std::vector<OperandTiles> operands;    ///< by credit
  arch::Values* accumulator = nullptr;   ///< of the output tile that GEMM is computing
};

/// Takes the commands in flight through their stages (contract 5, R6.3 to R6.6, R6.9): the only
/// stage of a transfer, or the prologue, the tiles and the post-loop ops. Each stage that may run
/// is offered at once; the engines decide the order.
class TilePipeline {
 public:
  /// The module that has admitted the commands.
  class Client {
   public:
    virtual ~Client() = default;
    /// Offers the stage to the engine of its kind, which passes it back to stage_done().
    virtual void offer(StageTransaction& stage) = 0;
    /// The last stage of the command is done. The pipeline does not use the flight after that.
    virtual void command_done(Flight& flight) = 0;
  };

  TilePipeline(const PeContext& pe, Client& client);

  /// Plans the command, and takes tile buffers for a composite. Some are free, since at most
  /// max_inflight_composites are in flight.
  void plan(Flight& flight, CommandTransaction& command);
  /// Offers the first stages of a planned command. A command without stages is done within the
  /// call.
  void start(Flight& flight);
  void stage_done(StageTransaction& stage);

  /// The flight's part of the tile buffers; empty for a simple command.
  command::ByteRange tile_buffers_of(const Flight& flight) const;

 private:
  void end_command(Flight& flight);

  void advance_prologue(const StageTransaction& stage, Flight& flight);
  void advance_tile(StageTransaction& stage, Flight& flight);
  void advance_postloop(const StageTransaction& stage, Flight& flight);

  void start_tiles(Flight& flight);
  /// Offers the tile stages that have become possible.
  void pump(Flight& flight);
  void pump_tiles(Flight& flight);
  void pump_chunks(Flight& flight);

  void gemm_done(const StageTransaction& stage, Flight& flight);
  void accumulator_op_done(const StageTransaction& stage, Flight& flight);
  /// An output tile or chunk has been made: DMA_WRITE if it goes to HBM.
  void write_back(StageTransaction& stage, Flight& flight);
  void after_last_k(Flight& flight, const arch::Tile& tile, arch::Values* accumulator);
  void output_tile_left(Flight& flight);

  StageTransaction& make_stage(Flight& flight, const arch::StageSpec& spec, std::int64_t tile,
                               ServiceKey::Stage key);
  command::Address buffer_of(const Flight& flight, std::int64_t tile) const;
  std::size_t credit_of(std::int64_t tile) const;

  const PeContext& pe_;
  Client& client_;
  std::vector<bool> slots_;  // taken tile-buffer slots
  Pool<StageTransaction> stage_pool_;
  Pool<arch::Values> accumulator_pool_;
};

}  // namespace kernbench
