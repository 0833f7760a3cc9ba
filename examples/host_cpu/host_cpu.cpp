// SPDX-License-Identifier: Apache-2.0
#define SC_INCLUDE_DYNAMIC_PROCESSES  // for sc_spawn
#include "host_cpu.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "tlm_if/host_port_registers.h"

namespace {

/// Little-endian, of at most 8 bytes.
std::uint64_t number(const std::vector<std::uint8_t>& file, std::size_t offset, unsigned bytes) {
  std::uint64_t value = 0;
  for (unsigned i = 0; i < bytes && offset + i < file.size(); ++i)
    value |= std::uint64_t{file[offset + i]} << 8 * i;
  return value;
}

}  // namespace

HostCpu::HostCpu(const sc_core::sc_module_name& name, HostProgram program)
    : sc_module(name), program_(std::move(program)) {
  sc_core::sc_spawn([this] { run(); }, "run");
}

void HostCpu::run() {
  if (!probe()) return;
  write(KB_HOST_CONTROL, KB_HOST_CONTROL_RESET);
  feed();
  const std::uint32_t pending = sleep_until(KB_HOST_IRQ_DONE | KB_HOST_IRQ_ERROR);
  if ((pending & KB_HOST_IRQ_ERROR) != 0) {
    const std::uint32_t code = read(KB_HOST_ERROR_CODE);
    const std::uint32_t offset = read(KB_HOST_ERROR_OFFSET_LO);
    std::printf("%s: error %u at byte %u of the program\n", name(), unsigned(code),
                unsigned(offset));
    return;
  }
  const sc_core::sc_time time = woken_ - doorbell_;
  write(KB_HOST_IRQ_STATUS, KB_HOST_IRQ_DONE);
  const std::uint32_t programs = read(KB_HOST_PROGRAMS_DONE);
  succeeded_ = programs == 1;
  std::printf("%s: %u program done %.3f ns after its doorbell, slept %u times\n", name(),
              unsigned(programs), time / sc_core::sc_time(1, sc_core::SC_NS), sleeps_);
}

bool HostCpu::probe() {
  if (read(KB_HOST_ID) != KB_HOST_ID_VALUE || read(KB_HOST_VERSION) != KB_HOST_VERSION_VALUE) {
    std::printf("%s: no host port of version %u\n", name(), KB_HOST_VERSION_VALUE);
    return false;
  }
  ring_bytes_ = read(KB_HOST_RING_BYTES);
  std::printf("%s: ring of %u bytes, program of %u bytes\n", name(), unsigned(ring_bytes_),
              unsigned(program_.stream.size()));
  const std::uint32_t entries = read(KB_HOST_TABLE_ENTRIES);
  if (program_.table_entries > entries) {
    std::printf(
        "%s: the program is for a handle table of %u entries and the port has %u; compile it with "
        "--table-entries %u, or give the port more\n",
        name(), unsigned(program_.table_entries), unsigned(entries), unsigned(entries));
    return false;
  }
  return true;
}

// Head and tail count all bytes since reset and wrap around with their 32 bits.
void HostCpu::feed() {
  const auto size = std::uint32_t(program_.stream.size());
  for (std::uint32_t tail = 0; tail < size;) {
    const std::uint32_t is_free = ring_bytes_ - (tail - read(KB_HOST_RING_HEAD));
    const std::uint32_t at = tail % ring_bytes_;
    const std::uint32_t count = std::min({is_free, size - tail, ring_bytes_ - at});
    if (count == 0) {
      write(KB_HOST_SPACE_THRESHOLD, std::min(size - tail, ring_bytes_ / 2));
      if ((sleep_until(KB_HOST_IRQ_SPACE | KB_HOST_IRQ_ERROR) & KB_HOST_IRQ_ERROR) != 0) return;
      write(KB_HOST_IRQ_STATUS, KB_HOST_IRQ_SPACE);
      continue;
    }
    write_ring(at, &program_.stream[tail], count);
    if (tail == 0) doorbell_ = sc_core::sc_time_stamp();
    tail += count;
    write(KB_HOST_DOORBELL, tail);
  }
}

std::uint32_t HostCpu::sleep_until(std::uint32_t bits) {
  write(KB_HOST_IRQ_MASK, bits);
  for (;;) {
    woken_ = sc_core::sc_time_stamp();
    const std::uint32_t pending = read(KB_HOST_IRQ_STATUS) & bits;
    if (pending != 0) return pending;
    // The signal may have risen during the read; it falls in the delta cycle after its cause is
    // gone.
    if (interrupt.read()) {
      sc_core::wait(sc_core::SC_ZERO_TIME);
      continue;
    }
    ++sleeps_;
    sc_core::wait(interrupt.posedge_event());
  }
}

std::uint32_t HostCpu::read(std::uint32_t offset) {
  std::vector<std::uint8_t> data(4);
  access(tlm::TLM_READ_COMMAND, offset, data.data(), 4);
  return std::uint32_t(number(data, 0, 4));
}

void HostCpu::write(std::uint32_t offset, std::uint32_t value) {
  std::uint8_t data[4];
  for (unsigned i = 0; i < 4; ++i) data[i] = std::uint8_t(value >> 8 * i);
  access(tlm::TLM_WRITE_COMMAND, offset, data, 4);
}

void HostCpu::write_ring(std::uint32_t offset, const std::uint8_t* bytes, std::uint32_t count) {
  std::vector<std::uint8_t> data(bytes, bytes + count);
  access(tlm::TLM_WRITE_COMMAND, KB_HOST_RING + offset, data.data(), count);
}

void HostCpu::access(tlm::tlm_command command, std::uint32_t address, std::uint8_t* data,
                     std::uint32_t bytes) {
  tlm::tlm_generic_payload payload;
  payload.set_command(command);
  payload.set_address(address);
  payload.set_data_ptr(data);
  payload.set_data_length(bytes);
  payload.set_streaming_width(bytes);
  sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
  socket->b_transport(payload, delay);
  sc_core::wait(delay);
  if (!payload.is_response_ok()) SC_REPORT_ERROR(name(), payload.get_response_string().c_str());
}

// The streams follow the tensors, whose sizes depend on their parts.
HostProgram first_program(const std::vector<std::uint8_t>& file) {
  static const unsigned char kMagic[8] = {0x8b, 'K', 'B', 'P', '\r', '\n', 0x1a, '\n'};
  if (file.size() < 64 || std::memcmp(file.data(), kMagic, 8) != 0 || number(file, 8, 4) != 1)
    return {};
  std::size_t at = 64 + number(file, 60, 4);
  if (at > file.size()) return {};
  HostProgram program;
  program.title.assign(file.begin() + 64, file.begin() + std::ptrdiff_t(at));
  program.table_entries = std::uint32_t(number(file, 48, 4));
  for (std::uint64_t tensors = number(file, 52, 4); tensors > 0 && at < file.size(); --tensors) {
    std::uint64_t parts = number(file, at + 8, 4);
    at += 32 + number(file, at + 4, 4) + 8 * number(file, at + 3, 1);
    for (; parts > 0 && at < file.size(); --parts) at += 40 + 16 * number(file, at + 4, 4);
  }
  const std::uint64_t bytes = number(file, at + 8, 8);
  if (at + 16 > file.size() || bytes > file.size() - at - 16) return {};
  const auto begin = file.begin() + std::ptrdiff_t(at) + 16;
  program.stream.assign(begin, begin + std::ptrdiff_t(bytes));
  return program;
}
