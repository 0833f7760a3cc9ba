// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tlm_utils/simple_target_socket.h>

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/host_registers.hpp"
#include "model/pe.hpp"
#include "tlm_if/command/decoder.hpp"
#include "tlm_if/command/limits.hpp"
#include "tlm_if/host_port_registers.h"

namespace kernbench {

struct HostPortConfig {
  std::uint32_t ring_bytes = 65536;  ///< a power of two, 128 to 16 MiB
  std::uint32_t table_entries =
      command::kDefaultHandleTableEntries;  ///< 1 to kMaxHandleTableEntries
  /// The delay that b_transport annotates to every access; at most one second.
  arch::Rational access_ns{0};
};

/// Lets a CPU model run kernels on a PE: registers, a command ring, a handle table and an interrupt
/// (docs/host_port.md, tlm_if/host_port_registers.h). The records in the ring are those of
/// tlm_if/command/encoding.hpp. Create it after its Pe. Nothing else may launch kernels on that PE,
/// since the host port sets the handlers of PeCpu::set_launch_done_handler and
/// Pe::set_fault_handler.
///
/// Timing: each program is a launch of PE_CPU, including launch_ns. It begins at the doorbell that
/// publishes its first byte, or when the previous program is done. Decoding takes no time: the
/// dispatch cost depends on the bytes of a command (R3.8), so a program whose records arrive in
/// time has the times of its live kernel. Registers show the results of an instant when it has
/// settled. Not modelled: arbitration of accesses, the time to read the ring.
///
/// A host that polls in a loop without consuming time is reported as
/// `/kernbench/host_port/polling`, because the PE would never run.
class HostPort : public sc_core::sc_module, private Settling, private HostRegisters::Client {
 public:
  /// Base protocol: b_transport, nb_transport by the adapter of the socket, debug; DMI is denied.
  tlm_utils::simple_target_socket<HostPort, 32> host{"host"};
  /// A level: high while an interrupt is pending whose mask bit is set. It may stay unbound;
  /// otherwise bind it before elaboration.
  sc_core::sc_out<bool> interrupt{"interrupt"};

  /// Throws InputError for a configuration that is out of range. `pe` must outlive the simulation.
  HostPort(const sc_core::sc_module_name& name, Pe& pe, const HostPortConfig& config = {});

  const HostPortConfig& config() const { return config_; }
  /// One line of text about the error in ERROR_CODE; empty if there is no error.
  const std::string& error_reason() const { return registers_.error().reason; }

 private:
  /// The record of a command that was issued.
  struct Issued {
    std::uint64_t command;
    std::uint64_t offset;  // of the stream since reset
    std::uint32_t framing;
  };

  // The host's side, within its calls.
  void b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  void watch_polling(const tlm::tlm_generic_payload& payload);
  unsigned int transport_dbg(tlm::tlm_generic_payload& payload);
  bool get_direct_mem_ptr(tlm::tlm_generic_payload& payload, tlm::tlm_dmi& dmi);

  // HostRegisters::Client
  void reset() override;
  void publish(std::uint32_t tail) override;
  void space_threshold_written() override { touch(); }
  std::uint32_t status() const override;

  // The PE's side: in the kernel's thread.
  void run_program(command::CommandSink& sink);
  /// Size of the next record, as far as the stream shows it.
  std::size_t next_record_bytes() const;
  void take_record(command::CommandSink& sink, std::size_t size);
  /// Does the part of a step that takes no time. If the step is refused, throws InputError and
  /// changes nothing.
  void accept(const command::ProgramStep& step, command::CommandSink& sink);
  /// Does the rest of the step.
  void perform(command::ProgramStep& step, command::CommandSink& sink);
  void fail(std::uint32_t code, std::size_t offset, std::string reason);
  bool take_fault(const PeFault& fault);

  void before_end_of_elaboration() override;
  void end_of_elaboration() override;
  void settle() override;
  void launch_done();
  void update_interrupt();
  void drive_interrupt();

  PeCpu& cpu_;
  const PeIpcq& ipcq_;
  const HostPortConfig config_;
  command::Limits limits_;
  HostRegisters registers_;
  sc_core::sc_time access_time_;
  sc_core::sc_event interrupt_event_;
  std::unique_ptr<sc_core::sc_signal<bool>> unbound_;  // bound if nothing else is
  bool level_ = false;                                 // of the interrupt
  sc_core::sc_time poll_time_;
  std::uint32_t polls_ = 0;  // at that time, without anything else

  // Since the last settle().
  std::vector<std::uint8_t> incoming_;  // published
  bool reset_pending_ = false;

  // Changed when an instant settles.
  bool launched_ = false;  // a program has been launched and has not ended
  bool cut_ = false;       // and reset has cut it
  bool stop_ = false;      // no further record may be consumed
  bool waiting_ = false;
  std::optional<HostError> pe_fault_;  // the first one since reset

  // State of the kernel's thread.
  command::Decoder decoder_;
  std::vector<std::uint8_t> stream_;  // published; not consumed from position_ on
  std::size_t position_ = 0;
  std::uint64_t consumed_ = 0;  // bytes since reset
  std::vector<std::pair<std::uint32_t, std::array<std::uint8_t, command::kHandleEntryBytes>>>
      new_entries_;            // of the table, not yet visible
  std::deque<Issued> issued_;  // outstanding commands, and some before them
  HostError fault_;            // not yet visible
  std::vector<std::string> open_regions_;
  bool ended_ = false;     // the end of the program has been consumed
  bool returned_ = false;  // the body has returned
};

}  // namespace kernbench
