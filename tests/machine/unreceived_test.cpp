// SPDX-License-Identifier: Apache-2.0
// Messages that nobody receives: the launch that sent them ends the run. A send of 17 bytes is
// dispatched in 41.063, its slots take 10 each; a launch begins 500 after the one before.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "runtime/pe_outputs.hpp"
#include "runtime/run_to_end.hpp"
#include "tests/support/machine_bench.hpp"
#include "tests/support/temporary_folder.hpp"

namespace kernbench::test {
namespace {

using command::Index;
using kernels::split_rows;
using runtime::Host;
using runtime::SimulationError;
using Bound = std::vector<tl::Tensor>;

template <class Run>
SimulationError failure_of(Run run) {
  try {
    run();
  } catch (const SimulationError& error) {
    return error;
  }
  ADD_FAILURE() << "came to its end";
  return {"", ""};
}

SimulationError failure_on(const arch::TopologyConfig& topology,
                           const std::vector<std::uint32_t>& pes,
                           const std::function<void(tl::Context&)>& body) {
  const runtime::Launch launch(by_hand(pes, body), {}, topology);
  runtime::RunRequest request;
  request.launch = &launch;
  return failure_of([&] { runtime::simulate(topology, {}, {request}); });
}

// Program 0 sends 2 * 8 slots: 500 + 41.063 + 16 * 10. The others are done before. Lines go by
// sender, receiver, channel, not by program.
TEST(Unreceived, OneLaunch) {
  const SimulationError error =
      failure_on(shipped("cube_8pe", {"pe.ipcq.slot_bytes=64"}), {1, 0, 5}, [](tl::Context& tl) {
        const auto x = tl.empty({256}, tl::f16);
        if (tl.program() == 0) {
          tl.send(1, x, 3);
          tl.send(1, x, 3);
        } else {
          tl.send(0, x.first({32}), 2);
          tl.send(0, x.first({32}), 1);
        }
      });
  EXPECT_STREQ(
      error.what(),
      "by_hand: pe1 has not received 1 message (1 slot) of pe0 on channel 1 when launch 1 "
      "ended at 701.063 ns, nor those of 4 other channels; receive all that is sent, or do not "
      "send it");
  EXPECT_EQ(error.detail(),
            "pe1 has not received 1 message (1 slot) of pe0 on channel 1\n"
            "pe1 has not received 1 message (1 slot) of pe0 on channel 2\n"
            "pe0 has not received 2 messages (16 slots) of pe1 on channel 3\n"
            "pe1 has not received 1 message (1 slot) of pe5 on channel 1\n"
            "pe1 has not received 1 message (1 slot) of pe5 on channel 2\n");
}

/// Program 0 sends 16 messages of a slot of 8192 bytes, program 1 receives that many.
std::function<void(tl::Context&)> sixteen(Index received) {
  return [received](tl::Context& tl) {
    const auto x = tl.empty({4096}, tl::f16);
    for (Index i = 0; i < 16; ++i) {
      if (tl.program() == 0) tl.send(1, x);
      if (tl.program() == 1 && i < received) tl.recv(0, x);
    }
  };
}

/// A slot is 2048 cycles on a link of 4 bytes, far longer than PE_IPCQ and PE_CPU are busy with it.
arch::TopologyConfig slow_wire(const std::string& pe_ipcq = "pe.ipcq.depth=16") {
  return shipped("cube_8pe", {"noc.bytes_per_cycle=4", pe_ipcq});
}

/// Nobody has written what is sent.
const MachineRunOptions kUnwritten{{}, false, false, {}};

// The last send is done at 500 + 16 * 41.063 + 10, when most slots have not left the first link.
TEST(Unreceived, WhatIsOnTheWireCounts) {
  const SimulationError error = failure_on(slow_wire(), {0, 1}, sixteen(0));
  EXPECT_STREQ(error.what(),
               "by_hand: pe1 has not received 16 messages (16 slots) of pe0 on channel 0 when "
               "launch 1 ended at 1167.008 ns; receive all that is sent, or do not send it");
}

TEST(Unreceived, OneOfSixteenOverCubes) {
  arch::TopologyConfig topology = shipped("llama70b_4sip", {"noc.bytes_per_cycle=4"});
  const SimulationError error = failure_on(topology, {8, 40}, sixteen(15));
  EXPECT_EQ(error.detail(),
            "sip1.cube1.pe0 has not received 1 message (1 slot) of sip0.cube1.pe0 on channel 0\n");
}

// What has been received is off every link, so none was busy for longer than the run took, and what
// came to it has left it: run_machine() checks both. The slots are back to back on the first link
// from 551.063 on; the last is 5 + 8 + 5 behind, and received in 10.
TEST(Unreceived, WhatIsReceivedHasLeftTheWire) {
  const runtime::Launch launch(by_hand({0, 1}, sixteen(16)), {}, slow_wire());
  const MachineRun run = run_machine(slow_wire(), launch, kUnwritten);
  EXPECT_EQ(run.result.sim_time_ps, 551'063U + 16 * 2'048'000 + 18'000 + 10'000);
}

// The same where a slot is received 1 ps after its tail has left all links at once.
TEST(Unreceived, WhatIsReceivedHasLeftAWireWithoutLatency) {
  arch::TopologyConfig topology = slow_wire("pe.ipcq.recv_cycles=0");
  topology.noc.niu_cycles = topology.noc.hop_cycles = 0;
  const runtime::Launch launch(by_hand({0, 1}, sixteen(16)), {}, topology);
  const MachineRun run = run_machine(topology, launch, kUnwritten);
  EXPECT_EQ(run.result.sim_time_ps, 551'063U + 16 * 2'048'000 + 1);
}

// ---- launches -----------------------------------------------------------------------------------

/// Program 0 sends ones to program 1, which stores them.
void pass(tl::Context& tl, const Bound& bound) {
  const auto x = tl.full({1, 4}, 1, tl::f32);
  if (tl.program() == 0) {
    tl.send(1, x);
  } else {
    tl.recv(0, x);
    tl.store(bound[0], x);
  }
}

// The third launch would receive the message of zeros that the second has left. What the first sent
// and received hides nothing.
TEST(Unreceived, ALaunchLeavesNothingToTheNext) {
  Host host("host", shipped("cube_8pe"), true);
  const auto rows = split_rows(2, 2);
  const auto first = host.zeros("first", {2, 4}, tl::f32, rows);
  const auto third = host.zeros("third", {2, 4}, tl::f32, rows);
  host.launch("complete", pass, {first}, {{2, 1, 1}});
  host.launch("leaky",
              [](tl::Context& tl, const Bound&) {
                if (tl.program() == 0) tl.send(1, tl.zeros({1, 4}, tl::f32));
              },
              {}, {{2, 1, 1}});
  host.launch("victim", pass, {third}, {{2, 1, 1}});
  const SimulationError error = failure_of([&] { host.run(); });
  const std::string text = error.what();
  EXPECT_EQ(text.substr(0, text.find(" ended at ")),
            "host: pe1 has not received 1 message (1 slot) of pe0 on channel 0 when launch 2 "
            "(leaky)");
  EXPECT_EQ(host.read(first), (std::vector<double>{0, 0, 0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(host.read(third), std::vector<double>(8, 0));  // has not begun
  // It stays so, whatever else is launched.
  host.launch("another", pass, {third}, {{2, 1, 1}});
  EXPECT_EQ(failure_of([&] { host.run(); }).what(), text);
  EXPECT_EQ(host.read(third), std::vector<double>(8, 0));
}

// Without a leak all three run, and messages are those of their own launch.
TEST(Unreceived, LaunchesThatReceiveAllFollowEachOther) {
  Host host("host", shipped("cube_8pe"), true);
  const auto y = host.zeros("y", {2, 4}, tl::f32, split_rows(2, 2));
  for (const char* title : {"a", "b", "c"}) host.launch(title, pass, {y}, {{2, 1, 1}});
  host.run();
  EXPECT_EQ(host.read(y), (std::vector<double>{0, 0, 0, 0, 1, 1, 1, 1}));
}

// ---- outputs of PEs without a host --------------------------------------------------------------

// finish() compares as well, and may be called again when the message has been received.
TEST(Unreceived, OutputsOfOnesOwn) {
  const TemporaryFolder folder;
  const arch::TopologyConfig topology = shipped("cube_8pe");
  Machine machine(topology, {});
  runtime::PeOutputs outputs({folder / "op_log.csv", {}, {}, {}});
  for (const std::uint32_t index : {0U, 1U}) outputs.add(machine.pe(index));
  const auto x = command::make_handle(1, command::kTcmBase, command::Shape{32}, command::DType::f16,
                                      command::Space::tcm);
  machine.pe(0).set_kernel([&](command::CommandSink& sink) {
    sink.issue(command::IpcqSendCmd{x, {1, 2}});
    sink.issue(command::IpcqSendCmd{x, {3, 2}});  // to one that is not in the outputs
  });
  sc_core::sc_start();
  EXPECT_STREQ(failure_of([&] { outputs.finish(); }).what(),
               "the outputs, of which no file is written: pe1 has not received 1 message (1 slot) "
               "of pe0 on channel 2 when finish() was called; receive all that is sent, or do not "
               "send it");
  machine.pe(1).cpu.launch([&](command::CommandSink& sink) {
    sink.issue(command::IpcqRecvCmd{x, {0, 2}});
  });
  sc_core::sc_start();
  outputs.finish();
  EXPECT_EQ(folder.names(), std::vector<std::string>{"op_log.csv"});
}

}  // namespace
}  // namespace kernbench::test
