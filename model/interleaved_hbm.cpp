// SPDX-License-Identifier: Apache-2.0
#include "model/interleaved_hbm.hpp"

#include <fmt/format.h>
#include <tlm_utils/peq_with_get.h>
#include <tlm_utils/simple_target_socket.h>

#include <algorithm>

#include "model/arch/config_check.hpp"
#include "tlm_if/response_side.hpp"

namespace kernbench {
namespace {

arch::HbmConfig channel_of_stack(const arch::HbmConfig& stack) {
  arch::HbmConfig channel = stack;
  channel.gbps = stack.gbps / arch::Rational(stack.channels);
  return channel;  // addresses stay those of the stack
}

}  // namespace

/// A transaction in flight: its request, then its response.
struct InterleavedHbm::MemoryPacket : Packet {
  tlm::tlm_generic_payload* payload = nullptr;
  std::uint32_t pe = 0;  ///< its number in the design
};

/// Between the NoC and a channel.
///
/// One link leads to a channel, so requests come one at a time. Within one instant it does not
/// matter whether a request comes before or after the channel has accepted another: the channel
/// decides when everything has settled.
class InterleavedHbm::ChannelNiu : public sc_core::sc_module,
                                   private tlm::tlm_bw_transport_if<>,
                                   private ForwardInterface<PacketProtocol>,
                                   private BackwardInterface<PacketProtocol> {
 public:
  tlm::tlm_initiator_socket<32> memory{"memory"};

  ChannelNiu(const sc_core::sc_module_name& name, InterleavedHbm& stack, std::uint32_t endpoint,
             Fabric& noc)
      : sc_module(name), stack_(stack) {
    memory.bind(*this);
    packet_out_.bind(*this);
    packet_in_.bind(*this);
    packet_out_.bind(noc.in(endpoint));
    noc.out(endpoint).bind(packet_in_);
  }

 private:
  /// A request is whole.
  tlm::tlm_sync_enum nb_transport_fw(Packet& packet, tlm::tlm_phase&, sc_core::sc_time&) override {
    requests_.push_back(static_cast<MemoryPacket*>(&packet));
    if (requests_.size() == 1) send_request();
    return tlm::TLM_ACCEPTED;
  }

  void send_request() {
    MemoryPacket& packet = *requests_.front();
    served_.push_back(&packet);
    tlm::tlm_phase phase = tlm::BEGIN_REQ;
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    memory->nb_transport_fw(*packet.payload, phase, delay);  // an EmbeddedHbm: TLM_ACCEPTED
  }

  tlm::tlm_sync_enum nb_transport_bw(tlm::tlm_generic_payload&, tlm::tlm_phase& phase,
                                     sc_core::sc_time&) override {
    if (phase == tlm::END_REQ) {
      requests_.erase(requests_.begin());
      if (!requests_.empty()) send_request();
      return tlm::TLM_ACCEPTED;
    }
    respond();
    return tlm::TLM_COMPLETED;  // in place of END_RESP
  }

  // BEGIN_RESP: the channel answers in the order in which it serves.
  void respond() {
    MemoryPacket& packet = *served_.front();
    served_.erase(served_.begin());
    packet.to = Packet::To::memory;
    packet.index = packet.pe;
    packet.bytes = stack_.response_bytes(*packet.payload);
    send_forward(packet_out_, packet, tlm::BEGIN_REQ);
  }

  /// END_REQ of a response; nothing waits for it.
  tlm::tlm_sync_enum nb_transport_bw(Packet&, tlm::tlm_phase&, sc_core::sc_time&) override {
    return tlm::TLM_ACCEPTED;
  }
  void invalidate_direct_mem_ptr(sc_dt::uint64, sc_dt::uint64) override {}

  InterleavedHbm& stack_;
  InitiatorSocket<PacketProtocol> packet_out_{"packet_out"};
  TargetSocket<PacketProtocol> packet_in_{"packet_in"};
  std::vector<MemoryPacket*> requests_;  // by arrival; the first is at the channel
  std::vector<MemoryPacket*> served_;    // sent to the channel but not answered
};

/// Between the memory socket of a PE and the NoC.
///
/// One link leads into a PE, so its responses come one at a time. The PE's requests also come one
/// at a time. So there is nothing to decide and no settling.
class InterleavedHbm::PeNiu : public sc_core::sc_module,
                              private ForwardInterface<PacketProtocol>,
                              private BackwardInterface<PacketProtocol> {
 public:
  tlm_utils::simple_target_socket<PeNiu, 32> memory{"memory"};

  PeNiu(const sc_core::sc_module_name& name, InterleavedHbm& stack, std::uint32_t pe_number,
        std::uint32_t endpoint, Fabric& noc)
      : sc_module(name), stack_(stack), pe_(pe_number) {
    KERNBENCH_HAS_PROCESS(PeNiu);
    SC_METHOD(take_annotated);
    sensitive << annotated_.get_event();
    dont_initialize();
    // b_transport is the socket's own: it goes through the phases and waits for them.
    memory.register_nb_transport_fw(this, &PeNiu::nb_transport_fw);
    memory.register_transport_dbg(this, &PeNiu::transport_dbg);
    memory.register_get_direct_mem_ptr(this, &PeNiu::get_direct_mem_ptr);
    packet_out_.bind(*this);
    packet_in_.bind(*this);
    packet_out_.bind(noc.in(endpoint));
    noc.out(endpoint).bind(packet_in_);
  }

 private:
  tlm::tlm_sync_enum nb_transport_fw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay) {
    if (phase == tlm::BEGIN_REQ) {
      payload.acquire();
      if (delay == sc_core::SC_ZERO_TIME) {
        request(payload);
      } else {
        annotated_.notify(payload, delay);
      }
    } else if (phase == tlm::END_RESP) {
      responses_.end_response(payload);
      return tlm::TLM_COMPLETED;
    }
    return tlm::TLM_ACCEPTED;
  }

