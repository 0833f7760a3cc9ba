// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tlm_utils/simple_initiator_socket.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <systemc>
#include <tlm>
#include <vector>

/// The data of a program file that is needed to run its first program.
struct HostProgram {
  std::string title;                 ///< what was compiled
  std::uint32_t table_entries = 0;   ///< of the handle table that it is written for
  std::vector<std::uint8_t> stream;  ///< its records; empty: it is not a program file
};

/// A CPU that runs one program on a PE: a thread that does what a driver would do, over TLM-2.0. It
/// uses only the C header of the registers and nothing else of KernBench.
class HostCpu : public sc_core::sc_module {
 public:
  tlm_utils::simple_initiator_socket<HostCpu, 32> socket{"socket"};
  sc_core::sc_in<bool> interrupt{"interrupt"};

  HostCpu(const sc_core::sc_module_name& name, HostProgram program);

  /// The program has run to its end.
  bool succeeded() const { return succeeded_; }

 private:
  void run();
  bool probe();
  /// Puts the stream into the ring and sleeps while the ring is full.
  void feed();
  /// Sleeps until one of the interrupts `bits` is pending; returns those that are.
  std::uint32_t sleep_until(std::uint32_t bits);

  std::uint32_t read(std::uint32_t offset);
  void write(std::uint32_t offset, std::uint32_t value);
  void write_ring(std::uint32_t offset, const std::uint8_t* bytes, std::uint32_t count);
  void access(tlm::tlm_command command, std::uint32_t address, std::uint8_t* data,
              std::uint32_t bytes);

  HostProgram program_;
  std::uint32_t ring_bytes_ = 0;
  unsigned sleeps_ = 0;
  sc_core::sc_time doorbell_;  // when the first one rang
  sc_core::sc_time woken_;     // by the last interrupt
  bool succeeded_ = false;
};

/// Parses the bytes of a program file (docs/program_format.md).
HostProgram first_program(const std::vector<std::uint8_t>& file);
