// SPDX-License-Identifier: Apache-2.0
#include "model/fabric.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <map>
#include <new>
#include <numeric>
#include <optional>
#include <ostream>
#include <random>
#include <set>
#include <tuple>

#include "tests/support/network_way.hpp"

namespace {
std::size_t allocations = 0;
}  // namespace

// Counted, to show that packets in steady state need none.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(size);
}
void* operator new(std::size_t size) {
  if (void* memory = operator new(size, std::nothrow)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace kernbench {
namespace {

using arch::Network;
using arch::Picoseconds;
using test::path;
using test::unloaded;
using testing::HasSubstr;

constexpr Picoseconds kNs = 1000;

/// A packet, what is to become of it, and what became of it. It leaves at endpoint `index`.
struct Cargo : Packet {
  Picoseconds send = 0;
  std::optional<Picoseconds> left, delivered;
};

/// Sends what its script says through one endpoint, and notes what comes back and out.
class Station : public sc_core::sc_module,
                private ForwardInterface<PacketProtocol>,
                private BackwardInterface<PacketProtocol> {
 public:
  OptionalInitiatorSocket<PacketProtocol> out{"out"};
  OptionalTargetSocket<PacketProtocol> in{"in"};

  explicit Station(const sc_core::sc_module_name& name) : sc_module(name) {
    KERNBENCH_HAS_PROCESS(Station);
    SC_METHOD(work);
    sensitive << work_event_;
    out.bind(*this);
    in.bind(*this);
  }

  void send(Cargo& cargo) { script_.push_back(&cargo); }

 private:
  void work() {
    const auto by_time = [](const Cargo* x, const Cargo* y) { return x->send < y->send; };
    if (sent_ == 0) std::stable_sort(script_.begin(), script_.end(), by_time);
    for (; sent_ < script_.size() && script_[sent_]->send == time_.now(); ++sent_) {
      send_forward(out, *script_[sent_], tlm::BEGIN_REQ);
    }
    if (sent_ == script_.size()) return;
    work_event_.notify(time_.to_sc_time(script_[sent_]->send - time_.now()));
  }

  tlm::tlm_sync_enum nb_transport_fw(Packet& packet, tlm::tlm_phase& phase,
                                     sc_core::sc_time&) override {
    auto& cargo = static_cast<Cargo&>(packet);
    EXPECT_EQ(phase, tlm::BEGIN_REQ);
    EXPECT_FALSE(cargo.delivered) << "twice";
    EXPECT_EQ(cargo.left.has_value(), cargo.bytes > 0) << "END_REQ is due before";
    cargo.delivered = time_.now();
    return tlm::TLM_ACCEPTED;
  }
  tlm::tlm_sync_enum nb_transport_bw(Packet& packet, tlm::tlm_phase& phase,
                                     sc_core::sc_time&) override {
    auto& cargo = static_cast<Cargo&>(packet);
    EXPECT_EQ(phase, tlm::END_REQ);
    EXPECT_FALSE(cargo.left) << "twice";
    cargo.left = time_.now();
    return tlm::TLM_ACCEPTED;
  }

  const TimeBase time_;
  std::vector<Cargo*> script_;
  std::size_t sent_ = 0;
  sc_core::sc_event work_event_;
};

/// A fabric with a station at each endpoint, last created first with `reverse`.
struct Bench {
  explicit Bench(Network network, const std::string& name = "noc", bool reverse = false)
      : fabric(name.c_str(), std::move(network), 0, [](const Packet& p) { return p.index; }) {
    const std::uint32_t count = fabric.network().endpoints();
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint32_t e = reverse ? count - 1 - i : i;
      Station& station = stations.try_emplace(e, (name + std::to_string(e)).c_str()).first->second;
      station.out.bind(fabric.in(e));
      fabric.out(e).bind(station.in);
    }
  }

  Cargo& send(Picoseconds time, std::uint32_t from, std::uint32_t to, std::uint64_t bytes,
              std::uint64_t key) {
    Cargo& sent = cargo.emplace_back();
    sent.send = time;
    sent.index = to;
    sent.bytes = bytes;
    sent.key = key;
    stations.at(from).send(sent);
    return sent;
  }
  const LinkStatistics& link(const std::string& name) const {
    const auto& links = fabric.links();
    return *std::find_if(links.begin(), links.end(),
                         [&](const LinkStatistics& link) { return link.name == name; });
  }

  Fabric fabric;
  std::map<std::uint32_t, Station> stations;
  std::deque<Cargo> cargo;
};

Network cube(std::uint64_t niu_cycles = 5, std::uint64_t hop_cycles = 8) {
  arch::NocConfig config;  // 4 x 2, 64 bytes a cycle
  config.niu_cycles = niu_cycles;
  config.hop_cycles = hop_cycles;
  return Network::mesh(config, arch::Rational(1), 8, 0);
}

// From PE 0 to PE 2: 5 + 8 + 8 + 5 cycles for the head and 8192 / 64 = 128 for the tail to follow;
// it has left the first link 128 cycles after it came.
TEST(Fabric, OnePacketTakesTheLatenciesAndItsServiceOnce) {
  Bench bench(cube());
  const Cargo& cargo = bench.send(100 * kNs, 0, 2, 8192, 0);
  sc_core::sc_start(200, sc_core::SC_NS);
  EXPECT_FALSE(bench.fabric.idle());
  sc_core::sc_start();
  EXPECT_TRUE(bench.fabric.idle());
  EXPECT_EQ(cargo.left, (100 + 128) * kNs);
  EXPECT_EQ(cargo.delivered, (100 + 26 + 128) * kNs);
  EXPECT_EQ(unloaded(bench.fabric.network(), 0, 2, 8192), 154 * kNs);
  for (const LinkStatistics& link : bench.fabric.links()) {
    const std::set<std::string> way{"ipcq0_n0", "n0_n1", "n1_n2", "n2_ipcq2"};
    const std::uint64_t packets = way.count(link.name);
    EXPECT_EQ(link.packets, packets) << link.name;
    EXPECT_EQ(link.bytes_in, packets * 8192) << link.name;
    EXPECT_EQ(link.bytes_out, packets * 8192) << link.name;
    EXPECT_EQ(link.busy_ps, packets * 128 * kNs) << link.name;
    EXPECT_EQ(link.wait_ps, 0) << link.name;
    EXPECT_EQ(link.max_queued_bytes, 0) << link.name;
  }
}

// PE 0 and PE 1 both send to PE 2, over n1_n2 and n2_ipcq2. The packet of PE 0 comes to n1_n2 after
// 5 + 8 cycles, that of PE 1, sent 8 cycles later, too. Who goes first is delivered 8 + 5 + 128
// cycles after that; the other starts 128 cycles later and waits nowhere else: 8 cycles on, the
// last link has just become free.
struct Contention {
  std::string name;
  Picoseconds second_sent;  // by PE 1
  std::uint64_t key_0, key_1;
  Picoseconds delivered_0, delivered_1;
  friend std::ostream& operator<<(std::ostream& out, const Contention& c) { return out << c.name; }
};

class FabricContention : public testing::TestWithParam<Contention> {};

TEST_P(FabricContention, IsSettledByArrivalThenKey) {
  const Contention& c = GetParam();
  Bench straight(cube(), "straight");
  Bench reverse(cube(), "reverse", true);
  for (Bench* bench : {&straight, &reverse}) {
    bench->send(0, 0, 2, 8192, c.key_0);
    bench->send(c.second_sent, 1, 2, 8192, c.key_1);
    bench->send(0, 4, 6, 8192, 1);  // over other links
  }
  sc_core::sc_start();
  for (const Bench* bench : {&straight, &reverse}) {
    EXPECT_EQ(bench->cargo[0].delivered, c.delivered_0);
    EXPECT_EQ(bench->cargo[1].delivered, c.delivered_1);
    // Each has its first link to itself.
    EXPECT_EQ(bench->cargo[0].left, 128 * kNs);
    EXPECT_EQ(bench->cargo[1].left, c.second_sent + 128 * kNs);
    EXPECT_EQ(bench->cargo[2].delivered, 154 * kNs);
    // What the second is later than nothing before it would let it be.
    const Picoseconds wait = *bench->cargo[0].delivered - 154 * kNs + *bench->cargo[1].delivered -
                             (c.second_sent + 146 * kNs);
    for (const LinkStatistics& link : bench->fabric.links()) {
      const bool shared = link.name == "n1_n2";
      EXPECT_EQ(link.wait_ps, shared ? wait : 0) << link.name;
      EXPECT_EQ(link.max_queued_bytes, shared ? 8192 : 0) << link.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, FabricContention,
    testing::Values(Contention{"lower_key_0", 8 * kNs, 3, 7, 154 * kNs, 282 * kNs},
                    Contention{"lower_key_1", 8 * kNs, 7, 3, 282 * kNs, 154 * kNs},
                    // 1 ps later, whatever the key.
                    Contention{"later_1", 8 * kNs + 1, 7, 3, 154 * kNs, 282 * kNs},
                    // 1 ps earlier; the other waits that much less.
                    Contention{"earlier_1", 8 * kNs - 1, 3, 7, 282 * kNs - 1, 154 * kNs - 1}),
    [](const auto& tested) { return tested.param.name; });

// Packets that are sent together over one link leave it by key, back to back: the i-th starts
// after i * 128 cycles. Between 0 and 1 that is 5 + 8 + 5 cycles of latency. A packet to 4, behind
// them on the first link, then goes its own way.
TEST(Fabric, ALinkIsNeverIdleWhileAPacketWaits) {
  Bench bench(cube());
  std::vector<const Cargo*> by_key(11);
  for (const std::uint64_t key : {3u, 9u, 0u, 7u, 1u, 5u, 8u, 2u, 6u, 4u}) {
    by_key[key] = &bench.send(0, 0, 1, 8192, key);
  }
  by_key[10] = &bench.send(0, 0, 4, 8192, 10);
  sc_core::sc_start();
  for (std::uint64_t i = 0; i < by_key.size(); ++i) {
    EXPECT_EQ(by_key[i]->left, (i + 1) * 128 * kNs);
    EXPECT_EQ(by_key[i]->delivered, (i * 128 + 18 + 128) * kNs);
  }
  EXPECT_EQ(bench.link("ipcq0_n0").busy_ps, 11 * 128 * kNs);
  EXPECT_EQ(bench.link("n0_n1").busy_ps, 10 * 128 * kNs);
  // Packet i waits i services; ten wait while the first is served. Then they come one by one.
  EXPECT_EQ(bench.link("ipcq0_n0").wait_ps, 11 * 10 / 2 * 128 * kNs);
  EXPECT_EQ(bench.link("ipcq0_n0").max_queued_bytes, 10 * 8192);
  EXPECT_EQ(bench.link("n0_n1").wait_ps, 0);
  EXPECT_EQ(bench.link("n0_n1").max_queued_bytes, 0);
}

// Packets for 1 queue at n1_ipcq1; one of 1 to 3 passes the same router at once.
TEST(Fabric, AQueueHoldsUpNoOtherLink) {
  Bench bench(cube());
  bench.send(0, 0, 1, 8192, 0);
  bench.send(0, 4, 1, 8192, 1);
  const Cargo& behind = bench.send(1 * kNs, 0, 1, 8192, 2);
  const Cargo& other = bench.send(1 * kNs, 1, 3, 8192, 3);
  sc_core::sc_start();
  EXPECT_EQ(other.delivered, (1 + 26 + 128) * kNs);
  // n1_ipcq1: key 0 from 13, then key 1, there since 21, then the last, there since 141.
  EXPECT_EQ(behind.delivered, (13 + 2 * 128 + 5 + 128) * kNs);
  // Key 1 waits until 13 + 128, which is when the last comes: never two at once.
  EXPECT_EQ(bench.link("n1_ipcq1").wait_ps, (141 - 21 + 128) * kNs);
  EXPECT_EQ(bench.link("n1_ipcq1").max_queued_bytes, 8192);
}

// A credit passes everything and is passed by nothing: the latency of its way.
TEST(Fabric, SideBandTakesTheLatencyOnly) {
  Bench bench(cube());
  const Cargo& data = bench.send(0, 0, 2, 8192, 5);
  const Cargo& credit = bench.send(1 * kNs, 0, 2, 0, 6);
  const Cargo& first_key = bench.send(0, 0, 2, 0, 4);
  sc_core::sc_start();
  EXPECT_EQ(credit.delivered, (1 + 26) * kNs);
  EXPECT_EQ(first_key.delivered, 26 * kNs);
  EXPECT_EQ(data.delivered, 154 * kNs);
  EXPECT_FALSE(credit.left);
  EXPECT_EQ(bench.link("ipcq0_n0").packets, 1);
  EXPECT_TRUE(bench.fabric.idle());
}

// A node of a ring and the gateway at it have no link in between: the packet is out before the
// call returns.
TEST(Fabric, BetweenEndpointsOfOnePlaceNoTimePasses) {
  Bench bench(Network::ring(arch::RingConfig{}, 1, "c", true), "d2d");
  const Cargo& up = bench.send(7 * kNs, 0, 1, 8192, 0);
  const Cargo& down = bench.send(7 * kNs, 1, 0, 8192, 1);
  const Cargo& credit = bench.send(7 * kNs, 1, 0, 0, 2);
  sc_core::sc_start();
  for (const Cargo* cargo : {&up, &down}) {
    EXPECT_EQ(cargo->left, 7 * kNs);
    EXPECT_EQ(cargo->delivered, 7 * kNs);
  }
  EXPECT_EQ(credit.delivered, 7 * kNs);
  EXPECT_FALSE(credit.left);
}

// Without latencies the head is everywhere at once: all links are busy for the same 128 cycles. The
// lower key goes first even where the other needs no link before the one they share.
TEST(Fabric, ZeroLatenciesKeepTheOrderOfKeys) {
  Bench bench(cube(0, 0));
  const Cargo& far = bench.send(0, 0, 7, 8192, 1);    // n0_n1 n1_n2 n2_n3 n3_n7
  const Cargo& near = bench.send(0, 3, 7, 8192, 2);   // n3_n7
  const Cargo& first = bench.send(0, 2, 3, 8192, 0);  // n2_n3
  const Cargo& credit = bench.send(0, 0, 7, 0, 3);
  sc_core::sc_start();
  EXPECT_EQ(first.delivered, 128 * kNs);
  // At n2_n3 `first` is before `far`, which so comes to n3_n7 after `near` has started there, at
  // the time when it has left.
  EXPECT_EQ(near.delivered, 128 * kNs);
  EXPECT_EQ(far.delivered, 256 * kNs);
  EXPECT_EQ(credit.delivered, 0);
}
TEST(Fabric, ZeroLatenciesLowerKeyFromAfar) {
  Bench bench(cube(0, 0));
  const Cargo& far = bench.send(0, 0, 7, 8192, 1);
  const Cargo& near = bench.send(0, 3, 7, 8192, 2);
  sc_core::sc_start();
  EXPECT_EQ(far.delivered, 128 * kNs);
  EXPECT_EQ(near.delivered, 256 * kNs);
}

// Two cubes of 4 x 2, joined at their routers 0: PE 3 of the one to PE 1 of the other. In each
// network the head waits for the tail: (5 + 3 * 8 + 5) + 128, then (5 + 8 + 5) + 128 cycles. In one
// mesh of as many links the service counts once.
TEST(Fabric, FromNetworkToNetworkPacketsAreStoredAndForwarded) {
  constexpr std::uint32_t kD2d = 8;
  Fabric near("near", cube(), 0, [](const Packet&) { return kD2d; });
  Fabric far("far", cube(), 1, [](const Packet& packet) { return packet.index; });
  near.out(kD2d).bind(far.in(kD2d));
  Station source("source"), sink("sink");
  source.out.bind(near.in(3));
  far.out(1).bind(sink.in);
  Cargo cargo, credit;
  cargo.index = credit.index = 1;
  cargo.bytes = 8192;
  credit.key = 1;
  source.send(cargo);
  source.send(credit);
  sc_core::sc_start();
  EXPECT_EQ(cargo.left, 128 * kNs);
  EXPECT_EQ(cargo.delivered, (34 + 128 + 18 + 128) * kNs);
  EXPECT_EQ(credit.delivered, (34 + 18) * kNs);
  EXPECT_TRUE(near.idle());
  EXPECT_TRUE(far.idle());
}

// From PE 5 of cube 1 of a SIP to PE 2 of cube 0 of another: its NoC (5 + 16 + 5 cycles to the
// link, 128 behind), the ring of cubes to the gateway (1 link: 20 ns, 32 behind), the ring of SIPs
// (500 ns, 81.92 behind), the gateway of the other ring (no time), its NoC (26, 128 behind).
TEST(Fabric, FromSipToSip) {
  constexpr std::uint32_t kGateway = 4, kD2d = 8;
  const auto to = [](std::uint32_t exit) { return [exit](const Packet&) { return exit; }; };
  const arch::TopologyConfig links;
  Fabric noc_a("noc_a", cube(), 0, to(kD2d));
  Fabric d2d_a("d2d_a", Network::ring(links.d2d, 4, "c", true), 1, to(kGateway));
  Fabric sips("sips", Network::ring(links.sip_link, 2, "sip", false), 2, to(1));
  Fabric d2d_b("d2d_b", Network::ring(links.d2d, 4, "c", true), 3, to(0));
  Fabric noc_b("noc_b", cube(), 4, to(2));
  Station source("source"), sink("sink");
  source.out.bind(noc_a.in(5));
  noc_a.out(kD2d).bind(d2d_a.in(1));
  d2d_a.out(kGateway).bind(sips.in(0));
  sips.out(1).bind(d2d_b.in(kGateway));
  d2d_b.out(0).bind(noc_b.in(kD2d));
  noc_b.out(2).bind(sink.in);
  Cargo cargo, credit;
  cargo.bytes = 8192;
  credit.key = 1;
  source.send(cargo);
  source.send(credit);
  sc_core::sc_start();
  EXPECT_EQ(cargo.left, 128 * kNs);
  EXPECT_EQ(cargo.delivered,
            26'000 + 128'000 + 20'000 + 32'000 + 500'000 + 81'920 + 26'000 + 128'000);
  EXPECT_EQ(credit.delivered, 26'000 + 20'000 + 500'000 + 26'000);
}

TEST(Fabric, ReportsAnExitWhereNothingIsBound) {
  Fabric fabric("sip0.cube1.noc", cube(), 0, [](const Packet& packet) { return packet.index; });
  Station station("station");
  station.out.bind(fabric.in(0));
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  for (const std::uint32_t exit : {7u, 9u}) {  // 9: not even an endpoint
    Cargo cargo;
    cargo.index = exit;
    cargo.bytes = 64;
    try {
      send_forward(station.out, cargo, tlm::BEGIN_REQ);
      ADD_FAILURE() << "not reported";
    } catch (const sc_core::sc_report& report) {
      EXPECT_STREQ(report.get_msg_type(), "/kernbench/fabric/unconnected");
      EXPECT_THAT(report.get_msg(), HasSubstr("a packet of 64 bytes from endpoint 0 leaves at "
                                              "endpoint " +
                                              std::to_string(exit)));
    }
  }
  EXPECT_TRUE(fabric.idle());
}

// --- Random traffic ---

struct Traffic {
  std::string name;
  std::uint64_t seed;
  Network network;
  std::uint64_t grid;  // of the times of sending, in ps: many of one instant
  friend std::ostream& operator<<(std::ostream& out, const Traffic& t) { return out << t.name; }
};

struct Sent {
  Picoseconds time;
  std::uint32_t from, to;
  std::uint64_t bytes, key;
};

std::vector<Sent> random_packets(const Traffic& traffic) {
  constexpr std::size_t kPackets = 600;
  constexpr Picoseconds kSpan = 4000 * kNs;
  std::mt19937_64 random(traffic.seed);
  std::vector<std::uint64_t> keys(kPackets);
  std::iota(keys.begin(), keys.end(), 0);
  for (std::size_t i = kPackets; i > 1; --i) std::swap(keys[i - 1], keys[random() % i]);
  std::vector<Sent> all;
  for (const std::uint64_t key : keys) {
    const auto endpoint = [&] {
      return static_cast<std::uint32_t>(random() % traffic.network.endpoints());
    };
    const std::uint64_t sizes[] = {0, 1, 64, 65, 4096, 8192, random() % 8192};
    const std::uint32_t from = endpoint();
    all.push_back({random() % kSpan / traffic.grid * traffic.grid, from, endpoint(),
                   sizes[random() % std::size(sizes)], key});
  }
  return all;
}

struct Outcome {
  std::vector<std::optional<Picoseconds>> left, delivered;  // by packet
  std::vector<std::uint64_t> busy_ps, bytes, packets;       // by link
  std::vector<std::uint64_t> wait_ps, max_queued_bytes;     // likewise
};

/// Most bytes that wait at one time, of packets that do from `first` to `second`.
using Waits = std::vector<std::tuple<Picoseconds, Picoseconds, std::uint64_t>>;
std::uint64_t most_waiting(const Waits& waits) {
  std::uint64_t most = 0;
  for (const auto& [begin, unused_end, unused_bytes] : waits) {  // it is so when a wait begins
    std::uint64_t bytes = 0;
    for (const auto& [from, to, of_packet] : waits) {
      if (from <= begin && begin < to) bytes += of_packet;
    }
    most = std::max(most, bytes);
  }
  return most;
}

// A recurrence, in order of (arrival at a link, key) over all links: on its link a packet starts
// when it is there and the one before has left, its head goes on `latency` later. All that comes
// out is not earlier, so that each link sees its packets in its own order.
Outcome recurrence(const Network& network, const std::vector<Sent>& sent) {
  struct Arrival {
    Picoseconds time;
    std::uint64_t key;
    std::size_t packet, hop;
    bool operator<(const Arrival& other) const {
      return std::tie(time, key) < std::tie(other.time, other.key);
    }
  };
  const std::size_t links = network.links().size();
  Outcome outcome{std::vector<std::optional<Picoseconds>>(sent.size()),
                  std::vector<std::optional<Picoseconds>>(sent.size()),
                  std::vector<std::uint64_t>(links),
                  std::vector<std::uint64_t>(links),
                  std::vector<std::uint64_t>(links),
                  std::vector<std::uint64_t>(links),
                  std::vector<std::uint64_t>(links)};
  std::vector<Picoseconds> free(links);
  std::vector<Waits> waits(links);
  std::set<Arrival> arrivals;
  for (std::size_t i = 0; i < sent.size(); ++i) {
    const Sent& packet = sent[i];
    const auto route = path(network, packet.from, packet.to);
    if (packet.bytes > 0 && !route.empty()) {
      arrivals.insert({packet.time, packet.key, i, 0});
      continue;
    }
    outcome.delivered[i] = packet.time;
    for (const std::uint32_t link : route) *outcome.delivered[i] += network.links()[link].latency;
    if (packet.bytes > 0) outcome.left[i] = packet.time;
  }
  while (!arrivals.empty()) {
    const Arrival next = *arrivals.begin();
    arrivals.erase(arrivals.begin());
    const Sent& packet = sent[next.packet];
    const auto route = path(network, packet.from, packet.to);
    const std::uint32_t link = route[next.hop];
    const Picoseconds start = std::max(next.time, free[link]);
    free[link] = start + network.service(packet.bytes);
    outcome.wait_ps[link] += start - next.time;
    waits[link].emplace_back(next.time, start, packet.bytes);
    outcome.busy_ps[link] += network.service(packet.bytes);
    outcome.bytes[link] += packet.bytes;
    ++outcome.packets[link];
    if (next.hop == 0) outcome.left[next.packet] = free[link];
    const Picoseconds latency = network.links()[link].latency;
    if (next.hop + 1 < route.size()) {
      arrivals.insert({start + latency, next.key, next.packet, next.hop + 1});
    } else {
      outcome.delivered[next.packet] = free[link] + latency;
    }
  }
  for (std::size_t i = 0; i < links; ++i) outcome.max_queued_bytes[i] = most_waiting(waits[i]);
  return outcome;
}

class FabricTraffic : public testing::TestWithParam<Traffic> {};

TEST_P(FabricTraffic, AgreesWithTheRecurrenceWhateverIsCreatedFirst) {
  const Traffic& traffic = GetParam();
  const std::vector<Sent> sent = random_packets(traffic);
  const Outcome expected = recurrence(traffic.network, sent);
  Bench straight(traffic.network, "straight");
  Bench reverse(traffic.network, "reverse", true);
  std::map<const Bench*, std::vector<const Cargo*>> cargo;  // as in `sent`
  for (Bench* bench : {&straight, &reverse}) cargo[bench].resize(sent.size());
  for (std::size_t i = 0; i < sent.size(); ++i) {
    const auto send = [&](Bench& bench, std::size_t k) {
      const Sent& s = sent[k];
      cargo[&bench][k] = &bench.send(s.time, s.from, s.to, s.bytes, s.key);
    };
    send(straight, i);
    send(reverse, sent.size() - 1 - i);
  }
  // Stop now and then: no link has been busy for longer than time has passed.
  do {
    sc_core::sc_start(777, sc_core::SC_NS);
    for (const LinkStatistics& link : straight.fabric.links()) {
      EXPECT_LE(link.busy_ps, sc_core::sc_time_stamp().value()) << link.name;
      EXPECT_LE(link.bytes_out, link.bytes_in) << link.name;
    }
  } while (sc_core::sc_pending_activity());
  std::size_t waited = 0;
  for (const Bench* bench : {&straight, &reverse}) {
    EXPECT_TRUE(bench->fabric.idle());
    for (std::size_t i = 0; i < sent.size(); ++i) {
      EXPECT_EQ(cargo[bench][i]->left, expected.left[i]) << i;
      EXPECT_EQ(cargo[bench][i]->delivered, expected.delivered[i]) << i;
      waited += expected.delivered[i] >
                sent[i].time + unloaded(traffic.network, sent[i].from, sent[i].to, sent[i].bytes);
    }
    for (std::size_t i = 0; i < bench->fabric.links().size(); ++i) {
      const LinkStatistics& link = bench->fabric.links()[i];
      EXPECT_EQ(link.packets, expected.packets[i]) << link.name;
      EXPECT_EQ(link.bytes_in, expected.bytes[i]) << link.name;
      EXPECT_EQ(link.bytes_out, expected.bytes[i]) << link.name;
      EXPECT_EQ(link.busy_ps, expected.busy_ps[i]) << link.name;
      EXPECT_EQ(link.wait_ps, expected.wait_ps[i]) << link.name;
      EXPECT_EQ(link.max_queued_bytes, expected.max_queued_bytes[i]) << link.name;
    }
  }
  EXPECT_GT(waited, sent.size() / 4) << "no contention, nothing shown";
}

Network mesh_at(const arch::Rational& clock_ghz, std::uint64_t niu, std::uint64_t hop) {
  arch::NocConfig config;
  config.niu_cycles = niu;
  config.hop_cycles = hop;
  return Network::mesh(config, clock_ghz, 8, 8);
}

INSTANTIATE_TEST_SUITE_P(
    All, FabricTraffic,
    testing::Values(Traffic{"mesh", 1, mesh_at(arch::Rational(1), 5, 8), 1000},
                    Traffic{"mesh_other_seed", 2, mesh_at(arch::Rational(1), 5, 8), 40'000},
                    Traffic{"odd_clock", 3, mesh_at(arch::Rational(12, 10), 5, 8), 1},
                    Traffic{"no_hop_latency", 4, mesh_at(arch::Rational(1), 5, 0), 20'000},
                    Traffic{"no_latency", 5, mesh_at(arch::Rational(1), 0, 0), 40'000},
                    Traffic{"ring", 6,
                            Network::ring({arch::Rational(16), arch::Rational(20)}, 6, "c", true),
                            40'000},
                    Traffic{"ring_no_latency", 7,
                            Network::ring({arch::Rational(16), arch::Rational(0)}, 5, "c", true),
                            40'000}),
    [](const auto& tested) { return tested.param.name; });

// The same traffic over and over: in the second round all queues are as long as they get.
TEST(Fabric, AllocatesNothingInSteadyState) {
  constexpr Picoseconds kRound = 20'000 * kNs;
  const Traffic traffic{"", 8, mesh_at(arch::Rational(1), 5, 8), 1000};
  const std::vector<Sent> sent = random_packets(traffic);
  Bench bench(traffic.network);
  for (Picoseconds round = 0; round < 10; ++round) {
    for (const Sent& s : sent) {
      bench.send(round * kRound + s.time, s.from, s.to, s.bytes, s.key);
    }
  }
  sc_core::sc_start(40'000, sc_core::SC_NS);
  EXPECT_TRUE(bench.fabric.idle());
  const std::size_t before = allocations;
  sc_core::sc_start();
  EXPECT_EQ(allocations - before, 0);
  EXPECT_TRUE(bench.cargo.back().delivered);
}

}  // namespace
}  // namespace kernbench
