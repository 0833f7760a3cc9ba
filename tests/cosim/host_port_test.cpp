// SPDX-License-Identifier: Apache-2.0
// The host port as its page tells a hardware programmer: registers, accesses, interrupt, ring,
// errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "tests/cosim/host_bench.hpp"
#include "tests/model/raw_commands.hpp"
#include "tests/support/ipcq_bench.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tlm_if/command/error.hpp"
#include "tlm_if/command/little_endian.hpp"

extern "C" {
// In a source of C99: what the compiler of a driver sees of the header.
unsigned host_port_id(void);
unsigned host_port_irq_bits(void);
}

namespace kernbench::test {
namespace {

using command::CommandSink;
using command::RecordKind;
using sc_core::SC_NS;
using testing::ElementsAreArray;
using testing::HasSubstr;

constexpr auto kRead = tlm::TLM_READ_COMMAND;
constexpr auto kWrite = tlm::TLM_WRITE_COMMAND;

struct Register {
  std::uint32_t offset;
  std::string name;
  std::string access;
  std::uint32_t reset;
};

// The table of docs/host_port.md.
std::vector<Register> documented_registers() {
  std::istringstream page(read_file(std::string(KERNBENCH_SOURCE_DIR) + "/docs/host_port.md"));
  const std::regex row(
      R"(\| 0x([0-9a-f]{3}) \| ([A-Z_0-9]+) \| (RO|RW|WO|W1C) \|( 0x([0-9a-f]{8}))? \| .*)");
  std::vector<Register> registers;
  for (std::string line; std::getline(page, line);) {
    std::smatch match;
    if (!std::regex_match(line, match, row)) continue;
    const std::string reset = match[5].matched ? match[5].str() : "0";
    registers.push_back({static_cast<std::uint32_t>(std::stoul(match[1], nullptr, 16)), match[2],
                         match[3], static_cast<std::uint32_t>(std::stoul(reset, nullptr, 16))});
  }
  return registers;
}

// Page and C header name the same registers at the same offsets, and the same errors.
TEST(HostPortHeader, IsWhatThePageSays) {
  const std::string header =
      read_file(std::string(KERNBENCH_SOURCE_DIR) + "/tlm_if/host_port_registers.h");
  std::map<std::string, std::uint32_t> in_header, in_page;
  const std::regex define(R"(#define KB_HOST_(\w+) 0x([0-9a-f]{3})u\b)");
  for (std::sregex_iterator match(header.begin(), header.end(), define), end; match != end;
       ++match) {
    in_header[(*match)[1]] = static_cast<std::uint32_t>(std::stoul((*match)[2], nullptr, 16));
  }
  for (const Register& reg : documented_registers()) in_page[reg.name] = reg.offset;
  EXPECT_EQ(in_page.size(), 29u);
  EXPECT_THAT(in_header, ElementsAreArray(in_page));

  const std::string page = read_file(std::string(KERNBENCH_SOURCE_DIR) + "/docs/host_port.md");
  const std::regex error(R"(#define KB_HOST_ERROR_(\w+) (\d+)u)");
  std::size_t errors = 0;
  for (std::sregex_iterator match(header.begin(), header.end(), error), end; match != end;
       ++match) {
    if ((*match)[1] == "NONE") continue;
    ++errors;
    EXPECT_THAT(page, HasSubstr("| " + (*match)[2].str() + " | " + (*match)[1].str() + " |"));
  }
  EXPECT_EQ(errors, 16u);
}

TEST(HostPortHeader, CompilesAsC) {
  EXPECT_EQ(host_port_id(), KB_HOST_ID_VALUE);
  EXPECT_EQ(host_port_irq_bits(), KB_HOST_IRQ_ALL);
}

std::map<std::string, std::uint32_t> by_name(HostCpu& host) {
  std::map<std::string, std::uint32_t> values;
  for (const Register& reg : documented_registers()) {
    if (reg.access != "WO") values[reg.name] = host.read(reg.offset);
  }
  return values;
}

TEST(HostPortRegisters, HaveTheirResetValueAndKindOfAccess) {
  HostBench bench(single_pe(), [](HostCpu& host) {
    std::uint8_t ones[4] = {0xff, 0xff, 0xff, 0xff};
    const auto registers = documented_registers();
    for (const Register& reg : registers) {
      SCOPED_TRACE(reg.name);
      const bool is_wo = reg.access == "WO", is_ro = reg.access == "RO";
      std::uint8_t data[4] = {0x55, 0x55, 0x55, 0x55};
      EXPECT_EQ(host.access(kRead, reg.offset, data, 4),
                is_wo ? tlm::TLM_COMMAND_ERROR_RESPONSE : tlm::TLM_OK_RESPONSE);
      EXPECT_EQ(command::LittleEndianReader(data, 4).get<std::uint32_t>(),
                is_wo ? 0x55555555 : reg.reset);
      EXPECT_EQ(host.debug(kRead, reg.offset, data, 4), 4u);
      EXPECT_EQ(command::LittleEndianReader(data, 4).get<std::uint32_t>(), reg.reset);
      if (is_ro) {
        EXPECT_EQ(host.access(kWrite, reg.offset, ones, 4), tlm::TLM_COMMAND_ERROR_RESPONSE);
        EXPECT_EQ(host.read(reg.offset), reg.reset);
      }
    }
    // What can be written: all bits of all bits.
    host.write(KB_HOST_IRQ_MASK, 0xffffffff);
    EXPECT_EQ(host.read(KB_HOST_IRQ_MASK), 7u);
    host.write(KB_HOST_SPACE_THRESHOLD, 0xffffffff);
    EXPECT_EQ(host.read(KB_HOST_SPACE_THRESHOLD), 65536u);
    host.write(KB_HOST_SPACE_THRESHOLD, 100);
    EXPECT_EQ(host.read(KB_HOST_SPACE_THRESHOLD), 100u);
    sc_core::wait(1, SC_NS);
    EXPECT_EQ(host.read(KB_HOST_IRQ_STATUS), KB_HOST_IRQ_SPACE);
    host.write(KB_HOST_IRQ_STATUS, 0);
    EXPECT_EQ(host.read(KB_HOST_IRQ_STATUS), KB_HOST_IRQ_SPACE);
    host.write(KB_HOST_IRQ_STATUS, 0xffffffff);
    EXPECT_EQ(host.read(KB_HOST_IRQ_STATUS), 0u);
    host.write(KB_HOST_DOORBELL, 0xffffffff);
    EXPECT_EQ(host.read(KB_HOST_ERROR_CODE), KB_HOST_ERROR_DOORBELL);
    host.write(KB_HOST_CONTROL, 0xfffffffe);  // not the bit RESET
    EXPECT_EQ(host.read(KB_HOST_ERROR_CODE), KB_HOST_ERROR_DOORBELL);
    host.reset();
    for (const auto& [name, value] : by_name(host)) {
      const auto reg = std::find_if(registers.begin(), registers.end(),
                                    [&name = name](const Register& r) { return r.name == name; });
      EXPECT_EQ(value, reg->reset) << name;
    }
  });
  bench.run();
}

// Of a PE with other keys, in a machine.
TEST(HostPortRegisters, TellOfThePe) {
  arch::TopologyConfig topology = single_pe();
  topology.sips = 5;
  topology.cubes_per_sip = 60;
  topology.pe.ipcq.channels = 7;
  topology.pe.scheduler.math_head_from_hbm = true;
  topology.hbm.bytes = 0x3'0000'1000;
  topology.pe.tcm.scratch_bytes = 0x10000;
  HostBench::Options options;
  options.index = 5;
  options.connected = true;
  options.port = {1u << 24, 65536, arch::Rational(0)};
  HostBench bench(
      topology,
      [](HostCpu& host) {
        auto values = by_name(host);
        EXPECT_EQ(values["CAPABILITIES"], 15u);
        EXPECT_EQ(values["PE_INDEX"], 5u);
        EXPECT_EQ(values["PES"], 300u);
        EXPECT_EQ(values["IPCQ_CHANNELS"], 7u);
        EXPECT_EQ(values["RING_BYTES"], 1u << 24);
        EXPECT_EQ(values["TABLE_ENTRIES"], 65536u);
        EXPECT_EQ(host.read64(KB_HOST_HBM_BYTES_LO), 0x3'0000'1000u);
        EXPECT_EQ(host.read64(KB_HOST_SCRATCH_BASE_LO), command::kTcmBase);
        EXPECT_EQ(host.read64(KB_HOST_SCRATCH_BYTES_LO), 0x10000u);
        std::uint8_t byte = 1;
        EXPECT_EQ(host.access(kWrite, KB_HOST_WINDOW_BYTES - 1, &byte, 1), tlm::TLM_OK_RESPONSE);
      },
      options);
  bench.run();
}

TEST(HostPortConfig, IsCheckedByValue) {
  Pe pe("pe", single_pe().pe, 0);
  const auto refusal = [&](const HostPortConfig& config) -> std::string {
    try {
      HostPort port("port", pe, config);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  for (const std::uint32_t ring : {0u, 64u, 100u, 65537u, 1u << 25}) {
    EXPECT_EQ(refusal({ring, 16, arch::Rational(0)}),
              "port: ring_bytes is " + std::to_string(ring) +
                  "; it must be a power of two in [128, 16777216]");
  }
  for (const std::uint32_t entries : {0u, 65537u}) {
    EXPECT_EQ(refusal({128, entries, arch::Rational(0)}),
              "port: table_entries is " + std::to_string(entries) + "; it must be in [1, 65536]");
  }
  // -1 is 2^64 - 1 for a fraction without a sign.
  for (const std::uint64_t ns : {std::uint64_t{1'000'000'001}, ~std::uint64_t{0}}) {
    EXPECT_EQ(refusal({128, 16, arch::Rational(ns)}),
              "port: access_ns is " + std::to_string(ns) + "; it must be in [0, 1000000000]");
  }
}

struct AccessCase {
  const char* name;
  tlm::tlm_command command;
  std::uint64_t address;
  std::uint32_t length;
  tlm::tlm_response_status expected;
  std::uint32_t streaming_width = ~0u;
  bool byte_enables = false;
};

constexpr std::uint64_t kTableEnd = KB_HOST_TABLE + 16 * 128;
constexpr std::uint64_t kRingEnd = KB_HOST_RING + 256;
constexpr auto kBurst = tlm::TLM_BURST_ERROR_RESPONSE;
constexpr auto kAddress = tlm::TLM_ADDRESS_ERROR_RESPONSE;
constexpr auto kCommand = tlm::TLM_COMMAND_ERROR_RESPONSE;
constexpr auto kEnables = tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE;

const AccessCase kRefused[] = {
    {"byte enables on a register", kWrite, KB_HOST_IRQ_MASK, 4, kEnables, 4, true},
    {"byte enables on the ring", kWrite, KB_HOST_RING, 16, kEnables, 16, true},
    {"byte enables on nothing", kRead, 0x200, 4, kEnables, 4, true},
    {"streaming on a register", kWrite, KB_HOST_IRQ_MASK, 4, kBurst, 2},
    {"streaming on the ring", kWrite, KB_HOST_RING, 16, kBurst, 4},
    {"streaming width 0", kWrite, KB_HOST_RING, 16, kBurst, 0},
    {"no bytes", kWrite, KB_HOST_RING, 0, kBurst},
    {"one byte of a register", kRead, KB_HOST_STATUS, 1, kBurst},
    {"two bytes of a register", kWrite, KB_HOST_IRQ_MASK, 2, kBurst},
    {"12 bytes of registers", kRead, KB_HOST_ID, 12, kBurst},
    {"16 bytes of the table", kRead, KB_HOST_TABLE, 16, kBurst},
    {"a misaligned register", kRead, KB_HOST_STATUS + 2, 4, kBurst},
    {"a misaligned pair", kRead, KB_HOST_STATUS, 8, kBurst},
    {"a misaligned pair of the table", kRead, KB_HOST_TABLE + 4, 8, kBurst},
    {"between the registers", kRead, 0x38, 4, kAddress},
    {"behind the registers", kWrite, 0x80, 4, kAddress},
    {"a pair with nothing in its upper half", kRead, KB_HOST_ERROR_INFO, 8, kAddress},
    {"misaligned where nothing is", kRead, 0x201, 3, kAddress},
    {"before the table", kRead, KB_HOST_TABLE - 4, 4, kAddress},
    {"behind the table", kRead, kTableEnd, 4, kAddress},
    {"across the end of the table", kRead, kTableEnd - 4, 8, kAddress},
    {"before the ring", kWrite, KB_HOST_RING - 1, 1, kAddress},
    {"across the begin of the ring", kWrite, KB_HOST_RING - 1, 2, kAddress},
    {"across the end of the ring", kWrite, kRingEnd - 3, 4, kAddress},
    {"behind the ring", kWrite, kRingEnd, 1, kAddress},
    {"more than the ring", kRead, KB_HOST_RING, 257, kAddress},
    {"beyond the window", kRead, KB_HOST_WINDOW_BYTES, 4, kAddress},
    {"the last word of all", kRead, ~std::uint64_t{3}, 4, kAddress},
    {"wrapping around 2^64", kRead, ~std::uint64_t{3}, 8, kAddress},
    {"a write to RO", kWrite, KB_HOST_ID, 4, kCommand},
    {"a write to the table", kWrite, KB_HOST_TABLE, 4, kCommand},
    {"a read of WO", kRead, KB_HOST_DOORBELL, 4, kCommand},
    {"a write to WO and RO", kWrite, KB_HOST_CONTROL, 8, kCommand},
    {"a read of WO and RW", kRead, KB_HOST_DOORBELL, 8, kCommand},
};

// All that debug accesses show.
Bytes contents(HostCpu& host) {
  Bytes all;
  for (const std::uint64_t begin : {0x0u, 0x40u, 0x78u, KB_HOST_TABLE, KB_HOST_RING}) {
    Bytes bytes(4096);
    bytes.resize(host.debug(kRead, begin, bytes.data(), 4096));
    all.insert(all.end(), bytes.begin(), bytes.end());
  }
  return all;
}

/// Past the protocol monitor, which is right to complain of some of them.
tlm::tlm_response_status access_unmonitored(HostPort& port, tlm::tlm_generic_payload& payload) {
  auto* const target =
      dynamic_cast<tlm::tlm_fw_transport_if<>*>(port.host.get_base_export().get_interface());
  sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
  target->b_transport(payload, delay);
  return payload.get_response_status();
}

// Bytes of all ones, as data of a write, would change everything that they reach.
TEST(HostPortAccesses, ThatAreNoneAreRefusedAndChangeNothing) {
  HostBench::Options options;
  options.port = {256, 16, arch::Rational(0)};
  std::unique_ptr<HostBench> bench;
  bench = std::make_unique<HostBench>(
      single_pe(),
      [&](HostCpu& host) {
        const Bytes before = contents(host);
        ASSERT_EQ(before.size(), 0x38u + 0x34 + 8 + 16 * 128 + 256);
        std::uint8_t enables[16] = {0xff, 0, 0xff};
        for (const AccessCase& refused : kRefused) {
          Bytes data(std::max(refused.length, 1u), 0xff);
          tlm::tlm_generic_payload payload;
          payload.set_command(refused.command);
          payload.set_address(refused.address);
          payload.set_data_ptr(data.data());
          payload.set_data_length(refused.length);
          payload.set_streaming_width(refused.streaming_width);
          if (refused.byte_enables) {
            payload.set_byte_enable_ptr(enables);
            payload.set_byte_enable_length(sizeof enables);
          }
          EXPECT_EQ(access_unmonitored(bench->port(), payload), refused.expected) << refused.name;
          EXPECT_EQ(data, Bytes(data.size(), 0xff)) << refused.name;
          EXPECT_EQ(contents(host), before) << refused.name;
        }
        sc_core::wait(1, SC_NS);
        EXPECT_EQ(contents(host), before);
      },
      options);
  bench->run();
}

// Field case 15: what a memory's user may do, too.
TEST(HostPortAccesses, ToTheRingAreOfAnySize) {
  HostBench::Options options;
  options.port.ring_bytes = 256;
  std::unique_ptr<HostBench> bench;
  bench = std::make_unique<HostBench>(
      single_pe(),
      [&](HostCpu& host) {
        Bytes ring(256);
        for (std::size_t i = 0; i < 256; ++i) ring[i] = static_cast<std::uint8_t>(i * 7 + 1);
        for (std::uint32_t at = 0, size = 1; at < 256; at += size, size = size % 31 + 1) {
          size = std::min(size, 256 - at);
          EXPECT_EQ(host.access(kWrite, KB_HOST_RING + at, ring.data() + at, size),
                    tlm::TLM_OK_RESPONSE);
        }
        for (std::uint32_t at = 0; at < 256; at += 5) {
          const std::uint32_t size = std::min(77u, 256 - at);
          Bytes bytes(size);
          EXPECT_EQ(host.access(kRead, KB_HOST_RING + at, bytes.data(), size),
                    tlm::TLM_OK_RESPONSE);
          EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), ring.begin() + at));
        }
        // A command that is neither: nothing moves.
        Bytes data(4, 9);
        tlm::tlm_generic_payload payload;
        payload.set_data_ptr(data.data());
        payload.set_data_length(4);
        payload.set_streaming_width(4);
        for (const std::uint32_t address : {KB_HOST_RING, KB_HOST_IRQ_MASK}) {
          payload.set_address(address);
          EXPECT_EQ(access_unmonitored(bench->port(), payload), tlm::TLM_OK_RESPONSE);
        }
        EXPECT_EQ(data, Bytes(4, 9));
        EXPECT_EQ(host.read(KB_HOST_IRQ_MASK), 0u);
      },
      options);
  bench->run();
}

// Field cases 16 and 17. `contents` has shown that reads have no side effects; times are 0.
TEST(HostPortAccesses, DebugAndDmi) {
  HostBench::Options options;
  options.port = {256, 16, arch::Rational(10)};
  std::unique_ptr<HostBench> bench;
  bench = std::make_unique<HostBench>(
      single_pe(),
      [&](HostCpu& host) {
        Bytes data(1000, 0xaa);
        EXPECT_EQ(host.debug(kWrite, KB_HOST_IRQ_MASK, data.data(), 4), 0u);
        EXPECT_EQ(host.debug(kWrite, KB_HOST_RING - 4, data.data(), 8), 0u);
        EXPECT_EQ(host.debug(kWrite, kRingEnd - 3, data.data(), 8), 3u);
        EXPECT_EQ(host.debug(kWrite, kRingEnd, data.data(), 8), 0u);
        EXPECT_EQ(host.debug(kRead, kRingEnd - 4, data.data(), 8), 4u);
        EXPECT_EQ(Bytes(data.begin(), data.begin() + 4), (Bytes{0, 0xaa, 0xaa, 0xaa}));
        EXPECT_EQ(host.debug(kRead, 2, data.data(), 3), 3u);  // misaligned, across two registers
        EXPECT_EQ(Bytes(data.begin(), data.begin() + 3), (Bytes{0x50, 0x45, 0x01}));
        EXPECT_EQ(host.debug(kRead, 0x39, data.data(), 4), 0u);
        EXPECT_EQ(host.debug(kRead, ~std::uint64_t{0}, data.data(), 4), 0u);
        EXPECT_EQ(host.debug(tlm::TLM_IGNORE_COMMAND, KB_HOST_RING, data.data(), 4), 0u);
        for (const std::uint64_t address :
             {std::uint64_t{0}, std::uint64_t{KB_HOST_RING}, kRingEnd - 1, ~std::uint64_t{0}}) {
          tlm::tlm_generic_payload payload;
          payload.set_address(address);
          tlm::tlm_dmi dmi;
          EXPECT_FALSE(host.socket->get_direct_mem_ptr(payload, dmi));
          EXPECT_TRUE(dmi.is_none_allowed());
          EXPECT_EQ(dmi.get_start_address(), 0u);
          EXPECT_EQ(dmi.get_end_address(), ~std::uint64_t{0});
        }
        EXPECT_EQ(sc_core::sc_time_stamp(), sc_core::SC_ZERO_TIME);
        host.read(KB_HOST_ID);  // access_ns
        EXPECT_EQ(sc_core::sc_time_stamp(), sc_core::sc_time(10, SC_NS));
      },
      options);
  bench->run();
}

/// One MATH command of `time` ns on unit_pe; dispatch takes 10 ns.
Bytes work(command::Index time) {
  return records_of(
      [time](CommandSink& sink) { sink.issue(command::MathCmd{fill(ns_of_math(0, time))}); });
}

// Field case 18: an access takes effect when the delay that comes with it has passed, which counts
// once, and goes on with the port's own.
TEST(HostPortAccesses, AnAnnotatedDelayCountsOnce) {
  HostBench::Options options;
  options.port.access_ns = arch::Rational(7);
  std::unique_ptr<HostBench> bench;
  bench = std::make_unique<HostBench>(
      unit_pe(),
      [&](HostCpu& host) {
        Bytes records = work(5);
        EXPECT_EQ(host.debug(kWrite, KB_HOST_RING, records.data(), 109), 109u);
        Bytes tail{109, 0, 0, 0};
        tlm::tlm_generic_payload payload;
        payload.set_write();
        payload.set_address(KB_HOST_DOORBELL);
        payload.set_data_ptr(tail.data());
        payload.set_data_length(4);
        payload.set_streaming_width(4);
        sc_core::sc_time delay(100, SC_NS);
        host.socket->b_transport(payload, delay);
        EXPECT_EQ(sc_core::sc_time_stamp() + delay, sc_core::sc_time(107, SC_NS));
        sc_core::wait(delay);
        host.await(KB_HOST_IRQ_DONE);
      },
      options);
  const HostBench::Result result = bench->run();
  EXPECT_EQ(result.rows.at(0).start, 100'000u);
}

TEST(HostPortInterrupt, IsALevelThatChangesInTheNextDelta) {
  HostBench bench(unit_pe(), [](HostCpu& host) {
    const auto level_after_delta = [&] {
      sc_core::wait(sc_core::SC_ZERO_TIME);
      return host.interrupt.read();
    };
    host.publish(work(5));
    sc_core::wait(100, SC_NS);
    EXPECT_EQ(host.read(KB_HOST_IRQ_STATUS), KB_HOST_IRQ_DONE);
    EXPECT_FALSE(host.interrupt.read());  // masked
    host.write(KB_HOST_IRQ_MASK, KB_HOST_IRQ_ERROR | KB_HOST_IRQ_SPACE);
    EXPECT_FALSE(level_after_delta());
    host.write(KB_HOST_IRQ_MASK, KB_HOST_IRQ_DONE);
    EXPECT_FALSE(host.interrupt.read());  // not yet
    EXPECT_TRUE(level_after_delta());
    host.write(KB_HOST_IRQ_MASK, 0);
    EXPECT_FALSE(level_after_delta());
    host.write(KB_HOST_IRQ_MASK, KB_HOST_IRQ_DONE);
    EXPECT_TRUE(level_after_delta());
    host.write(KB_HOST_IRQ_STATUS, KB_HOST_IRQ_ERROR);  // another bit
    EXPECT_TRUE(level_after_delta());
    host.write(KB_HOST_IRQ_STATUS, KB_HOST_IRQ_DONE);
    EXPECT_FALSE(level_after_delta());
    // One for each program, at its end.
    host.publish(work(5));
    sc_core::wait(host.interrupt.posedge_event());
    EXPECT_EQ(sc_core::sc_time_stamp(), sc_core::sc_time(115, SC_NS));
    EXPECT_EQ(host.read(KB_HOST_PROGRAMS_DONE), 2u);
    host.reset();
    EXPECT_FALSE(level_after_delta());
  });
  bench.run();
}

// A host that asks now and then has nothing to bind.
TEST(HostPortInterrupt, MayStayOpen) {
  HostBench::Options options;
  options.interrupt = false;
  HostBench bench(
      unit_pe(),
      [](HostCpu& host) {
        host.write(KB_HOST_IRQ_MASK, KB_HOST_IRQ_DONE);
        host.publish(work(5));
        while (host.read(KB_HOST_IRQ_STATUS) == 0) sc_core::wait(1, SC_NS);
        // Dispatch and MATH; at 15 ns itself it is not yet to be seen.
        EXPECT_EQ(sc_core::sc_time_stamp(), sc_core::sc_time(16, SC_NS));
        EXPECT_EQ(host.read(KB_HOST_PROGRAMS_DONE), 1u);
      },
      options);
  bench.run();
}

/// Reads STATUS, or clears IRQ_STATUS, that often in no time; returns the text of a report.
std::string report_of_polls(HostCpu& host, std::uint32_t polls, tlm::tlm_command command) {
  std::uint8_t data[4] = {0xff, 0xff, 0xff, 0xff};
  tlm::tlm_generic_payload payload;
  payload.set_command(command);
  payload.set_address(command == kRead ? KB_HOST_STATUS : KB_HOST_IRQ_STATUS);
  payload.set_data_ptr(data);
  payload.set_data_length(4);
  payload.set_streaming_width(4);
  try {
    for (; polls > 0; --polls) {
      sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
      payload.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
      host.socket->b_transport(payload, delay);
    }
  } catch (const sc_core::sc_report& report) {
    return std::string(report.get_msg_type()) + ": " + report.get_msg();
  }
  return polls == 0 ? "" : "another exception";
}

// The PE never has its turn: a million reads of one instant are the report, clearing IRQ_STATUS
// makes no difference. Time, a write to the ring or a doorbell is something else: the count begins
// anew.
TEST(HostPortInterrupt, PollingInNoTimeIsReported) {
  HostBench bench(unit_pe(), [](HostCpu& host) {
    constexpr std::uint32_t kMost = 999'999;
    std::uint8_t byte = 0;
    host.access(kWrite, KB_HOST_RING, &byte, 1);
    EXPECT_EQ(report_of_polls(host, kMost, kRead), "");
    host.write(KB_HOST_DOORBELL, 0);
    EXPECT_EQ(report_of_polls(host, kMost, kRead), "");
    sc_core::wait(3, SC_NS);
    EXPECT_EQ(report_of_polls(host, 500'000, kRead), "");
    EXPECT_EQ(report_of_polls(host, 499'999, kWrite), "");
    EXPECT_EQ(
        report_of_polls(host, 1, kWrite),
        "/kernbench/host_port/polling: host_port0: the host has accessed registers 1000000 "
        "times at 3 ns and no time passes, so that what it waits for cannot come; let it wait "
        "for the interrupt or for a time between two accesses, or set access_ns of the port "
        "above 0");
  });
  bench.run();
}

// The ring is full; MATH of 100 ns holds the kernel up. SPACE comes when the next records are
// consumed, once, and again when the threshold is written.
TEST(HostPortInterrupt, SpaceComesAtTheThreshold) {
  HostBench::Options options;
  options.port.ring_bytes = 128;
  HostBench bench(
      unit_pe(),
      [](HostCpu& host) {
        // SET_HANDLE 88, fill 17, WAIT 22: 127 bytes; then END_OF_PROGRAM, 4.
        const Bytes records = records_of([](CommandSink& sink) {
          const command::TensorHandle out = ns_of_math(0, 100);
          sink.issue(command::MathCmd{fill(out)});
          sink.wait({out.range()});
        });
        ASSERT_EQ(records.size(), 131u);
        host.publish(Bytes(records.begin(), records.begin() + 127));
        host.write(KB_HOST_SPACE_THRESHOLD, 50);
        EXPECT_EQ(host.read(KB_HOST_IRQ_STATUS), 0u);
        // Entry and command are taken up at once, the wait after the dispatch.
        host.await(KB_HOST_IRQ_SPACE);
        EXPECT_EQ(sc_core::sc_time_stamp(), sc_core::SC_ZERO_TIME);
        EXPECT_EQ(host.read(KB_HOST_RING_HEAD), 105u);
        sc_core::wait(5, SC_NS);
        EXPECT_EQ(host.read(KB_HOST_IRQ_STATUS), 0u);
        host.write(KB_HOST_SPACE_THRESHOLD, 107);  // 1 + 105 are free
        host.await(KB_HOST_IRQ_SPACE);
        EXPECT_EQ(sc_core::sc_time_stamp(), sc_core::sc_time(10, SC_NS));
        EXPECT_EQ(host.read(KB_HOST_RING_HEAD), 127u);
        host.write(KB_HOST_SPACE_THRESHOLD, 107);  // free already
        host.await(KB_HOST_IRQ_SPACE);
        EXPECT_EQ(sc_core::sc_time_stamp(), sc_core::sc_time(10, SC_NS));
        host.publish(Bytes(records.begin() + 127, records.end()));
        host.await(KB_HOST_IRQ_DONE);
        EXPECT_EQ(sc_core::sc_time_stamp(), sc_core::sc_time(110, SC_NS));
        EXPECT_EQ(host.read(KB_HOST_IRQ_STATUS), 0u);  // 124 to 128 were free all the time
      },
      options);
  bench.run();
}

// 131 bytes a program and a ring of 128: each begins at another offset, until all had their turn.
TEST(HostPortRing, WrapsAroundAtEveryOffset) {
  HostBench::Options options;
  options.port.ring_bytes = 128;
  HostBench bench(
      unit_pe(),
      [](HostCpu& host) {
        const Bytes records = work(1);  // 88 + 17 + 4
        ASSERT_EQ(records.size(), 109u);
        for (std::uint32_t program = 0; program < 128; ++program) {
          host.publish(records);
          host.await(KB_HOST_IRQ_DONE | KB_HOST_IRQ_ERROR);
          ASSERT_EQ(host.read(KB_HOST_ERROR_CODE), 0u) << program;
          ASSERT_EQ(host.read(KB_HOST_PROGRAMS_DONE), program + 1);
          ASSERT_EQ(host.read(KB_HOST_RING_HEAD), (program + 1) * 109);
        }
      },
      options);
  const HostBench::Result result = bench.run();
  EXPECT_EQ(result.rows.size(), 2u * 128);
}

// The table shows each entry as its record had it.
TEST(HostPortTable, HoldsTheEntries) {
  HostBench::Options options;
  options.port.table_entries = 16;
  HostBench bench(
      unit_pe(),
      [](HostCpu& host) {
        command::TensorHandle out = ns_of_math(64, 3);
        out.name = command::Name("scores");
        const Bytes records =
            records_of([&](CommandSink& sink) { sink.issue(command::MathCmd{fill(out)}); });
        host.publish(records);
        host.await(KB_HOST_IRQ_DONE);
        Bytes entries(16 * 128);
        ASSERT_EQ(host.debug(kRead, KB_HOST_TABLE, entries.data(), 16 * 128), 16u * 128);
        Bytes expected(16 * 128);
        std::copy_n(records.begin() + 8, 80, expected.begin());  // behind framing and index
        EXPECT_EQ(entries, expected);
        EXPECT_EQ(host.read64(KB_HOST_TABLE), 65u);                         // id
        EXPECT_EQ(host.read64(KB_HOST_TABLE + 8), command::kTcmBase + 64);  // addr
        EXPECT_EQ(host.read64(KB_HOST_TABLE + 16), 3u);                     // rows
        EXPECT_EQ(host.read(KB_HOST_TABLE + 56),
                  std::uint32_t{'s'} | 'c' << 8 | 'o' << 16 | 'r' << 24);
        host.reset();
        EXPECT_EQ(host.read64(KB_HOST_TABLE), 0u);
        host.publish(Bytes(records.begin() + 88, records.end()));  // without its entry
        host.await(KB_HOST_IRQ_ERROR);
        EXPECT_EQ(host.read(KB_HOST_ERROR_CODE), KB_HOST_ERROR_BAD_REFERENCE);
      },
      options);
  bench.run();
}

/// A record: its size and flags are right unless given.
Bytes record(RecordKind kind, const Bytes& body, std::uint8_t flags = 0, int size = -1) {
  const auto bytes =
      static_cast<std::uint16_t>(size < 0 ? static_cast<int>(body.size()) + 4 : size);
  Bytes all{static_cast<std::uint8_t>(bytes), static_cast<std::uint8_t>(bytes >> 8),
            static_cast<std::uint8_t>(kind), flags};
  all.insert(all.end(), body.begin(), body.end());
  return all;
}

struct FaultCase {
  std::uint32_t code;
  std::uint64_t offset;  // of the byte, in the record
  Bytes record;
};

/// Its table entry by itself is right, its command is refused.
Bytes fill_beyond_scratch() {
  return records_of([](CommandSink& sink) {
    sink.issue(command::MathCmd{fill(tcm(131072 - 64, {8, 64}))});
  });
}
constexpr std::size_t kSetHandleBytes = 88;

std::vector<FaultCase> faults() {
  Bytes no_id(84);    // index, id 0, ..
  no_id[4 + 48] = 2;  // rank
  Bytes load{0x80};
  load.resize(17);
  load[1] = 77;  // the source; the table has 16 entries
  const Bytes beyond = fill_beyond_scratch();
  return {
      {1, 0, record(RecordKind::end_of_program, {0})},
      {1, 0, record(RecordKind::end_of_program, {}, 0, 3)},
      {1, 0, record(RecordKind::end_of_program, {}, 0, 0)},
      {2, 2, record(static_cast<RecordKind>(0x7f), {})},
      {3, 3, record(RecordKind::end_of_program, {}, 1)},
      {4, 4, record(RecordKind::simple, {0x60})},
      {5, 6, record(RecordKind::composite, {1, 23, 3, 0x80, 0, 0})},
      {6, 4, record(RecordKind::composite, {0, 0})},
      {7, 5, record(RecordKind::simple, load)},
      {8, 8, record(RecordKind::set_handle, no_id)},
      {9, 5, record(RecordKind::begin_region, {'a', 1})},
      {10, 6,
       record(RecordKind::wait, Bytes{1, 0, 5, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0})},
      {11, 0, Bytes(beyond.begin() + kSetHandleBytes, beyond.end() - 4)},
      {11, 0, record(RecordKind::end_region, {'a'})},
      {11, 0, record(RecordKind::observe, {0, 0, 0, 0, 0, 0, 0, 0, 'x'})},  // beyond scratch
      {65, 0, record(RecordKind::wait, {}, 0, 4097)},
  };
}

// A command, the fault, another command: the first one goes on to its end at its time, the last one
// is never seen. After reset the port works as before.
TEST(HostPortErrors, EveryFaultHaltsAtItsRecord) {
  HostBench::Options options;
  options.port = {4096, 16, arch::Rational(0)};
  std::unique_ptr<HostBench> bench;
  bench = std::make_unique<HostBench>(
      unit_pe(),
      [&](HostCpu& host) {
        for (const FaultCase& fault : faults()) {
          SCOPED_TRACE(fault.code);
          const Bytes good = work(100);
          const std::size_t end = good.size() - 4;
          Bytes stream(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(end));
          const Bytes entry = fill_beyond_scratch();  // for the command that uses it
          stream.insert(stream.end(), entry.begin(), entry.begin() + kSetHandleBytes);
          const std::size_t at = stream.size();
          stream.insert(stream.end(), fault.record.begin(), fault.record.end());
          stream.insert(stream.end(), good.begin(), good.end());

          const sc_core::sc_time start = sc_core::sc_time_stamp();
          host.publish(stream);
          host.await(KB_HOST_IRQ_ERROR);
          EXPECT_EQ(sc_core::sc_time_stamp(), start + sc_core::sc_time(10, SC_NS));
          EXPECT_EQ(host.read(KB_HOST_STATUS), KB_HOST_STATUS_RUNNING | KB_HOST_STATUS_HALTED);
          EXPECT_EQ(host.read(KB_HOST_ERROR_CODE), fault.code);
          EXPECT_EQ(host.read64(KB_HOST_ERROR_OFFSET_LO), at + fault.offset);
          EXPECT_EQ(host.read(KB_HOST_ERROR_INFO),
                    command::LittleEndianReader(fault.record.data(), 4).get<std::uint32_t>());
          EXPECT_EQ(host.read(KB_HOST_RING_HEAD), at);
          EXPECT_NE(bench->port().error_reason(), "");
          host.write(KB_HOST_DOORBELL, 0);  // no longer heard
          EXPECT_EQ(host.read(KB_HOST_ERROR_CODE), fault.code);
          EXPECT_EQ(host.read(KB_HOST_RING_TAIL), stream.size());
          sc_core::wait(101, SC_NS);
          EXPECT_EQ(host.read(KB_HOST_STATUS), KB_HOST_STATUS_HALTED);
          EXPECT_EQ(host.read(KB_HOST_PROGRAMS_DONE), 0u);
          EXPECT_TRUE(bench->pe().idle());

          host.reset();
          EXPECT_EQ(bench->port().error_reason(), "");
          host.publish(work(1));
          host.await(KB_HOST_IRQ_DONE | KB_HOST_IRQ_ERROR);
          EXPECT_EQ(host.read(KB_HOST_STATUS), 0u);
          EXPECT_EQ(host.read(KB_HOST_PROGRAMS_DONE), 1u);
          host.reset();
        }
      },
      options);
  const HostBench::Result result = bench->run();
  const auto math = select(result.rows, [](const OpLogRow& row) { return row.engine == "math"; });
  EXPECT_EQ(math.size(), 2 * faults().size());
}

// Messages that PE_IPCQ would report: to and from the PE itself, and any of a PE that is bound to
// no network, whatever its keys say of other PEs.
TEST(HostPortErrors, MessagesThatCannotBeAreRefused) {
  arch::TopologyConfig topology = single_pe();
  topology.pes_per_cube = 2;
  const auto bench_of = [&](std::uint32_t index, bool connected, std::uint32_t peer,
                            const std::string& reason) {
    HostBench::Options options;
    options.index = index;
    options.connected = connected;
    auto port = std::make_shared<const HostPort*>();
    auto bench = std::make_unique<HostBench>(
        topology,
        [=](HostCpu& host) {
          EXPECT_EQ(host.read(KB_HOST_CAPABILITIES) & KB_HOST_CAP_IPCQ,
                    connected ? KB_HOST_CAP_IPCQ : 0u);
          EXPECT_EQ(host.read(KB_HOST_PES), connected ? 2u : 1u);
          for (const bool sends : {true, false}) {
            host.publish(records_of([&](CommandSink& sink) {
              if (sends) sink.issue(command::IpcqSendCmd{tcm(0, {1, 8}), {peer, 0}});
              if (!sends) sink.issue(command::IpcqRecvCmd{tcm(0, {1, 8}), {peer, 0}});
            }));
            host.await(KB_HOST_IRQ_ERROR);
            EXPECT_EQ(host.read(KB_HOST_ERROR_CODE), KB_HOST_ERROR_REFUSED);
            EXPECT_EQ((*port)->error_reason(), (sends ? "send: " : "recv: ") + reason);
            host.reset();
          }
        },
        options);
    *port = &bench->port();
    return bench;
  };
  const auto itself = bench_of(1, true, 1, "PE 1 is this one; name another");
  const auto alone =
      bench_of(0, false, 1,
               "there is no PE 1 to talk to: the design has one, or does not connect "
               "this one");
  sc_core::sc_start();
  itself->finish();
  alone->finish();
}

// 65 that are open are refused. PE_CPU has statistics for 64 names; another one does no harm.
TEST(HostPortErrors, RegionsHaveBounds) {
  std::unique_ptr<HostBench> bench;
  bench = std::make_unique<HostBench>(unit_pe(), [&](HostCpu& host) {
    const auto region = [](RecordKind kind, int i) {
      return record(kind, {'r', static_cast<std::uint8_t>('0' + i / 10),
                           static_cast<std::uint8_t>('0' + i % 10)});
    };
    Bytes stream;
    const auto append = [&](const Bytes& bytes) {
      stream.insert(stream.end(), bytes.begin(), bytes.end());
    };
    for (int i = 0; i < 64; ++i) append(region(RecordKind::begin_region, i));
    append(region(RecordKind::begin_region, 0));
    host.publish(stream);
    host.await(KB_HOST_IRQ_ERROR);
    EXPECT_EQ(host.read(KB_HOST_ERROR_CODE), KB_HOST_ERROR_REFUSED);
    EXPECT_EQ(host.read64(KB_HOST_ERROR_OFFSET_LO), 64u * 7);
    EXPECT_THAT(bench->port().error_reason(), HasSubstr("begins in 64 others"));

    host.reset();
    host.publish(region(RecordKind::begin_region, 64));
    host.publish(work(1));
    host.await(KB_HOST_IRQ_DONE);
    EXPECT_EQ(host.read(KB_HOST_ERROR_CODE), 0u);
    host.publish(region(RecordKind::begin_region, 0));
    host.publish(work(1));
    host.await(KB_HOST_IRQ_DONE);
    host.publish(work(1));
    host.await(KB_HOST_IRQ_DONE);
  });
  bench->run();
  // What is open ends with its program: one command is in r00, all others are in none.
  const std::vector<Region>& regions = bench->pe().cpu.regions();
  ASSERT_EQ(regions.size(), 64u);
  for (const Region& each : regions) EXPECT_EQ(each.commands, each.name == "r00" ? 1u : 0u);
}

// A doorbell that claims more than is free, or goes back, by any number.
TEST(HostPortErrors, ADoorbellClaimsAtMostWhatIsFree) {
  HostBench::Options options;
  options.port.ring_bytes = 256;
  HostBench bench(
      unit_pe(),
      [](HostCpu& host) {
        for (const std::uint32_t more : {257u - 109, 256u, 1u << 31, 0u - 1, 0u - 109}) {
          const Bytes records = work(100);
          host.publish(records);
          host.write(KB_HOST_DOORBELL, 109 + more);
          EXPECT_EQ(host.read(KB_HOST_ERROR_CODE), KB_HOST_ERROR_DOORBELL) << more;
          EXPECT_EQ(host.read64(KB_HOST_ERROR_OFFSET_LO), 109u);
          EXPECT_EQ(host.read(KB_HOST_ERROR_INFO), 109 + more);
          EXPECT_EQ(host.read(KB_HOST_RING_TAIL), 109u);
          EXPECT_EQ(host.read(KB_HOST_IRQ_STATUS), KB_HOST_IRQ_ERROR);
          // Both doorbells were of one instant, and the bad one stops what the good one started.
          sc_core::wait(1, sc_core::SC_US);
          EXPECT_EQ(host.read(KB_HOST_STATUS), KB_HOST_STATUS_HALTED);
          EXPECT_EQ(host.read(KB_HOST_RING_HEAD), 0u);
          host.reset();
        }
        host.write(KB_HOST_DOORBELL, 0);  // nothing new: nothing happens
        EXPECT_EQ(host.read(KB_HOST_STATUS), 0u);
        Bytes ends;  // all 256 bytes: programs without commands
        for (int i = 0; i < 64; ++i) ends.insert(ends.end(), {4, 0, 0x21, 0});
        host.publish(ends);
        sc_core::wait(1, SC_NS);
        EXPECT_EQ(host.read(KB_HOST_PROGRAMS_DONE), 64u);
      },
      options);
  bench.run();
}

// A bad doorbell at 10 ns, the time at which the PE comes to a record that is wrong as well.
TEST(HostPortErrors, TheFirstOneCounts) {
  HostBench bench(unit_pe(), [](HostCpu& host) {
    Bytes stream = work(100);
    stream.end()[-2] = 0x7f;  // no kind of the last record
    host.publish(stream);
    sc_core::wait(10, SC_NS);
    host.write(KB_HOST_DOORBELL, 0);
    sc_core::wait(1, SC_NS);
    EXPECT_EQ(host.read(KB_HOST_ERROR_CODE), KB_HOST_ERROR_DOORBELL);
    EXPECT_EQ(host.read64(KB_HOST_ERROR_OFFSET_LO), 109u);
    EXPECT_EQ(host.read(KB_HOST_RING_HEAD), 105u);
  });
  bench.run();
}

// ---- what commands meet on their way ------------------------------------------------------------

/// A memory that takes 1 ns to accept and then `response_ns`; what is at `bad` is answered so.
struct BadPlace {
  std::uint64_t begin;
  tlm::tlm_response_status answer;
};
ScriptedMemory::Script failing_at(const std::vector<BadPlace>& places, std::uint64_t response_ns) {
  return [=](std::uint64_t, const tlm::tlm_generic_payload& burst) {
    Behaviour behaviour;
    behaviour.accept_ps = 1000;
    behaviour.response_ps = response_ns * 1000;
    for (const BadPlace& bad : places) {
      if (bad.begin == burst.get_address()) behaviour.status = bad.answer;
    }
    return behaviour;
  };
}

/// 512 bytes in two bursts, to or from `addr`.
Bytes transfer(bool write, command::Address addr) {
  return records_of([=](CommandSink& sink) {
    const auto there = hbm(addr, {1, 256}), here = tcm(0, {1, 256});
    if (write) sink.issue(command::DmaWriteCmd{here, there});
    if (!write) sink.issue(command::DmaReadCmd{there, here});
    sink.issue(command::MathCmd{fill(ns_of_math(512, 100))});
  });
}
constexpr std::size_t kTransferOffset = std::size_t{2} * 88;  // behind two entries

/// Each answer at an address of its own, where the second burst of a transfer goes.
const std::vector<BadPlace>& bad_places() {
  static const std::vector<BadPlace> kPlaces{{0x10100, tlm::TLM_GENERIC_ERROR_RESPONSE},
                                             {0x11100, tlm::TLM_COMMAND_ERROR_RESPONSE},
                                             {0x12100, tlm::TLM_BURST_ERROR_RESPONSE},
                                             {0x13100, tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE},
                                             {0x14100, tlm::TLM_ADDRESS_ERROR_RESPONSE}};
  return kPlaces;
}

class HostPortMemoryErrors : public testing::TestWithParam<arch::DmaPort> {};
INSTANTIATE_TEST_SUITE_P(Ports, HostPortMemoryErrors,
                         testing::Values(arch::DmaPort::at, arch::DmaPort::lt),
                         [](const auto& port) {
                           return std::string(port.param == arch::DmaPort::at ? "at" : "lt");
                         });

// A transfer of two bursts, of which the second fails, a MATH of 100 ns, the end; and a program
// behind it. All of the first is consumed and done when the answer comes, and yet the program does
// not count, and the one behind it does not begin. After reset all is as before. at: dispatch 10,
// accepted 11 and 12, answered 1012 ns. lt: one burst after the other, 10 + 2 * 1001.
TEST_P(HostPortMemoryErrors, HaltWithTheAddress) {
  arch::TopologyConfig topology = unit_pe();
  topology.hbm.bytes = 1 << 20;
  topology.pe.memory_offset = 0x10000;
  topology.pe.dma.burst_bytes = 256;
  topology.pe.dma.port = GetParam();
  const std::uint64_t answer_ns = GetParam() == arch::DmaPort::at ? 1012 : 2012;
  HostBench::Options options;
  options.data = true;
  options.memory = failing_at(bad_places(), 1000);
  std::unique_ptr<HostBench> bench;
  bench = std::make_unique<HostBench>(
      topology,
      [&](HostCpu& host) {
        for (const bool write : {false, true}) {
          for (const BadPlace& bad : bad_places()) {
            SCOPED_TRACE(bad.answer);
            const command::Address addr = bad.begin - 0x10000 - 0x100;
            const bool nothing_there = bad.answer == tlm::TLM_ADDRESS_ERROR_RESPONSE;
            const sc_core::sc_time start = sc_core::sc_time_stamp();
            const Bytes records = transfer(write, addr);
            host.publish(work(5));  // so that offsets and numbers of commands are not those
            host.await(KB_HOST_IRQ_DONE);
            const sc_core::sc_time second = sc_core::sc_time_stamp();
            EXPECT_EQ(second, start + sc_core::sc_time(15, SC_NS));
            host.publish(records);
            host.publish(work(5));
            host.await(KB_HOST_IRQ_DONE | KB_HOST_IRQ_ERROR);
            EXPECT_EQ(sc_core::sc_time_stamp(),
                      second + sc_core::sc_time(static_cast<double>(answer_ns), SC_NS));
            EXPECT_EQ(host.read(KB_HOST_STATUS), KB_HOST_STATUS_HALTED);
            EXPECT_EQ(host.read(KB_HOST_ERROR_CODE),
                      nothing_there ? KB_HOST_ERROR_ADDRESS : KB_HOST_ERROR_MEMORY);
            EXPECT_EQ(host.read64(KB_HOST_ERROR_OFFSET_LO), 109 + kTransferOffset);
            EXPECT_EQ(host.read(KB_HOST_ERROR_INFO), 0x00020015u);  // SIMPLE of 21 bytes
            EXPECT_EQ(host.read64(KB_HOST_ERROR_ADDRESS_LO), addr + 0x100);
            EXPECT_EQ(host.read(KB_HOST_RING_HEAD), 109 + records.size());
            EXPECT_THAT(bench->port().error_reason(),
                        HasSubstr(write ? "to a write of 256 bytes" : "to a read of 256 bytes"));
            sc_core::wait(10, sc_core::SC_US);
            EXPECT_EQ(host.read(KB_HOST_IRQ_STATUS), 0u);
            EXPECT_EQ(host.read(KB_HOST_PROGRAMS_DONE), 1u);
            EXPECT_TRUE(bench->pe().idle());
            host.reset();
            EXPECT_EQ(host.read64(KB_HOST_ERROR_ADDRESS_LO), 0u);
            host.publish(transfer(write, 0x8000));
            host.await(KB_HOST_IRQ_DONE | KB_HOST_IRQ_ERROR);
            EXPECT_EQ(host.read(KB_HOST_ERROR_CODE), 0u);
            EXPECT_EQ(host.read(KB_HOST_PROGRAMS_DONE), 1u);
            host.reset();
          }
        }
        // One that waits for bytes goes on no more.
        Bytes open = transfer(false, 0);
        open.resize(open.size() - 4);
        host.publish(open);
        host.await(KB_HOST_IRQ_ERROR);
        EXPECT_EQ(host.read(KB_HOST_STATUS), KB_HOST_STATUS_RUNNING | KB_HOST_STATUS_HALTED);
        sc_core::wait(1, SC_NS);
        EXPECT_EQ(host.read(KB_HOST_STATUS), KB_HOST_STATUS_HALTED);
        // Nobody waits for the answer of one that reset has cut.
        host.reset();
        host.publish(transfer(false, 0));
        sc_core::wait(500, SC_NS);
        host.reset();
        host.publish(work(5));
        host.await(KB_HOST_IRQ_DONE | KB_HOST_IRQ_ERROR);
        EXPECT_EQ(host.read(KB_HOST_ERROR_CODE), 0u);
        EXPECT_EQ(host.read(KB_HOST_PROGRAMS_DONE), 1u);
      },
      options);
  bench->run();
}

// Three loads at 10, 20 and 30 ns on two channels, which the memory answers at 25, 100 and 100: the
// channel of the third is asked before that of the second. Then two, at 100 both and in order.
TEST(HostPortErrors, TheEarliestCommandOfAnInstantCounts) {
  arch::TopologyConfig topology = unit_pe();
  topology.pe.dma.read_channels = 2;
  topology.pe.dma.port = arch::DmaPort::lt;
  HostBench::Options options;
  options.memory = [](std::uint64_t index, const tlm::tlm_generic_payload&) {
    constexpr std::uint64_t kTimesPs[] = {15'000, 80'000, 70'000, 90'000, 80'000};
    Behaviour behaviour;
    behaviour.response_ps = kTimesPs[index];
    if (index > 0) behaviour.status = tlm::TLM_GENERIC_ERROR_RESPONSE;
    return behaviour;
  };
  HostBench bench(
      topology,
      [](HostCpu& host) {
        const auto load = [&](const std::vector<command::Address>& places) {
          host.publish(records_of([&](CommandSink& sink) {
            for (const command::Address at : places) {
              sink.issue(command::DmaReadCmd{hbm(at, {1, 64}), tcm(at, {1, 64})});
            }
            sink.wait({tcm(0, {1, 8192}).range()});
          }));
          host.await(KB_HOST_IRQ_ERROR);
        };
        load({0, 4096, 8192});
        EXPECT_EQ(sc_core::sc_time_stamp(), sc_core::sc_time(100, SC_NS));
        // Behind four entries and the first load.
        EXPECT_EQ(host.read64(KB_HOST_ERROR_OFFSET_LO), 4u * 88 + 21);
        EXPECT_EQ(host.read64(KB_HOST_ERROR_ADDRESS_LO), 4096u);
        host.reset();
        sc_core::wait(1, SC_NS);
        load({8192, 4096});
        EXPECT_EQ(sc_core::sc_time_stamp(), sc_core::sc_time(201, SC_NS));
        EXPECT_EQ(host.read64(KB_HOST_ERROR_OFFSET_LO), 2u * 88);
        EXPECT_EQ(host.read64(KB_HOST_ERROR_ADDRESS_LO), 8192u);
      },
      options);
  bench.run();
}

// A load that is answered with an error at 20 ns, the time at which the PE comes to a record that
// is wrong itself: dispatch 10 each, accepted at 11.
TEST(HostPortErrors, ACommandsFaultIsBeforeThatOfALaterRecord) {
  HostBench::Options options;
  options.memory = failing_at({{0, tlm::TLM_GENERIC_ERROR_RESPONSE}}, 9);
  HostBench bench(
      unit_pe(),
      [](HostCpu& host) {
        Bytes stream = records_of([](CommandSink& sink) {
          sink.issue(command::DmaReadCmd{hbm(0, {1, 64}), tcm(0, {1, 64})});
          sink.issue(command::MathCmd{fill(ns_of_math(512, 100))});
        });
        stream.end()[-2] = 0x7f;  // no kind of the last record
        host.publish(stream);
        host.await(KB_HOST_IRQ_ERROR);
        EXPECT_EQ(sc_core::sc_time_stamp(), sc_core::sc_time(20, SC_NS));
        EXPECT_EQ(host.read(KB_HOST_RING_HEAD), stream.size() - 4);
        EXPECT_EQ(host.read(KB_HOST_ERROR_CODE), KB_HOST_ERROR_MEMORY);
        EXPECT_EQ(host.read64(KB_HOST_ERROR_OFFSET_LO), 2u * 88);
      },
      options);
  bench.run();
}

// What somebody else has launched is not the host's: it stays a report.
TEST(HostPortErrors, OfAnotherLaunchAreNotTheHosts) {
  HostBench::Options options;
  options.memory = failing_at({{0, tlm::TLM_GENERIC_ERROR_RESPONSE}}, 1);
  HostBench bench(
      unit_pe(), [](HostCpu&) {}, options);
  bench.pe().cpu.launch([](CommandSink& sink) {
    sink.issue(command::DmaReadCmd{hbm(0, {1, 64}), tcm(0, {1, 64})});
  });
  EXPECT_THAT(first_report([] { sc_core::sc_start(); }),
              HasSubstr("/kernbench/memory_port/response"));
}

// 64 bytes come where 128 are received: what the bytes of one PE cannot tell. The receive never
// ends; reset does not cancel it.
TEST(HostPortErrors, AMessageOfAnotherSizeHalts) {
  arch::TopologyConfig topology = unit_pe();
  topology.pes_per_cube = 2;
  const auto bench_of = [&](std::uint32_t index, const HostCpu::Program& program) {
    HostBench::Options options;
    options.index = index;
    return std::make_unique<HostBench>(topology, program, options);
  };
  const auto sender = bench_of(0, [](HostCpu& host) {
    host.publish(records_of([](CommandSink& sink) {
      sink.issue(command::IpcqSendCmd{tcm(0, {1, 32}), {1, 0}});
    }));
    host.await(KB_HOST_IRQ_DONE);
  });
  std::unique_ptr<HostBench> receiver;
  receiver = bench_of(1, [&](HostCpu& host) {
    host.publish(records_of([](CommandSink& sink) {
      sink.issue(command::IpcqRecvCmd{tcm(0, {1, 64}), {0, 0}});
    }));
    host.await(KB_HOST_IRQ_ERROR);
    EXPECT_EQ(host.read(KB_HOST_ERROR_CODE), KB_HOST_ERROR_MESSAGE_SIZE);
    EXPECT_EQ(host.read64(KB_HOST_ERROR_OFFSET_LO), 88u);
    EXPECT_EQ(host.read64(KB_HOST_ERROR_ADDRESS_LO), 0u);
    EXPECT_THAT(receiver->port().error_reason(),
                HasSubstr("the message has 64 bytes and the destination 128"));
    EXPECT_EQ(host.read(KB_HOST_STATUS), KB_HOST_STATUS_RUNNING | KB_HOST_STATUS_HALTED);
    host.reset();
    sc_core::wait(1, sc_core::SC_US);
    EXPECT_EQ(host.read(KB_HOST_STATUS), KB_HOST_STATUS_DRAINING | KB_HOST_STATUS_RUNNING);
    EXPECT_EQ(host.read(KB_HOST_ERROR_CODE), 0u);
  });
  sender->pe().ipcq_out.bind(receiver->pe().ipcq_in);
  receiver->pe().ipcq_out.bind(sender->pe().ipcq_in);
  sc_core::sc_start();
  sender->finish();
  EXPECT_FALSE(receiver->pe().idle());
}

// A host that writes anything anywhere: valid programs with bytes changed, cut, repeated, and plain
// noise. The port never crashes or reports, and after reset a program takes the time it must.
TEST(HostPortErrors, NothingThatAHostWritesCrashes) {
  constexpr std::uint32_t kSeed = 20240607;
  SCOPED_TRACE(kSeed);
  arch::TopologyConfig topology = unit_pe();
  topology.hbm.bytes = 1 << 16;
  topology.pe.tcm.bytes = 1 << 16;
  topology.pe.tcm.scratch_bytes = 1 << 14;
  topology.pe.scheduler.math_head_from_hbm = true;
  HostBench::Options options;
  options.data = true;
  options.port = {4096, 16, arch::Rational(0)};
  std::map<std::uint32_t, int> codes;
  int done = 0;
  HostBench bench(
      topology,
      [&](HostCpu& host) {
        std::mt19937 random(kSeed);
        const auto below = [&](std::uint32_t n) {
          return static_cast<std::uint32_t>(random() % n);
        };
        const auto program = [&](CommandSink& sink) {
          const auto a = tcm(0, {8, 32}), b = tcm(512, {32, 32}), x = tcm(2560, {8, 32});
          sink.begin_region("loop");
          sink.issue(command::DmaReadCmd{hbm(0, {8, 32}), a});
          sink.issue(command::CompositeCmd{{1}, {gemm(a, b, x), add(x, x)}, {x}, below(2) == 0});
          sink.wait({x.range()});
          sink.issue(command::MathCmd{fill(b, 1)});
          sink.issue(command::PeCpuOverheadCmd{below(100)});
          sink.issue(command::DmaWriteCmd{x, hbm(4096, {8, 32})});
          sink.observe("x", x);
          sink.end_region("loop");
        };
        for (int turn = 0; turn < 4000; ++turn) {
          Bytes bytes = records_of(program);
          const auto size = static_cast<std::uint32_t>(bytes.size());
          switch (below(10)) {
            case 0:
              for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
              break;
            case 1:
              bytes.resize(below(size));
              break;
            case 2:
              bytes.erase(bytes.begin() + below(size));
              break;
            case 3:
            case 4:
            case 5:
              break;
            default:  // in one or two records, for the most part near their begin
              for (std::uint32_t i = 0; i <= below(2); ++i) {
                std::size_t at = 0;
                for (std::uint32_t skip = below(20); skip > 0 && at + 4 < size; --skip) {
                  at += command::Decoder::record_size(bytes.data() + at);
                }
                at = std::min<std::size_t>(at + 2 + below(below(2) == 0 ? 5 : 100), size - 1);
                bytes[at] = static_cast<std::uint8_t>(below(2) == 0 ? random() : below(4));
              }
              break;
          }
          const std::uint32_t is_free =
              4096 - (host.read(KB_HOST_RING_TAIL) - host.read(KB_HOST_RING_HEAD));
          if (bytes.size() > is_free) bytes.resize(is_free);
          if (host.read(KB_HOST_ERROR_CODE) == 0) host.publish(bytes);
          if (below(50) == 0) host.write(KB_HOST_DOORBELL, static_cast<std::uint32_t>(random()));
          if (below(10) == 0) host.write(KB_HOST_SPACE_THRESHOLD, below(5000));
          sc_core::wait(below(400), SC_NS);
          const std::uint32_t code = host.read(KB_HOST_ERROR_CODE);
          if (code != 0 || below(3) == 0) {
            ++codes[code];
            done += static_cast<int>(host.read(KB_HOST_PROGRAMS_DONE));
            host.reset();
            // A cut program may still have to compute for 2^40 cycles.
            while (below(4) != 0 && host.read(KB_HOST_STATUS) != 0) {
              sc_core::wait(10, sc_core::SC_SEC);
            }
          }
        }
        host.reset();
        while (host.read(KB_HOST_STATUS) != 0) sc_core::wait(1, sc_core::SC_SEC);
        const sc_core::sc_time start = sc_core::sc_time_stamp();
        host.publish(work(5));
        host.await(KB_HOST_IRQ_DONE);
        EXPECT_EQ(sc_core::sc_time_stamp(), start + sc_core::sc_time(15, SC_NS));
      },
      options);
  bench.run();
  EXPECT_TRUE(bench.pe().idle());
  EXPECT_GT(done, 100);
  // The noise has found every fault.
  for (std::uint32_t code = 0; code <= 11; ++code) EXPECT_GT(codes[code], 0) << code;
  EXPECT_GT(codes[KB_HOST_ERROR_DOORBELL], 0);
  EXPECT_GT(codes[KB_HOST_ERROR_TOO_LARGE], 0);
}

}  // namespace
}  // namespace kernbench::test
