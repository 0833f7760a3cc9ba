// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "model/arch/admission.hpp"
#include "model/arch/plan.hpp"
#include "model/arch/wait_graph.hpp"
#include "model/pe_context.hpp"
#include "tlm_if/pool.hpp"
#include "tlm_if/protocols.hpp"

namespace kernbench {

/// PE_SCHEDULER: queues commands, admits them in order when their bytes are free (contract 7), and
/// feeds their stages to the engines (contract 5, R6.3 to R6.6). Sees flat ops; knows no recipe.
///
/// Timing: none of its own. A command waits for queue room, for admission, and for its engines.
class PeScheduler : public sc_core::sc_module,
                    private Settling,
                    private ForwardInterface<CommandProtocol>,
                    private BackwardInterface<StageProtocol> {
 public:
  TargetSocket<CommandProtocol> command_in{"command_in"};
  InitiatorSocket<StageProtocol> dma_out{"dma_out"};
  InitiatorSocket<StageProtocol> tcm_out{"tcm_out"};
  InitiatorSocket<StageProtocol> gemm_out{"gemm_out"};
  InitiatorSocket<StageProtocol> math_out{"math_out"};
  InitiatorSocket<StageProtocol> ipcq_out{"ipcq_out"};

  PeScheduler(const sc_core::sc_module_name& name, PeContext& pe);

  bool idle() const { return queue_.empty() && offered_ == nullptr && admission_.inflight() == 0; }
  /// What each command that has not finished waits for, other than in PE_IPCQ, and the messages
  /// that it would send or receive.
  void waits(arch::WaitGraph& graph) const;

  /// Registers inflight, blocked, and the blocked command and its count in a user's waveform file.
  void trace(sc_core::sc_trace_file* file) const override;

 private:
  /// A command in flight. Tiles advance through four counters; a tile i is at most tile_buffers
  /// ahead of the gemms done (R5.4).
  struct Flight {
    CommandTransaction* command = nullptr;
    arch::Plan plan;
    std::int32_t slot = -1;  ///< of the tile buffers, for a composite
    bool compute = false;

    std::int64_t next_credit = 0;   ///< tiles that hold or held a credit
    std::int64_t next_fetch = 0;    ///< tiles whose FETCH was offered
    std::int64_t fetched = 0;       ///< tiles whose FETCH is done
    std::int64_t next_compute = 0;  ///< tiles whose GEMM or MATH head was offered
    std::int64_t computed = 0;      ///< tiles whose GEMM or MATH head is done: credits back
    std::int64_t added = 0;         ///< tiles whose k_tile ops are done: the next K tile may add
    std::int64_t stored = 0;        ///< output tiles that have left

    std::vector<std::int32_t> reads_open;  ///< by credit: DMA reads under way
    std::vector<OperandTiles> operands;    ///< by credit
    arch::Values* accumulator = nullptr;   ///< of the output tile that GEMM is at
  };

  tlm::tlm_sync_enum nb_transport_fw(CommandTransaction& command, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay) override;
  tlm::tlm_sync_enum nb_transport_bw(StageTransaction& stage, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay) override;
  void settle() override;

  void admit(CommandTransaction& command);
  /// Its operands may lie in HBM.
  bool may_stream(const command::OpSpec& op, const arch::Plan& plan) const;
  /// R3.4: a program may come from elsewhere than `tl`. False: something lies on the wrong side, or
  /// a streamed tile does not fit its buffer.
  bool operands_are_sound(const CommandTransaction& command, const arch::Plan& plan) const;
  void report_operands(const CommandTransaction& command, const arch::Plan& plan) const;
  void end_admit_stall(const CommandTransaction& head);
  void retire(Flight& flight);
  void start_tiles(Flight& flight);
  void pump_tiles(Flight& flight);
  void pump_chunks(Flight& flight);
  void advance(StageTransaction& stage);
  void after_accumulator_op(StageTransaction& stage, Flight& flight, const arch::Tile& tile);
  /// An output tile or chunk has been made: DMA_WRITE if it goes to HBM.
  void write_back(StageTransaction& stage, Flight& flight);
  void after_last_k(Flight& flight, const arch::Tile& tile, arch::Values* accumulator);
  void output_tile_left(Flight& flight);

  StageTransaction& make_stage(Flight& flight, const arch::StageSpec& spec, std::int64_t tile,
                               ServiceKey::Stage key);
  void offer(StageTransaction& stage);
  command::Address buffer_of(const Flight& flight, std::int64_t tile) const;
  /// All that the flight's slot has; empty for a simple command.
  command::ByteRange tile_buffers_of(const Flight& flight) const;

  PeContext& pe_;
  arch::Admission admission_;
  std::deque<CommandTransaction*> queue_;
  CommandTransaction* offered_ = nullptr;  // PE_CPU holds it until there is room
  CommandTransaction* head_ = nullptr;     // the front, once it has been judged and stays
  std::uint64_t head_since_ = 0;
  std::uint64_t head_ticket_ = 0;
  std::vector<Flight*> flights_;  // in admission order
  std::vector<bool> slots_;       // taken tile-buffer slots

  Pool<Flight> flight_pool_;
  Pool<StageTransaction> stage_pool_;
  Pool<arch::Values> accumulator_pool_;

  // For trace().
  std::uint32_t inflight_ = 0;
  bool blocked_ = false;
  std::uint64_t blocked_cmd_ = 0;
  std::uint64_t stalls_ = 0;
};

}  // namespace kernbench
