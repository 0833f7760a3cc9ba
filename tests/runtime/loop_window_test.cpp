// SPDX-License-Identifier: Apache-2.0
#include "runtime/loop_window.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "model/embedded_hbm.hpp"
#include "model/pe.hpp"
#include "tests/support/monitored.hpp"
#include "tl/context.hpp"

namespace kernbench::runtime {
namespace {

constexpr std::uint64_t kNs = 1000;  // a cycle of the default clock, in ps

class Rows : public record::OrderedSink {
 public:
  void record(const record::StageRecord& record) override { rows.push_back(record); }
  void finish(record::Picoseconds) override {}

  std::vector<record::StageRecord> rows;
};

/// A PE with its memory and its kernel.
class Bench {
 public:
  explicit Bench(const KernelBody& kernel) {
    pe_.set_recorder(&recorder_);
    pe_.set_kernel(kernel);
  }

  /// In the window of the region `loop`.
  WindowStatistics run() {
    LoopWindow window(pe_.cpu, "loop");
    recorder_.add_sink(window);
    recorder_.add_sink(rows);
    sc_core::sc_start();
    EXPECT_TRUE(pe_.idle());
    recorder_.finish(pe_.cpu.last_done_ps());
    return window.statistics();
  }

  const std::vector<Region>& regions() const { return pe_.cpu.regions(); }

  Rows rows;

 private:
  record::Recorder recorder_;
  Pe pe_{"pe", arch::PeConfig{}, 0};
  EmbeddedHbm memory_{"hbm", arch::HbmConfig{}, 1, false};
  std::unique_ptr<BaseProtocolMonitor> monitor_ =
      test::bind_monitored(pe_.memory, memory_.port(0), "monitor");
};

std::uint64_t busy(const WindowStatistics& window, arch::Engine engine) {
  return window.busy_ps[static_cast<std::size_t>(engine)];
}

void overhead(command::CommandSink& sink, std::uint64_t cycles) {
  sink.issue(command::PeCpuOverheadCmd{cycles});
}

void loop(command::CommandSink& sink, std::uint64_t cycles) {
  sink.begin_region("loop");
  overhead(sink, cycles);
  sink.end_region("loop");
}

// In ns: busy until 30, then in the loop until 80, then busy for longer.
TEST(LoopWindowTest, EndsWithTheLoop) {
  Bench bench([](command::CommandSink& sink) {
    overhead(sink, 30);
    loop(sink, 50);
    overhead(sink, 500);
  });
  const WindowStatistics window = bench.run();
  EXPECT_EQ(window.time_ps, 50 * kNs);
  EXPECT_EQ(busy(window, arch::Engine::cpu), 50 * kNs);
}

// In the loop from 10 to 20 and from 90 to 100: what is between is within.
TEST(LoopWindowTest, AReenteredRegionReachesToItsLastEnd) {
  Bench bench([](command::CommandSink& sink) {
    overhead(sink, 10);
    loop(sink, 10);
    overhead(sink, 70);
    loop(sink, 10);
    overhead(sink, 1000);
  });
  const WindowStatistics window = bench.run();
  EXPECT_EQ(window.time_ps, 90 * kNs);
  EXPECT_EQ(busy(window, arch::Engine::cpu), 90 * kNs);
}

TEST(LoopWindowTest, IsNothingWithoutTheRegion) {
  Bench bench([](command::CommandSink& sink) { overhead(sink, 10); });
  const WindowStatistics window = bench.run();
  EXPECT_EQ(window.time_ps, 0u);
  EXPECT_EQ(busy(window, arch::Engine::cpu), 0u);
}

// Against the rows of the op log, cut by hand at the ends of the regions: thousands of them,
// before, within and after the window, of two engines, with waits and stalls.
TEST(LoopWindowTest, AgreesWithTheRowsOfALongRun) {
  const auto kernel = [](std::uint64_t before, std::uint64_t within, std::uint64_t after) {
    return [=](command::CommandSink& sink) {
      tl::Context tl(tl::Target{}, sink);
      auto tensor = tl.empty({64, 64}, command::DType::f16);
      const auto work = [&](std::uint64_t times) {
        for (std::uint64_t i = 0; i < times; ++i) {
          tl.add(tensor, tensor, tensor);
          if (i % 3 == 0) tl.wait({tensor});
          if (i % 5 == 0) tl.cpu_overhead(1 + i % 7);
        }
      };
      work(before);
      {
        auto region = tl.region("loop");
        work(within);
      }
      work(after);
    };
  };
  Bench bench(kernel(300, 400, 500));
  const WindowStatistics window = bench.run();

  ASSERT_EQ(bench.regions().size(), 1u);
  const std::uint64_t start = bench.regions()[0].start_ps, end = bench.regions()[0].end_ps;
  EXPECT_EQ(window.time_ps, end - start);
  WindowStatistics expected;
  std::size_t outside = 0;
  for (const record::StageRecord& row : bench.rows.rows) {
    const std::uint64_t from = std::max(row.start, start), to = std::min(row.end, end);
    if (from >= to) {
      ++outside;
      continue;
    }
    if (row.stage == arch::StageKind::wait) {
      expected.stalls.await_ps += to - from;
    } else if (row.stage == arch::StageKind::admit_stall) {
      expected.stalls.admit_ps += to - from;
    } else if (row.stage == arch::StageKind::queue_stall) {
      expected.stalls.queue_ps += to - from;
    } else {
      expected.busy_ps[static_cast<std::size_t>(row.engine)] += to - from;
    }
  }
  EXPECT_EQ(window.busy_ps, expected.busy_ps);
  EXPECT_EQ(window.stalls.await_ps, expected.stalls.await_ps);
  EXPECT_EQ(window.stalls.admit_ps, expected.stalls.admit_ps);
  EXPECT_EQ(window.stalls.queue_ps, expected.stalls.queue_ps);
  EXPECT_GT(busy(window, arch::Engine::math), 0u);
  EXPECT_GT(window.stalls.await_ps, 0u);
  EXPECT_GT(outside, 1000u);
  EXPECT_GT(bench.rows.rows.size(), outside + 1000);
}

}  // namespace
}  // namespace kernbench::runtime
