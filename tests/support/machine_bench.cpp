// SPDX-License-Identifier: Apache-2.0
#include "tests/support/machine_bench.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "model/arch/topology_file.hpp"
#include "model/record/op_log.hpp"
#include "runtime/summary_json.hpp"
#include "tests/support/link_loads.hpp"
#include "tests/support/temporary_folder.hpp"

namespace kernbench::test {
namespace {

using Ps = std::uint64_t;

void check_engines(const std::vector<OpLogRow>& rows, Ps end_ps) {
  std::map<std::pair<std::uint32_t, std::string>, std::vector<const OpLogRow*>> engines;
  for (const OpLogRow& row : rows) engines[{row.pe, row.engine}].push_back(&row);
  for (const auto& [engine, stages] : engines) {
    Ps free = 0;
    for (const OpLogRow* stage : stages) {  // in order of start
      EXPECT_GE(stage->start, free) << "pe " << engine.first << " " << engine.second << " cmd "
                                    << stage->cmd << " starts while another is served";
      free = stage->end;
      EXPECT_LE(stage->done, end_ps);
    }
  }
}

/// Up to the rounding of bursts of 4096 bytes by at most half a ps each (R6.8).
void check_hbm(const arch::TopologyConfig& topology, const std::vector<OpLogRow>& rows, Ps end_ps) {
  const bool shared = topology.hbm.map == arch::HbmMap::interleaved;
  const arch::HbmConfig hbm = shared ? topology.hbm : topology.pe_slice();
  std::map<std::uint32_t, double> moved;  // bytes, by memory
  for (const OpLogRow& row : rows) {
    if (row.stage != "dma_read" && row.stage != "dma_write") continue;
    moved[shared ? row.pe / topology.pes_per_cube : row.pe] += static_cast<double>(row.bytes);
  }
  for (const auto& [memory, bytes] : moved) {
    const double ps_per_byte = 1000 / (hbm.gbps.to_double() * hbm.efficiency.to_double());
    EXPECT_LE(bytes * ps_per_byte, static_cast<double>(end_ps) * (1 + 0.5 / ps_per_byte / 4096))
        << "hbm " << memory;
  }
}

using Channel = std::tuple<std::uint32_t, std::uint32_t, std::int64_t>;  // from, to, channel
using Slots = std::vector<std::pair<std::int64_t, std::uint64_t>>;       // number, bytes

void check_messages(const std::vector<OpLogRow>& rows) {
  std::map<Channel, Slots> sent, received;
  for (const OpLogRow& row : rows) {
    const auto peer = static_cast<std::uint32_t>(row.tile_n);
    if (row.stage == "send") {
      sent[{row.pe, peer, row.tile_k}].emplace_back(row.tile_m, row.bytes);
    } else if (row.stage == "recv") {
      received[{peer, row.pe, row.tile_k}].emplace_back(row.tile_m, row.bytes);
    }
  }
  EXPECT_EQ(sent, received);
}

void check_links(const std::vector<LinkStatistics>& links,
                 const std::vector<LinkStatistics>& expected, Ps end_ps) {
  ASSERT_EQ(links.size(), expected.size());
  for (std::size_t i = 0; i < links.size(); ++i) {
    const std::string& name = expected[i].name;
    EXPECT_EQ(links[i].name, name);
    EXPECT_EQ(links[i].packets, expected[i].packets) << name;
    EXPECT_EQ(links[i].bytes_in, expected[i].bytes_in) << name;
    EXPECT_EQ(links[i].bytes_out, expected[i].bytes_out) << name;
    EXPECT_EQ(links[i].busy_ps, expected[i].busy_ps) << name;
    EXPECT_LE(links[i].busy_ps, end_ps) << name;
  }
}

std::string without_host(nlohmann::ordered_json summary) {
  summary.erase("host");
  return summary.dump(2);
}

}  // namespace

arch::TopologyConfig shipped(const std::string& name, const std::vector<std::string>& sets) {
  arch::TopologyConfig topology = arch::read_topology_file(
      std::string(KERNBENCH_SOURCE_DIR) + "/topologies/" + name + ".yaml", sets);
  topology.check_protocol = true;
  return topology;
}

kernels::Kernel by_hand(const std::vector<std::uint32_t>& pes,
                        const std::function<void(tl::Context&)>& body) {
  kernels::Kernel kernel;
  kernel.name = "by_hand";
  kernel.summary = "made by a test";
  kernel.make = [pes, body](const kernels::Parameters&, const tl::Target&) {
    kernels::Instance instance;
    instance.grid = {static_cast<command::Index>(pes.size()), 1, 1};
    instance.pes = pes;
    instance.body = [body](tl::Context& tl, const std::vector<tl::Tensor>&) { body(tl); };
    return instance;
  };
  return kernel;
}

const runtime::Phase& MachineRun::phase(const std::string& name) const {
  const auto found = std::find_if(result.phases.begin(), result.phases.end(),
                                  [&](const runtime::Phase& phase) { return phase.name == name; });
  if (found == result.phases.end()) throw std::runtime_error("no phase " + name);
  return *found;
}

void check_bounds(const arch::TopologyConfig& topology, const std::vector<OpLogRow>& rows,
                  const runtime::KernelLaunch* launch, const std::vector<LinkStatistics>& links,
                  Ps end_ps) {
  check_engines(rows, end_ps);
  check_hbm(topology, rows, end_ps);
  check_messages(rows);
  check_links(links, link_loads(topology, rows, launch), end_ps);
}

MachineRun run_machine(const arch::TopologyConfig& topology, const runtime::Launch& launch,
                       const MachineRunOptions& options) {
  TemporaryFolder folder;
  runtime::RunRequest request;
  request.launch = &launch;
  if (options.inputs) request.inputs = &*options.inputs;
  request.paths.op_log = folder / "op_log.csv";
  if (options.vcd_pes) {
    request.paths.vcd = folder / "waves.vcd";
    request.vcd_pes = *options.vcd_pes;
  }
  request.check_hazards = options.check_hazards;
  request.reverse_creation = options.reverse_creation;
  MachineRun run;
  run.result = std::move(runtime::simulate(topology, {}, {request}).front());
  run.op_log = read_file(folder / "op_log.csv");
  if (options.vcd_pes) run.vcd = read_file(folder / "waves.vcd");
  run.summary = without_host(runtime::summary_json(run.result));
  run.rows = parse_op_log(run.op_log);
  for (const auto& [name, tensor] : run.result.results) run.results[name] = tensor.values;
  check_bounds(topology, run.rows, &launch.launch(), run.result.links, run.result.sim_time_ps);
  for (const runtime::Phase& phase : run.result.phases) {  // a wait is part of its phase
    EXPECT_LE(phase.work.stalls.await_ps, phase.total_ps) << phase.name;
  }
  if (run.result.hazards) {
    for (const std::string& line : run.result.hazards->lines) ADD_FAILURE() << line;
  }
  if (run.result.numerics) {
    EXPECT_TRUE(run.result.numerics->pass);
  }
  return run;
}

std::vector<OpLogRow> run_host(const arch::TopologyConfig& topology, runtime::Host& host) {
  TemporaryFolder folder;
  record::OpLog op_log(folder / "op_log.csv");
  host.design().recorder.add_sink(op_log);
  host.run();
  host.finish();
  std::vector<OpLogRow> rows = read_op_log(folder / "op_log.csv");
  check_bounds(topology, rows, nullptr, host.design().machine.links(), host.end_ps());
  return rows;
}

}  // namespace kernbench::test
