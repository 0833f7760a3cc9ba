// SPDX-License-Identifier: Apache-2.0
// R3.7: a recorded program, replayed, asks the same of its sink.
#include "tlm_if/command/program.hpp"

#include <gtest/gtest.h>

namespace kernbench::command {
namespace {

TEST(Program, ReplayIsTheSameProgram) {
  const TensorHandle x = make_handle(1, kTcmBase, Shape{4}, DType::f32, Space::tcm, "x");
  ProgramRecorder first;
  first.begin_region("loop");
  first.issue(PeCpuOverheadCmd{7});
  first.issue(DmaReadCmd{x, x});
  first.wait({x.range()});
  first.observe("m", x);
  first.end_region("loop");

  ProgramRecorder second;
  first.program().replay(second);
  const auto& steps = second.program().steps;
  ASSERT_EQ(steps.size(), 6u);
  EXPECT_EQ(std::get<BeginRegionStep>(steps[0]).name, "loop");
  EXPECT_EQ(std::get<WaitStep>(steps[3]).ranges, std::vector<ByteRange>{x.range()});
  EXPECT_EQ(std::get<ObserveStep>(steps[4]).name, "m");
  EXPECT_EQ(std::get<ObserveStep>(steps[4]).handle, x);
  EXPECT_EQ(std::get<EndRegionStep>(steps[5]).name, "loop");
  EXPECT_EQ(second.program().commands(), first.program().commands());
  EXPECT_EQ(second.program().commands(),
            (std::vector<Command>{PeCpuOverheadCmd{7}, DmaReadCmd{x, x}}));
}

}  // namespace
}  // namespace kernbench::command
