// SPDX-License-Identifier: Apache-2.0
#include "model/pe.hpp"

namespace kernbench {

Pe::Pe(const sc_core::sc_module_name& name, const arch::PeConfig& config, std::uint32_t index)
    : sc_module(name),
      context_(config, index),
      cpu("cpu", context_),
      scheduler("scheduler", context_),
      dma("dma", context_),
      tcm("tcm", context_),
      gemm("gemm", context_),
      math("math", context_),
      ipcq("ipcq", context_) {
  cpu.command_out.bind(scheduler.command_in);
  scheduler.dma_out.bind(dma.stage_in);
  scheduler.tcm_out.bind(tcm.stage_in);
  scheduler.gemm_out.bind(gemm.stage_in);
  scheduler.math_out.bind(math.stage_in);
  scheduler.ipcq_out.bind(ipcq.stage_in);
  dma.port.memory.bind(memory);
  ipcq.packet_out.bind(ipcq_out);
  ipcq_in.bind(ipcq.packet_in);
}

bool Pe::stuck() const {
  return !idle() && !cpu.running() && !dma.serving() && !tcm.serving() && !gemm.serving() &&
         !math.serving() && !ipcq.serving();
}

void Pe::waits(arch::WaitGraph& graph, const std::string& as) const {
  cpu.waits(graph, as);
  scheduler.waits(graph);
  ipcq.waits(graph);
}

std::vector<std::string> Pe::waiting() const {
  arch::WaitGraph graph;
  waits(graph, name());
  return graph.lines();
}

void Pe::trace(sc_core::sc_trace_file* file) const {
  cpu.trace(file);
  scheduler.trace(file);
  dma.trace(file);
  tcm.trace(file);
  gemm.trace(file);
  math.trace(file);
  if (context_.config.pes > 1) ipcq.trace(file);  // as in record::Vcd
}

}  // namespace kernbench
