// SPDX-License-Identifier: Apache-2.0
#include "tests/machine/machine_clock.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "tlm_if/command/access_set.hpp"

namespace kernbench::test {
namespace {

using command::Command;

/// R6.1: once, rounded half up. Exact in double for the figures of the topologies.
Ps rounded(double ps) { return static_cast<Ps>(std::floor(ps + 0.5)); }
std::uint64_t ceil_div(std::uint64_t x, std::uint64_t y) { return (x + y - 1) / y; }

/// Costs of a topology.
struct Costs {
  explicit Costs(const arch::TopologyConfig& config) : topology(config) {}

  Ps cycles(double count) const {
    return rounded(count * 1000 / topology.pe.clock_ghz.to_double());
  }
  Ps dispatch(std::uint64_t bytes) const {
    const arch::CostModelConfig& cost = topology.pe.pe_cost_model;
    const auto segments =
        std::max<std::uint64_t>(1, ceil_div(bytes, cost.max_composite_logical_bytes));
    return cycles(static_cast<double>(segments * cost.fixed_cycles) +
                  cost.cycles_per_byte.to_double() * static_cast<double>(bytes));
  }
  Ps math(std::uint64_t elements) const {
    return cycles(static_cast<double>(ceil_div(elements, topology.pe.math.lanes)));
  }
  /// A load or store that has the HBM to itself, in bursts that take whole ps.
  Ps dma(std::uint64_t bytes) const {
    return cycles(static_cast<double>(topology.pe.dma.setup_cycles)) +
           rounded(static_cast<double>(bytes) * 1000 / topology.pe_slice().gbps.to_double());
  }
  Ps hbm_latency() const { return rounded(topology.hbm.latency_ns.to_double() * 1000); }

