// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "tlm_if/base_protocol_monitor.hpp"

namespace kernbench::test {

/// Binds a PE's memory socket, or another initiator, to a memory through a monitor, which must live
/// as long. A violation is an error, hence fails the test.
inline std::unique_ptr<BaseProtocolMonitor> bind_monitored(
    tlm::tlm_initiator_socket<32>& pe_memory, tlm::tlm_target_socket<32>& memory,
    const std::string& name = "monitor",
    BaseProtocolMonitor::Checks checks = BaseProtocolMonitor::Checks::with_port_rules) {
  auto monitor = std::make_unique<BaseProtocolMonitor>(name.c_str(), checks,
                                                       BaseProtocolMonitor::OnViolation::report);
  pe_memory.bind(monitor->upstream);
  monitor->downstream.bind(memory);
  return monitor;
}

}  // namespace kernbench::test
