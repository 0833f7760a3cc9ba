// SPDX-License-Identifier: Apache-2.0
#include "model/record/recorder.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

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

// Keeps what it is given.
class Rows : public OrderedSink {
 public:
  void record(const StageRecord& record) override { rows.push_back(record); }
  void finish(Picoseconds) override {}

  std::vector<StageRecord> rows;
};

// Every field has a value of its own, as wide as it gets or nearly so.
TEST(RecorderTest, WhatIsHeldComesOutWhole) {
  constexpr auto kMost = std::numeric_limits<std::int32_t>::max();
  StageRecord full;
  full.start = 1;
  full.end = std::numeric_limits<Picoseconds>::max() - 1;
  full.done = std::numeric_limits<Picoseconds>::max();
  full.pe = 70000;  // statistics are kept up to it
  full.engine = Engine::ipcq;
  full.channel = std::numeric_limits<std::uint16_t>::max();
  full.stage = StageKind::recv;
  full.op = "recv";
  full.cmd = std::numeric_limits<std::int64_t>::max();
  full.op_index = kMost;
  full.tile = {kMost - 1, kMost - 2, kMost - 3};
  full.operand = "out";
  full.has_addr = true;
  full.addr = command::kTcmBase - 1;
  full.bytes = std::numeric_limits<std::uint64_t>::max() - 2;
  full.elements = std::numeric_limits<std::uint64_t>::max() - 3;
  const StageRecord bare = row(2, 3, Engine::cpu, StageKind::wait, -1);

  Rows sink;
  Recorder recorder;
  recorder.add_sink(sink);
  const auto first = recorder.begin(1);
  recorder.end(recorder.begin(2), bare);
  recorder.end(first, full);
  recorder.finish(full.done);
  ASSERT_EQ(sink.rows.size(), 2u);
  for (const auto& [given, found] :
       {std::pair{full, sink.rows[0]}, std::pair{bare, sink.rows[1]}}) {
    EXPECT_EQ(found.start, given.start);
    EXPECT_EQ(found.end, given.end);
    EXPECT_EQ(found.done, given.done);
    EXPECT_EQ(found.pe, given.pe);
    EXPECT_EQ(found.engine, given.engine);
    EXPECT_EQ(found.channel, given.channel);
    EXPECT_EQ(found.stage, given.stage);
    EXPECT_EQ(found.op, given.op);
    EXPECT_EQ(found.cmd, given.cmd);
    EXPECT_EQ(found.op_index, given.op_index);
    EXPECT_EQ(found.tile.m, given.tile.m);
    EXPECT_EQ(found.tile.n, given.tile.n);
    EXPECT_EQ(found.tile.k, given.tile.k);
    EXPECT_EQ(found.operand, given.operand);
    EXPECT_EQ(found.has_addr, given.has_addr);
    EXPECT_EQ(found.addr, given.addr);
    EXPECT_EQ(found.bytes, given.bytes);
    EXPECT_EQ(found.elements, given.elements);
  }
}

TEST(RecorderTest, TextsAreTakenUpTo256) {
  static const std::string kText(300, 'x');
  Rows sink;
  Recorder recorder;
  recorder.add_sink(sink);
  const auto held = recorder.begin(0);
  const auto record_text = [&](std::size_t size) {
    StageRecord record = row(1, 2, Engine::math, StageKind::math, 0);
    record.op = std::string_view(kText).substr(0, size);
    record.operand = record.op;
    recorder.end(recorder.begin(1), record);
  };
  for (std::size_t size = 1; size <= 256; ++size) record_text(size);
  EXPECT_THROW(record_text(257), std::logic_error);
  recorder.drop(held);
  recorder.finish(2);
  // In the order of their texts: shorter first, as one begins the other.
  ASSERT_EQ(sink.rows.size(), 256u);
  for (std::size_t i = 0; i < 256; ++i) EXPECT_EQ(sink.rows[i].op.size(), i + 1);
}

// 128 PEs, of which one waits throughout: what the others do meanwhile is held back, and no more.
TEST(RecorderTest, AWaitOfOnePeHoldsBackTheRowsOfTheOthers) {
  Rows sink;
  Recorder recorder;
  recorder.add_sink(sink);
  const auto wait = recorder.begin(0);
  for (Picoseconds i = 1; i <= 100; ++i) {
    for (std::uint32_t pe = 1; pe < 128; ++pe) {
      recorder.end(recorder.begin(i), on_pe(pe, math_row(i, i + 1, 0)));
    }
  }
  EXPECT_EQ(recorder.pending(), 1u + 100 * 127);
  recorder.end(wait, row(0, 101, Engine::cpu, StageKind::wait, 0));
  recorder.begin(101);
  EXPECT_EQ(recorder.pending(), 1u);
  EXPECT_EQ(sink.rows.size(), 1u + 100 * 127);
  EXPECT_EQ(sink.rows.front().pe, 0u);
  EXPECT_TRUE(std::is_sorted(sink.rows.begin(), sink.rows.end(), op_log_order));
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
      make(1, 9, 9, Engine::ipcq, 0, 9, 9, {9, 9, 9}, "b"),
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

// What the order of engines relies on: a channel's suffix decides only within one engine.
TEST(OpLogOrderTest, NoEnginesNameIsTheBeginningOfAnothers) {
  for (int i = 0; i < arch::kEngines; ++i) {
    for (int j = 0; j < arch::kEngines; ++j) {
      if (i == j) continue;
      const std::string_view name = to_string(static_cast<Engine>(i));
      EXPECT_NE(to_string(static_cast<Engine>(j)).substr(0, name.size()), name);
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