  const arch::TopologyConfig& topology;
};

// ---- ways ---------------------------------------------------------------------------------------

std::uint32_t cube_of(const arch::TopologyConfig& t, std::uint32_t pe) {
  return pe / t.pes_per_cube;
}
std::uint32_t sip_of(const arch::TopologyConfig& t, std::uint32_t pe) {
  return cube_of(t, pe) / t.cubes_per_sip;
}

/// Between two routers' endpoints: along the row, then the column.
Leg mesh_leg(const arch::TopologyConfig& t, std::uint32_t cube, const std::string& from,
             std::uint32_t from_router, const std::string& to, std::uint32_t to_router,
             std::uint64_t bytes) {
  const Costs costs(t);
  const Ps niu = costs.cycles(static_cast<double>(t.noc.niu_cycles));
  const Ps hop = costs.cycles(static_cast<double>(t.noc.hop_cycles));
  const auto name = [&](const std::string& x, const std::string& y) {
    return fmt::format("cube{}.{}_{}", cube, x, y);
  };
  Leg leg;
  std::string at = fmt::format("n{}", from_router);
  leg.links.push_back({name(from, at), niu});
  for (std::uint32_t router = from_router; router != to_router;) {
    const std::uint32_t col = router % t.noc.cols, to_col = to_router % t.noc.cols;
    if (col != to_col) {
      router = col < to_col ? router + 1 : router - 1;
    } else {
      router = router < to_router ? router + t.noc.cols : router - t.noc.cols;
    }
    const std::string next = fmt::format("n{}", router);
    leg.links.push_back({name(at, next), hop});
    at = next;
  }
  leg.links.push_back({name(at, to), niu});
  leg.service = costs.cycles(static_cast<double>(ceil_div(bytes, t.noc.bytes_per_cycle)));
  return leg;
}

/// The shorter way round, of two equal ones upwards.
Leg ring_leg(const arch::RingConfig& ring, const std::string& prefix, std::uint32_t nodes,
             std::uint32_t from, std::uint32_t to, std::uint64_t bytes) {
  const std::uint32_t up = (to + nodes - from) % nodes;
  const std::uint32_t step = up <= nodes - up ? 1 : nodes - 1;
  Leg leg;
  for (std::uint32_t at = from; at != to;) {
    const std::uint32_t next = (at + step) % nodes;
    leg.links.push_back(
        {fmt::format("{}{}_{}", prefix, at, next), rounded(ring.latency_ns.to_double() * 1000)});
    at = next;
  }
  leg.service = rounded(static_cast<double>(bytes) * 1000 / ring.gbps.to_double());
  return leg;
}

}  // namespace

std::vector<Leg> way(const arch::TopologyConfig& t, std::uint32_t from, std::uint32_t to,
                     std::uint64_t bytes) {
  const std::uint32_t from_cube = cube_of(t, from), to_cube = cube_of(t, to);
  const std::uint32_t from_sip = sip_of(t, from), to_sip = sip_of(t, to);
  const std::uint32_t from_router = from % t.pes_per_cube, to_router = to % t.pes_per_cube;
  const std::string from_name = fmt::format("ipcq{}", from_router);
  const std::string to_name = fmt::format("ipcq{}", to_router);
  if (from_cube == to_cube) {
    return {mesh_leg(t, from_cube, from_name, from_router, to_name, to_router, bytes)};
  }
  std::vector<Leg> legs{mesh_leg(t, from_cube, from_name, from_router, "d2d", 0, bytes)};
  const auto cube_ring = [&](std::uint32_t sip, std::uint32_t x, std::uint32_t y) {
    if (x != y) {
      legs.push_back(ring_leg(t.d2d, fmt::format("sip{}.c", sip), t.cubes_per_sip, x, y, bytes));
    }
  };
  const std::uint32_t x = from_cube % t.cubes_per_sip, y = to_cube % t.cubes_per_sip;
  if (from_sip == to_sip) {
    cube_ring(from_sip, x, y);
  } else {
    cube_ring(from_sip, x, 0);  // SIP links start at cube 0
    legs.push_back(ring_leg(t.sip_link, "s", t.sips, from_sip, to_sip, bytes));
    cube_ring(to_sip, 0, y);
  }
  legs.push_back(mesh_leg(t, to_cube, "d2d", 0, to_name, to_router, bytes));
  return legs;
}

Ps way_ps(const arch::TopologyConfig& topology, std::uint32_t from, std::uint32_t to,
          std::uint64_t bytes) {
  Ps sum = 0;
  for (const Leg& leg : way(topology, from, to, bytes)) sum += leg.latency() + leg.service;
  return sum;
}

Ps latency_ps(const arch::TopologyConfig& topology, std::uint32_t from, std::uint32_t to) {
  Ps sum = 0;
  for (const Leg& leg : way(topology, from, to, 1)) sum += leg.latency();
  return sum;
}

namespace {

// ---- programs in time ---------------------------------------------------------------------------

enum class Engine : std::uint8_t { composite, dma_read, dma_write, math, ipcq };

/// A command that has been dispatched and is not done.
struct Issued {
  std::uint64_t number = 0;
  Engine engine = Engine::math;
  command::AccessSet access;
  std::vector<std::uint64_t> math;  // elements of each stage
  std::size_t stages_done = 0;
  std::uint64_t bytes = 0;
  command::IpcqChannel peer;
  bool sends = false;
};

/// A slot under way.
struct Slot {
  std::uint32_t from = 0, to = 0, channel = 0;
  std::uint64_t key = 0;
  std::vector<Leg> legs;
  std::size_t leg = 0, link = 0;
};

class Clock {
 public:
  Clock(const arch::TopologyConfig& topology, const std::vector<Compiled>& programs)
      : topology_(topology), costs_(topology) {
    for (const Compiled& compiled : programs) {
      Pe& pe = pes_[compiled.pe];
      pe.number = compiled.pe;
      pe.steps = &compiled.program.steps;
    }
    const Ps launch = rounded(topology.pe.cpu.launch_ns.to_double() * 1000);
    at(launch, [this] {
      for (auto& [number, pe] : pes_) pe.running = true;
    });
  }

  std::vector<std::string> run() {
    while (!events_.empty()) {
      now_ = events_.begin()->first;
      while (!events_.empty() && events_.begin()->first == now_) {
        const auto event = std::move(events_.begin()->second);
        events_.erase(events_.begin());
        event();
      }
      for (auto& [number, pe] : pes_) go_on(pe);
      for (auto& [number, pe] : pes_) {
        for (auto& [engine, server] : pe.servers) serve(server);
      }
      for (auto& [name, link] : links_) serve(link);
    }
    for (const auto& [number, pe] : pes_) {
      if (pe.step < pe.steps->size() || !pe.issued.empty()) {
        throw std::logic_error(fmt::format("PE {} does not end", number));
      }
    }
    std::sort(lines_.begin(), lines_.end());
    return lines_;
  }

