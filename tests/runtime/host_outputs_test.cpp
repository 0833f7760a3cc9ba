// SPDX-License-Identifier: Apache-2.0
// The outputs of a host program: those of the command line for the same kernel, complete, or none;
// what its errors say; what data mode takes of the host's memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/host.hpp"
#include "runtime/run.hpp"
#include "tests/cosim/own_design.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/machine_bench.hpp"
#include "tests/support/op_log_diff.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/test_inputs.hpp"

namespace kernbench::test {
namespace {

using nlohmann::ordered_json;
using runtime::Host;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;
using Bound = std::vector<tl::Tensor>;

/// A fill and its store, `count` times.
runtime::KernelLaunch::Body fills(int count) {
  return [count](tl::Context& tl, const Bound& bound) {
    for (int i = 0; i < count; ++i) tl.store(bound[0], tl.full({64}, i, tl::f32));
  };
}

// ---- files --------------------------------------------------------------------------------------

/// The files of a kernel of the catalogue, run as the command line does.
std::string by_command_line(const arch::TopologyConfig& topology, const runtime::Launch& launched,
                            const kernels::HostTensors& inputs) {
  return in_child([&] {
    const TemporaryFolder folder;
    runtime::RunRequest request;
    request.launch = &launched;
    request.inputs = &inputs;
    static_cast<runtime::StagePaths&>(request.paths) = paths_in(folder);
    runtime::simulate(topology, {}, {request});
    return files_in(folder);
  });
}

/// The same kernel, its tensors placed and launched by hand.
std::string by_host(const arch::TopologyConfig& topology, const runtime::Launch& launched,
                    const kernels::HostTensors& inputs) {
  return in_child([&] {
    const TemporaryFolder folder;
    const kernels::Instance& instance = launched.instance();
    const std::vector<std::uint32_t>& pes = launched.launch().pes();
    Host host("by_hand", topology, true, paths_in(folder));
    std::vector<runtime::DeviceTensor> tensors;
    for (const kernels::TensorSpec& spec : instance.tensors) {
      tensors.push_back(spec.direction == kernels::Direction::in
                            ? host.from_values(spec.name, spec.shape, spec.dtype,
                                               inputs.at(spec.name), spec.shard, pes)
                            : host.empty(spec.name, spec.shape, spec.dtype, spec.shard, pes));
    }
    host.launch("by hand", instance.body, tensors, {instance.grid, instance.pes});
    host.run();
    host.finish();
    return files_in(folder);
  });
}

TEST(HostOutputs, AreThoseOfTheCommandLine) {
  struct Case {
    std::string topology, kernel;
    Settings settings;
  };
  const std::vector<Case> cases{
      {"single_pe", "gemm", {{"m", "20"}, {"k", "300"}, {"n", "150"}, {"out", "hbm"}}},
      {"cube_8pe", "gqa_decode", {{"s_kv", "300"}, {"p", "4"}, {"d", "32"}}}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.kernel);
    const arch::TopologyConfig topology = shipped(c.topology);
    const runtime::Launch launched = launch(topology, c.kernel, c.settings);
    const kernels::HostTensors inputs = test_inputs(launched.instance());
    const std::string expected = by_command_line(topology, launched, inputs);
    const std::string files = by_host(topology, launched, inputs);
    for (const std::string name : {"op_log.csv", "waves.vcd", "trace.json"}) {
      EXPECT_THAT(file_of(files, name), HasSubstr("gemm")) << name;
      EXPECT_TRUE(file_of(files, name) == file_of(expected, name))
          << name << op_log_diff(file_of(files, name), file_of(expected, name));
    }
    auto summary = ordered_json::parse(file_of(expected, "summary.json"));
    // What a host program cannot know: which kernel it is, and its own speed.
    for (const char* key :
         {"kernel", "params", "seed", "dispatch_cycles_per_tile", "tcm", "numerics", "host"}) {
      EXPECT_EQ(summary.erase(key), 1U) << key;
    }
    EXPECT_EQ(ordered_json::parse(file_of(files, "summary.json")).dump(2), summary.dump(2));
  }
}

// Two launches: every row that the statistics count is in the file, and in that of a sink of one's
// own. What comes after finish() is in neither.
TEST(HostOutputs, HaveEveryRowOfEveryLaunch) {
  const TemporaryFolder folder;
  Host host("host", shipped("cube_8pe"), true, {folder / "op_log.csv", {}, {}, {}});
  record::OpLog own(folder / "own.csv");
  host.design().recorder.add_sink(own);
  const auto y = host.empty("y", {64}, tl::f32);
  for (const int count : {3, 5}) host.launch("fills", fills(count), {y}, {{2, 1, 1}});
  host.run();
  host.finish();
  const std::string op_log = read_file(folder / "op_log.csv");
  EXPECT_EQ(read_file(folder / "own.csv"), op_log);
  const std::vector<OpLogRow> rows = parse_op_log(op_log);
  EXPECT_EQ(rows.size(), host.design().recorder.statistics().rows());
  // A program of n has n fills and n stores; two programs.
  EXPECT_EQ(select(rows, [](const OpLogRow& row) { return row.stage == "dispatch"; }).size(),
            2U * 2 * (3 + 5));
  EXPECT_EQ(rows.back().done, host.end_ps());

  host.launch("later", fills(1), {y}, {{8, 1, 1}});
  host.run();
  host.finish();
  EXPECT_EQ(read_file(folder / "op_log.csv"), op_log);
  EXPECT_EQ(host.read(y), std::vector<double>(64, 0));
}

TEST(HostOutputs, AreThereWhenAllIsOverOrNotAtAll) {
  const TemporaryFolder folder;
  EXPECT_THAT(refusal([&] {
                Host("none", shipped("single_pe"), false, {folder / "no/op_log.csv", {}, {}, {}});
              }),
              HasSubstr("cannot write"));
  EXPECT_THAT(refusal([&] {
                Host("same", shipped("single_pe"), false, {folder / "f", folder / "f", {}, {}});
              }),
              HasSubstr("op_log and vcd name the same file"));
  {
    Host host("early", shipped("single_pe"), false, paths_in(folder));
    host.launch("fills", fills(1), {host.empty("y", {64}, tl::f32)}, {{1, 1, 1}});
    EXPECT_EQ(refusal([&] { host.finish(); }),
              "early: finish() comes before run() has brought every launch to its end, and no file "
              "is written; call run() first");
    host.run();
  }
  EXPECT_THAT(folder.names(), IsEmpty());
}

// ---- errors -------------------------------------------------------------------------------------

// Program 0 waits for a message that program 1, which has returned, never sends. The first line
// stands alone: it says who waits for what, and points to no place that who prints it does not see.
TEST(HostErrors, WhatIsCompleteAndDetailHasAllWaits) {
  Host host("stops", shipped("cube_8pe"), false);
  host.launch("half",
              [](tl::Context& tl, const Bound&) {
                if (tl.program() == 0) tl.recv(1, tl.empty({16}, tl::f32), 2);
              },
              {}, {{2, 1, 1}});
  try {
    host.run();
    ADD_FAILURE() << "came to its end";
  } catch (const runtime::SimulationError& error) {
    EXPECT_THAT(error.what(),
                AllOf(StartsWith("stops stopped at "), Not(HasSubstr("below")),
                      HasSubstr("check sends and receives, and the memory behind the PE; pe0: "
                                "command 0 (recv) waits for a message from pe1 on channel 2 (and "
                                "1 more wait)")));
    EXPECT_EQ(error.detail(),
              "pe0: command 0 (recv) waits for a message from pe1 on channel 2\n"
              "pe1: kernel has returned: nobody will send to pe0 on channel 2\n");
  }
  EXPECT_THAT(refusal([&] { host.finish(); }), HasSubstr("no file is written"));
}

// ---- memory -------------------------------------------------------------------------------------

std::uint64_t peak_bytes(bool data) {
  return std::stoull(in_child([data] {
           const arch::TopologyConfig topology = shipped("cube_8pe");
           const runtime::Launch launched =
               launch(topology, "gqa_decode",
                      {{"s_kv", "8192"}, {"kv_heads", "8"}, {"g", "1"}, {"p", "8"}});
           kernels::HostTensors inputs;
           if (data) inputs = runtime::synthetic_inputs(launched.instance().tensors, 0);
           runtime::RunRequest request;
           request.launch = &launched;
           if (data) request.inputs = &inputs;
           const auto results = runtime::simulate(topology, {}, {request});
           EXPECT_EQ(results[0].numerics.has_value(), data);
           rusage usage{};
           getrusage(RUSAGE_SELF, &usage);
           return std::to_string(usage.ru_maxrss);
         }))
         << 10;
}

// n entries: 8 bytes each for the reference in float64, and 2 bytes once as f16, in HBM or on their
// way there; 2 more are for the allocator. A second copy in float64 would be 18 n.
TEST(DataMode, InputsAreThereOnce) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the address sanitizer keeps freed memory";
#endif
  constexpr std::uint64_t kEntries = 2ULL * 8 * 8192 * 128;  // k and v
  const std::uint64_t timing = peak_bytes(false), data = peak_bytes(true);
  EXPECT_GT(data, timing + 8 * kEntries);
  EXPECT_LT(data, timing + (8 + 2 + 2) * kEntries);
}

}  // namespace
}  // namespace kernbench::test
