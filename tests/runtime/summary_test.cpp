// SPDX-License-Identifier: Apache-2.0
#include "runtime/summary.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

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

TEST(Nanoseconds, AreExact) {
  EXPECT_EQ(nanoseconds(0), "0.000");
  EXPECT_EQ(nanoseconds(1234005), "1234.005");
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
