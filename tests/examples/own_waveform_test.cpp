// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/runtime/command_line.hpp"
#include "tests/support/op_log_reader.hpp"
#include "tests/support/sc_trace_reader.hpp"
#include "tests/support/temporary_folder.hpp"

namespace kernbench::test {
namespace {

struct Span {
  std::uint64_t start, end;
  friend bool operator==(const Span& x, const Span& y) {
    return x.start == y.start && x.end == y.end;
  }
};

/// A stage begins where seq counts, and ends there or where busy falls.
std::vector<Span> stages(const ScChanges& busy, const ScChanges& seq) {
  std::vector<Span> spans;
  for (std::size_t i = 1; i < seq.size(); ++i) {
    const std::uint64_t start = seq[i].first;
    const auto fall = std::find_if(busy.begin(), busy.end(), [&](const auto& change) {
      return change.first > start && change.second == 0;
    });
    std::uint64_t end = fall == busy.end() ? 0 : fall->first;
    if (i + 1 < seq.size()) end = std::min(end, seq[i + 1].first);
    spans.push_back({start, end});
  }
  return spans;
}

// R10.3: what is read back from a file of SystemC's own equals the op log; beside it stands what
// the controller has seen: each job from its launch to its last stage, then 50 ns of pause.
TEST(OwnWaveform, HasTheIntervalsOfTheOpLogAndTheJobsOfTheController) {
  const TemporaryFolder folder;
  const Outcome outcome = run_program(KERNBENCH_OWN_WAVEFORM, {folder / "own"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto rows = read_op_log(folder / "own.csv");
  const auto variables = changes(read_file(folder / "own.vcd"));

  for (const std::string engine : {"dma_rd", "tcm", "gemm"}) {
    std::vector<Span> expected;
    for (const OpLogRow& row : rows) {
      if (row.engine == engine) expected.push_back({row.start, row.end});
    }
    // A job: load a, one (128, 128) tile of b for each of 4 n tiles; a FETCH and a STORE a tile.
    const std::size_t of_a_job = engine == "dma_rd" ? 5 : engine == "tcm" ? 8 : 4;
    EXPECT_EQ(expected.size(), 3 * of_a_job) << engine;
    EXPECT_EQ(
        stages(variables.at("pe0." + engine + ".busy"), variables.at("pe0." + engine + ".seq")),
        expected)
        << engine;
  }

  // A job is two commands: load and composite.
  std::vector<Span> jobs;
  for (std::int64_t job = 0; job < 3; ++job) {
    std::uint64_t end = 0;
    for (const OpLogRow& row : rows) {
      if (row.cmd / 2 == job) end = std::max(end, row.done);
    }
    jobs.push_back({job == 0 ? 0 : jobs.back().end + 50000, end});
  }
  ScChanges busy, state{{0, 1}}, count{{0, 0}};
  for (const Span& job : jobs) {
    busy.emplace_back(job.start, 1);
    busy.emplace_back(job.end, 0);
    if (job.start > 0) state.emplace_back(job.start, 1);
    state.emplace_back(job.end, job == jobs.back() ? 3 : 2);
    count.emplace_back(job.end, count.back().second + 1);
  }
  EXPECT_EQ(variables.at("controller.pe_busy"), busy);
  EXPECT_EQ(variables.at("controller.state"), state);
  EXPECT_EQ(variables.at("controller.jobs"), count);
}

TEST(OwnWaveform, RefusesAFileThatCannotBe) {
  const TemporaryFolder folder;
  const Outcome outcome = run_program(KERNBENCH_OWN_WAVEFORM, {folder / "nowhere/own"});
  EXPECT_EQ(outcome.exit_code, 2);
  // Behind SystemC's own banner, if that is shown.
  EXPECT_THAT(outcome.err, testing::HasSubstr("own_waveform: cannot write '" +
                                              (folder / "nowhere/own.csv") + "': No such file"));
  EXPECT_EQ(run_program(KERNBENCH_OWN_WAVEFORM, {}).exit_code, 2);
}

}  // namespace
}  // namespace kernbench::test
