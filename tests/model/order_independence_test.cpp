// SPDX-License-Identifier: Apache-2.0
// Contract 6, "Same time": results depend neither on the order in which modules are created nor on
// that in which SystemC runs processes. On cases full of ties: equal latencies, several channels,
// setup 0, latency 0, drain_all, dispatch of a few cycles.
//
// One design per process: each run is a child of its own, compared with that of the default order.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <string>

#include "tests/support/in_child.hpp"
#include "tests/support/kernel_bench.hpp"
#include "tests/support/legal_run.hpp"
#include "tl/tl.hpp"

namespace kernbench::test {
namespace {

// Topologies in which many things happen at one instant.
arch::TopologyConfig tie_heavy(std::mt19937& random) {
  const auto pick = [&](std::initializer_list<std::uint64_t> values) {
    return *(values.begin() + random() % values.size());
  };
  arch::TopologyConfig topology = single_pe();
  topology.pe.pe_cost_model.fixed_cycles = pick({1, 2, 4, 8});
  topology.pe.pe_cost_model.cycles_per_byte = arch::Rational(0);
  topology.pe.cpu.cmd_queue_depth = static_cast<std::uint32_t>(pick({1, 2, 16}));
  topology.pe.scheduler.rw_policy =
      pick({0, 1}) == 0 ? arch::RwPolicy::overlap : arch::RwPolicy::drain_all;
  topology.pe.scheduler.tile_buffers = static_cast<std::uint32_t>(pick({1, 2, 3, 4}));
  topology.pe.scheduler.max_inflight_composites = static_cast<std::uint32_t>(pick({1, 2, 4}));
  topology.pe.dma.read_channels = static_cast<std::uint32_t>(pick({1, 2, 4}));
  topology.pe.dma.write_channels = static_cast<std::uint32_t>(pick({1, 2}));
  topology.pe.dma.setup_cycles = pick({0, 4, 16});
  topology.pe.dma.burst_bytes = static_cast<std::uint32_t>(pick({256, 1024, 4096}));
  topology.pe.dma.max_outstanding_bytes = pick({4096, 8192, 32768});
  topology.pe.tcm.bytes_per_cycle = pick({64, 256, 512});
  topology.pe.gemm.tile_k = static_cast<std::int64_t>(pick({32, 64, 128}));
  topology.pe.gemm.tile_n = static_cast<std::int64_t>(pick({32, 64, 128}));
  topology.pe.math.lanes = pick({16, 32, 64});
  topology.hbm.latency_ns = arch::Rational(pick({0, 1, 16, 64}));
  topology.hbm.gbps = arch::Rational(pick({64, 128, 1024}));
  return topology;
}

using Case = std::function<BenchResult(const arch::TopologyConfig&, const BenchOptions&)>;

Case catalogue(const std::string& kernel, const Settings& settings) {
  return [=](const arch::TopologyConfig& topology, const BenchOptions& options) {
    return run_catalogue(topology, kernel, settings, options);
  };
}

Case decode(const std::string& variant) {
  return catalogue("gqa_decode", {{"variant", variant},
                                  {"s_kv", "224"},
                                  {"tile", "32"},
                                  {"g", "16"},
                                  {"d", "64"},
                                  {"kv_heads", "2"}});
}

/// Independent streamed MATH heads (R5.5): chunks of several reads, and writes among them.
BenchResult streamed_heads(const arch::TopologyConfig& tie_heavy_topology,
                           const BenchOptions& options) {
  arch::TopologyConfig topology = tie_heavy_topology;
  topology.pe.scheduler.math_head_from_hbm = true;
  const auto kernel = [&](command::CommandSink& sink) {
    tl::Context tl(runtime::make_target(topology), sink);
    const auto matrix = [&](command::Address i) { return tl.ref(i * 65536, {32, 128}, tl::f16); };
    for (command::Address i = 0; i < 4; ++i) {
      const auto x = matrix(3 * i), y = matrix(3 * i + 1), out = matrix(3 * i + 2);
      tl.composite(tl::math("add", {{"src_a", x}, {"src_b", y}}).out(out));
      const auto square = tl.empty({32, 128}, tl::f32);
      tl.composite(tl::math("square", {{"src", y}}).out(square).then("rsum", {{"src", square}}));
    }
  };
  return run_kernel(topology, kernel, options);
}

std::string op_log(const Case& run, const arch::TopologyConfig& topology,
                   const std::vector<int>& order) {
  return in_child([&] {
    BenchOptions options;
    options.creation_order = order;
    const BenchResult result = run(topology, options);
    EXPECT_TRUE(result.idle);
    return result.op_log;
  });
}

void check_orders(const Case& run, std::uint32_t seed) {
  std::mt19937 random(seed);
  for (int round = 0; round < 12; ++round) {
    const arch::TopologyConfig topology = tie_heavy(random);
    const std::string expected = op_log(run, topology, {});
    ASSERT_GT(std::count(expected.begin(), expected.end(), '\n'), 100);
    EXPECT_EQ(op_log(run, topology, {7, 6, 5, 4, 3, 2, 1, 0}), expected)
        << "seed " << seed << " round " << round;
    for (int shuffle = 0; shuffle < 3; ++shuffle) {
      EXPECT_EQ(op_log(run, topology, shuffled(random()).options.creation_order), expected)
          << "seed " << seed << " round " << round << " shuffle " << shuffle;
    }
  }
}

TEST(OrderIndependence, Opt1) { check_orders(decode("opt1"), 1); }
TEST(OrderIndependence, Opt2) { check_orders(decode("opt2"), 2); }
TEST(OrderIndependence, Opt3) { check_orders(decode("opt3"), 3); }
TEST(OrderIndependence, StreamedHeads) { check_orders(streamed_heads, 4); }
TEST(OrderIndependence, Prefill) {
  for (const char* variant : {"opt1", "opt2", "opt3"}) {
    check_orders(catalogue("gqa_prefill", {{"variant", variant},
                                           {"s_q", "20"},
                                           {"prefix", "40"},
                                           {"g", "2"},
                                           {"d", "32"},
                                           {"tile", "16"}}),
                 5);
  }
}
TEST(OrderIndependence, Mlp) {
  for (const char* variant : {"fused", "split"}) {
    check_orders(catalogue("mlp", {{"variant", variant}, {"m", "32"}, {"k", "200"}, {"f", "300"}}),
                 6);
  }
}

}  // namespace
}  // namespace kernbench::test
