// SPDX-License-Identifier: Apache-2.0
// Peers whose sockets are not 32 bits wide, through a WidthBridge: nothing shows that it is there.
#include "tlm_if/width_bridge.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tlm_utils/multi_passthrough_target_socket.h>
#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/host_access.hpp"
#include "runtime/launch/inputs.hpp"
#include "tests/cosim/own_design.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/scripted_memory.hpp"

namespace kernbench::test {
namespace {

using command::CommandSink;
using testing::ElementsAre;

constexpr std::uint64_t kMemoryBytes = 1u << 20;

/// A memory of somebody with a bus of that width: b_transport, debug access, a window for direct
/// access. The socket makes phases of the first where they are asked for.
template <unsigned int Width>
struct PlainMemory : sc_core::sc_module {
  tlm_utils::simple_target_socket<PlainMemory, Width> socket{"socket"};
  std::vector<unsigned char> bytes;

  explicit PlainMemory(const sc_core::sc_module_name& name) : sc_module(name), bytes(kMemoryBytes) {
    socket.register_b_transport(this, &PlainMemory::b_transport);
    socket.register_transport_dbg(this, &PlainMemory::transport_dbg);
    socket.register_get_direct_mem_ptr(this, &PlainMemory::get_direct_mem_ptr);
  }

