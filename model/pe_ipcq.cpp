// SPDX-License-Identifier: Apache-2.0
#include "model/pe_ipcq.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "model/arch/slice_bytes.hpp"

namespace kernbench {
namespace {

bool is_send(const StageTransaction& stage) { return stage.spec.kind == arch::StageKind::send; }

/// The slice in TCM.
arch::Slice& tcm_side(arch::StageSpec& spec) {
  return spec.kind == arch::StageKind::send ? spec.operands[0] : spec.out;
}

/// A message has the entries row by row, whatever the tensor's layout at either end.
arch::Slice row_by_row(const arch::Slice& slice) {
  arch::Slice dense = slice;
  dense.row_stride = slice.cols;
  dense.col_stride = 1;
  return dense;
}

/// Of byte `offset` of the message.
command::Address address_in(const arch::Slice& slice, std::uint64_t offset) {
  const auto entry = static_cast<command::Index>(offset / command::bytes_of(slice.dtype, 1));
  return slice.element_address(entry / slice.cols, entry % slice.cols);
}

}  // namespace

PeIpcq::PeIpcq(const sc_core::sc_module_name& name, PeContext& pe)
    : sc_module(name),
      Settling(pe.hub, SettlePhase::grant, pe.index,
               static_cast<std::uint32_t>(ComponentOrder::ipcq)),
      pe_(pe) {
  KERNBENCH_HAS_PROCESS(PeIpcq);
  SC_METHOD(complete);
  sensitive << complete_event_;
  dont_initialize();
  stage_in.bind(static_cast<ForwardInterface<StageProtocol>&>(*this));
  packet_out.bind(static_cast<BackwardInterface<PacketProtocol>&>(*this));
  packet_in.bind(static_cast<ForwardInterface<PacketProtocol>&>(*this));
}

// ---- arrivals -----------------------------------------------------------------------------------

tlm::tlm_sync_enum PeIpcq::nb_transport_fw(StageTransaction& stage, tlm::tlm_phase&,
                                           sc_core::sc_time&) {
  if (!is_reachable(stage)) return tlm::TLM_ACCEPTED;
  stage.arrival = pe_.time.now();
  Connection& with = connection(stage.spec.ipcq);
  Lane& lane = is_send(stage) ? with.send : with.recv;
  lane.commands.push_back(&stage);
  offer_next(lane);
  return tlm::TLM_ACCEPTED;
}

tlm::tlm_sync_enum PeIpcq::nb_transport_fw(Packet& packet, tlm::tlm_phase&, sc_core::sc_time&) {
  auto& slot = static_cast<SlotPacket&>(packet);
  Connection& with = connection({slot.source, slot.channel});
  if (slot.bytes == 0) {
    slot.owner->packets_.release(slot);
    ++with.credits;
    offer_next(with.send);
  } else {
    with.arrived.push_back(&slot);
    offer_next(with.recv);
  }
  return tlm::TLM_ACCEPTED;
}

bool PeIpcq::is_reachable(const StageTransaction& command) const {
  const auto [peer, channel] = command.spec.ipcq;
  const auto report = [&](const char* id, const std::string& what) {
    SC_REPORT_ERROR(id, fmt::format("{}: command {} ({}): {}", name(), command.command,
                                    arch::to_string(command.spec.kind), what)
                            .c_str());
  };
  if (peer >= pe_.config.pes || peer == pe_.index) {
    report("/kernbench/pe_ipcq/peer",
           fmt::format("PE {} cannot be the peer of PE {}; name another one in [0, {}]", peer,
                       pe_.index, pe_.config.pes - 1));
    return false;
  }
  if (channel >= pe_.config.ipcq.channels) {
    report("/kernbench/pe_ipcq/peer",
           fmt::format("channel {} does not exist; name one in [0, {}], or raise pe.ipcq.channels",
                       channel, pe_.config.ipcq.channels - 1));
    return false;
  }
  if (!connected()) {
    report("/kernbench/pe_ipcq/unconnected",
           "no network is bound to this PE; bind its sockets ipcq_out and ipcq_in");
    return false;
  }
  return true;
}

bool PeIpcq::fits(const Lane& lane) const {
  const SlotPacket& slot = *lane.connection.arrived.front();
  const StageTransaction& command = *lane.commands.front();
  const auto reason = [&](const std::string& what) {
    return fmt::format("{}: command {} (recv) of PE {} from PE {} on channel {}: {}", name(),
                       command.command, pe_.index, slot.source, slot.channel, what);
  };
  if (slot.message_bytes != command.spec.bytes) {
    const std::string why = reason(
        fmt::format("the message has {} bytes and the destination {}; receive in the order and "
                    "sizes in which the peer sends",
                    slot.message_bytes, command.spec.bytes));
    if (!pe_.takes({command.command, 0, PeFault::Kind::message_size, why})) {
      SC_REPORT_ERROR("/kernbench/pe_ipcq/size", why.c_str());
    }
    return false;
  }
  if (slot.number != lane.next) {
    SC_REPORT_ERROR(
        "/kernbench/pe_ipcq/order",
        reason(fmt::format("slot {} of the message has come where slot {} is next; a network must "
                           "keep the order of packets between two PEs",
                           slot.number, lane.next))
            .c_str());
    return false;
  }
  return true;
}

void PeIpcq::offer_next(Lane& lane) {
  if (lane.at_server || lane.commands.empty()) return;
  if (lane.sends) {
    if (lane.connection.credits == 0) return;
    --lane.connection.credits;
  } else if (lane.connection.arrived.empty() || !fits(lane)) {
    return;
  }
  StageTransaction& command = *lane.commands.front();
  StageTransaction& slot = lane.slot;
  if (lane.next == 0) {
    slot.spec = command.spec;
    slot.command = command.command;
    slot.regions = command.regions;
    slot.key = command.key;
    slot.owner = &lane;
  }
  const std::uint64_t offset = lane.next * pe_.config.ipcq.slot_bytes;
  slot.spec.tile = {static_cast<std::int32_t>(lane.next),
                    static_cast<std::int32_t>(lane.connection.peer),
                    static_cast<std::int32_t>(lane.connection.channel)};
  slot.spec.bytes =
      std::min<std::uint64_t>(pe_.config.ipcq.slot_bytes, command.spec.bytes - offset);
  tcm_side(slot.spec).addr = address_in(tcm_side(command.spec), offset);
  slot.arrival = pe_.time.now();
  lane.at_server = true;
  queue_.push(slot);
  if (current_ == nullptr) touch();
}

// ---- the server ---------------------------------------------------------------------------------

void PeIpcq::settle() {
  if (current_ != nullptr || queue_.empty()) return;
  StageTransaction& slot = queue_.pop();
  current_ = &slot;
  const Lane& lane = *static_cast<Lane*>(slot.owner);
  const arch::IpcqConfig& config = pe_.config.ipcq;
  const arch::Picoseconds time =
      pe_.timing.cycles(lane.sends ? config.send_cycles : config.recv_cycles) + pe_.extra_delay();
  slot.start = pe_.time.now();
  slot.end = slot.done = slot.start + time;
  pe_.begin_row(slot);
  signals_.begin(slot);
  if (lane.next == 0) start_message(*lane.commands.front());
  complete_event_.notify(pe_.time.to_sc_time(time));
}

void PeIpcq::start_message(StageTransaction& command) {
  command.start = pe_.time.now();
  pe_.begin_access(command);
  if (command.compute) {
    const arch::Slice& side = tcm_side(command.spec);
    if (is_send(command)) {
      arch::gather(pe_.tcm, side, row_by_row(side), command.bytes);  // sampled at start (R8.1)
    } else {
      command.bytes.resize(command.spec.bytes);
    }
  }
  send_backward(stage_in, command, tlm::END_REQ);
}

void PeIpcq::complete() {
  in_turn([this] {
    const StageTransaction& slot = *current_;
    current_ = nullptr;
    signals_.end();
    pe_.end_row(slot, arch::Engine::ipcq);
    if (!queue_.empty()) touch();
    Lane& lane = *static_cast<Lane*>(slot.owner);
    lane.sends ? send_slot(lane) : take_slot(lane);
    lane.at_server = false;
    StageTransaction& command = *lane.commands.front();
    ++lane.done.slots;
    const bool last = ++lane.next == slots(command);
    if (last) {
      ++lane.done.messages;
      lane.commands.erase(lane.commands.begin());
      lane.next = 0;
    }
    offer_next(lane);
    if (last) finish(command);
  });
}

void PeIpcq::send_slot(const Lane& lane) {
  const StageTransaction& command = *lane.commands.front();
  SlotPacket& packet = make_packet(lane.connection, lane.slot.spec.bytes);
  packet.number = lane.next;
  packet.message_bytes = command.spec.bytes;
  packet.data.clear();
  if (command.compute) {
    const auto begin =
        command.bytes.begin() + static_cast<std::ptrdiff_t>(lane.next * pe_.config.ipcq.slot_bytes);
    packet.data.assign(begin, begin + static_cast<std::ptrdiff_t>(packet.bytes));
  }
  send_forward(packet_out, packet, tlm::BEGIN_REQ);
}

void PeIpcq::take_slot(const Lane& lane) {
  Connection& from = lane.connection;
  SlotPacket& packet = *from.arrived.front();
  from.arrived.erase(from.arrived.begin());
  StageTransaction& command = *lane.commands.front();
  if (command.compute) {
    std::copy(packet.data.begin(), packet.data.end(),
              command.bytes.begin() +
                  static_cast<std::ptrdiff_t>(lane.next * pe_.config.ipcq.slot_bytes));
  }
  packet.owner->packets_.release(packet);
  send_forward(packet_out, make_packet(from, 0), tlm::BEGIN_REQ);
}

void PeIpcq::finish(StageTransaction& command) {
  command.end = command.done = pe_.time.now();
  if (command.compute && !is_send(command)) {
    const arch::Slice& side = command.spec.out;
    arch::scatter(pe_.tcm, side, row_by_row(side), command.bytes);
  }
  pe_.end_access(command);
  send_backward(stage_in, command, tlm::BEGIN_RESP);
}

PeIpcq::SlotPacket& PeIpcq::make_packet(const Connection& with, std::uint64_t bytes) {
  SlotPacket& packet = packets_.acquire();
  packet.to = Packet::To::ipcq;
  packet.index = with.peer;
  packet.bytes = bytes;
  packet.key = packet_key(pe_.index, PacketMaker::ipcq, packet_count_++);
  packet.owner = this;
  packet.source = pe_.index;
  packet.channel = with.channel;
  return packet;
}

std::uint64_t PeIpcq::slots(const StageTransaction& command) const {
  return pe_.config.ipcq.slots(command.spec.bytes);
}

PeIpcq::Connection& PeIpcq::connection(const command::IpcqChannel& with) {
  auto place = first_from(with);
  if (place == connections_.end() || !(*place)->is(with)) {
    place = connections_.insert(place, std::make_unique<Connection>(with, pe_.config.ipcq.depth));
  }
  return **place;
}

PeIpcq::Connections::const_iterator PeIpcq::first_from(const command::IpcqChannel& with) const {
  const auto before = [](const std::unique_ptr<Connection>& x, const command::IpcqChannel& y) {
    return std::tie(x->peer, x->channel) < std::tie(y.peer, y.channel);
  };
  return std::lower_bound(connections_.begin(), connections_.end(), with, before);
}

// ---- reports ------------------------------------------------------------------------------------

std::vector<PeIpcq::Sent> PeIpcq::sent() const {
  std::vector<Sent> all;
  for (const auto& connection : connections_) {
    const IpcqCount& done = connection->send.done;
    if (done.slots > 0) all.push_back({{connection->peer, connection->channel}, done});
  }
  return all;
}

IpcqCount PeIpcq::received(const command::IpcqChannel& from) const {
  const auto place = first_from(from);
  return place != connections_.end() && (*place)->is(from) ? (*place)->recv.done : IpcqCount{};
}

void PeIpcq::waits(arch::WaitGraph& graph) const {
  using Node = arch::WaitNode;
  for (const auto& connection : connections_) {
    for (const Lane* lane : {&connection->send, &connection->recv}) {
      const StageTransaction* before = nullptr;
      for (const StageTransaction* command : lane->commands) {
        const Node node = Node::command(pe_.index, command->command);
        if (before != nullptr) {
          graph.add(node, Node::command(pe_.index, before->command), "comes after");
        } else if (lane->at_server) {
          graph.note(node, fmt::format("is at slot {} of {}", lane->next, slots(*command)));
        } else if (lane->sends) {
          graph.add(node, Node::room(pe_.index, connection->peer, connection->channel));
        } else {
          graph.add(node, Node::message(connection->peer, pe_.index, connection->channel));
        }
        before = command;
      }
    }
  }
}

void PeIpcq::trace(sc_core::sc_trace_file* file) const { signals_.trace(file, name()); }

}  // namespace kernbench
