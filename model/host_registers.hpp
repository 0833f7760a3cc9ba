// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tlm_if/command/limits.hpp"
#include "tlm_if/command/tensor_handle.hpp"
#include "tlm_if/host_port_registers.h"
#include "tlm_if/systemc.hpp"

namespace kernbench {

/// The contents of the registers ERROR_*.
struct HostError {
  std::uint32_t code = KB_HOST_ERROR_NONE;
  std::uint64_t offset = 0;  ///< of the stream since reset
  std::uint32_t info = 0;
  std::string reason;            ///< one line of text
  command::Address address = 0;  ///< in HBM, for errors of the memory
};

/// The address window of a host port (docs/host_port.md, tlm_if/host_port_registers.h): registers,
/// the bytes of the handle table and of the ring, and the pending interrupts.
class HostRegisters {
 public:
  /// The module that acts on the host's writes, within the access.
  class Client {
   public:
    virtual ~Client() = default;
    /// CONTROL: the registers have been reset.
    virtual void reset() = 0;
    /// DOORBELL.
    virtual void publish(std::uint32_t tail) = 0;
    /// SPACE_THRESHOLD.
    virtual void space_threshold_written() = 0;
    /// The value of STATUS, as KB_HOST_STATUS_*.
    virtual std::uint32_t status() const = 0;
  };

  /// `limits` are read when a host reads their registers.
  HostRegisters(Client& client, const command::Limits& limits, std::uint32_t pe_index,
                std::uint32_t ring_bytes, std::uint32_t table_entries);

  // The host's side.
  /// Moves the bytes of a payload. The access is checked completely before anything changes.
  tlm::tlm_response_status access(const tlm::tlm_generic_payload& payload);
  /// Moves the bytes of a debug access, up to the first byte that does not exist or may not be
  /// written, and returns their number. Only the ring may be written.
  std::uint64_t debug_access(tlm::tlm_generic_payload& payload);

  // The port's side.
  void reset();
  /// Halts the port.
  void halt(const HostError& error);
  void raise(std::uint32_t interrupts) { irq_status_ |= interrupts; }
  /// Raises the interrupt SPACE once each time the free bytes reach the threshold, or the threshold
  /// is written.
  void raise_space();
  void count_program();
  /// Publishes the next `count` bytes of the ring, and returns them.
  std::vector<std::uint8_t> take_from_ring(std::uint32_t count);
  void set_head(std::uint64_t head) { head_ = head; }
  void set_table_entry(std::uint32_t index, const std::uint8_t* bytes);

  bool halted() const { return error_.code != KB_HOST_ERROR_NONE; }
  bool interrupt_pending() const { return (irq_status_ & irq_mask_) != 0; }
  const HostError& error() const { return error_; }
  /// Bytes since reset, like the next.
  std::uint64_t published() const { return published_; }
  std::uint64_t head() const { return head_; }
  std::uint64_t free_bytes() const { return ring_.size() - (published_ - head_); }

 private:
  struct Register;
  struct Permission {
    bool read;
    bool write;
  };

  static const Register* find_register(std::uint64_t address);
  tlm::tlm_response_status access_ring(const tlm::tlm_generic_payload& payload);
  tlm::tlm_response_status access_words(const tlm::tlm_generic_payload& payload);
  bool is_in_ring(std::uint64_t address, std::uint64_t length) const;
  bool is_in_table(std::uint64_t address) const;
  /// The permission of the register or table word at `address`; none if there is no such word.
  std::optional<Permission> permission(std::uint64_t address) const;
  std::uint32_t read_word(std::uint64_t address) const;
  std::uint32_t read_table(std::uint64_t address) const;
  std::uint32_t capabilities() const;
  void write_control(std::uint32_t value);
  void write_space_threshold(std::uint32_t value);

  Client& client_;
  const command::Limits& limits_;
  const std::uint32_t pe_index_;
  const std::uint32_t table_entries_;
  std::vector<std::uint8_t> ring_;
  std::vector<std::uint8_t> table_;  // bytes of the entries, without the gaps of the window
  std::uint64_t published_ = 0;
  std::uint64_t head_ = 0;
  std::uint32_t irq_status_ = 0;
  std::uint32_t irq_mask_ = 0;
  std::uint32_t space_threshold_ = 0;
  bool space_armed_ = false;
  std::uint32_t programs_done_ = 0;
  HostError error_;
};

}  // namespace kernbench
