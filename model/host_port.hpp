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

#include "model/pe.hpp"
#include "tlm_if/command/encoding.hpp"
#include "tlm_if/command/limits.hpp"
#include "tlm_if/host_port_registers.h"

namespace kernbench {

struct HostPortConfig {
  std::uint32_t ring_bytes = 65536;  ///< a power of two, 128 to 16 MiB
  std::uint32_t table_entries =
      command::kDefaultHandleTableEntries;  ///< 1 to kMaxHandleTableEntries
  /// That b_transport annotates to an access, whatever it is; at most a second.
  arch::Rational access_ns{0};
};

/// What a CPU model runs the kernels of a PE with: registers, a command ring, a handle table and an
/// interrupt (docs/host_port.md, tlm_if/host_port_registers.h). The records in the ring are those
/// of tlm_if/command/encoding.hpp. To be created after its Pe, for a PE that nobody else launches
/// kernels on: it sets the handlers of PeCpu::set_launch_done_handler and Pe::set_fault_handler.
///
/// Timing: each program is a launch of PE_CPU, launch_ns included, at the doorbell that publishes
/// its first byte, or when the program before it is done. Decoding takes no time: dispatch costs
/// what the bytes of a command cost (R3.8), so that a program whose records are there in time runs
/// as its live kernel does. What happens at an instant is seen in registers when it has settled.
/// Not modelled: arbitration of accesses, the time to read the ring.
///
/// A host that polls in a loop in which no time passes is the report
/// `/kernbench/host_port/polling`: the PE's turn never comes.
class HostPort : public sc_core::sc_module, private Settling {
 public:
  /// Base protocol: b_transport, nb_transport by the adapter of the socket, debug; DMI is denied.
  tlm_utils::simple_target_socket<HostPort, 32> host{"host"};
  /// Level: an interrupt is pending whose mask bit is set. May stay unbound; who binds it does so
  /// before elaboration.
  sc_core::sc_out<bool> interrupt{"interrupt"};

  /// Throws InputError for a configuration that is out of range. `pe` outlives the simulation.
  HostPort(const sc_core::sc_module_name& name, Pe& pe, const HostPortConfig& config = {});

  const HostPortConfig& config() const { return config_; }
  /// Of the error that ERROR_CODE tells of: one line for a reader; empty: there is none.
  const std::string& error_reason() const { return error_.reason; }

 private:
  enum class Access : std::uint8_t { read_only, write_only, read_write };
  struct Error {
    std::uint32_t code = KB_HOST_ERROR_NONE;
    std::uint64_t offset = 0;  // of the stream since reset
    std::uint32_t info = 0;
    std::string reason;
    command::Address address = 0;  // in HBM, of the memory's
  };
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
  tlm::tlm_response_status access(const tlm::tlm_generic_payload& payload);
  tlm::tlm_response_status access_ring(const tlm::tlm_generic_payload& payload);
  tlm::tlm_response_status access_words(const tlm::tlm_generic_payload& payload);

  bool is_in_ring(std::uint64_t address, std::uint64_t length) const;
  /// Of the register or table word at `address`; none: there is nothing.
  std::optional<Access> word_access(std::uint64_t address) const;
  std::uint32_t read_word(std::uint64_t address) const;
  std::uint32_t read_register(std::uint64_t offset) const;
  void write_register(std::uint64_t offset, std::uint32_t value);
  std::uint32_t status() const;
  void reset();
  void publish(std::uint32_t tail);
  std::uint64_t free_bytes() const { return config_.ring_bytes - (published_ - head_); }
  bool halted() const { return error_.code != KB_HOST_ERROR_NONE; }

  // The PE's side: in the kernel's thread.
  void run_program(command::CommandSink& sink);
  /// The next record has as many bytes, as far as the stream tells.
  std::size_t next_record_bytes() const;
  void take_record(command::CommandSink& sink, std::size_t size);
  /// What takes no time of a step. Throws InputError, and changes nothing, if it is refused.
  void accept(const command::ProgramStep& step, command::CommandSink& sink);
  /// The rest of it.
  void perform(command::ProgramStep& step, command::CommandSink& sink);
  void fail(std::uint32_t code, std::size_t offset, std::string reason);
  bool take_fault(const PeFault& fault);

  void before_end_of_elaboration() override;
  void end_of_elaboration() override;
  void settle() override;
  void launch_done();
  void raise_space();
  void update_interrupt();
  void drive_interrupt();

  PeCpu& cpu_;
  const PeIpcq& ipcq_;
  const HostPortConfig config_;
  command::Limits limits_;
  const std::uint32_t pe_index_;
  sc_core::sc_time access_time_;
  sc_core::sc_event interrupt_event_;
  std::unique_ptr<sc_core::sc_signal<bool>> unbound_;  // bound where nobody else has

  // What the host sees and writes.
  std::vector<std::uint8_t> ring_;
  std::vector<std::uint8_t> table_;  // bytes of the entries, without the gaps of the window
  std::uint64_t published_ = 0;      // bytes since reset, as head_
  std::uint64_t head_ = 0;
  std::uint32_t irq_status_ = 0;
  std::uint32_t irq_mask_ = 0;
  std::uint32_t space_threshold_ = 0;
  bool space_armed_ = false;
  std::uint32_t programs_done_ = 0;
  Error error_;
  bool level_ = false;  // of the interrupt
  sc_core::sc_time poll_time_;
  std::uint32_t polls_ = 0;  // at that time, without anything else

  // Since the last settle().
  std::vector<std::uint8_t> incoming_;  // published
  bool reset_pending_ = false;

  // Changed when an instant settles.
  bool launched_ = false;  // a program, whose launch is not over
  bool cut_ = false;       // and it was, by reset
  bool stop_ = false;      // no further record is to be consumed
  bool waiting_ = false;
  std::optional<Error> pe_fault_;  // the first one since reset

  // The kernel's thread's.
  command::Decoder decoder_;
  std::vector<std::uint8_t> stream_;  // published and, from position_ on, not consumed
  std::size_t position_ = 0;
  std::uint64_t consumed_ = 0;  // bytes since reset
  std::vector<std::pair<std::uint32_t, std::array<std::uint8_t, command::kHandleEntryBytes>>>
      new_entries_;            // of the table, not yet visible
  std::deque<Issued> issued_;  // those outstanding, and some before them
  Error fault_;                // not yet visible
  std::vector<std::string> open_regions_;
  bool ended_ = false;     // the end of the program was consumed
  bool returned_ = false;  // the body
};

}  // namespace kernbench
