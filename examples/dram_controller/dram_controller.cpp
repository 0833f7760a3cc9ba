// SPDX-License-Identifier: Apache-2.0
#include "dram_controller.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace dram {
namespace {

DECLARE_EXTENDED_PHASE(column);     // the row is open: the column access can be issued
DECLARE_EXTENDED_PHASE(bank_free);  // the next request of the bank may follow
DECLARE_EXTENDED_PHASE(data_end);   // the response is due

sc_core::sc_time ns(double value) { return {value, sc_core::SC_NS}; }

void require(bool right, const std::string& what) {
  if (!right) throw std::invalid_argument("dram::Config: " + what);
}

Config checked(const Config& config) {
  const auto bytes = config.access_bytes;
  require(bytes > 0 && (bytes & (bytes - 1)) == 0,
          "access_bytes " + std::to_string(bytes) + " is not a power of two");
  require(config.row_bytes > 0 && config.row_bytes % bytes == 0,
          "row_bytes " + std::to_string(config.row_bytes) + " is not a multiple of access_bytes " +
              std::to_string(bytes));
  require(config.banks > 0 && config.rows > 0 && config.queue_depth > 0,
          "banks, rows and queue_depth must be 1 or more");
  require(config.t_cl_ns > 0 && config.t_burst_ns > 0, "t_cl_ns and t_burst_ns must be above 0");
  require(config.t_rcd_ns >= 0 && config.t_rp_ns >= 0 && config.t_phy_ns >= 0 &&
              config.t_refi_ns >= 0 && config.t_rfc_ns >= 0,
          "no time may be negative");
  require(config.t_refi_ns == 0 || config.t_rfc_ns < config.t_refi_ns,
          "t_rfc_ns must be below t_refi_ns");
  return config;
}

}  // namespace

DramController::DramController(const sc_core::sc_module_name& name, const Config& config)
    : sc_module(name),
      config_(checked(config)),
      t_rcd_(ns(config.t_rcd_ns)),
      t_rp_(ns(config.t_rp_ns)),
      t_cl_(ns(config.t_cl_ns)),
      t_burst_(ns(config.t_burst_ns)),
      t_phy_(ns(config.t_phy_ns)),
      t_refi_(ns(config.t_refi_ns)),
      t_rfc_(ns(config.t_rfc_ns)),
      bytes_(config.bytes()),
      banks_(config.banks),
      agenda_(this, &DramController::step) {
  const std::array<std::string, 3> names{"row", "bank", "column"};  // as Field
  std::array<std::size_t, 3> order{0, 1, 2};
  const auto text = [&] { return names[order[0]] + ":" + names[order[1]] + ":" + names[order[2]]; };
  while (text() != config.mapping) {
    require(std::next_permutation(order.begin(), order.end()),
            "mapping '" + config.mapping +
                "' is not an order of row, bank and column; give one as " + "row:bank:column");
  }
  for (std::size_t i = 0; i < order.size(); ++i) mapping_[i] = static_cast<Field>(order[i]);
  socket.register_nb_transport_fw(this, &DramController::nb_transport_fw);
  socket.register_b_transport(this, &DramController::b_transport);
  socket.register_transport_dbg(this, &DramController::transport_dbg);
}

Place DramController::place(std::uint64_t address) const {
  Place place;
  std::uint64_t rest = address / config_.access_bytes;
  const auto take = [&rest](std::uint64_t size) {
    const std::uint64_t field = rest % size;
    rest /= size;
    return field;
  };
  for (auto field = mapping_.rbegin(); field != mapping_.rend(); ++field) {
    if (*field == Field::row) place.row = take(config_.rows);
    if (*field == Field::bank) place.bank = take(config_.banks);
    if (*field == Field::column) place.column = take(config_.row_bytes / config_.access_bytes);
  }
  return place;
}

tlm::tlm_sync_enum DramController::nb_transport_fw(tlm::tlm_generic_payload& payload,
                                                   tlm::tlm_phase& phase, sc_core::sc_time& delay) {
  if (phase == tlm::BEGIN_REQ) payload.acquire();
  if (phase == tlm::BEGIN_REQ || phase == tlm::END_RESP) agenda_.notify(payload, phase, delay);
  return tlm::TLM_ACCEPTED;
}

void DramController::step(tlm::tlm_generic_payload& payload, const tlm::tlm_phase& phase) {
  if (phase == tlm::BEGIN_REQ) {
    arrive(payload);
  } else if (phase == column) {
    issue_column(payload);
  } else if (phase == bank_free) {
    leave(payload);
  } else if (phase == data_end) {
    access(payload);
    respond(payload);
  } else if (phase == tlm::END_RESP) {
    responses_.pop_front();
    responding_ = false;
    payload.release();
    if (!responses_.empty()) begin_response();
  }
}

void DramController::arrive(tlm::tlm_generic_payload& payload) {
  payload.set_response_status(check(payload));
  if (!payload.is_response_ok()) {
    accept(payload);
    respond(payload);
  } else if (queue_.size() == config_.queue_depth) {
    held_ = &payload;  // only one, since the next BEGIN_REQ waits for its END_REQ
    held_since_ = sc_core::sc_time_stamp();
  } else {
    enqueue(payload);
  }
}

void DramController::accept(tlm::tlm_generic_payload& payload) {
  tlm::tlm_phase phase = tlm::END_REQ;
  sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
  socket->nb_transport_bw(payload, phase, delay);
}

