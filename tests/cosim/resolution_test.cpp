// SPDX-License-Identifier: Apache-2.0
// The time resolution is the integrator's: 1 ps or finer gives the same figures, coarser is refused
// before anything runs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tlm_utils/simple_target_socket.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/run.hpp"
#include "tests/cosim/own_design.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/ipcq_bench.hpp"
#include "tests/support/machine_bench.hpp"
#include "tests/support/vcd_reader.hpp"
#include "tlm_if/command/error.hpp"

namespace kernbench::test {
namespace {

using command::CommandSink;
using testing::HasSubstr;

constexpr double kFs = 1e-6;  // ns

struct Resolution {
  double value;
  sc_core::sc_time_unit unit;
};

/// The files of a decode at a resolution that is set before the PE is built, or the default.
std::string files_at(const std::optional<Resolution>& resolution) {
  return in_child([&] {
    if (resolution) sc_core::sc_set_time_resolution(resolution->value, resolution->unit);
    OwnDesign design;
    const runtime::Launch launched =
        launch(single_pe(), "gqa_decode", {{"variant", "opt2"}, {"s_kv", "200"}});
    design.pe.set_kernel([&](CommandSink& sink) { launched.issue(sink); });
    sc_core::sc_start();
    design.outputs.finish();
    return files_in(design.folder);
  });
}

TEST(Resolution, FinerOnesGiveTheSameFiles) {
  const std::string files = files_at(std::nullopt);
  // Case 20: in ps, whatever the resolution; an edge is where the op log has it, to the last one.
  const VcdFile vcd = parse_vcd(file_of(files, "waves.vcd"));
  const std::vector<OpLogRow> rows = parse_op_log(file_of(files, "op_log.csv"));
  EXPECT_EQ(vcd.timescale, "1 ps");
  EXPECT_EQ(vcd.end, rows.back().done);
  const auto reads = select(rows, [](const OpLogRow& row) { return row.engine == "dma_rd"; });
  const auto shown = vcd.stages("pe0.dma_rd");
  ASSERT_EQ(shown.size(), reads.size());
  EXPECT_EQ(shown.front().end, reads.front().end);
  for (const Resolution& resolution :
       {Resolution{1, sc_core::SC_PS}, Resolution{100, sc_core::SC_FS},
        Resolution{1, sc_core::SC_FS}}) {
    EXPECT_TRUE(files_at(resolution) == files) << resolution.value << " " << resolution.unit;
  }
}

// Links, messages and launches as well.
TEST(Resolution, AMachineRunsTheSameAtAFemtosecond) {
  const auto op_log_at = [](bool fine) {
    return in_child([&] {
      if (fine) sc_core::sc_set_time_resolution(1, sc_core::SC_FS);
      const TemporaryFolder folder;
      const arch::TopologyConfig topology = shipped("cube_8pe");
      const runtime::Launch launched = launch(topology, "all_reduce", {{"programs", "8"}});
      runtime::RunRequest request;
      request.launch = &launched;
      request.paths.op_log = folder / "op_log.csv";
      runtime::simulate(topology, {}, {request});
      return read_file(folder / "op_log.csv");
    });
  };
  const std::string usual = op_log_at(false);
  EXPECT_THAT(usual, HasSubstr(",send,"));
  EXPECT_TRUE(op_log_at(true) == usual);
}

TEST(Resolution, CoarserOnesAreRefusedWhenTheFirstModuleIsBuilt) {
  for (const Resolution& resolution :
       {Resolution{10, sc_core::SC_PS}, Resolution{1, sc_core::SC_NS},
        Resolution{1, sc_core::SC_US}}) {
    const std::string told = in_child([&]() -> std::string {
      sc_core::sc_set_time_resolution(resolution.value, resolution.unit);
      try {
        const Pe pe("pe0", single_pe().pe, 0);
      } catch (const sc_core::sc_report& report) {
        return std::string(report.get_msg_type()) + ": " + report.get_msg();
      }
      return "accepted";
    });
    EXPECT_THAT(told,
                HasSubstr("/kernbench/time/resolution: the time resolution " +
                          std::string(resolution.unit == sc_core::SC_PS   ? "10 ps"
                                      : resolution.unit == sc_core::SC_NS ? "1 ns"
                                                                          : "1 us") +
                          " is coarser than 1 ps; set 1 ps or finer before the first module"));
  }
}

// By then it is too late: SystemC says so, and the PE is as it was.
TEST(Resolution, CannotBeSetOnceAPeIsBuilt) {
  const Pe pe("pe0", single_pe().pe, 0);
  const sc_core::sc_time before = sc_core::sc_get_time_resolution();
  EXPECT_THROW(sc_core::sc_set_time_resolution(1, sc_core::SC_FS), sc_core::sc_report);
  EXPECT_EQ(sc_core::sc_get_time_resolution(), before);
}

// ---- a memory with times between picoseconds
// -----------------------------------------------------

constexpr command::Index kBursts = 7;  // of 4096 bytes

/// Loads kBursts bursts, and again when they are there.
void two_loads(CommandSink& sink) {
  const auto matrix = [](std::uint64_t id, command::Address addr, command::Space space) {
    return command::make_handle(id, addr, command::Shape{kBursts, 2048}, command::DType::f16, space,
                                "x");
  };
  const auto tcm = matrix(1, command::kTcmBase, command::Space::tcm);
  for (int i = 0; i < 2; ++i) {
    sink.issue(command::DmaReadCmd{matrix(2, 0, command::Space::hbm), tcm});
    sink.wait({tcm.range()});
  }
}

struct Case {
  const char* what;
  // In fs: of ForeignMemory::Times.
  std::uint64_t accept, accept_annotated, response, response_annotated;
};

// The clock of the model counts whole ps and time goes on exactly: what happens at time t has the
// stamp floor(t), and what takes d ps from there ends at t + d. A dispatch takes 41.3125 ns,
// rounded to 41313 ps, the setup 16000 ps. A burst asks when the one before has been accepted, A =
// accept + accept_annotated after it: the channel is free at 57313000 + 7 A. The first response
// begins `response` after A; the others follow at a distance of A, or of what a response is
// annotated with if that is longer, and the last one takes that time as well. The second load
// begins there, with the fraction.
TEST(BetweenPicoseconds, StampsAreRoundedDownAndTimeIsExact) {
  for (const Case& c : {
           Case{"steps of 333 fs", 333, 0, 333, 0},
           Case{"three steps and seven", 999, 0, 2331, 0},
           Case{"annotated, less than 1 ps", 0, 333, 0, 666},
           Case{"annotated, between ps", 333, 1332, 1000, 1665},
           Case{"no time to accept", 0, 0, 333, 0},
           Case{"no time at all", 0, 0, 0, 0},
           Case{"long", 10'000'333, 0, 50'000'333, 333},
       }) {
    SCOPED_TRACE(c.what);
    const std::string files = in_child([&] {
      sc_core::sc_set_time_resolution(1, sc_core::SC_FS);
      const auto fs = [](std::uint64_t value) {
        return nanoseconds(static_cast<double>(value) * kFs);
      };
      const TemporaryFolder folder;
      Pe pe("pe0", single_pe().pe, 0);
      BaseProtocolMonitor monitor("monitor");
      ForeignMemory memory("memory", {fs(c.accept), fs(c.response), fs(c.accept_annotated),
                                      fs(c.response_annotated)});
      pe.memory.bind(monitor.upstream);
      monitor.downstream.bind(memory.socket);
      runtime::PeOutputs outputs(paths_in(folder));
      outputs.add(pe);
      pe.set_kernel(two_loads);
      sc_core::sc_start(nanoseconds(1e6));  // an endless repetition at one time would not return
      outputs.finish();
      for (const std::string& violation : monitor.violations()) ADD_FAILURE() << violation;
      EXPECT_EQ(pe.dma.port.live_payloads(), 0U);
      return files_in(folder);
    });
    const auto reads = select(parse_op_log(file_of(files, "op_log.csv")),
                              [](const OpLogRow& row) { return row.stage == "dma_read"; });
    ASSERT_EQ(reads.size(), 2U);
    const std::uint64_t a = c.accept + c.accept_annotated;
    const std::uint64_t responses =
        (kBursts - 1) * std::max(a, c.response_annotated) + c.response_annotated;
    std::uint64_t launch = 0;  // fs
    for (const OpLogRow& read : reads) {
      const std::uint64_t start = launch + 41'313'000;
      EXPECT_EQ(read.start, start / 1000);
      EXPECT_EQ(read.end, (start + 16'000'000 + kBursts * a) / 1000);
      launch = start + 16'000'000 + a + c.response + responses;
      EXPECT_EQ(read.done, launch / 1000);
    }
    EXPECT_NO_THROW(parse_vcd(file_of(files, "waves.vcd")));  // time never goes back
  }
}

// Two channels and a memory that answers between ps, beside a full decode: nothing ends before it
// begins, rows are in order, and the bytes are those of the embedded memory.
TEST(BetweenPicoseconds, NoIntervalIsNegative) {
  arch::TopologyConfig topology = single_pe();
  topology.pe.dma.read_channels = 2;
  topology.pe.dma.setup_cycles = 0;
  const std::string files = in_child([&] {
    sc_core::sc_set_time_resolution(1, sc_core::SC_FS);
    const TemporaryFolder folder;
    const runtime::Launch launched =
        launch(topology, "gqa_decode", {{"variant", "opt3"}, {"s_kv", "1024"}});
    Pe pe("pe0", topology.pe_config(), 0);
    BaseProtocolMonitor monitor("monitor");
    ForeignMemory memory("memory", {nanoseconds(333 * kFs), nanoseconds(77'777 * kFs),
                                    nanoseconds(333 * kFs), nanoseconds(999 * kFs)});
    pe.memory.bind(monitor.upstream);
    monitor.downstream.bind(memory.socket);
    runtime::PeOutputs outputs(paths_in(folder));
    outputs.add(pe);
    pe.set_kernel([&](CommandSink& sink) { launched.issue(sink); });
    sc_core::sc_start(nanoseconds(1e6));
    outputs.finish();
    for (const std::string& violation : monitor.violations()) ADD_FAILURE() << violation;
    return files_in(folder);
  });
  const std::vector<OpLogRow> rows = parse_op_log(file_of(files, "op_log.csv"));
  std::uint64_t before = 0, bytes = 0;
  for (const OpLogRow& row : rows) {
    EXPECT_LE(before, row.start);
    EXPECT_LE(row.start, row.end);
    EXPECT_LE(row.end, row.done);
    before = row.start;
    if (row.stage == "dma_read") bytes += row.bytes;
  }
  EXPECT_EQ(bytes, 2U * (8 * 128 + 2 * 1024 * 128));  // q, K and V in f16
}

/// Called by b_transport: call i takes a time of its own.
class TimedMemory : public sc_core::sc_module {
 public:
  tlm_utils::simple_target_socket<TimedMemory, 32> socket{"socket"};
  std::vector<std::uint64_t> called_fs;

  TimedMemory(const sc_core::sc_module_name& name, std::vector<std::uint64_t> times_fs)
      : sc_module(name), times_fs_(std::move(times_fs)) {
    socket.register_b_transport(this, &TimedMemory::b_transport);
  }

 private:
  void b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
    delay += nanoseconds(static_cast<double>(times_fs_.at(called_fs.size())) * kFs);
    called_fs.push_back(sc_core::sc_time_stamp().value());
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
  }

  const std::vector<std::uint64_t> times_fs_;
};

// Loads of one burst on two channels, dispatched 41.313 ns apart, a setup of 16 ns each. The first
// two end in the same ps, at 257.3130003 and 257.3130007 ns; the two behind them take over their
// channels there and call after a setup of their own, each at its own time.
TEST(BetweenPicoseconds, ChannelsAreSetUpToTheTick) {
  sc_core::sc_set_time_resolution(1, sc_core::SC_FS);
  arch::TopologyConfig topology = single_pe();
  topology.pe.dma.port = arch::DmaPort::lt;
  topology.pe.dma.read_channels = 2;
  Pe pe("pe0", topology.pe_config(), 0);
  TimedMemory memory("memory", {200'000'300, 158'687'700, 0, 0});
  const auto monitor = bind_monitored(pe.memory, memory.socket);
  pe.set_kernel([](CommandSink& sink) {
    for (command::Index i = 0; i < 4; ++i) {
      const auto offset = static_cast<command::Address>(i) * 64;
      const command::Shape shape{32};
      sink.issue(command::DmaReadCmd{
          command::make_handle(1, offset, shape, command::DType::f16, command::Space::hbm, "x"),
          command::make_handle(2, command::kTcmBase + offset, shape, command::DType::f16,
                               command::Space::tcm, "y")});
    }
  });
  sc_core::sc_start();
  EXPECT_TRUE(pe.idle());
  EXPECT_THAT(memory.called_fs,
              testing::ElementsAre(57'313'000, 98'626'000, 273'313'300, 273'313'700));
}

// Field case 07: 64 MiB at 1 MB/s, beyond 2^32 in ps, ns and cycles. Dispatch and setup as above,
// then 67.108864 s, which is a whole number of ns a burst, and the latency of the last burst.
TEST(LongTimes, SixtySevenSecondsAtAMegabyteASecond) {
  arch::TopologyConfig topology = single_pe();
  topology.hbm.gbps = arch::Rational(1, 1000);
  topology.pe.tcm.bytes = 128u << 20;
  const auto matrix = [](std::uint64_t id, command::Address addr, command::Space space) {
    return command::make_handle(id, addr, command::Shape{8192, 4096}, command::DType::f16, space,
                                "x");
  };
  const BenchResult result = run_kernel(topology, [&](CommandSink& sink) {
    sink.issue(command::DmaReadCmd{matrix(1, 0, command::Space::hbm),
                                   matrix(2, command::kTcmBase, command::Space::tcm)});
  });
  constexpr std::uint64_t kEnd = 41'313 + 16'000 + 67'108'864'000'000 + 100'000;
  EXPECT_EQ(result.end_ps, kEnd);
  EXPECT_EQ(result.rows.back().done, kEnd);
  EXPECT_EQ(parse_vcd(result.vcd).end, kEnd);
}

// SystemC counts in 64 bits: at 1 ps they end after 2^64 ps = 18,446,744 s, 213.5 days, at 1 fs
// after 18,446.7 s. A duration that would end later is no short one, and no end of the run without
// a word.
TEST(LongTimes, BeyondTheLastTimeIsAReport) {
  struct Run {
    bool fine;
    std::uint64_t cycles;
    std::size_t rows;  // that end before
    std::string told;
  };
  const std::uint64_t overhead = std::uint64_t{1} << 40;  // the most that a kernel may ask for
  for (const Run& run : std::vector<Run>{
           // 2^40 ns are 1099.511627776 s: 16 of them fit into 18,446.7 s.
           {true, overhead, 16,
            "/kernbench/time/horizon: a duration of 1099511627776000 ps begins at "
            "17592186044416000 ps, and at the time resolution of 1 fs time ends at "
            "18446744073709551 ps; simulate less, or set a resolution of 1 ps"},
           {false, overhead, 20, ""},
           // 2^53 ns are 9,007,199.254740992 s: two fit into 18,446,744 s.
           {false, std::uint64_t{1} << 53, 2,
            "/kernbench/time/horizon: a duration of 9007199254740992000 ps begins at "
            "18014398509481984000 ps, and at the time resolution of 1 ps time ends at "
            "18446744073709551615 ps; simulate less, or set a resolution of 1 ps"},
           // No number of ps that 64 bits hold.
           {false, ~std::uint64_t{0}, 0,
            "/kernbench/time/horizon: a duration of 18446744073709551615 ps begins at 1 ps, and at "
            "the time resolution of 1 ps time ends at 18446744073709551615 ps; simulate less, or "
            "set a resolution of 1 ps"},
       }) {
    EXPECT_EQ(in_child([&] {
                if (run.fine) sc_core::sc_set_time_resolution(1, sc_core::SC_FS);
                OwnDesign design;
                std::uint64_t done = 0;
                design.pe.set_kernel([&](CommandSink& sink) {
                  // At time 0 all of 64 bits is left.
                  if (run.rows == 0) sc_core::wait(1, sc_core::SC_PS);
                  for (int i = 0; i < 20; ++i) {
                    sink.issue(command::PeCpuOverheadCmd{run.cycles});
                    ++done;
                  }
                });
                const std::string told = first_report([] { sc_core::sc_start(); });
                EXPECT_EQ(done, run.rows);
                EXPECT_EQ(TimeBase().now(), run.rows == 0 ? 1 : run.rows * run.cycles * 1000);
                if (told.empty()) {
                  design.outputs.finish();
                  EXPECT_EQ(parse_op_log(file_of(files_in(design.folder), "op_log.csv")).size(),
                            run.rows);
                }
                return told;
              }),
              run.told);
  }
}

// To the last unit; and where the user lets the run go on, time stands there and does not go back.
TEST(LongTimes, TheLastTimeCanBeReached) {
  for (const bool fine : {false, true}) {
    EXPECT_EQ(in_child([&] {
                if (fine) sc_core::sc_set_time_resolution(1, sc_core::SC_FS);
                const TimeBase time;
                const std::uint64_t last = ~std::uint64_t{0} / (fine ? 1000 : 1);
                EXPECT_EQ(time.to_ps(time.to_sc_time(last)), last);
                sc_core::sc_start(time.to_sc_time(last - 5));
                EXPECT_EQ(time.to_ps(time.to_sc_time(5)), 5U);
                const std::string told = first_report([&] { time.to_sc_time(6); });
                EXPECT_THAT(told, HasSubstr("a duration of 6 ps begins at"));
                sc_core::sc_report_handler::set_actions("/kernbench/time/horizon",
                                                        sc_core::SC_DO_NOTHING);
                EXPECT_EQ(sc_core::sc_time_stamp() + time.to_sc_time(6), sc_core::sc_max_time());
                return std::string();
              }),
              "");
  }
}

}  // namespace
}  // namespace kernbench::test
