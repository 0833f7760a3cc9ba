// SPDX-License-Identifier: Apache-2.0
// Who waits for what, over several PEs, from edges made by hand.

#include "model/arch/wait_graph.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kernbench::arch {
namespace {

using testing::ElementsAre;

/// PEs 0 and 1 that each wait for a message of the other: kernel -> recv -> message.
WaitGraph two_receives() {
  WaitGraph graph;
  for (const std::uint32_t pe : {0U, 1U}) {
    const std::uint64_t recv = pe == 0 ? 4 : 2;
    graph.add_pe(pe, "pe" + std::to_string(pe), false);
    graph.add_command(pe, recv, "recv");
    graph.add(WaitNode::kernel(pe), WaitNode::command(pe, recv));
    graph.add(WaitNode::command(pe, recv), WaitNode::message(1 - pe, pe, 0));
  }
  return graph;
}

TEST(WaitGraph, NothingWaits) {
  WaitGraph graph;
  graph.add_pe(0, "pe0", true);
  graph.add_command(0, 3, "load");
  EXPECT_TRUE(graph.lines().empty());
  EXPECT_EQ(graph.cycle(), "");
}

TEST(WaitGraph, AMessageThatTheKernelHasNotSent) {
  EXPECT_THAT(two_receives().lines(),
              ElementsAre("pe0: kernel waits for command 4 (recv)",
                          "pe0: kernel has not sent to pe1 on channel 0",
                          "pe0: command 4 (recv) waits for a message from pe1 on channel 0",
                          "pe1: kernel waits for command 2 (recv)",
                          "pe1: kernel has not sent to pe0 on channel 0",
                          "pe1: command 2 (recv) waits for a message from pe0 on channel 0"));
}

TEST(WaitGraph, CycleThroughKernels) {
  EXPECT_EQ(two_receives().cycle(),
            "pe0 command 4 (recv) -> pe1 kernel -> pe1 command 2 (recv) -> pe0 kernel -> "
            "pe0 command 4");
}

// The same wait, but the message has been issued: its command stands behind another one.
TEST(WaitGraph, AMessageWhoseCommandIsQueued) {
  WaitGraph graph = two_receives();
  graph.add_command(1, 3, "send");
  graph.add_command(1, 4, "send");
  graph.provide(WaitNode::message(1, 0, 0), WaitNode::command(1, 3));
  graph.provide(WaitNode::message(1, 0, 0), WaitNode::command(1, 4));  // comes later
  graph.add(WaitNode::command(1, 3), WaitNode::command(1, 2), "is queued behind");
  EXPECT_THAT(graph.lines(),
              ElementsAre("pe0: kernel waits for command 4 (recv)",
                          "pe0: kernel has not sent to pe1 on channel 0",
                          "pe0: command 4 (recv) waits for a message from pe1 on channel 0",
                          "pe1: kernel waits for command 2 (recv)",
                          "pe1: command 2 (recv) waits for a message from pe0 on channel 0",
                          "pe1: command 3 (send) is queued behind command 2 (recv)",
                          "pe1: command 3 (send) has not sent to pe0 on channel 0"));
  EXPECT_EQ(graph.cycle(),
            "pe0 command 4 (recv) -> pe1 command 3 (send) -> pe1 command 2 (recv) -> pe0 kernel "
            "-> pe0 command 4");
}

TEST(WaitGraph, AKernelThatHasReturnedSendsNothing) {
  WaitGraph graph;
  graph.add_pe(3, "pe3", false);
  graph.add_pe(5, "pe5", true);
  graph.add_command(3, 17, "recv");
  graph.add(WaitNode::kernel(3), WaitNode::command(3, 17));
  graph.add(WaitNode::command(3, 17), WaitNode::message(5, 3, 2));
  EXPECT_THAT(graph.lines(),
              ElementsAre("pe3: kernel waits for command 17 (recv)",
                          "pe3: command 17 (recv) waits for a message from pe5 on channel 2",
                          "pe5: kernel has returned: nobody will send to pe3 on channel 2"));
  EXPECT_EQ(graph.cycle(), "");
}

TEST(WaitGraph, RoomIsTheReceiversToGive) {
  WaitGraph graph;
  graph.add_pe(0, "pe0", true);
  graph.add_pe(1, "pe1", true);
  graph.add_pe(2, "pe2", false);
  for (const std::uint32_t peer : {1U, 2U}) {
    graph.add_command(0, peer, "send");
    graph.add(WaitNode::command(0, peer), WaitNode::room(0, peer, 1));
  }
  graph.add_command(2, 8, "recv");
  graph.provide(WaitNode::room(0, 2, 1), WaitNode::command(2, 8));
  EXPECT_THAT(graph.lines(),
              ElementsAre("pe0: command 1 (send) waits for a free slot at pe1 on channel 1",
                          "pe0: command 2 (send) waits for a free slot at pe2 on channel 1",
                          "pe1: kernel has returned: nobody will receive from pe0 on channel 1",
                          "pe2: command 8 (recv) has not received from pe0 on channel 1"));
}

TEST(WaitGraph, NotesStandWithTheWaits) {
  WaitGraph graph;
  graph.add_pe(0, "pe0", false);
  graph.add_command(0, 1, "load");
  graph.add(WaitNode::kernel(0), WaitNode::command(0, 1));
  graph.note(WaitNode::command(0, 1), "is in flight");
  EXPECT_THAT(graph.lines(), ElementsAre("pe0: kernel waits for command 1 (load)",
                                         "pe0: command 1 (load) is in flight"));
}

// Two commands that wait for the same slot: what provides it says so once.
TEST(WaitGraph, WhatSeveralWaitForIsToldOnce) {
  WaitGraph graph;
  graph.add_pe(0, "pe0", true);
  graph.add_pe(1, "pe1", false);
  for (const std::uint64_t command : {3U, 4U}) {
    graph.add_command(0, command, "send");
    graph.add(WaitNode::command(0, command), WaitNode::room(0, 1, 2));
  }
  EXPECT_THAT(graph.lines(),
              ElementsAre("pe0: command 3 (send) waits for a free slot at pe1 on channel 2",
                          "pe0: command 4 (send) waits for a free slot at pe1 on channel 2",
                          "pe1: kernel has not received from pe0 on channel 2"));
}

// A command waits for two others, and the circle goes through the second.
TEST(WaitGraph, ACircleThroughTheSecondOfTwoWaits) {
  WaitGraph graph;
  graph.add_pe(0, "pe0", false);
  for (const std::uint64_t command : {1U, 2U, 3U}) graph.add_command(0, command, "load");
  graph.add(WaitNode::command(0, 3), WaitNode::command(0, 1));
  graph.add(WaitNode::command(0, 3), WaitNode::command(0, 2));
  EXPECT_EQ(graph.cycle(), "");
  graph.add(WaitNode::command(0, 2), WaitNode::command(0, 3));
  EXPECT_EQ(graph.cycle(), "pe0 command 2 (load) -> pe0 command 3 (load) -> pe0 command 2");
}

// A PE that nobody has asked is named by its number.
TEST(WaitGraph, UnknownPe) {
  WaitGraph graph;
  graph.add_pe(0, "pe0", true);
  graph.add_command(0, 0, "recv");
  graph.add(WaitNode::command(0, 0), WaitNode::message(9, 0, 0));
  EXPECT_THAT(graph.lines(),
              ElementsAre("pe0: command 0 (recv) waits for a message from PE 9 on channel 0",
                          "PE 9: kernel has not sent to pe0 on channel 0"));
}

// A ring of n PEs of which one does not wait has no cycle; with all of them it is found, whatever
// leads into it.
TEST(WaitGraph, ALongCycleIsFoundAndAChainIsNone) {
  constexpr std::uint32_t kPes = 128;
  WaitGraph graph;
  for (std::uint32_t pe = 0; pe < kPes; ++pe) {
    graph.add_pe(pe, "pe" + std::to_string(pe), false);
    graph.add_command(pe, pe, "recv");
    graph.add(WaitNode::kernel(pe), WaitNode::command(pe, pe));
    // PE 0 stands outside of the ring of the others.
    const std::uint32_t from = pe + 1 < kPes ? pe + 1 : 1;
    if (pe + 1 < kPes) graph.add(WaitNode::command(pe, pe), WaitNode::message(from, pe, 0));
  }
  EXPECT_EQ(graph.cycle(), "");
  graph.add(WaitNode::command(kPes - 1, kPes - 1), WaitNode::message(1, kPes - 1, 0));
  const std::string cycle = graph.cycle();
  EXPECT_EQ(cycle.substr(0, 51), "pe1 command 1 (recv) -> pe2 kernel -> pe2 command 2");
  // 127 kernels and as many commands, of which 8 are named.
  EXPECT_EQ(cycle.substr(cycle.size() - 41), "kernel -> .. 246 more .. -> pe1 command 1");
}

}  // namespace
}  // namespace kernbench::arch
