// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>

#include "tlm_if/systemc.hpp"

namespace kernbench {

/// The response side of a base-protocol target: it sends one response at a time, and the others
/// wait in the order of respond() (IEEE 1666, 15.2.6). The target must have acquired each payload
/// at BEGIN_REQ.
class ResponseSide {
 public:
  /// `initiator`: what the target's socket calls; must outlive it.
  explicit ResponseSide(tlm::tlm_bw_transport_if<>& initiator) : initiator_(initiator) {}

  /// Sends BEGIN_RESP, now or when its turn comes.
  void respond(tlm::tlm_generic_payload& payload) {
    if (responding_) {
      waiting_.push_back(&payload);
      return;
    }
    responding_ = true;
    tlm::tlm_phase phase = tlm::BEGIN_RESP;
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    const tlm::tlm_sync_enum answer = initiator_.nb_transport_bw(payload, phase, delay);
    if (answer == tlm::TLM_COMPLETED || (answer == tlm::TLM_UPDATED && phase == tlm::END_RESP)) {
      end_response(payload);
    }
  }

  /// END_RESP has arrived: releases the payload.
  void end_response(tlm::tlm_generic_payload& payload) {
    payload.release();
    responding_ = false;
    if (waiting_.empty()) return;
    tlm::tlm_generic_payload& next = *waiting_.front();
    waiting_.pop_front();
    respond(next);
  }

 private:
  tlm::tlm_bw_transport_if<>& initiator_;
  bool responding_ = false;
  std::deque<tlm::tlm_generic_payload*> waiting_;
};

}  // namespace kernbench
