// SPDX-License-Identifier: Apache-2.0
#define SC_INCLUDE_DYNAMIC_PROCESSES  // sc_spawn (IEEE 1666, 5.5)
#include "model/interleaved_hbm.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <set>

#include "model/pe.hpp"
#include "model/record/op_log.hpp"
#include "tests/model/raw_commands.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/monitored.hpp"
#include "tests/support/requester.hpp"
#include "tests/support/temporary_folder.hpp"

namespace kernbench::test {
namespace {

using command::Address;
using command::Index;
using command::Shape;
using testing::ElementsAre;
using testing::HasSubstr;

using Bytes = std::vector<std::uint8_t>;

constexpr std::uint64_t kNs = 1000;
constexpr std::uint64_t kBurst = 4096;

// Eight PEs on a 4x2 mesh, eight channels of 128 GB/s, one at each router.
arch::TopologyConfig cube() {
  arch::TopologyConfig topology;
  topology.name = "cube";
  topology.pes_per_cube = 8;
  topology.hbm.gbps = arch::Rational(1024);
  topology.hbm.bytes = 1u << 26;
  topology.hbm.map = arch::HbmMap::interleaved;
  return topology;
}

// The NoC and the stack of cube number 1, so that PE numbers are not those in the cube.
struct Stack {
  static constexpr std::uint32_t kCube = 1;
  // A violation is an error, hence an exception here.
  static arch::TopologyConfig monitored(arch::TopologyConfig config) {
    config.check_protocol = true;
    return config;
  }

  explicit Stack(const arch::TopologyConfig& config, bool data = false)
      : topology(monitored(config)),
        noc("noc",
            arch::Network::mesh(config.noc, config.pe.clock_ghz, config.pes_per_cube,
                                config.hbm.channels),
            0,
            [ends = arch::CubeEndpoints{config.pes_per_cube, config.hbm.channels},
             first = kCube * config.pes_per_cube](const Packet& packet) {
              return packet.to == Packet::To::channel ? ends.channel(packet.index)
                                                      : ends.memory(packet.index - first);
            }),
        hbm("hbm", topology, kCube, noc, data) {}

  // Of any run: nothing is left, nothing is busy for longer than the run, what goes into a link
  // comes out of it.
  void check(std::uint64_t end_ps) const {
    EXPECT_TRUE(noc.idle());
    for (const LinkStatistics& link : noc.links()) {
      EXPECT_LE(link.busy_ps, end_ps) << link.name;
      EXPECT_EQ(link.bytes_in, link.bytes_out) << link.name;
    }
    for (std::uint32_t c = 0; c < hbm.channels(); ++c) {
      EXPECT_LE(hbm.channel(c).totals().busy_ps, end_ps) << "channel " << c;
    }
  }

  // Routers between PE and channel: channel c is at router c * routers / channels.
  std::uint64_t hops(std::uint32_t pe, std::uint32_t channel) const {
    const std::uint32_t cols = topology.noc.cols;
    const std::uint32_t router = channel * cols * topology.noc.rows / topology.hbm.channels;
    const auto apart = [](std::uint32_t x, std::uint32_t y) { return x < y ? y - x : x - y; };
    return apart(pe % cols, router % cols) + apart(pe / cols, router / cols);
  }

  const arch::TopologyConfig topology;
  Fabric noc;
  InterleavedHbm hbm;
};

// A requester at every port. `order` is that of their creation, before the stack if `early`.
struct RequesterBench {
  explicit RequesterBench(const arch::TopologyConfig& topology, bool data = false,
                          const std::vector<std::uint32_t>& order = {}, bool early = false)
      : requesters(topology.pes_per_cube) {
    if (!early) stack.emplace(topology, data);
    for (std::uint32_t i = 0; i < topology.pes_per_cube; ++i) {
      const std::uint32_t pe = order.empty() ? i : order[i];
      requesters[pe] = std::make_unique<Requester>(("requester" + std::to_string(pe)).c_str());
    }
    if (early) stack.emplace(topology, data);
    for (std::uint32_t pe = 0; pe < topology.pes_per_cube; ++pe) {
      monitors.push_back(bind_monitored(requesters[pe]->memory, stack->hbm.port(pe),
                                        "monitor" + std::to_string(pe),
                                        BaseProtocolMonitor::Checks::base_protocol));
    }
  }

