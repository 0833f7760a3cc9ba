// SPDX-License-Identifier: Apache-2.0
// The least code that runs a kernel of the catalogue on a PE beside your own memory, with op log,
// waveform and summary. main.cpp does more.
#include <cstdio>
#include <exception>
#include <string>

#include "dram_controller.hpp"
#include "kernels/gqa_decode.hpp"
#include "model/arch/topology_file.hpp"
#include "model/pe.hpp"
#include "runtime/launch/launch.hpp"
#include "runtime/pe_outputs.hpp"
#include "tlm_if/command/error.hpp"

namespace runtime = kernbench::runtime;

// What the PE must know of the memory.
static const char* const kTopology = R"(
name: binding
pe: {dma: {burst_bytes: 256}}  # the largest transaction that it takes
hbm: {bytes: 16777216}         # its size
)";

static const char* const kUsage =
    "usage: binding FOLDER\n"
    "  FOLDER  exists, and gets op_log.csv, waves.vcd and summary.json\n";

static void simulate(const std::string& to) {
  const auto topology = kernbench::arch::load_topology(kTopology, "binding.yaml");
  const runtime::Launch launch(kernbench::kernels::gqa_decode(), {{"s_kv", "1024"}}, topology);
  dram::DramController memory("memory", dram::Config());
  kernbench::Pe pe("pe0", topology.pe_config(), 0);
  pe.memory.bind(memory.socket);
  pe.set_kernel([&](kernbench::command::CommandSink& sink) { launch.issue(sink); });
  runtime::PeOutputs outputs({to + "op_log.csv", to + "waves.vcd", {}, to + "summary.json"});
  outputs.add(pe);
  sc_core::sc_start();
  outputs.finish();

  std::printf("%.3f ns, %.1f %% row hits; op_log.csv, waves.vcd, summary.json\n",
              static_cast<double>(pe.cpu.last_done_ps()) / 1000,
              100 * memory.statistics().hit_rate());
}

int sc_main(int argc, char** argv) {
  const bool help = argc == 2 && std::string(argv[1]) == "--help";
  if (help || argc != 2) {
    std::fputs(kUsage, help ? stdout : stderr);
    return help ? 0 : 2;
  }
  try {
    simulate(std::string(argv[1]) + "/");
    return 0;
  } catch (const kernbench::InputError& error) {
    std::fprintf(stderr, "binding: %s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "binding: %s\n", error.what());
    return 1;
  }
}
