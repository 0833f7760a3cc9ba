// SPDX-License-Identifier: Apache-2.0
// All outputs of one run, through the recorder (R10.5).
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <tuple>

#include "model/record/figure.hpp"
#include "model/record/op_log.hpp"
#include "model/record/recorder.hpp"
#include "model/record/trace.hpp"
#include "model/record/vcd.hpp"
#include "tests/record/sample_records.hpp"
#include "tests/support/op_log_reader.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/vcd_reader.hpp"

namespace kernbench::test {
namespace {

// Engines that are busy and idle for random times of 1 to 5 ps, so that ties abound. The raw engine
// output is used: what distributions make of it differs between libraries.
std::vector<StageRecord> random_run(std::uint32_t pes, int stages_per_engine) {
  std::mt19937 random(7);
  std::vector<StageRecord> records;
  for (std::uint32_t pe = 0; pe < pes; ++pe) {
    for (int lane = 0; lane < 4; ++lane) {
      Picoseconds now = 0;
      for (int i = 0; i < stages_per_engine; ++i) {
        now += random() % 2 == 0 ? 0 : random() % 5;
        const Picoseconds end = now + 1 + random() % 5;
        const std::uint64_t latency = random() % 9;
        StageRecord record;
        if (lane == 2) {
          record = math_row(now, end, i);
        } else if (lane == 3) {
          record = message_row(now, end, i % 3 == 0 ? StageKind::recv : StageKind::send, i, i % 2,
                               1 - static_cast<std::int32_t>(pe), i % 4);
        } else {
          record = read_row(now, end, end + latency, i, static_cast<std::uint32_t>(lane));
        }
        record.pe = pe;
        records.push_back(record);
        now = end;
      }
    }
  }
  return records;
}

// The recorder sees begins and ends in time order; `seed` shuffles what happens in one instant.
void replay(const std::vector<StageRecord>& records, unsigned seed, record::Recorder& recorder) {
  struct Event {
    Picoseconds time;
    unsigned tie;
    std::size_t index;
    bool begins;
  };
  std::mt19937 random(seed);
  std::vector<Event> events;
  for (std::size_t i = 0; i < records.size(); ++i) {
    events.push_back({records[i].start, static_cast<unsigned>(random()), i, true});
    events.push_back({records[i].done, static_cast<unsigned>(random()), i, false});
  }
  std::sort(events.begin(), events.end(), [](const Event& x, const Event& y) {
    return std::tie(x.time, x.tie, x.index) < std::tie(y.time, y.tie, y.index);
  });
  std::vector<record::Recorder::Ticket> tickets(records.size());
  Picoseconds end = 0;
  for (const Event& event : events) {
    if (event.begins) {
      tickets[event.index] = recorder.begin(event.time);
    } else {
      recorder.end(tickets[event.index], records[event.index]);
    }
    end = event.time;
  }
  recorder.finish(end);
}

void write_all(const std::vector<StageRecord>& records, unsigned seed,
               const TemporaryFolder& folder, const std::string& name) {
  record::OpLog log(folder / (name + ".csv"));
  arch::TopologyConfig topology = one_cube(2);
  topology.pe.dma.read_channels = 2;
  record::Vcd vcd(folder / (name + ".vcd"), topology, {0, 1});
  record::Trace trace(folder / (name + ".json"), topology);
  record::Figure figure(folder / (name + ".svg"), "run", {}, topology);
  record::Recorder recorder;
  recorder.add_sink(log);
  recorder.add_sink(vcd);
  recorder.add_sink(trace);
  recorder.add_sink(figure);
  replay(records, seed, recorder);
}

TEST(OutputsTest, DoNotDependOnWhoReportsFirstInAnInstant) {
  const TemporaryFolder folder;
  const auto records = random_run(2, 200);
  write_all(records, 1, folder, "one");
  write_all(records, 2, folder, "two");
  for (const char* kind : {".csv", ".vcd", ".json", ".svg"}) {
    EXPECT_TRUE(read_file(folder / (std::string("one") + kind)) ==
                read_file(folder / (std::string("two") + kind)))
        << kind;
  }
}

TEST(OutputsTest, OpLogIsTheSortedRecordsAndTheWaveformHasItsIntervals) {
  const TemporaryFolder folder;
  auto records = random_run(2, 200);
  write_all(records, 3, folder, "run");
  std::sort(records.begin(), records.end(), record::op_log_order);
  const auto rows = read_op_log(folder / "run.csv");
  ASSERT_EQ(rows.size(), records.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].start, records[i].start);
    EXPECT_EQ(rows[i].end, records[i].end);
    EXPECT_EQ(rows[i].done, records[i].done);
    EXPECT_EQ(rows[i].pe, records[i].pe);
    EXPECT_EQ(rows[i].engine, record::engine_name(records[i].engine, records[i].channel));
    EXPECT_EQ(rows[i].cmd, records[i].cmd);
  }
  const VcdFile vcd = read_vcd(folder / "run.vcd");
  for (std::uint32_t pe = 0; pe < 2; ++pe) {
    for (const char* engine : {"dma_rd", "dma_rd1", "math", "ipcq"}) {
      const auto expected =
          select(rows, [&](const OpLogRow& r) { return r.pe == pe && r.engine == engine; });
      const auto stages = vcd.stages("pe" + std::to_string(pe) + "." + engine);
      ASSERT_EQ(stages.size(), expected.size());
      for (std::size_t i = 0; i < stages.size(); ++i) {
        EXPECT_EQ(stages[i].start, expected[i].start);
        EXPECT_EQ(stages[i].end, expected[i].end);
        EXPECT_EQ(stages[i].cmd, expected[i].cmd);
        EXPECT_EQ(stages[i].op, expected[i].op);
        if (engine != std::string("ipcq")) continue;
        EXPECT_EQ(stages[i].slot, expected[i].tile_m);
        EXPECT_EQ(stages[i].peer, expected[i].tile_n);
        EXPECT_EQ(stages[i].channel, expected[i].tile_k);
        EXPECT_EQ(stages[i].bytes, expected[i].bytes);
      }
    }
  }
}

}  // namespace
}  // namespace kernbench::test
