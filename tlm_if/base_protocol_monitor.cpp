// SPDX-License-Identifier: Apache-2.0
#include "tlm_if/base_protocol_monitor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace kernbench {
namespace {

constexpr std::size_t kMaxViolations = 100;
// Rules that some memories need beyond the standard.
constexpr std::string_view kPort = "port rule";

sc_core::sc_time effective(const sc_core::sc_time& delay) {
  return sc_core::sc_time_stamp() + delay;
}

}  // namespace

BaseProtocolMonitor::BaseProtocolMonitor(const sc_core::sc_module_name& name, Checks checks,
                                         OnViolation on_violation)
    : sc_module(name), checks_(checks), on_violation_(on_violation) {
  upstream.bind(*this);
  downstream.bind(*this);
}

std::size_t BaseProtocolMonitor::outstanding() const {
  const sc_core::sc_time& now = sc_core::sc_time_stamp();
  return static_cast<std::size_t>(std::count_if(open_.begin(), open_.end(), [&](const auto& t) {
    return t.state != State::completed || t.time > now;
  }));
}

tlm::tlm_sync_enum BaseProtocolMonitor::nb_transport_fw(tlm::tlm_generic_payload& payload,
                                                        tlm::tlm_phase& phase,
                                                        sc_core::sc_time& delay) {
  if (phase == tlm::BEGIN_REQ) {
    const std::uint64_t serial = begin(payload, State::requested, effective(delay));
    const tlm::tlm_sync_enum answer = downstream->nb_transport_fw(payload, phase, delay);
    on_answer_to_request(serial, answer, phase, effective(delay));
    return answer;
  }
  if (phase == tlm::END_RESP) {
    on_end_response(payload, effective(delay));
  } else if (phase == tlm::END_REQ || phase == tlm::BEGIN_RESP) {
    violate("15.2.3 c", "the initiator sends a phase of the target", payload);
  }
  return downstream->nb_transport_fw(payload, phase, delay);
}

tlm::tlm_sync_enum BaseProtocolMonitor::nb_transport_bw(tlm::tlm_generic_payload& payload,
                                                        tlm::tlm_phase& phase,
                                                        sc_core::sc_time& delay) {
  const bool response = phase == tlm::BEGIN_RESP;
  std::uint64_t serial = 0;
  if (response || phase == tlm::END_REQ) {
    if (Transaction* transaction = in_flight(payload)) {
      serial = transaction->serial;
      on_target_phase(*transaction, phase, effective(delay));
      transaction->in_begin_resp = response;
    } else {
      violate("15.2.4", "the target sends a phase of a transaction that is not in flight", payload);
    }
  } else if (phase == tlm::BEGIN_REQ || phase == tlm::END_RESP) {
    violate("15.2.3 c", "the target sends a phase of the initiator", payload);
  }
  const tlm::tlm_sync_enum answer = upstream->nb_transport_bw(payload, phase, delay);
  if (serial != 0) on_answer_to_target(serial, answer, response, effective(delay));
  return answer;
}

void BaseProtocolMonitor::b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  if (sc_core::sc_get_current_process_handle().proc_kind() == sc_core::SC_METHOD_PROC_) {
    violate("11.1.1.4 b", "b_transport from a method process", payload);
  }
  const std::uint64_t serial = begin(payload, State::blocking, effective(delay));
  downstream->b_transport(payload, delay);
  Transaction* transaction = by_serial(serial);
  if (transaction == nullptr) return;  // the payload began again within the call: reported there
  check_unchanged(*transaction);
  check_response_status(*transaction);
  transaction->state = State::completed;
  transaction->time = effective(delay);
}

bool BaseProtocolMonitor::get_direct_mem_ptr(tlm::tlm_generic_payload& payload, tlm::tlm_dmi& dmi) {
  return downstream->get_direct_mem_ptr(payload, dmi);
}

unsigned int BaseProtocolMonitor::transport_dbg(tlm::tlm_generic_payload& payload) {
  return downstream->transport_dbg(payload);
}

void BaseProtocolMonitor::invalidate_direct_mem_ptr(sc_dt::uint64 begin, sc_dt::uint64 end) {
  upstream->invalidate_direct_mem_ptr(begin, end);
}

