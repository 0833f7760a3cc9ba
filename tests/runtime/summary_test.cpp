// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "runtime/bound_by.hpp"
#include "runtime/summary_table.hpp"

namespace kernbench::runtime {
namespace {

using testing::HasSubstr;

using arch::Engine;

void set_busy(PeResult& pe, Engine engine, std::uint64_t ps) {
  pe.window.busy_ps[static_cast<std::size_t>(engine)] = ps;
  // As if all of it were in the window.
  pe.statistics.engines[static_cast<std::size_t>(engine)].busy_ps = ps;
}

PeResult pe_in_loop_for(const char* name, std::uint64_t ps) {
  PeResult pe;
  pe.name = name;
  pe.window.time_ps = ps;
  return pe;
}

/// One PE; the loop is all of the run.
RunResult thousand_ps_loop() {
  RunResult result;
  result.sim_time_ps = 1000;
  result.per_pe = {pe_in_loop_for("pe0", 1000)};
  result.window_is_loop = true;
  return result;
}

TEST(BoundBy, NamesAnEngineFrom80PercentOn) {
  RunResult result = thousand_ps_loop();
  set_busy(result.per_pe[0], Engine::gemm, 300);
  set_busy(result.per_pe[0], Engine::dma_rd, 800);
  EXPECT_EQ(bound_by(result), "bound by dma_rd (busy 80 % of the loop)");
}

TEST(BoundBy, NamesTheWaitsBelow80Percent) {
  RunResult result = thousand_ps_loop();
  set_busy(result.per_pe[0], Engine::cpu, 700);
  result.per_pe[0].window.stalls = {0, 200, 300};
  EXPECT_EQ(bound_by(result),
            "bound by serial dependencies (busiest in the loop: cpu dispatch, 70 %; stalls: await "
            "30 %, admit 20 %, queue 0 %)");
}

// 1200 ps of two channels are 60 % of 1000 ps, less than the 70 % of math.
TEST(BoundBy, CountsTheChannelsOfADma) {
  RunResult result = thousand_ps_loop();
  result.window_is_loop = false;
  result.read_channels = 2;
  set_busy(result.per_pe[0], Engine::dma_rd, 1200);
  set_busy(result.per_pe[0], Engine::math, 700);
  EXPECT_THAT(bound_by(result), HasSubstr("(busiest in the run: math, 70 %;"));
}

// A channel that is occupied for 90 % of the run, of which a link, or then a memory, is busy for
// 86 %, waits for it. A CPU or a GEMM waits for none.
TEST(BoundBy, TakesWhatIsSharedForAnEngineThatWaitsForIt) {
  RunResult result = thousand_ps_loop();
  set_busy(result.per_pe[0], Engine::dma_rd, 900);
  result.links = {{"noc.n0_n1", 3, 96, 96, 840}, {"noc.n1_n2", 1, 32, 32, 100}};
  EXPECT_EQ(bound_by(result), "bound by dma_rd (busy 90 % of the loop)");
  result.links[0].busy_ps = 860;
  EXPECT_EQ(bound_by(result), "bound by noc.n0_n1 (busy 86 % of the run)");
  result.memories = {{"hbm.channel3", {870, 4096, 0}}};
  EXPECT_EQ(bound_by(result), "bound by hbm.channel3 (busy 87 % of the run)");
  set_busy(result.per_pe[0], Engine::gemm, 901);
  EXPECT_EQ(bound_by(result), "bound by gemm (busy 90 % of the loop)");
}

// Below 80 % too: the verdict names the link that is busiest, not an engine that is less so.
TEST(BoundBy, NamesTheBusiestOfEnginesAndLinks) {
  RunResult result = thousand_ps_loop();
  set_busy(result.per_pe[0], Engine::cpu, 130);
  result.per_pe[0].window.stalls.await_ps = 800;
  result.links = {{"n0_memory0", 3, 96, 96, 657}};
  EXPECT_EQ(bound_by(result),
            "bound by serial dependencies (busiest in the run: n0_memory0, 66 %; stalls: await "
            "80 %, admit 0 %, queue 0 %)");
}

// The loop is 400 of 1000 ps: what a link did in it is not known, so that both are compared over
// the run, 380 against 400. Of the loop the engine alone is 95 %.
TEST(BoundBy, ComparesOverTheSameTime) {
  RunResult result = thousand_ps_loop();
  result.per_pe[0].window.time_ps = 400;
  set_busy(result.per_pe[0], Engine::cpu, 380);
  result.links = {{"n0_n1", 3, 96, 96, 400}};
  EXPECT_THAT(bound_by(result), HasSubstr("(busiest in the run: n0_n1, 40 %;"));
  result.links[0].busy_ps = 370;
  EXPECT_EQ(bound_by(result), "bound by cpu dispatch (busy 95 % of the loop)");
}

// Of PEs that are in their loops for 1000, 500 and 0 ps: pe1 is busy for all of its 500, half of
// the loop that the run waits for, and pe0 for 900 of 1000. Longest to mean: 1000 / 750.
TEST(BoundBy, IsAboutTheBusiestPeOverTheLongestLoop) {
  RunResult result = thousand_ps_loop();
  result.several_pes = true;
  result.pes = 3;
  result.per_pe = {pe_in_loop_for("pe0", 1000), pe_in_loop_for("pe1", 500),
                   pe_in_loop_for("pe2", 0)};
  set_busy(result.per_pe[0], Engine::dma_rd, 900);
  set_busy(result.per_pe[1], Engine::cpu, 500);
  EXPECT_EQ(bound_by(result),
            "bound by dma_rd of pe0 (busy 90 % of the loop); load imbalance: pe0 is 1.3 x the "
            "mean; 1 of 3 programs enter no loop");
  set_busy(result.per_pe[0], Engine::dma_rd, 400);
  result.per_pe[0].window.stalls.await_ps = 600;
  EXPECT_EQ(bound_by(result),
            "bound by serial dependencies (busiest in the loop: cpu dispatch of pe1, 50 %; stalls "
            "of pe0: await 60 %, admit 0 %, queue 0 %); load imbalance: pe0 is 1.3 x the mean; 1 "
            "of 3 programs enter no loop");
}

// 1000 to a mean of 900 is about even.
TEST(BoundBy, TellsNoImbalanceOfAboutEvenLoops) {
  RunResult result = thousand_ps_loop();
  result.several_pes = true;
  result.pes = 2;
  result.per_pe = {pe_in_loop_for("pe0", 1000), pe_in_loop_for("pe1", 800)};
  set_busy(result.per_pe[0], Engine::gemm, 900);
  EXPECT_EQ(bound_by(result), "bound by gemm of pe0 (busy 90 % of the loop)");
}

// Without a loop a PE has worked until it was done.
TEST(Windows, OfARunWithoutALoopAreTheRun) {
  RunResult result;
  result.per_pe.resize(2);
  result.per_pe[0].done_ps = 700;
  result.per_pe[0].statistics.engines[static_cast<std::size_t>(Engine::math)].busy_ps = 300;
  result.per_pe[1].done_ps = 500;
  result.per_pe[1].statistics.stalls.await_ps = 60;
  set_windows(result, nullptr);
  EXPECT_FALSE(result.window_is_loop);
  const WindowStatistics both = window_of(result);
  EXPECT_EQ(both.time_ps, 1200U);
  EXPECT_EQ(both.busy_ps[static_cast<std::size_t>(Engine::math)], 300U);
  EXPECT_EQ(both.stalls.await_ps, 60U);
}

// Two PEs were in it for 3000 ns together, the longer one for 2000 of the run's 4000: a mean of
// 1500, in which the kernels waited for 600 of 3000 and dma_rd was busy for 1800, on two channels.
// 300,000 bytes in 3000 ns of a PE.
TEST(PhaseTable, IsOfAMeanPeAndOfTheLongest) {
  RunResult result;
  result.several_pes = true;
  result.pes = 2;
  result.read_channels = 2;
  result.sim_time_ps = 4'000'000;
  Phase phase;
  phase.name = "loop";
  phase.pes = 2;
  phase.entries = 3;
  phase.total_ps = 3'000'000;
  phase.longest_ps = 2'000'000;
  phase.work.busy_ps[static_cast<std::size_t>(arch::Engine::dma_rd)] = 1'800'000;
  phase.work.stalls.await_ps = 600'000;
  phase.work.hbm_bytes = 300'000;
  result.phases = {phase};
  const std::string table = phase_table(result);
  const std::size_t row = table.find("\nloop") + 1, end = table.find('\n', row);
  std::istringstream line(table.substr(row, end - row));
  std::vector<std::string> words;
  for (std::string word; line >> word;) {
    if (word != "%") words.push_back(word);
  }
  // cpu, dma_rd, dma_wr, tcm, gemm, math, ipcq; await.
  EXPECT_THAT(words,
              testing::ElementsAre("loop", "2", "3", "2000.000", "50.0", "1500.000", "100.0", "0.0",
                                   "30.0", "0.0", "0.0", "0.0", "0.0", "0.0", "20.0"));
  EXPECT_THAT(table.substr(end + 1), testing::StartsWith("Shares of the engines and of await "));
}

TEST(CompareResults, TellsBitsApart) {
  RunResult first, second;
  first.results["same"] = {FileDType::f32, {2}, {1.0, std::nan("")}};
  first.results["zero"] = {FileDType::f32, {1}, {0.0}};
  first.results["missing"] = {FileDType::f32, {1}, {0.0}};
  second.results = first.results;
  second.results["zero"].values = {-0.0};
  second.results.erase("missing");
  EXPECT_EQ(to_string(compare_results({first, second})),
            "bit-equal: same; DIFFERENT: missing, zero");
  EXPECT_EQ(to_string(compare_results({first, first})), "bit-equal: missing, same, zero");
}

TEST(Ratio, OfNothingIsZero) {
  EXPECT_EQ(ratio(3, 2), 1.5);
  EXPECT_EQ(ratio(3, 0), 0);
  EXPECT_EQ(ratio(0, 0), 0);
}

kernels::Reference reference_of(std::vector<double> out) {
  kernels::Reference reference;
  reference.outputs["out"] = std::move(out);
  reference.checked = "out";
  reference.max_rms_rel = 0.1;
  reference.max_abs_rel = 0.2;
  return reference;
}

FileTensors result_of(std::vector<double> out) {
  return {{"out", {FileDType::f32, {static_cast<std::int64_t>(out.size())}, out}}};
}

// Reference 3, 4: rms sqrt(12.5) = 3.5355. Errors 0.3, 0: max 0.3; rms sqrt(0.045) = 0.21213, which
// is 0.06 of the reference's. Allowed: 0.2 * 3.5355 = 0.70711 and 0.1.
TEST(NumericsCheck, ComputesTheFiguresOfR13_4) {
  const NumericsCheck check = check_numerics(reference_of({3, 4}), result_of({3.3, 4}));
  EXPECT_NEAR(check.checked.max_abs_err, 0.3, 1e-12);
  EXPECT_NEAR(check.checked.rms_rel_err, 0.06, 1e-12);
  EXPECT_NEAR(check.max_abs_tolerance, 0.707106781, 1e-9);
  EXPECT_EQ(check.rms_rel_tolerance, 0.1);
  EXPECT_TRUE(check.pass);
}

// An error of 0.6 in one of two entries is 0.12 of the rms, and below the allowed 0.707.
TEST(NumericsCheck, FailsByTheRmsAlone) {
  EXPECT_FALSE(check_numerics(reference_of({3, 4}), result_of({3.6, 4})).pass);
}

// One entry of 100 ones is off by 0.3: rms 0.03 of the reference's, max above the allowed 0.2.
TEST(NumericsCheck, FailsByTheMaximumAlone) {
  const std::vector<double> ones(100, 1.0);
  std::vector<double> off = ones;
  off[50] = 1.3;
  const NumericsCheck check = check_numerics(reference_of(ones), result_of(off));
  EXPECT_NEAR(check.checked.rms_rel_err, 0.03, 1e-12);
  EXPECT_FALSE(check.pass);
}

TEST(NumericsCheck, FailsForWhatIsNotFinite) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(check_numerics(reference_of({3, 4}), result_of({3, std::nan("")})).pass);
  EXPECT_FALSE(check_numerics(reference_of({3, 4}), result_of({3, inf})).pass);
}

TEST(NumericsCheck, AnyErrorFailsAReferenceOfZeros) {
  EXPECT_TRUE(check_numerics(reference_of({0, 0}), result_of({0, 0})).pass);
  EXPECT_FALSE(check_numerics(reference_of({0, 0}), result_of({0, 1e-9})).pass);
}

TEST(NumericsCheck, OtherOutputsMustBeFinite) {
  kernels::Reference reference = reference_of({3, 4});
  reference.outputs["l"] = {1};
  FileTensors results = result_of({3, 4});
  results["l"] = {FileDType::f32, {1}, {5}};
  EXPECT_TRUE(check_numerics(reference, results).pass);
  results["l"].values[0] = std::nan("");
  EXPECT_FALSE(check_numerics(reference, results).pass);
}

// The maximum of no scores is -inf. What is beside it is relative to the finite entries: an error
// of 0.5 in one of two, rms 0.5 / sqrt(2), against 2 / sqrt(2).
TEST(NumericsCheck, EqualInfinitiesOfOtherOutputsAgree) {
  const double inf = std::numeric_limits<double>::infinity();
  kernels::Reference reference = reference_of({3, 4});
  reference.outputs["m"] = {-inf, 2};
  FileTensors results = result_of({3, 4});
  results["m"] = {FileDType::f32, {2}, {-inf, 2.5}};
  const NumericsCheck check = check_numerics(reference, results);
  EXPECT_TRUE(check.pass);
  ASSERT_EQ(check.others.size(), 1U);
  EXPECT_EQ(check.others[0].max_abs_err, 0.5);
  EXPECT_NEAR(check.others[0].rms_rel_err, 0.25, 1e-15);
  for (const double other : {inf, 0.0, std::nan("")}) {
    results["m"].values[0] = other;
    EXPECT_FALSE(check_numerics(reference, results).pass) << other;
  }
}

// A tolerance that is no number would pass anything or nothing.
TEST(NumericsCheck, NamesAReferenceThatIsNotFinite) {
  const auto fault = [](const kernels::Reference& reference) -> std::string {
    try {
      check_numerics(reference, result_of({3, 4}));
    } catch (const std::logic_error& error) {
      return error.what();
    }
    return "none";
  };
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(fault(reference_of({3, inf})),
            "the kernel's reference has inf at entry 1 of 'out'; give finite numbers");
  EXPECT_EQ(fault(reference_of({std::nan(""), 4})),
            "the kernel's reference has nan at entry 0 of 'out'; give finite numbers");
  kernels::Reference reference = reference_of({3, 4});
  reference.outputs["m"] = {std::nan("")};
  EXPECT_EQ(fault(reference), "the kernel's reference has nan at entry 0 of 'm'; give numbers");
  reference = reference_of({3, 4});
  reference.max_abs_rel = inf;
  EXPECT_EQ(fault(reference),
            "the kernel's reference has the tolerance inf for 'out'; give finite numbers");
}

TEST(NumericsCheck, NamesAReferenceThatDoesNotFit) {
  EXPECT_THROW(check_numerics(reference_of({3, 4}), {}), std::logic_error);
  EXPECT_THROW(check_numerics(reference_of({3, 4}), result_of({3})), std::logic_error);
  kernels::Reference reference = reference_of({3, 4});
  reference.checked = "y";
  EXPECT_THROW(check_numerics(reference, result_of({3, 4})), std::logic_error);
}

}  // namespace
}  // namespace kernbench::runtime
