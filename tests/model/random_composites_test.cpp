// SPDX-License-Identifier: Apache-2.0
// Composites drawn at random on topologies drawn at random. For each kernel: the numbers are those
// of its commands one after the other, bit by bit; the hazard checker finds nothing; the bounds of
// contract 13 hold; it ends; a second run, and one without numbers, give the same op log (R8.3);
// and neither longer stages, nor an early or late memory, nor NaN in all bytes that nobody wrote
// changes a result.
//
// KERNBENCH_SEED=N runs one seed in place of those below.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/support/decode_inputs.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/legal_run.hpp"
#include "tests/support/program_order.hpp"
#include "tests/support/random_kernel.hpp"

namespace kernbench::test {
namespace {

constexpr int kComposites = 42;
constexpr std::uint64_t kSeedsPerTest = 6;
constexpr std::uint64_t kTests = 20;
static_assert(kComposites * kSeedsPerTest * kTests >= 2000);

void check_seed(std::uint64_t seed) {
  SCOPED_TRACE(fmt::format("KERNBENCH_SEED={}", seed));
  const arch::TopologyConfig topology = random_topology(seed);
  const kernels::Kernel kernel = random_kernel(seed, kComposites);
  const auto compiled = kernels::compile(kernel, {}, runtime::make_target(topology));
  const auto inputs = kernels::decode_inputs(compiled.instance, "normal", seed);
  const std::string expected = text_of(kernels::run_in_program_order(compiled, inputs));

  const runtime::Launch launch(kernel, {}, topology);
  const auto run = [&](const LegalRun& how) {
    return in_child([&] { return run_as_text(topology, launch, inputs, how); });
  };
  const std::string first = run(plain());
  EXPECT_EQ(results_in(first), expected);
  EXPECT_EQ(run(plain()), first) << "a second run";
  LegalRun timing_only = plain();
  timing_only.options.data = false;
  EXPECT_EQ(op_log_in(run(timing_only)), op_log_in(first)) << "without numbers";
  for (const LegalRun& how : {poisoned(), delayed(seed), early_memory(), late_memory(seed)}) {
    EXPECT_EQ(results_in(run(how)), expected) << how.name;
  }
}

class RandomComposites : public testing::TestWithParam<std::uint64_t> {};

TEST_P(RandomComposites, AreRight) {
  if (const char* seed = std::getenv("KERNBENCH_SEED")) {
    if (GetParam() != 0) GTEST_SKIP() << "one seed is wanted";
    return check_seed(std::strtoull(seed, nullptr, 10));
  }
  for (std::uint64_t i = 0; i < kSeedsPerTest; ++i) {
    check_seed(1 + GetParam() * kSeedsPerTest + i);
    if (HasFailure()) return;
  }
}
INSTANTIATE_TEST_SUITE_P(Seeds, RandomComposites, testing::Range<std::uint64_t>(0, kTests));

}  // namespace
}  // namespace kernbench::test