std::uint64_t BaseProtocolMonitor::begin(const tlm::tlm_generic_payload& payload, State state,
                                         const sc_core::sc_time& time) {
  forget_completed();
  if (const Transaction* earlier = in_flight(payload)) {
    violate("15.2.4", "a transaction begins while its payload is still in flight", *earlier);
    const std::uint64_t serial = earlier->serial;
    if (requesting_ == serial) requesting_ = 0;
    if (responding_ == serial) responding_ = 0;
    open_.erase(open_.begin() + (earlier - open_.data()));
  }
  Transaction transaction;
  transaction.serial = ++last_serial_;
  transaction.payload = &payload;
  transaction.state = state;
  transaction.time = time;
  transaction.command = payload.get_command();
  transaction.address = payload.get_address();
  transaction.length = payload.get_data_length();
  transaction.data = payload.get_data_ptr();
  transaction.byte_enables = payload.get_byte_enable_ptr();
  transaction.byte_enable_length = payload.get_byte_enable_length();
  transaction.streaming_width = payload.get_streaming_width();
  if (payload.is_write() && transaction.data != nullptr) {
    transaction.written.assign(transaction.data, transaction.data + transaction.length);
  }
  check_attributes(transaction);
  if (state == State::requested) check_request(transaction, time);
  if (checks_ == Checks::with_port_rules) check_port_rules(transaction, time);
  open_.push_back(std::move(transaction));
  return last_serial_;
}

void BaseProtocolMonitor::check_request(const Transaction& transaction,
                                        const sc_core::sc_time& time) {
  if (!transaction.payload->has_mm()) violate("14.5 i", "no memory manager", transaction);
  if (requesting_ != 0) {
    violate("15.2.6 e", "BEGIN_REQ while an earlier request has not been accepted", transaction);
  } else if (time < request_free_) {
    violate("15.2.6 e", "BEGIN_REQ before the annotated delay of the last acceptance has passed",
            transaction);
  }
  requesting_ = transaction.serial;
}

void BaseProtocolMonitor::check_attributes(const Transaction& transaction) {
  const tlm::tlm_generic_payload& payload = *transaction.payload;
  const auto require = [&](bool right, std::string_view clause, std::string_view what) {
    if (!right) violate(clause, what, transaction);
  };
  require(!payload.has_mm() || payload.get_ref_count() > 0, "14.5 t", "the reference count is 0");
  require(transaction.command != tlm::TLM_IGNORE_COMMAND, "14.9", "neither a read nor a write");
  require(transaction.data != nullptr, "14.11 e", "the data pointer is null");
  require(transaction.length > 0, "14.12 d", "the data length is 0");
  require((transaction.byte_enables != nullptr) == (transaction.byte_enable_length > 0), "14.14 f",
          "byte enable pointer and length do not fit each other");
  require(transaction.streaming_width >= transaction.length && transaction.streaming_width > 0,
          "14.15 f", "the streaming width is less than the data length");
  require(!payload.is_dmi_allowed(), "14.16", "dmi_allowed is set");
  require(payload.get_response_status() == tlm::TLM_INCOMPLETE_RESPONSE, "14.17 e",
          "the response status is not TLM_INCOMPLETE_RESPONSE");
}

void BaseProtocolMonitor::check_port_rules(const Transaction& transaction,
                                           const sc_core::sc_time& time) {
  const std::uint64_t length = transaction.length;
  if (transaction.byte_enables != nullptr) {
    violate(kPort, "byte enables, which some memories ignore", transaction);
  }
  if ((length & (length - 1)) != 0) {
    violate(kPort, "the data length is not a power of two", transaction);
  } else if (length > 0 && transaction.address % length != 0) {
    violate(kPort, "the address is not a multiple of the data length", transaction);
  }
  // Memories reorder, so only a response shows that a transaction is done.
  for (const Transaction& other : open_) {
    const bool answered = other.state == State::responding || other.state == State::completed;
    if (answered && other.time <= time) continue;
    const bool overlap = transaction.address < other.address + other.length &&
                         other.address < transaction.address + length;
    const bool writes =
        transaction.command == tlm::TLM_WRITE_COMMAND || other.command == tlm::TLM_WRITE_COMMAND;
    if (overlap && writes) {
      violate(kPort,
              fmt::format("overlaps the outstanding {} of {} bytes at {:#x}",
                          other.command == tlm::TLM_WRITE_COMMAND ? "write" : "read", other.length,
                          other.address),
              transaction);
    }
  }
}

