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
#include "tlm_if/command/command_sink.hpp"
#include "tlm_if/pool.hpp"
#include "tlm_if/protocols.hpp"

namespace kernbench {

/// A kernel as PE_CPU runs it.
using KernelBody = std::function<void(command::CommandSink&)>;

/// A named span of the kernels: from the start of the first dispatch inside to the end of the last
/// stage of its commands; re-entered, from first to last (R13.1).
struct Region {
  std::string name;
  bool entered = false;  ///< a dispatch has started inside
  std::uint64_t start_ps = 0;
  std::uint64_t end_ps = 0;
  std::uint64_t entries = 0;   ///< in which a command was dispatched; one within itself is none
  std::uint64_t total_ps = 0;  ///< sum of their spans, which may overlap
  std::uint64_t commands = 0;
  std::uint64_t segments = 0;  ///< with `logical_bytes`: dispatch cycles, unrounded
  std::uint64_t logical_bytes = 0;
};

/// Totals of what PE_CPU has issued.
struct DispatchTotals {
  std::uint64_t commands = 0;
  std::uint64_t segments = 0;
  std::uint64_t logical_bytes = 0;
};

/// PE_CPU: runs kernels, one after the other, in its thread, which is the command sink, and
/// dispatches their commands.
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

  /// Runs a kernel once those launched before have returned and their commands are done, or at the
  /// present time. Before the simulation starts, between two sc_start, or from a SystemC process;
  /// throws InputError after sc_stop. Numbers of commands go on from one to the next, and so do
  /// regions of the same name, of which there are at most 64.
  void launch(KernelBody kernel);
  /// Called when a launched kernel has returned and its last command is done: when all of that
  /// instant has completed, in the order of PEs. It may launch or notify, not wait.
  void set_launch_done_handler(std::function<void()> handler) {
    launch_done_handler_ = std::move(handler);
  }
  /// Called at the time when an observed value is complete (CommandSink::observe): the last of the
  /// commands that were issued before and write it is done. A kernel that goes on to overwrite a
  /// part of it waits first.
  void set_observe_handler(ObserveHandler handler) { observe_handler_ = std::move(handler); }

  // For a kernel body that gets its commands from a host while it runs (HostPort).

  /// Number of the oldest command that is not done; of the next one, if all are.
  std::uint64_t first_outstanding() const {
    return outstanding_.empty() ? next_number_ : outstanding_.front()->number;
  }

  /// begin_region() of that name is not refused.
  bool takes_region(std::string_view name) const;

  /// In the kernel's thread: blocks it until host_ready().
  void await_host();
  /// A body in await_host() goes on when the instant settles.
  void host_ready();
  /// The kernel is blocked so: no lack of progress of the PE's own.
  bool waits_for_host() const { return awaits_host_; }

  /// No kernel is to run or runs, and every command is done.
  bool idle() const { return launches_.empty() && kernel_ == Kernel::none && outstanding_.empty(); }
  /// The kernel goes on by itself: it waits for no command, and not for its host.
  bool running() const { return kernel_ == Kernel::runs && !blocked_ && failure_ == nullptr; }
  /// A dispatch takes its time.
  bool dispatching() const { return busy_; }
  /// When a kernel returned or the last command so far was done, whichever came later.
  std::uint64_t last_done_ps() const { return last_done_ps_; }
  /// What the kernel threw, if it did.
  std::exception_ptr failure() const { return failure_; }
  const std::vector<Region>& regions() const { return regions_; }
  const DispatchTotals& totals() const { return totals_; }
  /// What the kernel waits for, or has thrown. `pe_name`: of this PE.
  void waits(arch::WaitGraph& graph, const std::string& pe_name) const;

  /// Registers busy, state, cmd, op and seq (of what has ended) in a user's waveform file.
  void trace(sc_core::sc_trace_file* file) const override;

 private:
  struct Observation {
    std::vector<const CommandTransaction*> writers;  // complete when all of these are done
    std::string name;
    command::TensorHandle handle;
  };

  /// Of a region, from its depth 0 to 1 until all its commands are done.
  struct Entry {
    std::uint64_t first_command;
    std::uint64_t end_ps;
    std::uint64_t open_commands;
  };
  /// What goes on in the region of the same index.
  struct OpenRegion {
    std::uint32_t depth = 0;     // a region may be opened within itself
    bool enters = false;         // the next dispatch is the first of an entry
    std::vector<Entry> entries;  // in order; the last is the present one
  };
  enum class Kernel : std::uint8_t { none, runs, returned };

  // command::CommandSink, called in the kernel's thread.
  void issue(command::Command command) override;
  void wait(const std::vector<command::ByteRange>& ranges) override;
  void begin_region(std::string_view name) override;
  void end_region(std::string_view name) override;
  void observe(std::string_view name, const command::TensorHandle& handle) override;

  tlm::tlm_sync_enum nb_transport_bw(CommandTransaction& command, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay) override;
  void settle() override;
  void run_kernels();

  void lazy_await(const CommandTransaction& command);
  /// Blocks until `command` is done; a row of the given number if that took time.
  void await(const CommandTransaction& command, std::uint64_t row_number);
  void dispatch(const CommandTransaction& command);
  void enter_regions(const CommandTransaction& command, std::uint64_t segments, std::uint64_t bytes,
                     std::uint64_t start, std::uint64_t end);
  void leave_regions(const CommandTransaction& command);
  void offer(CommandTransaction& command);
  void block();
  void show(arch::StageKind kind, std::uint64_t number, std::uint32_t op);
  void record(arch::StageKind kind, std::uint64_t ticket, std::uint64_t start,
              const CommandTransaction* command, std::uint64_t number, std::uint64_t bytes);

  PeContext& pe_;
  std::deque<KernelBody> launches_;  // not begun
  KernelBody body_;                  // of the one that runs
  Kernel kernel_ = Kernel::none;
  bool simulates_ = false;  // the thread has run
  std::function<void()> launch_done_handler_;
  sc_core::sc_event launch_event_;
  ObserveHandler observe_handler_;
  sc_core::sc_event resume_event_;
  Pool<CommandTransaction> pool_;
  std::vector<CommandTransaction*> outstanding_;  // issued and not done, in issue order
  const CommandTransaction* awaited_ = nullptr;   // what the thread blocks on
  bool blocked_ = false;                          // it does
  bool awaits_host_ = false;                      // blocked in await_host()
  bool resumable_ = false;
  std::exception_ptr failure_;
  std::uint64_t next_number_ = 0;
  std::uint64_t open_regions_ = 0;  // bit i: regions_[i]
  std::vector<Region> regions_;
  std::vector<OpenRegion> open_;
  std::vector<Observation> observations_;
  DispatchTotals totals_;
  std::uint64_t last_done_ps_ = 0;

  bool busy_ = false;  // dispatches

  // For trace(), as busy_ is.
  std::uint32_t state_ = 0;
  std::uint64_t cmd_ = 0;
  std::uint32_t op_ = 0;
  std::uint64_t seq_ = 0;
};

}  // namespace kernbench
