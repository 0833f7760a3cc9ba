// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tlm_if/systemc.hpp"

namespace kernbench {

/// A transparent probe in the middle of a memory binding: forwards every call unchanged, takes no
/// time, holds no reference, and checks what passes. Any number of transactions may be outstanding;
/// a phase takes effect at its call plus its annotated delay.
///
/// It checks both sides against the base protocol of IEEE 1666-2011, 15.2, and the attributes of
/// its generic payload (clause 14). Unless only the base protocol is requested, it also checks the
/// initiator against rules that some memories need beyond the standard: bursts are naturally
/// aligned powers of two without byte enables; no write is outstanding together with another
/// transaction on the same bytes; END_RESP is a separate call at the time of its BEGIN_RESP.
///
/// Between a PE and a memory, with violations that end the run:
///
///     kernbench::BaseProtocolMonitor monitor(
///         "monitor", kernbench::BaseProtocolMonitor::Checks::with_port_rules,
///         kernbench::BaseProtocolMonitor::OnViolation::report);
///     pe.memory.bind(monitor.upstream);
///     monitor.downstream.bind(my_memory.socket);
///
/// It can also be used between any initiator and target, with Checks::base_protocol.
/// `check_protocol` of a topology puts one at every memory socket of a Machine.
class BaseProtocolMonitor : public sc_core::sc_module,
                            private tlm::tlm_fw_transport_if<>,
                            private tlm::tlm_bw_transport_if<> {
 public:
  enum class Checks : std::uint8_t { base_protocol, with_port_rules };
  /// What to do with a violation besides keeping it in violations().
  enum class OnViolation : std::uint8_t {
    collect,  ///< nothing
    report,   ///< SC_REPORT_ERROR("/kernbench/monitor/violation"), at once
  };

  tlm::tlm_target_socket<32> upstream{"upstream"};         ///< the initiator binds here
  tlm::tlm_initiator_socket<32> downstream{"downstream"};  ///< bind it to the memory

  explicit BaseProtocolMonitor(const sc_core::sc_module_name& name,
                               Checks checks = Checks::with_port_rules,
                               OnViolation on_violation = OnViolation::collect);

  /// The violations, one line each: rule, what happened, transaction, time. At most 100 are kept.
  const std::vector<std::string>& violations() const { return violations_; }
  /// Transactions that have begun but have not ended by END_RESP or by early completion whose delay
  /// has passed.
  std::size_t outstanding() const;
  /// Transactions begun so far.
  std::uint64_t transactions() const { return last_serial_; }

 private:
  enum class State : std::uint8_t { requested, accepted, responding, completed, blocking };
  /// The monitor's own copy, since interconnects may overwrite the payload's address (14.7).
  struct Transaction {
    std::uint64_t serial = 0;
    const tlm::tlm_generic_payload* payload = nullptr;  // alive while in flight
    State state = State::requested;
    sc_core::sc_time time;       // of the last phase, when it takes effect
    bool in_begin_resp = false;  // the call that carries BEGIN_RESP has not returned
    tlm::tlm_command command = tlm::TLM_IGNORE_COMMAND;
    std::uint64_t address = 0;
    std::uint64_t length = 0;
    const unsigned char* data = nullptr;
    const unsigned char* byte_enables = nullptr;
    unsigned int byte_enable_length = 0;
    unsigned int streaming_width = 0;
    std::vector<unsigned char> written;  // what a write carried at BEGIN_REQ
  };

  tlm::tlm_sync_enum nb_transport_fw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay) override;
  tlm::tlm_sync_enum nb_transport_bw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay) override;
  void b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) override;
  bool get_direct_mem_ptr(tlm::tlm_generic_payload& payload, tlm::tlm_dmi& dmi) override;
  unsigned int transport_dbg(tlm::tlm_generic_payload& payload) override;
  void invalidate_direct_mem_ptr(sc_dt::uint64 begin, sc_dt::uint64 end) override;

  /// A transaction starts: BEGIN_REQ or b_transport. Returns its serial number.
  std::uint64_t begin(const tlm::tlm_generic_payload& payload, State state,
                      const sc_core::sc_time& time);
  void check_request(const Transaction& transaction, const sc_core::sc_time& time);
  void check_attributes(const Transaction& transaction);
  void check_port_rules(const Transaction& transaction, const sc_core::sc_time& time);
  void check_unchanged(const Transaction& transaction);
  void check_response_status(const Transaction& transaction);

  /// END_REQ or BEGIN_RESP, by call or by return.
  void on_target_phase(Transaction& transaction, const tlm::tlm_phase& phase,
                       const sc_core::sc_time& time);
  void on_answer_to_request(std::uint64_t serial, tlm::tlm_sync_enum answer,
                            const tlm::tlm_phase& phase, const sc_core::sc_time& time);
  void on_answer_to_target(std::uint64_t serial, tlm::tlm_sync_enum answer, bool to_response,
                           const sc_core::sc_time& time);
  void on_end_response(const tlm::tlm_generic_payload& payload, const sc_core::sc_time& time);
  void advance(Transaction& transaction, const sc_core::sc_time& time);
  void leave_request(const Transaction& transaction, const sc_core::sc_time& time);
  void end_response(std::uint64_t serial, const sc_core::sc_time& time);

  Transaction* in_flight(const tlm::tlm_generic_payload& payload);
  Transaction* by_serial(std::uint64_t serial);
  void forget_completed();
  void violate(std::string_view rule, std::string_view what,
               const tlm::tlm_generic_payload& payload);
  void violate(std::string_view rule, std::string_view what, const Transaction& transaction);
  void violate(std::string_view rule, std::string_view what, tlm::tlm_command command,
               std::uint64_t length, std::uint64_t address);

  const Checks checks_;
  const OnViolation on_violation_;
  std::vector<Transaction> open_;  // in the order of their beginning
  std::uint64_t last_serial_ = 0;
  // By serial, 0: none. The times from which the next one may take effect.
  std::uint64_t requesting_ = 0;
  std::uint64_t responding_ = 0;
  sc_core::sc_time request_free_;
  sc_core::sc_time response_free_;
  std::vector<std::string> violations_;
};

}  // namespace kernbench
