// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/launch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/catalogue.hpp"
#include "kernels/shards.hpp"
#include "runtime/prologue_order.hpp"
#include "tests/support/refusal.hpp"
#include "tlm_if/command/program.hpp"

namespace kernbench::runtime {
namespace {

using test::refusal;
using testing::ElementsAre;
using testing::HasSubstr;

arch::TopologyConfig single_pe() {
  arch::TopologyConfig topology;
  topology.name = "single_pe";
  return topology;
}

kernels::Kernel kernel(const std::string& name) {
  for (const kernels::Kernel& candidate : kernels::catalogue()) {
    if (candidate.name == name) return candidate;
  }
  throw std::runtime_error("no kernel " + name);
}

// R3.4: from 0, each at the next multiple of 4096; 5000 bytes reach into the second 4096.
TEST(Placement, EachTensorStartsAtTheNextMultipleOf4096) {
  using kernels::Direction;
  const std::vector<kernels::TensorSpec> tensors{
      {"a", {2500}, {2500}, tl::f16, Direction::in},
      {"b", {2048}, {2048}, tl::f16, Direction::in},
      {"c", {1}, {1}, tl::f32, Direction::in},
      {"out", {1}, {1}, tl::f32, Direction::out},
  };
  arch::TopologyConfig topology = single_pe();
  topology.hbm.bytes = 16388;
  std::vector<command::Address> addresses;
  for (const DeviceTensor& tensor : DeviceMemory(topology).place(tensors, {0})) {
    addresses.push_back(tensor->parts.front().handle.addr);
  }
  EXPECT_THAT(addresses, ElementsAre(0u, 8192u, 12288u, 16384u));
  topology.hbm.bytes = 16387;
  const std::string message = refusal([&] { DeviceMemory(topology).place(tensors, {0}); });
  EXPECT_THAT(message, HasSubstr("need 16388 bytes of HBM and there are 16387"));
  EXPECT_THAT(message, HasSubstr("a 5000 bytes at 0x0, b 4096 bytes at 0x2000"));
  EXPECT_THAT(message, HasSubstr("enlarge hbm.bytes"));
}

// Two cubes of two PEs: in each cube the first half of the addresses is PE 0's, the second PE 1's.
// Where each PE has its slice to itself, all begin at 0.
TEST(Placement, PesOfAnInterleavedCubeShareItsAddresses) {
  arch::TopologyConfig topology = single_pe();
  topology.cubes_per_sip = 2;
  topology.pes_per_cube = 2;
  topology.hbm.bytes = 131072;
  const std::vector<kernels::TensorSpec> tensors{
      {"x", {64}, {64}, tl::f16, kernels::Direction::in}};
  const auto addresses = [&] {
    std::vector<command::Address> found;
    const DeviceTensor x = DeviceMemory(topology).place(tensors, {0, 1, 2, 3}).front();
    for (const Part& part : x->parts) found.push_back(part.handle.addr);
    return found;
  };
  EXPECT_THAT(addresses(), ElementsAre(0u, 0u, 0u, 0u));
  topology.hbm.map = arch::HbmMap::interleaved;
  EXPECT_THAT(addresses(), ElementsAre(0u, 65536u, 0u, 65536u));
}

// Of 1 MiB a PE of four has a quarter to itself, or sees all.
TEST(Launch, CompilesForTheHbmThatAPeSees) {
  arch::TopologyConfig topology = single_pe();
  topology.pes_per_cube = 4;
  topology.hbm.bytes = 1048576;
  EXPECT_EQ(make_target(topology).hbm_bytes, 262144u);
  topology.hbm.map = arch::HbmMap::interleaved;
  EXPECT_EQ(make_target(topology).hbm_bytes, 1048576u);
}

// Program 0 needs 4096 bytes of scratch and issues two fills, program 1 64 bytes and one.
TEST(Launch, DryRunIsOfAllPrograms) {
  arch::TopologyConfig topology = single_pe();
  topology.pes_per_cube = 2;
  const KernelLaunch launch("unequal", topology,
                            [](tl::Context& tl, const std::vector<tl::Tensor>&) {
                              const bool first = tl.program() == 0;
                              const auto x = tl.zeros({first ? 1024 : 16}, tl::f32);
                              if (first) tl.fill(x, 1);
                            },
                            {}, {{2, 1, 1}});
  EXPECT_EQ(launch.commands(), 3u);
  EXPECT_EQ(launch.scratch_peak_bytes(), 4096u);
}

// 3 rows of 64 f16 over two programs, of which the first, with 2 rows, runs on PE 1.
TEST(Launch, InputsOfAPeAreItsParts) {
  arch::TopologyConfig topology = single_pe();
  topology.pes_per_cube = 2;
  kernels::Kernel kernel;
  kernel.name = "halves";
  kernel.make = [](const kernels::Parameters&, const tl::Target&) {
    kernels::Instance instance;
    instance.tensors = {{"x", {3, 64}, {3, 64}, tl::f16, kernels::Direction::in},
                        {"out", {3, 64}, {3, 64}, tl::f16, kernels::Direction::out}};
    for (auto& tensor : instance.tensors) tensor.shard = kernels::split_rows(3, 2);
    instance.grid = {2, 1, 1};
    instance.pes = {1, 0};
    instance.body = [](tl::Context&, const std::vector<tl::Tensor>&) {};
    return instance;
  };
  const Launch launch(kernel, {}, topology);
  EXPECT_THAT(launch.inputs(1), ElementsAre(command::ByteRange{0, 256}));
  EXPECT_THAT(launch.inputs(0), ElementsAre(command::ByteRange{0, 128}));
}

TEST(Launch, CompilesForTheTopology) {
  arch::TopologyConfig topology = single_pe();
  topology.pe.tcm.scratch_bytes = 1000;
  topology.pe.tcm.bytes = 1000000;
  topology.hbm.bytes = 77;
  topology.pe.gemm.tile_m = 3;
  topology.pe.gemm.tile_k = 4;
  topology.pe.gemm.tile_n = 5;
  const tl::Target target = make_target(topology);
  EXPECT_EQ(target.scratch_bytes, 1000u);
  EXPECT_EQ(target.tcm_bytes, 1000000u);
  EXPECT_EQ(target.hbm_bytes, 77u);
  EXPECT_EQ(target.tile_m, 3);
  EXPECT_EQ(target.tile_k, 4);
  EXPECT_EQ(target.tile_n, 5);
}

// R4.4: 10,368 and 12,672 bytes at the defaults. Commands (R13.1, R13.2): load, three fills, per
// tile 2 (opt2) or 10 (opt3: the last tile has no next #1, the first has #1(0)), div_bcast, store.
TEST(Launch, DryRunCountsCommandsAndScratch) {
  const Launch opt2(kernel("gqa_decode"), {{"variant", "opt2"}, {"s_kv", "256"}}, single_pe());
  EXPECT_EQ(opt2.commands(), 4u + 2 * 4 + 2);
  EXPECT_EQ(opt2.scratch_peak_bytes(), 10368u);
  const Launch opt3(kernel("gqa_decode"), {{"variant", "opt3"}, {"s_kv", "256"}}, single_pe());
  EXPECT_EQ(opt3.commands(), 4u + 10 * 4 + 2);
  EXPECT_EQ(opt3.scratch_peak_bytes(), 12672u);
}

TEST(Launch, IssuesTheSameProgramEveryTime) {
  const Launch launch(kernel("gqa_decode"), {{"s_kv", "256"}}, single_pe());
  command::ProgramRecorder first, second;
  launch.issue(first);
  launch.issue(second);
  EXPECT_EQ(first.program().commands().size(), launch.commands());
  EXPECT_EQ(first.program().commands(), second.program().commands());
}

// A tile of 8192: two slots of S take 2 * 8 * 8192 * 2 bytes, more than the scratch.
TEST(Launch, RefusesWhatDoesNotFitTheScratch) {
  const std::string message = refusal([] {
    Launch(kernel("gqa_decode"), {{"tile", "8192"}}, single_pe());
  });
  EXPECT_THAT(message, testing::StartsWith(
                           "gqa_decode variant=opt2 g=8 d=128 s_kv=4096 "
                           "tile=8192 t_q=1 kv_heads=1 dtype=f16 stats=f32 "
                           "kv=contiguous c=1 p=1 merge=tree: TCM scratch is exhausted: its "
                           "tensors in TCM need more than the 131072 bytes of single_pe; choose "
                           "other parameters"));
  EXPECT_THAT(message, testing::EndsWith("or enlarge pe.tcm.scratch_bytes"));
}

// What tl refuses is named by its kernel; the key is the remedy for scratch only.
TEST(Launch, NamesTheKernelThatTlRefuses) {
  kernels::Kernel bad;
  bad.name = "bad";
  bad.parameters = {kernels::integer("n", 3, "a number")};
  bad.make = [](const kernels::Parameters&, const tl::Target&) {
    kernels::Instance instance;
    instance.body = [](tl::Context& tl, const std::vector<tl::Tensor>&) { tl.empty({0}, tl::f16); };
    return instance;
  };
  const std::string message = refusal([&] { Launch(bad, {}, single_pe()); });
  EXPECT_THAT(message, testing::StartsWith("bad n=3: "));
  EXPECT_THAT(message, testing::Not(HasSubstr("scratch_bytes")));
}

record::StageRecord row(arch::StageKind stage, std::uint64_t start, std::uint64_t end,
                        std::int32_t op_index, std::int32_t tile, const char* operand = "") {
  record::StageRecord record;
  record.stage = stage;
  record.start = start;
  record.end = record.done = end;
  record.cmd = 7;
  record.op_index = op_index;
  record.tile = {tile, tile, tile};
  record.operand = operand;
  return record;
}

// K before V (contract 7): ops 0 and 1 are the prologue, 2 the gemm, 3 on the accumulator, 4 after
// the loop.
TEST(PrologueOrder, HoldsWhenTheReadComesLast) {
  PrologueOrder order;
  order.record(row(arch::StageKind::math, 0, 10, 0, -1));
  order.record(row(arch::StageKind::math, 10, 20, 1, -1));
  order.record(row(arch::StageKind::dma_read, 20, 30, 2, 0, "b"));
  order.record(row(arch::StageKind::math, 40, 50, 3, 0));
  order.record(row(arch::StageKind::math, 50, 60, 4, -1));
  EXPECT_EQ(order.composites(), 1u);
  EXPECT_EQ(order.violations(), 0u);
}

TEST(PrologueOrder, IsBrokenByAReadBeforeTheEnd) {
  PrologueOrder order;
  order.record(row(arch::StageKind::math, 0, 10, 0, -1));
  order.record(row(arch::StageKind::math, 10, 20, 1, -1));
  order.record(row(arch::StageKind::dma_read, 19, 30, 2, 0, "b"));
  EXPECT_EQ(order.violations(), 1u);
}

TEST(PrologueOrder, IsBrokenByAReadAheadOfThePrologue) {
  PrologueOrder order;
  order.record(row(arch::StageKind::dma_read, 0, 5, 2, 0, "b"));
  order.record(row(arch::StageKind::math, 1, 10, 0, -1));
  EXPECT_EQ(order.violations(), 1u);
}

TEST(PrologueOrder, DoesNotApplyWithoutAPrologue) {
  PrologueOrder order;
  order.record(row(arch::StageKind::dma_read, 0, 5, 0, 0, "b"));
  order.record(row(arch::StageKind::math, 5, 10, 1, 0));
  EXPECT_EQ(order.composites(), 0u);
}

}  // namespace
}  // namespace kernbench::runtime
