// SPDX-License-Identifier: Apache-2.0
#include "interconnect.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <stdexcept>

#include "runtime/host_access.hpp"
#include "runtime/launch/launch.hpp"
#include "system.hpp"
#include "tests/support/monitored.hpp"
#include "tests/support/program_order.hpp"
#include "tests/support/requester.hpp"
#include "tests/support/scripted_memory.hpp"

namespace kernbench::test {
namespace {

using bus::Interconnect;
using testing::ElementsAre;

constexpr std::uint64_t kNs = 1000;
constexpr std::uint64_t kBytes = 1u << 16;

Access access(std::uint64_t addr, bool write = false, std::uint32_t bytes = 64) {
  Access access;
  access.addr = addr;
  access.bytes = bytes;
  access.write = write;
  return access;
}

/// 10 ns to END_REQ, then so many to the response.
ScriptedMemory::Script answers_after(std::uint64_t ns) {
  return [ns](std::uint64_t, const tlm::tlm_generic_payload&) {
    Behaviour behaviour;
    behaviour.accept_ps = 10 * kNs;
    behaviour.response_ps = ns * kNs;
    return behaviour;
  };
}

// Two initiators and two memories, a monitor at each socket. Windows: memory 0 at 0, memory 1 at
// 0x100000; hop 5 ns.
struct Bench {
  explicit Bench(const ScriptedMemory::Script& first, const ScriptedMemory::Script& second)
      : interconnect("bus", {{0x100000, kBytes, 1, 0}, {0, kBytes, 0, 0}}, 5) {
    for (int i = 0; i < 2; ++i) {
      const std::string number = std::to_string(i);
      requesters.push_back(std::make_unique<Requester>(("requester" + number).c_str()));
      memories.push_back(std::make_unique<ScriptedMemory>(
          ("memory" + number).c_str(), command::ByteRange{0, kBytes}, i == 0 ? first : second));
      requesters.back()->memory.bind(monitor("above" + number).upstream);
      monitors.back()->downstream.bind(interconnect.initiators);
      interconnect.targets.bind(monitor("below" + number).upstream);
      monitors.back()->downstream.bind(memories.back()->socket);
    }
  }
  BaseProtocolMonitor& monitor(const std::string& name) {
    monitors.push_back(std::make_unique<BaseProtocolMonitor>(
        name.c_str(), BaseProtocolMonitor::Checks::base_protocol,
        BaseProtocolMonitor::OnViolation::report));
    return *monitors.back();
  }
  void run() {
    sc_core::sc_start();
    for (const auto& requester : requesters) {
      EXPECT_EQ(requester->freed, requester->accesses.size());
    }
    for (const auto& monitor : monitors) EXPECT_EQ(monitor->outstanding(), 0U);
  }
  std::vector<std::uint64_t> done_ns(std::size_t initiator) const {
    std::vector<std::uint64_t> done;
    for (const Access& access : requesters[initiator]->accesses) {
      done.push_back(access.done_ps / kNs);
    }
    return done;
  }

