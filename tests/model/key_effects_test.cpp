// SPDX-License-Identifier: Apache-2.0
// Every key of a topology does something (docs/field_cases.md, 31). A number, halved and doubled on
// a kernel that uses what it describes, moves a reported number the way its meaning says, or its
// meaning says that it has no timing effect and nothing moves. Each choice gives an op log of its
// own. Of a key that needs several PEs, or an HBM that they share, this says that without them
// nothing moves. The table of keys is iterated, so a new key without a probe fails.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "model/arch/topology_file.hpp"
#include "model/arch/topology_keys.hpp"
#include "tests/model/raw_commands.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/kernel_bench.hpp"
#include "tl/tl.hpp"
#include "tlm_if/command/error.hpp"

namespace kernbench::test {
namespace {

using command::OpKind;
using tl::Tensor;

using Sets = std::vector<std::string>;
using Run = std::function<BenchResult(const arch::TopologyConfig&)>;
using Figure = std::function<std::uint64_t(const BenchResult&)>;

// ---- kernels that use one resource --------------------------------------------------------------

Run catalogue(const std::string& kernel, const Settings& settings) {
  return [=](const arch::TopologyConfig& topology) {
    return run_catalogue(topology, kernel, settings);
  };
}
Run body(const std::function<void(tl::Context&)>& kernel, bool expects_hazards = false) {
  return [=](const arch::TopologyConfig& topology) {
    BenchOptions options;
    options.expects_hazards = expects_hazards;
    const auto issue = [&](command::CommandSink& sink) {
      tl::Context tl(runtime::make_target(topology), sink);
      kernel(tl);
    };
    return run_kernel(topology, issue, options);
  };
}

/// All operands in HBM.
Run streamed_gemm(const std::string& m, const std::string& k, const std::string& n) {
  return catalogue("gemm",
                   {{"m", m}, {"k", k}, {"n", n}, {"a", "hbm"}, {"b", "hbm"}, {"out", "hbm"}});
}
Run one_gemm() { return streamed_gemm("8", "128", "64"); }
Run fill() {
  return body([](tl::Context& tl) { tl.zeros({8192}, tl::f32); });
}
Run fills_of_one_tensor() {
  return body([](tl::Context& tl) {
    const Tensor x = tl.empty({8192}, tl::f32);
    for (int i = 0; i < 32; ++i) tl.fill(x, i);
  });
}
Run load(tl::Index bytes) {
  return body([bytes](tl::Context& tl) { tl.load(tl.ref(0, {bytes / 2}, tl::f16)); });
}
Run small_loads() {
  return body([](tl::Context& tl) {
    for (int i = 0; i < 32; ++i) tl.load(tl.ref(0, {32}, tl::f16));
  });
}
Run small_stores() {
  return body([](tl::Context& tl) {
    const Tensor x = tl.zeros({32}, tl::f16);
    tl.wait({x});
    for (command::Address i = 0; i < 32; ++i) tl.store(tl.ref(i * 64, {32}, tl::f16), x);
  });
}
Run independent_composites() {
  return body([](tl::Context& tl) {
    const Tensor a = tl.zeros({8, 128}, tl::f16);
    for (command::Address i = 0; i < 8; ++i) {
      tl.composite(tl::gemm(a, tl.ref(i * 16384, {128, 64}, tl::f16)));
    }
  });
}

/// One MATH stage of that op over 64 x 64 entries.
Run one_op(OpKind kind) {
  return [kind](const arch::TopologyConfig& topology) {
    const command::OpInfo& info = command::op_info(kind);
    return run_kernel(topology, [&](command::CommandSink& sink) {
      const auto matrix = [](command::Address i) { return tcm(i * 8192, {64, 64}); };
      if (!info.kernel_form) {  // only on the accumulator of a gemm
        command::OpSpec spec = add(matrix(2), tcm(3 * 8192, command::Shape{64}));
        spec.kind = kind;
        sink.issue(composite({gemm(matrix(0), matrix(1), matrix(2)), spec}));
        return;
      }
      command::OpSpec spec;
      spec.kind = kind;
      const bool vector =
          info.shape == command::OpShape::row_vector || info.shape == command::OpShape::col_vector;
      for (std::size_t i = 0; i < info.operands.size(); ++i) {
        const auto place = static_cast<command::Address>(i);
        spec.operands.push_back(
            {*(info.operands.begin() + i),
             vector && i > 0 ? tcm(place * 8192, command::Shape{64}) : matrix(place)});
      }
      for (const command::ExtraInfo& extra : info.extras) {
        if (!extra.required) continue;
        spec.extras.push_back(extra.type == command::ExtraType::f32
                                  ? command::Extra::f32(extra.name, 1)
                                  : command::Extra::u32(extra.name, 1));
      }
      spec.has_out = true;
      spec.out =
          info.shape == command::OpShape::reduce_row ? tcm(32768, command::Shape{64}) : matrix(4);
      sink.issue(command::MathCmd{spec});
    });
  };
}

// ---- what a key should do -----------------------------------------------------------------------

std::uint64_t end_ps(const BenchResult& result) { return result.end_ps; }
std::uint64_t cpu_busy_ps(const BenchResult& result) {
  return result.statistics.pes()[0].engines[static_cast<std::size_t>(arch::Engine::cpu)].busy_ps;
}
std::uint64_t queue_stall_ps(const BenchResult& result) {
  return result.statistics.pes()[0].stalls.queue_ps;
}

enum class Larger : std::uint8_t { takes_less, takes_more, changes_nothing };

struct Probe {
  Larger larger;
  Run run;
  Sets base = {};  ///< where the default is 0, has no double, or hides what the key does
  Figure figure = end_ps;
};

std::map<std::string, Probe> probes() {
  constexpr auto kLess = Larger::takes_less, kMore = Larger::takes_more;
  const Sets systolic{"pe.gemm.model=systolic_ws"};
  std::map<std::string, Probe> probes{
      {"pe.clock_ghz", {kLess, one_gemm()}},
      {"pe.pe_cost_model.fixed_cycles", {kMore, catalogue("dispatch", {{"commands", "20"}})}},
      {"pe.pe_cost_model.cycles_per_byte", {kMore, catalogue("dispatch", {{"commands", "20"}})}},
      // 322 bytes are 6, 3 and 2 segments.
      {"pe.pe_cost_model.max_composite_logical_bytes",
       {kLess,
        catalogue("gqa_decode", {{"s_kv", "128"}}),
        {"pe.pe_cost_model.max_composite_logical_bytes=128"},
        cpu_busy_ps}},
      // 128 cycles each, dispatched in 41, and each waits for the one before (R6.12).
      {"pe.cpu.cmd_queue_depth",
       {kLess, fills_of_one_tensor(), {"pe.cpu.cmd_queue_depth=4"}, queue_stall_ps}},
      // Contract 13: 2640 ns to the last GEMM with two buffers, 2472 with more.
      {"pe.scheduler.tile_buffers",
       {kLess,
        catalogue("gemm", {{"n", "1024"}}),
        {"pe.scheduler.tile_buffers=2", "pe.gemm.tile_n=64"}}},
      {"pe.scheduler.max_inflight_composites",
       {kLess,
        independent_composites(),
        {"pe.scheduler.max_inflight_composites=2", "hbm.latency_ns=1000"}}},
      {"pe.dma.read_channels",
       {kLess, small_loads(), {"pe.dma.read_channels=2", "pe.dma.setup_cycles=400"}}},
      {"pe.dma.write_channels",
       {kLess, small_stores(), {"pe.dma.write_channels=2", "pe.dma.setup_cycles=400"}}},
      {"pe.dma.setup_cycles", {kMore, one_gemm()}},
      // 4, 2 and 1 bursts outstanding: a window of 4096 bytes costs one burst and the latency.
      {"pe.dma.burst_bytes",
       {kMore, load(65536), {"pe.dma.burst_bytes=2048", "pe.dma.max_outstanding_bytes=4096"}}},
      {"pe.dma.max_outstanding_bytes",
       {kLess, load(65536), {"pe.dma.burst_bytes=1024", "pe.dma.max_outstanding_bytes=4096"}}},
      {"pe.dma.bus_bytes", {Larger::changes_nothing, one_gemm()}},
      {"pe.watchdog_ns", {Larger::changes_nothing, one_gemm(), {"pe.watchdog_ns=1000"}}},
      {"pe.cpu.launch_ns", {kMore, one_gemm(), {"pe.cpu.launch_ns=500"}}},
      {"pe.ipcq.channels", {Larger::changes_nothing, one_gemm()}},
      {"pe.tcm.bytes", {Larger::changes_nothing, one_gemm(), {"pe.tcm.bytes=2097152"}}},
      {"pe.tcm.bytes_per_cycle", {kLess, one_gemm()}},
      {"pe.tcm.scratch_bytes", {Larger::changes_nothing, one_gemm()}},
      {"pe.gemm.block_m", {kLess, one_gemm(), {"pe.gemm.block_m=4"}}},
      {"pe.gemm.block_k", {kLess, one_gemm()}},
      {"pe.gemm.block_n", {kLess, one_gemm()}},
      {"pe.gemm.rows", {kLess, one_gemm(), systolic}},
      {"pe.gemm.cols", {kLess, one_gemm(), systolic}},
      {"pe.gemm.fill_cycles", {kMore, one_gemm(), {"pe.gemm.fill_cycles=8"}}},
      // Fewer tiles: b is read less often; fewer setups.
      {"pe.gemm.tile_m", {kLess, streamed_gemm("64", "128", "128")}},
      {"pe.gemm.tile_k", {kLess, streamed_gemm("8", "8192", "128")}},
      {"pe.gemm.tile_n", {kLess, streamed_gemm("8", "128", "8192")}},
      {"pe.math.lanes", {kLess, fill()}},
      {"pe.math.fixed_cycles", {kMore, fill(), {"pe.math.fixed_cycles=8"}}},
      {"hbm.gbps", {kLess, one_gemm()}},
      {"hbm.latency_ns", {kMore, one_gemm()}},
      {"hbm.efficiency", {kLess, one_gemm(), {"hbm.efficiency=0.5"}}},
      {"hbm.bytes", {Larger::changes_nothing, one_gemm()}},
  };
  for (int i = 0; i < command::kOpKinds; ++i) {
    const auto kind = static_cast<OpKind>(i);
    if (kind == OpKind::gemm) continue;
    probes.insert({fmt::format("{}.{}", arch::kOpRateSection, command::to_string(kind)),
                   {kLess, one_op(kind)}});
  }
  return probes;
}

/// How many PEs there are, not what one of them does.
const std::set<std::string> kSizes{"sips", "cubes_per_sip", "pes_per_cube"};

/// Keys of what one PE with its own HBM does not have, and what to set where half is no value.
std::map<std::string, Sets> needs_several_pes() {
  return {{"pe.ipcq.depth", {}},
          {"pe.ipcq.slot_bytes", {}},
          {"pe.ipcq.send_cycles", {}},
          {"pe.ipcq.recv_cycles", {}},
          {"hbm.channels", {}},
          {"hbm.interleave_bytes", {}},
          {"noc.cols", {}},
          {"noc.rows", {}},
          {"noc.bytes_per_cycle", {}},
          {"noc.hop_cycles", {}},
          {"noc.niu_cycles", {"noc.niu_cycles=4"}},
          {"d2d.gbps", {}},
          {"d2d.latency_ns", {}},
          {"sip_link.gbps", {}},
          {"sip_link.latency_ns", {}}};
}

struct Outcome {
  std::uint64_t figure = 0;
  std::string op_log;
};

Outcome measure(const Probe& probe, const Sets& sets) {
  const std::string text = in_child([&] {
    const BenchResult result = probe.run(arch::load_topology("name: probe", "probe.yaml", sets));
    return std::to_string(probe.figure(result)) + '\n' + result.op_log;
  });
  return {std::stoull(text), text.substr(text.find('\n') + 1)};
}

/// The same with a multiple of what `probe.base` gives that key.
Outcome measure(const Probe& probe, const arch::TopologyKey& key, double factor) {
  const arch::TopologyConfig base = arch::load_topology("name: probe", "probe.yaml", probe.base);
  Sets sets = probe.base;
  sets.erase(std::remove_if(
                 sets.begin(), sets.end(),
                 [&](const std::string& set) { return set.substr(0, set.find('=')) == key.path; }),
             sets.end());
  sets.push_back(fmt::format("{}={}", key.path, std::stod(key.print(base)) * factor));
  return measure(probe, sets);
}

TEST(KeyEffects, EveryNumberDoesWhatItsMeaningSays) {
  std::map<std::string, Probe> left = probes();
  const std::map<std::string, Sets> elsewhere = needs_several_pes();
  for (const arch::TopologyKey& key : arch::topology_keys()) {
    SCOPED_TRACE(key.path);
    if (!key.number || elsewhere.count(key.path) != 0 || kSizes.count(key.path) != 0) continue;
    const auto found = left.find(key.path);
    ASSERT_NE(found, left.end()) << "no probe says what this key does";
    const Probe& probe = found->second;
    const Outcome half = measure(probe, key, 0.5), same = measure(probe, key, 1),
                  twice = measure(probe, key, 2);
    const bool says_nothing = key.meaning.find("no timing effect") != std::string::npos;
    EXPECT_EQ(probe.larger == Larger::changes_nothing, says_nothing) << key.meaning;
    if (probe.larger == Larger::takes_less) {
      EXPECT_GT(half.figure, same.figure);
      EXPECT_GT(same.figure, twice.figure);
    } else if (probe.larger == Larger::takes_more) {
      EXPECT_LT(half.figure, same.figure);
      EXPECT_LT(same.figure, twice.figure);
    } else {
      EXPECT_EQ(half.op_log, same.op_log);
      EXPECT_EQ(twice.op_log, same.op_log);
    }
    left.erase(found);
  }
  for (const auto& [path, probe] : left) ADD_FAILURE() << path << " is no key";
}

// Without several PEs, or an HBM that is shared, these keys do nothing, and their meaning says so.
TEST(KeyEffects, OnePeWithItsOwnHbmHasNoNetwork) {
  Probe probe{Larger::changes_nothing, one_gemm()};
  const std::string expected = measure(probe, Sets{}).op_log;
  for (const auto& [path, base] : needs_several_pes()) {
    SCOPED_TRACE(path);
    const arch::TopologyKey* key = arch::find_topology_key(path);
    ASSERT_NE(key, nullptr);
    EXPECT_THAT(key->meaning, testing::AnyOf(testing::HasSubstr("; no effect with one "),
                                             testing::HasSubstr("(map interleaved only)")));
    probe.base = base;
    EXPECT_EQ(measure(probe, *key, 0.5).op_log, expected);
    EXPECT_EQ(measure(probe, *key, 2).op_log, expected);
  }
}

// ---- keys that are no numbers -------------------------------------------------------------------

/// The second fill, dispatched in less than the 128 cycles of the first, waits for that; if
/// everything is to drain, for the gemm before them too.
Run conflict_beside_a_long_gemm() {
  return body([](tl::Context& tl) {
    tl.composite(tl::gemm(tl.empty({8, 128}, tl::f16), tl.ref(0, {128, 1024}, tl::f16)));
    const Tensor x = tl.empty({8192}, tl::f32);
    tl.fill(x, 0);
    tl.fill(x, 1);
  });
}
/// The second composite reads what the first writes; no rw handle says so.
Run chained_composites() {
  return body(
      [](tl::Context& tl) {
        const Tensor a = tl.empty({8, 128}, tl::f16);
        const Tensor y = tl.composite(tl::gemm(a, tl.ref(0, {128, 128}, tl::f16)));
        tl.composite(tl::gemm(y, tl.ref(32768, {128, 128}, tl::f16)));
      },
      true);
}
Run streamed_head() {
  return body([](tl::Context& tl) {
    tl.composite(tl::math("relu", {{"src", tl.ref(0, {8, 128}, tl::f16)}}));
  });
}

/// What a run shows: its op log, or why `tl` refuses the kernel.
std::string shown(const Run& run, const Sets& sets) {
  return in_child([&]() -> std::string {
    try {
      return run(arch::load_topology("name: probe", "probe.yaml", sets)).op_log;
    } catch (const InputError& error) {
      return error.what();
    }
  });
}

std::map<std::string, Run> choice_probes() {
  return {{"pe.scheduler.rw_policy", conflict_beside_a_long_gemm()},
          {"pe.scheduler.rw_match", chained_composites()},
          {"pe.scheduler.math_head_from_hbm", streamed_head()},  // refused without
          {"pe.dma.port", one_gemm()},
          {"pe.gemm.model", one_gemm()}};
}

TEST(KeyEffects, EveryChoiceShowsInTheOpLog) {
  auto left = choice_probes();
  for (const arch::TopologyKey& key : arch::topology_keys()) {
    if (key.number || key.path == "name") continue;
    if (key.path == "hbm.map") continue;         // how PEs share: needs several
    if (key.path == "check_protocol") continue;  // CheckProtocol tests: shows in no op log
    const auto found = left.find(key.path);
    ASSERT_NE(found, left.end()) << key.path << ": no probe shows what this key does";
    std::map<std::string, std::string> value_of;  // by op log
    for (const std::string_view word : split(key.range, ',')) {
      const std::string value(word.substr(word.find_first_not_of(' ')));
      const std::string log = shown(found->second, {key.path + "=" + value});
      const auto [first, differs] = value_of.emplace(log, value);
      EXPECT_TRUE(differs) << key.path << ": " << value << " is as " << first->second;
    }
    EXPECT_GE(value_of.size(), 2U) << key.path;
    left.erase(found);
  }
  for (const auto& [path, run] : left) ADD_FAILURE() << path << " is no choice";
}

TEST(KeyEffects, TheNameHasNoTimingEffect) {
  EXPECT_EQ(shown(one_gemm(), {"name=other"}), shown(one_gemm(), {}));
}

// Latency is paid once: 21 bytes of dispatch, 41.3125 ns rounded up; setup 16; 64 bytes at 128 GB/s
// 0.5; and L.
TEST(KeyEffects, AnIsolatedLoadGrowsByTheLatency) {
  for (const auto& [latency_ns, latency_ps] : std::vector<std::pair<std::string, std::uint64_t>>{
           {"0", 0}, {"100", 100000}, {"200", 200000}, {"400", 400000}, {"12.5", 12500}}) {
    const Outcome outcome =
        measure({Larger::takes_more, load(64)}, {"hbm.latency_ns=" + latency_ns});
    EXPECT_EQ(outcome.figure, 41313 + 16000 + 500 + latency_ps) << latency_ns;
  }
}

// The same for the operand of a composite: 356.875 ns and 124 for the output (contract 13), with
// the latency of a read and of a write in series.
TEST(KeyEffects, AnIsolatedGemmGrowsByTheLatencyOfItsReadAndItsWrite) {
  for (const std::uint64_t latency_ns : {0U, 100U, 200U}) {
    const Probe probe{Larger::takes_more,
                      catalogue("gemm", {{"b", "hbm"}, {"out", "hbm"}}),
                      {},
                      [](const BenchResult& result) { return result.region_ps("loop"); }};
    EXPECT_EQ(measure(probe, {fmt::format("hbm.latency_ns={}", latency_ns)}).figure,
              (256875 + 24000) + 2 * latency_ns * 1000)
        << latency_ns;
  }
}

// What a range allows runs, at both of its ends; what lies beyond is refused by name (28): no zero
// that something is divided by, no product that wraps.
TEST(KeyEffects, BothEndsOfEveryRangeAreRunOrRefusedByName) {
  for (const arch::TopologyKey& key : arch::topology_keys()) {
    if (!key.number) continue;
    SCOPED_TRACE(key.path);
    const std::size_t comma = key.range.find(", ");
    const std::string least = key.range.substr(1, comma - 1);
    const std::string most = key.range.substr(comma + 2, key.range.find(']') - comma - 2);
    for (const std::string& value : {std::string("-1"), std::string("0"), least, most}) {
      const std::string told = in_child([&]() -> std::string {
        arch::TopologyConfig topology;
        try {
          topology = arch::load_topology("name: ends", "ends.yaml", {key.path + "=" + value});
        } catch (const InputError& error) {
          return error.what();
        }
        try {
          return run_catalogue(topology, "gqa_decode", {{"s_kv", "96"}, {"tile", "32"}}).idle
                     ? "ran"
                     : "did not end";
        } catch (const InputError& error) {  // no room for the tensors
          return error.what();
        }
      });
      if (told != "ran") {
        EXPECT_THAT(told, testing::AnyOf(testing::HasSubstr(key.path),
                                         testing::HasSubstr("scratch is exhausted"),
                                         testing::HasSubstr("a tile buffer has")))
            << value;
      }
      if (value == "-1" || (value == "0" && least != "0")) {
        EXPECT_THAT(told, testing::HasSubstr(key.path + ": '" + value + "' is out of range"));
      }
    }
  }
}

}  // namespace
}  // namespace kernbench::test