  std::deque<Access>& of(std::uint32_t pe) { return requesters[pe]->accesses; }

  void run() {
    sc_core::sc_start();
    stack->check(TimeBase().now());
    for (const auto& requester : requesters) {
      EXPECT_EQ(requester->freed, requester->accesses.size());
    }
  }

  unsigned int debug(std::uint32_t pe, bool write, Address addr, Bytes& data) {
    tlm::tlm_generic_payload payload;
    payload.set_command(write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
    payload.set_address(addr);
    payload.set_data_ptr(data.data());
    payload.set_data_length(static_cast<unsigned int>(data.size()));
    payload.set_streaming_width(static_cast<unsigned int>(data.size()));
    const unsigned int moved = requesters[pe]->memory->transport_dbg(payload);
    EXPECT_EQ(payload.get_address(), addr);  // the payload as it was
    EXPECT_EQ(payload.get_data_ptr(), data.data());
    EXPECT_EQ(payload.get_data_length(), data.size());
    return moved;
  }

  std::optional<Stack> stack;
  std::vector<std::unique_ptr<Requester>> requesters;
  std::vector<std::unique_ptr<BaseProtocolMonitor>> monitors;
};

Bytes random_bytes(std::size_t size, std::mt19937& random) {
  Bytes bytes(size);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
  return bytes;
}

// ---- one transaction, to the ps -----------------------------------------------------------------

// Rates that do not divide: 0.7 GHz, 48 bytes a flit, five channels of 1000/5 GB/s.
arch::TopologyConfig odd_cube() {
  arch::TopologyConfig topology = cube();
  topology.pe.clock_ghz = arch::Rational(7, 10);
  topology.noc.bytes_per_cycle = 48;
  topology.hbm.channels = 5;
  topology.hbm.bytes = 5u << 24;
  topology.hbm.gbps = arch::Rational(1000);
  return topology;
}
constexpr std::uint64_t odd_cycles(std::uint64_t count) { return (count * 20000 + 7) / 14; }
constexpr std::uint64_t odd_flits(std::uint64_t bytes) { return odd_cycles((bytes + 47) / 48); }

// way = 2 * niu + H * hop, each latency rounded once. The request's tail leaves the PE's link after
// its flits, which is END_REQ; it is whole at the channel after way + flits; served at 200 GB/s, 5
// ps a byte; 100 ns later the response leaves and takes way + flits.
TEST(InterleavedHbm, OneBurstTakesTheClosedForm) {
  RequesterBench bench(odd_cube());
  constexpr std::uint64_t kApart = 10'000 * kNs;
  struct Case {
    std::uint32_t pe, channel, bytes;
    bool write;
  };
  std::vector<Case> cases;
  std::vector<const Access*> accesses;
  for (std::uint32_t pe = 0; pe < 8; ++pe) {
    for (std::uint32_t channel = 0; channel < 5; ++channel) {
      for (const std::uint32_t bytes : {1u, 32u, 64u, 4096u}) {
        for (const bool write : {false, true}) {
          const std::uint64_t at = (cases.size() + 1) * kApart;
          const Address addr = (channel + 5 * cases.size()) * kBurst;
          bench.of(pe).push_back({at, write, addr, bytes});
          accesses.push_back(&bench.of(pe).back());
          cases.push_back({pe, channel, bytes, write});
        }
      }
    }
  }
  bench.run();
  std::set<std::uint64_t> hops_seen;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Case& c = cases[i];
    const std::uint64_t hops = bench.stack->hops(c.pe, c.channel);
    hops_seen.insert(hops);
    const std::uint64_t way = 2 * odd_cycles(5) + hops * odd_cycles(8);
    const std::uint64_t request = c.write ? odd_flits(c.bytes) : odd_flits(48);
    const std::uint64_t response = c.write ? odd_flits(48) : odd_flits(c.bytes);
    const std::uint64_t at = accesses[i]->at_ps;
    EXPECT_EQ(accesses[i]->accepted_ps - at, request) << i;
    EXPECT_EQ(accesses[i]->done_ps - at,
              2 * way + request + response + 5 * std::uint64_t{c.bytes} + 100 * kNs)
        << "PE " << c.pe << " channel " << c.channel << " bytes " << c.bytes;
    EXPECT_EQ(accesses[i]->status, tlm::TLM_OK_RESPONSE);
  }
  EXPECT_THAT(hops_seen, ElementsAre(0, 1, 2, 3, 4));
  for (std::uint32_t c = 0; c < 5; ++c) {
    const MemoryTotals& totals = bench.stack->hbm.channel(c).totals();
    EXPECT_EQ(totals.read_bytes, 8u * (1 + 32 + 64 + 4096));
    EXPECT_EQ(totals.write_bytes, totals.read_bytes);
    EXPECT_EQ(totals.busy_ps, 5 * (totals.read_bytes + totals.write_bytes));
  }
}

// A delay annotated to BEGIN_REQ shifts all of it.
TEST(InterleavedHbm, AnnotatedDelayCounts) {
  RequesterBench bench(cube());
  bench.requesters[3]->annotated = sc_core::sc_time(70, sc_core::SC_NS);
  bench.of(3).push_back({0, false, 3 * kBurst, 64});
  bench.run();
  const Access& access = bench.of(3).front();
  EXPECT_EQ(access.accepted_ps, (70 + 1) * kNs);
  // 70 + two ways of 10, a flit each, 64 bytes at 128 GB/s, 100.
  EXPECT_EQ(access.done_ps, (70 + 20 + 2 + 100) * kNs + 500);
}

// b_transport goes the way of the phases, here without anybody else, and waits in the call.
TEST(InterleavedHbm, BlockingTransportTakesTheUnloadedTime) {
  RequesterBench bench(cube());
  Bytes data(kBurst);
  tlm::tlm_generic_payload payload;
  const auto took = [&](tlm::tlm_command command, Address addr) {
    const std::uint64_t begin = TimeBase().now();
    payload.set_command(command);
    payload.set_address(addr);
    payload.set_data_ptr(data.data());
    payload.set_data_length(kBurst);
    payload.set_streaming_width(kBurst);
    payload.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
    sc_core::sc_time delay(7, sc_core::SC_NS);
    bench.requesters[0]->memory->b_transport(payload, delay);
    EXPECT_EQ(payload.get_response_status(), tlm::TLM_OK_RESPONSE);
    return TimeBase().now() - begin + TimeBase().to_ps(delay);
  };
  std::uint64_t read = 0, write = 0;
  sc_core::sc_spawn([&] {
    read = took(tlm::TLM_READ_COMMAND, 7 * kBurst);
    write = took(tlm::TLM_WRITE_COMMAND, 0);
  });
  bench.run();
  // PE 0 to channel 7: 4 hops, so 2 * (10 + 32), a flit and 64 flits, 32 of service, 100.
  EXPECT_EQ(read, (7 + 84 + 1 + 64 + 32 + 100) * kNs);
  EXPECT_EQ(write, (7 + 20 + 64 + 1 + 32 + 100) * kNs);
  EXPECT_EQ(bench.stack->hbm.channel(7).totals().read_bytes, kBurst);
  EXPECT_EQ(bench.stack->hbm.channel(0).totals().write_bytes, kBurst);
}

TEST(InterleavedHbm, NoDirectMemoryPointer) {
  RequesterBench bench(cube());
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  tlm::tlm_generic_payload payload;
  tlm::tlm_dmi dmi;
  EXPECT_FALSE(bench.requesters[0]->memory->get_direct_mem_ptr(payload, dmi));
}

// ---- contention at a channel --------------------------------------------------------------------

std::vector<std::vector<std::uint32_t>> orders() {
  return {{0, 1, 2, 3, 4, 5, 6, 7}, {7, 6, 5, 4, 3, 2, 1, 0}, {3, 6, 1, 4, 7, 0, 2, 5}};
}

// PEs 1, 4 and 6 read from channel 5, one hop from each. Their flits, which leave at 0, are at the
// link out of router 5 at 5 + 8 at once: PE 1's goes first, as of the lowest key. It is whole at 13
// + 5 + 1 = 19, the next at 20, the last at 21; they are served until 51, 83 and 115. A response
// leaves the channel 100 later, or when the one before has taken its 64 flits, and takes a way of
// 18 and 64 flits. Then PEs 0 and 1 from channel 1: the nearer one's flit is there first.
TEST(InterleavedHbm, AChannelServesByArrivalThenByPe) {
  for (const auto& order : orders()) {
    for (const bool early : {false, true}) {
      in_child([&] {
        RequesterBench bench(cube(), false, order, early);
        const std::uint64_t later = 10'000 * kNs;
        for (const std::uint32_t pe : {6u, 1u, 4u}) {
          bench.of(pe).push_back({0, false, 5 * kBurst, 4096});
        }
        for (const std::uint32_t pe : {0u, 1u}) {
          bench.of(pe).push_back({later, false, kBurst, 4096});
        }
        bench.run();
        EXPECT_EQ(bench.of(1)[0].done_ps, (51 + 100 + 18 + 64) * kNs);
        EXPECT_EQ(bench.of(4)[0].done_ps, (51 + 100 + 64 + 18 + 64) * kNs);
        EXPECT_EQ(bench.of(6)[0].done_ps, (51 + 100 + 2 * 64 + 18 + 64) * kNs);
        EXPECT_EQ(bench.of(1)[1].done_ps - later, (11 + 32 + 100 + 10 + 64) * kNs);
        EXPECT_EQ(bench.of(0)[0].done_ps - later, (11 + 32 + 100 + 64 + 18 + 64) * kNs);
        return std::string();
      });
    }
  }
}

// ---- throughput, with PEs -----------------------------------------------------------------------

struct Transfer {
  bool write = false;
  Address addr = 0;
  std::uint64_t bytes = 0;
};

// Pe's at every port. Dispatch takes 10 ns and the DMA no set-up: the first burst is sent at 10 ns.
struct PeBench {
  explicit PeBench(arch::TopologyConfig topology, const std::vector<std::uint32_t>& order = {},
                   bool early = false)
      : pes(topology.pes_per_cube), done_ps(topology.pes_per_cube) {
    if (!early) stack.emplace(topology);
    const arch::PeConfig config = topology.pe_config();
    for (std::uint32_t i = 0; i < topology.pes_per_cube; ++i) {
      const std::uint32_t pe = order.empty() ? i : order[i];
      pes[pe] = std::make_unique<Pe>(("pe" + std::to_string(pe)).c_str(), config,
                                     Stack::kCube * topology.pes_per_cube + pe);
    }
    if (early) stack.emplace(topology);
    for (std::uint32_t pe = 0; pe < topology.pes_per_cube; ++pe) {
      monitors.push_back(
          bind_monitored(pes[pe]->memory, stack->hbm.port(pe), "monitor" + std::to_string(pe)));
    }
  }

