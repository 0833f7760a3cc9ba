// SPDX-License-Identifier: Apache-2.0
// A PE on a DRAM controller that knows nothing of KernBench (dram_controller.hpp), bound in a few
// lines. The same kernel runs on the embedded HBM, which has no banks, and on the controller with
// each order of row, bank and column in an address: it prints how much of the time is spent on rows
// and how many accesses hit an open row, and checks that the numbers are the same bit for bit.
//
// Usage: dram_controller [KERNEL [NAME=VALUE ..]]
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "dram_controller.hpp"
#include "kernels/catalogue.hpp"
#include "model/arch/topology_file.hpp"
#include "model/embedded_hbm.hpp"
#include "model/pe.hpp"
#include "runtime/host_access.hpp"
#include "runtime/launch/arguments.hpp"
#include "runtime/launch/inputs.hpp"
#include "runtime/launch/launch.hpp"
#include "runtime/pe_outputs.hpp"
#include "tlm_if/command/error.hpp"

namespace command = kernbench::command;
namespace kernels = kernbench::kernels;
namespace runtime = kernbench::runtime;
using kernbench::Pe;

static const char* const kUsage =
    "usage: dram_controller [KERNEL [NAME=VALUE ..]]\n"
    "  KERNEL      a kernel of the catalogue, which single_pe list shows (gqa_decode)\n"
    "  NAME=VALUE  its parameters (s_kv=1024 if there is no KERNEL)\n";

// What the PE must know about the memory: its size, and its largest transaction.
static const char* const kTopology =
    "name: dram_controller\n"
    "pe: {dma: {burst_bytes: 256}}\n"
    "hbm: {bytes: 16777216}\n";

namespace {

struct OnDram {
  dram::DramController memory;
  Pe pe;

  OnDram(const dram::Config& dram, const kernbench::arch::PeConfig& config, std::uint32_t index)
      : memory(("dram" + std::to_string(index)).c_str(), dram),
        pe(("pe" + std::to_string(index)).c_str(), config, index) {
    pe.memory.bind(memory.socket);
  }
};

using Entries = std::vector<std::vector<double>>;

runtime::Launch launch_of(int argc, char** argv, const kernbench::arch::TopologyConfig& topology) {
  const std::string name = argc > 1 ? argv[1] : "gqa_decode";
  std::vector<std::string> parameters{"s_kv=1024"};
  if (argc > 1) parameters.assign(argv + 2, argv + argc);
  return {runtime::kernel_of(kernels::catalogue(), name), runtime::settings_of(parameters),
          topology};
}

void write_inputs(Pe& pe, const runtime::Launch& launch, const kernels::HostTensors& inputs) {
  for (const runtime::DeviceTensor& tensor : launch.tensors()) {
    if (tensor->spec.direction == kernels::Direction::out) continue;
    runtime::write_tensor(pe, tensor->parts[0].handle, inputs.at(tensor->spec.name));
  }
}

Entries read_outputs(Pe& pe, const runtime::Launch& launch) {
  Entries outputs;
  for (const runtime::DeviceTensor& tensor : launch.tensors()) {
    if (tensor->spec.direction == kernels::Direction::in) continue;
    outputs.push_back(runtime::read_tensor(pe, tensor->parts[0].handle));
  }
  return outputs;
}

bool simulate(int argc, char** argv) {
  const auto topology = kernbench::arch::load_topology(kTopology, "dram_controller.yaml");
  const runtime::Launch launch = launch_of(argc, argv, topology);

  kernbench::EmbeddedHbm hbm("hbm", topology.hbm, 1, true);
  Pe reference("reference", topology.pe_config(), 0);
  reference.memory.bind(hbm.port(0));

  std::vector<std::unique_ptr<OnDram>> drams;
  const std::vector<std::string> mappings{"row:bank:column", "row:column:bank", "bank:row:column",
                                          "bank:column:row", "column:row:bank", "column:bank:row"};
  std::vector<Pe*> pes{&reference};
  for (const std::string& mapping : mappings) {
    dram::Config dram;
    dram.mapping = mapping;
    const auto index = static_cast<std::uint32_t>(pes.size());
    drams.push_back(std::make_unique<OnDram>(dram, topology.pe_config(), index));
    pes.push_back(&drams.back()->pe);
  }
  runtime::PeOutputs outputs({});  // no files
  for (Pe* pe : pes) {
    outputs.add(*pe);
    pe->set_data_mode(true);
    pe->set_kernel([&launch](command::CommandSink& sink) { launch.issue(sink); });
  }

  sc_core::sc_start(sc_core::SC_ZERO_TIME);  // elaborates: memories can be reached from here on
  const auto inputs = runtime::synthetic_inputs(launch.instance().tensors, 0);
  for (Pe* pe : pes) write_inputs(*pe, launch, inputs);
  sc_core::sc_start();  // the controller has no clock: the run ends by itself
  outputs.finish();     // throws if a PE is not done, with who waits for what

  const auto total = static_cast<double>(reference.cpu.last_done_ps());
  std::printf("%s\n", launch.title().c_str());
  std::printf("%-18s %12s %9s %8s %8s %9s %8s %18s\n", "memory", "total ns", "of HBM", "hits",
              "misses", "conflicts", "hits, %", "END_REQ waits, ns");
  std::printf("%-18s %12.3f %9.3f\n", "embedded HBM", total / 1000, 1.0);
  const Entries expected = read_outputs(reference, launch);
  bool equal = true;
  for (std::size_t i = 0; i < drams.size(); ++i) {
    const dram::Statistics& seen = drams[i]->memory.statistics();
    const auto ps = static_cast<double>(drams[i]->pe.cpu.last_done_ps());
    std::printf("%-18s %12.3f %9.3f %8llu %8llu %9llu %8.1f %18.3f\n", mappings[i].c_str(),
                ps / 1000, ps / total, static_cast<unsigned long long>(seen.hits),
                static_cast<unsigned long long>(seen.misses),
                static_cast<unsigned long long>(seen.conflicts), 100 * seen.hit_rate(),
                seen.end_req_wait.to_seconds() * 1e9);
    equal = equal && read_outputs(drams[i]->pe, launch) == expected;
  }
  std::printf("results: %s\n", equal ? "bit-equal on all memories" : "DIFFERENT");
  return equal;
}

}  // namespace

int sc_main(int argc, char** argv) {
  const bool help = argc == 2 && std::string(argv[1]) == "--help";
  if (help) {
    std::fputs(kUsage, stdout);
    return 0;
  }
  try {
    return simulate(argc, argv) ? 0 : 1;
  } catch (const kernbench::InputError& error) {
    std::fprintf(stderr, "dram_controller: %s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "dram_controller: %s\n", error.what());
    return 1;
  }
}
