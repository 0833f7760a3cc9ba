// SPDX-License-Identifier: Apache-2.0
#include "model/record/op_log.hpp"

#include <gtest/gtest.h>

#include "tests/record/sample_records.hpp"
#include "tests/support/op_log_reader.hpp"
#include "tests/support/temporary_folder.hpp"

namespace kernbench::test {
namespace {

using record::OpLog;

TEST(OpLogTest, WritesEveryColumnAndLeavesEmptyWhatDoesNotApply) {
  const TemporaryFolder folder;
  OpLog log(folder / "op.csv");
  StageRecord stall = row(60125, 60200, Engine::cpu, StageKind::queue_stall, 0);
  stall.pe = 17;
  StageRecord gemm = row(344000, 376000, Engine::gemm, StageKind::gemm, 3);
  gemm.op = "gemm";
  gemm.op_index = 0;
  gemm.tile = {0, 0, 0};
  gemm.elements = 65536;
  feed(log,
       {dispatch_row(0, 60125, 0), stall, math_row(60125, 68125, 0),
        read_row(104125, 248125, 348125, 0, 1), gemm,
        on_pe(17, message_row(380000, 390000, StageKind::send, 4, 1, 126, 3))},
       400000);
  // R10.2, by hand; 2^40 is 0x10000000000.
  EXPECT_EQ(read_file(folder / "op.csv"),
            "start_ps,end_ps,done_ps,pe,engine,stage,op,cmd,op_index,tile_m,tile_n,tile_k,operand,"
            "addr,bytes,elements\n"
            "0,60125,60125,0,cpu,dispatch,composite,0,,,,,,,322,\n"
            "60125,60200,60200,17,cpu,queue_stall,,0,,,,,,,,\n"
            "60125,68125,68125,0,math,math,rmax,0,0,,,,out,0x10000000000,,512\n"
            "104125,248125,348125,0,dma_rd1,dma_read,gemm,0,8,0,1,2,b,0x1f000,16384,\n"
            "344000,376000,376000,0,gemm,gemm,gemm,3,0,0,0,0,,,,65536\n"
            "380000,390000,390000,17,ipcq,send,send,4,,1,126,3,src,0x10000000040,8192,\n");
}

TEST(OpLogTest, AppearsOnlyWhenFinishedAndIsTheHeaderForAnEmptyRun) {
  const TemporaryFolder folder;
  { OpLog abandoned(folder / "op.csv"); }
  EXPECT_TRUE(folder.names().empty());
  OpLog log(folder / "op.csv");
  log.finish(0);
  EXPECT_EQ(read_file(folder / "op.csv"), std::string(OpLog::kHeader) + "\n");
}

TEST(OpLogReaderTest, ReadsBackWhatWasWritten) {
  const TemporaryFolder folder;
  OpLog log(folder / "op.csv");
  feed(log, {dispatch_row(0, 60125, 0), read_row(104125, 248125, 348125, 1, 2)}, 400000);
  const auto rows = read_op_log(folder / "op.csv");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].op, "composite");
  EXPECT_EQ(rows[0].op_index, -1);
  EXPECT_FALSE(rows[0].addr);
  EXPECT_EQ(rows[1].start, 104125u);
  EXPECT_EQ(rows[1].end, 248125u);
  EXPECT_EQ(rows[1].done, 348125u);
  EXPECT_EQ(rows[1].engine, "dma_rd2");
  EXPECT_EQ(rows[1].stage, "dma_read");
  EXPECT_EQ(rows[1].cmd, 1);
  EXPECT_EQ(rows[1].tile_k, 2);
  EXPECT_EQ(rows[1].operand, "b");
  EXPECT_EQ(rows[1].addr, 0x1f000u);
  EXPECT_EQ(rows[1].bytes, 16384u);
  EXPECT_EQ(select(rows, [](const OpLogRow& r) { return r.engine == "cpu"; }).size(), 1u);
}

TEST(OpLogReaderTest, RefusesAnotherHeaderAndBrokenRows) {
  const std::string header = std::string(OpLog::kHeader) + "\n";
  EXPECT_THROW(parse_op_log("start,end\n"), std::runtime_error);
  EXPECT_THROW(parse_op_log(header + "1,2,3\n"), std::runtime_error);
  EXPECT_THROW(parse_op_log(header + "1,2,2,0,math,math,rmax,x,0,,,,,,,\n"), std::runtime_error);
  EXPECT_THROW(parse_op_log(header + "1,2,2,0,math,math,rmax,0,0,,,,,,,"), std::runtime_error);
  EXPECT_EQ(parse_op_log(header + "1,2,2,0,math,math,rmax,0,0,,,,,,,\n").size(), 1u);
}

}  // namespace
}  // namespace kernbench::test