 private:
  void b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
    transport_dbg(payload);
    delay += nanoseconds(20 + payload.get_data_length() / 64.0);
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
  }
  unsigned int transport_dbg(tlm::tlm_generic_payload& payload) {
    unsigned char* at = bytes.data() + payload.get_address();
    if (payload.is_read()) std::memcpy(payload.get_data_ptr(), at, payload.get_data_length());
    if (payload.is_write()) std::memcpy(at, payload.get_data_ptr(), payload.get_data_length());
    return payload.get_data_length();
  }
  bool get_direct_mem_ptr(tlm::tlm_generic_payload& payload, tlm::tlm_dmi& dmi) {
    dmi.set_dmi_ptr(bytes.data());
    dmi.set_start_address(0);
    dmi.set_end_address(kMemoryBytes - 1);
    dmi.allow_read_write();
    return payload.is_read();
  }
};

/// What a PE is bound to: created, bound to `memory` and kept.
using Peer = std::function<std::shared_ptr<void>(tlm::tlm_initiator_socket<32>& memory)>;

std::shared_ptr<void> plain_memory(tlm::tlm_initiator_socket<32>& memory) {
  auto target = std::make_shared<PlainMemory<32>>("target");
  memory.bind(target->socket);
  return target;
}

template <unsigned int Width>
std::shared_ptr<void> bridged_memory(tlm::tlm_initiator_socket<32>& memory) {
  struct Bridged {
    WidthBridge<32, Width> bridge{"bridge"};
    PlainMemory<Width> target{"target"};
  };
  auto peer = std::make_shared<Bridged>();
  memory.bind(peer->bridge.upstream);
  peer->bridge.downstream.bind(peer->target.socket);
  return peer;
}

/// Draws every legal answer and delay at random.
std::unique_ptr<ScriptedMemory> random_memory() {
  return std::make_unique<ScriptedMemory>("target", command::ByteRange{0, kMemoryBytes},
                                          random_script(5, 60'000));
}

std::shared_ptr<void> any_memory(tlm::tlm_initiator_socket<32>& memory) {
  const std::shared_ptr<ScriptedMemory> target = random_memory();
  memory.bind(target->socket);
  return target;
}

/// Wider, and as it was.
std::shared_ptr<void> twice_bridged_memory(tlm::tlm_initiator_socket<32>& memory) {
  struct Bridged {
    WidthBridge<32, 64> there{"there"};
    WidthBridge<64, 32> back{"back"};
    std::unique_ptr<ScriptedMemory> target = random_memory();
  };
  auto peer = std::make_shared<Bridged>();
  memory.bind(peer->there.upstream);
  peer->there.downstream.bind(peer->back.upstream);
  peer->back.downstream.bind(peer->target->socket);
  return peer;
}

/// The op log of a decode in data mode, and the bits of its results.
std::string decode_on(arch::DmaPort port, const Peer& bind_peer) {
  return in_child([&] {
    const TemporaryFolder folder;
    arch::TopologyConfig topology = single_pe();
    topology.pe.dma.port = port;
    topology.pe.dma.burst_bytes = 256;
    topology.pe.dma.read_channels = 2;
    topology.hbm.bytes = kMemoryBytes;
    const runtime::Launch launched =
        launch(topology, "gqa_decode", {{"s_kv", "100"}, {"g", "3"}, {"d", "40"}, {"tile", "32"}});
    Pe pe("pe0", topology.pe_config());
    BaseProtocolMonitor monitor("monitor", BaseProtocolMonitor::Checks::with_port_rules,
                                BaseProtocolMonitor::OnViolation::report);
    pe.memory.bind(monitor.upstream);
    const std::shared_ptr<void> peer = bind_peer(monitor.downstream);
    pe.set_data_mode(true);
    pe.set_kernel([&](CommandSink& sink) { launched.issue(sink); });
    runtime::PeOutputs outputs(paths_in(folder));
    outputs.add(pe);
    sc_core::sc_start(sc_core::SC_ZERO_TIME);
    const kernels::HostTensors inputs = runtime::synthetic_inputs(launched.instance().tensors, 0);
    for (const auto& tensor : launched.tensors()) {
      if (tensor->spec.direction == kernels::Direction::out) continue;
      runtime::write_tensor(pe, tensor->parts[0].handle, inputs.at(tensor->spec.name));
    }
    sc_core::sc_start();
    outputs.finish();
    EXPECT_EQ(pe.dma.port.live_payloads(), 0U);
    std::string text = read_file(folder / "op_log.csv");
    for (const auto& tensor : launched.tensors()) {
      if (tensor->spec.direction != kernels::Direction::out) continue;
      for (const double value : runtime::read_tensor(pe, tensor->parts[0].handle)) {
        EXPECT_NE(value, 0);
        text += std::to_string(value) + "\n";  // f16 has fewer digits
      }
    }
    return text;
  });
}

// A memory of 64, 128 or 8 bits behind a bridge against the same one of 32 bits: times, order and
// bytes are the same.
TEST(WidthBridge, AnotherWidthGivesTheSameRun) {
  for (const arch::DmaPort port : {arch::DmaPort::at, arch::DmaPort::lt}) {
    const std::string direct = decode_on(port, plain_memory);
    EXPECT_EQ(decode_on(port, bridged_memory<64>), direct);
    EXPECT_EQ(decode_on(port, bridged_memory<128>), direct);
    EXPECT_EQ(decode_on(port, bridged_memory<8>), direct);
  }
}

// Each answer and delay takes effect as it would without the bridges.
TEST(WidthBridge, PassesEveryLegalAnswer) {
  for (const arch::DmaPort port : {arch::DmaPort::at, arch::DmaPort::lt}) {
    EXPECT_EQ(decode_on(port, twice_bridged_memory), decode_on(port, any_memory));
  }
}

/// An initiator of 64 bits, as a CPU model would be at a target of 32.
struct WideInitiator : sc_core::sc_module {
  tlm_utils::simple_initiator_socket<WideInitiator, 64> socket{"socket"};
  std::vector<std::pair<sc_dt::uint64, sc_dt::uint64>> invalidated;

  explicit WideInitiator(const sc_core::sc_module_name& name) : sc_module(name) {
    socket.register_invalidate_direct_mem_ptr(this, &WideInitiator::invalidate);
  }

 private:
  void invalidate(sc_dt::uint64 begin, sc_dt::uint64 end) { invalidated.emplace_back(begin, end); }
};

// The other width, and what does not take time: windows of direct access are granted and taken
// back, debug accesses are answered.
TEST(WidthBridge, PassesDirectAndDebugAccess) {
  WideInitiator initiator("initiator");
  WidthBridge<64, 32> bridge("bridge");
  PlainMemory<32> memory("memory");
  initiator.socket.bind(bridge.upstream);
  bridge.downstream.bind(memory.socket);
  sc_core::sc_start(sc_core::SC_ZERO_TIME);

  std::vector<unsigned char> data{1, 2, 3};
  tlm::tlm_generic_payload payload;
  payload.set_write();
  payload.set_address(0x41);
  payload.set_data_ptr(data.data());
  payload.set_data_length(3);
  EXPECT_EQ(initiator.socket->transport_dbg(payload), 3U);
  EXPECT_EQ(memory.bytes.at(0x43), 3);

  tlm::tlm_dmi dmi;
  EXPECT_FALSE(initiator.socket->get_direct_mem_ptr(payload, dmi));
  payload.set_read();
  EXPECT_TRUE(initiator.socket->get_direct_mem_ptr(payload, dmi));
  EXPECT_EQ(dmi.get_dmi_ptr(), memory.bytes.data());
  EXPECT_EQ(dmi.get_end_address(), kMemoryBytes - 1);
  memory.socket->invalidate_direct_mem_ptr(16, 31);
  EXPECT_THAT(initiator.invalidated, ElementsAre(std::pair<sc_dt::uint64, sc_dt::uint64>(16, 31)));
}

/// A bus with any number of initiators.
struct WideBus : sc_core::sc_module {
  tlm_utils::multi_passthrough_target_socket<WideBus, 64> initiators{"initiators"};
  tlm_utils::simple_initiator_socket<WideBus, 64> memory{"memory"};

  explicit WideBus(const sc_core::sc_module_name& name) : sc_module(name) {
    initiators.register_b_transport(this, &WideBus::b_transport);
    initiators.register_transport_dbg(this, &WideBus::transport_dbg);
  }

 private:
  void b_transport(int, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
    memory->b_transport(payload, delay);
  }
  unsigned int transport_dbg(int, tlm::tlm_generic_payload& payload) {
    return memory->transport_dbg(payload);
  }
};

// A multi socket takes several of them.
TEST(WidthBridge, BindsToAMultiSocket) {
  PlainMemory<64> memory("memory");
  WideBus bus("bus");
  bus.memory.bind(memory.socket);
  std::vector<std::unique_ptr<Pe>> pes;
  std::vector<std::unique_ptr<BaseProtocolMonitor>> monitors;
  std::vector<std::unique_ptr<WidthBridge<32, 64>>> bridges;
  arch::PeConfig config;
  config.hbm_bytes = kMemoryBytes / 2;
  config.dma.port = arch::DmaPort::lt;
  for (std::uint32_t i = 0; i < 2; ++i) {
    config.memory_offset = i * config.hbm_bytes;
    memory.bytes[config.memory_offset + 64] = static_cast<unsigned char>(0x11 * (i + 1));
    const std::string number = std::to_string(i);
    pes.push_back(std::make_unique<Pe>(("pe" + number).c_str(), config, i));
    bridges.push_back(std::make_unique<WidthBridge<32, 64>>(("bridge" + number).c_str()));
    monitors.push_back(
        bind_monitored(pes.back()->memory, bridges.back()->upstream, "monitor" + number));
    bridges.back()->downstream.bind(bus.initiators);
    pes.back()->set_data_mode(true);
    pes.back()->set_kernel([](CommandSink& sink) {
      const auto at = [](command::Address addr, command::Space space) {
        return command::make_handle(1, addr, command::Shape{32}, command::DType::f16, space, "x");
      };
      const auto x = at(command::kTcmBase, command::Space::tcm);
      sink.issue(command::DmaReadCmd{at(64, command::Space::hbm), x});
      sink.issue(command::DmaWriteCmd{x, at(128, command::Space::hbm)});
    });
  }
  sc_core::sc_start();
  EXPECT_TRUE(pes[0]->idle() && pes[1]->idle());
  EXPECT_EQ(memory.bytes[128], 0x11);
  EXPECT_EQ(memory.bytes[kMemoryBytes / 2 + 128], 0x22);
}

}  // namespace
}  // namespace kernbench::test
