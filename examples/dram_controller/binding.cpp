// SPDX-License-Identifier: Apache-2.0
// The least that it takes to run a kernel of the catalogue on a PE beside a memory of one's own,
// with op log, waveform and summary. main.cpp does more with it.
#include <cstdio>

#include "dram_controller.hpp"
#include "kernels/gqa_decode.hpp"
#include "model/arch/topology_file.hpp"
#include "model/pe.hpp"
#include "runtime/launch/launch.hpp"
#include "runtime/pe_outputs.hpp"

namespace runtime = kernbench::runtime;

// What the PE must know of the memory.
static const char* const kTopology = R"(
name: binding
pe: {dma: {burst_bytes: 256}}  # the largest transaction that it takes
hbm: {bytes: 16777216}         # its size
)";

int sc_main(int, char**) {
  const auto topology = kernbench::arch::load_topology(kTopology, "binding.yaml");
  const runtime::Launch launch(kernbench::kernels::gqa_decode(), {{"s_kv", "1024"}}, topology);
  dram::DramController memory("memory", dram::Config());
  kernbench::Pe pe("pe0", topology.pe, 0);
  pe.memory.bind(memory.socket);
  pe.set_kernel([&](kernbench::command::CommandSink& sink) { launch.issue(sink); });
  runtime::PeOutputs outputs({"op_log.csv", "waves.vcd", {}, "summary.json"});
  outputs.add(pe);
  sc_core::sc_start();
  outputs.finish();

  std::printf("%.3f ns, %.1f %% row hits; op_log.csv, waves.vcd, summary.json\n",
              static_cast<double>(pe.cpu.last_done_ps()) / 1000,
              100 * memory.statistics().hit_rate());
  return 0;
}