 private:
  /// For a server: one thing at a time, by arrival, then by key. Told when it begins and ends.
  struct Job {
    Ps arrival;
    std::uint64_t key;
    Ps duration;
    std::function<void(Ps start)> begin, end;
  };
  struct Server {
    bool busy = false;
    std::vector<Job> queue;
  };
  struct Lane {
    std::deque<Issued*> commands;
    bool at_server = false;
    std::uint64_t next = 0;
    std::uint64_t credits = 0;  // of one that sends
    std::uint64_t arrived = 0;  // of one that receives
  };
  using LaneKey = std::tuple<bool, std::uint32_t, std::uint32_t>;  // sends, peer, channel
  struct Pe {
    std::uint32_t number = 0;
    const std::vector<command::ProgramStep>* steps = nullptr;
    bool running = false, dispatching = false;
    std::size_t step = 0;
    std::uint64_t commands = 0, packets = 0;
    std::vector<std::unique_ptr<Issued>> issued;
    std::deque<Issued*> queue;
    Issued* offered = nullptr;
    std::vector<Issued*> flight;
    std::map<Engine, Server> servers;
    std::map<LaneKey, Lane> lanes;
  };

  void at(Ps time, std::function<void()> event) { events_.emplace(time, std::move(event)); }

  void line(const Pe& pe, Ps start, Ps end, const char* stage, std::uint64_t cmd,
            std::int64_t slot = -1) {
    lines_.push_back(
        fmt::format("{:012} {:012} {} {} {} {}", start, end, pe.number, stage, cmd, slot));
  }

  // -- servers --

  void serve(Server& server) {
    if (server.busy || server.queue.empty()) return;
    const auto first =
        std::min_element(server.queue.begin(), server.queue.end(), [](const Job& x, const Job& y) {
          return std::tie(x.arrival, x.key) < std::tie(y.arrival, y.key);
        });
    const Job job = std::move(*first);
    server.queue.erase(first);
    server.busy = true;
    if (job.begin) job.begin(now_);
    at(now_ + job.duration, [&server, end = job.end, start = now_] {
      server.busy = false;
      if (end) end(start);
    });
  }

  // -- PE_CPU and the scheduler --

  void go_on(Pe& pe) {
    admit(pe);
    while (pe.running && !pe.dispatching && pe.offered == nullptr && pe.step < pe.steps->size()) {
      const command::ProgramStep& step = (*pe.steps)[pe.step];
      if (const auto* wait = std::get_if<command::WaitStep>(&step)) {
        if (writes(pe, wait->ranges)) return;
      } else if (const auto* command = std::get_if<Command>(&step)) {
        auto issued = issued_of(pe, *command);
        if (issued->engine != Engine::composite && must_await(pe, *issued)) return;
        ++pe.commands;
        dispatch(pe, *command, std::move(issued));
      }
      ++pe.step;
    }
  }

  static bool writes(const Pe& pe, const std::vector<command::ByteRange>& ranges) {
    return std::any_of(pe.issued.begin(), pe.issued.end(),
                       [&](const auto& earlier) { return earlier->access.writes_any_of(ranges); });
  }
  /// R6.11.
  static bool must_await(const Pe& pe, const Issued& command) {
    return std::any_of(pe.issued.begin(), pe.issued.end(), [&](const auto& earlier) {
      return earlier->engine != command.engine && earlier->access.conflicts_with(command.access);
    });
  }

  static std::uint64_t elements(const command::OpSpec& op) {
    auto most = op.has_out ? op.out.shape.elements() : 0;
    for (const command::Operand& operand : op.operands) {
      most = std::max(most, operand.handle.shape.elements());
    }
    return static_cast<std::uint64_t>(most);
  }

