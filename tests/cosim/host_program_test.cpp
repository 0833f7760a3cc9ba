// SPDX-License-Identifier: Apache-2.0
// A program that a host writes into the command ring runs as its live kernel: the op logs and the
// numbers are the same. What differs, differs by when the host was there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "tests/cosim/host_bench.hpp"
#include "tests/model/raw_commands.hpp"
#include "tests/support/data_run.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/ipcq_bench.hpp"
#include "tests/support/test_inputs.hpp"

namespace kernbench::test {
namespace {

using command::CommandSink;
using sc_core::SC_NS;
using testing::ElementsAre;

struct Case {
  std::string kernel;
  Settings settings;
};

// Small, with partial tiles; commands of every kind that one PE takes, segments, waits, regions.
std::vector<Case> cases() {
  return {
      {"gqa_decode", {{"variant", "opt1"}, {"s_kv", "200"}}},
      {"gqa_decode", {{"variant", "opt2"}, {"s_kv", "300"}, {"kv_heads", "2"}, {"d", "32"}}},
      {"gqa_decode", {{"variant", "opt3"}, {"s_kv", "200"}}},
      {"gqa_prefill", {{"s_q", "20"}, {"prefix", "13"}, {"g", "2"}, {"d", "32"}, {"tile", "16"}}},
      {"gemm", {{"m", "20"}, {"k", "300"}, {"n", "150"}, {"epilogue", "bias+gelu"}}},
      {"gemm", {{"m", "9"}, {"k", "140"}, {"a", "hbm"}, {"out", "hbm"}, {"k_epilogue", "scale"}}},
      {"linear_gelu_norm", {{"m", "9"}, {"k", "140"}, {"n", "130"}}},
      {"rmsnorm_linear", {{"m", "9"}, {"k", "140"}, {"n", "130"}}},
      {"mlp", {{"m", "9"}, {"k", "70"}, {"f", "140"}}},
      {"dispatch", {{"commands", "300"}}},
  };
}

/// Op log and results, which are told apart by the line between them.
constexpr const char* kResults = "results\n";
std::string text_of(const std::string& op_log, const kernels::HostTensors& tensors) {
  std::string text = op_log + kResults;
  for (const auto& [name, values] : tensors) {
    text += name;
    for (const double value : values) text += ' ' + std::to_string(value);
    text += '\n';
  }
  return text;
}

std::string live_op_log(const arch::TopologyConfig& topology, const Case& of) {
  return in_child([&] { return run_catalogue(topology, of.kernel, of.settings).op_log; });
}

/// Op log and results of a kernel in data mode.
std::string live_run(const arch::TopologyConfig& topology, const Case& of) {
  return in_child([&] {
    const runtime::Launch launched = launch(topology, of.kernel, of.settings);
    BenchOptions options;
    options.data = true;
    const DataRun run =
        run_with_data(topology, launched, test_inputs(launched.instance()), options);
    return text_of(run.op_log, run.results);
  });
}

/// The same over the host port; `host` gets the records.
template <class HostProgram>
std::string run_over_port(const arch::TopologyConfig& topology, const Case& of,
                          HostBench::Options options, HostProgram host) {
  return in_child([&] {
    options.data = true;
    const runtime::Launch launched = launch(topology, of.kernel, of.settings);
    const Bytes records = records_of(launched, options.port.table_entries);
    HostBench bench(
        topology, [&](HostCpu& cpu) { host(cpu, records); }, options);

    const auto& tensors = launched.instance().tensors;
    const auto slice = [&](std::size_t i) {
      return slice_of(launched.tensors()[i]->parts.front().handle);
    };
    const kernels::HostTensors inputs = test_inputs(launched.instance());
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (tensors[i].direction == kernels::Direction::out) continue;
      const std::vector<double>& values = inputs.at(tensors[i].name);
      arch::write_slice(bench.hbm(), slice(i), arch::Values(values.begin(), values.end()));
    }
    kernels::HostTensors results;
    bench.pe().cpu.set_observe_handler(
        [&](std::string_view name, const command::TensorHandle& handle) {
          arch::Values values;
          arch::read_slice(handle.pinned() ? bench.pe().tcm_storage() : bench.hbm(),
                           slice_of(handle), values);
          auto& all = results[std::string(name)];
          all.insert(all.end(), values.begin(), values.end());
        });
    const HostBench::Result result = bench.run();
    EXPECT_TRUE(bench.pe().idle());
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (tensors[i].direction == kernels::Direction::in) continue;
      arch::Values values;
      arch::read_slice(bench.hbm(), slice(i), values);
      results[tensors[i].name].assign(values.begin(), values.end());
    }
    return text_of(result.op_log, results);
  });
}

