// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "model/arch/wait_graph.hpp"
#include "model/arrival_queue.hpp"
#include "model/engine_signals.hpp"
#include "model/pe_context.hpp"
#include "tlm_if/packet.hpp"
#include "tlm_if/pool.hpp"
#include "tlm_if/protocols.hpp"

namespace kernbench {

/// Slots that PE_IPCQ has served, and messages whose last slot it has served.
struct IpcqCount {
  std::uint64_t messages = 0;
  std::uint64_t slots = 0;
};

/// PE_IPCQ (inter-PE communication queue): messages between the TCMs of two PEs. Each ordered pair
/// of PEs has `channels` independent FIFO channels of `depth` slots of `slot_bytes` at the
/// receiver. A message takes ceil(bytes / slot_bytes) slots; the sender holds a credit for each
/// free slot.
///
/// Timing: there is one server. A slot to send arrives at the server when it is the next slot of
/// its channel's first message and a credit is available, which it takes. It takes send_cycles and
/// then leaves. A received slot arrives at the server when it has come over the links and a receive
/// is first in its channel. It takes recv_cycles; then its credit returns, which takes the latency
/// of the route and no bandwidth. Arrivals of one instant are served by command number. A send or
/// receive is done at the end of its last slot. A command that waits for a credit or a slot does
/// not occupy the server. Not modelled: the TCM bandwidth that slots use.
class PeIpcq : public sc_core::sc_module,
               private Settling,
               private ForwardInterface<StageProtocol>,
               private ForwardInterface<PacketProtocol>,
               private BackwardInterface<PacketProtocol> {
 public:
  TargetSocket<StageProtocol> stage_in{"stage_in"};
  /// To and from the links, which must keep the order of a channel's packets. Unbound in a design
  /// in which no program sends.
  OptionalInitiatorSocket<PacketProtocol> packet_out{"packet_out"};
  OptionalTargetSocket<PacketProtocol> packet_in{"packet_in"};

  PeIpcq(const sc_core::sc_module_name& name, PeContext& pe);

  /// Messages can be sent. Valid from the end of elaboration on.
  bool connected() const { return packet_out.size() != 0; }
  bool serving() const { return current_ != nullptr; }
  /// Adds what the commands in flight wait for.
  void waits(arch::WaitGraph& graph) const;

  struct Sent {
    command::IpcqChannel to;
    IpcqCount count;
  };
  /// What has been sent so far, by (peer, channel). The part that the peer has not received() is on
  /// the links or in the peer's slots.
  std::vector<Sent> sent() const;
  IpcqCount received(const command::IpcqChannel& from) const;

  /// Registers IpcqSignals in a user's waveform file; polled by SystemC at every step.
  void trace(sc_core::sc_trace_file* file) const override;

 private:
  /// A slot of a message; with 0 bytes, the credit for one.
  struct SlotPacket : Packet {
    PeIpcq* owner = nullptr;  // gets it back
    std::uint32_t source = 0;
    std::uint32_t channel = 0;
    std::uint64_t number = 0;  // in its message
    std::uint64_t message_bytes = 0;
    std::vector<std::uint8_t> data;  // empty without data
  };
  struct Connection;
  /// One direction of a connection.
  struct Lane {
    Lane(Connection& of, bool to_peer) : connection(of), sends(to_peer) {}

    Connection& connection;
    const bool sends;
    std::vector<StageTransaction*> commands;  // not done, in order
    StageTransaction slot;                    // of the first command; it is at the server if
                                              // at_server
    std::uint64_t next = 0;                   // the slot's number in its message
    bool at_server = false;
    IpcqCount done;
  };
  struct Connection {
    Connection(const command::IpcqChannel& with, std::uint32_t depth)
        : peer(with.peer), channel(with.channel), credits(depth) {}
    bool is(const command::IpcqChannel& with) const {
      return peer == with.peer && channel == with.channel;
    }

    const std::uint32_t peer;
    const std::uint32_t channel;
    Lane send{*this, true};
    Lane recv{*this, false};
    std::uint32_t credits;             // free slots at the peer
    std::vector<SlotPacket*> arrived;  // and not yet received, in order
  };
  using Connections = std::vector<std::unique_ptr<Connection>>;

  tlm::tlm_sync_enum nb_transport_fw(StageTransaction& stage, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay) override;
  tlm::tlm_sync_enum nb_transport_fw(Packet& packet, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay) override;
  /// Not needed: credits bound the packets in flight.
  tlm::tlm_sync_enum nb_transport_bw(Packet& /*packet*/, tlm::tlm_phase& /*phase*/,
                                     sc_core::sc_time& /*delay*/) override {
    return tlm::TLM_ACCEPTED;
  }
  void settle() override;
  void complete();

  /// False: the peer does not exist, which is reported. (`tl` checks this, but a program may come
  /// from elsewhere.)
  bool is_reachable(const StageTransaction& command) const;
  /// The arrived slot is the next one of the receive. False: the mismatch is reported, and the
  /// receive does not continue.
  bool fits(const Lane& lane) const;
  /// The lane's next slot arrives at the server if that is possible.
  void offer_next(Lane& lane);
  void start_message(StageTransaction& command);
  void send_slot(const Lane& lane);
  void take_slot(const Lane& lane);
  void finish(StageTransaction& command);
  SlotPacket& make_packet(const Connection& connection, std::uint64_t bytes);
  std::uint64_t slots(const StageTransaction& command) const;
  Connection& connection(const command::IpcqChannel& with);
  /// The position of the connection, or of where to insert it.
  Connections::const_iterator first_from(const command::IpcqChannel& with) const;

  PeContext& pe_;
  Connections connections_;              // used so far, by (peer, channel)
  ArrivalQueue queue_;                   // slots
  StageTransaction* current_ = nullptr;  // slot in service
  sc_core::sc_event complete_event_;
  Pool<SlotPacket> packets_;
  std::uint64_t packet_count_ = 0;
  IpcqSignals signals_;
};

}  // namespace kernbench