// The address is left out: interconnects overwrite it (14.7).
void BaseProtocolMonitor::check_unchanged(const Transaction& transaction) {
  const tlm::tlm_generic_payload& payload = *transaction.payload;
  const auto require = [&](bool same, std::string_view what) {
    if (!same) violate("14.7", fmt::format("{} changed while in flight", what), transaction);
  };
  if (payload.has_mm() && payload.get_ref_count() == 0) {
    violate("14.5 t", "the payload was freed while in flight", transaction);
  }
  require(payload.get_command() == transaction.command, "the command");
  require(payload.get_data_length() == transaction.length, "the data length");
  require(payload.get_byte_enable_ptr() == transaction.byte_enables, "the byte enable pointer");
  require(payload.get_byte_enable_length() == transaction.byte_enable_length,
          "the byte enable length");
  require(payload.get_streaming_width() == transaction.streaming_width, "the streaming width");
  if (payload.get_data_ptr() != transaction.data) {
    require(false, "the data pointer");
  } else {
    require(std::equal(transaction.written.begin(), transaction.written.end(), transaction.data),
            "the data of a write");
  }
}

void BaseProtocolMonitor::check_response_status(const Transaction& transaction) {
  if (transaction.payload->get_response_status() == tlm::TLM_INCOMPLETE_RESPONSE) {
    violate("14.17", "the response has the status TLM_INCOMPLETE_RESPONSE", transaction);
  }
}

void BaseProtocolMonitor::on_target_phase(Transaction& transaction, const tlm::tlm_phase& phase,
                                          const sc_core::sc_time& time) {
  check_unchanged(transaction);
  advance(transaction, time);
  if (phase == tlm::END_REQ) {
    if (transaction.state != State::requested) {
      violate("15.2.4", "END_REQ of a request that has been accepted", transaction);
      return;
    }
    leave_request(transaction, time);
    transaction.state = State::accepted;
    return;
  }
  if (transaction.state == State::responding) {
    violate("15.2.4", "BEGIN_RESP twice", transaction);
    return;
  }
  check_response_status(transaction);
  leave_request(transaction, time);
  if (responding_ != 0) {
    violate("15.2.6 f", "BEGIN_RESP while an earlier response has not ended", transaction);
  } else if (time < response_free_) {
    violate("15.2.6 f", "BEGIN_RESP takes effect before the end of the last response", transaction);
  }
  responding_ = transaction.serial;
  transaction.state = State::responding;
}

void BaseProtocolMonitor::on_answer_to_request(std::uint64_t serial, tlm::tlm_sync_enum answer,
                                               const tlm::tlm_phase& phase,
                                               const sc_core::sc_time& time) {
  if (answer == tlm::TLM_ACCEPTED) return;
  Transaction* transaction = by_serial(serial);
  if (transaction == nullptr) return;  // ended within the call, which is reported
  if (answer == tlm::TLM_UPDATED) {
    if (phase == tlm::END_REQ || phase == tlm::BEGIN_RESP) {
      on_target_phase(*transaction, phase, time);
    } else {
      violate("15.2.3 c", "BEGIN_REQ returns with a phase of the initiator", *transaction);
    }
    return;
  }
  if (transaction->state != State::requested) {
    violate("15.2.4", "BEGIN_REQ returns TLM_COMPLETED after a phase of the target", *transaction);
  }
  check_unchanged(*transaction);
  check_response_status(*transaction);
  advance(*transaction, time);
  leave_request(*transaction, time);
  transaction->state = State::completed;
}

void BaseProtocolMonitor::on_answer_to_target(std::uint64_t serial, tlm::tlm_sync_enum answer,
                                              bool to_response, const sc_core::sc_time& time) {
  Transaction* transaction = by_serial(serial);
  if (transaction == nullptr) return;
  transaction->in_begin_resp = false;
  if (answer == tlm::TLM_ACCEPTED) return;
  if (!to_response) {
    violate("15.2.4", "the initiator answers END_REQ with more than TLM_ACCEPTED", *transaction);
    return;
  }
  if (checks_ == Checks::with_port_rules) {
    violate(kPort, "the initiator ends the response by its return from BEGIN_RESP", *transaction);
  }
  advance(*transaction, time);
  end_response(serial, time);
}

