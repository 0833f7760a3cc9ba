// SPDX-License-Identifier: Apache-2.0
// `check_protocol: true` puts a monitor at every memory socket: it changes nothing, and a violation
// ends the run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "model/machine.hpp"
#include "tests/support/hasty_memory.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/ipcq_bench.hpp"
#include "tests/support/machine_bench.hpp"

namespace kernbench::test {
namespace {

using testing::HasSubstr;

std::string report_of(bool check_protocol) {
  return in_child([&] {
    arch::TopologyConfig topology = single_pe();
    topology.check_protocol = check_protocol;
    MachineOptions options;
    options.memory = [](const char* name, tlm::tlm_initiator_socket<32>& pe_memory) {
      return std::make_unique<HastyMemory>(name, pe_memory);
    };
    Machine machine(topology, options);
    machine.pe(0).set_kernel([](command::CommandSink& sink) {
      sink.issue(command::DmaReadCmd{
          command::make_handle(1, 0x40, {1, 32}, command::DType::f16, command::Space::hbm),
          command::make_handle(2, command::kTcmBase, {1, 32}, command::DType::f16,
                               command::Space::tcm)});
    });
    return first_report([] { sc_core::sc_start(); });
  });
}

TEST(CheckProtocol, AViolationEndsTheRun) {
  EXPECT_EQ(report_of(false), "");
  EXPECT_THAT(report_of(true),
              HasSubstr("/kernbench/monitor/violation: monitor: 15.2.4: END_REQ of a request that "
                        "has been accepted: read of 64 bytes at 0x40, at "));
}

TEST(CheckProtocol, ChangesNoOpLog) {
  const auto op_log = [](const std::string& map, const std::string& port, bool check_protocol) {
    return in_child([&] {
      arch::TopologyConfig topology =
          shipped("cube_8pe", {"hbm.map=" + map, "pe.dma.port=" + port});
      topology.check_protocol = check_protocol;
      return run_machine(topology, launch(topology, "gqa_decode", {{"s_kv", "512"}, {"p", "8"}}))
          .op_log;
    });
  };
  for (const char* map : {"pe_local", "interleaved"}) {
    for (const char* port : {"at", "lt"}) {
      const std::string without = op_log(map, port, false);
      EXPECT_GT(without.size(), 1000u);
      EXPECT_EQ(op_log(map, port, true), without) << map << " " << port;
    }
  }
}

}  // namespace
}  // namespace kernbench::test