void DramController::enqueue(tlm::tlm_generic_payload& payload) {
  const Place here = place(payload.get_address());
  queue_.push_back({&payload, here});
  accept(payload);
  serve(here.bank);
}

void DramController::serve(std::uint64_t number) {
  Bank& bank = banks_[number];
  if (bank.busy) return;
  const auto first = std::find_if(queue_.begin(), queue_.end(),
                                  [&](const Request& r) { return r.place.bank == number; });
  if (first == queue_.end()) return;
  sc_core::sc_time delay = refresh_delay(bank);
  auto next = first;
  if (config_.scheduler == Scheduler::fr_fcfs && bank.open) {
    const auto hit = std::find_if(first, queue_.end(), [&](const Request& r) {
      return r.place.bank == number && r.place.row == bank.row;
    });
    if (hit != queue_.end()) next = hit;
  }
  if (!bank.open) {
    ++statistics_.misses;
    delay += t_rcd_;
  } else if (bank.row != next->place.row) {
    ++statistics_.conflicts;
    delay += t_rp_ + t_rcd_;
  } else {
    ++statistics_.hits;
  }
  bank.busy = bank.open = true;
  bank.row = next->place.row;
  agenda_.notify(*next->payload, column, delay);
}

void DramController::issue_column(tlm::tlm_generic_payload& payload) {
  const sc_core::sc_time& now = sc_core::sc_time_stamp();
  const sc_core::sc_time data = std::max(now + t_cl_, bus_free_);
  bus_free_ = data + t_burst_;
  agenda_.notify(payload, bank_free, bus_free_ - t_cl_ - now);
  agenda_.notify(payload, data_end, bus_free_ + t_phy_ - now);
}

void DramController::leave(const tlm::tlm_generic_payload& payload) {
  const auto request = std::find_if(queue_.begin(), queue_.end(),
                                    [&](const Request& r) { return r.payload == &payload; });
  const std::uint64_t bank = request->place.bank;
  queue_.erase(request);
  banks_[bank].busy = false;
  if (held_ != nullptr) {
    statistics_.end_req_wait += sc_core::sc_time_stamp() - held_since_;
    tlm::tlm_generic_payload& waiting = *held_;
    held_ = nullptr;
    enqueue(waiting);
  }
  serve(bank);
}

void DramController::respond(tlm::tlm_generic_payload& payload) {
  responses_.push_back(&payload);
  if (!responding_) begin_response();
}

void DramController::begin_response() {
  responding_ = true;
  tlm::tlm_generic_payload& payload = *responses_.front();
  tlm::tlm_phase phase = tlm::BEGIN_RESP;
  sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
  const tlm::tlm_sync_enum answer = socket->nb_transport_bw(payload, phase, delay);
  // The initiator may end the response by its return value; otherwise END_RESP comes as a call.
  if (answer == tlm::TLM_COMPLETED || (answer == tlm::TLM_UPDATED && phase == tlm::END_RESP)) {
    agenda_.notify(payload, tlm::END_RESP, delay);
  }
}

sc_core::sc_time DramController::refresh_delay(Bank& bank) const {
  if (t_refi_ == sc_core::SC_ZERO_TIME) return sc_core::SC_ZERO_TIME;
  const sc_core::sc_time& now = sc_core::sc_time_stamp();
  const std::uint64_t refreshes = now.value() / t_refi_.value();
  if (bank.refreshes != refreshes) {
    bank.refreshes = refreshes;
    bank.open = false;
  }
  const sc_core::sc_time end = static_cast<double>(refreshes) * t_refi_ + t_rfc_;
  return refreshes > 0 && now < end ? end - now : sc_core::SC_ZERO_TIME;
}

tlm::tlm_response_status DramController::check(const tlm::tlm_generic_payload& payload) const {
  const std::uint64_t address = payload.get_address(), bytes = payload.get_data_length();
  if (payload.get_byte_enable_ptr() != nullptr) return tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE;
  if (!payload.is_read() && !payload.is_write()) return tlm::TLM_COMMAND_ERROR_RESPONSE;
  if (address >= bytes_.size() || bytes > bytes_.size() - address) {
    return tlm::TLM_ADDRESS_ERROR_RESPONSE;
  }
  if (bytes == 0 || payload.get_streaming_width() < bytes ||
      address / config_.access_bytes != (address + bytes - 1) / config_.access_bytes) {
    return tlm::TLM_BURST_ERROR_RESPONSE;  // more than one column access
  }
  return tlm::TLM_OK_RESPONSE;
}

void DramController::access(tlm::tlm_generic_payload& payload) {
  statistics_.bytes += payload.get_data_length();
  transport_dbg(payload);
}

void DramController::b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  payload.set_response_status(check(payload));
  if (payload.is_response_ok()) access(payload);
  delay += t_rcd_ + t_cl_ + t_burst_ + t_phy_;
}

unsigned int DramController::transport_dbg(tlm::tlm_generic_payload& payload) {
  const std::uint64_t address = payload.get_address();
  if (address >= bytes_.size()) return 0;
  const auto bytes = static_cast<unsigned int>(
      std::min<std::uint64_t>(payload.get_data_length(), bytes_.size() - address));
  if (payload.is_read()) std::memcpy(payload.get_data_ptr(), &bytes_[address], bytes);
  if (payload.is_write()) std::memcpy(&bytes_[address], payload.get_data_ptr(), bytes);
  return bytes;
}

}  // namespace dram
