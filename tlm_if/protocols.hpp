// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tlm_if/systemc.hpp"
#include "tlm_if/transactions.hpp"

namespace kernbench {

// The two protocols inside a PE: non-blocking transport of their own payloads over plain TLM-2.0
// sockets, phases as written at the payloads. Where foreign IP can bind (the memory socket) it is
// tlm_base_protocol_types.

struct CommandProtocol {
  using tlm_payload_type = CommandTransaction;
  using tlm_phase_type = tlm::tlm_phase;
};
struct StageProtocol {
  using tlm_payload_type = StageTransaction;
  using tlm_phase_type = tlm::tlm_phase;
};

/// The non-blocking part of tlm_fw_transport_if, all that these protocols have.
template <class Protocol>
class ForwardInterface
    : public virtual tlm::tlm_fw_nonblocking_transport_if<typename Protocol::tlm_payload_type,
                                                          typename Protocol::tlm_phase_type> {
 public:
  using protocol_types = Protocol;
};
template <class Protocol>
class BackwardInterface
    : public virtual tlm::tlm_bw_nonblocking_transport_if<typename Protocol::tlm_payload_type,
                                                          typename Protocol::tlm_phase_type> {
 public:
  using protocol_types = Protocol;
};

template <class Protocol>
using InitiatorSocket =
    tlm::tlm_base_initiator_socket<32, ForwardInterface<Protocol>, BackwardInterface<Protocol>>;
template <class Protocol>
using TargetSocket =
    tlm::tlm_base_target_socket<32, ForwardInterface<Protocol>, BackwardInterface<Protocol>>;

/// Sends a phase at the current time and returns the answer.
template <class Socket, class Payload>
tlm::tlm_sync_enum send_forward(Socket& socket, Payload& payload, tlm::tlm_phase phase) {
  sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
  return socket->nb_transport_fw(payload, phase, delay);
}
template <class Socket, class Payload>
tlm::tlm_sync_enum send_backward(Socket& socket, Payload& payload, tlm::tlm_phase phase) {
  sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
  return socket->nb_transport_bw(payload, phase, delay);
}

}  // namespace kernbench