// The doorbell rings at time 0, as a live kernel starts: op log and results are the same bytes.
TEST(HostProgram, IsTheLiveRun) {
  for (const Case& of : cases()) {
    SCOPED_TRACE(of.kernel);
    const std::string live = live_run(single_pe(), of);
    HostBench::Options options;
    options.port.ring_bytes = 1 << 20;
    const auto publish = [](HostCpu& host, const Bytes& records) { host.publish(records); };
    EXPECT_EQ(run_over_port(single_pe(), of, options, publish), live);
    options.non_blocking = true;
    EXPECT_EQ(run_over_port(single_pe(), of, options, publish), live);
  }
}

// A table of 8 entries, refilled over and over, and a ring of 512 bytes. The host is as fast as the
// PE: it fills what is free at the instant when it is free.
TEST(HostProgram, IsTheLiveRunWithASmallRingThatIsNeverEmpty) {
  for (const Case& of : cases()) {
    SCOPED_TRACE(of.kernel);
    HostBench::Options options;
    options.port.ring_bytes = 512;
    options.port.table_entries = 16;
    EXPECT_EQ(run_over_port(single_pe(), of, options,
                            [](HostCpu& host, const Bytes& records) { host.feed(records, 1); }),
              live_run(single_pe(), of));
  }
}

/// What a row says but for its times.
auto what(const OpLogRow& row) {
  return std::tie(row.engine, row.stage, row.op, row.cmd, row.op_index, row.tile_m, row.tile_n,
                  row.tile_k, row.operand, row.addr, row.bytes, row.elements);
}

/// The stages of a run, without what its kernel stood still for, in an order without times.
std::vector<OpLogRow> stages_of(const std::string& run) {
  std::vector<OpLogRow> rows =
      select(parse_op_log(run.substr(0, run.find(kResults))), [](const OpLogRow& row) {
        return row.stage != "wait" && row.stage != "admit_stall" && row.stage != "queue_stall";
      });
  std::sort(rows.begin(), rows.end(),
            [](const OpLogRow& x, const OpLogRow& y) { return what(x) < what(y); });
  return rows;
}

std::uint64_t end_of(const std::vector<OpLogRow>& rows) {
  std::uint64_t end = 0;
  for (const OpLogRow& row : rows) end = std::max(end, row.done);
  return end;
}

// Each access takes 50 ns, and the host sleeps until 128 bytes are free: the PE waits for it, and
// then does the same stages, with the same results. What the kernel stands still for is another
// matter.
TEST(HostProgram, ALateHostShiftsStagesOnly) {
  for (const Case& of : cases()) {
    SCOPED_TRACE(of.kernel);
    HostBench::Options options;
    options.port.ring_bytes = 512;
    options.port.access_ns = arch::Rational(50);
    const std::string late =
        run_over_port(single_pe(), of, options,
                      [](HostCpu& host, const Bytes& records) { host.feed(records, 128); });
    const std::string live = live_run(single_pe(), of);
    EXPECT_EQ(late.substr(late.find(kResults)), live.substr(live.find(kResults)));
    const auto late_rows = stages_of(late), live_rows = stages_of(live);
    ASSERT_EQ(late_rows.size(), live_rows.size());
    for (std::size_t i = 0; i < late_rows.size(); ++i) {
      ASSERT_TRUE(what(late_rows[i]) == what(live_rows[i])) << i;
    }
    EXPECT_GT(end_of(late_rows), end_of(live_rows));
  }
}

/// `op_log` with all times `ps` later.
std::string later(const std::string& op_log, std::uint64_t ps) {
  std::string shifted;
  bool header = true;
  for (const std::string_view line : split(op_log, '\n')) {
    if (line.empty()) continue;
    std::string row;
    std::size_t column = 0;
    for (const std::string_view field : split(line, ',')) {
      if (column != 0) row += ',';
      row += header || column > 2 ? std::string(field)
                                  : std::to_string(std::stoull(std::string(field)) + ps);
      ++column;
    }
    shifted += row + '\n';
    header = false;
  }
  return shifted;
}

