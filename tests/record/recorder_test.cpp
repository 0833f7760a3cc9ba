// SPDX-License-Identifier: Apache-2.0
#include "model/record/recorder.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>

#include "tests/record/sample_records.hpp"

namespace kernbench::test {
namespace {

using record::op_log_order;
using record::OrderedSink;
using record::Recorder;
using testing::ElementsAre;

// Everything handed over, as text: a record by its cmd, a change by its time and sign.
class Listing : public OrderedSink {
 public:
  void record(const StageRecord& record) override { lines.push_back(std::to_string(record.cmd)); }
  void inflight(const InflightChange& change) override {
    lines.push_back((change.change > 0 ? "+@" : "-@") + std::to_string(change.time));
  }
  void finish(Picoseconds end) override { lines.push_back("end@" + std::to_string(end)); }

  std::vector<std::string> lines;
};

TEST(RecorderTest, SameStartIsSortedByEndThenEngineWhateverTheOrderOfReports) {
  Listing listing;
  Recorder recorder;
  recorder.add_sink(listing);
  const auto math = recorder.begin(10);
  const auto gemm = recorder.begin(10);
  const auto fetch = recorder.begin(10);
  recorder.end(math, math_row(10, 20, 1));
  recorder.end(fetch, row(10, 15, Engine::tcm, StageKind::fetch, 2));
  recorder.end(gemm, row(10, 20, Engine::gemm, StageKind::gemm, 3));
  recorder.finish(20);
  // end 15 first; at end 20 "gemm" < "math".
  EXPECT_THAT(listing.lines, ElementsAre("2", "3", "1", "end@20"));
}

TEST(RecorderTest, AnOpenStageHoldsBackLaterStartsUntilItEnds) {
  Listing listing;
  Recorder recorder;
  recorder.add_sink(listing);
  const auto first = recorder.begin(0);
  recorder.end(first, math_row(0, 5, 0));
  const auto longest = recorder.begin(5);
  for (int i = 2; i < 5; ++i) {
    const Picoseconds now = static_cast<Picoseconds>(i) * 10;
    recorder.end(recorder.begin(now), math_row(now, now + 10, i));
  }
  EXPECT_THAT(listing.lines, ElementsAre("0"));
  recorder.end(longest, row(5, 50, Engine::cpu, StageKind::wait, 1));
  recorder.begin(50);  // only now can no stage start at 40 any more
  EXPECT_THAT(listing.lines, ElementsAre("0", "1", "2", "3", "4"));
}

TEST(RecorderTest, RowsOfTheCurrentInstantWaitForCompanyThatMaySortBefore) {
  Listing listing;
  Recorder recorder;
  recorder.add_sink(listing);
  recorder.end(recorder.begin(7), math_row(7, 9, 1));
  EXPECT_TRUE(listing.lines.empty());
  recorder.end(recorder.begin(7), math_row(7, 8, 2));
  recorder.begin(8);
  EXPECT_THAT(listing.lines, ElementsAre("2", "1"));
}

TEST(RecorderTest, DroppedAndUnfinishedStagesGiveNoRowAndHoldNothingBack) {
  Listing listing;
  Recorder recorder;
  recorder.add_sink(listing);
  const auto empty_wait = recorder.begin(1);
  recorder.begin(2);
  recorder.end(recorder.begin(3), math_row(3, 4, 3));
  recorder.drop(empty_wait);
  recorder.begin(5);
  EXPECT_TRUE(listing.lines.empty());  // the stage that started at 2 is open
  recorder.finish(9);
  EXPECT_THAT(listing.lines, ElementsAre("3", "end@9"));
  EXPECT_EQ(recorder.statistics().rows(), 1u);
}

TEST(RecorderTest, InflightChangesComeBetweenTheRecordsAroundThem) {
  Listing listing;
  Recorder recorder;
  recorder.add_sink(listing);
  const auto first = recorder.begin(0);
  recorder.inflight({3, 0, +1});
  const auto second = recorder.begin(5);
  recorder.inflight({8, 0, -1});
  recorder.end(second, math_row(5, 8, 1));
  recorder.end(first, math_row(0, 9, 0));
  recorder.finish(9);
  EXPECT_THAT(listing.lines, ElementsAre("0", "+@3", "1", "-@8", "end@9"));
}

TEST(RecorderTest, MemoryFollowsTheLongestStageNotTheRun) {
  Listing listing;
  Recorder recorder;
  recorder.add_sink(listing);
  // Four stages overlap at any time: stage i lasts [i, i + 4).
  std::vector<Recorder::Ticket> tickets;
  std::size_t most = 0;
  for (Picoseconds i = 0; i < 10000; ++i) {
    if (i >= 4) {
      recorder.end(tickets[i - 4], math_row(i - 4, i, static_cast<std::int64_t>(i) - 4));
    }
    tickets.push_back(recorder.begin(i));
    most = std::max(most, recorder.pending());
  }
  // Stages i-3 .. i are open, the one ended at i has just been handed over.
  EXPECT_EQ(most, 4u);
  EXPECT_EQ(listing.lines.size(), 9996u);
}

TEST(RecorderTest, WithoutASinkNothingIsKeptButTheStatistics) {
  Recorder recorder;
  for (Picoseconds i = 0; i < 100; ++i) recorder.end(recorder.begin(i), math_row(i, i + 1, 0));
  recorder.drop(recorder.begin(100));
  recorder.inflight({100, 0, 1});
  EXPECT_EQ(recorder.pending(), 0u);
  EXPECT_EQ(recorder.statistics().rows(), 100u);
  recorder.finish(101);
}

// R10.2: (start_ps, end_ps, pe, engine, cmd, op_index, tile_m, tile_n, tile_k, operand); each row
// differs from the one before in one key, and later keys point the other way.
TEST(OpLogOrderTest, ComparesTheKeysInTheirOrder) {
  const auto make = [](Picoseconds start, Picoseconds end, std::uint32_t pe, Engine engine,
                       std::uint32_t channel, std::int64_t cmd, std::int32_t op_index,
                       arch::TileIndex tile, std::string_view operand) {
    StageRecord record = row(start, end, engine, StageKind::dma_read, cmd);
    record.pe = pe;
    record.channel = channel;
    record.op_index = op_index;
    record.tile = tile;
    record.operand = operand;
    return record;
  };
  const std::vector<StageRecord> ordered{
      make(0, 9, 9, Engine::tcm, 0, 9, 9, {9, 9, 9}, "b"),
      make(1, 8, 9, Engine::tcm, 0, 9, 9, {9, 9, 9}, "b"),
      make(1, 9, 8, Engine::tcm, 0, 9, 9, {9, 9, 9}, "b"),
      make(1, 9, 9, Engine::cpu, 0, 9, 9, {9, 9, 9}, "b"),
      make(1, 9, 9, Engine::dma_rd, 0, 9, 9, {9, 9, 9}, "b"),
      make(1, 9, 9, Engine::dma_rd, 1, 9, 9, {9, 9, 9}, "b"),
      make(1, 9, 9, Engine::dma_rd, 10, 9, 9, {9, 9, 9}, "b"),  // "dma_rd10" < "dma_rd2"
      make(1, 9, 9, Engine::dma_rd, 2, 9, 9, {9, 9, 9}, "b"),
      make(1, 9, 9, Engine::dma_wr, 0, 9, 9, {9, 9, 9}, "b"),
      make(1, 9, 9, Engine::gemm, 0, 9, 9, {9, 9, 9}, "b"),
      make(1, 9, 9, Engine::math, 0, 9, 9, {9, 9, 9}, "b"),
      make(1, 9, 9, Engine::scheduler, 0, 9, 9, {9, 9, 9}, "b"),
      make(1, 9, 9, Engine::tcm, 0, -1, 9, {9, 9, 9}, "b"),
      make(1, 9, 9, Engine::tcm, 0, 8, -1, {9, 9, 9}, "b"),
      make(1, 9, 9, Engine::tcm, 0, 8, 9, {-1, 9, 9}, "b"),
      make(1, 9, 9, Engine::tcm, 0, 8, 9, {0, 9, 9}, "b"),
      make(1, 9, 9, Engine::tcm, 0, 8, 9, {9, 8, 9}, "b"),
      make(1, 9, 9, Engine::tcm, 0, 8, 9, {9, 9, 8}, "b"),
      make(1, 9, 9, Engine::tcm, 0, 8, 9, {9, 9, 9}, ""),
      make(1, 9, 9, Engine::tcm, 0, 8, 9, {9, 9, 9}, "a"),
      make(1, 9, 9, Engine::tcm, 0, 8, 9, {9, 9, 9}, "b"),
      make(1, 9, 9, Engine::tcm, 0, 10, 0, {0, 0, 0}, "a"),  // numbers, not text: 8 < 10
  };
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    for (std::size_t j = 0; j < ordered.size(); ++j) {
      EXPECT_EQ(op_log_order(ordered[i], ordered[j]), i < j) << i << " " << j;
    }
  }
}

TEST(OpLogOrderTest, RowsAlikeInTheKeysAreOrderedByTheOtherColumns) {
  StageRecord x = math_row(0, 1, 0), y = x;
  y.addr += 64;
  EXPECT_TRUE(op_log_order(x, y));
  EXPECT_FALSE(op_log_order(y, x));
  EXPECT_FALSE(op_log_order(x, x));
}

}  // namespace
}  // namespace kernbench::test
