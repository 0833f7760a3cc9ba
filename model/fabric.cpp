// SPDX-License-Identifier: Apache-2.0
#include "model/fabric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "model/arrival_queue.hpp"

namespace kernbench {

/// The sockets of one endpoint.
class Fabric::Endpoint : private ForwardInterface<PacketProtocol>,
                         private BackwardInterface<PacketProtocol> {
 public:
  Endpoint(Fabric& fabric, std::uint32_t index)
      : in(fmt::format("in_{}", index).c_str()),
        out(fmt::format("out_{}", index).c_str()),
        fabric_(fabric),
        index_(index) {
    in.bind(*this);
    out.bind(*this);
  }

  OptionalTargetSocket<PacketProtocol> in;
  OptionalInitiatorSocket<PacketProtocol> out;

 private:
  tlm::tlm_sync_enum nb_transport_fw(Packet& packet, tlm::tlm_phase&, sc_core::sc_time&) override {
    fabric_.enter(index_, packet);
    return tlm::TLM_ACCEPTED;
  }
  /// END_REQ from a receiver that is itself a fabric; this fabric ignores it.
  tlm::tlm_sync_enum nb_transport_bw(Packet&, tlm::tlm_phase&, sc_core::sc_time&) override {
    return tlm::TLM_ACCEPTED;
  }

  Fabric& fabric_;
  const std::uint32_t index_;
};

Fabric::Fabric(const sc_core::sc_module_name& name, arch::Network network, std::uint32_t order,
               std::function<std::uint32_t(const Packet&)> exit)
    : sc_module(name),
      Settling(SettleHub::of_simulation(), SettlePhase::network, order, 0),
      network_(std::move(network)),
      exit_(std::move(exit)),
      links_(network_.links().size()) {
  KERNBENCH_HAS_PROCESS(Fabric);
  SC_METHOD(work);
  sensitive << work_event_;
  dont_initialize();
  for (std::uint32_t e = 0; e < network_.endpoints(); ++e) {
    endpoints_.push_back(std::make_unique<Endpoint>(*this, e));
  }
  for (const arch::NetworkLink& link : network_.links()) statistics_.push_back({link.name});
}

Fabric::~Fabric() = default;

OptionalTargetSocket<PacketProtocol>& Fabric::in(std::uint32_t endpoint) {
  return endpoints_.at(endpoint)->in;
}

OptionalInitiatorSocket<PacketProtocol>& Fabric::out(std::uint32_t endpoint) {
  return endpoints_.at(endpoint)->out;
}

void Fabric::enter(std::uint32_t endpoint, Packet& packet) {
  packet.from = endpoint;
  packet.exit = exit_(packet);
  if (packet.exit >= endpoints_.size() || endpoints_[packet.exit]->out.size() == 0) {
    SC_REPORT_ERROR("/kernbench/fabric/unconnected",
                    fmt::format("{}: a packet of {} bytes from endpoint {} leaves at endpoint {}, "
                                "where nothing is bound; bind out({}) or mend the exit function",
                                name(), packet.bytes, endpoint, packet.exit, packet.exit)
                        .c_str());
    return;
  }
  ++under_way_;
  if (packet.bytes == 0) {
    const arch::Picoseconds latency = network_.latency(endpoint, packet.exit);
    if (latency == 0) {
      deliver(packet);
    } else {
      schedule(latency, EventKind::delivered, arch::Network::kArrived, packet);
    }
    return;
  }
  const std::uint32_t first = network_.first(endpoint, packet.exit);
  if (first != arch::Network::kArrived) {
    arrive(first, packet);
    return;
  }
  send_backward(in(endpoint), packet, tlm::END_REQ);
  deliver(packet);
}

void Fabric::arrive(std::uint32_t link, Packet& packet) {
  packet.arrival = time_.now();
  statistics_[link].bytes_in += packet.bytes;
  // Arrivals come in time order, so a new one passes only those of its own instant.
  insert_from_back(links_[link].queue, &packet, [](const Packet* x, const Packet* y) {
    return x->arrival == y->arrival && x->key < y->key;
  });
  note_queued(link);
  links_[link].queued_bytes += packet.bytes;
  make_ready(link);
}

// Called before the queue changes. Packets that are in the queue only within one instant have not
// waited.
void Fabric::note_queued(std::uint32_t link) {
  Link& l = links_[link];
  if (l.queue_changed_ps == time_.now()) return;
  l.queue_changed_ps = time_.now();
  std::uint64_t& most = statistics_[link].max_queued_bytes;
  most = std::max(most, l.queued_bytes);
}

void Fabric::make_ready(std::uint32_t link) {
  Link& l = links_[link];
  if (l.busy || l.ready || l.queue.empty()) return;
  l.ready = true;
  ready_.push_back(link);
  touch();
}

// A packet that starts on a link without latency arrives at the next link in the same instant.
// Links are served by key, so it arrives before a packet of higher key starts there. So packets are
// served by arrival and key, whatever the order of the links.
void Fabric::settle() {
  const auto key = [this](std::uint32_t link) { return links_[link].queue.front()->key; };
  while (!ready_.empty()) {
    const auto least =
        std::min_element(ready_.begin(), ready_.end(),
                         [&](std::uint32_t x, std::uint32_t y) { return key(x) < key(y); });
    const std::uint32_t link = *least;
    *least = ready_.back();
    ready_.pop_back();
    links_[link].ready = false;
    start(link);
  }
}

void Fabric::start(std::uint32_t link) {
  Link& l = links_[link];
  Packet& packet = *l.queue.front();
  l.queue.erase(l.queue.begin());
  note_queued(link);
  l.queued_bytes -= packet.bytes;
  statistics_[link].wait_ps += time_.now() - packet.arrival;
  l.busy = true;
  const arch::Picoseconds service = network_.service(packet.bytes);
  const arch::Picoseconds latency = network_.links()[link].latency;
  schedule(service, EventKind::tail_left, link, packet);
  const std::uint32_t next = network_.next(link, packet.exit);
  if (next == arch::Network::kArrived) {
    schedule(latency + service, EventKind::delivered, link, packet);
  } else if (latency == 0) {
    arrive(next, packet);
  } else {
    schedule(latency, EventKind::head_arrived, next, packet);
  }
}

void Fabric::finish(std::uint32_t link, Packet& packet) {
  LinkStatistics& statistics = statistics_[link];
  ++statistics.packets;
  statistics.bytes_out += packet.bytes;
  statistics.busy_ps += network_.service(packet.bytes);
  links_[link].busy = false;
  make_ready(link);
  if (link == network_.first(packet.from, packet.exit)) {
    send_backward(in(packet.from), packet, tlm::END_REQ);
  }
}

void Fabric::deliver(Packet& packet) {
  --under_way_;
  send_forward(endpoints_[packet.exit]->out, packet, tlm::BEGIN_REQ);
}

void Fabric::work() {
  in_turn([this] {
    const std::uint64_t now = time_.now();
    while (!events_.empty() && events_.front().time == now) {
      std::pop_heap(events_.begin(), events_.end(), later);
      const Event event = events_.back();
      events_.pop_back();
      switch (event.kind) {
        case EventKind::tail_left:
          finish(event.link, *event.packet);
          break;
        case EventKind::head_arrived:
          arrive(event.link, *event.packet);
          break;
        case EventKind::delivered:
          deliver(*event.packet);
          break;
      }
    }
    if (!events_.empty()) work_event_.notify(time_.to_sc_time(events_.front().time - now));
  });
}

void Fabric::schedule(std::uint64_t delay, EventKind kind, std::uint32_t link, Packet& packet) {
  events_.push_back({time_.now() + delay, kind, link, packet.key, &packet});
  std::push_heap(events_.begin(), events_.end(), later);
  work_event_.notify(time_.to_sc_time(delay));  // an earlier notification stays
}

bool Fabric::later(const Event& x, const Event& y) {
  return std::tie(x.time, x.kind, x.key, x.link) > std::tie(y.time, y.kind, y.key, y.link);
}

}  // namespace kernbench
