// SPDX-License-Identifier: Apache-2.0
// Host programs: tensors placed on PEs, launches one after the other.
#include "runtime/host.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "runtime/launch/safetensors.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/machine_bench.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/temporary_folder.hpp"

namespace kernbench::test {
namespace {

using command::Index;
using kernels::split_cols;
using kernels::split_rows;
using kernels::whole_on;
using runtime::DeviceTensor;
using runtime::Host;
using testing::AllOf;
using testing::HasSubstr;
using Bound = std::vector<tl::Tensor>;

constexpr std::uint64_t kLaunchPs = 500'000;

/// 0, 1, 2, ..: exact in f16 up to 2048.
std::vector<double> counting(std::size_t n, double first = 0) {
  std::vector<double> values(n);
  std::iota(values.begin(), values.end(), first);
  return values;
}

std::vector<double> times(std::vector<double> values, double factor) {
  for (double& value : values) value *= factor;
  return values;
}

/// bound[1] = 2 bound[0].
void twice(tl::Context& tl, const Bound& bound) {
  const auto x = tl.load(bound[0]);
  tl.store(bound[1], tl.add(x, x));
}

// A host may look at results before it goes on: y = 2 x, then z = 2 y of what it read and wrote.
TEST(Host, LaunchesAfterARun) {
  Host host("host", shipped("cube_8pe"), true);
  const auto rows = split_rows(8, 2);
  const auto x = host.from_values("x", {8, 16}, tl::f16, counting(128), rows, {0, 1});
  const auto y = host.empty("y", {8, 16}, tl::f16, rows, {0, 1});
  host.launch("first", twice, {x, y}, {{2, 1, 1}});
  host.run();
  const std::uint64_t first = host.end_ps();
  EXPECT_EQ(host.read(y), times(counting(128), 2));
  const auto again = host.from_values("again", {8, 16}, tl::f16, host.read(y), rows, {0, 1});
  host.launch("second", twice, {again, y}, {{2, 1, 1}});
  host.run();
  EXPECT_EQ(host.read(y), times(counting(128), 4));
  EXPECT_EQ(host.end_ps(), 2 * first);  // as long again, launch_ns included
}

// ---- tensors
// --------------------------------------------------------------------------------------

// The example of runtime/host.hpp, on eight PEs and a smaller file.
TEST(Host, TheExampleOfItsHeader) {
  const TemporaryFolder folder;
  runtime::FileTensors file;
  file["x"] = {runtime::FileDType::f16, {8, 4, 16}, counting(512)};
  runtime::write_safetensors(folder / "x.safetensors", file);

  const arch::TopologyConfig topology = shipped("cube_8pe");
  Host host("attention", topology, true);
  const auto x = host.from_file(folder / "x.safetensors", "x", split_rows(32, 8));
  EXPECT_EQ(x->spec.shape, (command::Shape{32, 16}));  // leading axes are joined
  EXPECT_EQ(x->spec.dtype, tl::f16);
  const auto y = host.empty("y", {32, 16}, tl::f16, split_rows(32, 8));
  host.launch("scale", twice, {x, y}, {{8, 1, 1}});
  host.run();
  EXPECT_EQ(host.read(y), times(counting(512), 2));
}

struct Case {
  const char* what;
  kernels::Sharding sharding;
  std::vector<std::size_t> entries;  // of each program, 0: no part
};

// 10 rows of 6 over four programs: 3, 3, 3, 1 rows; 2, 2, 2, 0 columns; from column 0, 1, 2, 3 on.
const std::vector<Case> kShardings{
    {"replicated", {}, {60, 60, 60, 60}},
    {"rows", split_rows(10, 4), {18, 18, 18, 6}},
    {"columns", split_cols(10, 6, 4), {20, 20, 20, 0}},
    {"whole on 2", whole_on(10, 2), {0, 0, 60, 0}},
    {"from column",
     [](Index program) {
       return kernels::Shard{{{0, 10}}, program};
     },
     {60, 50, 40, 30}},
};

// Each program adds 100 (program + 1) to its part; of an entry that several hold, the first's is
// read back.
TEST(Host, EveryShardingGivesEachProgramItsPart) {
  for (const Case& c : kShardings) {
    SCOPED_TRACE(c.what);
    in_child([&]() -> std::string {
      const arch::TopologyConfig topology = shipped("llama70b_4sip");
      const std::vector<std::uint32_t> pes{5, 8, 40, 127};
      Host host("shardings", topology, true);
      const auto x = host.from_values("x", {10, 6}, tl::f32, counting(60), c.sharding, pes);
      const auto y = host.zeros("y", {10, 6}, tl::f32, c.sharding, pes);
      for (Index program = 0; program < 4; ++program) {
        const auto program_index = static_cast<std::size_t>(program);
        const runtime::Part* part = x->part_of(program);
        if (c.entries[program_index] == 0) {
          EXPECT_EQ(part, nullptr);
          continue;
        }
        EXPECT_EQ(part->pe, pes[program_index]);
        EXPECT_EQ(static_cast<std::size_t>(part->handle.shape.elements()),
                  c.entries[program_index]);
      }
      host.launch("add",
                  [&](tl::Context& tl, const Bound& bound) {
                    const auto program = static_cast<std::size_t>(tl.program());
                    if (c.entries[program] == 0) return;
                    const auto part = tl.load(bound[0]);
                    const auto added =
                        tl.full(part.shape(), static_cast<double>(100 * (program + 1)), tl::f32);
                    tl.store(bound[1], tl.add(part, added));
                  },
                  {x, y}, {{4, 1, 1}, pes});
      host.run();
      EXPECT_EQ(host.read(x), counting(60));
      std::vector<double> expected = counting(60);
      for (std::size_t i = 0; i < 60; ++i) {
        const std::size_t row = i / 6, col = i % 6;
        const std::size_t program = std::string(c.what) == "rows"         ? row / 3
                                    : std::string(c.what) == "columns"    ? col / 2
                                    : std::string(c.what) == "whole on 2" ? 2
                                                                          : 0;
        expected[i] += static_cast<double>(100 * (program + 1));
      }
      EXPECT_EQ(host.read(y), expected);
      return "";
    });
  }
}

TEST(Host, ZerosAreWrittenAndDTypesRound) {
  const arch::TopologyConfig topology = shipped("cube_8pe");
  Host host("zeros", topology, true);
  const auto zero = host.zeros("zero", {4, 8}, tl::bf16);
  // 1 + 2^-9 is between two f16 and rounds to even: 1.001953125 is one.
  const auto half = host.from_values("half", {3}, tl::f16, {1.001953125, 1 + 0x1p-12, -0.5});
  EXPECT_EQ(half->parts.size(), 8U);
  host.run();
  EXPECT_EQ(host.read(zero), std::vector<double>(32, 0));
  EXPECT_EQ(host.read(half), (std::vector<double>{1.001953125, 1, -0.5}));
}

// More than the host moves at a time, 1 MiB.
TEST(Host, LargeTensorsArriveWhole) {
  constexpr Index kEntries = 600'000;
  Host host("large", shipped("cube_8pe"), true);
  const auto x = host.from_values("x", {kEntries}, tl::f32, counting(kEntries), {}, {6});
  host.run();
  EXPECT_EQ(host.read(x), counting(kEntries));
}

// ---- launches
// -------------------------------------------------------------------------------------

// y = 2 x, z = 2 y, w = 2 z, each read from where the launch before has stored it.
TEST(Host, ALaunchReadsWhatTheOneBeforeHasWritten) {
  const arch::TopologyConfig topology = shipped("cube_8pe");
  Host host("three", topology, true);
  const auto rows = split_rows(16, 8);
  const auto x = host.from_values("x", {16, 32}, tl::f32, counting(512), rows);
  std::vector<DeviceTensor> tensors{x};
  for (const char* name : {"y", "z", "w"}) {
    tensors.push_back(host.empty(name, {16, 32}, tl::f32, rows));
    host.launch(name, twice, {tensors[tensors.size() - 2], tensors.back()}, {{8, 1, 1}});
  }
  run_host(topology, host);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    EXPECT_EQ(host.read(tensors[i]), times(counting(512), static_cast<double>(1U << i)));
  }
}

// Also over messages: what program 1 stores is what program 0 has loaded.
TEST(Host, LaunchesThatSend) {
  const arch::TopologyConfig topology = shipped("llama70b_4sip");
  Host host("sends", topology, true);
  const std::vector<std::uint32_t> pes{3, 100};
  const auto x = host.from_values("x", {64}, tl::f32, counting(64), whole_on(1, 0), pes);
  const auto y = host.empty("y", {64}, tl::f32, whole_on(1, 1), pes);
  const auto back = host.empty("back", {64}, tl::f32, whole_on(1, 0), pes);
  const auto move = [](Index from) {
    return [from](tl::Context& tl, const Bound& bound) {
      if (tl.program() == from) {
        tl.send(1 - from, tl.load(bound[0]));
      } else {
        const auto part = tl.empty({64}, tl::f32);
        tl.recv(from, part);
        tl.store(bound[1], tl.add(part, part));
      }
    };
  };
  host.launch("there", move(0), {x, y}, {{2, 1, 1}, pes});
  host.launch("back", move(1), {y, back}, {{2, 1, 1}, pes});
  run_host(topology, host);
  EXPECT_EQ(host.read(back), times(counting(64), 4));
}

// A fill is dispatched for 41.063 and takes a cycle, so a launch of n fills of one tensor each is
// over 500 + 41.063 n + 1 after its start. launch_ns is there once a launch and PE.
TEST(Host, LaunchTimeCountsOnceALaunchAndPe) {
  const arch::TopologyConfig topology = shipped("cube_8pe");
  Host host("times", topology, false);
  const auto fills = [](Index count) {
    return [count](tl::Context& tl, const Bound&) {
      for (Index i = 0; i < count; ++i) tl.zeros({16}, tl::f32);
    };
  };
  for (const Index count : {3, 1, 2}) host.launch("fills", fills(count), {}, {{4, 1, 1}});
  const std::vector<OpLogRow> rows = run_host(topology, host);
  std::uint64_t start = 0;
  std::vector<std::uint64_t> expected;
  for (const std::uint64_t count : {3U, 1U, 2U}) {
    for (std::uint64_t i = 0; i < count; ++i) {
      expected.push_back(start + kLaunchPs + 41'063 * i);
    }
    start += kLaunchPs + 41'063 * count + 1000;
  }
  EXPECT_EQ(host.end_ps(), start);
  for (std::uint32_t pe = 0; pe < 4; ++pe) {
    std::vector<std::uint64_t> starts;
    for (const OpLogRow& row : rows) {
      if (row.pe == pe && row.stage == "dispatch") starts.push_back(row.start);
    }
    EXPECT_EQ(starts, expected) << pe;
  }
}

// A launch lasts until its kernel returns, also when the last command was over before.
TEST(Host, ALaunchLastsUntilItsKernelReturns) {
  const arch::TopologyConfig topology = shipped("cube_8pe");
  Host host("scalar", topology, false);
  host.launch("scalar",
              [](tl::Context& tl, const Bound&) {
                tl.zeros({16}, tl::f32);
                tl.cpu_overhead(3000);
              },
              {}, {{1, 1, 1}});
  run_host(topology, host);
  EXPECT_EQ(host.end_ps(), kLaunchPs + 41'063 + 3'000'000);
}

// The first launch runs on PEs 0 and 1, and PE 1 is slower: 8 fills against 1. The second one, on
// PE 0 and 2, waits for PE 1 as well.
TEST(Host, ALaunchWaitsForTheWholeOneBefore) {
  const arch::TopologyConfig topology = shipped("cube_8pe");
  Host host("order", topology, false);
  host.launch("first",
              [](tl::Context& tl, const Bound&) {
                for (Index i = 0; i < (tl.program() == 0 ? 1 : 8); ++i) tl.zeros({16}, tl::f32);
              },
              {}, {{2, 1, 1}, {0, 1}});
  host.launch("second", [](tl::Context& tl, const Bound&) { tl.zeros({16}, tl::f32); }, {},
              {{2, 1, 1}, {0, 2}});
  const std::vector<OpLogRow> rows = run_host(topology, host);
  const std::uint64_t first_end = kLaunchPs + 8 * 41'063 + 1000;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> second;
  for (const OpLogRow& row : rows) {
    if (row.stage == "dispatch" && row.start >= first_end) second.emplace_back(row.pe, row.start);
  }
  EXPECT_EQ(second, (std::vector<std::pair<std::uint32_t, std::uint64_t>>{
                        {0, first_end + kLaunchPs}, {2, first_end + kLaunchPs}}));
  EXPECT_EQ(host.end_ps(), first_end + kLaunchPs + 41'063 + 1000);
}

// The ids of a grid of 2 x 2 x 2, row-major over the PEs that it names.
TEST(Host, ProgramsOfAGrid) {
  const arch::TopologyConfig topology = shipped("llama70b_4sip");
  const std::vector<std::uint32_t> pes{9, 1, 17, 33, 65, 2, 3, 4};
  Host host("grid", topology, true);
  const auto out = host.empty("out", {8, 4}, tl::f32, split_rows(8, 8), pes);
  host.launch("ids",
              [](tl::Context& tl, const Bound& bound) {
                for (int axis = 0; axis < 3; ++axis) EXPECT_EQ(tl.num_programs(axis), 2);
                const auto row = tl.full({1, 4}, 0, tl::f32);
                tl.fill(row.cols(0, 1), static_cast<double>(tl.program_id(0)));
                tl.fill(row.cols(1, 1), static_cast<double>(tl.program_id(1)));
                tl.fill(row.cols(2, 1), static_cast<double>(tl.program_id(2)));
                tl.fill(row.cols(3, 1), static_cast<double>(tl.program()));
                tl.store(bound[0], row);
              },
              {out}, {{2, 2, 2}, pes});
  host.run();
  std::vector<double> expected;
  for (int i = 0; i < 8; ++i) {
    for (const int entry : {i / 4, i / 2 % 2, i % 2, i}) expected.push_back(entry);
  }
  EXPECT_EQ(host.read(out), expected);
}

// ---- refusals -----------------------------------------------------------------------------------

TEST(HostRefuses, TensorsThatAreNotRight) {
  Host host("refused", shipped("cube_8pe"), true);
  EXPECT_THAT(refusal([&] {
                host.from_values("x", {2, 3}, tl::f32, counting(5));
              }),
              AllOf(HasSubstr("tensor x (2, 3) has 6 entries and 5 values are given")));
  EXPECT_THAT(
      refusal([&] {
        host.empty("x", {2, 3}, tl::f32, split_rows(4, 2));
      }),
      AllOf(HasSubstr("the shard of x (2, 3) for program"), HasSubstr("reaches out of it")));
  EXPECT_THAT(refusal([&] {
                host.empty("x", {2, 3}, tl::f32, split_cols(2, 4, 1));
              }),
              HasSubstr("reaches out of it"));
  // A slice is 4.5 GiB.
  const auto whole = whole_on(Index{1} << 20, 3);
  EXPECT_THAT(
      refusal([&] {
        host.empty("big", {Index{1} << 20, 2048}, tl::f32, whole);
      }),
      AllOf(HasSubstr("the tensors on PE 3 need 8589934592 bytes"), HasSubstr("hbm.bytes")));
  // Nothing of them has been placed.
  EXPECT_EQ(host.empty("x", {4}, tl::f32)->parts.front().handle.addr, 0U);
}

TEST(HostRefuses, FilesThatAreNotRight) {
  const TemporaryFolder folder;
  runtime::FileTensors file;
  file["wide"] = {runtime::FileDType::f64, {4}, counting(4)};
  file["x"] = {runtime::FileDType::f32, {4}, counting(4)};
  runtime::write_safetensors(folder / "f", file);
  Host host("refused", shipped("cube_8pe"), true);
  EXPECT_THAT(refusal([&] { host.from_file(folder / "f", "wide"); }),
              AllOf(HasSubstr("tensor 'wide' has dtype F64"), HasSubstr("F16, BF16 or F32")));
  EXPECT_THAT(refusal([&] { host.from_file(folder / "f", "y"); }),
              AllOf(HasSubstr("no tensor 'y'"), HasSubstr("wide, x")));
  EXPECT_THAT(refusal([&] { host.from_file(folder / "missing", "x"); }), HasSubstr("missing"));
  EXPECT_EQ(host.from_file(folder / "f", "x")->spec.dtype, tl::f32);
}

TEST(HostRefuses, LaunchesThatAreNotRight) {
  Host host("refused", shipped("cube_8pe"), false);
  const auto nothing = [](tl::Context&, const Bound&) {};
  EXPECT_THAT(refusal([&] {
                host.launch("nine", nothing, {}, {{9, 1, 1}});
              }),
              AllOf(HasSubstr("nine: the grid of 9 x 1 x 1 programs"), HasSubstr("has 8")));
  EXPECT_THAT(refusal([&] { host.launch("none", nothing, {}, {{0, 1, 1}}); }), HasSubstr("none: "));
  for (const std::vector<std::uint32_t>& pes :
       {std::vector<std::uint32_t>{0, 8}, {1, 1}, {0}, {0, 1, 2}}) {
    EXPECT_THAT(refusal([&] {
                  host.launch("pes", nothing, {}, {{2, 1, 1}, pes});
                }),
                AllOf(HasSubstr("pes: the grid has 2 programs"), HasSubstr("of 0 to 7")));
  }
  // Its parts lie on PE 0 and PE 1.
  const auto x = host.empty("x", {2, 4}, tl::f32, split_rows(2, 2));
  EXPECT_THAT(
      refusal([&] {
        host.launch("apart", nothing, {x}, {{2, 1, 1}, {0, 5}});
      }),
      AllOf(HasSubstr("apart: program 1 runs on PE 5"), HasSubstr("its part of x lies on PE 1")));
  // What tl refuses, before anything runs.
  EXPECT_THAT(refusal([&] {
                host.launch("bad", [](tl::Context& tl, const Bound& bound) { tl.relu(bound[0]); },
                            {x}, {{1, 1, 1}});
              }),
              AllOf(HasSubstr("bad: "), HasSubstr("load it first")));
  EXPECT_THAT(refusal([&] {
                host.launch(
                    "far",
                    [](tl::Context& tl, const Bound&) { tl.send(2, tl.zeros({4}, tl::f32)); }, {},
                    {{2, 1, 1}});
              }),
              HasSubstr("far: "));
  // Nothing has been launched: nothing happens.
  host.run();
  EXPECT_EQ(host.end_ps(), 0U);
}

}  // namespace
}  // namespace kernbench::test
