// SPDX-License-Identifier: Apache-2.0
// Random programs of messages on small machines full of ties: equal latencies and rates, dispatch
// of a few cycles, few credits, several channels. Every stage is where the independent computation
// has it, and the op log does not depend on the order of creation.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <random>
#include <string>
#include <vector>

#include "tests/machine/machine_clock.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/machine_bench.hpp"

namespace kernbench::test {
namespace {

using command::Index;

using Random = std::mt19937;

std::uint32_t pick(Random& random, std::initializer_list<std::uint32_t> values) {
  return *(values.begin() + random() % values.size());
}

arch::TopologyConfig tie_heavy(Random& random) {
  const auto set = [&](const char* key, std::initializer_list<std::uint32_t> values) {
    return fmt::format("{}={}", key, pick(random, values));
  };
  return shipped(
      "llama70b_4sip",
      {set("sips", {1, 2, 3}), set("cubes_per_sip", {1, 2, 4}), "pes_per_cube=4", "noc.cols=2",
       "noc.rows=2", "pe.pe_cost_model.cycles_per_byte=0",
       set("pe.pe_cost_model.fixed_cycles", {2, 8}), set("pe.cpu.cmd_queue_depth", {2, 16}),
       set("pe.ipcq.depth", {1, 2, 16}), set("pe.ipcq.slot_bytes", {128, 256, 1024}),
       set("pe.ipcq.send_cycles", {1, 2, 8}), set("pe.ipcq.recv_cycles", {1, 2, 8}),
       set("noc.bytes_per_cycle", {64, 128}), set("noc.hop_cycles", {1, 2, 8}),
       set("noc.niu_cycles", {1, 2}), set("d2d.latency_ns", {1, 2, 8}), set("d2d.gbps", {64, 128}),
       set("sip_link.latency_ns", {2, 8, 16}), set("sip_link.gbps", {64, 128})});
}

struct Message {
  Index from, to, channel, entries;
};

/// In one order for all: no program waits for what another does only later.
std::vector<Message> messages(Random& random, std::uint32_t pes) {
  std::vector<Message> all(40);
  for (Message& message : all) {
    const auto from = random() % pes;
    message.from = static_cast<Index>(from);
    message.to = static_cast<Index>((from + 1 + random() % (pes - 1)) % pes);
    message.channel = random() % 2;
    message.entries = pick(random, {16, 64, 64, 256});
  }
  return all;
}

/// Sends what it has filled, and adds up what it receives, or forgets it.
void run(tl::Context& tl, const std::vector<Message>& all) {
  const auto sum = tl.zeros({16}, tl::f32);
  for (const Message& message : all) {
    if (message.from == tl.program()) {
      tl.send(message.to, tl.zeros({message.entries}, tl::f32), message.channel);
    } else if (message.to == tl.program()) {
      const auto part = tl.empty({message.entries}, tl::f32);
      tl.recv(message.from, part, message.channel);
      if (message.channel == 0) continue;
      tl.composite(tl::math("add", {{"src_a", sum}, {"src_b", part.cols(0, 16)}}).out(sum));
    }
  }
}

TEST(RandomMessages, StageTimesAndCreationOrder) {
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const arch::TopologyConfig topology = tie_heavy(random);
    const std::vector<Message> all = messages(random, topology.pes());
    std::vector<std::uint32_t> pes;
    for (std::uint32_t pe = 0; pe < topology.pes(); ++pe) pes.push_back(pe);
    const kernels::Kernel kernel = by_hand(pes, [&](tl::Context& tl) { run(tl, all); });
    const runtime::Launch launched(kernel, {}, topology);
    const auto op_log = [&](bool reversed) {
      return in_child([&] {
        MachineRunOptions options;
        options.reverse_creation = reversed;
        return run_machine(topology, launched, options).op_log;
      });
    };
    const std::string forwards = op_log(false);
    EXPECT_TRUE(op_log(true) == forwards);
    const auto found = stage_times(parse_op_log(forwards));
    const auto expected =
        stage_times(topology, compile_all(kernel, {}, runtime::make_target(topology)));
    ASSERT_EQ(found.size(), expected.size());
    const auto [x, y] = std::mismatch(found.begin(), found.end(), expected.begin());
    if (x != found.end()) FAIL() << "found " << *x << ", expected " << *y;
  }
}

}  // namespace
}  // namespace kernbench::test
