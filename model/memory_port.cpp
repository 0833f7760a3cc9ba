// SPDX-License-Identifier: Apache-2.0
#include "model/memory_port.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "model/record/record.hpp"

namespace kernbench {
namespace {

/// Raises the peaks of outstanding bytes, given the outstanding bytes of reads and of writes.
void raise_to(MemoryPortTotals& totals, const std::array<std::uint64_t, 2>& outstanding) {
  const auto raise = [](PortTotals& of, std::uint64_t bytes) {
    of.max_outstanding_bytes = std::max(of.max_outstanding_bytes, bytes);
  };
  raise(totals.read, outstanding[0]);
  raise(totals.write, outstanding[1]);
}

}  // namespace

/// The payloads of a port, and their memory manager. It outlives the port while a memory holds a
/// payload, since memories may be destroyed after the PE and release payloads then. It is an
/// sc_object, so payloads that are never released belong to the simulation.
class MemoryPort::Payloads : public sc_core::sc_object, private tlm::tlm_mm_interface {
 public:
  explicit Payloads(std::size_t buffer_bytes)
      : sc_object("payloads"), buffer_bytes_(buffer_bytes) {}

  /// The payload has the reference of the port.
  BurstPayload& acquire() {
    if (free_.empty()) {
      all_.push_back(std::make_unique<BurstPayload>());
      all_.back()->buffer.resize(buffer_bytes_);
      all_.back()->set_mm(this);
      free_.push_back(all_.back().get());
    }
    BurstPayload& payload = *free_.back();
    free_.pop_back();
    payload.acquire();
    payload.held = true;
    return payload;
  }
  /// The port releases a payload.
  static void release(BurstPayload& payload) {
    payload.held = false;
    payload.release();
  }
  /// The port is destroyed.
  void leave() {
    for (const auto& payload : all_) {
      if (payload->held) release(*payload);
    }
    left_ = true;
    delete_if_unused();
  }

  const std::vector<std::unique_ptr<BurstPayload>>& all() const { return all_; }
  std::size_t live() const { return all_.size() - free_.size(); }

 private:
  ~Payloads() override = default;

  void free(tlm::tlm_generic_payload* payload) override {
    payload->reset();
    free_.push_back(static_cast<BurstPayload*>(payload));
    if (left_) delete_if_unused();
  }
  void delete_if_unused() {
    if (live() == 0) delete this;
  }

  const std::size_t buffer_bytes_;
  std::vector<std::unique_ptr<BurstPayload>> all_;
  std::vector<BurstPayload*> free_;
  bool left_ = false;
};

void MemoryPort::LeavePayloads::operator()(Payloads* payloads) const { payloads->leave(); }

/// The threads of a port that calls b_transport, and the bursts that they have completed at this
/// instant.
class MemoryPort::Blocking : private Settling {
 public:
  explicit Blocking(MemoryPort& port);

  /// Sends the burst in the thread of its channel, which is free.
  void start(BurstPayload& payload);

 private:
  class Channel;

  void settle() override;

  MemoryPort& port_;
  std::vector<std::unique_ptr<Channel>> channels_;  // of reads, then of writes
};

class MemoryPort::Blocking::Channel : public sc_core::sc_module {
 public:
  Channel(const sc_core::sc_module_name& name, Blocking& blocking)
      : sc_module(name), blocking_(blocking) {
    KERNBENCH_HAS_PROCESS(Channel);
    SC_THREAD(call);
  }

  void start(BurstPayload& payload) {
    payload_ = &payload;
    start_event_.notify();
  }
  /// A burst that has completed since the last call; null if none.
  BurstPayload* take_completed() {
    if (!completed_) return nullptr;
    completed_ = false;
    return std::exchange(payload_, nullptr);
  }

 private:
  void call() {
    for (;;) {
      while (payload_ == nullptr || completed_) sc_core::wait(start_event_);
      sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
      blocking_.port_.memory->b_transport(*payload_, delay);
      if (delay != sc_core::SC_ZERO_TIME) sc_core::wait(delay);
      completed_ = true;
      blocking_.touch();
    }
  }

