// SPDX-License-Identifier: Apache-2.0
// Whole machines against one PE, against themselves, and their outputs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <tuple>
#include <vector>

#include "tests/support/in_child.hpp"
#include "tests/support/legal_run.hpp"
#include "tests/support/machine_bench.hpp"
#include "tests/support/program_order.hpp"
#include "tests/support/test_inputs.hpp"
#include "tests/support/vcd_reader.hpp"

namespace kernbench::test {
namespace {

using command::Index;

// ---- one PE of a machine in which nothing is shared
// -----------------------------------------------

const std::vector<std::pair<std::string, Settings>> kOnePeKernels{
    {"gqa_decode", {{"variant", "opt1"}, {"s_kv", "200"}}},
    {"gqa_decode", {{"variant", "opt2"}, {"s_kv", "200"}}},
    {"gqa_decode", {{"variant", "opt3"}, {"s_kv", "200"}}},
    {"gemm", {{"m", "16"}, {"k", "256"}, {"n", "256"}, {"a", "hbm"}, {"b", "hbm"}, {"out", "hbm"}}},
    {"state_merge", {}}};

std::string alone(const std::string& kernel, const Settings& settings) {
  return in_child([&] { return run_catalogue(shipped("single_pe"), kernel, settings).op_log; });
}

std::string on_machine(const std::string& topology, const std::vector<std::string>& sets,
                       const kernels::Kernel& kernel, const Settings& settings) {
  return in_child([&] {
    const arch::TopologyConfig config = shipped(topology, sets);
    return run_machine(config, runtime::Launch(kernel, settings, config)).op_log;
  });
}

/// The op log as it is when everything is `later` and on PE `pe`.
std::string moved(const std::string& op_log, std::uint64_t later, std::uint32_t pe) {
  constexpr std::size_t kTimes = 3, kPe = 3;
  const auto lines = split(op_log, '\n');
  std::string text(lines.front());
  for (auto line = lines.begin() + 1; line != lines.end(); ++line) {
    text += '\n';
    if (line->empty()) continue;  // after the last newline
    const auto columns = split(*line, ',');
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (i > 0) text += ',';
      text += i < kTimes ? std::to_string(std::stoull(std::string(columns[i])) + later)
              : i == kPe ? std::to_string(pe)
                         : std::string(columns[i]);
    }
  }
  return text;
}

kernels::Kernel on_pe(kernels::Kernel kernel, std::uint32_t pe) {
  kernel.make = [make = kernel.make, pe](const kernels::Parameters& parameters,
                                         const tl::Target& target) {
    kernels::Instance instance = make(parameters, target);
    instance.pes = {pe};
    return instance;
  };
  return kernel;
}

// The slice of a PE is 1024 / 8 GB/s and 36 GiB / 8: the HBM of single_pe.
TEST(OnePeOfAMachine, HasTheOpLogOfSinglePe) {
  for (const auto& [kernel, settings] : kOnePeKernels) {
    const std::string expected = alone(kernel, settings);
    ASSERT_GT(std::count(expected.begin(), expected.end(), '\n'), 10);
    for (const char* topology : {"single_pe", "cube_8pe", "llama70b_4sip"}) {
      EXPECT_EQ(on_machine(topology, {"pe.cpu.launch_ns=0"}, catalogue_kernel(kernel), settings),
                expected)
          << kernel << " on " << topology;
    }
  }
}

TEST(OnePeOfAMachine, IsLaterByTheLaunch) {
  for (const auto& [kernel, settings] : kOnePeKernels) {
    const std::string expected = moved(alone(kernel, settings), 500'000, 0);
    for (const char* topology : {"cube_8pe", "llama70b_4sip"}) {
      EXPECT_EQ(on_machine(topology, {}, catalogue_kernel(kernel), settings), expected)
          << kernel << " on " << topology;
    }
  }
}

// Whichever PE it is.
TEST(OnePeOfAMachine, IsTheSameOnEveryPe) {
  const auto& [kernel, settings] = kOnePeKernels[1];
  const std::string expected = alone(kernel, settings);
  for (const std::uint32_t pe : {7U, 8U, 77U, 127U}) {
    EXPECT_EQ(on_machine("llama70b_4sip", {}, on_pe(catalogue_kernel(kernel), pe), settings),
              moved(expected, 500'000, pe));
  }
}

// ---- HBM that is shared
// ---------------------------------------------------------------------------

// The bytes are where they were for the kernel, only the way to them is another.
TEST(InterleavedMachine, SplitDecodeHasTheNumbersOfPeLocal) {
  const Settings settings{{"s_kv", "1000"}, {"p", "8"}};
  const auto results = [&](const std::vector<std::string>& sets) {
    return in_child([&] {
      const arch::TopologyConfig topology = shipped("cube_8pe", sets);
      const runtime::Launch launched = launch(topology, "gqa_decode", settings);
      MachineRunOptions options;
      options.inputs = test_inputs(launched.instance());
      return text_of(run_machine(topology, launched, options).results);
    });
  };
  const std::string expected = results({});
  EXPECT_THAT(expected, testing::HasSubstr("out"));
  EXPECT_EQ(results({"hbm.map=interleaved"}), expected);
  EXPECT_EQ(results({"hbm.map=interleaved", "hbm.channels=16", "hbm.interleave_bytes=8192"}),
            expected);
}

/// ps from the first to the last read of `readers` PEs that load 64 KiB each, at once.
double reading_ps(Index readers, const std::vector<std::string>& sets) {
  return std::stod(in_child([&] {
    const arch::TopologyConfig topology = shipped("cube_8pe", sets);
    std::vector<std::uint32_t> pes;
    for (Index i = 0; i < readers; ++i) pes.push_back(static_cast<std::uint32_t>(i));
    const kernels::Kernel kernel = by_hand(pes, [](tl::Context& tl) {
      tl.load(tl.ref(static_cast<command::Address>(tl.program()) * 65536, {32768}, tl::f16));
    });
    MachineRunOptions options;
    options.check_hazards = false;  // nobody has filled the HBM
    const MachineRun run = run_machine(topology, runtime::Launch(kernel, {}, topology), options);
    std::uint64_t first = ~std::uint64_t{0}, last = 0;
    for (const OpLogRow& row : run.rows) {
      if (row.stage != "dma_read") continue;
      first = std::min(first, row.start);
      last = std::max(last, row.done);
    }
    return std::to_string(last - first);
  }));
}

// A stack of 64 GB/s behind a NoC of a burst a cycle is what bounds: its channels always have a
// burst to serve, but for a setup of 16, a latency of 100 and ways of less than 100 ns at the ends.
// So the readers together get 64 GB/s, however many they are.
TEST(InterleavedMachine, ReadersTogetherHaveTheBandwidthOfTheStack) {
  for (const Index readers : {1, 2, 8}) {
    const double stack_ps = 65536.0 * static_cast<double>(readers) * 1000 / 64;
    const double ps =
        reading_ps(readers, {"hbm.map=interleaved", "hbm.gbps=64", "noc.bytes_per_cycle=4096",
                             "pe.dma.max_outstanding_bytes=65536"});
    EXPECT_GE(ps, stack_ps) << readers;
    EXPECT_LE(ps, stack_ps + 216'000) << readers;
  }
}

// At 1024 GB/s a single reader gets what its link out of the mesh carries, 64 B in 1 ns; a burst of
// the stack takes 32.
TEST(InterleavedMachine, OneReaderHasTheBandwidthOfItsLink) {
  const double ps = reading_ps(1, {"hbm.map=interleaved"});
  EXPECT_GE(ps, 65536.0 * 1000 / 64);
  EXPECT_LE(ps, 65536.0 * 1000 / 64 + 248'000);
}

/// Each of eight PEs loads a burst of its part of a tensor, the first or that of channel i: when
/// the last is done.
std::uint64_t eight_bursts_ps(bool of_own_channel) {
  return std::stoull(in_child([&] {
    constexpr Index kBurst = 2048;  // entries of f16 in 4096 bytes
    runtime::Host host("host", shipped("cube_8pe", {"hbm.map=interleaved"}), false);
    const auto x = host.empty("x", {8, 8 * kBurst}, tl::f16, kernels::split_rows(8, 8));
    host.launch("read",
                [&](tl::Context& tl, const std::vector<tl::Tensor>& bound) {
                  tl.load(bound[0].cols(of_own_channel ? tl.program() * kBurst : 0, kBurst));
                },
                {x}, {{8, 1, 1}});
    host.run();
    return std::to_string(host.end_ps());
  }));
}

// The parts of the host begin on channel 0, all of them. A launch and a dispatch, 16 setup, a
// request of a flit over 2 * 5 cycles, 32 of the channel and 100; then the link out of the channel
// has eight answers of 64 cycles. The last goes to PE 7, which is four hops away, as its request
// has come last. On channels of their own, each beside its PE, nobody waits.
TEST(InterleavedMachine, PartsOfTheHostBeginOnOneChannel) {
  constexpr std::uint64_t kAtTheLink = 500'000 + 41'313 + 16'000 + 11'000 + 132'000;
  EXPECT_EQ(eight_bursts_ps(false), kAtTheLink + (7 * 64 + 2 * 5 + 4 * 8 + 64) * 1000);
  EXPECT_EQ(eight_bursts_ps(true), kAtTheLink + (2 * 5 + 64) * 1000);
}

// ---- the same again
// -------------------------------------------------------------------------------

struct Outputs {
  std::string op_log, summary;
};

/// What runs, and how large it is at least.
struct Repeated {
  std::string topology;
  std::vector<std::string> sets;
  kernels::Kernel kernel;
  Settings settings;
  std::int64_t rows = 1000;
};

Outputs outputs(const Repeated& repeated, bool data, bool reversed) {
  constexpr char kSeparator = '\x1e';
  const std::string text = in_child([&] {
    const arch::TopologyConfig topology = shipped(repeated.topology, repeated.sets);
    const runtime::Launch launched(repeated.kernel, repeated.settings, topology);
    MachineRunOptions options;
    if (data) options.inputs = test_inputs(launched.instance());
    options.reverse_creation = reversed;
    const MachineRun run = run_machine(topology, launched, options);
    return run.op_log + kSeparator + run.summary;
  });
  const std::size_t end = text.find(kSeparator);
  return {text.substr(0, end), text.substr(end + 1)};
}

void expect_deterministic(const Repeated& repeated) {
  const Outputs expected = outputs(repeated, true, false);
  EXPECT_GT(std::count(expected.op_log.begin(), expected.op_log.end(), '\n'), repeated.rows);
  for (const bool reversed : {false, true}) {
    const Outputs again = outputs(repeated, true, reversed);
    EXPECT_TRUE(again.op_log == expected.op_log) << "reversed " << reversed;
    EXPECT_EQ(again.summary, expected.summary) << "reversed " << reversed;
  }
  EXPECT_TRUE(outputs(repeated, false, false).op_log == expected.op_log) << "R8.3";
}

/// On llama70b_4sip.
void expect_deterministic(const std::string& kernel, const Settings& settings) {
  expect_deterministic({"llama70b_4sip", {}, catalogue_kernel(kernel), settings});
}

/// The same kernel on every PE of one cube, each program with all of its tensors: the PEs ask the
/// channels for their bursts in the same instants.
kernels::Kernel on_each_pe(kernels::Kernel kernel) {
  kernel.make = [make = kernel.make](const kernels::Parameters& parameters,
                                     const tl::Target& target) {
    kernels::Instance instance = make(parameters, target);
    instance.grid = {target.pes_per_cube, 1, 1};
    return instance;
  };
  return kernel;
}

// Over two SIPs.
TEST(Determinism, AllReduceRing) {
  expect_deterministic("all_reduce", {{"n", "1024"}, {"programs", "48"}});
}
TEST(Determinism, AllReduceTree) {
  expect_deterministic("all_reduce", {{"n", "1024"}, {"algorithm", "tree"}});
}
TEST(Determinism, AllGather) { expect_deterministic("all_gather", {{"n", "64"}}); }
// Four heads, each of 32 PEs: all 128.
TEST(Determinism, SplitDecode) {
  expect_deterministic("gqa_decode", {{"s_kv", "2500"}, {"kv_heads", "4"}, {"c", "4"}, {"p", "8"}});
}
TEST(Determinism, SplitDecodeChain) {
  expect_deterministic("gqa_decode", {{"s_kv", "700"},
                                      {"kv_heads", "8"},
                                      {"c", "2"},
                                      {"p", "8"},
                                      {"variant", "opt3"},
                                      {"merge", "chain"}});
}
const Settings kSmallLlama{{"hidden", "256"}, {"heads", "16"},  {"kv_heads", "8"}, {"d", "32"},
                           {"ffn", "512"},    {"s_kv", "1000"}, {"tile", "32"}};
TEST(Determinism, LlamaLayer) { expect_deterministic("llama_layer", kSmallLlama); }
TEST(Determinism, LlamaLayerWithARing) {
  Settings settings = kSmallLlama;
  settings.emplace_back("all_reduce", "ring");
  expect_deterministic("llama_layer", settings);
}
TEST(Determinism, InterleavedSplitDecode) {
  expect_deterministic({"llama70b_4sip",
                        {"hbm.map=interleaved"},
                        catalogue_kernel("gqa_decode"),
                        {{"s_kv", "2500"}, {"kv_heads", "4"}, {"c", "4"}, {"p", "8"}}});
}
// More channels than PEs, and small bursts.
TEST(Determinism, InterleavedGemms) {
  expect_deterministic(
      {"cube_8pe",
       {"hbm.map=interleaved", "hbm.channels=16", "hbm.interleave_bytes=4096",
        "pe.dma.burst_bytes=512"},
       on_each_pe(catalogue_kernel("gemm")),
       {{"m", "24"}, {"k", "300"}, {"n", "300"}, {"a", "hbm"}, {"b", "hbm"}, {"out", "hbm"}},
       500});
}

// ---- waveform of chosen PEs
// -----------------------------------------------------------------------

using Interval = std::tuple<std::string, std::uint64_t, std::uint64_t, std::int64_t>;

TEST(Waveform, ShowsTheIntervalsOfTheChosenPes) {
  const arch::TopologyConfig topology = shipped("llama70b_4sip");
  MachineRunOptions options;
  options.vcd_pes = {0, 11};
  const MachineRun run = run_machine(
      topology, launch(topology, "gqa_decode", {{"s_kv", "2500"}, {"c", "2"}, {"p", "8"}}),
      options);
  const VcdFile vcd = parse_vcd(run.vcd);
  const std::vector<std::pair<std::uint32_t, std::string>> chosen{{0, "sip0.cube0.pe0"},
                                                                  {11, "sip0.cube1.pe3"}};
  for (const auto& [pe, name] : chosen) {
    std::vector<Interval> expected, found;
    for (const OpLogRow& row : run.rows) {
      if (row.pe == pe) expected.emplace_back(row.engine, row.start, row.end, row.cmd);
    }
    for (const std::string engine :
         {"cpu", "scheduler", "dma_rd", "dma_wr", "tcm", "gemm", "math", "ipcq"}) {
      for (const VcdStage& stage : vcd.stages(std::string(name).append(".").append(engine))) {
        found.emplace_back(engine, stage.start, stage.end, stage.cmd);
      }
    }
    std::sort(expected.begin(), expected.end());
    std::sort(found.begin(), found.end());
    EXPECT_GT(expected.size(), 50U) << name;
    EXPECT_EQ(found, expected) << name;
  }
  for (const auto& [path, variable] : vcd.variables) {
    EXPECT_THAT(path, testing::AnyOf(testing::StartsWith("sip0.cube0.pe0."),
                                     testing::StartsWith("sip0.cube1.pe3."),
                                     testing::StartsWith("sip0.cube0.hbm."),
                                     testing::StartsWith("sip0.cube1.hbm.")));
  }
}

// ---- memory
// ---------------------------------------------------------------------------------------

// 128 PEs, eight KV heads of 131,072 tokens, 16 PEs each: one layer of attention.
TEST(Footprint, ALayerOfAttentionOn128PesTakesAtMost2GiB) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the address sanitizer keeps freed memory";
#endif
  const std::string kib = in_child([] {
    const arch::TopologyConfig topology = shipped("llama70b_4sip");
    const runtime::Launch launched =
        launch(topology, "gqa_decode",
               {{"s_kv", "131072"}, {"kv_heads", "8"}, {"g", "8"}, {"c", "2"}, {"p", "8"}});
    EXPECT_EQ(launched.programs(), 128);
    runtime::RunRequest request;
    request.launch = &launched;
    request.paths.op_log = "/dev/null";
    const auto results = runtime::simulate(topology, {}, {request});
    // 128 tiles a PE (contract 13).
    for (const runtime::Phase& phase : results[0].phases) {
      if (phase.name != "loop") continue;
      EXPECT_EQ(phase.longest_ps, 365'375U + 478'000U * 127 + 378'000U);
    }
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return std::to_string(usage.ru_maxrss);
  });
  EXPECT_LE(std::stoull(kib), 2ULL << 20);
}

}  // namespace
}  // namespace kernbench::test
