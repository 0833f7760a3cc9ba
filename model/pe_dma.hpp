// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "model/arrival_queue.hpp"
#include "model/engine_signals.hpp"
#include "model/memory_port.hpp"
#include "model/pe_context.hpp"
#include "model/timed_queue.hpp"
#include "tlm_if/protocols.hpp"

namespace kernbench {

/// PE_DMA: moves slices between HBM and TCM. One arrival queue per direction feeds that direction's
/// channels; a stage takes the lowest-numbered free channel (R6.7).
///
/// Timing: setup_cycles, then one burst request at a time. The channel is free when the memory has
/// accepted the last burst, and the stage is done when the last response has arrived. With
/// pe.dma.port lt a burst is accepted and answered when its b_transport has ended, so bursts follow
/// one after the other.
///
/// An address on the wrong side is reported as `/kernbench/pe_dma/address`. If the user lets the
/// run continue, no burst of that stage is sent, the stage ends after its setup, and the bytes that
/// it should have read count as not written (arch::Storage). Not modelled: a cost per row of a
/// strided slice, DMA's own use of TCM bandwidth.
class PeDma : public sc_core::sc_module,
              private Settling,
              private ForwardInterface<StageProtocol>,
              private MemoryPort::Client {
 public:
  TargetSocket<StageProtocol> stage_in{"stage_in"};

  PeDma(const sc_core::sc_module_name& name, PeContext& pe);

  MemoryPort port;

  /// A channel is being set up, or a requested burst has not been answered.
  bool serving() const;
  bool setting_up() const { return !setups_.empty(); }

  /// Registers the ChannelSignals of every channel; polled by SystemC at every step.
  void trace(sc_core::sc_trace_file* file) const override;

 private:
  struct Channel {
    Channel(arch::Engine direction, std::uint32_t number) : engine(direction), index(number) {}

    arch::Engine engine;
    std::uint32_t index;
    StageTransaction* stage = nullptr;  // occupies the channel
    arch::BurstCursor cursor;
    std::uint64_t outstanding = 0;  // bytes from request to response; outlives the stage
    bool waits_for_credit = false;
    ChannelSignals signals;
  };
  struct Direction {
    ArrivalQueue queue;
    std::vector<Channel> channels;
  };

  tlm::tlm_sync_enum nb_transport_fw(StageTransaction& stage, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay) override;
  void accepted(BurstPayload& burst) override;
  void completed(BurstPayload& burst) override;
  void settle() override;
  void finish_setup();

  void grant(Channel& channel, StageTransaction& stage);
  void begin_bursts(Channel& channel);
  void request_burst(Channel& channel);
  void release(Channel& channel);
  void finish(StageTransaction& stage, const Channel& channel);
  /// Reports addresses on the wrong side.
  bool addresses_are_sound(const StageTransaction& stage) const;

  PeContext& pe_;
  std::array<Direction, 2> directions_;  // read, write
  TimedQueue<Channel*> setups_;          // channels that are being set up
};

}  // namespace kernbench
