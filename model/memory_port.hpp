// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "model/arch/bursts.hpp"
#include "model/arch/wait_graph.hpp"
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
  bool write = false;
  std::uint32_t channel = 0;
  std::uint64_t requested_ps = 0;
  std::uint64_t sent_ps = 0;
  bool sent = false;
  bool accepted = false;
  bool answered = true;
  bool held = false;  ///< the port has a reference
  std::vector<unsigned char> buffer;
};

/// What a memory port has moved one way.
struct PortTotals {
  std::uint64_t bursts = 0;
  std::uint64_t bytes = 0;      ///< requested: those of the bursts
  std::uint64_t bus_bytes = 0;  ///< of whole beats of pe.dma.bus_bytes, at least one a burst
  /// The most at once, from a channel's request to the response, of all channels together: when an
  /// instant has settled, as what is requested and answered in it comes in any order.
  std::uint64_t max_outstanding_bytes = 0;
  /// From BEGIN_REQ to acceptance, summed; with pe.dma.port lt, of the whole calls.
  std::uint64_t accept_wait_ps = 0;
};
struct MemoryPortTotals {
  PortTotals read, write;
};

/// The one memory socket of a PE (R6.7): an initiator of the base protocol that arbitrates the
/// requests of the DMA channels and works with any TLM-2.0 memory: early completion, any of the
/// three answers, responses in any order, annotated delays, rewritten addresses.
///
/// Requests are granted by arrival, ties read before write, lower channel first; one request is at
/// the socket until the memory accepts it. END_RESP is sent by the settling pass at the time
/// of the response, never from within the call.
///
/// With pe.dma.port lt each channel has a thread, which calls b_transport burst by burst. The
/// memory may wait or annotate: when the call has returned and its delay has passed the burst is
/// accepted and complete, so that the latency of one is not hidden behind the next. Calls of
/// different channels are not arbitrated; those of one instant begin in the order above, each when
/// what the one before has set off at that instant is over.
///
/// A response other than TLM_OK_RESPONSE is the report `/kernbench/memory_port/response`, or what
/// Pe::set_fault_handler is told. Where the run goes on after it, the bytes of a read are those of
/// TCM that nobody has written (arch::Storage), and the stage goes on.
class MemoryPort : public sc_core::sc_module, private Settling, private tlm::tlm_bw_transport_if<> {
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

  /// Payloads in use; 0 once the memory has let go of every one. Those that it still holds when the
  /// port is destroyed stay until it lets go.
  std::size_t live_payloads() const;
  MemoryPortTotals totals() const;
  /// The oldest burst of each direction that has not been answered, as a note of its command.
  void waits(arch::WaitGraph& graph) const;

 private:
  class Payloads;
  struct LeavePayloads {
    void operator()(Payloads* payloads) const;
  };
  class Blocking;  // pe.dma.port: lt

  struct Request {
    std::uint64_t arrival;
    bool write;
    std::uint32_t channel;
    BurstPayload* payload;
  };
  struct Annotated {
    sc_core::sc_time time;
    BurstPayload* payload;
    bool response;
    bool needs_end_resp;
  };

  void settle() override;
  tlm::tlm_sync_enum nb_transport_bw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay) override;
  void invalidate_direct_mem_ptr(sc_dt::uint64, sc_dt::uint64) override {}

  void read_back(BurstPayload& payload);
  /// Of a burst, at the socket.
  std::uint64_t address(const arch::Burst& burst) const {
    return pe_.config.memory_offset + burst.addr;
  }
  BurstPayload& take_first_request();
  void send_next_request();
  void on_phase(BurstPayload& payload, const tlm::tlm_phase& phase, const sc_core::sc_time& delay);
  /// The answer takes effect now, or when its annotated delay has passed.
  void answer(BurstPayload& payload, bool response, bool needs_end_resp,
              const sc_core::sc_time& delay);
  void accept(BurstPayload& payload);
  void respond(BurstPayload& payload, bool needs_end_resp);
  void report(const BurstPayload& payload) const;
  void apply_annotated();
  /// Ahead of a change of what is outstanding.
  void keep_outstanding();
  PortTotals& totals_of(const BurstPayload& payload) {
    return payload.write ? totals_.write : totals_.read;
  }

  PeContext& pe_;
  Client& client_;
  std::vector<Request> requests_;        // at the socket, not granted; at most one a channel
  BurstPayload* at_socket_ = nullptr;    // sent, not accepted
  std::vector<BurstPayload*> end_resp_;  // to be sent when all has settled
  std::vector<Annotated> annotated_;     // by time
  sc_core::sc_event annotated_event_;
  const std::unique_ptr<Payloads, LeavePayloads> payloads_;
  std::array<std::uint64_t, 2> outstanding_{};  // bytes, reads and writes
  std::uint64_t outstanding_since_ps_ = 0;      // what was before is in the totals
  MemoryPortTotals totals_;
  std::unique_ptr<Blocking> blocking_;  // none: pe.dma.port is at
};

}  // namespace kernbench