void BaseProtocolMonitor::on_end_response(const tlm::tlm_generic_payload& payload,
                                          const sc_core::sc_time& time) {
  Transaction* transaction = in_flight(payload);
  if (transaction == nullptr || transaction->state != State::responding) {
    violate("15.2.4", "END_RESP without a BEGIN_RESP that waits for it", payload);
    return;
  }
  check_unchanged(*transaction);
  if (checks_ == Checks::with_port_rules) {
    if (transaction->in_begin_resp) {
      violate(kPort, "END_RESP nested in the call of its BEGIN_RESP", *transaction);
    }
    if (time > transaction->time) violate(kPort, "END_RESP is held back", *transaction);
  }
  advance(*transaction, time);
  end_response(transaction->serial, time);
}

void BaseProtocolMonitor::advance(Transaction& transaction, const sc_core::sc_time& time) {
  if (time < transaction.time) {
    violate("15.2.7 c", "a phase takes effect before the one before it", transaction);
  }
  transaction.time = time;
}

void BaseProtocolMonitor::leave_request(const Transaction& transaction,
                                        const sc_core::sc_time& time) {
  if (requesting_ != transaction.serial) return;
  requesting_ = 0;
  request_free_ = time;
}

void BaseProtocolMonitor::end_response(std::uint64_t serial, const sc_core::sc_time& time) {
  if (responding_ == serial) {
    responding_ = 0;
    response_free_ = time;
  }
  open_.erase(std::find_if(open_.begin(), open_.end(),
                           [&](const Transaction& t) { return t.serial == serial; }));
}

BaseProtocolMonitor::Transaction* BaseProtocolMonitor::in_flight(
    const tlm::tlm_generic_payload& payload) {
  const auto found = std::find_if(open_.begin(), open_.end(), [&](const Transaction& t) {
    return t.payload == &payload && t.state != State::completed;
  });
  return found == open_.end() ? nullptr : &*found;
}

BaseProtocolMonitor::Transaction* BaseProtocolMonitor::by_serial(std::uint64_t serial) {
  const auto found = std::find_if(open_.begin(), open_.end(),
                                  [&](const Transaction& t) { return t.serial == serial; });
  return found == open_.end() ? nullptr : &*found;
}

void BaseProtocolMonitor::forget_completed() {
  const sc_core::sc_time& now = sc_core::sc_time_stamp();
  open_.erase(std::remove_if(open_.begin(), open_.end(),
                             [&](const Transaction& t) {
                               return t.state == State::completed && t.time <= now;
                             }),
              open_.end());
}

void BaseProtocolMonitor::violate(std::string_view rule, std::string_view what,
                                  const tlm::tlm_generic_payload& payload) {
  violate(rule, what, payload.get_command(), payload.get_data_length(), payload.get_address());
}

void BaseProtocolMonitor::violate(std::string_view rule, std::string_view what,
                                  const Transaction& transaction) {
  violate(rule, what, transaction.command, transaction.length, transaction.address);
}

void BaseProtocolMonitor::violate(std::string_view rule, std::string_view what,
                                  tlm::tlm_command command, std::uint64_t length,
                                  std::uint64_t address) {
  if (violations_.size() == kMaxViolations && on_violation_ == OnViolation::collect) return;
  const std::string_view kind = command == tlm::TLM_WRITE_COMMAND  ? "write"
                                : command == tlm::TLM_READ_COMMAND ? "read"
                                                                   : "transaction";
  std::string line = fmt::format("{}: {}: {}: {} of {} bytes at {:#x}, at {}", name(), rule, what,
                                 kind, length, address, sc_core::sc_time_stamp().to_string());
  if (on_violation_ == OnViolation::report) {
    SC_REPORT_ERROR("/kernbench/monitor/violation", line.c_str());
  }
  if (violations_.size() < kMaxViolations) violations_.push_back(std::move(line));
}

}  // namespace kernbench