  // One command each, all of them at once, then the time when all are done.
  void set(std::uint32_t pe, const std::vector<Transfer>& transfers) {
    pes[pe]->set_kernel([this, pe, transfers](command::CommandSink& sink) {
      Address at = 0;
      for (const Transfer& t : transfers) {
        const Shape shape = Shape::vector(static_cast<Index>(t.bytes / 2));
        if (t.write) {
          sink.issue(command::DmaWriteCmd{tcm(at, shape), hbm(t.addr, shape)});
        } else {
          sink.issue(command::DmaReadCmd{hbm(t.addr, shape), tcm(at, shape)});
        }
        at += t.bytes;
      }
      sink.wait({{0, ~Address{0}}});
      done_ps[pe] = TimeBase().now();
    });
  }

  void run() {
    sc_core::sc_start();
    stack->check(TimeBase().now());
    for (const auto& pe : pes) {
      EXPECT_TRUE(pe->idle());
      EXPECT_EQ(pe->dma.port.live_payloads(), 0u);
    }
  }

  std::optional<Stack> stack;
  std::vector<std::unique_ptr<Pe>> pes;
  std::vector<std::unique_ptr<BaseProtocolMonitor>> monitors;
  std::vector<std::uint64_t> done_ps;
};

// A PE that can have all of a transfer under way.
arch::TopologyConfig eager(std::uint64_t noc_bytes_per_cycle) {
  arch::TopologyConfig topology = cube();
  topology.noc.bytes_per_cycle = noc_bytes_per_cycle;
  topology.pe.pe_cost_model.fixed_cycles = 10;
  topology.pe.pe_cost_model.cycles_per_byte = arch::Rational(0);
  topology.pe.dma.setup_cycles = 0;
  topology.pe.dma.max_outstanding_bytes = 1u << 26;
  topology.pe.tcm.bytes = 1u << 26;
  return topology;
}

// `rounds` bursts of each channel moved by each of the PEs, all PEs at once: ps until all is done.
std::uint64_t time_of(const arch::TopologyConfig& topology, const std::vector<std::uint32_t>& pes,
                      std::uint64_t rounds, bool write) {
  const std::string text = in_child([&] {
    PeBench bench(topology);
    const std::uint64_t bytes = rounds * topology.hbm.channels * kBurst;
    for (std::size_t i = 0; i < pes.size(); ++i) bench.set(pes[i], {{write, i * bytes, bytes}});
    bench.run();
    for (std::uint32_t c = 0; c < topology.hbm.channels; ++c) {
      const MemoryTotals& totals = bench.stack->hbm.channel(c).totals();
      EXPECT_EQ(write ? totals.write_bytes : totals.read_bytes, pes.size() * rounds * kBurst);
    }
    return std::to_string(*std::max_element(bench.done_ps.begin(), bench.done_ps.end()));
  });
  return std::stoull(text);
}

std::vector<std::uint32_t> first_pes(std::uint32_t count) {
  std::vector<std::uint32_t> pes(count);
  std::iota(pes.begin(), pes.end(), 0u);
  return pes;
}

class WideNoc : public testing::TestWithParam<bool> {};

// A burst is one flit: the NoC bounds nothing. PE 0 sends a burst each ns, to the channels in turn.
// A channel gets one every 8 ns and serves it in 32: from its first on it is never idle. Its n are
// served when its first is there, c + 1 + way, and n * 32 have passed; 100 + way + 1 later the last
// is answered, if no other answer is on a link at the same time. The first answers of the channels
// (hops 0 1 2 3 1 2 3 4, c + 2 * 8 * hops) are at PE 0's link at 0 17 34 51 20 37 54 71 (+ const.),
// which are different modulo 32, so none is. The last is of channel 7: 7 + 2 * (10 + 4 * 8) = 91.
TEST_P(WideNoc, OneReaderGetsTheStack) {
  for (const std::uint64_t rounds : {1u, 2u, 8u, 64u}) {
    EXPECT_EQ(time_of(eager(4096), {0}, rounds, GetParam()),
              (10 + 91 + 2 + 100 + 32 * rounds) * kNs)
        << rounds;
  }
}

// The stack gives 1024 bytes a ns, however many share it: r PEs that move K bytes each take
// r * K / 1024 ns and what no rate can shorten, at least two ways without a hop, two flits and the
// latency. Once the channels are busy nothing but the rate counts: twice the bytes take exactly
// their time longer.
TEST_P(WideNoc, ReadersShareTheStack) {
  constexpr std::uint64_t kRounds = 32;
  const std::uint64_t round_bytes = 8 * kBurst;
  for (const std::uint32_t readers : {1u, 2u, 8u}) {
    const std::uint64_t ps = time_of(eager(4096), first_pes(readers), kRounds, GetParam());
    const std::uint64_t twice = time_of(eager(4096), first_pes(readers), 2 * kRounds, GetParam());
    const std::uint64_t stack_ps = readers * kRounds * round_bytes * kNs / 1024;
    EXPECT_EQ(twice - ps, stack_ps) << readers;
    EXPECT_GE(ps, stack_ps + (10 + 2 * 10 + 2 + 100) * kNs) << readers;
  }
}
INSTANTIATE_TEST_SUITE_P(Directions, WideNoc, testing::Bool(),
                         [](const auto& instance) { return instance.param ? "write" : "read"; });

// A burst takes 64 cycles of each link, twice what it takes of a channel. PE 0's answers all come
// over its own link, which is never idle after the first: channel 0, beside it, alone sends it as
// many as it takes. The first is at that link at 10 (dispatch) + 1 + 10 (request) + 32 + 100 + 5,
// the last of N has passed it 64 * N later, and is there after another 5.
TEST(DefaultNoc, OneReaderGetsItsLink) {
  for (const std::uint64_t rounds : {1u, 2u, 8u, 64u}) {
    EXPECT_EQ(time_of(eager(64), {0}, rounds, false), (158 + 64 * 8 * rounds + 5) * kNs) << rounds;
  }
}

// Two PEs of opposite corners: each link into a PE carries all of its bursts, the link out of a
// channel a quarter of that, and none in between more than half of either's: the two links into the
// PEs are all that counts. Twice the bytes take their time on these longer.
TEST(DefaultNoc, TwoReadersGetALinkEach) {
  const std::uint64_t ps = time_of(eager(64), {0, 7}, 32, false);
  EXPECT_EQ(time_of(eager(64), {0, 7}, 64, false) - ps, 32 * 8 * 64 * kNs);
}

// Eight: no more than eight links of 64 bytes a ns, half of the stack. The links between the middle
// columns carry as much as those into the PEs (2 channels of a row, 4 PEs beyond, an eighth of a
// PE's bursts each: as many as one PE's), and queues on the way leave gaps that no bound excludes.
TEST(DefaultNoc, EightReadersGetNoMoreThanTheirLinks) {
  const std::uint64_t ps = time_of(eager(64), first_pes(8), 32, false);
  EXPECT_GE(ps, (158 + 64 * 8 * 32 + 5) * kNs);
}

// With 512 bytes a cycle the links give 4096 bytes a ns, four times the stack, which bounds again.
TEST(DefaultNoc, EightReadersOnFasterLinksGetTheStack) {
  const std::uint64_t ps = time_of(eager(512), first_pes(8), 32, false);
  EXPECT_EQ(time_of(eager(512), first_pes(8), 64, false) - ps, 8 * 32 * 8 * kBurst * kNs / 1024);
}

// ---- independence of the order of creation ------------------------------------------------------

// Latencies and times that tie everywhere, PEs that do the same at the same time.
TEST(InterleavedHbm, CreationOrderDoesNotShow) {
  arch::TopologyConfig topology = eager(4096);
  topology.pe.dma.read_channels = 2;
  topology.pe.dma.write_channels = 2;
  topology.pe.dma.max_outstanding_bytes = 4 * kBurst;
  topology.noc.hop_cycles = 4;
  topology.noc.niu_cycles = 4;
  topology.hbm.latency_ns = arch::Rational(32);
  std::optional<std::string> expected;
  for (const auto& order : orders()) {
    for (const bool early : {false, true}) {
      const std::string op_log = in_child([&] {
        const TemporaryFolder folder;
        record::Recorder recorder;
        record::OpLog log(folder / "op_log.csv");
        recorder.add_sink(log);
        PeBench bench(topology, order, early);
        std::mt19937 random(1);
        std::vector<Transfer> all;
        for (std::uint64_t i = 0; i < 12; ++i) {
          const std::uint64_t bytes = 2 * (1 + random() % 20'000);
          all.push_back({random() % 2 == 0, i * 65536 + 2 * (random() % 4096), bytes});
        }
        for (std::uint32_t pe = 0; pe < 8; ++pe) {
          bench.pes[pe]->set_recorder(&recorder);
          bench.set(pe, all);
        }
        bench.run();
        recorder.finish(TimeBase().now());
        return read_file(folder / "op_log.csv");
      });
      EXPECT_GT(std::count(op_log.begin(), op_log.end(), '\n'), 8 * 12);
      if (!expected) expected = op_log;
      EXPECT_EQ(op_log, *expected);
    }
  }
}

// ---- data ---------------------------------------------------------------------------------------

// Each PE works on every eighth block of 512 bytes, so that all use all channels.
TEST(InterleavedHbm, RandomTrafficOfSeveralPesIsAsOnePlainMemory) {
  arch::TopologyConfig topology = cube();
  topology.hbm.bytes = 1u << 18;
  std::mt19937 random(7);
  Bytes plain = random_bytes(topology.hbm.bytes, random);
  RequesterBench bench(topology, true);
  EXPECT_EQ(bench.debug(5, true, 0, plain), plain.size());
  constexpr std::uint64_t kBlock = 512;
  std::vector<std::pair<const Access*, Bytes>> reads;
  for (int i = 0; i < 400; ++i) {
    for (std::uint32_t pe = 0; pe < 8; ++pe) {
      const std::uint64_t block = random() % (plain.size() / kBlock / 8) * 8 + pe;
      const std::uint32_t bytes = 1u << random() % 10;
      const Address addr = block * kBlock + random() % (kBlock / bytes) * bytes;
      const auto at = plain.begin() + static_cast<std::ptrdiff_t>(addr);
      Access access{0, random() % 2 == 0, addr, bytes};
      if (access.write) {
        access.data = random_bytes(bytes, random);
        std::copy(access.data.begin(), access.data.end(), at);
        bench.of(pe).push_back(access);
      } else {
        bench.of(pe).push_back(access);
        reads.emplace_back(&bench.of(pe).back(), Bytes(at, at + bytes));
      }
    }
  }
  bench.run();
  for (const auto& [access, expected] : reads) EXPECT_EQ(access->data, expected) << access->addr;
  Bytes after(plain.size());
  EXPECT_EQ(bench.debug(2, false, 0, after), after.size());
  EXPECT_EQ(after, plain);
}

// What one PE has written another reads, and each byte is on the channel that the map names.
TEST(InterleavedHbm, PesSeeTheSameBytes) {
  RequesterBench bench(cube(), true);
  std::mt19937 random(3);
  for (std::uint64_t i = 0; i < 16; ++i) {
    bench.of(1).push_back({0, true, i * kBurst, 4096, random_bytes(kBurst, random)});
    bench.of(6).push_back({100'000 * kNs, false, i * kBurst, 4096});
  }
  bench.run();
  for (std::size_t i = 0; i < 16; ++i) {
    EXPECT_EQ(bench.of(6)[i].data, bench.of(1)[i].data) << i;
    Bytes there(kBurst);
    bench.stack->hbm.channel(static_cast<std::uint32_t>(i % 8))
        .storage()
        .read(i * kBurst, there.data(), kBurst);
    EXPECT_EQ(there, bench.of(1)[i].data) << i;
  }
}

// Odd address and size over several channels; beyond the end only what lies before it.
TEST(InterleavedHbm, DebugTransportIsByteExact) {
  const arch::TopologyConfig topology = cube();
  RequesterBench bench(topology, true);
  std::mt19937 random(5);
  Bytes data = random_bytes(5 * kBurst + 77, random);
  EXPECT_EQ(bench.debug(0, true, 3 * kBurst - 5, data), data.size());
  Bytes back(data.size() + 2);
  EXPECT_EQ(bench.debug(7, false, 3 * kBurst - 6, back), back.size());
  EXPECT_EQ(back.front(), 0);
  EXPECT_EQ(back.back(), 0);
  EXPECT_TRUE(std::equal(data.begin(), data.end(), back.begin() + 1));

  EXPECT_EQ(bench.debug(0, true, topology.hbm.bytes - kBurst - 9, data), kBurst + 9);
  EXPECT_EQ(bench.debug(0, false, topology.hbm.bytes, back), 0u);
}

TEST(InterleavedHbm, WithoutDataDebugTransportMovesNothing) {
  RequesterBench bench(cube());
  Bytes data(10);
  EXPECT_EQ(bench.debug(0, false, 0, data), 0u);
}

// ---- errors -------------------------------------------------------------------------------------

TEST(InterleavedHbm, AnAddressBeyondTheEndIsAnErrorResponse) {
  const arch::TopologyConfig topology = cube();
  RequesterBench bench(topology);
  bench.of(4).push_back({0, false, topology.hbm.bytes, 64});
  bench.of(4).push_back({0, true, topology.hbm.bytes - 64, 64});
  bench.run();
  EXPECT_EQ(bench.of(4)[0].status, tlm::TLM_ADDRESS_ERROR_RESPONSE);
  EXPECT_EQ(bench.of(4)[1].status, tlm::TLM_OK_RESPONSE);
}

TEST(InterleavedHbm, ABurstOfTwoChannelsIsReported) {
  arch::TopologyConfig topology = cube();
  topology.hbm.interleave_bytes = 256;
  topology.pe.dma.burst_bytes = 256;  // which the requester ignores
  RequesterBench bench(topology);
  bench.of(2).push_back({0, true, 0x1200, 512});
  try {
    bench.run();
    FAIL();
  } catch (const sc_core::sc_report& report) {
    EXPECT_STREQ(report.get_msg_type(), "/kernbench/interleaved_hbm/burst");
    EXPECT_THAT(report.get_msg(), HasSubstr("hbm.pe_niu2: a write of 512 bytes at 0x1200"));
    EXPECT_THAT(report.get_msg(), HasSubstr("256 bytes"));
  }
}

}  // namespace
}  // namespace kernbench::test
