// SPDX-License-Identifier: Apache-2.0
#include "model/record/trace.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/record/sample_records.hpp"
#include "tests/support/temporary_folder.hpp"

namespace kernbench::test {
namespace {

using nlohmann::json;
using record::Trace;
using testing::HasSubstr;

json trace_of(const std::vector<StageRecord>& records,
              const arch::TopologyConfig& topology = one_cube(1)) {
  const TemporaryFolder folder;
  Trace trace(folder / "trace.json", topology);
  feed(trace, records, 1000000);
  return json::parse(read_file(folder / "trace.json"));
}

// Of the events of one phase.
std::vector<json> events(const json& trace, const std::string& phase) {
  std::vector<json> result;
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] == phase) result.push_back(event);
  }
  return result;
}

Picoseconds ps(const json& microseconds) {
  return static_cast<Picoseconds>(std::llround(microseconds.get<double>() * 1e6));
}

TEST(TraceTest, AnEmptyRunIsValidJson) {
  const json trace = trace_of({});
  EXPECT_EQ(trace["traceEvents"].size(), 0u);
  EXPECT_EQ(trace["displayTimeUnit"], "ns");
}

TEST(TraceTest, IntervalsAndArgumentsAreThoseOfTheRecords) {
  StageRecord stall = row(60125, 60200, Engine::scheduler, StageKind::admit_stall, 1);
  StageRecord other_pe = math_row(70000, 78000, 4);
  other_pe.pe = 5;
  const std::vector<StageRecord> records{dispatch_row(0, 60125, 0), stall, other_pe,
                                         read_row(104125, 248125, 348125, 2, 1)};
  const json trace = trace_of(records, one_cube(6));

  std::map<int, std::string> processes;
  std::map<std::pair<int, int>, std::string> tracks;
  for (const json& event : events(trace, "M")) {
    if (event["name"] == "process_name") processes[event["pid"]] = event["args"]["name"];
    if (event["name"] == "thread_name") {
      tracks[{event["pid"], event["tid"]}] = event["args"]["name"];
    }
  }
  const auto stages = events(trace, "X");
  ASSERT_EQ(stages.size(), records.size());
  for (std::size_t i = 0; i < records.size(); ++i) {
    const StageRecord& record = records[i];
    const json& event = stages[i];
    EXPECT_EQ(ps(event["ts"]), record.start);
    EXPECT_EQ(ps(event["dur"]), record.end - record.start);
    EXPECT_EQ(processes.at(event["pid"]), "pe" + std::to_string(record.pe));
    EXPECT_EQ(tracks.at({event["pid"], event["tid"]}),
              record::engine_name(record.engine, record.channel));
    EXPECT_EQ(event["args"]["stage"], std::string(to_string(record.stage)));
    EXPECT_EQ(event["args"]["cmd"], record.cmd);
  }
  EXPECT_EQ(stages[0]["cat"], "stage");
  EXPECT_EQ(stages[0]["name"], "composite");
  EXPECT_EQ(stages[1]["cat"], "stall");
  EXPECT_EQ(stages[1]["name"], "admit_stall");
  EXPECT_EQ(stages[1]["args"], json::parse(R"({"stage": "admit_stall", "cmd": 1})"));
  EXPECT_EQ(stages[2]["args"],
            json::parse(R"({"stage": "math", "op": "rmax", "cmd": 4, "op_index": 0,
                            "operand": "out", "addr": "0x10000000000", "elements": 512})"));
  EXPECT_EQ(stages[3]["name"], "dma_read b");
  EXPECT_EQ(stages[3]["args"],
            json::parse(R"({"stage": "dma_read", "op": "gemm", "cmd": 2, "op_index": 8,
                            "tile_m": 0, "tile_n": 1, "tile_k": 2, "operand": "b",
                            "addr": "0x1f000", "bytes": 16384, "done_ps": 348125})"));
}

TEST(TraceTest, MessagesShowSlotPeerAndChannelAndPesHaveTheirNames) {
  const json trace = trace_of({on_pe(11, message_row(1000, 11000, StageKind::send, 7, 1, 12, 3)),
                               on_pe(12, message_row(11000, 21000, StageKind::recv, 5, 1, 11, 3))},
                              two_sips());
  const auto stages = events(trace, "X");
  ASSERT_EQ(stages.size(), 2u);
  EXPECT_EQ(stages[0]["name"], "send sip1.cube0.pe0");
  EXPECT_EQ(stages[1]["name"], "recv sip0.cube2.pe3");
  EXPECT_EQ(stages[0]["cat"], "stage");
  EXPECT_EQ(stages[0]["args"], json::parse(R"({"stage": "send", "op": "send", "cmd": 7, "slot": 1,
                                               "peer": 12, "channel": 3, "operand": "src",
                                               "addr": "0x10000000040", "bytes": 8192})"));
  std::map<int, std::string> processes;
  std::vector<std::string> tracks;
  for (const json& event : events(trace, "M")) {
    if (event["name"] == "process_name") processes[event["pid"]] = event["args"]["name"];
    if (event["name"] == "thread_name") tracks.push_back(event["args"]["name"]);
  }
  EXPECT_EQ(processes.at(12), "sip0.cube2.pe3");
  EXPECT_EQ(processes.at(13), "sip1.cube0.pe0");
  EXPECT_EQ(tracks, (std::vector<std::string>{"ipcq", "ipcq"}));
}

TEST(TraceTest, TimesAreExactInTheText) {
  const TemporaryFolder folder;
  Trace trace(folder / "trace.json", one_cube(1));
  feed(trace, {math_row(12345678000001, 12345678000010, 0)}, 12345678000010);
  // 12,345,678,000,001 ps = 12,345,678.000001 us.
  EXPECT_THAT(read_file(folder / "trace.json"),
              HasSubstr("\"ts\":12345678.000001,\"dur\":0.000009,"));
}

TEST(TraceTest, EachProcessAndTrackIsNamedOnce) {
  const json trace =
      trace_of({math_row(0, 1, 0), math_row(1, 2, 1), read_row(2, 3, 4, 2), math_row(3, 4, 3)});
  // One process, two tracks; a name and a sort index each.
  EXPECT_EQ(events(trace, "M").size(), 6u);
}

TEST(TraceTest, EscapesText) {
  StageRecord record = math_row(0, 1, 0);
  record.op = "a\"b\\c\nd";
  EXPECT_EQ(events(trace_of({record}), "X")[0]["args"]["op"], "a\"b\\c\nd");
}

}  // namespace
}  // namespace kernbench::test
