// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "model/arch/admission.hpp"
#include "model/arch/wait_graph.hpp"
#include "model/pe_context.hpp"
#include "model/tile_pipeline.hpp"
#include "tlm_if/pool.hpp"
#include "tlm_if/protocols.hpp"

namespace kernbench {

/// PE_SCHEDULER: queues commands, admits them in order when their bytes are free (contract 7), and
/// feeds their stages to the engines, as TilePipeline makes them. It sees flat ops and does not
/// know recipes.
///
/// Timing: it takes no time itself. A command waits for room in the queue, for admission, and for
/// its engines.
class PeScheduler : public sc_core::sc_module,
                    private Settling,
                    private ForwardInterface<CommandProtocol>,
                    private BackwardInterface<StageProtocol>,
                    private TilePipeline::Client {
 public:
  TargetSocket<CommandProtocol> command_in{"command_in"};
  InitiatorSocket<StageProtocol> dma_out{"dma_out"};
  InitiatorSocket<StageProtocol> tcm_out{"tcm_out"};
  InitiatorSocket<StageProtocol> gemm_out{"gemm_out"};
  InitiatorSocket<StageProtocol> math_out{"math_out"};
  InitiatorSocket<StageProtocol> ipcq_out{"ipcq_out"};

  PeScheduler(const sc_core::sc_module_name& name, PeContext& pe);

  bool idle() const { return queue_.empty() && offered_ == nullptr && admission_.inflight() == 0; }
  /// Adds what each unfinished command waits for, except in PE_IPCQ, and the messages that it would
  /// send or receive.
  void waits(arch::WaitGraph& graph) const;

  /// Registers inflight, blocked, and the blocked command and its count in a user's waveform file.
  void trace(sc_core::sc_trace_file* file) const override;

 private:
  tlm::tlm_sync_enum nb_transport_fw(CommandTransaction& command, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay) override;
  tlm::tlm_sync_enum nb_transport_bw(StageTransaction& stage, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay) override;
  void settle() override;

  void admit(CommandTransaction& command);
  /// Reports the misplaced operands.
  void check_operands(const Flight& flight) const;
  void end_admit_stall(const CommandTransaction& head);
  void offer(StageTransaction& stage) override;
  void command_done(Flight& flight) override;

  PeContext& pe_;
  arch::Admission admission_;
  std::deque<CommandTransaction*> queue_;
  CommandTransaction* offered_ = nullptr;  // PE_CPU holds it until there is room
  CommandTransaction* head_ = nullptr;     // the front, once it has been checked and must wait
  std::uint64_t head_since_ = 0;
  std::uint64_t head_ticket_ = 0;
  std::vector<Flight*> flights_;  // in admission order
  Pool<Flight> flight_pool_;
  TilePipeline pipeline_;

  // For trace().
  std::uint32_t inflight_ = 0;
  bool blocked_ = false;
  std::uint64_t blocked_cmd_ = 0;
  std::uint64_t stalls_ = 0;
};

}  // namespace kernbench
