// SPDX-License-Identifier: Apache-2.0
// Collectives and the merge of a split decode, to the ps.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "tests/machine/machine_clock.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/machine_bench.hpp"

namespace kernbench::test {
namespace {

constexpr Ps kNs = 1000;
constexpr Ps kSend = 10 * kNs, kRecv = 10 * kNs;
constexpr Ps kDispatch = 41'063;  // of a send or receive: 40 + 17 / 16

// ---- every stage of it --------------------------------------------------------------------------

struct Case {
  std::string topology, kernel;
  Settings settings;
  std::vector<std::string> sets = {};
};

/// Each stage of the run is where the independent computation has it.
void expect_stage_times(const Case& c) {
  const arch::TopologyConfig topology = shipped(c.topology, c.sets);
  const runtime::Launch launched = launch(topology, c.kernel, c.settings);
  const auto found = stage_times(run_machine(topology, launched).rows);
  const auto expected =
      stage_times(topology, compile_all(c.kernel, c.settings, runtime::make_target(topology)));
  ASSERT_EQ(found.size(), expected.size());
  const auto [x, y] = std::mismatch(found.begin(), found.end(), expected.begin());
  if (x != found.end()) FAIL() << "found " << *x << ", expected " << *y;
}

void expect_stage_times(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    SCOPED_TRACE(launch(shipped(c.topology, c.sets), c.kernel, c.settings).title());
    in_child([&]() -> std::string {
      expect_stage_times(c);
      return "";
    });
  }
}

TEST(CollectiveTimes, RingInACube) {
  for (const char* programs : {"2", "3", "4", "5", "8"}) {
    expect_stage_times({{"cube_8pe", "all_reduce", {{"programs", programs}, {"n", "8192"}}},
                        {"cube_8pe", "all_reduce", {{"programs", programs}, {"n", "256"}}},
                        {"cube_8pe", "all_gather", {{"programs", programs}}}});
  }
}

TEST(CollectiveTimes, SeveralMessagesAChunkAndSeveralSlotsAMessage) {
  expect_stage_times({{"cube_8pe", "all_reduce", {{"n", "8192"}, {"message", "256"}}},
                      {"cube_8pe",
                       "all_reduce",
                       {{"n", "16384"}, {"message", "2048"}},
                       {"pe.ipcq.slot_bytes=1024"}},
                      {"cube_8pe",
                       "all_reduce",
                       {{"n", "8192"}, {"message", "256"}},
                       {"pe.ipcq.depth=1", "pe.ipcq.slot_bytes=512"}},
                      {"cube_8pe",
                       "all_gather",
                       {{"n", "1024"}, {"message", "128"}},
                       {"pe.ipcq.slot_bytes=128"}}});
}

TEST(CollectiveTimes, TreeInACube) {
  for (const char* programs : {"2", "3", "4", "8"}) {
    expect_stage_times({{"cube_8pe",
                         "all_reduce",
                         {{"programs", programs}, {"n", "2048"}, {"algorithm", "tree"}}}});
  }
}

// Programs 0, 1, .. lie on the PEs in order: rings that leave the cube and, from 64 on, the SIP.
TEST(CollectiveTimes, RingOverCubes) {
  expect_stage_times({{"llama70b_4sip", "all_reduce", {{"programs", "16"}}},
                      {"llama70b_4sip", "all_reduce", {{"programs", "32"}, {"n", "4096"}}},
                      {"llama70b_4sip", "all_gather", {{"programs", "32"}, {"n", "128"}}}});
}
TEST(CollectiveTimes, RingOverSips) {
  expect_stage_times({{"llama70b_4sip", "all_reduce", {{"programs", "64"}, {"n", "4096"}}}});
}
TEST(CollectiveTimes, TreeOverAllPes) {
  expect_stage_times({{"llama70b_4sip", "all_reduce", {{"n", "2048"}, {"algorithm", "tree"}}}});
}

// ---- the ring in closed form --------------------------------------------------------------------

// N places in a ring whose ways are alike, W for a chunk of B = 8192 bytes, one slot, 2048 entries
// of f32. Chunk s - i goes round twice: 2 (N - 1) messages one after the other, each send + W +
// receive. The first N - 1 are added, A = 2048 / 64 = 32, and what has been added is sent by a
// command that PE_CPU dispatches then, D. In the second half the send has been dispatched before
// the receive is done. With the D of the very first send
//
//     T = 2 (N - 1) (send + W + receive) + (N - 1) (A + D) + D
//
// The textbook counts latencies L and the slowest link alone: 2 (N - 1) / N * bytes / bandwidth + 2
// (N - 1) * L, and is less by the services of the faster links, PE_IPCQ, PE_MATH and dispatch.
void expect_ring(const std::vector<std::string>& sets, Ps n, Ps way, Ps latency, Ps slowest) {
  SCOPED_TRACE(testing::Message() << n << " of " << sets.front());
  in_child([&]() -> std::string {
    const arch::TopologyConfig topology = shipped("llama70b_4sip", sets);
    const runtime::Launch launched =
        launch(topology, "all_reduce", {{"n", std::to_string(2048 * n)}});
    EXPECT_EQ(launched.programs(), static_cast<command::Index>(n));
    const MachineRun run = run_machine(topology, launched);
    const Ps steps = 2 * (n - 1);
    EXPECT_EQ(run.loop_ps(),
              steps * (kSend + way + kRecv) + (n - 1) * (32 * kNs + kDispatch) + kDispatch);
    const Ps textbook = steps * slowest + steps * latency;  // chunk / bandwidth = slowest
    EXPECT_GT(run.loop_ps(), textbook);
    EXPECT_EQ(run.loop_ps() - textbook, steps * (kSend + kRecv + way - latency - slowest) +
                                            (n - 1) * (32 * kNs + kDispatch) + kDispatch);
    return "";
  });
}

TEST(CollectiveTimes, RingOfPesInClosedForm) {
  // A hop that takes no time: 5 + 5 + 128, wherever the neighbour is. Of two PEs the hop is one.
  expect_ring({"sips=1", "cubes_per_sip=1", "pes_per_cube=2"}, 2, 146 * kNs, 18 * kNs, 128 * kNs);
  for (const Ps n : {Ps{2}, Ps{4}, Ps{8}}) {
    expect_ring(
        {"pes_per_cube=" + std::to_string(n), "sips=1", "cubes_per_sip=1", "noc.hop_cycles=0"}, n,
        138 * kNs, 10 * kNs, 128 * kNs);
  }
}
TEST(CollectiveTimes, RingOfCubesInClosedForm) {
  // One PE a cube: (10 + 128) + (20 + 32) + (10 + 128).
  for (const Ps n : {Ps{2}, Ps{4}, Ps{8}}) {
    expect_ring({"cubes_per_sip=" + std::to_string(n), "sips=1", "pes_per_cube=1"}, n, 328 * kNs,
                40 * kNs, 128 * kNs);
  }
}
TEST(CollectiveTimes, RingOfSipsInClosedForm) {
  // One PE a SIP: (10 + 128) + (500 + 81.92) + (10 + 128); with a faster NoC the SIP link is
  // slowest.
  for (const Ps n : {Ps{2}, Ps{4}, Ps{8}}) {
    expect_ring({"sips=" + std::to_string(n), "cubes_per_sip=1", "pes_per_cube=1"}, n, 857'920,
                520 * kNs, 128 * kNs);
    expect_ring({"sips=" + std::to_string(n), "cubes_per_sip=1", "pes_per_cube=1",
                 "noc.bytes_per_cycle=1024"},
                n, 36 * kNs + 581'920, 520 * kNs, 81'920);
  }
}

// A chunk so small that dispatch is what takes the time, N = 2, 64 entries: the receive has been
// dispatched after the message came. Send, two receives and the composite of 34 bytes (40 + 34 / 16
// = 42.125), one cycle of add, the second send, way of 256 bytes (5 + 8 + 5 + 4), receive.
TEST(CollectiveTimes, RingOfTwoBoundByDispatch) {
  const arch::TopologyConfig topology = shipped("cube_8pe");
  const runtime::Launch launched =
      launch(topology, "all_reduce", {{"programs", "2"}, {"n", "128"}});
  EXPECT_EQ(run_machine(topology, launched).loop_ps(),
            3 * kDispatch + 42'125 + 1 * kNs + kDispatch + kSend + 22 * kNs + kRecv);
}

// ---- the merge of a split decode ----------------------------------------------------------------

/// Of one place: when its three messages leave it.
struct State {
  Ps O, m, l;
};

/// Messages one behind the other on the same way: each link serves them in order, so that a network
/// of equal links is as one server.
std::vector<Ps> delivered(const arch::TopologyConfig& topology, std::uint32_t from,
                          std::uint32_t to, const State& sent) {
  struct Message {
    Ps time;
    std::vector<Leg> legs;
  };
  std::vector<Message> messages{{sent.O, way(topology, from, to, 8 * 128 * 4)},
                                {sent.m, way(topology, from, to, 8 * 4)},
                                {sent.l, way(topology, from, to, 8 * 4)}};
  for (std::size_t leg = 0; leg < messages[0].legs.size(); ++leg) {
    Ps free = 0;
    for (Message& message : messages) {
      const Ps start = std::max(message.time, free);
      free = start + message.legs[leg].service;
      message.time = free + message.legs[leg].latency();
    }
  }
  return {messages[0].time, messages[1].time, messages[2].time};
}

// Each place attends to one tile; its state is there `ready` after the start (contract 13: the loop
// starts at 180.502, one tile of opt2 takes 365.375 + 378). A place with children then dispatches
// three receives for each, O, m and l, whose tensors take the place of the last tile's scratch
// (R6.11), and its merges (290 bytes: 40 + 290 / 16 = 58.125). It receives 10 cycles a message, as
// they come, and merges in order: the nine MATH stages of state_merge over 8 and 8 x 128 entries
// take 1 + 1 + 1 + 1 + 1 + 16 + 16 + 16 + 1 = 54. Then it dispatches its sends one after the other:
// O, m, l. Place 0 dispatches div_bcast (33 bytes, 42.0625) of 16 cycles and the store (41.3125):
// 16 of setup, 2048 bytes in 16, latency 100.
void expect_merge(command::Index c, command::Index p, const char* merge) {
  SCOPED_TRACE(testing::Message() << c << " x " << p << " " << merge);
  in_child([&]() -> std::string {
    const bool tree = std::string(merge) == "tree";
    const arch::TopologyConfig topology = shipped("llama70b_4sip");
    const auto places = static_cast<std::uint32_t>(c * p);
    const runtime::Launch launched = launch(topology, "gqa_decode",
                                            {{"s_kv", std::to_string(64 * places)},
                                             {"c", std::to_string(c)},
                                             {"p", std::to_string(p)},
                                             {"merge", merge}});
    const auto pe = [&](std::uint32_t place) { return launched.launch().pes()[place]; };
    const std::function<Ps(std::uint32_t)> merged = [&](std::uint32_t place) {
      std::vector<std::uint32_t> children;
      if (!tree) {
        if (place + 1 < places) children.push_back(place + 1);
      } else {
        for (std::uint32_t s = 1; place % (2 * s) == 0 && place + s < places; s *= 2) {
          children.push_back(place + s);
        }
      }
      const Ps ready = 500 * kNs + 180'502 + 365'375 + 378'000;
      Ps posted = ready, received = 0;
      std::vector<Ps> all_received;
      for (const std::uint32_t child : children) {
        const Ps from = merged(child);
        const State sent{from + kDispatch + kSend, from + 2 * kDispatch + kSend,
                         from + 3 * kDispatch + kSend};
        const std::vector<Ps> came = delivered(topology, pe(child), pe(place), sent);
        EXPECT_GT(came.front(), received);  // all of the child before
        for (const Ps time : came) {
          posted += kDispatch;
          received = std::max({received, time, posted}) + kRecv;
        }
        all_received.push_back(received);
      }
      Ps done = ready, dispatched = posted;
      for (const Ps parts : all_received) {
        dispatched += 58'125;
        done = std::max({done, parts, dispatched}) + 54 * kNs;
      }
      return done;
    };
    const Ps end = merged(0) + 42'063 + 16 * kNs + 41'313 + (16 + 16 + 100) * kNs;
    EXPECT_EQ(run_machine(topology, launched).result.sim_time_ps, end);
    return "";
  });
}

TEST(MergeTimes, TreeInACube) {
  for (const command::Index p : {2, 4, 8}) expect_merge(1, p, "tree");
}
TEST(MergeTimes, TreeOverCubes) {
  expect_merge(2, 8, "tree");
  expect_merge(4, 8, "tree");
}
TEST(MergeTimes, Chain) {
  for (const command::Index p : {2, 4, 8}) expect_merge(1, p, "chain");
  expect_merge(4, 8, "chain");
}

// A tree of N places has log2(N) levels one after the other, a chain N - 1.
TEST(MergeTimes, TheTreeIsFasterThanTheChain) {
  const auto merge_ps = [](const char* merge) {
    return std::stoull(in_child([&] {
      const arch::TopologyConfig topology = shipped("cube_8pe");
      const runtime::Launch launched =
          launch(topology, "gqa_decode", {{"s_kv", "512"}, {"p", "8"}, {"merge", merge}});
      return std::to_string(run_machine(topology, launched).result.sim_time_ps);
    }));
  };
  EXPECT_LT(merge_ps("tree"), merge_ps("chain"));
}

}  // namespace
}  // namespace kernbench::test