// With the doorbell at 1234.567 ns everything happens as much later. DONE rises when the last byte
// is written, neither before nor after.
TEST(HostProgram, StartsAtItsDoorbellAndEndsWithItsInterrupt) {
  const Case of{"gqa_decode", {{"variant", "opt2"}, {"s_kv", "300"}}};
  constexpr std::uint64_t kDoorbellPs = 1'234'567;
  arch::TopologyConfig topology = single_pe();
  topology.pe.cpu.launch_ns = arch::Rational(500);
  const std::string live = live_op_log(topology, of);
  for (const bool non_blocking : {false, true}) {
    EXPECT_EQ(in_child([&] {
                HostBench::Options options;
                options.non_blocking = non_blocking;
                std::uint64_t done_ps = 0;
                const Bytes records = records_of(launch(topology, of.kernel, of.settings));
                HostBench bench(
                    topology,
                    [&](HostCpu& host) {
                      sc_core::wait(TimeBase().to_sc_time(kDoorbellPs));
                      host.publish(records);
                      host.await(KB_HOST_IRQ_DONE);
                      done_ps = TimeBase().now();
                      EXPECT_EQ(host.read(KB_HOST_PROGRAMS_DONE), 1u);
                      EXPECT_EQ(host.read(KB_HOST_STATUS), 0u);
                      EXPECT_EQ(host.read(KB_HOST_RING_HEAD), records.size());
                    },
                    options);
                const HostBench::Result result = bench.run();
                std::uint64_t last_ps = 0;
                for (const OpLogRow& row : result.rows) last_ps = std::max(last_ps, row.done);
                EXPECT_EQ(done_ps, last_ps);
                return result.op_log;
              }),
              later(live, kDoorbellPs));
  }
}

// The records of the second are in the ring when the first begins. As with two launches: each takes
// its launch_ns, the second starts when the first is done, numbers go on.
TEST(HostProgram, TwoBackToBackAreTwoLaunches) {
  arch::TopologyConfig topology = single_pe();
  topology.pe.cpu.launch_ns = arch::Rational(500);
  const runtime::Launch first =
      launch(topology, "gqa_decode", {{"variant", "opt3"}, {"s_kv", "100"}});
  const runtime::Launch second = launch(topology, "gemm", {{"epilogue", "scale"}});
  const std::string live = in_child([&] {
    IpcqOptions options;
    options.elaborated = [&](const std::vector<Pe*>& pes) {
      pes[0]->cpu.launch([&](CommandSink& sink) { second.issue(sink); });
    };
    return run_pes(topology, {[&](CommandSink& sink) { first.issue(sink); }}, options).op_log;
  });
  HostBench bench(topology, [&](HostCpu& host) {
    Bytes records = records_of(first);
    const Bytes more = records_of(second);
    records.insert(records.end(), more.begin(), more.end());
    host.publish(records);
    host.await(KB_HOST_IRQ_DONE);
    EXPECT_EQ(host.read(KB_HOST_PROGRAMS_DONE), 1u);
    EXPECT_EQ(host.read(KB_HOST_STATUS), KB_HOST_STATUS_RUNNING);
    host.await(KB_HOST_IRQ_DONE);
    EXPECT_EQ(host.read(KB_HOST_PROGRAMS_DONE), 2u);
    EXPECT_EQ(host.read(KB_HOST_STATUS), 0u);
  });
  EXPECT_EQ(bench.run().op_log, live);
}

// Each is as if it were alone.
TEST(HostProgram, TwoPesHaveAPortEach) {
  const std::vector<Case> of{{"gqa_decode", {{"variant", "opt2"}, {"s_kv", "300"}}},
                             {"gemm", {{"m", "20"}, {"k", "300"}, {"n", "150"}}}};
  const auto of_pe = [&](std::uint32_t pe) {
    HostBench::Options options;
    options.index = pe;
    const Bytes records = records_of(launch(single_pe(), of[pe].kernel, of[pe].settings));
    return std::make_unique<HostBench>(
        single_pe(),
        [records](HostCpu& host) {
          host.publish(records);
          host.await(KB_HOST_IRQ_DONE);
          EXPECT_EQ(host.read(KB_HOST_PROGRAMS_DONE), 1u);
        },
        options);
  };
  const auto alone = [&](std::uint32_t pe) {
    return in_child([&] { return of_pe(pe)->run().op_log; });
  };
  const std::string first = alone(0), second = alone(1);
  EXPECT_EQ(first, live_op_log(single_pe(), of[0]));
  const auto pe0 = of_pe(0), pe1 = of_pe(1);
  sc_core::sc_start();
  EXPECT_EQ(pe0->finish().op_log, first);
  EXPECT_EQ(pe1->finish().op_log, second);
}

