// SPDX-License-Identifier: Apache-2.0
// What a run of several programs reports: a figure of a PE is that of its own rows, a sum is over
// all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/support/in_child.hpp"
#include "tests/support/machine_bench.hpp"
#include "tests/support/program_order.hpp"
#include "tests/support/vcd_reader.hpp"

namespace kernbench::test {
namespace {

using testing::ElementsAre;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

std::uint64_t busy(const record::PeStatistics& pe, arch::Engine engine) {
  return pe.engines[static_cast<std::size_t>(engine)].busy_ps;
}

// A fill of 17 bytes is dispatched for 41.063 and takes a cycle, cpu_overhead takes its cycles.
// From the launch at 500 on: program 0, on PE 3, 50 before its loop, then 100 and a fill, 550 ..
// 692.063; program 1, on PE 5, 20 in a first loop, then two fills in a second one, 500 .. 520 ..
// 603.126.
void different_loops(tl::Context& tl) {
  const auto x = tl.empty({64}, tl::f32);
  if (tl.program() == 0) {
    tl.cpu_overhead(50);
    {
      auto loop = tl.region("loop");
      tl.cpu_overhead(100);
      tl.fill(x, 0);
    }
    tl.send(1, x);  // waits for the fill
  } else {
    {
      auto loop = tl.region("loop");
      tl.cpu_overhead(20);
    }
    {
      auto loop = tl.region("loop");
      tl.fill(x, 0);
      tl.fill(x, 1);
    }
    tl.recv(0, tl.empty({64}, tl::f32));
  }
}

// 256 bytes from PE 3 to PE 5 of the 4 x 2 mesh: 5 + 3 * 8 + 5 + 4. The send starts at 692.063 +
// 41.063, the slot takes 10 at either end.
TEST(MachineResults, AreOfAllPrograms) {
  const arch::TopologyConfig topology = shipped("cube_8pe");
  const runtime::Launch launched(by_hand({3, 5}, different_loops), {}, topology);
  const runtime::RunResult result = run_machine(topology, launched).result;
  constexpr std::uint64_t kSent = 692'063 + 41'063 + 10'000, kReceived = kSent + 38'000 + 10'000;
  EXPECT_EQ(result.pes, 2U);
  EXPECT_EQ(result.sim_time_ps, kReceived);
  ASSERT_THAT(result.per_pe, SizeIs(2));
  EXPECT_EQ(result.per_pe[0].name, "pe3");
  EXPECT_EQ(result.per_pe[0].done_ps, kSent);
  EXPECT_EQ(busy(result.per_pe[0].statistics, arch::Engine::math), 1000U);
  EXPECT_EQ(result.per_pe[1].name, "pe5");
  EXPECT_EQ(result.per_pe[1].done_ps, kReceived);
  EXPECT_EQ(busy(result.per_pe[1].statistics, arch::Engine::math), 2000U);

  EXPECT_EQ(result.totals.commands, 4U + 4U);
  EXPECT_EQ(busy(result.statistics, arch::Engine::math), 3000U);
  EXPECT_EQ(result.statistics.ipcq.sent_bytes, 256U);
  EXPECT_EQ(result.statistics.ipcq.received_bytes, 256U);

  ASSERT_THAT(result.phases, SizeIs(1));
  const runtime::Phase& loop = result.phases[0];
  EXPECT_EQ(loop.start_ps, 500'000U);  // of program 1
  EXPECT_EQ(loop.end_ps, 692'063U);    // of program 0
  EXPECT_EQ(loop.commands, 2U + 3U);
  EXPECT_EQ(loop.pes, 2U);
  EXPECT_EQ(loop.entries, 2U);  // of program 1; program 0 has one
  EXPECT_EQ(loop.longest_ps, 142'063U);
  EXPECT_EQ(loop.total_ps, 142'063U + 103'126U);
  EXPECT_EQ(loop.work.busy_ps[static_cast<std::size_t>(arch::Engine::math)], 3000U);
  // R3.9: the fills alone.
  EXPECT_EQ(result.dispatch_cycles_per_tile, 3 * 41.0625);

  // The windows are those of the phase: without the 50 of program 0 before its loop, its wait
  // behind it, and the recv of program 1.
  EXPECT_TRUE(result.window_is_loop);
  constexpr auto kCpu = static_cast<std::size_t>(arch::Engine::cpu);
  const runtime::WindowStatistics &first = result.per_pe[0].window,
                                  &second = result.per_pe[1].window, both = window_of(result);
  EXPECT_EQ(first.time_ps, 142'063U);
  EXPECT_EQ(second.time_ps, 103'126U);
  EXPECT_EQ(first.busy_ps[kCpu], 100'000U + 41'063U);
  EXPECT_EQ(second.busy_ps[kCpu], 20'000U + 2 * 41'063U);
  EXPECT_EQ(both.time_ps, loop.total_ps);
  EXPECT_EQ(both.busy_ps, loop.work.busy_ps);
  EXPECT_EQ(both.stalls.await_ps, loop.work.stalls.await_ps);
}

// Observed values lie one after the other by program, wherever they run.
TEST(MachineResults, ObservedValuesAreInTheOrderOfPrograms) {
  const arch::TopologyConfig topology = shipped("cube_8pe");
  MachineRunOptions options;
  options.inputs.emplace();  // none, but with numbers
  const runtime::Launch launched(
      by_hand({5, 2, 7},
              [](tl::Context& tl) {
                tl.observe("v", tl.full({1, 2}, static_cast<double>(tl.program()), tl::f32));
              }),
      {}, topology);
  const MachineRun run = run_machine(topology, launched, options);
  EXPECT_THAT(run.result.results.at("v").shape, ElementsAre(3, 2));
  EXPECT_THAT(run.results.at("v"), ElementsAre(0, 0, 1, 1, 2, 2));
}

// Both programs read what nothing has written; the second one twice.
TEST(MachineResults, HazardsAreThoseOfEveryPeByItsName) {
  const arch::TopologyConfig topology = shipped("cube_8pe");
  const runtime::Launch launched(by_hand({4, 6},
                                         [](tl::Context& tl) {
                                           for (command::Index i = 0; i <= tl.program(); ++i) {
                                             tl.relu(tl.empty({4}, tl::f32));
                                           }
                                         }),
                                 {}, topology);
  runtime::RunRequest request;
  request.launch = &launched;
  request.check_hazards = true;
  const runtime::RunResult result = std::move(runtime::simulate(topology, {}, {request}).front());
  ASSERT_TRUE(result.hazards);
  EXPECT_EQ(result.hazards->uninitialized_reads, 3U);
  EXPECT_THAT(result.hazards->lines,
              ElementsAre(StartsWith("pe4: "), StartsWith("pe6: "), StartsWith("pe6: ")));
}

TEST(MachineResults, TheWaveformIsOfAllPesUnlessSomeAreChosen) {
  const arch::TopologyConfig topology = shipped("cube_8pe");
  const runtime::Launch launched(by_hand({2}, [](tl::Context& tl) { tl.zeros({4}, tl::f32); }), {},
                                 topology);
  MachineRunOptions options;
  options.vcd_pes.emplace();
  const MachineRun run = run_machine(topology, launched, options);
  std::set<std::string> scopes;
  for (const auto& [path, variable] : parse_vcd(run.vcd).variables) {
    scopes.insert(path.substr(0, path.find('.')));
  }
  EXPECT_THAT(scopes, ElementsAre("hbm", "pe0", "pe1", "pe2", "pe3", "pe4", "pe5", "pe6", "pe7"));
}

// Interleaved, a place in one cube is as far from the channels as the same place in another, and
// has the same part of the addresses.
TEST(MachineResults, APlaceIsTheSameInEveryInterleavedCube) {
  const auto rows_on = [](std::uint32_t pe) {
    return in_child([pe] {
      const arch::TopologyConfig topology = shipped("llama70b_4sip", {"hbm.map=interleaved"});
      kernels::Kernel kernel = catalogue_kernel("gemm");
      kernel.make = [make = kernel.make, pe](const kernels::Parameters& parameters,
                                             const tl::Target& target) {
        kernels::Instance instance = make(parameters, target);
        instance.pes = {pe};
        return instance;
      };
      const runtime::Launch launched(
          kernel, {{"n", "300"}, {"a", "hbm"}, {"b", "hbm"}, {"out", "hbm"}}, topology);
      std::string text;
      for (const OpLogRow& row : run_machine(topology, launched).rows) {
        EXPECT_EQ(row.pe, pe);
        text += row.stage + ' ' + std::to_string(row.start) + ' ' + std::to_string(row.done) + ' ' +
                std::to_string(row.addr.value_or(0)) + '\n';
      }
      return text;
    });
  };
  for (const std::uint32_t place : {0U, 5U}) {
    const std::string expected = rows_on(place);
    EXPECT_THAT(expected, Not(testing::IsEmpty()));
    EXPECT_EQ(rows_on(8 + place), expected) << place;
    EXPECT_EQ(rows_on(120 + place), expected) << place;
  }
}

}  // namespace
}  // namespace kernbench::test
