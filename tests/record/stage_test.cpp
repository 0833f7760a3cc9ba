// SPDX-License-Identifier: Apache-2.0
#include "model/arch/stage.hpp"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "model/record/record.hpp"

namespace kernbench::test {
namespace {

using arch::Engine;
using arch::StageKind;
using command::DType;
using command::OperandName;
using testing::ElementsAre;

TEST(StageTest, NamesAreThoseOfTheOpLog) {  // R10.2
  std::vector<std::string> stages, engines;
  for (int i = 0; i <= static_cast<int>(StageKind::recv); ++i) {
    stages.emplace_back(to_string(static_cast<StageKind>(i)));
  }
  for (int i = 0; i < arch::kEngines; ++i) {
    engines.emplace_back(to_string(static_cast<Engine>(i)));
  }
  EXPECT_THAT(stages, ElementsAre("dispatch", "queue_stall", "wait", "admit_stall", "dma_read",
                                  "fetch", "gemm", "math", "store", "dma_write", "send", "recv"));
  EXPECT_THAT(engines,
              ElementsAre("cpu", "scheduler", "dma_rd", "dma_wr", "tcm", "gemm", "math", "ipcq"));
  EXPECT_EQ(record::engine_name(Engine::dma_rd, 0), "dma_rd");
  EXPECT_EQ(record::engine_name(Engine::dma_wr, 12), "dma_wr12");
}

TEST(SliceTest, RangeIsTheHullOfItsEntries) {  // R3.3
  // 3 x 4 entries of 2 bytes in rows of 10: last entry at 2*10 + 3 = 23, so 24 entries from addr.
  const arch::Slice rows{OperandName::a, DType::f16, 1000, 3, 4, 10, 1};
  EXPECT_EQ(rows.range(), (command::ByteRange{1000, 1048}));
  EXPECT_EQ(rows.element_address(2, 3), 1046u);
  EXPECT_EQ(rows.bytes(), 24u);
  // Its transpose has the same bytes.
  const arch::Slice cols{OperandName::b, DType::f16, 1000, 4, 3, 1, 10};
  EXPECT_EQ(cols.range(), rows.range());
  EXPECT_EQ(cols.element_address(3, 2), 1046u);
  // One f32 entry.
  EXPECT_EQ((arch::Slice{OperandName::src, DType::f32, 8, 1, 1, 1, 1}.range()),
            (command::ByteRange{8, 12}));
}

TEST(StageSpecTest, FindsItsOperandsByName) {
  arch::StageSpec stage;
  stage.operands.push_back({OperandName::src_a, DType::f16, 0, 1, 1, 1, 1});
  stage.operands.push_back({OperandName::src_b, DType::f16, 64, 1, 1, 1, 1});
  ASSERT_NE(stage.operand(OperandName::src_b), nullptr);
  EXPECT_EQ(stage.operand(OperandName::src_b)->addr, 64u);
  EXPECT_EQ(stage.operand(OperandName::other), nullptr);
}

}  // namespace
}  // namespace kernbench::test
