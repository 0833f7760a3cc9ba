// SPDX-License-Identifier: Apache-2.0
// The memory sockets that the model offers, by the debug, direct-memory and attribute rules that
// others expect to hold (docs/field_cases.md, 15 to 17): port 0 of an EmbeddedHbm, and the port of
// an InterleavedHbm whose channels have 64 bytes in turn.
#define SC_INCLUDE_DYNAMIC_PROCESSES  // sc_spawn (IEEE 1666, 5.5)
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "model/interleaved_hbm.hpp"
#include "model/machine.hpp"
#include "tests/support/in_child.hpp"
#include "tlm_if/base_protocol_monitor.hpp"

namespace kernbench::test {
namespace {

using command::Address;
using command::Shape;
using command::Space;
using command::TensorHandle;

using Bytes = std::vector<std::uint8_t>;

constexpr std::uint64_t kMemoryBytes = 1u << 16;

arch::TopologyConfig topology_of(arch::HbmMap map) {
  arch::TopologyConfig topology;
  topology.name = "target";
  topology.hbm.map = map;
  topology.hbm.bytes = kMemoryBytes;
  topology.hbm.channels = 4;
  topology.hbm.interleave_bytes = topology.pe.dma.burst_bytes = 64;
  topology.check_protocol = true;
  return topology;
}

class TargetSocket : public testing::TestWithParam<arch::HbmMap> {};
INSTANTIATE_TEST_SUITE_P(Maps, TargetSocket,
                         testing::Values(arch::HbmMap::pe_local, arch::HbmMap::interleaved),
                         [](const auto& instance) {
                           return instance.param == arch::HbmMap::pe_local ? "embedded"
                                                                           : "interleaved";
                         });

// ---- 15: byte enables and streaming width -------------------------------------------------------

/// A memory socket by itself, and an initiator that has one transaction at a time.
class Initiator : public sc_core::sc_module,
                  private tlm::tlm_bw_transport_if<>,
                  tlm::tlm_mm_interface {
 public:
  tlm::tlm_initiator_socket<32> memory{"memory"};

  Initiator(const sc_core::sc_module_name& name, const arch::TopologyConfig& topology)
      : sc_module(name) {
    KERNBENCH_HAS_PROCESS(Initiator);
    SC_METHOD(end_response);
    sensitive << end_event_;
    dont_initialize();
    memory.bind(*this);
    payload_.set_mm(this);
    if (topology.hbm.map == arch::HbmMap::pe_local) {
      embedded_ = std::make_unique<EmbeddedHbm>("hbm", topology.hbm, 1, true);
      memory.bind(embedded_->port(0));
      return;
    }
    const arch::CubeEndpoints ends{1, topology.hbm.channels};
    noc_ = std::make_unique<Fabric>(
        "noc", arch::Network::mesh(topology.noc, topology.pe.clock_ghz, 1, topology.hbm.channels),
        0, [ends](const Packet& packet) {
          return packet.to == Packet::To::channel ? ends.channel(packet.index)
                                                  : ends.memory(packet.index);
        });
    interleaved_ = std::make_unique<InterleavedHbm>("hbm", topology, 0, *noc_, true);
    memory.bind(interleaved_->port(0));
  }

  /// A write of `data` with what `change` makes of it, by b_transport or phase by phase.
  tlm::tlm_response_status write(bool blocking, Address addr, Bytes data,
                                 const std::function<void(tlm::tlm_generic_payload&)>& change) {
    payload_.set_write();
    payload_.set_address(addr);
    payload_.set_data_ptr(data.data());
    payload_.set_data_length(static_cast<unsigned>(data.size()));
    payload_.set_streaming_width(static_cast<unsigned>(data.size()));
    payload_.set_byte_enable_ptr(nullptr);
    payload_.set_byte_enable_length(0);
    payload_.set_dmi_allowed(false);
    payload_.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
    change(payload_);
    payload_.acquire();
    if (blocking) {
      sc_core::sc_spawn([this] {
        sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
        memory->b_transport(payload_, delay);
      });
    } else {
      tlm::tlm_phase phase = tlm::BEGIN_REQ;
      sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
      EXPECT_EQ(memory->nb_transport_fw(payload_, phase, delay), tlm::TLM_ACCEPTED);
    }
    sc_core::sc_start();
    payload_.release();
    return payload_.get_response_status();
  }

  Bytes read(Address addr, std::size_t size) {
    Bytes bytes(size);
    tlm::tlm_generic_payload payload;
    payload.set_read();
    payload.set_address(addr);
    payload.set_data_ptr(bytes.data());
    payload.set_data_length(static_cast<unsigned>(size));
    EXPECT_EQ(memory->transport_dbg(payload), size);
    return bytes;
  }

 private:
  tlm::tlm_sync_enum nb_transport_bw(tlm::tlm_generic_payload&, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay) override {
    if (phase == tlm::BEGIN_RESP) end_event_.notify(delay);
    return tlm::TLM_ACCEPTED;
  }
  void end_response() {
    tlm::tlm_phase phase = tlm::END_RESP;
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    memory->nb_transport_fw(payload_, phase, delay);
  }
  void invalidate_direct_mem_ptr(sc_dt::uint64, sc_dt::uint64) override {}
  void free(tlm::tlm_generic_payload*) override {}

  tlm::tlm_generic_payload payload_;
  sc_core::sc_event end_event_;
  std::unique_ptr<EmbeddedHbm> embedded_;
  std::unique_ptr<Fabric> noc_;
  std::unique_ptr<InterleavedHbm> interleaved_;
};

// Refused with the status for it and the memory as it was; a width above the length is none. What
// follows is served as if nothing had been.
TEST_P(TargetSocket, ByteEnablesAndStreamingAreRefused) {
  arch::TopologyConfig topology = topology_of(GetParam());
  topology.check_protocol = false;  // it would report these
  Initiator initiator("initiator", topology);
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  Bytes enables;
  for (int i = 0; i < 16; ++i) enables.push_back(i % 2 == 0 ? TLM_BYTE_ENABLED : TLM_BYTE_DISABLED);
  const auto enabled = [&](unsigned length) {
    return [&enables, length](tlm::tlm_generic_payload& payload) {
      payload.set_byte_enable_ptr(enables.data());
      payload.set_byte_enable_length(length);
    };
  };
  const auto width = [](unsigned bytes) {
    return [bytes](tlm::tlm_generic_payload& payload) { payload.set_streaming_width(bytes); };
  };
  const auto plain = [](tlm::tlm_generic_payload&) {};
  Address addr = 0x120;
  for (const bool blocking : {true, false}) {
    SCOPED_TRACE(blocking);
    const Bytes before = initiator.read(addr, 16), data(16, 0x5a);
    const auto refused = [&](const std::function<void(tlm::tlm_generic_payload&)>& change,
                             tlm::tlm_response_status status) {
      EXPECT_EQ(initiator.write(blocking, addr, data, change), status);
      EXPECT_EQ(initiator.read(addr, 16), before);
    };
    refused(enabled(16), tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE);
    refused(enabled(4), tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE);
    refused(width(4), tlm::TLM_BURST_ERROR_RESPONSE);
    refused(width(0), tlm::TLM_BURST_ERROR_RESPONSE);
    EXPECT_EQ(initiator.write(blocking, addr, data, width(32)), tlm::TLM_OK_RESPONSE);
    EXPECT_EQ(initiator.read(addr, 16), data);
    addr += 64;
    EXPECT_EQ(initiator.write(blocking, addr, data, plain), tlm::TLM_OK_RESPONSE);
    EXPECT_EQ(initiator.read(addr, 16), data);
    addr += 64;
  }
}

// ---- 16: debug transport ------------------------------------------------------------------------

unsigned debug(Pe& pe, bool write, Address addr, Bytes& bytes) {
  tlm::tlm_generic_payload payload;
  payload.set_command(write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
  payload.set_address(addr);
  payload.set_data_ptr(bytes.data());
  payload.set_data_length(static_cast<unsigned>(bytes.size()));
  return pe.memory->transport_dbg(payload);
}

// 100 bytes over two boundaries of channels there and back, and reads past the end, before the run,
// in it and after it: with data byte for byte and short at the end, without data 0 bytes, and in no
// time. `checks` false: the run by itself.
std::string run_with_debug(arch::HbmMap map, bool data, bool checks) {
  const auto check = [=](Pe& pe, std::uint8_t first) {
    if (!checks) return;
    const sc_core::sc_time& now = sc_core::sc_time_stamp();
    Bytes bytes(100), back(100);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(first + i);
    const unsigned all = data ? 100 : 0;
    EXPECT_EQ(debug(pe, true, 0x8000 + 30, bytes), all);
    EXPECT_EQ(debug(pe, false, 0x8000 + 30, back), all);
    if (data) {
      EXPECT_EQ(back, bytes);
    }
    EXPECT_EQ(debug(pe, false, kMemoryBytes - 70, back), data ? 70u : 0u);
    EXPECT_EQ(debug(pe, false, kMemoryBytes, back), 0u);
    EXPECT_EQ(debug(pe, false, std::numeric_limits<Address>::max() - 10, back), 0u);
    EXPECT_EQ(sc_core::sc_time_stamp(), now);
  };
  struct Hook : sc_core::sc_module {
    explicit Hook(const sc_core::sc_module_name& name) : sc_module(name) {}
    void start_of_simulation() override { start(); }
    std::function<void()> start;
  };
  return in_child([&] {
    MachineOptions options;
    options.data = data;
    Machine machine(topology_of(map), options);
    Pe& pe = machine.pe(0);
    pe.set_data_mode(data);
    Hook hook("hook");
    hook.start = [&] { check(pe, 1); };
    std::string times;
    pe.set_kernel([&](command::CommandSink& sink) {
      for (Address i = 0; i < 4; ++i) {
        const TensorHandle tcm = command::make_handle(1, command::kTcmBase, Shape::vector(300),
                                                      command::DType::f16, Space::tcm);
        sink.issue(command::DmaReadCmd{command::make_handle(2, i * 0x1000, Shape::vector(300),
                                                            command::DType::f16, Space::hbm),
                                       tcm});
        check(pe, static_cast<std::uint8_t>(2 + i));
        sink.wait({tcm.range()});
        check(pe, static_cast<std::uint8_t>(7 + i));
        times += sc_core::sc_time_stamp().to_string() + " ";
      }
    });
    sc_core::sc_start();
    EXPECT_TRUE(pe.idle());
    sc_core::sc_stop();
    check(pe, 13);
    return times;
  });
}

TEST_P(TargetSocket, DebugTransportTakesNoTime) {
  const std::string expected = run_with_debug(GetParam(), false, false);
  EXPECT_FALSE(expected.empty());
  for (const bool data : {false, true}) {
    EXPECT_EQ(run_with_debug(GetParam(), data, true), expected);
  }
}

// ---- 17: direct memory --------------------------------------------------------------------------

// Refused for every address, whatever the answer's object held before.
TEST_P(TargetSocket, DirectMemoryIsRefused) {
  Initiator initiator("initiator", topology_of(GetParam()));
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  for (const Address addr : {Address{0}, kMemoryBytes / 2, kMemoryBytes - 1, kMemoryBytes,
                             std::numeric_limits<Address>::max()}) {
    tlm::tlm_generic_payload payload;
    payload.set_read();
    payload.set_address(addr);
    tlm::tlm_dmi dmi;
    dmi.allow_read_write();
    dmi.set_start_address(1);
    dmi.set_end_address(2);
    EXPECT_FALSE(initiator.memory->get_direct_mem_ptr(payload, dmi));
    EXPECT_TRUE(dmi.is_none_allowed());
    EXPECT_EQ(dmi.get_start_address(), 0u);
    EXPECT_EQ(dmi.get_end_address(), std::numeric_limits<sc_dt::uint64>::max());
  }
}

}  // namespace
}  // namespace kernbench::test