// Accesses that fall on the instants at which the PE consumes, completes and ends: what the host
// sees does not depend on who was created, and so runs, first.
TEST(HostProgram, RegistersDoNotDependOnTheOrderOfProcesses) {
  const auto seen = [](bool host_first) {
    return in_child([&] {
      HostBench::Options options;
      options.host_first = host_first;
      options.port.ring_bytes = 256;
      std::string text;
      HostBench bench(
          unit_pe(),
          [&](HostCpu& host) {
            // Dispatches and stages of whole ns, at each of which the host looks and fills.
            const Bytes records = records_of([](CommandSink& sink) {
              for (command::Index i = 0; i < 40; ++i) {
                const command::TensorHandle out =
                    ns_of_math(static_cast<command::Address>(i % 3) * 8192, 1 + i % 17);
                sink.issue(command::MathCmd{fill(out)});
                if (i % 5 == 0) sink.wait({out.range()});
              }
            });
            std::size_t done = 0;
            for (int step = 0; step < 800; ++step) {
              for (const std::uint32_t offset :
                   {KB_HOST_RING_HEAD, KB_HOST_STATUS, KB_HOST_IRQ_STATUS, KB_HOST_PROGRAMS_DONE}) {
                text += std::to_string(host.read(offset)) + ' ';
              }
              const std::size_t is_free = 256 - (done - host.read(KB_HOST_RING_HEAD));
              const std::size_t count = std::min({is_free, records.size() - done, std::size_t{23}});
              const auto begin = records.begin() + static_cast<std::ptrdiff_t>(done);
              host.publish(Bytes(begin, begin + static_cast<std::ptrdiff_t>(count)));
              done += count;
              if (step == 700) host.reset();
              sc_core::wait(1, SC_NS);
            }
          },
          options);
      return text + bench.run().op_log;
    });
  };
  const std::string text = seen(false);
  EXPECT_EQ(text, seen(true));
  EXPECT_NE(text.find("fill"), std::string::npos);
}

// A kernel without bytes to go on with waits for its host, and says so.
TEST(HostProgram, WaitsForItsHost) {
  std::unique_ptr<HostBench> bench;
  bench = std::make_unique<HostBench>(unit_pe(), [&](HostCpu& host) {
    const Bytes records =
        records_of([](CommandSink& sink) { sink.issue(command::MathCmd{fill(ns_of_math(0, 5))}); });
    const auto most = records.end() - 1;
    host.publish(Bytes(records.begin(), most));
    EXPECT_EQ(host.read(KB_HOST_STATUS), KB_HOST_STATUS_RUNNING);
    sc_core::wait(1, sc_core::SC_US);
    EXPECT_EQ(host.read(KB_HOST_STATUS), KB_HOST_STATUS_RUNNING | KB_HOST_STATUS_WAITING);
    EXPECT_THAT(bench->pe().waiting(), ElementsAre("pe0: kernel waits for its host port"));
    EXPECT_FALSE(bench->pe().idle());
    EXPECT_TRUE(bench->pe().stuck());
    host.publish(Bytes(most, records.end()));
    host.await(KB_HOST_IRQ_DONE);
    EXPECT_TRUE(bench->pe().idle());
    EXPECT_THAT(bench->pe().waiting(), ElementsAre());
    EXPECT_EQ(sc_core::sc_time_stamp(), sc_core::sc_time(1, sc_core::SC_US));
  });
  bench->run();
}

// Bytes that no doorbell has published do nothing, and those that one has published are the PE's:
// what is written over them comes too late.
TEST(HostProgram, RunsWhatIsPublished) {
  const Bytes records =
      records_of([](CommandSink& sink) { sink.issue(command::MathCmd{fill(ns_of_math(0, 5))}); });
  HostBench bench(unit_pe(), [&](HostCpu& host) {
    Bytes copy = records, zeros(records.size());
    const auto size = static_cast<std::uint32_t>(records.size());
    const auto write = [&](Bytes& bytes) {
      EXPECT_EQ(host.access(tlm::TLM_WRITE_COMMAND, KB_HOST_RING, bytes.data(), size),
                tlm::TLM_OK_RESPONSE);
    };
    write(copy);
    sc_core::wait(100, SC_NS);
    EXPECT_EQ(host.read(KB_HOST_STATUS), 0u);
    EXPECT_EQ(host.read(KB_HOST_RING_HEAD), 0u);
    host.write(KB_HOST_DOORBELL, size);
    write(zeros);
    host.await(KB_HOST_IRQ_DONE);
    // Dispatch and MATH.
    EXPECT_EQ(sc_core::sc_time_stamp(), sc_core::sc_time(115, SC_NS));
  });
  bench.run();
}

