// SPDX-License-Identifier: Apache-2.0
// Several kernels on a PE, one after the other, and their regions. Every dispatch takes 10 ns
// (unit_pe).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/model/raw_commands.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/ipcq_bench.hpp"
#include "tlm_if/command/error.hpp"

namespace kernbench::test {
namespace {

using command::CommandSink;
using testing::ElementsAre;

std::vector<Span> spans(const IpcqResult& result, std::int64_t cmd, const std::string& stage,
                        std::uint32_t pe = 0) {
  std::vector<Span> found;
  for (const OpLogRow& row : result.rows) {
    if (row.pe == pe && row.cmd == cmd && row.stage == stage) {
      found.emplace_back(row.start, row.end);
    }
  }
  return found;
}

/// One MATH command of `time` ns.
KernelBody work(command::Index time) {
  return [time](CommandSink& sink) { sink.issue(command::MathCmd{fill(ns_of_math(0, time))}); };
}

arch::TopologyConfig launching_in(std::uint64_t launch_ns) {
  arch::TopologyConfig topology = unit_pe();
  topology.pe.cpu.launch_ns = arch::Rational(launch_ns);
  return topology;
}

TEST(PeLaunch, TakesLaunchTimeOnceBeforeTheFirstCommand) {
  const IpcqResult result = run_pes(launching_in(500), {[](CommandSink& sink) {
                                      work(5)(sink);
                                      work(5)(sink);
                                    }});
  EXPECT_THAT(spans(result, 0, "dispatch"), ElementsAre(ns(500, 510)));
  EXPECT_THAT(spans(result, 1, "dispatch"), ElementsAre(ns(510, 520)));
}

// The first is done at 500 + 10 + 40: its kernel returned at 510. Numbers of commands go on.
TEST(PeLaunch, TheNextOneFollowsWhenTheLastCommandIsDone) {
  IpcqOptions options;
  options.elaborated = [](const std::vector<Pe*>& pes) {
    EXPECT_FALSE(pes[0]->idle());
    pes[0]->cpu.launch(work(7));
  };
  const IpcqResult result = run_pes(launching_in(500), {work(40)}, options);
  EXPECT_TRUE(result.idle);
  EXPECT_THAT(spans(result, 0, "math"), ElementsAre(ns(510, 550)));
  EXPECT_THAT(spans(result, 1, "dispatch"), ElementsAre(ns(1050, 1060)));
  EXPECT_THAT(spans(result, 1, "math"), ElementsAre(ns(1060, 1067)));
}

// The handler is called at the end of each launch, at its time, by PE; what it launches starts then
// and there.
TEST(PeLaunch, DoneHandlerInTheOrderOfPesMayLaunch) {
  for (const bool reversed : {false, true}) {
    const std::string told = in_child([&] {
      std::string calls;
      IpcqOptions options;
      options.reversed = reversed;
      options.elaborated = [&](const std::vector<Pe*>& pes) {
        for (Pe* pe : pes) {
          pe->cpu.set_launch_done_handler([&calls, &pes, pe] {
            calls += "pe" + std::to_string(pe->index()) + " at " +
                     std::to_string(TimeBase().now() / 1000) + "; ";
            if (pe->index() == 0 && calls.size() < 30) {
              for (Pe* other : pes) other->cpu.launch(work(20));
            }
          });
        }
      };
      // Both are done at 20; PE 0 launches on both.
      const IpcqResult result = run_pes(launching_in(0), {work(10), work(10)}, options);
      EXPECT_TRUE(result.idle);
      for (const std::uint32_t pe : {0U, 1U}) {
        EXPECT_THAT(spans(result, 1, "dispatch", pe), ElementsAre(ns(20, 30)));
      }
      return calls;
    });
    EXPECT_EQ(told, "pe0 at 20; pe1 at 20; pe0 at 50; pe1 at 50; ");
  }
}

/// Launches at a time of its own.
struct Host : sc_core::sc_module {
  Host(const sc_core::sc_module_name& name, std::uint64_t at_ns, std::function<void()> launch)
      : sc_module(name), time_ns(at_ns), body(std::move(launch)) {
    KERNBENCH_HAS_PROCESS(Host);
    SC_THREAD(run);
  }
  void run() {
    sc_core::wait(sc_core::sc_time(static_cast<double>(time_ns), sc_core::SC_NS));
    body();
  }
  const std::uint64_t time_ns;
  const std::function<void()> body;
};

TEST(PeLaunch, FromAProcessLater) {
  Pe* pe = nullptr;
  Host host("host", 300, [&] {
    EXPECT_TRUE(pe->idle());
    pe->cpu.launch(work(5));
    EXPECT_FALSE(pe->idle());
  });
  IpcqOptions options;
  options.elaborated = [&](const std::vector<Pe*>& pes) {
    pe = pes[0];
    EXPECT_TRUE(pe->idle());
  };
  const IpcqResult result = run_pes(launching_in(50), {KernelBody()}, options);
  EXPECT_TRUE(result.idle);
  EXPECT_THAT(spans(result, 0, "dispatch"), ElementsAre(ns(350, 360)));
}

// While the launch time passes the PE is neither idle nor stuck.
TEST(PeLaunch, IsNotStuckWhileItLaunches) {
  IpcqOptions options;
  options.simulate = [](const std::vector<Pe*>& pes) {
    sc_core::sc_start(sc_core::sc_time(100, sc_core::SC_NS));
    EXPECT_FALSE(pes[0]->idle());
    EXPECT_FALSE(pes[0]->stuck());
    EXPECT_THAT(pes[0]->waiting(), ElementsAre("pe0: kernel runs and has not returned"));
    sc_core::sc_start();
  };
  EXPECT_TRUE(run_pes(launching_in(500), {work(1)}, options).idle);
}

// A kernel that fails ends there; nothing after it runs.
TEST(PeLaunch, NothingFollowsAFailure) {
  IpcqOptions options;
  bool ran = false;
  options.simulate = [&](const std::vector<Pe*>& pes) {
    pes[0]->cpu.launch([&](CommandSink&) { ran = true; });
    sc_core::sc_start();
    EXPECT_TRUE(pes[0]->cpu.failure());
    EXPECT_FALSE(pes[0]->idle());
    EXPECT_TRUE(pes[0]->ended());
    EXPECT_THAT(pes[0]->waiting(), ElementsAre("pe0: kernel has thrown: no"));
  };
  run_pes(launching_in(0), {[](CommandSink&) { throw InputError("no"); }}, options);
  EXPECT_FALSE(ran);
}

// ---- regions ------------------------------------------------------------------------------------

// Entry 1: dispatch 0 .. 10, MATH 10 .. 50. Entry 2: dispatch 10 .. 20, MATH behind that until 90:
// spans of 50 and 80, which overlap. A region within itself is no entry, nor is one without
// commands. cpu_overhead of 30, in the second launch at 90: an entry of 30.
TEST(PeRegions, TotalIsTheSumOfTheEntries) {
  const auto entry = [](CommandSink& sink, const KernelBody& body) {
    sink.begin_region("r");
    body(sink);
    sink.end_region("r");
  };
  IpcqOptions options;
  options.elaborated = [&](const std::vector<Pe*>& pes) {
    pes[0]->cpu.launch([&](CommandSink& sink) {
      entry(sink, [](CommandSink& inside) { inside.issue(command::PeCpuOverheadCmd{30}); });
    });
  };
  const IpcqResult result =
      run_pes(launching_in(0), {[&](CommandSink& sink) {
                entry(sink, [&](CommandSink& inside) { entry(inside, work(40)); });
                entry(sink, [](CommandSink&) {});
                entry(sink, work(40));
              }},
              options);
  ASSERT_EQ(result.regions[0].size(), 1U);
  const Region& region = result.regions[0][0];
  EXPECT_EQ(region.start_ps, 0U);
  EXPECT_EQ(region.end_ps, 120'000U);
  EXPECT_EQ(region.commands, 3U);
  EXPECT_EQ(region.entries, 3U);
  EXPECT_EQ(region.total_ps, 50'000U + 80'000U + 30'000U);
}

// One entry, to the end of the outer: commands 0, 1 and 2, dispatched 0 .. 30, MATH 10 .. 70. The
// fourth one is behind it.
TEST(PeRegions, OneWithinItselfIsPartOfIt) {
  const IpcqResult result = run_pes(launching_in(0), {[](CommandSink& sink) {
                                      sink.begin_region("r");
                                      work(20)(sink);
                                      sink.begin_region("r");
                                      work(20)(sink);
                                      sink.end_region("r");
                                      work(20)(sink);
                                      sink.end_region("r");
                                      work(20)(sink);
                                    }});
  const Region& region = result.regions[0][0];
  EXPECT_EQ(region.entries, 1U);
  EXPECT_EQ(region.commands, 3U);
  EXPECT_EQ(region.end_ps, 70'000U);
  EXPECT_EQ(region.total_ps, 70'000U);
}

// An entry is from its first start to its last end, what lies between its commands included: 10 ..
// 25, and behind the load of 10 .. 110, for which the kernel waits, 110 .. 125.
TEST(PeRegions, TimeBetweenItsCommandsCounts) {
  const IpcqResult result = run_pes(launching_in(0), {[](CommandSink& sink) {
                                      const auto loaded = tcm(0x8000, {50, 64});
                                      sink.issue(command::DmaReadCmd{hbm(0, {50, 64}), loaded});
                                      sink.begin_region("r");
                                      work(5)(sink);
                                      sink.wait({loaded.range()});
                                      work(5)(sink);
                                      sink.end_region("r");
                                    }});
  const Region& region = result.regions[0][0];
  EXPECT_EQ(region.entries, 1U);
  EXPECT_EQ(region.start_ps, 10'000U);
  EXPECT_EQ(region.end_ps, 125'000U);
  EXPECT_EQ(region.total_ps, 115'000U);
}

// A command of the first entry outlasts the second: dispatch 0 .. 10, load of 6400 bytes 10 .. 110;
// the MATH of the second 20 .. 25, dispatched 10 .. 20.
TEST(PeRegions, AnEntryEndsWithItsOwnCommands) {
  const IpcqResult result =
      run_pes(launching_in(0), {[&](CommandSink& sink) {
                sink.begin_region("r");
                sink.issue(command::DmaReadCmd{hbm(0, {50, 64}), tcm(0x8000, {50, 64})});
                sink.end_region("r");
                sink.begin_region("r");
                work(5)(sink);
                sink.end_region("r");
              }});
  const Region& region = result.regions[0][0];
  EXPECT_EQ(region.entries, 2U);
  EXPECT_EQ(region.total_ps, 110'000U + 15'000U);
  EXPECT_EQ(region.end_ps, 110'000U);
}

}  // namespace
}  // namespace kernbench::test
