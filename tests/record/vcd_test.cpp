// SPDX-License-Identifier: Apache-2.0
#include "model/record/vcd.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "tests/record/sample_records.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/vcd_reader.hpp"

namespace kernbench::test {
namespace {

using record::Vcd;
using testing::ElementsAre;
using testing::HasSubstr;

std::string vcd_text(const std::vector<StageRecord>& records, Picoseconds end,
                     const arch::TopologyConfig& topology = one_cube(1),
                     const std::vector<std::uint32_t>& shown = {0}) {
  const TemporaryFolder folder;
  Vcd vcd(folder / "wave.vcd", topology, shown);
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
  if (record.engine == Engine::ipcq) {
    EXPECT_EQ(stage.slot, record.tile.m);
    EXPECT_EQ(stage.peer, record.tile.n);
    EXPECT_EQ(stage.channel, record.tile.k);
    EXPECT_EQ(stage.bytes, record.bytes);
  } else if (record.engine != Engine::cpu && record.engine != Engine::scheduler) {
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
  arch::TopologyConfig topology = one_cube(1);
  topology.pe.dma.read_channels = 2;
  topology.pe.dma.write_channels = 3;
  const VcdFile vcd = parse_vcd(vcd_text(records, 100, topology));
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
  const VcdFile vcd =
      parse_vcd(vcd_text({read_row(0, 50, 60, 0), other_pe, write}, 100, one_cube(4)));
  EXPECT_THAT(changes(vcd, "hbm.reading"),
              ElementsAre(Change{0, 1}, Change{10, 2}, Change{60, 1}, Change{80, 0}));
  EXPECT_THAT(changes(vcd, "hbm.writing"), ElementsAre(Change{0, 0}, Change{60, 1}, Change{80, 0}));
  EXPECT_EQ(vcd.variables.count("pe3.dma_rd.busy"), 0u);
  EXPECT_EQ(vcd.stages("pe0.dma_rd").size(), 1u);
}

std::set<std::string> names_in(const VcdFile& vcd) {
  std::set<std::string> names;
  for (const auto& [path, variable] : vcd.variables) names.insert(path);
  return names;
}

TEST(VcdTest, MessagesAreReadBackWithSlotPeerAndChannel) {
  const std::vector<StageRecord> records{
      message_row(0, 10, StageKind::send, 3, 0, 1, 2),
      message_row(10, 20, StageKind::send, 3, 1, 1, 2),  // back to back
      message_row(25, 35, StageKind::recv, 2, 0, 3, 0),
  };
  const VcdFile vcd = parse_vcd(vcd_text(records, 40, one_cube(4)));
  const auto stages = vcd.stages("pe0.ipcq");
  ASSERT_EQ(stages.size(), records.size());
  for (std::size_t i = 0; i < records.size(); ++i) expect_same(stages[i], records[i]);
  std::set<std::string> variables;
  for (const std::string& name : names_in(vcd)) {
    if (name.rfind("pe0.ipcq.", 0) == 0) variables.insert(name.substr(9));
  }
  EXPECT_THAT(variables, testing::UnorderedElementsAre("busy", "cmd", "op", "slot", "peer",
                                                       "channel", "bytes", "seq"));
}

// two_sips(): 2 x 3 cubes of 4 PEs. The reader refuses a scope that is opened twice.
TEST(VcdTest, PesOfSeveralCubesLieInScopesOfTheirCubesWithOneMemoryEach) {
  const std::vector<StageRecord> records{
      on_pe(5, read_row(0, 10, 20, 0)),
      on_pe(6, read_row(0, 10, 30, 0)),  // not shown, of the cube of 5
      on_pe(8, read_row(0, 10, 30, 0)),  // of a cube that is not shown
      on_pe(12, math_row(5, 15, 9)),
      on_pe(12, message_row(15, 25, StageKind::send, 9, 0, 5, 0)),
  };
  const std::string text = vcd_text(records, 50, two_sips(), {12, 5, 0, 4, 5});
  const VcdFile vcd = parse_vcd(text);
  std::set<std::string> scopes;  // of PEs and memories
  for (const std::string& name : names_in(vcd)) {
    std::size_t end = 0;
    for (int i = 0; i < 3; ++i) end = name.find('.', end + 1);
    scopes.insert(name.substr(0, end));
  }
  EXPECT_THAT(scopes, testing::UnorderedElementsAre(
                          "sip0.cube0.pe0", "sip0.cube0.hbm", "sip0.cube1.pe0", "sip0.cube1.pe1",
                          "sip0.cube1.hbm", "sip1.cube0.pe0", "sip1.cube0.hbm"));
  EXPECT_THAT(changes(vcd, "sip0.cube1.hbm.reading"),
              ElementsAre(Change{0, 2}, Change{20, 1}, Change{30, 0}));
  EXPECT_THAT(changes(vcd, "sip0.cube0.hbm.reading"), ElementsAre(Change{0, 0}));
  EXPECT_THAT(changes(vcd, "sip1.cube0.hbm.reading"), ElementsAre(Change{0, 0}));
  ASSERT_EQ(vcd.stages("sip0.cube1.pe1.dma_rd").size(), 1u);
  expect_same(vcd.stages("sip0.cube1.pe1.dma_rd")[0], records[0]);
  ASSERT_EQ(vcd.stages("sip1.cube0.pe0.ipcq").size(), 1u);
  expect_same(vcd.stages("sip1.cube0.pe0.ipcq")[0], records[4]);
  EXPECT_EQ(vcd.stages("sip0.cube1.pe0.dma_rd").size(), 0u);
  // Whatever the order in which they are named.
  EXPECT_EQ(vcd_text(records, 50, two_sips(), {0, 4, 5, 12}), text);
}

// IEEE 1364-2005, 3.7: letters, digits, underscores, not beginning with a digit.
TEST(VcdTest, NamesOfScopesAndVariablesAreIdentifiers) {
  std::istringstream words(vcd_text({}, 1, two_sips(), {0, 23}));
  std::size_t names = 0;
  for (std::string word; words >> word;) {
    std::string type, name, width, code;
    if (word == "$scope") {
      words >> type >> name;
    } else if (word == "$var") {
      words >> type >> width >> code >> name;
    } else {
      continue;
    }
    ++names;
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_"), std::string::npos)
        << name;
    EXPECT_FALSE(name[0] >= '0' && name[0] <= '9') << name;
  }
  EXPECT_GT(names, 100u);
}

TEST(VcdTest, InflightIsTheSettledCountOfEachInstant) {
  const TemporaryFolder folder;
  Vcd vcd(folder / "wave.vcd", one_cube(3), {0, 2});
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
    Vcd vcd(folder / (swapped ? "b.vcd" : "a.vcd"), one_cube(2), {0, 1});
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
  EXPECT_EQ(names_in(vcd), expected);  // no ipcq: there is nobody to send to
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
  // The reader refuses repetitions.
  const VcdFile vcd = parse_vcd(vcd_text({last}, 3, one_cube(128), pes));
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
  EXPECT_EQ(texts.count(label(command::IpcqSendCmd{})), 1u);
  EXPECT_EQ(texts.count(label(command::IpcqRecvCmd{})), 1u);
}

TEST(VcdTest, AppearsOnlyWhenFinished) {
  const TemporaryFolder folder;
  { Vcd abandoned(folder / "wave.vcd", one_cube(1), {0}); }
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
  EXPECT_THROW(parse_vcd("$scope module m $end $upscope $end $scope module m $end $upscope $end\n"
                         "$enddefinitions $end\n#0\n"),
               std::runtime_error);  // one scope twice
}

}  // namespace
}  // namespace kernbench::test
