// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "model/arch/wait_graph.hpp"
#include "model/pe_context.hpp"
#include "model/region_tracker.hpp"
#include "tlm_if/command/command_sink.hpp"
#include "tlm_if/pool.hpp"
#include "tlm_if/protocols.hpp"

namespace kernbench {

/// A kernel as PE_CPU runs it.
using KernelBody = std::function<void(command::CommandSink&)>;

/// Totals of what PE_CPU has issued.
struct DispatchTotals {
  std::uint64_t commands = 0;
  std::uint64_t segments = 0;
  std::uint64_t logical_bytes = 0;
};

/// PE_CPU runs kernels one after the other in its thread. It is their command sink and dispatches
/// their commands.
///
/// Timing: launch_ns before the kernel; before a simple command, the lazy await (R6.11); then
/// segments * fixed_cycles + cycles_per_byte * logical_bytes; then the offer to the scheduler,
/// which may stall on a full queue. Not modelled: the instructions between two commands (see
/// cpu_overhead).
class PeCpu : public sc_core::sc_module,
              private Settling,
              private command::CommandSink,
              private BackwardInterface<CommandProtocol> {
 public:
  using ObserveHandler =
      std::function<void(std::string_view name, const command::TensorHandle& handle)>;

  InitiatorSocket<CommandProtocol> command_out{"command_out"};

  PeCpu(const sc_core::sc_module_name& name, PeContext& pe);

  /// Runs a kernel now, or when the kernels launched before have returned and their commands are
  /// done. Call it before the simulation starts, between two calls of sc_start, or from a SystemC
  /// process; throws InputError after sc_stop. Command numbers continue from kernel to kernel, and
  /// so do regions of the same name, of which there are at most 64.
  void launch(KernelBody kernel);
  /// The handler is called when a launched kernel has returned and its last command is done, after
  /// everything of that instant has completed, in the order of PEs. It may launch or notify, but
  /// must not wait.
  void set_launch_done_handler(std::function<void()> handler) {
    launch_done_handler_ = std::move(handler);
  }
  /// The handler is called when an observed value is complete (CommandSink::observe), that is when
  /// the last earlier command that writes it is done. A kernel must wait before it overwrites a
  /// part of the value.
  void set_observe_handler(ObserveHandler handler) { observe_handler_ = std::move(handler); }

  // For a kernel body that gets its commands from a host while it runs (HostPort).

  /// Number of the oldest command that is not done; of the next one, if all are.
  std::uint64_t first_outstanding() const {
    return outstanding_.empty() ? next_number_ : outstanding_.front()->number;
  }

  /// True if begin_region() would accept the name.
  bool takes_region(std::string_view name) const { return regions_.takes(name); }

  /// In the kernel's thread: blocks it until host_ready().
  void await_host();
  /// A body in await_host() continues when the instant settles.
  void host_ready();
  /// The kernel is blocked in await_host(), which does not count as a lack of progress.
  bool waits_for_host() const { return awaits_host_; }

  /// No kernel is running or launched, and every command is done.
  bool idle() const { return launches_.empty() && kernel_ == Kernel::none && outstanding_.empty(); }
  /// The kernel proceeds by itself: it waits neither for a command nor for its host.
  bool running() const { return kernel_ == Kernel::runs && !blocked_ && failure_ == nullptr; }
  /// A dispatch is in progress.
  bool dispatching() const { return busy_; }
  /// The time at which a kernel returned or the last command was done, whichever was later.
  std::uint64_t last_done_ps() const { return last_done_ps_; }
  /// The exception that the kernel has thrown; null if none.
  std::exception_ptr failure() const { return failure_; }
  const std::vector<Region>& regions() const { return regions_.regions(); }
  const DispatchTotals& totals() const { return totals_; }
  /// Adds what the kernel waits for, or has thrown. `pe_name`: the name of this PE.
  void waits(arch::WaitGraph& graph, const std::string& pe_name) const;

  /// Registers busy, state, cmd, op and seq (which counts what has ended) in a user's waveform
  /// file.
  void trace(sc_core::sc_trace_file* file) const override;

 private:
  struct Observation {
    std::vector<const CommandTransaction*> writers;  // complete when all of these are done
    std::string name;
    command::TensorHandle handle;
  };
  enum class Kernel : std::uint8_t { none, runs, returned };

  // command::CommandSink, called in the kernel's thread.
  void issue(command::Command command) override;
  void wait(const std::vector<command::ByteRange>& ranges) override;
  void begin_region(std::string_view name) override { regions_.begin(name); }
  void end_region(std::string_view name) override { regions_.end(name); }
  void observe(std::string_view name, const command::TensorHandle& handle) override;

  tlm::tlm_sync_enum nb_transport_bw(CommandTransaction& command, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay) override;
  void settle() override;
  void run_kernels();

  void lazy_await(const CommandTransaction& command);
  /// Blocks until `command` is done. Records a row with the given number if that took time.
  void await(const CommandTransaction& command, std::uint64_t row_number);
  void dispatch(const CommandTransaction& command);
  void offer(CommandTransaction& command);
  void block();
  void show(arch::StageKind kind, std::uint64_t number, std::uint32_t op);
  void record(arch::StageKind kind, std::uint64_t ticket, std::uint64_t start,
              const CommandTransaction* command, std::uint64_t number, std::uint64_t bytes);

  PeContext& pe_;
  std::deque<KernelBody> launches_;  // not yet begun
  KernelBody body_;                  // of the running kernel
  Kernel kernel_ = Kernel::none;
  bool simulates_ = false;  // the thread has run
  std::function<void()> launch_done_handler_;
  sc_core::sc_event launch_event_;
  ObserveHandler observe_handler_;
  sc_core::sc_event resume_event_;
  Pool<CommandTransaction> pool_;
  std::vector<CommandTransaction*> outstanding_;  // issued but not done, in issue order
  const CommandTransaction* awaited_ = nullptr;   // the command for which the thread is blocked
  bool blocked_ = false;                          // the thread is blocked
  bool awaits_host_ = false;                      // blocked in await_host()
  bool resumable_ = false;
  std::exception_ptr failure_;
  std::uint64_t next_number_ = 0;
  RegionTracker regions_;
  std::vector<Observation> observations_;
  DispatchTotals totals_;
  std::uint64_t last_done_ps_ = 0;

  bool busy_ = false;  // dispatches

  // For trace(), like busy_.
  std::uint32_t state_ = 0;
  std::uint64_t cmd_ = 0;
  std::uint32_t op_ = 0;
  std::uint64_t seq_ = 0;
};

}  // namespace kernbench
