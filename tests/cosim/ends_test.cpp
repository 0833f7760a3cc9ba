// SPDX-License-Identifier: Apache-2.0
// However a simulation ends, its outputs are the same and complete, or there are none; several
// kernels one after the other, and after sc_stop.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "runtime/host.hpp"
#include "runtime/run_to_end.hpp"
#include "tests/cosim/own_design.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/monitored.hpp"
#include "tests/support/vcd_reader.hpp"
#include "tlm_if/command/error.hpp"

namespace kernbench::test {
namespace {

using command::CommandSink;
using runtime::SimulationError;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr std::uint64_t kTiles = 8;
const Settings kSettings{{"variant", "opt2"}, {"s_kv", "512"}};

KernelBody decode() {
  return [launched = std::make_shared<runtime::Launch>(launch(
              single_pe(), "gqa_decode", kSettings))](CommandSink& sink) { launched->issue(sink); };
}

/// The files of a run of decode() that `simulate` takes to its end.
std::string files_of(const std::function<void(OwnDesign&)>& simulate) {
  return in_child([&] {
    OwnDesign design;
    design.pe.set_kernel(decode());
    simulate(design);
    design.outputs.finish();
    return files_in(design.folder);
  });
}

const std::string& files_of_plain_run() {
  static const std::string kFiles = files_of([](OwnDesign&) { sc_core::sc_start(); });
  return kFiles;
}

std::map<std::string, std::vector<std::pair<std::uint64_t, VcdValue>>> changes_of(
    const std::string& text) {
  std::map<std::string, std::vector<std::pair<std::uint64_t, VcdValue>>> all;
  for (const auto& [name, variable] : parse_vcd(text).variables) {
    for (const VcdChange& change : variable.changes) {
      all[name].emplace_back(change.time, change.value);
    }
  }
  return all;
}

// The same PE with a recorder and sinks put together by hand.
TEST(PeOutputs, FilesAreThoseOfTheSameStages) {
  const std::string reference = in_child([] {
    const BenchResult result = run_kernel(single_pe(), decode());
    return "=== op_log\n" + result.op_log + "=== trace\n" + result.trace + "=== vcd\n" + result.vcd;
  });
  const std::string& files = files_of_plain_run();
  EXPECT_EQ(file_of(files, "op_log.csv"), file_of(reference, "op_log"));
  EXPECT_EQ(file_of(files, "trace.json"), file_of(reference, "trace"));
  auto expected = changes_of(file_of(reference, "vcd"));
  // The one difference: whose memory it is, a design of one's own does not tell.
  for (const std::string variable : {"reading", "writing"}) {
    auto moved = expected.extract("hbm." + variable);
    moved.key() = "pe0.memory." + variable;
    expected.insert(std::move(moved));
  }
  EXPECT_EQ(changes_of(file_of(files, "waves.vcd")), expected);
}

// Sums over the op log; the loop by the closed form of contract 13, 365.375 + 478 (n - 1) + 378.
TEST(PeOutputs, SummaryHasTheKeysThatNeedNoKernel) {
  const std::string& files = files_of_plain_run();
  const std::vector<OpLogRow> rows = parse_op_log(file_of(files, "op_log.csv"));
  const auto summary = nlohmann::ordered_json::parse(file_of(files, "summary.json"));
  std::vector<std::string> keys;
  for (const auto& entry : summary.items()) keys.push_back(entry.key());
  EXPECT_THAT(keys,
              ElementsAre("schema", "sim_time_ps", "commands", "logical_bytes", "dispatch_cycles",
                          "engines", "stalls", "regions", "hbm", "dma_port"));
  std::uint64_t end = 0, commands = 0, logical_bytes = 0, read_bytes = 0;
  std::map<std::string, std::uint64_t> busy_ps;
  for (const OpLogRow& row : rows) {
    end = std::max(end, row.done);
    if (row.stage == "dispatch") {
      ++commands;
      logical_bytes += row.bytes;
    }
    if (row.stage == "dma_read") read_bytes += row.bytes;
    if (row.stage != "wait" && row.stage != "admit_stall" && row.stage != "queue_stall") {
      busy_ps[row.engine] += row.end - row.start;
    }
  }
  EXPECT_EQ(summary["sim_time_ps"], end);
  EXPECT_EQ(summary["commands"], commands);
  EXPECT_EQ(summary["logical_bytes"], logical_bytes);
  // R3.8; no composite of this kernel has more than one segment.
  EXPECT_EQ(summary["dispatch_cycles"],
            40.0 * static_cast<double>(commands) + 0.0625 * static_cast<double>(logical_bytes));
  EXPECT_EQ(summary["hbm"]["read_bytes"], read_bytes);
  for (const auto& [engine, sums] : summary["engines"].items()) {
    EXPECT_EQ(sums["busy_ps"], busy_ps[engine]) << engine;
  }
  const auto& loop = summary["regions"]["loop"];
  EXPECT_EQ(loop["end_ps"].get<std::uint64_t>() - loop["start_ps"].get<std::uint64_t>(),
            365'375 + 478'000 * (kTiles - 1) + 378'000);
}

struct End {
  const char* what;
  std::function<void(OwnDesign&)> simulate;
};

// STD: SystemC calls end_of_simulation for some of these only.
TEST(Ends, EveryEndGivesTheSameFiles) {
  const auto stop_when_done = [](OwnDesign& design, int times) {
    design.pe.cpu.set_launch_done_handler([times] {
      for (int i = 0; i < times; ++i) sc_core::sc_stop();
    });
    sc_core::sc_start();
    EXPECT_EQ(sc_core::sc_get_status(), sc_core::SC_STOPPED);
  };
  const std::vector<End> ends{
      {"a time far beyond", [](OwnDesign&) { sc_core::sc_start(nanoseconds(1e6)); }},
      {"sc_stop at completion", [&](OwnDesign& design) { stop_when_done(design, 1); }},
      {"sc_stop at completion, before the instant is over",
       [&](OwnDesign& design) {
         sc_core::sc_set_stop_mode(sc_core::SC_STOP_IMMEDIATE);
         stop_when_done(design, 1);
       }},
      {"sc_stop twice, and once more outside",
       [&](OwnDesign& design) {
         stop_when_done(design, 2);
         sc_core::sc_stop();
       }},
      {"sc_stop by a module that polls",
       [](OwnDesign& design) {
         Process poller("poller", [&] {
           while (!design.pe.idle()) sc_core::wait(nanoseconds(97));
           sc_core::sc_stop();
         });
         sc_core::sc_start();
       }},
      {"a clock that never ends, until idle",
       [](OwnDesign& design) {
         const sc_core::sc_clock clock("clock", nanoseconds(1));
         do {
           sc_core::sc_start(nanoseconds(137));
         } while (!design.pe.idle());
       }},
      {"delta by delta",
       [](OwnDesign& design) {
         while (!design.pe.idle()) {
           if (sc_core::sc_pending_activity_at_current_time()) {
             sc_core::sc_start(sc_core::SC_ZERO_TIME);
           } else {
             sc_core::sc_start(sc_core::sc_time_to_pending_activity());
           }
         }
       }},
      {"sc_pause on the way",
       [](OwnDesign&) {
         Process pauser("pauser", [] {
           for (int i = 0; i < 3; ++i) {
             sc_core::wait(nanoseconds(333));
             sc_core::sc_pause();
           }
         });
         for (int i = 0; i < 4; ++i) sc_core::sc_start();
       }},
      {"finish() from a process, and the simulation goes on",
       [](OwnDesign& design) {
         Process user("user", [&] {
           while (!design.pe.idle()) sc_core::wait(nanoseconds(50));
           design.outputs.finish();
           design.pe.cpu.launch(decode());  // of this nothing is recorded
         });
         sc_core::sc_start();
         EXPECT_TRUE(design.pe.idle());
       }},
  };
  ASSERT_THAT(file_of(files_of_plain_run(), "summary.json"), HasSubstr("\"sim_time_ps\""));
  for (const End& end : ends) {
    SCOPED_TRACE(end.what);
    const std::string files = files_of(end.simulate);
    for (const std::string name : {"op_log.csv", "waves.vcd", "trace.json", "summary.json"}) {
      EXPECT_TRUE(file_of(files, name) == file_of(files_of_plain_run(), name)) << name;
    }
  }
}

/// What finish() throws.
SimulationError refusal(runtime::PeOutputs& outputs) {
  try {
    outputs.finish();
  } catch (const SimulationError& error) {
    return error;
  }
  ADD_FAILURE() << "finish() accepts a run that has not come to its end";
  return {"", ""};
}

TEST(Ends, TooShortATimeIsToldAndTheRunMayGoOn) {
  const std::string files = files_of([](OwnDesign& design) {
    sc_core::sc_start(nanoseconds(300));
    const SimulationError error = refusal(design.outputs);
    EXPECT_THAT(error.what(), HasSubstr("the outputs of pe0: finish() at 300.000 ns with work in "
                                        "flight: no file is written; simulate on"));
    EXPECT_THAT(error.what(), AllOf(HasSubstr("; pe0: "), Not(HasSubstr("below"))));
    EXPECT_THAT(error.detail(), HasSubstr("pe0: "));
    for (const std::string& name : design.folder.names()) EXPECT_THAT(name, HasSubstr(".part"));
    sc_core::sc_start();
  });
  EXPECT_TRUE(files == files_of_plain_run());
}

TEST(Ends, AStopTooEarlyIsToldAndLeavesNoFile) {
  const TemporaryFolder folder;
  Pe pe("pe0", single_pe().pe, 0);
  EmbeddedHbm hbm("hbm", single_pe().hbm, 1, false);
  const auto monitor = bind_monitored(pe.memory, hbm.port(0));
  // A load of 512 ns. Its kernel has returned by then: one that waited would never leave what is on
  // its stack.
  pe.set_kernel([](CommandSink& sink) {
    const command::Shape shape{32768};
    sink.issue(command::DmaReadCmd{
        command::make_handle(1, 0, shape, command::DType::f16, command::Space::hbm),
        command::make_handle(2, command::kTcmBase, shape, command::DType::f16,
                             command::Space::tcm)});
  });
  const Process stopper("stopper", [] {
    sc_core::wait(nanoseconds(300));
    sc_core::sc_stop();
  });
  {
    runtime::PeOutputs outputs(paths_in(folder));
    outputs.add(pe);
    sc_core::sc_start();
    EXPECT_THAT(refusal(outputs).what(),
                HasSubstr("the simulation was stopped too early, and no file is written"));
  }
  EXPECT_THAT(folder.names(), IsEmpty());
}

TEST(Ends, WithoutFinishThereAreNoFiles) {
  const TemporaryFolder folder;
  Pe pe("pe0", single_pe().pe, 0);
  EmbeddedHbm hbm("hbm", single_pe().hbm, 1, false);
  const auto monitor = bind_monitored(pe.memory, hbm.port(0));
  pe.set_kernel(decode());
  {
    runtime::PeOutputs outputs(paths_in(folder));
    outputs.add(pe);
    sc_core::sc_start();
    EXPECT_TRUE(pe.idle());
  }
  EXPECT_THAT(folder.names(), IsEmpty());
}

// Outputs that go while their PE works leave nothing behind that it could touch (the address
// sanitizer looks): it runs on to the same end. Outputs whose PE has gone leave it alone.
TEST(Ends, OutputsAndPesMayGoInAnyOrder) {
  const auto summary = nlohmann::json::parse(file_of(files_of_plain_run(), "summary.json"));
  const TemporaryFolder folder;
  EmbeddedHbm hbm("hbm", single_pe().hbm, 2, false);
  Pe pe("pe0", single_pe().pe, 0);
  auto gone = std::make_unique<Pe>("pe1", single_pe().pe, 1);
  const auto monitor = bind_monitored(pe.memory, hbm.port(0), "monitor0");
  const auto other_monitor = bind_monitored(gone->memory, hbm.port(1), "monitor1");
  pe.set_kernel(decode());
  auto outputs = std::make_unique<runtime::PeOutputs>(paths_in(folder));
  runtime::PeOutputs others({});
  outputs->add(pe);
  others.add(*gone);
  sc_core::sc_start(nanoseconds(300));
  EXPECT_FALSE(pe.idle());
  outputs.reset();
  EXPECT_THAT(folder.names(), IsEmpty());
  sc_core::sc_start();
  EXPECT_TRUE(pe.idle());
  EXPECT_EQ(pe.cpu.last_done_ps(), summary["sim_time_ps"]);
  gone.reset();
}

TEST(Ends, FinishThrowsWhatTheKernelHasThrown) {
  OwnDesign design;
  design.pe.set_kernel([](CommandSink&) { throw InputError("no such thing"); });
  sc_core::sc_start();
  EXPECT_THROW(design.outputs.finish(), InputError);
}

// The loop of docs/cosim.md beside a clock ends where idle() stays false.
TEST(Ends, ALoopBesideAClockEndsWhenTheKernelThrows) {
  OwnDesign design;
  const sc_core::sc_clock clock("clock", nanoseconds(1));
  design.pe.set_kernel([](CommandSink&) {
    sc_core::wait(nanoseconds(1500));
    throw InputError("no such thing");
  });
  int slices = 0;
  do {
    sc_core::sc_start({1, sc_core::SC_US});
  } while (!design.pe.ended() && ++slices < 10);
  EXPECT_EQ(slices, 1);
  EXPECT_FALSE(design.pe.idle());
  EXPECT_THAT(design.pe.waiting(), ElementsAre("pe0: kernel has thrown: no such thing"));
  EXPECT_THROW(design.outputs.finish(), InputError);
}

TEST(Ends, APeWithoutAKernelGivesEmptyOutputs) {
  OwnDesign design;
  sc_core::sc_start(nanoseconds(5));
  design.outputs.finish();
  EXPECT_THAT(parse_op_log(read_file(design.folder / "op_log.csv")), IsEmpty());
  EXPECT_EQ(parse_vcd(read_file(design.folder / "waves.vcd")).end, 0U);
  EXPECT_EQ(nlohmann::json::parse(read_file(design.folder / "summary.json"))["sim_time_ps"], 0);
}

// ---- one kernel after the other
// ------------------------------------------------------------------

/// Rows of the second kernel of a run as if it were the first, launched at 0.
std::vector<OpLogRow> second_as_first(std::vector<OpLogRow> rows, std::int64_t commands,
                                      std::uint64_t launch_ps) {
  rows.erase(std::remove_if(rows.begin(), rows.end(),
                            [&](const OpLogRow& row) { return row.cmd < commands; }),
             rows.end());
  for (OpLogRow& row : rows) {
    row.start -= launch_ps;
    row.end -= launch_ps;
    row.done -= launch_ps;
    row.cmd -= commands;
  }
  return rows;
}

auto tied(const OpLogRow& row) {
  return std::tie(row.start, row.end, row.done, row.engine, row.stage, row.op, row.cmd,
                  row.op_index, row.operand, row.addr, row.bytes, row.elements);
}

// There is no clock to wait for: the cycles of a kernel count from its launch, at whatever time.
TEST(SecondKernel, RunsFromTheTimeOfItsLaunch) {
  const std::vector<OpLogRow> alone = parse_op_log(file_of(files_of_plain_run(), "op_log.csv"));
  const std::int64_t commands =
      std::max_element(alone.begin(), alone.end(),
                       [](const OpLogRow& x, const OpLogRow& y) { return x.cmd < y.cmd; })
          ->cmd +
      1;
  for (const std::optional<double> stop_ns :
       {std::optional<double>(), std::optional<double>(12345.678)}) {
    SCOPED_TRACE(stop_ns.value_or(-1));
    const std::string files = files_of([&](OwnDesign& design) {
      if (stop_ns) {
        sc_core::sc_start(nanoseconds(*stop_ns));
      } else {
        sc_core::sc_start();  // to the last event
      }
      EXPECT_TRUE(design.pe.idle());
      design.pe.cpu.launch(decode());
      EXPECT_FALSE(design.pe.idle());
      sc_core::sc_start();
    });
    const std::uint64_t launch_ps = stop_ns ? 12'345'678 : alone.back().done;
    const std::vector<OpLogRow> second =
        second_as_first(parse_op_log(file_of(files, "op_log.csv")), commands, launch_ps);
    ASSERT_EQ(second.size(), alone.size());
    for (std::size_t i = 0; i < alone.size(); ++i) EXPECT_EQ(tied(second[i]), tied(alone[i])) << i;
  }
}

std::string input_error(const std::function<void()>& call) {
  try {
    call();
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

// SystemC's own answer to sc_start would be E546.
TEST(SecondKernel, IsRefusedAfterSystemCHasStopped) {
  const std::string& expected = files_of_plain_run();  // in a process that has no design yet
  OwnDesign design;
  design.pe.set_kernel(decode());
  design.pe.cpu.set_launch_done_handler([] { sc_core::sc_stop(); });
  sc_core::sc_start();
  EXPECT_THAT(input_error([&] { design.pe.cpu.launch(decode()); }),
              HasSubstr("pe0.cpu: a kernel is launched after sc_stop, and SystemC runs nothing"));
  design.outputs.finish();  // what has run is complete
  EXPECT_TRUE(files_in(design.folder) == expected);
}

TEST(SecondKernel, AHostRunsNothingAfterSystemCHasStopped) {
  arch::TopologyConfig topology = single_pe();
  topology.check_protocol = true;
  runtime::Host host("host", topology, false);
  const auto x = host.empty("x", {64}, tl::f32);
  const auto body = [](tl::Context& tl, const std::vector<tl::Tensor>& bound) {
    tl.load(bound[0]);
  };
  host.launch("first", body, {x}, {{1, 1, 1}});
  host.run();
  sc_core::sc_stop();
  EXPECT_THAT(input_error([&] { host.run(); }), HasSubstr("host: run() comes after sc_stop"));
  EXPECT_THAT(input_error([&] {
                host.launch("second", body, {x}, {{1, 1, 1}});
              }),
              HasSubstr("a kernel is launched after sc_stop"));
}

}  // namespace
}  // namespace kernbench::test
