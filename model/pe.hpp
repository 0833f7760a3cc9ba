// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "model/arch/wait_graph.hpp"
#include "model/pe_context.hpp"
#include "model/pe_cpu.hpp"
#include "model/pe_dma.hpp"
#include "model/pe_gemm.hpp"
#include "model/pe_ipcq.hpp"
#include "model/pe_math.hpp"
#include "model/pe_scheduler.hpp"
#include "model/pe_tcm.hpp"
#include "model/pe_watchdog.hpp"

namespace kernbench {

/// One processing element: PE_CPU, PE_SCHEDULER, PE_DMA, PE_TCM, PE_GEMM, PE_MATH, PE_IPCQ, wired.
/// Its memory socket takes any TLM-2.0 base-protocol memory of at least `config.hbm_bytes` bytes.
class Pe : public sc_core::sc_module {
  PeContext context_;  // before the modules that refer to it

 public:
  tlm::tlm_initiator_socket<32> memory{"memory"};
  /// Messages to and from other PEs, over links that deliver in order.
  OptionalInitiatorSocket<PacketProtocol> ipcq_out{"ipcq_out"};
  OptionalTargetSocket<PacketProtocol> ipcq_in{"ipcq_in"};

  PeCpu cpu;
  PeScheduler scheduler;
  PeDma dma;
  PeTcm tcm;
  PeGemm gemm;
  PeMath math;
  PeIpcq ipcq;

  /// `index` tells PEs apart in outputs, orders them where they tie, and is what messages name:
  /// PEs that share a memory, a recorder or a network need different ones. Throws InputError if
  /// a field of `config` is outside the range of its key (docs/topology.md), if keys do not
  /// fit each other, and if `memory_offset` is no multiple of dma.burst_bytes or puts hbm_bytes
  /// beyond 64 bits.
  Pe(const sc_core::sc_module_name& name, const arch::PeConfig& config, std::uint32_t index = 0);

  // Before the simulation starts:

  /// The first kernel to run; for more see PeCpu::launch.
  void set_kernel(KernelBody kernel) { cpu.launch(std::move(kernel)); }
  /// Not owned; null: nothing is recorded. Several PEs may share one.
  void set_recorder(record::Recorder* recorder) { context_.recorder = recorder; }
  /// Not owned; null: nothing is checked. Of this PE alone.
  void set_hazard_checker(record::HazardChecker* checker) { context_.hazards = checker; }
  /// Compute numbers as well. Times are the same either way (R8.3).
  void set_data_mode(bool on) { context_.data = on; }
  /// Told of faults in place of a report: for who launches for a host (HostPort). Within the
  /// callback of who has found it, in any order at one instant; it may notify, not wait.
  void set_fault_handler(FaultHandler handler) { context_.fault_handler = std::move(handler); }
  void set_test_hooks(TestHooks hooks) { context_.set_test_hooks(std::move(hooks)); }

  /// Every kernel has returned and nothing is in flight.
  bool idle() const { return cpu.idle() && scheduler.idle(); }
  /// Idle, or a kernel has thrown (PeCpu::failure) and no further one begins: what a loop beside a
  /// clock asks. Commands that a kernel issued before it threw may be in flight.
  bool ended() const { return idle() || cpu.failure() != nullptr; }
  /// Not idle, and nothing in it goes on by itself: only a packet or its host can wake it. At
  /// the end of an instant.
  bool stuck() const;
  /// PE_CPU dispatches, an engine serves a stage, or a DMA channel is set up: that ends by itself.
  bool serving() const;
  /// What it and its commands wait for; nothing when idle. `as`: what the PE is called there.
  void waits(arch::WaitGraph& graph, const std::string& as) const;
  /// The same, one line each.
  std::vector<std::string> waiting() const;

  const arch::PeConfig& config() const { return context_.config; }
  std::uint32_t index() const { return context_.index; }
  /// Contents of TCM; meaningful in data mode.
  const arch::Storage& tcm_storage() const { return context_.tcm; }

  /// Registers the state of every engine in a user's own waveform file. SystemC polls it at every
  /// time step (trace few PEs), and writes an instant when the next one comes: not the last.
  void trace(sc_core::sc_trace_file* file) const override;

 private:
  std::unique_ptr<PeWatchdog> watchdog_;  // none: pe.watchdog_ns is 0
};

}  // namespace kernbench
