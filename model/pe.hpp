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

/// One processing element: PE_CPU, PE_SCHEDULER, PE_DMA, PE_TCM, PE_GEMM, PE_MATH and PE_IPCQ,
/// wired together. Any TLM-2.0 base-protocol memory of at least `config.hbm_bytes` bytes can be
/// bound to its memory socket.
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

  /// `index` identifies the PE in outputs and messages and breaks ties between PEs. PEs that share
  /// a memory, a recorder or a network need different indices. Throws InputError if a field of
  /// `config` is outside the range of its key (docs/topology.md), if keys do not fit each other, or
  /// if `memory_offset` is not a multiple of dma.burst_bytes or puts hbm_bytes beyond 64 bits.
  Pe(const sc_core::sc_module_name& name, const arch::PeConfig& config, std::uint32_t index = 0);

  // Before the simulation starts:

  /// Sets the first kernel to run; for more kernels see PeCpu::launch.
  void set_kernel(KernelBody kernel) { cpu.launch(std::move(kernel)); }
  /// Not owned; null: nothing is recorded. Several PEs may share one.
  void set_recorder(record::Recorder* recorder) { context_.recorder = recorder; }
  /// Not owned; null: nothing is checked. A checker serves only one PE.
  void set_hazard_checker(record::HazardChecker* checker) { context_.hazards = checker; }
  /// Computes numbers as well. Times are the same with and without (R8.3).
  void set_data_mode(bool on) { context_.data = on; }
  /// Called instead of SC_REPORT when a command faults; HostPort uses it. Runs inside the detecting
  /// module's callback, in unspecified order within a time step. It may notify events but must not
  /// wait.
  void set_fault_handler(FaultHandler handler) { context_.fault_handler = std::move(handler); }
  void set_test_hooks(TestHooks hooks) { context_.set_test_hooks(std::move(hooks)); }

  /// Every kernel has returned and nothing is in flight.
  bool idle() const { return cpu.idle() && scheduler.idle(); }
  /// Idle, or a kernel has thrown (PeCpu::failure) and no further kernel begins. This is the
  /// condition for a loop that simulates in steps because of a clock. Commands that a kernel issued
  /// before it threw may still be in flight.
  bool ended() const { return idle() || cpu.failure() != nullptr; }
  /// Not idle, and nothing in the PE proceeds by itself: only a packet or its host can wake it.
  /// Valid at the end of an instant.
  bool stuck() const;
  /// PE_CPU is dispatching, an engine is serving a stage, or a DMA channel is being set up: work
  /// that ends by itself.
  bool serving() const;
  /// Adds what the PE and its commands wait for; nothing when idle. `as`: the PE's name in the
  /// graph.
  void waits(arch::WaitGraph& graph, const std::string& as) const;
  /// The same, one line each.
  std::vector<std::string> waiting() const;

  const arch::PeConfig& config() const { return context_.config; }
  std::uint32_t index() const { return context_.index; }
  /// Contents of TCM; meaningful in data mode.
  const arch::Storage& tcm_storage() const { return context_.tcm; }

  /// Registers the state of every engine in a user's own waveform file. SystemC polls it at every
  /// time step, so trace few PEs. SystemC writes an instant when the next one comes, so the last
  /// instant is missing.
  void trace(sc_core::sc_trace_file* file) const override;

 private:
  std::unique_ptr<PeWatchdog> watchdog_;  // none: pe.watchdog_ns is 0
};

}  // namespace kernbench
