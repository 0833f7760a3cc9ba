// SPDX-License-Identifier: Apache-2.0
// R10.2 to R10.5 on a whole run: the waveform and the trace hold the intervals of the op log, and
// show that K comes before V.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "tests/support/kernel_bench.hpp"
#include "tests/support/sc_trace_reader.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/vcd_reader.hpp"

namespace kernbench {
namespace {

using test::BenchResult;
using test::OpLogRow;

// engine, start, end, command.
using Interval = std::tuple<std::string, std::uint64_t, std::uint64_t, std::int64_t>;

BenchResult decode(const std::string& variant) {
  arch::TopologyConfig topology = test::single_pe();
  topology.pe.dma.read_channels = 2;
  return test::run_catalogue(topology, "gqa_decode",
                             {{"variant", variant}, {"s_kv", "1000"}, {"g", "16"}});
}

std::vector<Interval> of_op_log(const BenchResult& result) {
  std::vector<Interval> intervals;
  for (const OpLogRow& row : result.rows) {
    intervals.emplace_back(row.engine, row.start, row.end, row.cmd);
  }
  std::sort(intervals.begin(), intervals.end());
  return intervals;
}

std::vector<Interval> of_vcd(const test::VcdFile& vcd) {
  std::vector<Interval> intervals;
  for (const std::string engine :
       {"cpu", "scheduler", "dma_rd", "dma_rd1", "dma_wr", "tcm", "gemm", "math"}) {
    for (const test::VcdStage& stage : vcd.stages("pe0." + engine)) {
      intervals.emplace_back(engine, stage.start, stage.end, stage.cmd);
    }
  }
  std::sort(intervals.begin(), intervals.end());
  return intervals;
}

std::vector<Interval> of_trace(const std::string& text) {
  const auto ps = [](double us) { return static_cast<std::uint64_t>(std::llround(us * 1e6)); };
  const nlohmann::json trace = nlohmann::json::parse(text);
  const nlohmann::json& events = trace.is_array() ? trace : trace.at("traceEvents");
  std::map<std::uint64_t, std::string> tracks;
  for (const auto& event : events) {
    if (event.at("ph") == "M" && event.at("name") == "thread_name") {
      tracks[event.at("tid")] = event.at("args").at("name");
    }
  }
  std::vector<Interval> intervals;
  for (const auto& event : events) {
    if (event.at("ph") != "X") continue;
    const std::uint64_t start = ps(event.at("ts"));
    intervals.emplace_back(tracks.at(event.at("tid")), start, start + ps(event.at("dur")),
                           event.at("args").at("cmd"));
  }
  std::sort(intervals.begin(), intervals.end());
  return intervals;
}

void expect_same_intervals(const std::string& variant) {
  const BenchResult result = decode(variant);
  const auto expected = of_op_log(result);
  ASSERT_GT(expected.size(), 100U);
  EXPECT_EQ(of_vcd(test::parse_vcd(result.vcd)), expected);
  EXPECT_EQ(of_trace(result.trace), expected);
}

TEST(Outputs, WaveformAndTraceHoldTheIntervalsOfTheOpLogOpt1) { expect_same_intervals("opt1"); }
TEST(Outputs, WaveformAndTraceHoldTheIntervalsOfTheOpLogOpt2) { expect_same_intervals("opt2"); }
TEST(Outputs, WaveformAndTraceHoldTheIntervalsOfTheOpLogOpt3) { expect_same_intervals("opt3"); }

// Contract 7: no DMA of V for a composite before its last prologue MATH has ended. #2 of opt2 is
// the composite with MATH ahead of its gemm: in the waveform, the MATH stages of its command that
// end before its GEMM starts, and the reads of its operand b.
TEST(Outputs, TheWaveformShowsKBeforeV) {
  const BenchResult result = decode("opt2");
  const test::VcdFile vcd = test::parse_vcd(result.vcd);
  std::map<std::int64_t, std::uint64_t> prologue_end;
  std::map<std::int64_t, int> prologue_stages;
  for (const test::VcdStage& stage : vcd.stages("pe0.math")) {
    if (stage.tile_m >= 0 || stage.op == "fill" || stage.op == "div_bcast") continue;
    prologue_end[stage.cmd] = std::max(prologue_end[stage.cmd], stage.end);
    ++prologue_stages[stage.cmd];
  }
  ASSERT_EQ(prologue_end.size(), 16U);  // ceil(1000 / 64) tiles
  std::set<std::int64_t> with_v;
  for (const char* channel : {"pe0.dma_rd", "pe0.dma_rd1"}) {
    for (const test::VcdStage& stage : vcd.stages(channel)) {
      const auto end = prologue_end.find(stage.cmd);
      if (end == prologue_end.end()) continue;
      EXPECT_EQ(stage.operand, "b");
      EXPECT_GE(stage.start, end->second) << "command " << stage.cmd;
      with_v.insert(stage.cmd);
    }
  }
  EXPECT_EQ(with_v.size(), 16U);
  for (const auto& [cmd, stages] : prologue_stages) EXPECT_EQ(stages, 8) << "command " << cmd;
}

// R10.3: Pe::trace() shows the same in a user's own file; seq has counted every stage.
TEST(Outputs, TraceRegistersTheStateOfEveryEngine) {
  test::TemporaryFolder folder;
  test::BenchOptions options;
  sc_core::sc_trace_file* file = sc_core::sc_create_vcd_trace_file((folder / "own").c_str());
  options.elaborated = [&](const Pe& pe) { pe.trace(file); };
  const BenchResult result = test::run_catalogue(test::single_pe(), "gqa_decode",
                                                 {{"variant", "opt2"}, {"s_kv", "128"}}, options);
  sc_core::sc_close_vcd_trace_file(file);
  const auto values = test::last_values(test::read_file(folder / "own.vcd"));
  for (const std::string engine : {"dma_rd", "dma_wr", "tcm", "gemm", "math"}) {
    const auto stages =
        test::select(result.rows, [&](const OpLogRow& row) { return row.engine == engine; });
    EXPECT_EQ(values.at("pe0." + engine + ".seq"), stages.size()) << engine;
    EXPECT_EQ(values.at("pe0." + engine + ".busy"), 0U) << engine;
    EXPECT_EQ(values.at("pe0." + engine + ".cmd"), static_cast<std::uint64_t>(stages.back().cmd));
  }
  EXPECT_EQ(values.at("pe0.dma_wr.bytes"), 2048U);
  // SystemC writes a step when the next one begins: of the last step nothing is in the file.
  EXPECT_EQ(values.at("pe0.scheduler.inflight"), 1U);
  EXPECT_EQ(values.at("pe0.cpu.state"), 0U);
}

// traces/decode.gtkw is a view of the demo's waveforms: every signal that it names is there.
TEST(Outputs, TheViewNamesSignalsOfTheWaveform) {
  const test::VcdFile vcd =
      test::parse_vcd(test::run_catalogue(test::single_pe(), "gqa_decode", {{"s_kv", "128"}}).vcd);
  std::istringstream view(
      test::read_file(std::string(KERNBENCH_SOURCE_DIR) + "/traces/decode.gtkw"));
  int signals = 0;
  for (std::string line; std::getline(view, line);) {
    if (line.empty() || line[0] == '[' || line[0] == '-' || line[0] == '@' || line[0] == '*')
      continue;
    const std::string path = line.substr(0, line.find('['));
    EXPECT_NO_THROW(vcd.variable(path)) << path;
    ++signals;
  }
  EXPECT_GT(signals, 10);
}

}  // namespace
}  // namespace kernbench
