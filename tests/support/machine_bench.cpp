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

void check_messages(const arch::TopologyConfig& topology, const std::vector<OpLogRow>& rows,
                    const std::vector<LinkStatistics>& links) {
  std::map<Channel, Slots> sent, received;
  std::map<std::uint32_t, std::uint64_t> sent_bytes, received_bytes;
  for (const OpLogRow& row : rows) {
    const auto peer = static_cast<std::uint32_t>(row.tile_n);
    if (row.stage == "send") {
      sent[{row.pe, peer, row.tile_k}].emplace_back(row.tile_m, row.bytes);
      sent_bytes[row.pe] += row.bytes;
    } else if (row.stage == "recv") {
      received[{peer, row.pe, row.tile_k}].emplace_back(row.tile_m, row.bytes);
      received_bytes[row.pe] += row.bytes;
    }
  }
  EXPECT_EQ(sent, received);
  for (std::uint32_t pe = 0; pe < topology.pes() && !links.empty(); ++pe) {
    const std::string name = arch::pe_name(topology, pe);
    const std::uint32_t local = pe % topology.pes_per_cube;
    const std::string noc = name.substr(0, name.rfind("pe")) + "noc.";
    for (const LinkStatistics& link : links) {
      if (link.name == fmt::format("{0}ipcq{1}_n{1}", noc, local)) {
        EXPECT_EQ(link.bytes_out, sent_bytes[pe]) << link.name;
      } else if (link.name == fmt::format("{0}n{1}_ipcq{1}", noc, local)) {
        EXPECT_EQ(link.bytes_out, received_bytes[pe]) << link.name;
      }
    }
  }
}

std::string without_host(nlohmann::ordered_json summary) {
  summary.erase("host");
  return summary.dump(2);
}

}  // namespace

arch::TopologyConfig shipped(const std::string& name, const std::vector<std::string>& sets) {
  return arch::read_topology_file(
      std::string(KERNBENCH_SOURCE_DIR) + "/topologies/" + name + ".yaml", sets);
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
                  const std::vector<LinkStatistics>& links, Ps end_ps) {
  check_engines(rows, end_ps);
  check_hbm(topology, rows, end_ps);
  check_messages(topology, rows, links);
  for (const LinkStatistics& link : links) {
    EXPECT_EQ(link.bytes_in, link.bytes_out) << link.name;
    EXPECT_LE(link.busy_ps, end_ps) << link.name;
    EXPECT_EQ(link.packets == 0, link.busy_ps == 0) << link.name;
  }
}

MachineRun run_machine(const arch::TopologyConfig& topology, const runtime::Launch& launch,
                       const MachineRunOptions& options) {
  TemporaryFolder folder;
  runtime::RunRequest request;
  request.launch = &launch;
  request.inputs = options.inputs;
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
  check_bounds(topology, run.rows, run.result.links, run.result.sim_time_ps);
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
  host.design().recorder.finish(host.end_ps());
  std::vector<OpLogRow> rows = read_op_log(folder / "op_log.csv");
  check_bounds(topology, rows, host.design().machine.links(), host.end_ps());
  return rows;
}

}  // namespace kernbench::test