  static std::unique_ptr<Issued> issued_of(const Pe& pe, const Command& command) {
    auto issued = std::make_unique<Issued>();
    issued->number = pe.commands;
    issued->access = command::access_set(command);
    if (const auto* load = std::get_if<command::DmaReadCmd>(&command)) {
      issued->engine = Engine::dma_read;
      issued->bytes = load->src.bytes();
    } else if (const auto* store = std::get_if<command::DmaWriteCmd>(&command)) {
      issued->engine = Engine::dma_write;
      issued->bytes = store->src.bytes();
    } else if (const auto* send = std::get_if<command::IpcqSendCmd>(&command)) {
      issued->engine = Engine::ipcq;
      issued->bytes = send->src.bytes();
      issued->peer = send->to;
      issued->sends = true;
    } else if (const auto* recv = std::get_if<command::IpcqRecvCmd>(&command)) {
      issued->engine = Engine::ipcq;
      issued->bytes = recv->dst.bytes();
      issued->peer = recv->from;
    } else if (const auto* math = std::get_if<command::MathCmd>(&command)) {
      issued->math = {elements(math->op)};
    } else if (const auto* composite = std::get_if<command::CompositeCmd>(&command)) {
      issued->engine = Engine::composite;
      for (const command::OpSpec& op : composite->ops) {
        if (op.kind == command::OpKind::gemm) throw std::logic_error("no gemm here");
        issued->math.push_back(elements(op));
      }
    } else {
      throw std::logic_error("unknown command");
    }
    return issued;
  }

  void dispatch(Pe& pe, const Command& command, std::unique_ptr<Issued> issued) {
    pe.dispatching = true;
    const Ps end = now_ + costs_.dispatch(command::logical_bytes(command));
    line(pe, now_, end, "dispatch", issued->number);
    pe.issued.push_back(std::move(issued));
    at(end, [&pe, last = pe.issued.back().get()] {
      pe.dispatching = false;
      pe.offered = last;
    });
  }

  /// R7.1: strictly in order.
  void admit(Pe& pe) {
    for (;;) {
      if (pe.offered != nullptr && pe.queue.size() < topology_.pe.cpu.cmd_queue_depth) {
        pe.queue.push_back(pe.offered);
        pe.offered = nullptr;
      }
      if (pe.queue.empty()) return;
      Issued& head = *pe.queue.front();
      std::uint32_t composites = head.engine == Engine::composite ? 1 : 0;
      for (const Issued* earlier : pe.flight) {
        if (earlier->access.conflicts_with(head.access)) return;
        if (head.engine == Engine::composite && earlier->engine == Engine::composite) ++composites;
      }
      if (composites > topology_.pe.scheduler.max_inflight_composites) return;
      pe.queue.pop_front();
      pe.flight.push_back(&head);
      start(pe, head);
    }
  }

  void finish(Pe& pe, const Issued& command) {
    pe.flight.erase(std::find(pe.flight.begin(), pe.flight.end(), &command));
    pe.issued.erase(std::find_if(pe.issued.begin(), pe.issued.end(),
                                 [&](const auto& issued) { return issued.get() == &command; }));
  }

  void start(Pe& pe, Issued& command) {
    switch (command.engine) {
      case Engine::dma_read:
        return dma(pe, command, "dma_read");
      case Engine::dma_write:
        return dma(pe, command, "dma_write");
      case Engine::math:
      case Engine::composite:
        return math(pe, command);
      case Engine::ipcq:
        Lane& lane = lane_of(pe, command.sends, command.peer.peer, command.peer.channel);
        lane.commands.push_back(&command);
        offer_slot(pe, lane);
    }
  }

  void dma(Pe& pe, const Issued& command, const char* stage) {
    pe.servers[command.engine].queue.push_back(
        {now_, command.number, costs_.dma(command.bytes), nullptr,
         [this, &pe, &command, stage](Ps start) {
           line(pe, start, now_, stage, command.number);
           at(now_ + costs_.hbm_latency(), [this, &pe, &command] { finish(pe, command); });
         }});
  }

  void math(Pe& pe, Issued& command) {
    pe.servers[Engine::math].queue.push_back({now_, command.number,
                                              costs_.math(command.math[command.stages_done]),
                                              nullptr, [this, &pe, &command](Ps start) {
                                                line(pe, start, now_, "math", command.number);
                                                if (++command.stages_done < command.math.size()) {
                                                  math(pe, command);
                                                } else {
                                                  finish(pe, command);
                                                }
                                              }});
  }

  // -- PE_IPCQ --

  Lane& lane_of(Pe& pe, bool sends, std::uint32_t peer, std::uint32_t channel) {
    const auto [place, added] = pe.lanes.try_emplace({sends, peer, channel});
    if (added) place->second.credits = topology_.pe.ipcq.depth;
    return place->second;
  }

