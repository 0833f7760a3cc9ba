// SPDX-License-Identifier: Apache-2.0
#include "runtime/summary.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

namespace kernbench::runtime {
namespace {

using testing::HasSubstr;

std::uint64_t& busy(RunResult& result, arch::Engine engine) {
  return result.window.busy_ps[static_cast<std::size_t>(engine)];
}

RunResult thousand_ps_loop() {
  RunResult result;
  result.window.start_ps = 500;
  result.window.end_ps = 1500;
  result.window_is_loop = true;
  return result;
}

TEST(BoundBy, NamesAnEngineFrom80PercentOn) {
  RunResult result = thousand_ps_loop();
  busy(result, arch::Engine::gemm) = 300;
  busy(result, arch::Engine::dma_rd) = 800;
  EXPECT_EQ(bound_by(result), "bound by dma_rd (busy 80 % of the loop)");
}

TEST(BoundBy, NamesTheWaitsBelow80Percent) {
  RunResult result = thousand_ps_loop();
  busy(result, arch::Engine::cpu) = 700;
  result.window.stalls.await_ps = 300;
  result.window.stalls.admit_ps = 200;
  EXPECT_EQ(bound_by(result),
            "bound by serial dependencies (busiest in the loop: cpu dispatch, 70 %; stalls: await "
            "30 %, admit 20 %, queue 0 %)");
}

// 1200 ps of two channels are 60 % of 1000 ps, less than the 70 % of math.
TEST(BoundBy, CountsTheChannelsOfADma) {
  RunResult result = thousand_ps_loop();
  result.window_is_loop = false;
  result.read_channels = 2;
  busy(result, arch::Engine::dma_rd) = 1200;
  busy(result, arch::Engine::math) = 700;
  EXPECT_THAT(bound_by(result), HasSubstr("(busiest in the run: math, 70 %;"));
}

// 950 of 1000 ps on a link, more than any engine in the loop; 90 % of dma_rd are more than 85 %.
TEST(BoundBy, NamesALinkOrAChannelThatIsBusier) {
  RunResult result = thousand_ps_loop();
  result.sim_time_ps = 1000;
  busy(result, arch::Engine::dma_rd) = 900;
  result.links = {{"noc.n0_n1", 3, 96, 96, 850}, {"noc.n1_n2", 1, 32, 32, 100}};
  EXPECT_EQ(bound_by(result), "bound by dma_rd (busy 90 % of the loop)");
  result.links[0].busy_ps = 950;
  EXPECT_EQ(bound_by(result), "bound by noc.n0_n1 (busy 95 % of the run)");
  result.memories = {{"hbm.channel3", {970, 4096, 0}}};
  EXPECT_EQ(bound_by(result), "bound by hbm.channel3 (busy 97 % of the run)");
}

// 900 and 100 ps of two PEs are 50 % of each.
TEST(BoundBy, TakesTheMeanOfThePes) {
  RunResult result = thousand_ps_loop();
  result.pes = 2;
  busy(result, arch::Engine::gemm) = 1000;
  result.window.stalls.await_ps = 400;
  EXPECT_EQ(bound_by(result),
            "bound by serial dependencies (busiest in the loop: gemm, 50 %; stalls: await 20 %, "
            "admit 0 %, queue 0 %)");
}

// Two PEs were in it for 3000 ns together, the longer one for 2000 of the run's 4000: a mean of
// 1500, in which the kernels waited for 600 of 3000 and dma_rd was busy for 1800, on two channels.
// 300,000 bytes in 3000 ns of a PE.
TEST(PhaseTable, IsOfAMeanPeAndOfTheLongest) {
  RunResult result;
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
  phase.work.await_ps = 600'000;
  phase.work.hbm_bytes = 300'000;
  result.phases = {phase};
  const std::string table = phase_table(result);
  std::istringstream line(table.substr(table.find("\nloop") + 1));
  std::vector<std::string> words;
  for (std::string word; line >> word;) {
    if (word != "%") words.push_back(word);
  }
  // cpu, dma_rd, dma_wr, tcm, gemm, math, ipcq; await.
  EXPECT_THAT(words,
              testing::ElementsAre("loop", "2", "3", "2000.000", "50.0", "1500.000", "100.0", "0.0",
                                   "30.0", "0.0", "0.0", "0.0", "0.0", "0.0", "20.0"));
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
