// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tlm_if/systemc.hpp"

namespace kernbench::test {

/// Breaks the base protocol where a port need not notice: accepts each request twice. It holds no
/// bytes and answers at once.
class HastyMemory : public sc_core::sc_module, private tlm::tlm_fw_transport_if<> {
 public:
  HastyMemory(const sc_core::sc_module_name& name, tlm::tlm_initiator_socket<32>& pe_memory)
      : sc_module(name) {
    socket_.bind(*this);
    pe_memory.bind(socket_);
  }

 private:
  tlm::tlm_sync_enum nb_transport_fw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay) override {
    if (phase != tlm::BEGIN_REQ) return tlm::TLM_COMPLETED;
    for (int i = 0; i < 2; ++i) {
      tlm::tlm_phase end_req = tlm::END_REQ;
      socket_->nb_transport_bw(payload, end_req, delay);
    }
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
    phase = tlm::BEGIN_RESP;
    return tlm::TLM_UPDATED;
  }
  void b_transport(tlm::tlm_generic_payload&, sc_core::sc_time&) override {}
  bool get_direct_mem_ptr(tlm::tlm_generic_payload&, tlm::tlm_dmi&) override { return false; }
  unsigned int transport_dbg(tlm::tlm_generic_payload&) override { return 0; }

  tlm::tlm_target_socket<32> socket_{"socket"};
};

}  // namespace kernbench::test
