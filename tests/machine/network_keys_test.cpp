// SPDX-License-Identifier: Apache-2.0
// Every key of a topology that needs several PEs, or an HBM that they share, halved and doubled:
// the time of a run that uses what the key describes moves the way its meaning says. Those keys are
// the ones of which key_effects_test shows that with one PE nothing moves.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "model/arch/topology_file.hpp"
#include "model/arch/topology_keys.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/machine_bench.hpp"
#include "tlm_if/command/error.hpp"

namespace kernbench::test {
namespace {

using command::Index;
using Sets = std::vector<std::string>;

/// One message of so many f32 from the first of these PEs to the second.
kernels::Kernel message(std::uint32_t from, std::uint32_t to, Index entries) {
  return by_hand({from, to}, [entries](tl::Context& tl) {
    if (tl.program() == 0) {
      const auto x = tl.zeros({entries}, tl::f32);
      tl.wait({x});
      tl.send(1, x);
    } else {
      tl.recv(0, tl.empty({entries}, tl::f32));
    }
  });
}

/// PE 0 loads so many bytes of its HBM.
kernels::Kernel load(command::Address addr, Index bytes) {
  return by_hand({0}, [=](tl::Context& tl) { tl.load(tl.ref(addr, {bytes / 2}, tl::f16)); });
}

struct Probe {
  bool larger_is_slower;
  kernels::Kernel kernel;
  Sets base = {};
  std::string topology = "llama70b_4sip";
};

std::map<std::string, Probe> probes() {
  const std::string interleaved = "hbm.map=interleaved";
  return {
      // 64 slots of 1 KiB to the next SIP: a credit takes longer than the slots that it stands for.
      {"pe.ipcq.depth",
       {false, message(0, 32, 16384), {"pe.ipcq.depth=4", "pe.ipcq.slot_bytes=1024"}}},
      // Of 128 bytes, 2 cycles of a link: PE_IPCQ takes 10 cycles for each of them.
      {"pe.ipcq.slot_bytes", {false, message(0, 1, 2048), {"pe.ipcq.slot_bytes=128"}}},
      {"pe.ipcq.send_cycles", {true, message(0, 1, 16)}},
      {"pe.ipcq.recv_cycles", {true, message(0, 1, 16)}},
      // One burst is served by one channel, which has its share of the bandwidth.
      {"hbm.channels", {true, load(0, 4096), {interleaved}}},
      // A window of 8 bursts of 1 KiB lies on 4, 2 and 1 channels.
      {"hbm.interleave_bytes",
       {true,
        load(0, 65536),
        {interleaved, "hbm.gbps=64", "hbm.latency_ns=0", "hbm.interleave_bytes=4096",
         "pe.dma.burst_bytes=1024", "pe.dma.max_outstanding_bytes=8192"}}},
      // Channel 7 of 8 is at router 7 n / 8 of n: with two rows of 2, 4 and 8 routers at (1, 1),
      // (3, 1) and (6, 1); with 1, 2 and 4 rows of 4 at (3, 0), (3, 1) and (2, 3).
      {"noc.cols",
       {true, load(std::uint64_t{7} * 4096, 64), {interleaved, "pes_per_cube=2", "noc.cols=4"}}},
      {"noc.rows",
       {true, load(std::uint64_t{7} * 4096, 64), {interleaved, "pes_per_cube=4", "noc.rows=2"}}},
      {"noc.bytes_per_cycle", {false, message(0, 1, 2048)}},
      {"noc.hop_cycles", {true, message(0, 1, 16)}},
      {"noc.niu_cycles", {true, message(0, 1, 16), {"noc.niu_cycles=4"}}},
      {"d2d.gbps", {false, message(0, 8, 2048)}},
      {"d2d.latency_ns", {true, message(0, 8, 16)}},
      {"sip_link.gbps", {false, message(0, 32, 2048)}},
      {"sip_link.latency_ns", {true, message(0, 32, 16)}},
  };
}

std::uint64_t time_of(const Probe& probe, const Sets& sets) {
  return std::stoull(in_child([&] {
    const arch::TopologyConfig topology = shipped(probe.topology, sets);
    const runtime::Launch launched(probe.kernel, {}, topology);
    MachineRunOptions options;
    options.check_hazards = false;  // loads read what nobody has written
    return std::to_string(run_machine(topology, launched, options).result.sim_time_ps);
  }));
}

std::uint64_t time_of(const Probe& probe, const arch::TopologyKey& key, double factor) {
  Sets sets = probe.base;
  const double value = std::stod(key.print(shipped(probe.topology, sets))) * factor;
  sets.erase(std::remove_if(
                 sets.begin(), sets.end(),
                 [&](const std::string& set) { return set.substr(0, set.find('=')) == key.path; }),
             sets.end());
  sets.push_back(fmt::format("{}={}", key.path, value));
  return time_of(probe, sets);
}

bool needs_several_pes(const arch::TopologyKey& key) {
  return key.meaning.find("; no effect with one ") != std::string::npos ||
         key.meaning.find("(map interleaved only)") != std::string::npos;
}

TEST(NetworkKeys, EveryNumberDoesWhatItsMeaningSays) {
  std::map<std::string, Probe> left = probes();
  for (const arch::TopologyKey& key : arch::topology_keys()) {
    if (!needs_several_pes(key)) continue;
    SCOPED_TRACE(key.path);
    const auto found = left.find(key.path);
    ASSERT_NE(found, left.end()) << "no probe says what this key does";
    const Probe& probe = found->second;
    const std::uint64_t half = time_of(probe, key, 0.5), same = time_of(probe, key, 1),
                        twice = time_of(probe, key, 2);
    if (probe.larger_is_slower) {
      EXPECT_LT(half, same);
      EXPECT_LT(same, twice);
    } else {
      EXPECT_GT(half, same);
      EXPECT_GT(same, twice);
    }
    left.erase(found);
  }
  for (const auto& [path, probe] : left) ADD_FAILURE() << path << " is no such key";
}

// 64 KiB at the 128 GB/s of a slice, or at the 64 of the PE's link out of the mesh.
TEST(NetworkKeys, TheMapOfTheHbmShowsInTheTime) {
  const Probe local{true, load(0, 65536), {"hbm.map=pe_local"}, "cube_8pe"};
  const Probe shared{true, load(0, 65536), {"hbm.map=interleaved"}, "cube_8pe"};
  EXPECT_LT(time_of(local, local.base) + 400'000, time_of(shared, shared.base));
}

// A name for each channel, no more: a fifth of four is refused before the run.
TEST(NetworkKeys, ChannelsAreThoseThatAMessageMayName) {
  const auto told = [](const Sets& sets) -> std::string {
    const arch::TopologyConfig topology = shipped("cube_8pe", sets);
    try {
      const runtime::Launch launched(by_hand({0, 1},
                                             [](tl::Context& tl) {
                                               if (tl.program() == 0) {
                                                 tl.send(1, tl.zeros({4}, tl::f32), 4);
                                               } else {
                                                 tl.recv(0, tl.empty({4}, tl::f32), 4);
                                               }
                                             }),
                                     {}, topology);
      return "taken";
    } catch (const InputError& error) {
      return error.what();
    }
  };
  EXPECT_NE(told({}).find("channel 4"), std::string::npos) << told({});
  EXPECT_EQ(told({"pe.ipcq.channels=5"}), "taken");
}

}  // namespace
}  // namespace kernbench::test
