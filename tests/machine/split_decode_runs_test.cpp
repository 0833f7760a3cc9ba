// SPDX-License-Identifier: Apache-2.0
// Decode split over the PEs of llama70b_4sip, with numbers. A run gives bit for bit what its
// programs give one step after the other (run_in_program_order), and that is within a unit in the
// last place of the `out` of one PE: that of the largest entry of the row. P is rounded relative to
// the largest score so far, which a share may not have seen, so that weights are off by 2^-11 of
// themselves in another way; where weighted values cancel, that is more than a unit of the small
// entry.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/support/in_child.hpp"
#include "tests/support/legal_run.hpp"
#include "tests/support/machine_bench.hpp"
#include "tests/support/program_order.hpp"
#include "tests/support/test_inputs.hpp"

namespace kernbench::test {
namespace {

using command::Index;
using kernels::HostTensors;

Settings with(Settings settings, Index c, Index p, const std::string& merge) {
  settings.emplace_back("c", std::to_string(c));
  settings.emplace_back("p", std::to_string(p));
  settings.emplace_back("merge", merge);
  return settings;
}

/// All results of a run, as text. Checks that they are those of the program order.
HostTensors run_split(const Settings& settings, const HostTensors& inputs) {
  const arch::TopologyConfig topology = shipped("llama70b_4sip");
  const HostTensors expected = run_in_program_order(
      compile_all("gqa_decode", settings, runtime::make_target(topology)), inputs);
  const std::string found = in_child([&] {
    MachineRunOptions options;
    options.inputs = inputs;
    return text_of(
        run_machine(topology, launch(topology, "gqa_decode", settings), options).results);
  });
  EXPECT_EQ(found, text_of(expected));
  return expected;
}

/// The unit of the largest entry of a row.
double f16_ulp(const std::vector<double>& out, std::size_t row, std::size_t cols) {
  double largest = 0x1p-14;  // below, the steps are those of 2^-14
  for (std::size_t i = row * cols; i < (row + 1) * cols; ++i) {
    largest = std::max(largest, std::abs(out[i]));
  }
  return std::ldexp(1, std::ilogb(largest) - 10);
}

struct Size {
  Index c, p;
};
constexpr Size kSizes[] = {{1, 1}, {1, 2}, {1, 8}, {2, 8}, {4, 8}};

/// For every split of the list and both merges; rows have `cols` entries.
void expect_one_pe_result(const Settings& settings, std::size_t cols = 128) {
  const arch::TopologyConfig topology = shipped("llama70b_4sip");
  const HostTensors inputs = test_inputs(launch(topology, "gqa_decode", settings).instance());
  std::vector<double> whole;
  for (const Size& size : kSizes) {
    for (const char* merge : {"tree", "chain"}) {
      SCOPED_TRACE(testing::Message() << "c " << size.c << " p " << size.p << " " << merge);
      const std::vector<double> out =
          run_split(with(settings, size.c, size.p, merge), inputs).at("out");
      if (whole.empty()) whole = out;  // c = 1, p = 1: one PE a head
      ASSERT_EQ(out.size(), whole.size());
      for (std::size_t i = 0; i < out.size(); ++i) {
        ASSERT_LE(std::abs(out[i] - whole[i]), f16_ulp(whole, i / cols, cols)) << i;
      }
    }
  }
}

// A tile is 64 tokens: all but one share are empty, or all but two.
TEST(SplitDecodeRuns, OneToken) { expect_one_pe_result({{"s_kv", "1"}}); }
TEST(SplitDecodeRuns, FiveTokens) { expect_one_pe_result({{"s_kv", "5"}}); }
TEST(SplitDecodeRuns, OneTile) { expect_one_pe_result({{"s_kv", "64"}}); }
TEST(SplitDecodeRuns, OneTileAndAToken) { expect_one_pe_result({{"s_kv", "65"}}); }
TEST(SplitDecodeRuns, SixteenTiles) { expect_one_pe_result({{"s_kv", "1000"}}); }
TEST(SplitDecodeRuns, Opt3) { expect_one_pe_result({{"s_kv", "300"}, {"variant", "opt3"}}); }

// Heads over SIPs, then cubes: 5 of them in up to 128 groups.
TEST(SplitDecodeRuns, SeveralHeads) {
  expect_one_pe_result({{"s_kv", "200"}, {"kv_heads", "5"}, {"g", "2"}, {"d", "32"}}, 32);
}

// A sequence of no tokens gives rows of 0; shares of the others are empty or not, by length.
TEST(SplitDecodeRuns, ABatchOfLengths) {
  const Settings batch{{"lengths", "130,0,64,1"}, {"kv_heads", "3"}, {"g", "2"}, {"d", "32"}};
  expect_one_pe_result(batch, 32);
  const Settings settings = with(batch, 1, 8, "tree");
  const std::vector<double> out =
      run_split(settings,
                test_inputs(launch(shipped("llama70b_4sip"), "gqa_decode", settings).instance()))
          .at("out");
  const std::size_t sequence = out.size() / 4;
  EXPECT_TRUE(std::all_of(out.begin() + static_cast<std::ptrdiff_t>(sequence),
                          out.begin() + static_cast<std::ptrdiff_t>(2 * sequence),
                          [](double entry) { return entry == 0; }));
  EXPECT_TRUE(std::any_of(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(sequence),
                          [](double entry) { return entry != 0; }));
}

// 300 * -400 / sqrt(2) is -inf in f16. A share that sees only such scores is m = -inf, l = 0, O =
// 0, and weighs nothing; a row of which every share is so is 0.
TEST(SplitDecodeRuns, FullyMaskedRowsAreZero) {
  const Settings sizes{{"g", "1"}, {"d", "2"}, {"s_kv", "8"}, {"tile", "1"}};
  HostTensors inputs{{"q", {300, 0}},
                     {"k", std::vector<double>(16, -400)},
                     {"v", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}}};
  for (const char* merge : {"tree", "chain"}) {
    const Settings settings = with(sizes, 1, 8, merge);
    HostTensors one_seen = inputs;
    one_seen["k"][2 * 5] = 0.5;
    EXPECT_EQ(run_split(settings, one_seen).at("out"), (std::vector<double>{11, 12})) << merge;
  }
}

// As above with nothing seen at all: a float64 reference is not finite, so the kernel goes without.
TEST(SplitDecodeRuns, NothingSeenIsZero) {
  const arch::TopologyConfig topology = shipped("cube_8pe");
  kernels::Kernel kernel = catalogue_kernel("gqa_decode");
  const auto make = kernel.make;
  kernel.make = [make](const kernels::Parameters& parameters, const tl::Target& target) {
    kernels::Instance instance = make(parameters, target);
    instance.reference = {};
    return instance;
  };
  MachineRunOptions options;
  options.inputs = HostTensors{
      {"q", {300, 0}}, {"k", std::vector<double>(16, -400)}, {"v", std::vector<double>(16, 1)}};
  const runtime::Launch launched(
      kernel, with({{"g", "1"}, {"d", "2"}, {"s_kv", "8"}, {"tile", "1"}}, 1, 8, "tree"), topology);
  const MachineRun run = run_machine(topology, launched, options);
  EXPECT_EQ(run.results.at("out"), (std::vector<double>{0, 0}));
}

}  // namespace
}  // namespace kernbench::test
