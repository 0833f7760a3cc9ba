// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "tlm_if/command/address_map.hpp"
#include "tlm_if/systemc.hpp"

namespace kernbench::test {

/// One of a Requester.
struct Access {
  std::uint64_t at_ps = 0;  ///< not before
  bool write = false;
  command::Address addr = 0;
  std::uint32_t bytes = 0;
  std::vector<std::uint8_t> data = {};  ///< of a write; of a read what came
  std::uint64_t accepted_ps = 0, done_ps = 0;
  tlm::tlm_response_status status = tlm::TLM_INCOMPLETE_RESPONSE;
};

/// An initiator of the base protocol with a list of accesses, sent in order, each as soon as the
/// last is accepted and none on the same bytes is outstanding.
class Requester : public sc_core::sc_module,
                  private tlm::tlm_bw_transport_if<>,
                  private tlm::tlm_mm_interface {
 public:
  tlm::tlm_initiator_socket<32> memory{"memory"};
  std::deque<Access> accesses;
  sc_core::sc_time annotated = sc_core::SC_ZERO_TIME;  ///< to each BEGIN_REQ
  std::size_t freed = 0;

  explicit Requester(const sc_core::sc_module_name& name) : sc_module(name) {
    KERNBENCH_HAS_PROCESS(Requester);
    SC_METHOD(run);
    sensitive << go_event_;
    memory.bind(*this);
  }

 private:
  struct Payload : tlm::tlm_generic_payload {
    Access* access = nullptr;
  };

  void run() {
    for (Payload* payload : std::exchange(end_resp_, {})) {
      tlm::tlm_phase phase = tlm::END_RESP;
      sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
      memory->nb_transport_fw(*payload, phase, delay);
      payload->release();
    }
    if (at_socket_ || sent_ == accesses.size()) return;
    Access& access = accesses[sent_];
    if (access.at_ps > time_.now()) {
      go_event_.notify(time_.to_sc_time(access.at_ps - time_.now()));
      return;
    }
    const auto overlaps = [&](const Access* other) {
      return access.addr < other->addr + other->bytes && other->addr < access.addr + access.bytes;
    };
    if (std::any_of(outstanding_.begin(), outstanding_.end(), overlaps)) return;
    send(access);
  }

  void send(Access& access) {
    ++sent_;
    at_socket_ = true;
    outstanding_.push_back(&access);
    payloads_.push_back(std::make_unique<Payload>());
    Payload& payload = *payloads_.back();
    payload.access = &access;
    payload.set_mm(this);
    payload.acquire();
    access.data.resize(access.bytes);
    payload.set_command(access.write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
    payload.set_address(access.addr);
    payload.set_data_ptr(access.data.data());
    payload.set_data_length(access.bytes);
    payload.set_streaming_width(access.bytes);
    tlm::tlm_phase phase = tlm::BEGIN_REQ;
    sc_core::sc_time delay = annotated;
    EXPECT_EQ(memory->nb_transport_fw(payload, phase, delay), tlm::TLM_ACCEPTED);
  }

  tlm::tlm_sync_enum nb_transport_bw(tlm::tlm_generic_payload& generic, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay) override {
    EXPECT_EQ(delay, sc_core::SC_ZERO_TIME);
    auto& payload = static_cast<Payload&>(generic);
    Access& access = *payload.access;
    if (phase == tlm::END_REQ) {
      access.accepted_ps = time_.now();
      at_socket_ = false;
    } else {
      access.done_ps = time_.now();
      access.status = payload.get_response_status();
      outstanding_.erase(std::find(outstanding_.begin(), outstanding_.end(), &access));
      end_resp_.push_back(&payload);
    }
    go_event_.notify(sc_core::SC_ZERO_TIME);
    return tlm::TLM_ACCEPTED;
  }
  void invalidate_direct_mem_ptr(sc_dt::uint64, sc_dt::uint64) override {}
  void free(tlm::tlm_generic_payload*) override { ++freed; }

  const TimeBase time_;
  std::size_t sent_ = 0;
  bool at_socket_ = false;
  std::vector<Access*> outstanding_;
  std::vector<Payload*> end_resp_;
  std::vector<std::unique_ptr<Payload>> payloads_;
  sc_core::sc_event go_event_;
};

}  // namespace kernbench::test
