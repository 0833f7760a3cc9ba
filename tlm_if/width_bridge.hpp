// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tlm_if/systemc.hpp"

namespace kernbench {

/// Connects an initiator and a target whose sockets differ in BUSWIDTH; such sockets do not bind to
/// each other (IEEE 1666-2011, 13.2). BUSWIDTH gives the word length, which matters only to models
/// whose byte order differs from the host's (14.18). For all others a transaction means the same at
/// any BUSWIDTH. So the bridge forwards every call unchanged in both directions, takes no time and
/// has no state.
///
///     kernbench::WidthBridge<32, 64> bridge("bridge");
///     pe.memory.bind(bridge.upstream);
///     bridge.downstream.bind(my_memory.socket);  // tlm::tlm_target_socket<64>
template <unsigned int From, unsigned int To>
class WidthBridge : public sc_core::sc_module,
                    private tlm::tlm_fw_transport_if<>,
                    private tlm::tlm_bw_transport_if<> {
 public:
  tlm::tlm_target_socket<From> upstream{"upstream"};       ///< the initiator binds here
  tlm::tlm_initiator_socket<To> downstream{"downstream"};  ///< bind it to the target

  explicit WidthBridge(const sc_core::sc_module_name& name) : sc_module(name) {
    upstream.bind(*this);
    downstream.bind(*this);
  }

 private:
  tlm::tlm_sync_enum nb_transport_fw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay) override {
    return downstream->nb_transport_fw(payload, phase, delay);
  }
  tlm::tlm_sync_enum nb_transport_bw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay) override {
    return upstream->nb_transport_bw(payload, phase, delay);
  }
  void b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) override {
    downstream->b_transport(payload, delay);
  }
  unsigned int transport_dbg(tlm::tlm_generic_payload& payload) override {
    return downstream->transport_dbg(payload);
  }
  bool get_direct_mem_ptr(tlm::tlm_generic_payload& payload, tlm::tlm_dmi& dmi) override {
    return downstream->get_direct_mem_ptr(payload, dmi);
  }
  void invalidate_direct_mem_ptr(sc_dt::uint64 begin, sc_dt::uint64 end) override {
    upstream->invalidate_direct_mem_ptr(begin, end);
  }
};

}  // namespace kernbench
