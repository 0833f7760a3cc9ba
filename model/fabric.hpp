// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "model/arch/network.hpp"
#include "model/settle_hub.hpp"
#include "tlm_if/packet.hpp"
#include "tlm_if/protocols.hpp"
#include "tlm_if/systemc.hpp"

namespace kernbench {

/// What went over one link: whole packets only, so that busy_ps never exceeds the time passed. A
/// packet waits from when its head has come until the link takes it.
struct LinkStatistics {
  std::string name;
  std::uint64_t packets = 0;
  std::uint64_t bytes_in = 0;   ///< arrived at the link
  std::uint64_t bytes_out = 0;  ///< left it
  std::uint64_t busy_ps = 0;
  std::uint64_t wait_ps = 0;           ///< summed over the packets that it has taken
  std::uint64_t max_queued_bytes = 0;  ///< of packets that waited together, whole
};

/// The links of one network: the NoC of a cube, or a ring. A packet comes in whole at one endpoint
/// (BEGIN_REQ) and goes out whole at another.
///
/// Timing: each link is a server in order of arrival, arrivals of one instant in the order of
/// Packet::key. A packet occupies a link for service(bytes); its head reaches the next link
/// `latency` after its start, before its tail has left this one. END_REQ to the sender when the
/// tail has left the first link; BEGIN_REQ at the exit latency + service after the start of the
/// last link. A packet of 0 bytes takes the latency of the way only, occupies nothing and gets no
/// END_REQ. A way that takes no time ends within the call of BEGIN_REQ. Not modelled: buffers of a
/// router; a packet waits where it is, and holds up no other link.
class Fabric : public sc_core::sc_module, private Settling {
 public:
  /// `order`: among fabrics, in the settling of an instant. `exit`: the endpoint where a packet
  /// goes out, asked once when it comes in.
  Fabric(const sc_core::sc_module_name& name, arch::Network network, std::uint32_t order,
         std::function<std::uint32_t(const Packet&)> exit);
  ~Fabric() override;

  OptionalTargetSocket<PacketProtocol>& in(std::uint32_t endpoint);
  /// After BEGIN_REQ the packet is the receiver's, which may send it on or give it back at once.
  OptionalInitiatorSocket<PacketProtocol>& out(std::uint32_t endpoint);

  const arch::Network& network() const { return network_; }
  /// Of each link, in the order of network().links().
  const std::vector<LinkStatistics>& links() const { return statistics_; }
  /// No packet is under way.
  bool idle() const { return under_way_ == 0; }

 private:
  class Endpoint;
  struct Link {
    std::vector<Packet*> queue;  // by arrival, those of one instant by key
    bool busy = false;
    bool ready = false;  // in ready_
    std::uint64_t queued_bytes = 0;
    std::uint64_t queue_changed_ps = 0;
  };
  // In this order within an instant: the sender hears that the tail has left before the packet is
  // the receiver's.
  enum class EventKind : std::uint8_t { tail_left, head_arrived, delivered };
  struct Event {
    std::uint64_t time;
    EventKind kind;
    std::uint32_t link;
    std::uint64_t key;  // of the packet
    Packet* packet;
  };

  void settle() override;
  void work();

  void enter(std::uint32_t endpoint, Packet& packet);
  void arrive(std::uint32_t link, Packet& packet);
  void start(std::uint32_t link);
  void finish(std::uint32_t link, Packet& packet);
  void deliver(Packet& packet);
  void make_ready(std::uint32_t link);
  void note_queued(std::uint32_t link);
  void schedule(std::uint64_t delay, EventKind kind, std::uint32_t link, Packet& packet);
  static bool later(const Event& x, const Event& y);

  const TimeBase time_;
  const arch::Network network_;
  const std::function<std::uint32_t(const Packet&)> exit_;
  std::vector<std::unique_ptr<Endpoint>> endpoints_;
  std::vector<Link> links_;
  std::vector<LinkStatistics> statistics_;
  std::vector<std::uint32_t> ready_;  // links that can start a packet, in no order
  std::vector<Event> events_;         // a heap, the next in front
  std::uint64_t under_way_ = 0;
  sc_core::sc_event work_event_;
};

}  // namespace kernbench