// A kernel of 500 ns that somebody else has launched before: it is no program of the host, whose
// own one follows.
TEST(HostProgram, WaitsForAKernelBeforeIt) {
  arch::TopologyConfig topology = unit_pe();
  topology.pe.cpu.launch_ns = arch::Rational(100);
  std::unique_ptr<HostBench> bench;
  bench = std::make_unique<HostBench>(topology, [&](HostCpu& host) {
    host.publish(records_of(
        [](CommandSink& sink) { sink.issue(command::MathCmd{fill(ns_of_math(0, 7))}); }));
    sc_core::wait(611, SC_NS);
    EXPECT_EQ(host.read(KB_HOST_STATUS), KB_HOST_STATUS_RUNNING);
    EXPECT_EQ(host.read(KB_HOST_PROGRAMS_DONE), 0u);
    host.await(KB_HOST_IRQ_DONE);
    EXPECT_EQ(sc_core::sc_time_stamp(), sc_core::sc_time(610 + 117, SC_NS));
    EXPECT_EQ(host.read(KB_HOST_PROGRAMS_DONE), 1u);
    EXPECT_TRUE(bench->pe().idle());
  });
  bench->pe().cpu.launch(
      [](CommandSink& sink) { sink.issue(command::MathCmd{fill(ns_of_math(0, 500))}); });
  EXPECT_EQ(bench->run().rows.size(), 4u);
}

// A program is forgotten even if all of its records were consumed when reset came.
TEST(HostProgram, ResetForgetsOneThatRunsOut) {
  HostBench bench(unit_pe(), [](HostCpu& host) {
    host.publish(records_of(
        [](CommandSink& sink) { sink.issue(command::MathCmd{fill(ns_of_math(0, 500))}); }));
    sc_core::wait(100, SC_NS);
    EXPECT_EQ(host.read(KB_HOST_RING_HEAD), host.read(KB_HOST_RING_TAIL));
    host.reset();
    sc_core::wait(1, sc_core::SC_US);
    EXPECT_EQ(host.read(KB_HOST_STATUS), 0u);
    EXPECT_EQ(host.read(KB_HOST_PROGRAMS_DONE), 0u);
    EXPECT_EQ(host.read(KB_HOST_IRQ_STATUS), 0u);
  });
  bench.run();
}

// Reset cuts the program: the command that has been issued goes on to its end at 510 ns, the one
// behind it is never taken, and nothing is counted. The next program begins when that is done.
TEST(HostProgram, ResetCutsARunningOne) {
  const auto work = [](command::Index time) { return command::MathCmd{fill(ns_of_math(0, time))}; };
  HostBench bench(unit_pe(), [&](HostCpu& host) {
    host.publish(records_of([&](CommandSink& sink) {
      sink.issue(work(500));
      sink.wait({ns_of_math(0, 500).range()});
      sink.issue(work(500));
    }));
    sc_core::wait(100, SC_NS);
    EXPECT_EQ(host.read(KB_HOST_STATUS), KB_HOST_STATUS_RUNNING);
    host.reset();
    EXPECT_EQ(host.read(KB_HOST_STATUS), KB_HOST_STATUS_RUNNING | KB_HOST_STATUS_DRAINING);
    EXPECT_EQ(host.read64(KB_HOST_RING_HEAD), 0u);
    host.publish(records_of([&](CommandSink& sink) { sink.issue(work(7)); }));
    sc_core::wait(409, SC_NS);
    EXPECT_EQ(host.read(KB_HOST_STATUS), KB_HOST_STATUS_RUNNING | KB_HOST_STATUS_DRAINING);
    sc_core::wait(2, SC_NS);
    EXPECT_EQ(host.read(KB_HOST_STATUS), KB_HOST_STATUS_RUNNING);
    host.await(KB_HOST_IRQ_DONE);
    EXPECT_EQ(host.read(KB_HOST_PROGRAMS_DONE), 1u);
    EXPECT_EQ(sc_core::sc_time_stamp(), sc_core::sc_time(510 + 10 + 7, SC_NS));
  });
  const HostBench::Result result = bench.run();
  const auto math = select(result.rows, [](const OpLogRow& row) { return row.engine == "math"; });
  ASSERT_EQ(math.size(), 2u);
  EXPECT_EQ(math[0].end, 510'000u);
  EXPECT_EQ(math[1].cmd, 1);
}

}  // namespace
}  // namespace kernbench::test