  void take_annotated() {
    while (tlm::tlm_generic_payload* payload = annotated_.get_next_transaction()) request(*payload);
  }

  void request(tlm::tlm_generic_payload& payload) {
    check(payload);
    if (free_.empty()) {
      packets_.push_back(std::make_unique<MemoryPacket>());
      free_.push_back(packets_.back().get());
    }
    MemoryPacket& packet = *free_.back();
    free_.pop_back();
    packet.payload = &payload;
    packet.pe = pe_;
    packet.to = Packet::To::channel;
    packet.index = stack_.channel_of(payload.get_address());
    packet.bytes = stack_.request_bytes(payload);
    packet.key = packet_key(pe_, PacketMaker::memory, count_++);
    send_forward(packet_out_, packet, tlm::BEGIN_REQ);
  }

  void check(const tlm::tlm_generic_payload& payload) const {
    const std::uint64_t bytes = payload.get_data_length();
    const std::uint64_t interleave = stack_.interleave_bytes_;
    if (bytes > 0 && payload.get_address() % interleave + bytes <= interleave) return;
    SC_REPORT_ERROR(
        "/kernbench/interleaved_hbm/burst",
        fmt::format("{}: a {} of {} bytes at {:#x} does not lie on one channel: these have {} "
                    "bytes in turn; send at least one byte, cut at multiples of that",
                    name(), payload.is_write() ? "write" : "read", bytes, payload.get_address(),
                    interleave)
            .c_str());
  }

  /// END_REQ of a request: its tail has left the PE's own link.
  tlm::tlm_sync_enum nb_transport_bw(Packet& packet, tlm::tlm_phase&, sc_core::sc_time&) override {
    tlm::tlm_phase phase = tlm::END_REQ;
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    return memory->nb_transport_bw(*static_cast<MemoryPacket&>(packet).payload, phase, delay);
  }

  /// A response is whole.
  tlm::tlm_sync_enum nb_transport_fw(Packet& packet, tlm::tlm_phase&, sc_core::sc_time&) override {
    auto& response = static_cast<MemoryPacket&>(packet);
    free_.push_back(&response);
    responses_.respond(*response.payload);
    return tlm::TLM_ACCEPTED;
  }

  unsigned int transport_dbg(tlm::tlm_generic_payload& payload) {
    const std::uint64_t addr = payload.get_address();
    unsigned char* const data = payload.get_data_ptr();
    const unsigned int length = payload.get_data_length();
    unsigned int done = 0;
    while (done < length) {
      const std::uint64_t at = addr + done;
      const auto part = static_cast<unsigned int>(std::min<std::uint64_t>(
          length - done, stack_.interleave_bytes_ - at % stack_.interleave_bytes_));
      payload.set_address(at);
      payload.set_data_ptr(data + done);
      payload.set_data_length(part);
      const unsigned int moved =
          stack_.channel_nius_[stack_.channel_of(at)]->memory->transport_dbg(payload);
      done += moved;
      if (moved < part) break;
    }
    payload.set_address(addr);
    payload.set_data_ptr(data);
    payload.set_data_length(length);
    return done;
  }

