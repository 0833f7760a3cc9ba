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

/// PEs with memories of their own and one recorder, each with its kernel.
class Bench {
 public:
  explicit Bench(const std::vector<KernelBody>& kernels) {
    for (std::uint32_t i = 0; i < kernels.size(); ++i) {
      const std::string number = std::to_string(i);
      pes_.push_back(std::make_unique<Pe>(("pe" + number).c_str(), arch::PeConfig{}, i));
      memories_.push_back(
          std::make_unique<EmbeddedHbm>(("hbm" + number).c_str(), arch::HbmConfig{}, 1u, false));
      monitors_.push_back(
          test::bind_monitored(pes_[i]->memory, memories_[i]->port(0), "monitor" + number));
      pes_[i]->set_recorder(&recorder_);
      pes_[i]->set_kernel(kernels[i]);
    }
  }

  /// In the window of the region `loop` of all PEs.
  WindowStatistics run() {
    LoopWindow window(cpus(), "loop");
    recorder_.add_sink(window);
    recorder_.add_sink(rows);
    sc_core::sc_start();
    std::uint64_t end = 0;
    for (const auto& pe : pes_) {
      EXPECT_TRUE(pe->idle());
      end = std::max(end, pe->cpu.last_done_ps());
    }
    recorder_.finish(end);
    entered = window.entered();
    return window.statistics();
  }

  std::vector<const PeCpu*> cpus() const {
    std::vector<const PeCpu*> cpus;
    for (const auto& pe : pes_) cpus.push_back(&pe->cpu);
    return cpus;
  }

  Rows rows;
  bool entered = false;

 private:
  record::Recorder recorder_;
  std::vector<std::unique_ptr<EmbeddedHbm>> memories_;
  std::vector<std::unique_ptr<BaseProtocolMonitor>> monitors_;
  std::vector<std::unique_ptr<Pe>> pes_;
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

// In ns: PE 0 is in its loop from 0 to 100 and busy until 400, PE 1 from 150 to 200 and busy until
// then, PE 2 has no loop and is busy until 170. The window is 0 to 200: 200 + 200 + 170 of work.
TEST(LoopWindowTest, ReachesFromTheFirstStartToTheLastEndOfAllPes) {
  Bench bench({[](command::CommandSink& sink) {
                 loop(sink, 100);
                 overhead(sink, 300);
               },
               [](command::CommandSink& sink) {
                 overhead(sink, 150);
                 loop(sink, 50);
               },
               [](command::CommandSink& sink) { overhead(sink, 170); }});
  const WindowStatistics window = bench.run();
  EXPECT_TRUE(bench.entered);
  EXPECT_EQ(window.start_ps, 0u);
  EXPECT_EQ(window.end_ps, 200 * kNs);
  EXPECT_EQ(busy(window, arch::Engine::cpu), 570 * kNs);
}

// PE 0 is in its loop from 10 to 20 and from 90 to 100, PE 1 from 30 to 80: work of 90 and, cut at
// both ends, 90.
TEST(LoopWindowTest, AReenteredRegionReachesToItsLastEnd) {
  Bench bench({[](command::CommandSink& sink) {
                 overhead(sink, 10);
                 loop(sink, 10);
                 overhead(sink, 70);
                 loop(sink, 10);
                 overhead(sink, 1000);
               },
               [](command::CommandSink& sink) {
                 overhead(sink, 30);
                 loop(sink, 50);
                 overhead(sink, 500);
               }});
  const WindowStatistics window = bench.run();
  EXPECT_EQ(window.start_ps, 10 * kNs);
  EXPECT_EQ(window.end_ps, 100 * kNs);
  EXPECT_EQ(busy(window, arch::Engine::cpu), 180 * kNs);
}

TEST(LoopWindowTest, IsNotEnteredWithoutTheRegion) {
  Bench bench({[](command::CommandSink& sink) { overhead(sink, 10); }});
  bench.run();
  EXPECT_FALSE(bench.entered);
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
  Bench bench({kernel(300, 400, 500), kernel(700, 300, 0), kernel(500, 100, 700)});
  const WindowStatistics window = bench.run();

  std::uint64_t start = UINT64_MAX, end = 0;
  for (const PeCpu* cpu : bench.cpus()) {
    ASSERT_EQ(cpu->regions().size(), 1u);
    start = std::min(start, cpu->regions()[0].start_ps);
    end = std::max(end, cpu->regions()[0].end_ps);
  }
  EXPECT_EQ(window.start_ps, start);
  EXPECT_EQ(window.end_ps, end);
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
