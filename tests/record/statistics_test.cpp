// SPDX-License-Identifier: Apache-2.0
#include "model/record/statistics.hpp"

#include <gtest/gtest.h>

#include "tests/record/sample_records.hpp"

namespace kernbench::test {
namespace {

const record::EngineStatistics& engine(const record::PeStatistics& pe, Engine which) {
  return pe.engines[static_cast<std::size_t>(which)];
}

TEST(StatisticsTest, SumsWorkPerEngineAndStandstillByCause) {
  record::Statistics statistics;
  statistics.add(dispatch_row(0, 60125, 0));
  statistics.add(row(60125, 60200, Engine::cpu, StageKind::queue_stall, 0));
  statistics.add(row(60200, 60500, Engine::cpu, StageKind::wait, 0));
  statistics.add(row(60500, 61000, Engine::cpu, StageKind::wait, 1));
  statistics.add(row(60200, 60203, Engine::scheduler, StageKind::admit_stall, 0));
  statistics.add(read_row(100, 244, 344, 0, 0));
  statistics.add(read_row(150, 250, 350, 0, 1));
  StageRecord write = row(400, 420, Engine::dma_wr, StageKind::dma_write, 0);
  write.bytes = 1024;
  statistics.add(write);
  statistics.add(math_row(10, 18, 0));

  ASSERT_EQ(statistics.pes().size(), 1u);
  const record::PeStatistics& pe = statistics.pes()[0];
  EXPECT_EQ(pe.rows, 9u);
  // Dispatch alone is busy time of the cpu.
  EXPECT_EQ(engine(pe, Engine::cpu).busy_ps, 60125u);
  EXPECT_EQ(engine(pe, Engine::cpu).stages, 1u);
  EXPECT_EQ(engine(pe, Engine::cpu).bytes, 322u);
  EXPECT_EQ(engine(pe, Engine::scheduler).busy_ps, 0u);
  EXPECT_EQ(engine(pe, Engine::scheduler).stages, 0u);
  // Channels together, occupation only: 144 + 100, without the latency after it.
  EXPECT_EQ(engine(pe, Engine::dma_rd).busy_ps, 244u);
  EXPECT_EQ(engine(pe, Engine::dma_rd).stages, 2u);
  EXPECT_EQ(engine(pe, Engine::dma_rd).bytes, 32768u);
  EXPECT_EQ(engine(pe, Engine::dma_wr).busy_ps, 20u);
  EXPECT_EQ(engine(pe, Engine::math).elements, 512u);
  EXPECT_EQ(pe.hbm_read_bytes, 32768u);
  EXPECT_EQ(pe.hbm_write_bytes, 1024u);
  EXPECT_EQ(pe.stalls.queue_ps, 75u);
  EXPECT_EQ(pe.stalls.await_ps, 800u);
  EXPECT_EQ(pe.stalls.admit_ps, 3u);
}

TEST(StatisticsTest, CountsSlotsAndBytesOfMessagesEachWay) {
  record::Statistics statistics;
  StageRecord last = message_row(20, 30, StageKind::send, 4, 1, 2, 0);
  last.bytes = 100;
  for (const StageRecord& record : {message_row(0, 10, StageKind::send, 4, 0, 2, 0),
                                    message_row(10, 20, StageKind::recv, 3, 0, 2, 1), last}) {
    statistics.add(record);
  }
  const record::PeStatistics& pe = statistics.pes()[0];
  EXPECT_EQ(pe.ipcq.sent_slots, 2u);
  EXPECT_EQ(pe.ipcq.sent_bytes, 8292u);
  EXPECT_EQ(pe.ipcq.received_slots, 1u);
  EXPECT_EQ(pe.ipcq.received_bytes, 8192u);
  // One server for both.
  EXPECT_EQ(engine(pe, Engine::ipcq).busy_ps, 30u);
  EXPECT_EQ(engine(pe, Engine::ipcq).stages, 3u);
  EXPECT_EQ(engine(pe, Engine::ipcq).bytes, 16484u);
  EXPECT_EQ(pe.hbm_read_bytes + pe.hbm_write_bytes, 0u);
}

// Regions 0 and 2 of a PE; region 1 has nothing. A stall of the queue or of its head is no work.
TEST(StatisticsTest, RegionsHaveTheRowsOfTheirCommands) {
  record::Statistics statistics;
  const auto add = [&](StageRecord record, std::uint64_t regions) {
    record.regions = regions;
    statistics.add(record);
  };
  StageRecord write = row(400, 420, Engine::dma_wr, StageKind::dma_write, 0);
  write.bytes = 1024;
  add(dispatch_row(0, 60, 0), 1);
  add(read_row(100, 244, 344, 0), 1);
  add(write, 1 | 4);
  add(math_row(10, 18, 0), 4);
  add(row(500, 530, Engine::cpu, StageKind::wait, 1), 4);
  add(row(530, 570, Engine::cpu, StageKind::queue_stall, 1), 4);
  add(row(530, 600, Engine::scheduler, StageKind::admit_stall, 1), 4);
  add(math_row(20, 28, 0), 0);

  const std::vector<record::RegionStatistics>& regions = statistics.pes()[0].regions;
  ASSERT_EQ(regions.size(), 3u);
  const auto busy = [&](std::size_t region, Engine which) {
    return regions[region].busy_ps[static_cast<std::size_t>(which)];
  };
  EXPECT_EQ(busy(0, Engine::cpu), 60u);
  EXPECT_EQ(busy(0, Engine::dma_rd), 144u);
  EXPECT_EQ(busy(0, Engine::dma_wr), 20u);
  EXPECT_EQ(busy(0, Engine::math), 0u);
  EXPECT_EQ(regions[0].stalls.await_ps, 0u);
  EXPECT_EQ(regions[0].hbm_bytes, 16384u + 1024u);
  EXPECT_EQ(regions[1].hbm_bytes, 0u);
  EXPECT_EQ(busy(2, Engine::cpu), 0u);
  EXPECT_EQ(busy(2, Engine::scheduler), 0u);
  EXPECT_EQ(busy(2, Engine::dma_wr), 20u);
  EXPECT_EQ(busy(2, Engine::math), 8u);
  EXPECT_EQ(regions[2].stalls.await_ps, 30u);
  EXPECT_EQ(regions[2].stalls.queue_ps, 40u);
  EXPECT_EQ(regions[2].stalls.admit_ps, 70u);
  EXPECT_EQ(regions[2].hbm_bytes, 1024u);
}

TEST(StatisticsTest, KeepsPesApartAndAPeWithoutRecordsAtZero) {
  record::Statistics statistics;
  StageRecord record = math_row(0, 7, 0);
  record.pe = 2;
  statistics.add(record);
  ASSERT_EQ(statistics.pes().size(), 3u);
  EXPECT_EQ(statistics.pes()[0].rows, 0u);
  EXPECT_EQ(engine(statistics.pes()[2], Engine::math).busy_ps, 7u);
  EXPECT_EQ(statistics.rows(), 1u);
}

}  // namespace
}  // namespace kernbench::test