  void offer_slot(Pe& pe, Lane& lane) {
    if (lane.at_server || lane.commands.empty()) return;
    Issued& command = *lane.commands.front();
    std::uint64_t& needed = command.sends ? lane.credits : lane.arrived;
    if (needed == 0) return;
    if (command.sends) --needed;
    lane.at_server = true;
    const arch::IpcqConfig& ipcq = topology_.pe.ipcq;
    pe.servers[Engine::ipcq].queue.push_back(
        {now_, command.number,
         costs_.cycles(static_cast<double>(command.sends ? ipcq.send_cycles : ipcq.recv_cycles)),
         nullptr, [this, &pe, &lane](Ps start) { end_slot(pe, lane, start); }});
  }

  void end_slot(Pe& pe, Lane& lane, Ps start) {
    Issued& command = *lane.commands.front();
    const std::uint64_t slot_bytes = topology_.pe.ipcq.slot_bytes;
    const std::uint64_t offset = lane.next * slot_bytes;
    line(pe, start, now_, command.sends ? "send" : "recv", command.number,
         static_cast<std::int64_t>(lane.next));
    const auto [peer, channel] = command.peer;
    Pe& other = pes_.at(peer);
    const std::uint64_t key = (std::uint64_t{pe.number} << 32) | pe.packets++;
    if (command.sends) {
      auto slot = std::make_shared<Slot>();
      slot->from = pe.number;
      slot->to = peer;
      slot->channel = channel;
      slot->key = key;
      slot->legs = way(topology_, pe.number, peer, std::min(slot_bytes, command.bytes - offset));
      enter(std::move(slot));
    } else {
      --lane.arrived;
      at(now_ + latency_ps(topology_, pe.number, peer), [this, &pe, &other, ch = channel] {
        Lane& credited = lane_of(other, true, pe.number, ch);
        ++credited.credits;
        offer_slot(other, credited);
      });
    }
    lane.at_server = false;
    if (offset + slot_bytes >= command.bytes) {
      lane.commands.pop_front();
      lane.next = 0;
      finish(pe, command);
    } else {
      ++lane.next;
    }
    offer_slot(pe, lane);
  }

  // -- links --

  void enter(std::shared_ptr<Slot> slot) {
    const Leg& leg = slot->legs[slot->leg];
    const Leg::Link& link = leg.links[slot->link];
    Server& server = links_[link.name];
    server.queue.push_back(
        {now_, slot->key, leg.service,
         [this, slot, latency = link.latency, service = leg.service](Ps start) {
           const bool last = slot->link + 1 == slot->legs[slot->leg].links.size();
           at(start + latency + (last ? service : 0), [this, slot] { go_on(slot); });
         },
         nullptr});
  }

  void go_on(const std::shared_ptr<Slot>& slot) {
    if (++slot->link == slot->legs[slot->leg].links.size()) {
      slot->link = 0;
      ++slot->leg;
    }
    if (slot->leg < slot->legs.size()) return enter(slot);
    Pe& receiver = pes_.at(slot->to);
    Lane& lane = lane_of(receiver, false, slot->from, slot->channel);
    ++lane.arrived;
    offer_slot(receiver, lane);
  }

  const arch::TopologyConfig& topology_;
  const Costs costs_;
  Ps now_ = 0;
  std::multimap<Ps, std::function<void()>> events_;
  std::map<std::uint32_t, Pe> pes_;
  std::map<std::string, Server> links_;
  std::vector<std::string> lines_;
};

}  // namespace

std::vector<std::string> stage_times(const arch::TopologyConfig& topology,
                                     const std::vector<Compiled>& programs) {
  return Clock(topology, programs).run();
}

std::vector<std::string> stage_times(const std::vector<OpLogRow>& rows) {
  std::vector<std::string> lines;
  for (const OpLogRow& row : rows) {
    if (row.stage == "wait" || row.stage == "admit_stall" || row.stage == "queue_stall") continue;
    const bool message = row.stage == "send" || row.stage == "recv";
    lines.push_back(fmt::format("{:012} {:012} {} {} {} {}", row.start, row.end, row.pe, row.stage,
                                row.cmd, message ? row.tile_m : -1));
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

}  // namespace kernbench::test
