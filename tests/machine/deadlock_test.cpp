// SPDX-License-Identifier: Apache-2.0
// Programs that wait for each other for ever, and messages that do not fit: the run ends and says
// who waits for what.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tlm_utils/simple_target_socket.h>

#include <functional>
#include <string>
#include <vector>

#include "runtime/run_to_end.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/machine_bench.hpp"

namespace kernbench::test {
namespace {

using command::Index;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

using Body = std::function<void(tl::Context&)>;

/// Of a run that does not end, or does with a report: its line, and on further ones the detail. In
/// a process of its own: kernels stay where they wait, with all that is on their stacks.
std::string stopped(const arch::TopologyConfig& topology, const std::vector<std::uint32_t>& pes,
                    const Body& body, const MemoryFactory& memory = {}) {
  const runtime::Launch launch(by_hand(pes, body), {}, topology);
  runtime::RunRequest request;
  request.launch = &launch;
  return in_child([&]() -> std::string {
    try {
      runtime::simulate(topology, memory, {request});
    } catch (const runtime::SimulationError& error) {
      // A clock may go on, but not for long.
      EXPECT_LT(sc_core::sc_time_stamp(), sc_core::sc_time(1, sc_core::SC_MS));
      return std::string(error.what()) + '\n' + error.detail();
    } catch (const sc_core::sc_report& report) {
      return std::string(report.get_msg_type()) + ": " + report.get_msg();
    }
    return "came to its end";
  });
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// Each waits for a message before it sends its own: to the next, from the one before.
void circular(tl::Context& tl) {
  const Index n = tl.programs(), me = tl.program();
  const auto y = tl.empty({16}, tl::f32);
  tl.recv((me + n - 1) % n, y);
  tl.wait({y});
  tl.send((me + 1) % n, y);
}

TEST(Deadlock, TwoThatReceiveFirst) {
  const std::string text = stopped(shipped("cube_8pe"), {0, 1}, circular);
  // Launch, and the dispatch of a receive.
  EXPECT_THAT(first_line(text),
              StartsWith("by_hand stopped at 541.063 ns with work in flight: deadlock: "));
  EXPECT_THAT(first_line(text),
              HasSubstr("pe0 command 0 (recv) -> pe1 kernel -> pe1 command 0 (recv) -> pe0 kernel "
                        "-> pe0 command 0"));
  EXPECT_THAT(text, AllOf(HasSubstr("pe0: kernel waits for command 0 (recv)"),
                          HasSubstr("pe0: command 0 (recv) waits for a message from pe1 on "
                                    "channel 0"),
                          HasSubstr("pe1: kernel waits for command 0 (recv)"),
                          HasSubstr("pe1: command 0 (recv) waits for a message from pe0 on "
                                    "channel 0")));
}

TEST(Deadlock, ACircleOverCubesAndSips) {
  const std::string text = stopped(shipped("llama70b_4sip"), {0, 11, 127}, circular);
  EXPECT_THAT(first_line(text),
              HasSubstr("sip0.cube0.pe0 command 0 (recv) -> sip3.cube3.pe7 kernel -> "
                        "sip3.cube3.pe7 command 0 (recv) -> sip0.cube1.pe3 kernel -> "
                        "sip0.cube1.pe3 command 0 (recv) -> sip0.cube0.pe0 kernel -> "
                        "sip0.cube0.pe0 command 0"));
}

// What waits is a part of the machine only: the others have come to their end.
TEST(Deadlock, OthersAreNoPartOfIt) {
  const std::string text = stopped(shipped("cube_8pe"), {0, 1, 2}, [](tl::Context& tl) {
    if (tl.program() == 2) {
      tl.zeros({16}, tl::f32);
      return;
    }
    const auto y = tl.empty({16}, tl::f32);
    tl.recv(1 - tl.program(), y);
    tl.wait({y});
    tl.send(1 - tl.program(), y);
  });
  EXPECT_THAT(first_line(text), HasSubstr("deadlock"));
  EXPECT_THAT(text, Not(HasSubstr("pe2")));
}

TEST(Deadlock, AMessageThatNobodySends) {
  const std::string text = stopped(shipped("cube_8pe"), {0, 1}, [](tl::Context& tl) {
    if (tl.program() == 0) tl.recv(1, tl.empty({16}, tl::f32), 2);
  });
  EXPECT_THAT(first_line(text),
              AllOf(StartsWith("by_hand stopped at "),
                    HasSubstr("nothing is left that could go on"), Not(HasSubstr("deadlock"))));
  EXPECT_THAT(text, HasSubstr("pe0: command 0 (recv) waits for a message from pe1 on channel 2\n"
                              "pe1: kernel has returned: nobody will send to pe0 on channel 2\n"));
}

// 16 messages of a slot fill the channel, the next waits for room.
TEST(Deadlock, ASenderWithoutCredits) {
  const std::string text = stopped(shipped("cube_8pe"), {0, 1}, [](tl::Context& tl) {
    if (tl.program() == 1) return;
    const auto x = tl.zeros({16}, tl::f32);
    for (int i = 0; i < 17; ++i) tl.send(1, x);
  });
  EXPECT_THAT(first_line(text), HasSubstr("nothing is left that could go on"));
  EXPECT_THAT(text, HasSubstr("pe0: command 17 (send) waits for a free slot at pe1 on channel 0"));
}

// Both would receive, if only their sends were done: the next fill of x awaits them.
TEST(Deadlock, TwoThatSendTooMuchFirst) {
  const std::string text =
      stopped(shipped("cube_8pe", {"pe.ipcq.depth=2"}), {0, 1}, [](tl::Context& tl) {
        const Index other = 1 - tl.program();
        const auto x = tl.zeros({16}, tl::f32);
        for (int i = 0; i < 3; ++i) tl.send(other, x);
        tl.fill(x, 1);
        for (int i = 0; i < 3; ++i) tl.recv(other, tl.empty({16}, tl::f32));
      });
  EXPECT_THAT(first_line(text),
              HasSubstr("deadlock: pe0 command 3 (send) -> pe1 kernel -> pe1 command 3 (send) -> "
                        "pe0 kernel -> pe0 command 3"));
  EXPECT_THAT(text, HasSubstr("pe1: command 3 (send) waits for a free slot at pe0 on channel 0"));
}

// With a slot more they come to their end.
TEST(Deadlock, ACreditMoreAndThereIsNone) {
  EXPECT_EQ(stopped(shipped("cube_8pe", {"pe.ipcq.depth=3"}), {0, 1},
                    [](tl::Context& tl) {
                      const Index other = 1 - tl.program();
                      const auto x = tl.zeros({16}, tl::f32);
                      for (int i = 0; i < 3; ++i) tl.send(other, x);
                      tl.fill(x, 1);
                      for (int i = 0; i < 3; ++i) tl.recv(other, tl.empty({16}, tl::f32));
                    }),
            "came to its end");
}

// One waits for 30 us, and no packet is under way; the other is busy.
TEST(Deadlock, ALongWaitIsNone) {
  EXPECT_EQ(stopped(shipped("cube_8pe"), {0, 1},
                    [](tl::Context& tl) {
                      const auto x = tl.zeros({16}, tl::f32);
                      if (tl.program() == 0) {
                        tl.cpu_overhead(30'000);
                        tl.send(1, x);
                      } else {
                        tl.recv(0, x);
                        tl.wait({x});
                      }
                    }),
            "came to its end");
}

TEST(Deadlock, SizesThatDiffer) {
  const std::string text = stopped(shipped("llama70b_4sip"), {0, 8}, [](tl::Context& tl) {
    if (tl.program() == 0) {
      tl.send(1, tl.zeros({16}, tl::f32));
    } else {
      tl.recv(0, tl.empty({32}, tl::f32));
    }
  });
  EXPECT_THAT(text, AllOf(StartsWith("/kernbench/pe_ipcq/size: "), HasSubstr("sip0.cube1.pe0"),
                          HasSubstr("command 0 (recv) of PE 8 from PE 0 on channel 0"),
                          HasSubstr("the message has 64 bytes and the destination 128")));
}

/// A memory with a clock that never stops: there is always an event left.
class ClockedMemory : public sc_core::sc_module {
 public:
  ClockedMemory(const sc_core::sc_module_name& name, tlm::tlm_initiator_socket<32>& pe_memory)
      : sc_module(name) {
    socket_.register_b_transport(this, &ClockedMemory::b_transport);
    pe_memory.bind(socket_);
  }

 private:
  void b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time&) {
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
  }

  sc_core::sc_clock clock_{"clock", 1, sc_core::SC_NS};
  tlm_utils::simple_target_socket<ClockedMemory> socket_{"socket"};
};

// The PEs are looked at after a slice of time, and not only when nothing has happened for long.
TEST(Deadlock, EndsBesideAClock) {
  const MemoryFactory memory = [](const char* name, tlm::tlm_initiator_socket<32>& pe_memory) {
    return std::make_unique<ClockedMemory>(name, pe_memory);
  };
  for (const bool loads : {true, false}) {
    const std::string text = stopped(
        shipped("cube_8pe"), {0, 1},
        [&](tl::Context& tl) {
          if (loads) tl.load(tl.ref(0, {64}, tl::f16));
          circular(tl);
        },
        memory);
    EXPECT_THAT(first_line(text), HasSubstr("deadlock: pe0 command ")) << loads;
  }
}

}  // namespace
}  // namespace kernbench::test
