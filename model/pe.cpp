// SPDX-License-Identifier: Apache-2.0
#include "model/pe.hpp"

#include <fmt/format.h>

#include <limits>

#include "model/arch/config_check.hpp"
#include "tlm_if/command/error.hpp"

namespace kernbench {
namespace {

const arch::PeConfig& checked(const sc_core::sc_module_name& name, const arch::PeConfig& config) {
  arch::check_config(static_cast<const char*>(name), config);
  const std::uint64_t offset = config.memory_offset;
  const auto refuse = [&](const std::string& what) {
    throw InputError(
        fmt::format("{}: memory_offset {:#x} {}", static_cast<const char*>(name), offset, what));
  };
  // Bursts stay naturally aligned at the socket (R6.8).
  if (offset % config.dma.burst_bytes != 0) {
    refuse(
        fmt::format("is not a multiple of dma.burst_bytes, {}; choose a multiple, or smaller "
                    "bursts",
                    config.dma.burst_bytes));
  }
  if (config.hbm_bytes > std::numeric_limits<std::uint64_t>::max() - offset) {
    refuse(fmt::format("and hbm_bytes {:#x} lie beyond 64 bits together; choose a smaller one",
                       config.hbm_bytes));
  }
  return config;
}

}  // namespace

Pe::Pe(const sc_core::sc_module_name& name, const arch::PeConfig& config, std::uint32_t index)
    : sc_module(name),
      context_(checked(name, config), index),
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
  if (arch::Rational(0) < config.watchdog_ns) {
    watchdog_ = std::make_unique<PeWatchdog>("watchdog", context_, *this);
    context_.watchdog = watchdog_.get();
  }
}

bool Pe::serving() const {
  return cpu.dispatching() || dma.setting_up() || tcm.serving() || gemm.serving() ||
         math.serving() || ipcq.serving();
}

bool Pe::stuck() const { return !idle() && !cpu.running() && !dma.serving() && !serving(); }

void Pe::waits(arch::WaitGraph& graph, const std::string& as) const {
  cpu.waits(graph, as);
  scheduler.waits(graph);
  dma.port.waits(graph);
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
