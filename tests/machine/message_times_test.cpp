// SPDX-License-Identifier: Apache-2.0
// Messages between PEs of whole machines, to the ps. D = 41.0625 ns, rounded: dispatch of a fill, a
// send or a receive (17 bytes). On the defaults a slot of 8192 bytes occupies a link of the NoC for
// 128 ns, of UCIe for 32, between SIPs for 81.92.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/machine/machine_clock.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/machine_bench.hpp"

namespace kernbench::test {
namespace {

using command::Index;

constexpr Ps kNs = 1000;
constexpr Ps kDispatch = 41'063;
constexpr Ps kSend = 10 * kNs, kRecv = 10 * kNs;

struct Pair {
  std::uint32_t from, to;
};

/// Program 0 sends `entries` f32 to program 1.
void one_message(tl::Context& tl, Index entries) {
  if (tl.program() == 0) {
    const auto x = tl.zeros({entries}, tl::f32);
    tl.wait({x});
    tl.send(1, x);
  } else {
    tl.recv(0, tl.empty({entries}, tl::f32));
  }
}

/// Rows of one message after the other, a launch each: nothing is in its way.
std::vector<OpLogRow> messages(const arch::TopologyConfig& topology, const std::vector<Pair>& pairs,
                               Index entries) {
  runtime::Host host("messages", topology, false);
  for (const Pair& pair : pairs) {
    host.launch(
        "message",
        [entries](tl::Context& tl, const std::vector<tl::Tensor>&) { one_message(tl, entries); },
        {}, {{2, 1, 1}, {pair.from, pair.to}});
  }
  return run_host(topology, host);
}

std::vector<OpLogRow> of_stage(const std::vector<OpLogRow>& rows, const std::string& stage) {
  return select(rows, [&](const OpLogRow& row) { return row.stage == stage; });
}

// ---- one slot -----------------------------------------------------------------------------------

struct Case {
  Pair pair;
  Ps way;    // of 8192 bytes
  Ps small;  // of 32
  const char* what;
};

// Mesh of 4 x 2: 5 ns into it, 8 a hop, 5 out of it, 128 for the tail to follow. From network to
// network the slot is stored: each adds its latencies and its service. Rings of 4: 20 + 32 between
// neighbouring cubes, 500 + 81.92 between neighbouring SIPs, the latency twice for two links. The
// way out of a cube starts at its router 0, that out of a SIP at its cube 0. 32 bytes take 1 ns, as
// a part of a cycle is a whole one, 0.125 and 0.32.
const std::vector<Case>& cases() {
  static const std::vector<Case> kCases{
      {{0, 1}, 146'000, 19'000, "neighbours of a row: 5 + 8 + 5 + 128"},
      {{0, 4}, 146'000, 19'000, "neighbours of a column"},
      {{0, 7}, 170'000, 43'000, "the far corner: 5 + 4 * 8 + 5 + 128"},
      {{7, 0}, 170'000, 43'000, "and back"},
      {{0, 8}, 328'000, 42'125, "the next cube: (10 + 128) + (20 + 32) + (10 + 128)"},
      {{7, 15}, 392'000, 106'125, "its far corner: 170 + 52 + 170"},
      {{0, 24}, 328'000, 42'125, "the next cube downwards"},
      {{0, 16}, 348'000, 62'125, "the cube across: 138 + (2 * 20 + 32) + 138"},
      {{0, 32}, 857'920, 522'320, "the next SIP: 138 + (500 + 81.92) + 138"},
      {{15, 47}, 1'025'920, 626'570, "cube 1 to cube 1 of it: 170 + 52 + 581.92 + 52 + 170"},
      {{0, 64}, 1'357'920, 1'022'320, "the SIP across: 138 + (1000 + 81.92) + 138"},
      {{127, 95}, 1'025'920, 626'570, "cube 3 to cube 3 of the SIP below"},
  };
  return kCases;
}

/// Messages of so many f32, one slot each.
void expect_ways(Index entries, Ps Case::*way_of) {
  const arch::TopologyConfig topology = shipped("llama70b_4sip");
  std::vector<Pair> pairs;
  for (const Case& c : cases()) pairs.push_back(c.pair);
  const std::vector<OpLogRow> rows = messages(topology, pairs, entries);
  const auto sends = of_stage(rows, "send"), receives = of_stage(rows, "recv");
  ASSERT_EQ(sends.size(), cases().size());
  ASSERT_EQ(receives.size(), cases().size());
  const Ps fill = static_cast<Ps>(entries + 63) / 64 * kNs;
  Ps start = 0;  // of the launch: when the one before is over
  for (std::size_t i = 0; i < cases().size(); ++i) {
    const Case& c = cases()[i];
    SCOPED_TRACE(c.what);
    const Ps way = c.*way_of;
    // Launch, fill, which the send awaits.
    const Ps sent = start + 500 * kNs + kDispatch + fill + kDispatch + kSend;
    EXPECT_EQ(sends[i].start, sent - kSend);
    EXPECT_EQ(sends[i].end, sent);
    EXPECT_EQ(receives[i].start, sent + way);
    EXPECT_EQ(receives[i].end, sent + way + kRecv);
    EXPECT_EQ(receives[i].pe, c.pair.to);
    // What the other tests compute with.
    EXPECT_EQ(way_ps(topology, c.pair.from, c.pair.to, static_cast<std::uint64_t>(entries) * 4),
              way);
    start = receives[i].end;
  }
}

TEST(MessageTimes, OneSlotOverEveryKindOfWay) { expect_ways(2048, &Case::way); }
// A machine that no topology file describes: two PEs of the defaults, side by side on the mesh.
// Without a launch time; the fill of 2048 entries takes 32 cycles.
TEST(MessageTimes, InAMachineMadeByHand) {
  arch::TopologyConfig topology;
  topology.pes_per_cube = 2;
  const auto receives = of_stage(messages(topology, {{0, 1}}, 2048), "recv");
  ASSERT_EQ(receives.size(), 1U);
  EXPECT_EQ(receives[0].end, kDispatch + 32 * kNs + kDispatch + kSend + 146 * kNs + kRecv);
}

TEST(MessageTimes, AFewBytesOverEveryKindOfWay) { expect_ways(8, &Case::small); }

// A message of 64 bytes takes one cycle a link: what is left of its way is 5 + hops * 8 + 5, hops =
// |dx| + |dy| of the 4 x 2 mesh.
TEST(MessageTimes, HopsOfTheMeshFromTheTimes) {
  std::vector<Pair> pairs;
  for (std::uint32_t from = 0; from < 8; ++from) {
    for (std::uint32_t to = 0; to < 8; ++to) {
      if (from != to) pairs.push_back({from, to});
    }
  }
  const std::vector<OpLogRow> rows = messages(shipped("cube_8pe"), pairs, 16);
  const auto sends = of_stage(rows, "send"), receives = of_stage(rows, "recv");
  ASSERT_EQ(receives.size(), 56U);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const Ps way = receives[i].start - sends[i].end;
    const auto distance = [&](int x, int y) { return static_cast<Ps>(std::abs(x - y)); };
    const int from = static_cast<int>(pairs[i].from), to = static_cast<int>(pairs[i].to);
    EXPECT_EQ((way - 11 * kNs) / (8 * kNs), distance(from % 4, to % 4) + distance(from / 4, to / 4))
        << from << " to " << to;
    EXPECT_EQ((way - 11 * kNs) % (8 * kNs), 0U);
  }
}

// ---- several slots ------------------------------------------------------------------------------

struct Pipeline {
  const char* what;
  std::vector<std::string> sets;
  Pair pair;
  Ps bottleneck;
};

// Equal slots through servers in a row: the last is (n - 1) times the slowest of them behind the
// first: send, way, receive. 12 slots are fewer than the 16 credits.
TEST(MessageTimes, SlotsArePipelinedBehindTheSlowest) {
  constexpr Ps kSlots = 12;
  const std::vector<Pipeline> cases{
      {"NoC", {}, {0, 1}, 128 * kNs},
      {"NoC before UCIe", {}, {7, 15}, 128 * kNs},
      {"UCIe", {"noc.bytes_per_cycle=512", "d2d.gbps=128"}, {7, 15}, 64 * kNs},
      {"SIP link", {"noc.bytes_per_cycle=512"}, {15, 47}, 81'920},
      {"send", {"pe.ipcq.send_cycles=300"}, {15, 47}, 300 * kNs},
      {"recv", {"pe.ipcq.recv_cycles=250"}, {0, 1}, 250 * kNs},
  };
  for (const Pipeline& c : cases) {
    SCOPED_TRACE(c.what);
    const std::string text = in_child([&]() -> std::string {
      const arch::TopologyConfig topology = shipped("llama70b_4sip", c.sets);
      const auto rows = messages(topology, {c.pair}, kSlots * 2048);
      const auto sends = of_stage(rows, "send"), receives = of_stage(rows, "recv");
      EXPECT_EQ(sends.size(), kSlots);
      const Ps send = topology.pe.ipcq.send_cycles * kNs, recv = topology.pe.ipcq.recv_cycles * kNs;
      const Ps way = way_ps(topology, c.pair.from, c.pair.to, 8192);
      EXPECT_EQ(receives.front().start, sends.front().start + send + way);
      EXPECT_EQ(receives.back().end,
                sends.front().start + send + way + (kSlots - 1) * c.bottleneck + recv);
      return "";
    });
    EXPECT_EQ(text, "");
  }
}

// With d credits slot i waits for the one of slot i - d, which goes back when that has been
// received, and takes the latencies of the way and no bandwidth. One credit: each slot takes send,
// way, receive and the way back.
TEST(MessageTimes, CreditsBoundTheRate) {
  constexpr Ps kSlots = 8;
  for (const Ps depth : {Ps{1}, Ps{2}, Ps{3}}) {
    SCOPED_TRACE(depth);
    in_child([&]() -> std::string {
      const arch::TopologyConfig topology =
          shipped("llama70b_4sip", {"pe.ipcq.depth=" + std::to_string(depth)});
      const Pair pair{0, 32};
      const auto rows = messages(topology, {pair}, kSlots * 2048);
      const auto sends = of_stage(rows, "send"), receives = of_stage(rows, "recv");
      // 138 + 581.92 + 138; back 10 + 500 + 10.
      const Ps way = 857'920, back = 520 * kNs, slowest = 128 * kNs;
      const Ps first = 500 * kNs + kDispatch + kSlots * 32 * kNs + kDispatch;
      std::vector<Ps> sent, came, received;
      for (std::size_t i = 0; i < kSlots; ++i) {
        Ps start = i == 0 ? first : sent[i - 1];
        if (i >= depth) start = std::max(start, received[i - depth] + back);
        sent.push_back(start + kSend);
        Ps arrival = sent[i] + way;
        if (i > 0) arrival = std::max(arrival, came[i - 1] + slowest);
        came.push_back(arrival);
        received.push_back(std::max(arrival, i == 0 ? 0 : received[i - 1]) + kRecv);
        EXPECT_EQ(sends[i].end, sent[i]) << i;
        EXPECT_EQ(receives[i].end, received[i]) << i;
      }
      if (depth == 1) {
        EXPECT_EQ(received.back(), first + kSlots * (kSend + way + kRecv) + (kSlots - 1) * back);
      }
      return "";
    });
  }
}

// ---- links that are shared ----------------------------------------------------------------------

// PE 1 and PE 2 send a slot to PE 0 at t. PE 1's head is at n1 at t + 5 and takes n1_n0 for 128;
// PE 2's comes there at t + 13 and waits until t + 133. Then 8 to n0, 5 out, 128: t + 274, which is
// 128 after PE 1's t + 146: together they have the link's bandwidth.
TEST(MessageTimes, TwoSendersShareALink) {
  const arch::TopologyConfig topology = shipped("cube_8pe");
  const kernels::Kernel kernel = by_hand({0, 1, 2}, [](tl::Context& tl) {
    if (tl.program() == 0) {
      for (const Index from : {1, 2}) tl.recv(from, tl.empty({2048}, tl::f32));
      return;
    }
    const auto x = tl.zeros({2048}, tl::f32);
    tl.wait({x});
    tl.send(0, x);
  });
  const runtime::Launch launch(kernel, {}, topology);
  const MachineRun run = run_machine(topology, launch);
  const auto sends = of_stage(run.rows, "send"), receives = of_stage(run.rows, "recv");
  ASSERT_EQ(receives.size(), 2U);
  const Ps t = sends[0].end;
  EXPECT_EQ(sends[1].end, t);
  EXPECT_EQ(receives[0].tile_n, 1);
  EXPECT_EQ(receives[0].start, t + 146 * kNs);
  EXPECT_EQ(receives[1].start, t + 274 * kNs);
  for (const LinkStatistics& link : run.result.links) {
    const bool shared = link.name == "noc.n1_n0" || link.name == "noc.n0_ipcq0";
    if (shared) {
      EXPECT_EQ(link.packets, 2U) << link.name;
      EXPECT_EQ(link.bytes_out, 16384U) << link.name;
      EXPECT_EQ(link.busy_ps, 256 * kNs) << link.name;
    }
  }
}

// PE 1 and PE 4 are both one hop from PE 0: their heads are at its link out at the same instant,
// and the lower PE goes first.
TEST(MessageTimes, ATieGoesToTheLowerPe) {
  const arch::TopologyConfig topology = shipped("cube_8pe");
  const kernels::Kernel kernel = by_hand({4, 0, 1}, [](tl::Context& tl) {
    if (tl.program() == 1) {
      for (const Index from : {0, 2}) tl.recv(from, tl.empty({2048}, tl::f32));
      return;
    }
    const auto x = tl.zeros({2048}, tl::f32);
    tl.wait({x});
    tl.send(1, x);
  });
  const runtime::Launch launch(kernel, {}, topology);
  const MachineRun run = run_machine(topology, launch);
  const auto sends = of_stage(run.rows, "send"), receives = of_stage(run.rows, "recv");
  ASSERT_EQ(receives.size(), 2U);
  EXPECT_EQ(sends[0].end, sends[1].end);
  EXPECT_EQ(receives[0].tile_n, 1);
  EXPECT_EQ(receives[0].start, sends[0].end + 146 * kNs);
  EXPECT_EQ(receives[1].tile_n, 4);
  EXPECT_EQ(receives[1].start, sends[0].end + (146 + 128) * kNs);
}

}  // namespace
}  // namespace kernbench::test