  bool get_direct_mem_ptr(tlm::tlm_generic_payload& payload, tlm::tlm_dmi& dmi) {
    return stack_.channel_nius_.front()->memory->get_direct_mem_ptr(payload, dmi);
  }

  InterleavedHbm& stack_;
  const std::uint32_t pe_;
  InitiatorSocket<PacketProtocol> packet_out_{"packet_out"};
  TargetSocket<PacketProtocol> packet_in_{"packet_in"};
  ResponseSide responses_{*memory.operator->()};
  tlm_utils::peq_with_get<tlm::tlm_generic_payload> annotated_{"annotated"};
  std::vector<std::unique_ptr<MemoryPacket>> packets_;
  std::vector<MemoryPacket*> free_;
  std::uint64_t count_ = 0;
};

InterleavedHbm::InterleavedHbm(const sc_core::sc_module_name& name,
                               const arch::TopologyConfig& topology, std::uint32_t cube,
                               Fabric& noc, bool data, bool reverse_creation)
    : sc_module(name),
      interleave_bytes_(topology.hbm.interleave_bytes),
      flit_bytes_(topology.noc.bytes_per_cycle) {
  arch::check_config(sc_module::name(), topology);
  const arch::CubeEndpoints endpoints{topology.pes_per_cube, topology.hbm.channels};
  const arch::HbmConfig channel = channel_of_stack(topology.hbm);
  const auto numbered = [](const char* what, std::uint32_t index) {
    return fmt::format("{}{}", what, index);
  };
  channels_.resize(endpoints.channels);
  channel_nius_.resize(endpoints.channels);
  channel_monitors_.resize(topology.check_protocol ? endpoints.channels : 0);
  for (std::uint32_t i = 0; i < endpoints.channels; ++i) {
    const std::uint32_t c = reverse_creation ? endpoints.channels - 1 - i : i;
    channels_[c] = std::make_unique<EmbeddedHbm>(numbered("channel", c).c_str(), channel, 1, data,
                                                 cube * endpoints.channels + c);
    channel_nius_[c] = std::make_unique<ChannelNiu>(numbered("channel_niu", c).c_str(), *this,
                                                    endpoints.channel(c), noc);
    if (topology.check_protocol) {
      // TLM_COMPLETED to a BEGIN_RESP is legal, though not everywhere welcome.
      channel_monitors_[c] = std::make_unique<BaseProtocolMonitor>(
          numbered("channel_monitor", c).c_str(), BaseProtocolMonitor::Checks::base_protocol,
          BaseProtocolMonitor::OnViolation::report);
      channel_nius_[c]->memory.bind(channel_monitors_[c]->upstream);
      channel_monitors_[c]->downstream.bind(channels_[c]->port(0));
    } else {
      channel_nius_[c]->memory.bind(channels_[c]->port(0));
    }
  }
  pe_nius_.resize(endpoints.pes);
  port_monitors_.resize(topology.check_protocol ? endpoints.pes : 0);
  for (std::uint32_t i = 0; i < endpoints.pes; ++i) {
    const std::uint32_t p = reverse_creation ? endpoints.pes - 1 - i : i;
    pe_nius_[p] = std::make_unique<PeNiu>(numbered("pe_niu", p).c_str(), *this,
                                          cube * endpoints.pes + p, endpoints.memory(p), noc);
    if (topology.check_protocol) {
      port_monitors_[p] = std::make_unique<BaseProtocolMonitor>(
          numbered("port_monitor", p).c_str(), BaseProtocolMonitor::Checks::with_port_rules,
          BaseProtocolMonitor::OnViolation::report);
      port_monitors_[p]->downstream.bind(pe_nius_[p]->memory);
    }
  }
}

InterleavedHbm::~InterleavedHbm() = default;

tlm::tlm_target_socket<32>& InterleavedHbm::port(std::uint32_t pe) {
  return port_monitors_.empty() ? pe_nius_.at(pe)->memory : port_monitors_.at(pe)->upstream;
}

std::uint64_t InterleavedHbm::request_bytes(const tlm::tlm_generic_payload& payload) const {
  return payload.is_write() ? payload.get_data_length() : flit_bytes_;
}

std::uint64_t InterleavedHbm::response_bytes(const tlm::tlm_generic_payload& payload) const {
  return payload.is_write() ? flit_bytes_ : payload.get_data_length();
}

}  // namespace kernbench
