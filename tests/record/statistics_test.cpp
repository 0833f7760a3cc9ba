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
