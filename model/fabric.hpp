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

/// The traffic of one link. Only whole packets count, so busy_ps never exceeds the elapsed time. A
/// packet waits from the arrival of its head until the link starts to serve it.
struct LinkStatistics {
  std::string name;
  std::uint64_t packets = 0;
  std::uint64_t bytes_in = 0;   ///< arrived at the link
  std::uint64_t bytes_out = 0;  ///< left it
  std::uint64_t busy_ps = 0;
  std::uint64_t wait_ps = 0;           ///< summed over the packets whose service has started
  std::uint64_t max_queued_bytes = 0;  ///< of packets that waited at the same time
};

/// The links of one network: the NoC of a cube, or a ring. A packet enters whole at one endpoint
/// (BEGIN_REQ) and leaves whole at another.
///
/// Timing: each link serves packets in order of arrival, and arrivals of one instant in the order
/// of Packet::key. A packet occupies a link for service(bytes). Its head reaches the next link
/// `latency` after the start of service, before its tail has left this link. END_REQ goes to the
/// sender when the tail has left the first link. BEGIN_REQ at the exit follows latency + service
/// after the start on the last link. A packet of 0 bytes takes only the latency of the route,
/// occupies no link and gets no END_REQ. A route that takes no time ends within the call of
/// BEGIN_REQ. Not modelled: buffers of a router; a packet waits where it is and blocks no other
/// link.
class Fabric : public sc_core::sc_module, private Settling {
 public:
  /// `order`: its place among fabrics when an instant settles. `exit`: returns the endpoint where a
  /// packet leaves; called once, when the packet enters.
  Fabric(const sc_core::sc_module_name& name, arch::Network network, std::uint32_t order,
         std::function<std::uint32_t(const Packet&)> exit);
  ~Fabric() override;

  OptionalTargetSocket<PacketProtocol>& in(std::uint32_t endpoint);
  /// After BEGIN_REQ the receiver owns the packet and may send it on or give it back at once.
  OptionalInitiatorSocket<PacketProtocol>& out(std::uint32_t endpoint);

  const arch::Network& network() const { return network_; }
  /// Of each link, in the order of network().links().
  const std::vector<LinkStatistics>& links() const { return statistics_; }
  /// No packet is in flight.
  bool idle() const { return under_way_ == 0; }

 private:
  class Endpoint;
  struct Link {
    std::vector<Packet*> queue;  // by arrival, then by key
    bool busy = false;
    bool ready = false;  // in ready_
    std::uint64_t queued_bytes = 0;
    std::uint64_t queue_changed_ps = 0;
  };
  // In this order within an instant: the sender learns that the tail has left before the receiver
  // owns the packet.
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
  std::vector<std::uint32_t> ready_;  // links that can start a packet, unordered
  std::vector<Event> events_;         // a heap with the next event in front
  std::uint64_t under_way_ = 0;
  sc_core::sc_event work_event_;
};

}  // namespace kernbench
