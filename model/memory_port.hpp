// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "model/arch/bursts.hpp"
#include "model/pe_context.hpp"
#include "tlm_if/transactions.hpp"

namespace kernbench {

/// A burst as a generic payload. Address and size are kept apart from the payload's own, which
/// interconnects overwrite.
class BurstPayload : public tlm::tlm_generic_payload {
 public:
  arch::Burst burst;
  StageTransaction* stage = nullptr;
  void* client_data = nullptr;
  bool accepted = false;
  std::vector<unsigned char> buffer;
};

/// The one memory socket of a PE (R6.7): an initiator of the base protocol that arbitrates the
/// requests of the DMA channels and works with any TLM-2.0 memory: early completion, any of the
/// three answers, responses in any order, annotated delays, rewritten addresses.
///
/// Requests are granted by arrival, ties read before write, lower channel first; one request is at
/// the socket until the memory accepts it. END_RESP is sent by the settling pass at the time
/// of the response, never from within the call.
class MemoryPort : public sc_core::sc_module,
                   private Settling,
                   private tlm::tlm_bw_transport_if<>,
                   private tlm::tlm_mm_interface {
 public:
  /// Who asked: told of each step of its bursts, at most once each, acceptance first.
  class Client {
   public:
    virtual ~Client() = default;
    virtual void accepted(BurstPayload& burst) = 0;
    /// The response is in; for a read `burst.buffer` holds the data.
    virtual void completed(BurstPayload& burst) = 0;
  };

  tlm::tlm_initiator_socket<32> memory{"memory"};

  MemoryPort(const sc_core::sc_module_name& name, PeContext& pe, Client& client);
  ~MemoryPort() override;

  /// A burst arrives at the socket now. `data` is what a write sends; null: in data mode it changes
  /// no byte, in timing mode what it sends is undefined.
  void request(bool write, std::uint32_t channel, const arch::Burst& burst, StageTransaction& stage,
               void* client_data, const std::uint8_t* data);

  /// Payloads in use; 0 once the memory has let go of every one.
  std::size_t live_payloads() const { return payloads_.size() - free_.size(); }

 private:
  struct Request {
    std::uint64_t arrival;
    bool write;
    std::uint32_t channel;
    BurstPayload* payload;
  };
  struct Annotated {
    std::uint64_t time;
    BurstPayload* payload;
    bool response;
    bool needs_end_resp;
  };

  void settle() override;
  tlm::tlm_sync_enum nb_transport_bw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay) override;
  void invalidate_direct_mem_ptr(sc_dt::uint64, sc_dt::uint64) override {}
  void free(tlm::tlm_generic_payload* payload) override;

  void read_back(BurstPayload& payload);
  void send_next_request();
  void on_phase(BurstPayload& payload, const tlm::tlm_phase& phase, const sc_core::sc_time& delay);
  /// The answer takes effect now, or when its annotated delay has passed.
  void answer(BurstPayload& payload, bool response, bool needs_end_resp,
              const sc_core::sc_time& delay);
  void accept(BurstPayload& payload);
  void respond(BurstPayload& payload, bool needs_end_resp);
  void apply_annotated();

  PeContext& pe_;
  Client& client_;
  std::vector<Request> requests_;        // at the socket, not granted; at most one a channel
  BurstPayload* at_socket_ = nullptr;    // sent, not accepted
  std::vector<BurstPayload*> end_resp_;  // to be sent when all has settled
  std::vector<Annotated> annotated_;     // by time
  sc_core::sc_event annotated_event_;
  std::vector<std::unique_ptr<BurstPayload>> payloads_;
  std::vector<BurstPayload*> free_;
};

}  // namespace kernbench
