// SPDX-License-Identifier: Apache-2.0
#include "model/record/vcd.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "tests/record/sample_records.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/vcd_reader.hpp"

namespace kernbench::test {
namespace {

using record::Vcd;
using testing::ElementsAre;
using testing::HasSubstr;

std::string vcd_text(const std::vector<StageRecord>& records, Picoseconds end,
                     const std::vector<std::uint32_t>& pes = {0}, std::uint32_t read_channels = 1,
                     std::uint32_t write_channels = 1) {
  const TemporaryFolder folder;
  Vcd vcd(folder / "wave.vcd", pes, read_channels, write_channels);
  feed(vcd, records, end);
  return read_file(folder / "wave.vcd");
}

// (time, value) pairs, x as -1.
std::vector<std::pair<std::uint64_t, std::int64_t>> changes(const VcdFile& vcd,
                                                            const std::string& path) {
  std::vector<std::pair<std::uint64_t, std::int64_t>> result;
  for (const VcdChange& change : vcd.variable(path).changes) {
    result.emplace_back(change.time, change.value ? static_cast<std::int64_t>(*change.value) : -1);
  }
  return result;
}

using Change = std::pair<std::uint64_t, std::int64_t>;

void expect_same(const VcdStage& stage, const StageRecord& record) {
  EXPECT_EQ(stage.start, record.start);
  EXPECT_EQ(stage.end, record.end);
  EXPECT_EQ(stage.cmd, record.cmd);
  EXPECT_EQ(stage.op, record.op);
  if (record.engine == Engine::cpu) {
    EXPECT_EQ(stage.state, to_string(record.stage));
  }
  if (record.engine == Engine::dma_rd || record.engine == Engine::dma_wr) {
    EXPECT_EQ(stage.operand, record.operand);
    EXPECT_EQ(stage.addr, record.addr);
    EXPECT_EQ(stage.bytes, record.bytes);
  }
  if (record.engine != Engine::cpu && record.engine != Engine::scheduler) {
    EXPECT_EQ(stage.tile_m, record.tile.m);
    EXPECT_EQ(stage.tile_n, record.tile.n);
    EXPECT_EQ(stage.tile_k, record.tile.k);
  }
}

TEST(VcdTest, ReadBackItGivesTheIntervalsAndValuesOfTheRecords) {
  StageRecord store = row(400, 402, Engine::tcm, StageKind::store, 1);
  store.op = "gemm";
  store.tile = {0, 0, 0};
  StageRecord write = row(402, 426, Engine::dma_wr, StageKind::dma_write, 1);
  write.done = 526;
  write.op = "store";
  write.operand = "src";
  write.has_addr = true;
  write.addr = 0xfffffff000;  // close to 2^40
  write.bytes = 2048;
  const std::vector<StageRecord> records{
      dispatch_row(0, 60, 0),
      dispatch_row(60, 120, 1),  // back to back
      math_row(60, 68, 0),
      read_row(68, 212, 312, 0),
      row(120, 130, Engine::cpu, StageKind::queue_stall, 1),
      row(130, 300, Engine::cpu, StageKind::wait, 0),
      row(130, 380, Engine::scheduler, StageKind::admit_stall, 1),
      row(300, 320, Engine::cpu, StageKind::wait, 1),
      store,
      write,
  };
  const VcdFile vcd = parse_vcd(vcd_text(records, 526));
  std::size_t stages = 0;
  for (const char* engine : {"cpu", "scheduler", "dma_rd", "dma_wr", "tcm", "gemm", "math"}) {
    std::vector<StageRecord> expected;
    for (const StageRecord& record : records) {
      if (record::engine_name(record.engine, record.channel) == engine) expected.push_back(record);
    }
    const auto read_back = vcd.stages(std::string("pe0.") + engine);
    ASSERT_EQ(read_back.size(), expected.size()) << engine;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      SCOPED_TRACE(engine);
      expect_same(read_back[i], expected[i]);
    }
    stages += read_back.size();
  }
  EXPECT_EQ(stages, records.size());
  EXPECT_EQ(vcd.end, 526u);
}

TEST(VcdTest, BackToBackStagesShowInSeqAndNotAsAPulseOfBusy) {
  const VcdFile vcd = parse_vcd(vcd_text({math_row(5, 9, 0), math_row(9, 12, 1)}, 20));
  EXPECT_THAT(changes(vcd, "pe0.math.busy"),
              ElementsAre(Change{0, 0}, Change{5, 1}, Change{12, 0}));
  EXPECT_THAT(changes(vcd, "pe0.math.seq"), ElementsAre(Change{0, 0}, Change{5, 1}, Change{9, 2}));
  EXPECT_THAT(changes(vcd, "pe0.math.cmd"), ElementsAre(Change{0, -1}, Change{5, 0}, Change{9, 1}));
  EXPECT_EQ(vcd.stages("pe0.math").size(), 2u);
}

TEST(VcdTest, ChannelsHaveScopesOfTheirOwn) {
  const std::vector<StageRecord> records{read_row(0, 50, 60, 0, 0), read_row(10, 40, 70, 1, 1),
                                         read_row(40, 90, 95, 2, 1), math_row(40, 60, 3)};
  const VcdFile vcd = parse_vcd(vcd_text(records, 100, {0}, 2, 3));
  ASSERT_EQ(vcd.stages("pe0.dma_rd").size(), 1u);
  ASSERT_EQ(vcd.stages("pe0.dma_rd1").size(), 2u);
  EXPECT_EQ(vcd.stages("pe0.dma_rd1")[1].cmd, 2);
  EXPECT_EQ(vcd.stages("pe0.math").size(), 1u);
  EXPECT_EQ(vcd.stages("pe0.dma_wr2").size(), 0u);
  EXPECT_EQ(vcd.variables.count("pe0.dma_wr3.busy"), 0u);
}

TEST(VcdTest, HbmCountsAccessesFromStartToDoneOfAllPes) {
  StageRecord other_pe = read_row(10, 30, 80, 0);
  other_pe.pe = 3;  // not among the chosen ones
  StageRecord write = row(60, 70, Engine::dma_wr, StageKind::dma_write, 1);
  write.op = "gemm";
  write.done = 80;
  const VcdFile vcd = parse_vcd(vcd_text({read_row(0, 50, 60, 0), other_pe, write}, 100));
  EXPECT_THAT(changes(vcd, "hbm.reading"),
              ElementsAre(Change{0, 1}, Change{10, 2}, Change{60, 1}, Change{80, 0}));
  EXPECT_THAT(changes(vcd, "hbm.writing"), ElementsAre(Change{0, 0}, Change{60, 1}, Change{80, 0}));
  EXPECT_EQ(vcd.variables.count("pe3.dma_rd.busy"), 0u);
  EXPECT_EQ(vcd.stages("pe0.dma_rd").size(), 1u);
}

TEST(VcdTest, InflightIsTheSettledCountOfEachInstant) {
  const TemporaryFolder folder;
  Vcd vcd(folder / "wave.vcd", {0, 2}, 1, 1);
  vcd.inflight({10, 2, +1});
  vcd.inflight({10, 0, +1});
  vcd.inflight({20, 0, -1});  // leaves, and the next enters in the same instant
  vcd.inflight({20, 0, +1});
  vcd.inflight({30, 1, +1});  // not shown
  vcd.inflight({40, 0, -1});
  vcd.finish(40);
  const VcdFile file = read_vcd(folder / "wave.vcd");
  EXPECT_THAT(changes(file, "pe0.scheduler.inflight"),
              ElementsAre(Change{0, 0}, Change{10, 1}, Change{40, 0}));
  EXPECT_THAT(changes(file, "pe2.scheduler.inflight"), ElementsAre(Change{0, 0}, Change{10, 1}));
}

TEST(VcdTest, TheFileDoesNotDependOnTheOrderOfChangesInAnInstant) {
  const TemporaryFolder folder;
  for (const bool swapped : {false, true}) {
    Vcd vcd(folder / (swapped ? "b.vcd" : "a.vcd"), {0, 1}, 1, 1);
    vcd.inflight({10, swapped ? 1u : 0u, +1});
    vcd.inflight({10, swapped ? 0u : 1u, +1});
    vcd.finish(20);
  }
  EXPECT_EQ(read_file(folder / "a.vcd"), read_file(folder / "b.vcd"));
}

// The variables of R10.3, one by one.
TEST(VcdTest, HeaderHasNoDateAndNoVersionAndEveryValueIsDefinedAtZero) {
  const std::string text = vcd_text({math_row(5, 9, 2)}, 20);
  const VcdFile vcd = parse_vcd(text);
  EXPECT_FALSE(vcd.has_date);
  EXPECT_FALSE(vcd.has_version);
  EXPECT_EQ(vcd.timescale, "1 ps");
  EXPECT_EQ(vcd.end, 20u);
  std::set<std::string> names;
  for (const auto& [path, variable] : vcd.variables) names.insert(path);
  const std::set<std::string> tile_engine{"busy", "cmd", "op", "tile.m", "tile.n", "tile.k", "seq"};
  std::set<std::string> expected{"pe0.cpu.busy",
                                 "pe0.cpu.state",
                                 "pe0.cpu.cmd",
                                 "pe0.cpu.op",
                                 "pe0.cpu.seq",
                                 "pe0.scheduler.blocked",
                                 "pe0.scheduler.inflight",
                                 "pe0.scheduler.cmd",
                                 "pe0.scheduler.seq",
                                 "hbm.reading",
                                 "hbm.writing"};
  for (const std::string engine : {"dma_rd", "dma_wr", "tcm", "gemm", "math"}) {
    for (const std::string& name : tile_engine) expected.insert("pe0." + engine + "." + name);
  }
  for (const std::string engine : {"dma_rd", "dma_wr"}) {
    for (const char* name : {"operand", "addr", "bytes"}) {
      expected.insert("pe0." + engine + "." + name);
    }
  }
  EXPECT_EQ(names, expected);
  // rmax has code 16 + 1. The stage sets busy, cmd, op, seq; its tile does not apply and stays x.
  EXPECT_THAT(text, HasSubstr(" 17=rmax "));
  const std::string body = text.substr(text.find("#5\n"));
  EXPECT_EQ(std::count(body.begin(), body.end(), '\n'), 1 + 4 + 1 + 1 + 1) << body;
  EXPECT_THAT(body, HasSubstr("\n#9\n0"));
  EXPECT_THAT(body, testing::EndsWith("\n#20\n"));
}

TEST(VcdTest, ManyPesGetDistinctIdentifiersOfSeveralCharacters) {
  std::vector<std::uint32_t> pes;
  for (std::uint32_t pe = 0; pe < 128; ++pe) pes.push_back(pe);
  StageRecord last = math_row(1, 2, 9);
  last.pe = 127;
  const VcdFile vcd = parse_vcd(vcd_text({last}, 3, pes, 2, 2));  // the reader refuses repetitions
  EXPECT_GT(vcd.variables.size(), 94u * 2);
  ASSERT_EQ(vcd.stages("pe127.math").size(), 1u);
  EXPECT_EQ(vcd.stages("pe127.math")[0].cmd, 9);
  EXPECT_EQ(vcd.stages("pe126.math").size(), 0u);
}

TEST(VcdTest, AnEmptyRunHasItsInitialValuesAndItsEnd) {
  EXPECT_EQ(parse_vcd(vcd_text({}, 0)).end, 0u);
  const VcdFile vcd = parse_vcd(vcd_text({}, 77));
  EXPECT_EQ(vcd.end, 77u);
  EXPECT_EQ(vcd.variable("pe0.gemm.busy").at(77), 0u);
  EXPECT_FALSE(vcd.variable("pe0.gemm.cmd").at(77));
}

TEST(VcdTest, EveryLabelOfACommandAndEveryOpHasACode) {
  std::set<int> codes;
  std::set<std::string_view> texts;
  for (const auto& [code, text] : record::vcd_codes().op) {
    EXPECT_TRUE(codes.insert(code).second) << text;
    EXPECT_LT(code, 256) << text;  // eight bits
    texts.insert(text);
  }
  command::OpSpec op;
  for (int kind = 0; kind < command::kOpKinds; ++kind) {
    op.kind = static_cast<command::OpKind>(kind);
    EXPECT_EQ(texts.count(to_string(op.kind)), 1u) << to_string(op.kind);
    EXPECT_EQ(texts.count(label(command::MathCmd{op})), 1u);
  }
  EXPECT_EQ(texts.count(label(command::CompositeCmd{})), 1u);
  EXPECT_EQ(texts.count(label(command::DmaReadCmd{})), 1u);
  EXPECT_EQ(texts.count(label(command::DmaWriteCmd{})), 1u);
  EXPECT_EQ(texts.count(label(command::GemmCmd{})), 1u);
  EXPECT_EQ(texts.count(label(command::PeCpuOverheadCmd{})), 1u);
}

TEST(VcdTest, AppearsOnlyWhenFinished) {
  const TemporaryFolder folder;
  { Vcd abandoned(folder / "wave.vcd", {0}, 1, 1); }
  EXPECT_TRUE(folder.names().empty());
}

TEST(VcdReaderTest, RefusesWhatIsNotAChangeOnlyDump) {
  const std::string head =
      "$timescale 1 ps $end $scope module m $end $var wire 2 ! v [1:0] $end $upscope $end\n"
      "$enddefinitions $end\n#0\n$dumpvars\nb0 !\n$end\n";
  EXPECT_EQ(changes(parse_vcd(head + "#3\nb10 !\n#4\n"), "m.v").size(), 2u);
  EXPECT_THROW(parse_vcd(head + "#3\nb10 !"), std::runtime_error);          // no newline
  EXPECT_THROW(parse_vcd(head + "#3\nb0 !\n"), std::runtime_error);         // no change
  EXPECT_THROW(parse_vcd(head + "#3\nb1 !\nb10 !\n"), std::runtime_error);  // two in one instant
  EXPECT_THROW(parse_vcd(head + "#3\nb101 !\n"), std::runtime_error);       // too wide
  EXPECT_THROW(parse_vcd(head + "#3\nb1 \"\n"), std::runtime_error);        // unknown variable
  EXPECT_THROW(parse_vcd(head + "#3\nb1 !\n#2\n"), std::runtime_error);     // back in time
}

}  // namespace
}  // namespace kernbench::test
