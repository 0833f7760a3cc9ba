// SPDX-License-Identifier: Apache-2.0
// The hazard checker on whole runs. Every run of the bench is checked; here are those that must
// stay silent under any policy that keeps R7.1, and seeded mistakes that must not: rw_match
// handle_id misses what contract 14 says it misses, and kernels read what nothing has written.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "kernels/catalogue.hpp"
#include "tests/model/raw_commands.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/kernel_bench.hpp"
#include "tl/tl.hpp"

namespace kernbench {
namespace {

using record::HazardFindings;
using record::Race;
using test::Settings;

// ---- silent -------------------------------------------------------------------------------------

/// A kernel, in each of its variants, at a size that has several tiles each way.
std::vector<Settings> cases_of(const kernels::Kernel& kernel) {
  const std::vector<std::pair<std::string, Settings>> small{
      {"gqa_decode",
       {{"s_kv", "176"}, {"tile", "32"}, {"g", "16"}, {"d", "64"}, {"kv_heads", "2"}}},
      {"gqa_prefill",
       {{"s_q", "24"}, {"prefix", "40"}, {"tile", "32"}, {"d", "64"}, {"kv_heads", "2"}}},
      {"gemm",
       {{"m", "20"}, {"k", "200"}, {"n", "200"}, {"out", "hbm"}, {"epilogue", "bias+gelu"}}},
      {"dispatch", {{"commands", "20"}}},
      {"llama_layer",
       {{"hidden", "140"},
        {"heads", "3"},
        {"kv_heads", "1"},
        {"d", "32"},
        {"ffn", "150"},
        {"s_kv", "70"},
        {"tile", "32"}}},
      {"llama_decode_step",
       {{"layers", "2"},
        {"hidden", "140"},
        {"heads", "2"},
        {"kv_heads", "1"},
        {"d", "16"},
        {"ffn", "60"},
        {"s_kv", "33"},
        {"tile", "32"}}},
  };
  Settings settings;
  for (const auto& [name, values] : small) {
    if (name == kernel.name) settings = values;
  }
  std::vector<Settings> cases{settings};
  for (const kernels::Parameter& parameter : kernel.parameters) {
    for (const std::string& choice : parameter.choices) {
      if (choice == parameter.default_value) continue;
      const bool given = std::any_of(settings.begin(), settings.end(),
                                     [&](const auto& s) { return s.first == parameter.name; });
      if (given || parameter.list) continue;
      cases.push_back(settings);
      cases.back().emplace_back(parameter.name, choice);
    }
  }
  return cases;
}

/// Runs all of the catalogue; the bench fails on any hazard. MATH heads stream (R5.5), which only
/// variant=streamed makes use of.
void expect_silent(arch::TopologyConfig topology) {
  topology.pe.scheduler.math_head_from_hbm = true;
  for (const kernels::Kernel& kernel : kernels::catalogue()) {
    for (const Settings& settings : cases_of(kernel)) {
      const std::string told = test::in_child([&] {
        const auto result = test::run_catalogue(topology, kernel.name, settings);
        return result.idle && result.rows.size() > 2 ? "ran" : "did not run";
      });
      EXPECT_EQ(told, "ran") << kernel.name << " with "
                             << (settings.empty()
                                     ? "defaults"
                                     : settings.back().first + "=" + settings.back().second);
    }
  }
}

TEST(NoHazards, Defaults) { expect_silent(test::single_pe()); }

TEST(NoHazards, OneTileBufferAndOneComposite) {
  arch::TopologyConfig topology = test::single_pe();
  topology.pe.scheduler.tile_buffers = 1;
  topology.pe.scheduler.max_inflight_composites = 1;
  expect_silent(topology);
}

TEST(NoHazards, ManyChannelsAndCheapDispatch) {
  arch::TopologyConfig topology = test::single_pe();
  topology.pe.dma.read_channels = topology.pe.dma.write_channels = 4;
  topology.pe.pe_cost_model.fixed_cycles = 1;
  topology.pe.pe_cost_model.cycles_per_byte = arch::Rational(0);
  topology.pe.math.lanes = 4;
  expect_silent(topology);
}

TEST(NoHazards, AShortQueue) {
  arch::TopologyConfig topology = test::single_pe();
  topology.pe.cpu.cmd_queue_depth = 1;
  topology.pe.scheduler.max_inflight_composites = 2;
  topology.pe.scheduler.tile_buffers = 2;
  topology.hbm.latency_ns = arch::Rational(0);
  expect_silent(topology);
}

TEST(NoHazards, DrainAll) {
  arch::TopologyConfig topology = test::single_pe();
  topology.pe.scheduler.rw_policy = arch::RwPolicy::drain_all;
  topology.pe.scheduler.max_inflight_composites = 3;
  topology.pe.math.lanes = 1;
  expect_silent(topology);
}

// ---- seeded mistakes ----------------------------------------------------------------------------

arch::TopologyConfig by_handle_id(arch::TopologyConfig topology) {
  topology.pe.scheduler.rw_match = arch::RwMatch::handle_id;
  return topology;
}
/// Dispatch of 1 ns and MATH of one entry a ns: commands meet that would not otherwise.
arch::TopologyConfig crowded() {
  arch::TopologyConfig topology = test::single_pe();
  topology.pe.pe_cost_model.fixed_cycles = 1;
  topology.pe.pe_cost_model.cycles_per_byte = arch::Rational(0);
  topology.pe.math.lanes = 1;
  return topology;
}

using Kernel = std::function<void(tl::Context&)>;

HazardFindings findings(const arch::TopologyConfig& topology, const Kernel& kernel) {
  test::BenchOptions options;
  options.expects_hazards = true;
  return test::run_kernel(
             topology,
             [&](command::CommandSink& sink) {
               tl::Context tl(runtime::make_target(topology), sink);
               kernel(tl);
             },
             options)
      .hazards;
}

std::string text_of(const HazardFindings& found) {
  std::string text;
  for (const std::string& line : record::lines_of(found)) text += line + '\n';
  return text;
}
/// Of a run with R7.1 as it is.
std::string with_ranges(const arch::TopologyConfig& topology, const Kernel& kernel) {
  return test::in_child([&] { return text_of(findings(topology, kernel)); });
}

const Race* find(const HazardFindings& found, const std::string& earlier,
                 const std::string& later) {
  for (const Race& race : found.races) {
    if (race.earlier.operand == earlier && race.later.operand == later) return &race;
  }
  return nullptr;
}

// Contract 14: ids alone miss S read-after-write. Of the flagship, #1(0) is dispatched from 180.502
// and runs from 223.877 to 545.877: 365.375 ns cold; its STORE takes the last 2. #2(0) is
// dispatched 60.125 later and shares no rw handle: its rmax reads S0 from 284.002 for 8 ns.
TEST(HandleIdMisses, ScoresReadBeforeTheyAreWritten) {
  const arch::TopologyConfig topology = by_handle_id(test::single_pe());
  test::BenchOptions options;
  options.expects_hazards = true;
  const HazardFindings found =
      test::run_catalogue(topology, "gqa_decode", {{"s_kv", "64"}}, options).hazards;
  const Race* race = find(found, "out S0", "src S0");
  ASSERT_NE(race, nullptr) << text_of(found);
  EXPECT_EQ(race->earlier.stage, arch::StageKind::store);
  EXPECT_EQ(race->earlier.start, 543877U);
  EXPECT_EQ(race->earlier.done, 545877U);
  EXPECT_EQ(race->later.command, race->earlier.command + 1);
  EXPECT_EQ(race->later.op, "rmax");
  EXPECT_EQ(race->later.start, 284002U);
  EXPECT_EQ(race->later.done, 292002U);
  EXPECT_EQ(race->shared_bytes, 8U * 64 * 2);
  // S0 has not been written by anything at that time.
  EXPECT_FALSE(found.uninitialized_reads.empty());
}

// The state of the softmax that one head of a decode keeps.
struct State {
  tl::Tensor S, m, l, O;
  explicit State(tl::Context& tl, const std::string& head)
      : S(tl.zeros({8, 64}, tl::f16).named("S" + head)),
        m(tl.full({8}, tl::kMinusInf, tl::f32).named("m" + head)),
        l(tl.zeros({8}, tl::f32).named("l" + head)),
        O(tl.zeros({8, 128}, tl::f32).named("O" + head)) {
    tl.wait({S, m, l, O});
  }
};

// Contract 14: ids alone miss the reuse of slots. The scratch of softmax_merge is released when the
// call returns, so that of a second head's takes the same bytes; the two share no handle.
TEST(HandleIdMisses, ReuseOfARecipesScratch) {
  const Kernel kernel = [](tl::Context& tl) {
    const State x(tl, "x"), y(tl, "y");
    const auto Px = tl.empty({8, 64}, tl::f16).named("Px"),
               Py = tl.empty({8, 64}, tl::f16).named("Py");
    tl.composite(tl::recipe(tl::softmax_merge(x.S, x.m, x.l, x.O)).out(Px));
    tl.composite(tl::recipe(tl::softmax_merge(y.S, y.m, y.l, y.O)).out(Py));
  };
  EXPECT_EQ(with_ranges(crowded(), kernel), "");
  const HazardFindings found = findings(by_handle_id(crowded()), kernel);
  ASSERT_FALSE(found.races.empty());
  for (const Race& race : found.races) {  // nothing else is shared
    EXPECT_GE(race.bytes.begin, command::kTcmBase);
    EXPECT_NE(race.earlier.command, race.later.command);
    EXPECT_EQ(race.earlier.label, "composite");
    EXPECT_EQ(race.later.label, "composite");
  }
  // Of m_loc both write the first bytes of the block: rmax of y before max_elem of x has read it.
  const auto of_ops = [&](const std::string& earlier, const std::string& later) {
    return std::any_of(found.races.begin(), found.races.end(), [&](const Race& race) {
      return race.earlier.op == earlier && race.later.op == later;
    });
  };
  EXPECT_TRUE(of_ops("max_elem", "rmax")) << text_of(found);
}

// The same for a ring with too few slots: #1 of the next tile writes S, which exp_diff of this tile
// has yet to read.
TEST(HandleIdMisses, ReuseOfARingsSlot) {
  const Kernel kernel = [](tl::Context& tl) {
    const State x(tl, "x");
    const auto q = tl.zeros({8, 128}, tl::f16).named("q"),
               k = tl.zeros({128, 64}, tl::f16).named("k");
    const auto P = tl.empty({8, 64}, tl::f16).named("P");
    tl.wait({q, k});
    tl.composite(tl::recipe(tl::softmax_merge(x.S, x.m, x.l, x.O)).out(P));
    tl.composite(tl::gemm(q, k).out(x.S));
  };
  EXPECT_EQ(with_ranges(crowded(), kernel), "");
  const HazardFindings found = findings(by_handle_id(crowded()), kernel);
  // max_elem and what comes after wait for rmax, so exp_diff reads S long after STORE has begun.
  const auto race = std::find_if(found.races.begin(), found.races.end(), [](const Race& each) {
    return each.earlier.op == "exp_diff" && each.later.stage == arch::StageKind::store;
  });
  ASSERT_NE(race, found.races.end()) << text_of(found);
  EXPECT_EQ(race->earlier.operand, "src_a Sx");
  EXPECT_EQ(race->later.operand, "out Sx");
  EXPECT_GT(race->earlier.start, race->later.done);
}

// The DDD's own test 4: A has rw = (O); B only reads O, as an operand.
TEST(HandleIdMisses, AReaderOfAnRwHandle) {
  const Kernel kernel = [](tl::Context& tl) {
    const auto a = tl.zeros({8, 128}, tl::f16).named("a"),
               b = tl.zeros({128, 64}, tl::f16).named("b");
    const auto O = tl.zeros({8, 64}, tl::f32).named("O"), y = tl.empty({8, 64}, tl::f32).named("y");
    tl.wait({a, b, O});
    tl.composite(tl::gemm(a, b).out(O).epilogue(tl::add(O)));
    tl.composite(tl::math("copy", {{"src", O}}).out(y));
  };
  EXPECT_EQ(with_ranges(test::single_pe(), kernel), "");
  arch::TopologyConfig topology = by_handle_id(test::single_pe());
  topology.pe.pe_cost_model.fixed_cycles = 1;
  const HazardFindings found = findings(topology, kernel);
  ASSERT_EQ(found.races.size(), 1U) << text_of(found);
  EXPECT_EQ(found.races[0].earlier.operand, "out O");
  EXPECT_EQ(found.races[0].earlier.stage, arch::StageKind::store);
  EXPECT_EQ(found.races[0].later.operand, "src O");
}

// A composite never waits in the kernel (R6.11), and ids do not see a load: with that policy the
// kernel must wait itself. FETCH starts with the composite, the load takes more than its latency of
// 100 ns. Waiting is enough.
TEST(HandleIdMisses, AKernelThatSkipsAnAwait) {
  const auto kernel = [](bool waits) -> Kernel {
    return [waits](tl::Context& tl) {
      const auto k = tl.zeros({128, 64}, tl::f16).named("k");
      tl.wait({k});
      const auto q = tl.load(tl.ref(0, {8, 128}, tl::f16, "q"));
      if (waits) tl.wait({q});
      tl.composite(tl::gemm(q, k));
    };
  };
  EXPECT_EQ(with_ranges(test::single_pe(), kernel(false)), "");
  EXPECT_EQ(with_ranges(by_handle_id(test::single_pe()), kernel(true)), "");
  const HazardFindings found = findings(by_handle_id(test::single_pe()), kernel(false));
  ASSERT_EQ(found.races.size(), 1U) << text_of(found);
  EXPECT_EQ(found.races[0].earlier.label, "load");
  EXPECT_EQ(found.races[0].earlier.operand, "out q");
  EXPECT_EQ(found.races[0].later.stage, arch::StageKind::fetch);
  EXPECT_EQ(found.races[0].later.operand, "a q");
}

// ---- reads of bytes that nothing has written ----------------------------------------------------

TEST(UninitializedReads, OfATensorThatNothingHasFilled) {
  const HazardFindings found = findings(test::single_pe(), [](tl::Context& tl) {
    const auto x = tl.empty({8, 64}, tl::f16).named("x");
    tl.fill(x.first({8, 32}), 1);
    tl.relu(x.named("x"));
  });
  EXPECT_TRUE(found.races.empty());
  ASSERT_EQ(found.uninitialized_reads.size(), 1U);
  const record::UninitializedRead& read = found.uninitialized_reads[0];
  EXPECT_EQ(read.access.label, "relu");
  EXPECT_EQ(read.access.operand, "src x");
  EXPECT_EQ(read.missing_bytes, 8U * 32 * 2);
}

// out is no input: what it holds before the kernel has stored it is nobody's value.
TEST(UninitializedReads, OfAnOutputInHbm) {
  const auto run = [](bool store_first) {
    return test::in_child([&] {
      test::BenchOptions options;
      options.expects_hazards = true;
      options.inputs = {{{0, 2048}}};
      const auto result = test::run_kernel(
          test::single_pe(),
          [&](command::CommandSink& sink) {
            tl::Context tl(runtime::make_target(test::single_pe()), sink);
            const auto out = tl.ref(4096, {8, 64}, tl::f16, "out");
            if (store_first) tl.store(out, tl.load(tl.ref(0, {8, 64}, tl::f16, "x")));
            tl.load(out);
          },
          options);
      return text_of(result.hazards);
    });
  };
  EXPECT_EQ(run(true), "");
  EXPECT_THAT(run(false),
              testing::HasSubstr("src out in [41313, 165313) ps, of which nothing has "
                                 "written 1024 bytes, first [0x1000, 0x1400); 1 stage"));
}

// ---- the checker changes nothing ----------------------------------------------------------------

// Of a raw program without waits, under the policy that lets commands meet: same times, whatever
// the order in which the modules were created.
TEST(Hazards, AreTheSameInEveryOrderOfCreation) {
  const arch::TopologyConfig topology = by_handle_id(crowded());
  const auto run = [&](const std::vector<int>& order) {
    return test::in_child([&] {
      test::BenchOptions options;
      options.expects_hazards = true;
      options.creation_order = order;
      return text_of(test::run_catalogue(topology, "gqa_decode",
                                         {{"s_kv", "256"}, {"tile", "32"}, {"kv_heads", "4"}},
                                         options)
                         .hazards);
    });
  };
  const std::string expected = run({});
  EXPECT_GE(std::count(expected.begin(), expected.end(), '\n'), 4);  // one race a head
  EXPECT_EQ(run({7, 6, 5, 4, 3, 2, 1, 0}), expected);
  EXPECT_EQ(run({3, 0, 6, 1, 7, 5, 2, 4}), expected);
}

}  // namespace
}  // namespace kernbench
