// SPDX-License-Identifier: Apache-2.0
// The PE on a memory that knows TLM-2.0 only: one kernel, its time and its result are checked.
#include <tlm_utils/simple_target_socket.h>

#include <cstdint>
#include <cstring>
#include <iostream>
#include <vector>

#include "model/pe.hpp"
#include "tl/tl.hpp"
#include "tlm_if/base_protocol_monitor.hpp"
#include "tlm_if/width_bridge.hpp"

namespace tl = kernbench::tl;

/// On a bus of 64 bits. Answers one burst after the other, each in 25 ns and 1 ns for 128 bytes.
struct OwnMemory : sc_core::sc_module {
  tlm_utils::simple_target_socket<OwnMemory, 64> socket{"socket"};
  std::vector<unsigned char> bytes;

  OwnMemory(const sc_core::sc_module_name& name, std::size_t size) : sc_module(name), bytes(size) {
    socket.register_b_transport(this, &OwnMemory::b_transport);
  }

 private:
  void b_transport(tlm::tlm_generic_payload& burst, sc_core::sc_time& delay) {
    constexpr double kAnswerNs = 25, kBytesPerNs = 128;
    unsigned char* at = bytes.data() + burst.get_address();
    if (burst.is_read()) std::memcpy(burst.get_data_ptr(), at, burst.get_data_length());
    if (burst.is_write()) std::memcpy(at, burst.get_data_ptr(), burst.get_data_length());
    delay += sc_core::sc_time(kAnswerNs + burst.get_data_length() / kBytesPerNs, sc_core::SC_NS);
    burst.set_response_status(tlm::TLM_OK_RESPONSE);
  }
};

int sc_main(int, char**) {
  constexpr tl::Index kM = 8, kK = 128, kN = 64;
  constexpr std::size_t kBytesOfB = kK * kN * 2, kBytesOfOut = kM * kN * 2;

  kernbench::arch::PeConfig config;
  config.hbm_bytes = kBytesOfB + kBytesOfOut;
  kernbench::Pe pe("pe", config);
  OwnMemory memory("memory", config.hbm_bytes);
  kernbench::BaseProtocolMonitor monitor("monitor",
                                         kernbench::BaseProtocolMonitor::Checks::with_port_rules,
                                         kernbench::BaseProtocolMonitor::OnViolation::report);
  pe.memory.bind(monitor.upstream);
  kernbench::WidthBridge<32, 64> bridge("bridge");
  monitor.downstream.bind(bridge.upstream);
  bridge.downstream.bind(memory.socket);
  pe.set_data_mode(true);

  // b is all ones: 0x3c00 in f16.
  for (std::size_t i = 1; i < kBytesOfB; i += 2) memory.bytes[i] = 0x3c;
  tl::Target target;
  target.hbm_bytes = config.hbm_bytes;
  pe.set_kernel([&](kernbench::command::CommandSink& sink) {
    tl::Context tl(target, sink);
    const auto b = tl.ref(0, {kK, kN}, tl::f16, "b");
    const auto a = tl.full({kM, kK}, 1, tl::f16);
    tl.wait({a});
    tl::Tensor out;
    {
      auto gemm = tl.region("gemm");
      out = tl.composite(tl::gemm(a, b));
    }
    tl.store(tl.ref(kBytesOfB, {kM, kN}, tl::f16, "out"), out);
  });
  sc_core::sc_start();

  // 42.875 dispatch + 16 set-up + 4 bursts of 4096 bytes, 25 + 32 each, + 36 fetch + 32 gemm
  // + 2 store.
  constexpr std::uint64_t kExpectedPs = 356875;
  const kernbench::Region& gemm = pe.cpu.regions().at(0);
  const std::uint64_t took_ps = gemm.end_ps - gemm.start_ps;
  // Each entry of out is a sum of 128 ones: 0x5800 in f16.
  bool right = pe.idle();
  for (std::size_t i = kBytesOfB; i < memory.bytes.size(); ++i) {
    right = right && memory.bytes[i] == (i % 2 == 0 ? 0x00 : 0x58);
  }
  std::cout << "gemm on own memory: " << took_ps << " ps, expected " << kExpectedPs << "; result "
            << (right ? "right" : "wrong") << '\n';
  return right && took_ps == kExpectedPs ? 0 : 1;
}
