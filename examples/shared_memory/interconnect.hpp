// SPDX-License-Identifier: Apache-2.0
#pragma once

// Somebody else's interconnect: written against IEEE 1666 only, no header of KernBench in it.

#include <tlm_utils/multi_passthrough_initiator_socket.h>
#include <tlm_utils/multi_passthrough_target_socket.h>
#include <tlm_utils/peq_with_cb_and_phase.h>

#include <cstdint>
#include <deque>
#include <systemc>
#include <tlm>
#include <vector>

namespace bus {

/// Maps addresses [begin, begin + bytes) of the interconnect to those from `target_begin` on of a
/// target. Targets are numbered in the order of binding.
struct Window {
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;
  unsigned target = 0;
  std::uint64_t target_begin = 0;
};

/// Statistics of one initiator. Waits are those of its requests, summed.
struct Statistics {
  std::uint64_t requests = 0;
  std::uint64_t bytes = 0;
  sc_core::sc_time arbitration_wait;  ///< for others at the same target
  sc_core::sc_time target_wait;       ///< for the target to accept
  sc_core::sc_time response_wait;     ///< for the responses before, one at a time
  std::uint64_t overtakings = 0;      ///< responses that came before that of an earlier request
};

/// Connects any number of initiators and targets. It decodes addresses and rewrites them. Each
/// target takes one request at a time, from the initiators in turn. Responses are routed back by
/// payload, in the order in which they come.
///
/// A request and a response take `hop_ns` each. END_REQ passes when the target accepts. Not
/// modelled: the width of the links. b_transport and debug transport pass without contention; DMI
/// is denied.
class Interconnect : public sc_core::sc_module {
 public:
  tlm_utils::multi_passthrough_target_socket<Interconnect, 32> initiators{"initiators"};
  tlm_utils::multi_passthrough_initiator_socket<Interconnect, 32> targets{"targets"};

  /// Throws std::invalid_argument, one line, for windows that overlap or a time below 0.
  Interconnect(const sc_core::sc_module_name& name, std::vector<Window> map, double hop_ns);

  /// By number of the initiator, in the order of binding.
  const std::vector<Statistics>& statistics() const { return statistics_; }

 private:
  /// A transaction in flight. The payload identifies it.
  struct Route {
    tlm::tlm_generic_payload* payload;
    unsigned initiator;
    unsigned target;
    std::uint64_t target_address;
    bool accepted;           // by the target
    sc_core::sc_time since;  // it has been waiting for what comes next
  };
  struct Target {
    tlm::tlm_generic_payload* requesting = nullptr;  // sent, not accepted
    std::deque<tlm::tlm_generic_payload*> waiting;   // in order of arrival
    unsigned last_initiator = 0;                     // that had its turn
  };
  struct Initiator {
    std::deque<tlm::tlm_generic_payload*> responses;
    bool responding = false;  // END_RESP of the first is awaited
  };

  void end_of_elaboration() override;
  tlm::tlm_sync_enum nb_transport_fw(int initiator, tlm::tlm_generic_payload& payload,
                                     tlm::tlm_phase& phase, sc_core::sc_time& delay);
  tlm::tlm_sync_enum nb_transport_bw(int target, tlm::tlm_generic_payload& payload,
                                     tlm::tlm_phase& phase, sc_core::sc_time& delay);
  void b_transport(int initiator, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  unsigned int transport_dbg(int initiator, tlm::tlm_generic_payload& payload);
  bool get_direct_mem_ptr(int initiator, tlm::tlm_generic_payload& payload, tlm::tlm_dmi& dmi);

  /// Handles every event by its phase: the phases of the protocol and some of its own.
  void step(tlm::tlm_generic_payload& payload, const tlm::tlm_phase& phase);
  void arrive(Route& route);
  /// Called when all arrivals of the instant are known.
  void arbitrate();
  void forward(Target& target);
  void on_accepted(Route& route);
  void on_response(Route& route);
  void end_response(tlm::tlm_generic_payload& payload);
  void begin_response(unsigned initiator);

  /// Null if no window contains the bytes.
  const Window* decode(std::uint64_t address, std::uint64_t bytes) const;
  Route& route_of(const tlm::tlm_generic_payload& payload);

  const std::vector<Window> map_;
  const sc_core::sc_time hop_;
  std::deque<Route> routes_;  // in order of BEGIN_REQ
  std::vector<Target> targets_;
  std::vector<Initiator> initiators_;
  std::vector<Statistics> statistics_;
  sc_core::sc_event arbitrate_event_;
  tlm_utils::peq_with_cb_and_phase<Interconnect> agenda_;
};

}  // namespace bus
