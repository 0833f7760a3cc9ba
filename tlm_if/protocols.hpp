// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tlm_if/packet.hpp"
#include "tlm_if/systemc.hpp"
#include "tlm_if/transactions.hpp"

namespace kernbench {

// The two protocols inside a PE: non-blocking transport of their own payloads over plain TLM-2.0
// sockets, with phases as described at the payloads. The memory socket, to which foreign IP can
// bind, uses tlm_base_protocol_types.

struct CommandProtocol {
  using tlm_payload_type = CommandTransaction;
  using tlm_phase_type = tlm::tlm_phase;
};
struct StageProtocol {
  using tlm_payload_type = StageTransaction;
  using tlm_phase_type = tlm::tlm_phase;
};

/// One-way protocol between PE_IPCQ, the NIUs of an interleaved HBM, and the links. BEGIN_REQ: the
/// packet is whole at an endpoint. END_REQ, from the links to the sending endpoint: the packet's
/// tail has left.
struct PacketProtocol {
  using tlm_payload_type = Packet;
  using tlm_phase_type = tlm::tlm_phase;
};

/// The non-blocking part of tlm_fw_transport_if; these protocols have no other calls.
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

/// The same sockets, which may stay unbound.
template <class Protocol>
using OptionalInitiatorSocket =
    tlm::tlm_base_initiator_socket<32, ForwardInterface<Protocol>, BackwardInterface<Protocol>, 1,
                                   sc_core::SC_ZERO_OR_MORE_BOUND>;
template <class Protocol>
using OptionalTargetSocket =
    tlm::tlm_base_target_socket<32, ForwardInterface<Protocol>, BackwardInterface<Protocol>, 1,
                                sc_core::SC_ZERO_OR_MORE_BOUND>;

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
