// SPDX-License-Identifier: Apache-2.0
#include "model/memory_port.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace kernbench {

MemoryPort::MemoryPort(const sc_core::sc_module_name& name, PeContext& pe, Client& client)
    : sc_module(name),
      Settling(pe.hub, SettlePhase::memory_port, pe.index, 0),
      pe_(pe),
      client_(client) {
  KERNBENCH_HAS_PROCESS(MemoryPort);
  SC_METHOD(apply_annotated);
  sensitive << annotated_event_;
  dont_initialize();
  memory.bind(*this);
}

MemoryPort::~MemoryPort() = default;

void MemoryPort::request(bool write, std::uint32_t channel, const arch::Burst& burst,
                         StageTransaction& stage, void* client_data, const std::uint8_t* data) {
  if (free_.empty()) {
    payloads_.push_back(std::make_unique<BurstPayload>());
    payloads_.back()->buffer.resize(pe_.config.dma.burst_bytes);
    payloads_.back()->set_mm(this);
    free_.push_back(payloads_.back().get());
  }
  BurstPayload& payload = *free_.back();
  free_.pop_back();
  payload.acquire();
  payload.burst = burst;
  payload.stage = &stage;
  payload.client_data = client_data;
  payload.accepted = false;
  // Every attribute, each time: peers change them (IEEE 1666, 14.7).
  payload.set_command(write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
  payload.set_address(burst.addr);
  payload.set_data_ptr(payload.buffer.data());
  payload.set_data_length(burst.bytes);
  payload.set_streaming_width(burst.bytes);
  payload.set_byte_enable_ptr(nullptr);
  payload.set_byte_enable_length(0);
  payload.set_dmi_allowed(false);
  payload.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
  if (data != nullptr) {
    std::memcpy(payload.buffer.data(), data, burst.bytes);
  } else if (write && pe_.data) {
    read_back(payload);
  }
  requests_.push_back({pe_.time.now(), write, channel, &payload});
  if (at_socket_ == nullptr) touch();
}

// A write of a command without data_op takes its time and leaves the bytes as they are (R3.6): it
// sends what is there. A memory without debug access has nothing to be kept.
void MemoryPort::read_back(BurstPayload& payload) {
  tlm::tlm_generic_payload probe;
  probe.set_read();
  probe.set_address(payload.burst.addr);
  probe.set_data_ptr(payload.buffer.data());
  probe.set_data_length(payload.burst.bytes);
  probe.set_streaming_width(payload.burst.bytes);
  memory->transport_dbg(probe);
}

void MemoryPort::settle() {
  // An END_RESP may start the next response within the call.
  for (std::size_t i = 0; i < end_resp_.size(); ++i) {
    BurstPayload& payload = *end_resp_[i];
    tlm::tlm_phase phase = tlm::END_RESP;
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    memory->nb_transport_fw(payload, phase, delay);
    payload.release();
  }
  end_resp_.clear();
  while (at_socket_ == nullptr && !requests_.empty()) send_next_request();
}

void MemoryPort::send_next_request() {
  const auto first =
      std::min_element(requests_.begin(), requests_.end(), [](const Request& x, const Request& y) {
        if (x.arrival != y.arrival) return x.arrival < y.arrival;
        return x.write != y.write ? !x.write : x.channel < y.channel;
      });
  BurstPayload& payload = *first->payload;
  requests_.erase(first);
  at_socket_ = &payload;  // before the call: the answer may come nested in it
  tlm::tlm_phase phase = tlm::BEGIN_REQ;
  sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
  switch (memory->nb_transport_fw(payload, phase, delay)) {
    case tlm::TLM_ACCEPTED:
      break;
    case tlm::TLM_UPDATED:
      on_phase(payload, phase, delay);
      break;
    case tlm::TLM_COMPLETED:
      answer(payload, true, false, delay);
      break;
  }
}

tlm::tlm_sync_enum MemoryPort::nb_transport_bw(tlm::tlm_generic_payload& payload,
                                               tlm::tlm_phase& phase, sc_core::sc_time& delay) {
  on_phase(static_cast<BurstPayload&>(payload), phase, delay);
  return tlm::TLM_ACCEPTED;
}

void MemoryPort::on_phase(BurstPayload& payload, const tlm::tlm_phase& phase,
                          const sc_core::sc_time& delay) {
  if (phase == tlm::END_REQ) {
    answer(payload, false, false, delay);
  } else if (phase == tlm::BEGIN_RESP) {
    answer(payload, true, true, delay);
  }  // other phases may be ignored (IEEE 1666, 15.2)
}

void MemoryPort::answer(BurstPayload& payload, bool response, bool needs_end_resp,
                        const sc_core::sc_time& delay) {
  const std::uint64_t ps = pe_.time.to_ps(delay);
  if (ps == 0) {
    if (response) {
      respond(payload, needs_end_resp);
    } else {
      accept(payload);
    }
    return;
  }
  const std::uint64_t time = pe_.time.now() + ps;
  const auto place =
      std::upper_bound(annotated_.begin(), annotated_.end(), time,
                       [](std::uint64_t t, const Annotated& a) { return t < a.time; });
  annotated_.insert(place, {time, &payload, response, needs_end_resp});
  annotated_event_.notify(delay);  // an earlier notification stays
}

void MemoryPort::apply_annotated() {
  in_turn([this] {
    const std::uint64_t now = pe_.time.now();
    while (!annotated_.empty() && annotated_.front().time <= now) {
      const Annotated due = annotated_.front();
      annotated_.erase(annotated_.begin());
      if (due.response) {
        respond(*due.payload, due.needs_end_resp);
      } else {
        accept(*due.payload);
      }
    }
    if (!annotated_.empty()) {
      annotated_event_.notify(pe_.time.to_sc_time(annotated_.front().time - now));
    }
  });
}

void MemoryPort::accept(BurstPayload& payload) {
  if (payload.accepted) return;
  payload.accepted = true;
  if (at_socket_ == &payload) {
    at_socket_ = nullptr;
    if (!requests_.empty()) touch();
  }
  client_.accepted(payload);
}

void MemoryPort::respond(BurstPayload& payload, bool needs_end_resp) {
  accept(payload);  // a response implies the acceptance, if END_REQ never came
  // Nor may an END_REQ that was annotated for later meet the payload's next use.
  annotated_.erase(std::remove_if(annotated_.begin(), annotated_.end(),
                                  [&](const Annotated& a) { return a.payload == &payload; }),
                   annotated_.end());
  if (!payload.is_response_ok()) {
    const arch::StageSpec& spec = payload.stage->spec;
    SC_REPORT_ERROR(
        "/kernbench/memory_port/response",
        fmt::format(
            "{}: the memory answered {} to a {} of {} bytes at {:#x} (command {}, operand "
            "{}); check the memory's address range and the sizes it takes",
            name(), payload.get_response_string(), payload.is_write() ? "write" : "read",
            payload.burst.bytes, payload.burst.addr, payload.stage->command,
            command::to_string(spec.kind == arch::StageKind::dma_read ? spec.operands[0].name
                                                                      : spec.out.name))
            .c_str());
  }
  client_.completed(payload);
  if (needs_end_resp) {
    end_resp_.push_back(&payload);
    touch();
  } else {
    payload.release();
  }
}

void MemoryPort::free(tlm::tlm_generic_payload* payload) {
  payload->reset();
  free_.push_back(static_cast<BurstPayload*>(payload));
}

}  // namespace kernbench