  Interconnect interconnect;
  std::vector<std::unique_ptr<Requester>> requesters;
  std::vector<std::unique_ptr<ScriptedMemory>> memories;
  std::vector<std::unique_ptr<BaseProtocolMonitor>> monitors;
};

// All requests are at the bus 5 ns after BEGIN_REQ; the memory takes one every 10 ns, from 5 on, of
// the initiators in turn, and answers 20 ns after that; 5 ns back.
TEST(Interconnect, InitiatorsTakeTurnsAtATarget) {
  Bench bench(answers_after(20), answers_after(20));
  for (auto& requester : bench.requesters) requester->accesses = {access(0), access(64)};
  bench.run();
  EXPECT_THAT(bench.done_ns(0), ElementsAre(15 + 25, 35 + 25));
  EXPECT_THAT(bench.done_ns(1), ElementsAre(25 + 25, 45 + 25));
  const auto& seen = bench.interconnect.statistics();
  const auto ns = [](std::uint64_t value) {
    return sc_core::sc_time(static_cast<double>(value), sc_core::SC_NS);
  };
  // The second of 0 is sent at 15, there at 20, and has its turn at 25; those of 1 are there at 5
  // and 30, and have theirs at 15 and 35.
  EXPECT_EQ(seen[0].arbitration_wait, ns(0 + 5));
  EXPECT_EQ(seen[1].arbitration_wait, ns(10 + 5));
  for (const bus::Statistics& statistics : seen) {
    EXPECT_EQ(statistics.target_wait, ns(2 * 10));
    EXPECT_EQ(statistics.response_wait, ns(0));
    EXPECT_EQ(statistics.requests, 2U);
    EXPECT_EQ(statistics.bytes, 128U);
    EXPECT_EQ(statistics.overtakings, 0U);
  }
}

// The first is sent at 0, accepted at 15, answered 100 later; the second sent at 15, at memory 1
// from 20 to 30, answered 20 later.
TEST(Interconnect, ResponsesOvertakeAndFindTheirWayBack) {
  Bench bench(answers_after(100), answers_after(20));
  bench.requesters[0]->accesses = {access(0), access(0x100000)};
  bench.run();
  EXPECT_THAT(bench.done_ns(0), ElementsAre(15 + 100 + 5, 30 + 20 + 5));
  EXPECT_EQ(bench.interconnect.statistics()[0].overtakings, 1U);
}

TEST(Interconnect, RewritesAddresses) {
  Bench bench(answers_after(20), answers_after(20));
  bench.requesters[1]->accesses = {access(0x100040, true, 4)};
  bench.requesters[1]->accesses[0].data = {1, 2, 3, 4};
  bench.run();
  std::vector<std::uint8_t> bytes(4);
  bench.memories[1]->storage().read(0x40, bytes.data(), 4);
  EXPECT_THAT(bytes, ElementsAre(1, 2, 3, 4));
}

TEST(Interconnect, RefusesAddressesOfNobody) {
  Bench bench(answers_after(20), answers_after(20));
  bench.requesters[0]->accesses = {access(2 * kBytes), access(kBytes - 32)};
  bench.run();
  for (const Access& access : bench.requesters[0]->accesses) {
    EXPECT_EQ(access.status, tlm::TLM_ADDRESS_ERROR_RESPONSE);
  }
  EXPECT_THAT(bench.done_ns(0), ElementsAre(5 + 5, 5 + 5 + 5));
}

TEST(Interconnect, RefusesWindowsThatOverlap) {
  try {
    const Interconnect bus("bus", {{0, 0x1000, 0, 0}, {0xfff, 0x1000, 1, 0}}, 5);
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "bus::Interconnect: the windows at 0 and 4095 overlap");
  }
}

// Every legal answer of the memories at random: each initiator reads what it has written, in its
// own half of both.
TEST(Interconnect, EveryLegalAnswerAtRandom) {
  Bench bench(random_script(1, 50 * kNs), random_script(2, 50 * kNs));
  std::mt19937 random(3);
  std::vector<std::vector<std::uint8_t>> expected;  // of the reads, in order
  for (std::size_t i = 0; i < 2; ++i) {
    std::vector<std::uint8_t> bytes(2 * kBytes);
    for (int n = 0; n < 1000; ++n) {
      const std::uint64_t offset = random() % (kBytes / 2 / 64) * 64 + i * kBytes / 2;
      const std::uint64_t memory = random() % 2;
      Access next = access(memory * 0x100000 + offset, random() % 2 == 0);
      const auto here = bytes.begin() + static_cast<std::ptrdiff_t>(memory * kBytes + offset);
      if (next.write) {
        for (int byte = 0; byte < 64; ++byte) {
          next.data.push_back(static_cast<std::uint8_t>(random()));
        }
        std::copy(next.data.begin(), next.data.end(), here);
      }
      expected.emplace_back(here, here + 64);
      bench.requesters[i]->accesses.push_back(next);
    }
  }
  bench.run();
  for (std::size_t i = 0; i < 2; ++i) {
    for (std::size_t n = 0; n < 1000; ++n) {
      EXPECT_EQ(bench.requesters[i]->accesses[n].data, expected[i * 1000 + n]) << i << " " << n;
    }
  }
}

// --- the whole example
// ------------------------------------------------------------------------------

kernels::TensorSpec spec_of(const command::TensorHandle& handle, kernels::Direction direction,
                            const std::string& name) {
  kernels::TensorSpec spec;
  spec.name = name;
  spec.shape = handle.shape;
  spec.dtype = handle.dtype;
  spec.direction = direction;
  return spec;
}

TEST(SharedMemory, ResultsAreThoseOfProgramOrder) {
  example::System system("system");
  sc_core::sc_start();
  ASSERT_TRUE(system.idle());
  for (const auto& monitor : system.monitors) {
    EXPECT_THAT(monitor->violations(), testing::IsEmpty());
    EXPECT_EQ(monitor->outstanding(), 0U);
  }
  for (const auto& pe : system.pes) EXPECT_EQ(pe->dma.port.live_payloads(), 0U);

  kernels::HostTensors products;
  for (example::Index pe = 0; pe < example::kPes; ++pe) {
    Compiled compiled;
    command::ProgramRecorder recorder;
    tl::Context tl(runtime::make_target(system.topology), recorder);
    const example::Tensors on = example::tensors_of(pe);
    example::multiply(tl, pe);
    compiled.program = recorder.program();
    compiled.bound = {on.x, on.w, on.product};
    compiled.instance.tensors = {spec_of(compiled.bound[0], kernels::Direction::in, "x"),
                                 spec_of(compiled.bound[1], kernels::Direction::in, "w"),
                                 spec_of(compiled.bound[2], kernels::Direction::out, "product")};
    compiled.tile_m = tl.target().tile_m;
    compiled.tile_k = tl.target().tile_k;
    compiled.tile_n = tl.target().tile_n;
    const auto results =
        run_in_program_order(compiled, {{"x", example::x_of(pe)}, {"w", example::w_of(pe)}});
    products["product" + std::to_string(pe)] = results.at("product");
    EXPECT_EQ(runtime::read_tensor(*system.pes[static_cast<std::size_t>(pe)], on.product),
              results.at("product"));
  }

  Compiled compiled;
  command::ProgramRecorder recorder;
  tl::Context tl(runtime::make_target(system.topology), recorder);
  const example::Tensors on = example::tensors_of(0);
  example::add_up(tl);
  compiled.program = recorder.program();
  compiled.bound = {on.product, on.other_product, on.out};
  compiled.instance.tensors = {spec_of(compiled.bound[0], kernels::Direction::in, "product0"),
                               spec_of(compiled.bound[1], kernels::Direction::in, "product1"),
                               spec_of(compiled.bound[2], kernels::Direction::out, "out")};
  const auto results = run_in_program_order(compiled, products);
  EXPECT_EQ(runtime::read_tensor(*system.pes[1], on.out), results.at("out"));
}

// In bursts of 256: x 8192 bytes, w 512 x 256 f16 in eight tiles of 128 x 128, a product of
// 8 x 256 f32; then PE 0 reads both products and writes out, 8 x 256 f16.
TEST(SharedMemory, TheBusSeesEveryByteOnce) {
  example::System system("system");
  sc_core::sc_start();
  const auto& seen = system.interconnect.statistics();
  const std::uint64_t multiply = 8192 + 512 * 256 * 2 + 8 * 256 * 4;
  const std::uint64_t add_up = 2 * 8 * 256 * 4 + 8 * 256 * 2;
  EXPECT_EQ(seen[0].bytes, multiply + add_up);
  EXPECT_EQ(seen[1].bytes, multiply);
  for (const bus::Statistics& statistics : seen) {
    EXPECT_EQ(statistics.requests * 256, statistics.bytes);
    EXPECT_GT(statistics.arbitration_wait, sc_core::SC_ZERO_TIME);  // they do meet
  }
  // PE 1 is done when it has multiplied, PE 0 adds up after that.
  EXPECT_LE(system.pes[1]->cpu.last_done_ps(), system.multiplied_ps());
  EXPECT_GT(system.pes[0]->cpu.last_done_ps(), system.multiplied_ps());
  // The data bus of the shared memory takes 4 ns for 256 bytes: both halves of w.
  EXPECT_GE(system.multiplied_ps(), 2 * (512 * 256 * 2 / 256) * 4 * kNs);
}

}  // namespace
}  // namespace kernbench::test
