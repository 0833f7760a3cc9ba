// SPDX-License-Identifier: Apache-2.0
// PEs within modules of an integrator: what their outputs are called, what is refused, and that
// results do not depend on what was created first.

#include "tests/cosim/own_design.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "runtime/host_access.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/monitored.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/vcd_reader.hpp"

namespace kernbench::test {
namespace {

using command::CommandSink;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// One MATH command on `elements` entries of scratch.
KernelBody fill(command::Index elements) {
  return [elements](CommandSink& sink) {
    command::OpSpec op;
    op.kind = command::OpKind::fill;
    op.extras = {command::Extra::f32(command::ExtraName::value, 1)};
    op.has_out = true;
    op.out = command::make_handle(1, command::kTcmBase, command::Shape{elements},
                                  command::DType::f16, command::Space::tcm, "x");
    sink.issue(command::MathCmd{op});
  };
}

/// A chiplet of an integrator: a PE and its memory, or two.
struct Chiplet : sc_core::sc_module {
  Chiplet(const sc_core::sc_module_name& name, const arch::TopologyConfig& topology,
          std::vector<std::uint32_t> indices)
      : sc_module(name) {
    for (const std::uint32_t index : indices) {
      const std::string suffix = std::to_string(index);
      pes.push_back(std::make_unique<Pe>(("pe" + suffix).c_str(), topology.pe_config(), index));
      memories.push_back(
          std::make_unique<EmbeddedHbm>(("hbm" + suffix).c_str(), topology.hbm, 1, false));
      monitors.push_back(
          bind_monitored(pes.back()->memory, memories.back()->port(0), "monitor" + suffix));
    }
  }
  std::vector<std::unique_ptr<Pe>> pes;
  std::vector<std::unique_ptr<EmbeddedHbm>> memories;
  std::vector<std::unique_ptr<BaseProtocolMonitor>> monitors;
};

// Three PEs of two kinds in two modules, recorded in another order than they are nested.
TEST(OwnDesign, PesKeepTheNamesOfTheirInstances) {
  const TemporaryFolder folder;
  arch::TopologyConfig wide = single_pe();
  wide.pe.dma.read_channels = 3;
  wide.pe.clock_ghz = arch::Rational(2);
  wide.pe.pe_cost_model.fixed_cycles = 20;
  Chiplet left("left", single_pe(), {7, 2}), right("right", wide, {5});
  runtime::PeOutputs outputs(paths_in(folder));
  outputs.add(*left.pes[1]);
  outputs.add(*right.pes[0], "other.side");
  outputs.add(*left.pes[0]);
  left.pes[0]->set_kernel(fill(64));
  left.pes[1]->set_kernel(fill(640));
  right.pes[0]->set_kernel(fill(128));
  sc_core::sc_start();
  outputs.finish();

  // Dispatch of 17 bytes: 41.0625 ns; with 20 fixed cycles at 2 GHz 10.53125 ns. 64 lanes.
  std::vector<std::string> ends;
  for (const OpLogRow& row : read_op_log(folder / "op_log.csv")) {
    if (row.stage == "math") ends.push_back(std::to_string(row.pe) + " " + std::to_string(row.end));
  }
  EXPECT_THAT(ends, ElementsAre("5 11531", "7 42063", "2 51063"));

  const VcdFile vcd = read_vcd(folder / "waves.vcd");  // refuses a scope that is opened twice
  std::set<std::string> scopes;
  for (const auto& [path, variable] : vcd.variables) {
    if (path.size() > 5 && path.substr(path.size() - 4) == ".seq") {
      scopes.insert(path.substr(0, path.size() - 4));
    }
  }
  const std::vector<std::string> engines{"cpu",  "dma_rd",    "dma_wr", "gemm",
                                         "math", "scheduler", "tcm"};
  std::set<std::string> expected{"other.side.dma_rd1", "other.side.dma_rd2"};
  for (const std::string& engine : engines) {
    for (const std::string pe : {"left.pe7", "left.pe2", "other.side"}) {
      expected.insert(pe + "." + engine);
    }
  }
  EXPECT_EQ(scopes, expected);
  EXPECT_TRUE(vcd.variables.count("other.side.memory.reading"));
  EXPECT_EQ(vcd.stages("left.pe2.math").at(0).end, 51'063U);
  EXPECT_EQ(vcd.stages("other.side.math").at(0).end, 11'531U);

  const auto trace = nlohmann::json::parse(read_file(folder / "trace.json"));
  std::set<std::string> processes;
  for (const auto& event : trace["traceEvents"]) {
    if (event["name"] == "process_name") processes.insert(event["args"]["name"]);
  }
  EXPECT_THAT(processes, ElementsAre("left.pe2", "left.pe7", "other.side"));

  const auto summary = nlohmann::json::parse(read_file(folder / "summary.json"));
  EXPECT_EQ(summary["pes"], 3);
  EXPECT_EQ(summary["sim_time_ps"], 51'063);
  EXPECT_EQ(summary["commands"], 3);
  EXPECT_EQ(summary["dispatch_cycles"], 2 * (40 + 17.0 / 16) + (20 + 17.0 / 16));
  EXPECT_EQ(summary["per_pe"]["left.pe2"]["done_ps"], 51'063);
  EXPECT_EQ(summary["per_pe"]["other.side"]["engines"]["math"]["elements"], 128);
}

TEST(OwnDesign, WhatCannotBeRecordedIsRefused) {
  const TemporaryFolder folder;
  Pe first("first", arch::PeConfig()), same_index("same_index", arch::PeConfig()),
      second("second", arch::PeConfig(), 1), odd("pe[2]", arch::PeConfig(), 2),
      last("last", arch::PeConfig(), 65535), far("far", arch::PeConfig(), 65536);
  {
    runtime::PeOutputs outputs(paths_in(folder));
    outputs.add(first);
    EXPECT_THAT(refusal([&] { outputs.add(same_index); }),
                HasSubstr("first and same_index both have index 0"));
    EXPECT_THAT(refusal([&] { outputs.add(second, "first"); }),
                HasSubstr("two PEs are called first"));
    EXPECT_EQ(refusal([&] { outputs.add(last); }), "");
    EXPECT_THAT(refusal([&] { outputs.add(far); }), HasSubstr("far has index 65536"));
    EXPECT_THAT(refusal([&] { outputs.add(odd); }), HasSubstr("the PE 'pe[2]' has a name"));
    for (const std::string name : {".", "a..b", ".a", "a.", "a b", "a:b", "$end"}) {
      EXPECT_THAT(refusal([&] { outputs.add(odd, name); }), HasSubstr("'" + name + "' has a name"));
    }
    outputs.add(odd, "a_2.b");
  }
  const std::string file = folder / "same";
  EXPECT_THAT(refusal([&] {
                runtime::PeOutputs({file, {}, {}, file});
              }),
              HasSubstr("op_log and summary name the same file"));
  EXPECT_THAT(refusal([&] {
                runtime::PeOutputs({folder / "none/op_log.csv", {}, {}, {}});
              }),
              HasSubstr("cannot write"));
  EXPECT_THAT(folder.names(), IsEmpty());
}

TEST(OwnDesign, APeIsAddedBeforeTheSimulationStarts) {
  OwnDesign design;
  Pe late("late", arch::PeConfig(), 1);
  EmbeddedHbm memory("memory", arch::HbmConfig(), 1, false);
  const auto monitor = bind_monitored(late.memory, memory.port(0), "late_monitor");
  sc_core::sc_start(nanoseconds(1));
  EXPECT_THAT(refusal([&] { design.outputs.add(late); }),
              HasSubstr("late is added to outputs of a simulation that has started"));
}

// A memory that stores nothing is told, without a word of a command line.
TEST(OwnDesign, TensorsNeedAMemoryThatStoresThem) {
  OwnDesign design;
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  const auto x = command::make_handle(0, 0x40, command::Shape{4}, command::DType::f32,
                                      command::Space::hbm, "x");
  try {
    runtime::write_tensor(design.pe, x, {1, 2, 3, 4});
    ADD_FAILURE() << "written";
  } catch (const sc_core::sc_report& report) {
    EXPECT_STREQ(report.get_msg(),
                 "the memory of PE 0 moved 0 of 16 bytes at 0x40 in transport_dbg; tensors need a "
                 "memory that moves them all: check that it stores data, and its size");
  }
}

/// The op log of a decode beside a memory of somebody else and a host that launches again, created
/// in an order.
std::string op_log_in_order(const std::string& order) {
  return in_child([&] {
    const TemporaryFolder folder;
    const runtime::Launch launched =
        launch(single_pe(), "gqa_decode", {{"variant", "opt3"}, {"s_kv", "300"}});
    const KernelBody kernel = [&](CommandSink& sink) { launched.issue(sink); };
    std::unique_ptr<Pe> pe;
    std::unique_ptr<ForeignMemory> memory;
    std::unique_ptr<Process> host;
    for (const char part : order) {
      if (part == 'p') pe = std::make_unique<Pe>("pe0", single_pe().pe, 0);
      if (part == 'm') {
        // Acceptance at the end of every cycle, an answer beside it: many events an instant.
        memory = std::make_unique<ForeignMemory>(
            "memory", ForeignMemory::Times{nanoseconds(32), nanoseconds(96)});
      }
      if (part == 'h') {
        host = std::make_unique<Process>("host", [&] {
          for (int launches = 0; launches < 3; ++launches) {
            sc_core::wait(nanoseconds(320));  // when the memory accepts and answers as well
            pe->cpu.launch(kernel);
          }
        });
      }
    }
    const auto monitor = bind_monitored(pe->memory, memory->socket);
    pe->set_kernel(kernel);
    runtime::PeOutputs outputs(paths_in(folder));
    outputs.add(*pe);
    sc_core::sc_start();
    outputs.finish();
    return read_file(folder / "op_log.csv");
  });
}

TEST(OwnDesign, TheOrderOfCreationDoesNotShow) {
  const std::string expected = op_log_in_order("pmh");
  EXPECT_GT(std::count(expected.begin(), expected.end(), '\n'), 400);
  for (const std::string order : {"phm", "mph", "mhp", "hpm", "hmp"}) {
    EXPECT_TRUE(op_log_in_order(order) == expected) << order;
  }
}

}  // namespace
}  // namespace kernbench::test
