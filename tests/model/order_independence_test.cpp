// SPDX-License-Identifier: Apache-2.0
// Contract 6, "Same time": results depend neither on the order in which modules are created nor on
// that in which SystemC runs processes. On cases full of ties: equal latencies, several channels,
// setup 0, latency 0, drain_all, dispatch of a few cycles.
//
// One design per process: each TEST runs one (case, order) in a child and compares with the default
// order.

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>

#include "tests/support/in_child.hpp"
#include "tests/support/kernel_bench.hpp"

namespace kernbench {
namespace {

// Topologies in which many things happen at one instant.
arch::TopologyConfig tie_heavy(std::mt19937& random) {
  const auto pick = [&](std::initializer_list<std::uint64_t> values) {
    return *(values.begin() + random() % values.size());
  };
  arch::TopologyConfig topology = test::single_pe();
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

std::string op_log(const arch::TopologyConfig& topology, const std::string& variant,
                   const std::vector<int>& order) {
  return test::in_child([&] {
    test::BenchOptions options;
    options.creation_order = order;
    const auto result = test::run_catalogue(topology, "gqa_decode",
                                            {{"variant", variant},
                                             {"s_kv", "224"},
                                             {"tile", "32"},
                                             {"g", "16"},
                                             {"d", "64"},
                                             {"kv_heads", "2"}},
                                            options);
    EXPECT_TRUE(result.idle);
    return result.op_log;
  });
}

void check_orders(const std::string& variant, std::uint32_t seed) {
  std::mt19937 random(seed);
  for (int round = 0; round < 12; ++round) {
    const arch::TopologyConfig topology = tie_heavy(random);
    const std::string expected = op_log(topology, variant, {});
    ASSERT_GT(std::count(expected.begin(), expected.end(), '\n'), 100);
    std::vector<int> order(7);
    std::iota(order.begin(), order.end(), 0);
    std::reverse(order.begin(), order.end());
    EXPECT_EQ(op_log(topology, variant, order), expected) << "seed " << seed << " round " << round;
    for (int shuffle = 0; shuffle < 3; ++shuffle) {
      std::shuffle(order.begin(), order.end(), random);
      EXPECT_EQ(op_log(topology, variant, order), expected)
          << "seed " << seed << " round " << round << " shuffle " << shuffle;
    }
  }
}

TEST(OrderIndependence, Opt1) { check_orders("opt1", 1); }
TEST(OrderIndependence, Opt2) { check_orders("opt2", 2); }
TEST(OrderIndependence, Opt3) { check_orders("opt3", 3); }

}  // namespace
}  // namespace kernbench
