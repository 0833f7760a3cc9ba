// SPDX-License-Identifier: Apache-2.0
#include "model/embedded_hbm.hpp"

#include <tlm_utils/simple_target_socket.h>

#include <algorithm>
#include <string>

#include "model/arch/config_check.hpp"
#include "model/arrival_queue.hpp"
#include "tlm_if/response_side.hpp"

namespace kernbench {
namespace {

const arch::HbmConfig& checked(const char* name, const arch::HbmConfig& config) {
  arch::check_config(name, config);
  return config;
}

}  // namespace

/// One target socket, and the response side of its base protocol.
class EmbeddedHbm::Port {
 public:
  Port(EmbeddedHbm& memory, std::uint32_t port_index)
      : socket(("port_" + std::to_string(port_index)).c_str()), index(port_index), memory_(memory) {
    // b_transport is the socket's own: it goes through the phases and waits for them.
    socket.register_nb_transport_fw(this, &Port::nb_transport_fw);
    socket.register_transport_dbg(this, &Port::transport_dbg);
    socket.register_get_direct_mem_ptr(this, &Port::get_direct_mem_ptr);
  }

  void respond(tlm::tlm_generic_payload& payload) { responses_.respond(payload); }

  tlm_utils::simple_target_socket<Port, 32> socket;
  const std::uint32_t index;

 private:
  tlm::tlm_sync_enum nb_transport_fw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay) {
    if (phase == tlm::BEGIN_REQ) {
      payload.acquire();
      memory_.arrive(*this, payload, delay);
    } else if (phase == tlm::END_RESP) {
      responses_.end_response(payload);
      return tlm::TLM_COMPLETED;
    }
    return tlm::TLM_ACCEPTED;
  }

  unsigned int transport_dbg(tlm::tlm_generic_payload& payload) {
    const command::ByteRange range = memory_.storage_.range();
    const std::uint64_t addr = payload.get_address();
    if (!memory_.data_ || addr >= range.end) return 0;
    const std::uint64_t bytes =
        std::min<std::uint64_t>(payload.get_data_length(), range.end - addr);
    if (payload.is_read()) memory_.storage_.read(addr, payload.get_data_ptr(), bytes);
    if (payload.is_write()) memory_.storage_.write(addr, payload.get_data_ptr(), bytes);
    return static_cast<unsigned int>(bytes);
  }

  bool get_direct_mem_ptr(tlm::tlm_generic_payload&, tlm::tlm_dmi& dmi) {
    dmi.init();  // denied for all addresses: no access, null pointer, range 0 to the last
    return false;
  }

  EmbeddedHbm& memory_;
  ResponseSide responses_{*socket.operator->()};
};

EmbeddedHbm::EmbeddedHbm(const sc_core::sc_module_name& name, const arch::HbmConfig& config,
                         std::uint32_t ports, bool data, std::uint32_t order)
    : sc_module(name),
      Settling(SettleHub::of_simulation(), SettlePhase::memory, order, 0),
      timing_(checked(sc_module::name(), config)),
      data_(data),
      storage_({0, config.bytes}) {
  KERNBENCH_HAS_PROCESS(EmbeddedHbm);
  SC_METHOD(finish_service);
  sensitive << service_event_;
  dont_initialize();
  SC_METHOD(take_annotated);
  sensitive << annotated_.due_event();
  dont_initialize();
  SC_METHOD(send_responses);
  sensitive << response_event_;
  dont_initialize();
  for (std::uint32_t i = 0; i < ports; ++i) ports_.push_back(std::make_unique<Port>(*this, i));
}

EmbeddedHbm::~EmbeddedHbm() = default;

tlm::tlm_target_socket<32>& EmbeddedHbm::port(std::uint32_t index) {
  return ports_.at(index)->socket;
}

void EmbeddedHbm::arrive(Port& port, tlm::tlm_generic_payload& payload,
                         const sc_core::sc_time& delay) {
  if (delay == sc_core::SC_ZERO_TIME) {
    enqueue(port, payload);
    return;
  }
  annotated_.push(delay, {&port, &payload});
}

void EmbeddedHbm::take_annotated() {
  in_turn([this] {
    annotated_.run_due([this](const Annotated& due) { enqueue(*due.port, *due.payload); });
  });
}

void EmbeddedHbm::enqueue(Port& port, tlm::tlm_generic_payload& payload) {
  insert_from_back(requests_, {time_.now(), &port, &payload},
                   [](const Request& x, const Request& y) {
                     return x.arrival == y.arrival && x.port->index < y.port->index;
                   });
  if (!serving_) touch();
}

void EmbeddedHbm::settle() {
  if (serving_ || requests_.empty()) return;
  served_ = requests_.front();
  requests_.erase(requests_.begin());
  serving_ = true;
  service_event_.notify(time_.to_sc_time(timing_.service(served_.payload->get_data_length())));
}

void EmbeddedHbm::finish_service() {
  in_turn([this] {
    const Request served = served_;
    serving_ = false;
    if (!requests_.empty()) touch();
    count(*served.payload);
    access(*served.payload);
    tlm::tlm_phase phase = tlm::END_REQ;
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    served.port->socket->nb_transport_bw(*served.payload, phase, delay);
    if (timing_.latency() == 0) {
      served.port->respond(*served.payload);
      return;
    }
    if (responses_.empty()) response_event_.notify(time_.to_sc_time(timing_.latency()));
    responses_.push_back({time_.now() + timing_.latency(), served.port, served.payload});
  });
}

void EmbeddedHbm::send_responses() {
  in_turn([this] {
    const std::uint64_t now = time_.now();
    while (!responses_.empty() && responses_.front().time <= now) {
      const Response due = responses_.front();
      responses_.pop_front();
      due.port->respond(*due.payload);
    }
    if (!responses_.empty()) {
      response_event_.notify(time_.to_sc_time(responses_.front().time - now));
    }
  });
}

void EmbeddedHbm::count(const tlm::tlm_generic_payload& payload) {
  const std::uint64_t bytes = payload.get_data_length();
  totals_.busy_ps += timing_.service(bytes);
  (payload.is_write() ? totals_.write_bytes : totals_.read_bytes) += bytes;
}

void EmbeddedHbm::access(tlm::tlm_generic_payload& payload) {
  const std::uint64_t bytes = payload.get_data_length();
  const command::ByteRange range = storage_.range();
  if (payload.get_byte_enable_ptr() != nullptr) {
    payload.set_response_status(tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE);
  } else if (payload.get_streaming_width() < bytes || bytes == 0) {
    payload.set_response_status(tlm::TLM_BURST_ERROR_RESPONSE);
  } else if (payload.get_address() >= range.end || bytes > range.end - payload.get_address()) {
    payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
  } else {
    if (data_ && payload.is_read()) {
      storage_.read(payload.get_address(), payload.get_data_ptr(), bytes);
    } else if (data_ && payload.is_write()) {
      storage_.write(payload.get_address(), payload.get_data_ptr(), bytes);
    }
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
  }
}

}  // namespace kernbench