  Blocking& blocking_;
  BurstPayload* payload_ = nullptr;
  bool completed_ = false;  // and not taken
  sc_core::sc_event start_event_;
};

MemoryPort::Blocking::Blocking(MemoryPort& port)
    : Settling(port.pe_.hub, SettlePhase::completion, port.pe_.index, 0), port_(port) {
  const arch::DmaConfig& dma = port.pe_.config.dma;
  const auto add = [&](arch::Engine engine, std::uint32_t channels) {
    for (std::uint32_t i = 0; i < channels; ++i) {
      channels_.push_back(std::make_unique<Channel>(record::engine_name(engine, i).c_str(), *this));
    }
  };
  add(arch::Engine::dma_rd, dma.read_channels);
  add(arch::Engine::dma_wr, dma.write_channels);
}

void MemoryPort::Blocking::start(BurstPayload& payload) {
  const std::uint32_t first = payload.write ? port_.pe_.config.dma.read_channels : 0;
  channels_[first + payload.channel]->start(payload);
}

// In the order of channels, not in the order in which the threads have run.
void MemoryPort::Blocking::settle() {
  for (const auto& channel : channels_) {
    if (BurstPayload* payload = channel->take_completed()) port_.respond(*payload, false);
  }
}

MemoryPort::MemoryPort(const sc_core::sc_module_name& name, PeContext& pe, Client& client)
    : sc_module(name),
      Settling(pe.hub, SettlePhase::memory_port, pe.index, 0),
      pe_(pe),
      client_(client),
      payloads_(new Payloads(pe.config.dma.burst_bytes)) {
  KERNBENCH_HAS_PROCESS(MemoryPort);
  SC_METHOD(apply_annotated);
  sensitive << annotated_.due_event();
  dont_initialize();
  memory.bind(*this);
  if (pe.config.dma.port == arch::DmaPort::lt) blocking_ = std::make_unique<Blocking>(*this);
}

MemoryPort::~MemoryPort() = default;

std::size_t MemoryPort::live_payloads() const { return payloads_->live(); }

MemoryPortTotals MemoryPort::totals() const {
  MemoryPortTotals totals = totals_;
  raise_to(totals, outstanding_);
  return totals;
}

void MemoryPort::keep_outstanding() {
  const std::uint64_t now = pe_.time.now();
  if (now == outstanding_since_ps_) return;
  raise_to(totals_, outstanding_);
  outstanding_since_ps_ = now;
}

void MemoryPort::request(bool write, std::uint32_t channel, const arch::Burst& burst,
                         StageTransaction& stage, void* client_data, const std::uint8_t* data) {
  BurstPayload& payload = payloads_->acquire();
  payload.burst = burst;
  payload.stage = &stage;
  payload.client_data = client_data;
  payload.write = write;
  payload.channel = channel;
  payload.requested_ps = pe_.time.now();
  payload.sent = payload.accepted = payload.answered = false;
  PortTotals& totals = totals_of(payload);
  ++totals.bursts;
  totals.bytes += burst.bytes;
  totals.bus_bytes += std::max<std::uint64_t>(burst.bytes, pe_.config.dma.bus_bytes);
  keep_outstanding();
  outstanding_[write ? 1 : 0] += burst.bytes;
  // Every attribute is set each time, because peers change them (IEEE 1666, 14.7).
  payload.set_command(write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
  payload.set_address(address(burst));
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
  requests_.push_back({payload.requested_ps, write, channel, &payload});
  if (at_socket_ == nullptr) touch();
}

// A write of a command without data_op takes its time but does not change bytes (R3.6), so it sends
// the bytes that are there. A memory without debug access has no bytes to keep.
void MemoryPort::read_back(BurstPayload& payload) {
  tlm::tlm_generic_payload probe;
  probe.set_read();
  probe.set_address(address(payload.burst));
  probe.set_data_ptr(payload.buffer.data());
  probe.set_data_length(payload.burst.bytes);
  probe.set_streaming_width(payload.burst.bytes);
  memory->transport_dbg(probe);
}

void MemoryPort::settle() {
  if (blocking_ != nullptr) {
    if (requests_.empty()) return;
    blocking_->start(take_first_request());
    end_pass();
    if (!requests_.empty()) touch();
    return;
  }
  // An END_RESP may start the next response within the call.
  for (std::size_t i = 0; i < end_resp_.size(); ++i) {
    BurstPayload& payload = *end_resp_[i];
    tlm::tlm_phase phase = tlm::END_RESP;
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    memory->nb_transport_fw(payload, phase, delay);
    Payloads::release(payload);
  }
  end_resp_.clear();
  while (at_socket_ == nullptr && !requests_.empty()) send_next_request();
}

BurstPayload& MemoryPort::take_first_request() {
  const auto first =
      std::min_element(requests_.begin(), requests_.end(), [](const Request& x, const Request& y) {
        if (x.arrival != y.arrival) return x.arrival < y.arrival;
        return x.write != y.write ? !x.write : x.channel < y.channel;
      });
  BurstPayload& payload = *first->payload;
  requests_.erase(first);
  payload.sent = true;
  payload.sent_ps = pe_.time.now();
  return payload;
}

void MemoryPort::send_next_request() {
  BurstPayload& payload = take_first_request();
  at_socket_ = &payload;  // before the call, since the answer may come nested in it
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
  if (delay == sc_core::SC_ZERO_TIME) {
    if (response) {
      respond(payload, needs_end_resp);
    } else {
      accept(payload);
    }
    return;
  }
  annotated_.push(delay, {&payload, response, needs_end_resp});
}

void MemoryPort::apply_annotated() {
  in_turn([this] {
    annotated_.run_due([this](const Annotated& due) {
      if (due.response) {
        respond(*due.payload, due.needs_end_resp);
      } else {
        accept(*due.payload);
      }
    });
  });
}

void MemoryPort::accept(BurstPayload& payload) {
  if (payload.accepted) return;
  payload.accepted = true;
  pe_.progress();
  totals_of(payload).accept_wait_ps += pe_.time.now() - payload.sent_ps;
  if (at_socket_ == &payload) {
    at_socket_ = nullptr;
    if (!requests_.empty()) touch();
  }
  client_.accepted(payload);
}

void MemoryPort::respond(BurstPayload& payload, bool needs_end_resp) {
  payload.answered = true;
  pe_.progress();
  pe_.hub->progress();
  keep_outstanding();
  outstanding_[payload.write ? 1 : 0] -= payload.burst.bytes;
  accept(payload);  // a response implies acceptance if END_REQ never came
  // An END_REQ that was annotated for later must not apply to the payload's next use.
  annotated_.remove_if([&](const Annotated& of) { return of.payload == &payload; });
  if (!payload.is_response_ok()) {
    report(payload);
    // Reached only if the user lets the run continue: the missing bytes must not be taken for data.
    if (!payload.write) {
      std::fill_n(payload.buffer.begin(), payload.burst.bytes, pe_.tcm.unwritten());
    }
  }
  client_.completed(payload);
  if (needs_end_resp) {
    end_resp_.push_back(&payload);
    touch();
  } else {
    Payloads::release(payload);
  }
}

void MemoryPort::report(const BurstPayload& payload) const {
  const arch::StageSpec& spec = payload.stage->spec;
  const std::string at_socket = pe_.config.memory_offset == 0
                                    ? ""
                                    : fmt::format(" ({:#x} at the socket)", address(payload.burst));
  const std::string reason = fmt::format(
      "{}: the memory answered {} to a {} of {} bytes at {:#x}{} ({}, command {}, operand {}); "
      "check the memory's address range, the sizes it takes, and that it sets a status",
      name(), payload.get_response_string(), payload.write ? "write" : "read", payload.burst.bytes,
      payload.burst.addr, at_socket,
      record::engine_name(payload.write ? arch::Engine::dma_wr : arch::Engine::dma_rd,
                          payload.channel),
      payload.stage->command,
      command::to_string(payload.write ? spec.out.name : spec.operands[0].name));
  const auto kind = payload.get_response_status() == tlm::TLM_ADDRESS_ERROR_RESPONSE
                        ? PeFault::Kind::address
                        : PeFault::Kind::memory;
  if (pe_.takes({payload.stage->command, payload.burst.addr, kind, reason})) return;
  SC_REPORT_ERROR("/kernbench/memory_port/response", reason.c_str());
}

void MemoryPort::waits(arch::WaitGraph& graph) const {
  for (const bool write : {false, true}) {
    const BurstPayload* oldest = nullptr;
    for (const auto& payload : payloads_->all()) {
      if (payload->answered || payload->write != write) continue;
      if (oldest == nullptr || payload->requested_ps < oldest->requested_ps) oldest = payload.get();
    }
    if (oldest == nullptr) continue;
    graph.note(arch::WaitNode::command(pe_.index, oldest->stage->command),
               fmt::format("waits for the memory: a {} of {} bytes at {:#x} {}",
                           write ? "write" : "read", oldest->burst.bytes, oldest->burst.addr,
                           oldest->accepted ? "has been accepted and not answered"
                           : oldest->sent   ? "has been sent and not accepted"
                                            : "has not been sent: others are before it"));
  }
}

}  // namespace kernbench
