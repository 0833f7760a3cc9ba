// SPDX-License-Identifier: Apache-2.0
// Field case 08: kernels with large locals and deep calls, engines on small stacks.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <array>
#include <cstdint>
#include <string>

#include "tests/support/data_run.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/test_inputs.hpp"
#include "tl/context.hpp"
#include "tlm_if/command/error.hpp"

#if defined(__SANITIZE_ADDRESS__)
#define KERNBENCH_LARGE_FRAMES 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define KERNBENCH_LARGE_FRAMES 1
#endif
#endif

namespace kernbench::test {
namespace {

using command::CommandSink;
using testing::HasSubstr;

constexpr std::size_t kTile = 512;

/// Calls itself `depth` times through tl: a scope and a region, and in each a tensor.
void nested(tl::Context& tl, int depth) {
  const auto region = tl.region("r" + std::to_string(depth % 8));
  const auto scope = tl.scratch_scope();
  const auto x = tl.full({16}, static_cast<double>(depth), tl::f16);
  if (depth > 1) nested(tl, depth - 1);
  tl.wait({x});
}

// A tile of 512 x 512 f16 as a plain local: 512 KiB, twice what a thread of SystemC has by default.
TEST(KernelStack, HoldsATileAsALocal) {
  std::uint64_t sum = 0;
  const BenchResult result = run_kernel(single_pe(), [&](CommandSink& sink) {
    std::array<std::uint16_t, kTile * kTile> tile;
    for (std::size_t i = 0; i < tile.size(); ++i) tile[i] = static_cast<std::uint16_t>(i % 7);
    sink.issue(command::PeCpuOverheadCmd{1});
    for (const std::uint16_t entry : tile) sum += entry;
  });
  EXPECT_TRUE(result.idle);
  std::uint64_t expected = 0;
  for (std::uint64_t i = 0; i < kTile * kTile; ++i) expected += i % 7;
  EXPECT_EQ(sum, expected);
}

TEST(KernelStack, HoldsTwoHundredNestedCalls) {
  const BenchResult result = run_kernel(single_pe(), [](CommandSink& sink) {
    tl::Context tl(tl::Target{}, sink);
    nested(tl, 200);
  });
  EXPECT_TRUE(result.idle);
  EXPECT_EQ(result.totals.commands, 200U);
}

/// Takes 16 KiB of stack a call; the sum of the numbers of the calls modulo 2.
int deep(int calls) {
  std::array<std::uint8_t, 16384> frame{};
  frame.back() = static_cast<std::uint8_t>(calls % 2);
  return calls == 0 ? 0 : deep(calls - 1) + frame.back();
}

// 16 MiB of calls end the default stack; a larger one is a field of the configuration.
TEST(KernelStack, IsAFieldOfTheConfiguration) {
  arch::TopologyConfig topology = single_pe();
  topology.pe.kernel_stack_bytes = 32u << 20;
  int odd = 0;
  run_kernel(topology, [&](CommandSink& sink) {
    odd = deep(1000);
    sink.issue(command::PeCpuOverheadCmd{1});
  });
  EXPECT_EQ(odd, 500);
}

TEST(KernelStack, TooSmallOnesAreRefused) {
  arch::PeConfig config;
  config.kernel_stack_bytes = 65535;
  try {
    const Pe pe("pe0", config, 0);
    FAIL() << "accepted";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("kernel_stack_bytes is 65535"));
  }
}

// Engines are methods on the stack of the main program; their tiles are on the heap. With 512 KiB
// for it, and for the kernel the 256 KiB that a thread of SystemC has by default, tiles of 512 x
// 512 are right: in f16 one is as large as that, an accumulator twice as large.
#ifndef KERNBENCH_LARGE_FRAMES
TEST(EngineStacks, NeedNoMoreThanTheDefaultForALargeTile) {
  in_child([]() -> std::string {
    const rlimit small{512u << 10, 512u << 10};
    EXPECT_EQ(setrlimit(RLIMIT_STACK, &small), 0);
    arch::TopologyConfig topology = single_pe();
    topology.pe.kernel_stack_bytes = 256u << 10;
    topology.pe.tcm.bytes = 64u << 20;
    topology.pe.gemm.tile_m = topology.pe.gemm.tile_n = topology.pe.gemm.tile_k = 512;
    const runtime::Launch launched = launch(
        topology, "gemm",
        {{"m", "512"}, {"k", "512"}, {"n", "512"}, {"a", "hbm"}, {"b", "hbm"}, {"out", "hbm"}});
    const kernels::HostTensors inputs = test_inputs(launched.instance());
    BenchOptions options;
    options.data = true;
    const DataRun run = run_with_data(topology, launched, inputs, options);
    const kernels::Reference reference = launched.instance().reference(inputs);
    const auto& out = reference.outputs.at("out");
    EXPECT_LT(error_against(out, run.results.at("out")).rms, reference.max_rms_rel);
    return "";
  });
}
#endif

}  // namespace
}  // namespace kernbench::test
