// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "model/arch/bursts.hpp"
#include "model/arch/wait_graph.hpp"
#include "model/pe_context.hpp"
#include "model/timed_queue.hpp"
#include "tlm_if/transactions.hpp"

namespace kernbench {

/// A burst as a generic payload. It has its own copy of address and size, because interconnects
/// overwrite those of the payload.
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

/// Totals of a memory port for one direction.
struct PortTotals {
  std::uint64_t bursts = 0;
  std::uint64_t bytes = 0;      ///< requested: those of the bursts
  std::uint64_t bus_bytes = 0;  ///< of whole beats of pe.dma.bus_bytes, at least one per burst
  /// Peak outstanding bytes over all channels, sampled after each time step has settled. A burst is
  /// outstanding from its channel's request to its response.
  std::uint64_t max_outstanding_bytes = 0;
  /// From BEGIN_REQ to acceptance, summed; with pe.dma.port lt, of the whole calls.
  std::uint64_t accept_wait_ps = 0;
};
struct MemoryPortTotals {
  PortTotals read, write;
};

/// The only memory socket of a PE (R6.7): a base-protocol initiator that arbitrates the requests of
/// the DMA channels. It works with any TLM-2.0 memory: early completion, any of the three answers,
/// responses in any order, annotated delays, rewritten addresses.
///
/// Requests are granted in order of arrival; ties go to reads before writes, then to the lower
/// channel. One request is at the socket until the memory accepts it. The settling pass sends
/// END_RESP at the time of the response, never from within the call.
///
/// With pe.dma.port lt each channel has a thread, which calls b_transport burst by burst. The
/// memory may wait or annotate a delay. The burst is accepted and complete when the call has
/// returned and its delay has passed, so latency is not hidden behind the next burst. Calls of
/// different channels are not arbitrated. Calls of one instant begin in the order above; each
/// begins when everything that the previous call has started at that instant has ended.
///
/// A response other than TLM_OK_RESPONSE goes to the fault handler (Pe::set_fault_handler) or is
/// reported as `/kernbench/memory_port/response`. If the run continues, the bytes of a read count
/// as not written (arch::Storage), and the stage continues.
class MemoryPort : public sc_core::sc_module, private Settling, private tlm::tlm_bw_transport_if<> {
 public:
  /// The requester. For each of its bursts accepted() is called at most once, and then completed()
  /// at most once.
  class Client {
   public:
    virtual ~Client() = default;
    virtual void accepted(BurstPayload& burst) = 0;
    /// The response has arrived; for a read `burst.buffer` holds the data.
    virtual void completed(BurstPayload& burst) = 0;
  };

  tlm::tlm_initiator_socket<32> memory{"memory"};

  MemoryPort(const sc_core::sc_module_name& name, PeContext& pe, Client& client);
  ~MemoryPort() override;

  /// A burst arrives at the socket now. `data` is what a write sends; null: in data mode the write
  /// changes no byte; in timing mode the bytes that it sends are undefined.
  void request(bool write, std::uint32_t channel, const arch::Burst& burst, StageTransaction& stage,
               void* client_data, const std::uint8_t* data);

  /// Payloads in use; 0 when the memory has released all. Payloads that it still holds when the
  /// port is destroyed exist until it releases them.
  std::size_t live_payloads() const;
  MemoryPortTotals totals() const;
  /// Adds the oldest unanswered burst of each direction as a note of its command.
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
    BurstPayload* payload;
    bool response;
    bool needs_end_resp;
  };

  void settle() override;
  tlm::tlm_sync_enum nb_transport_bw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay) override;
  void invalidate_direct_mem_ptr(sc_dt::uint64, sc_dt::uint64) override {}

  void read_back(BurstPayload& payload);
  /// The address of a burst at the socket.
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
  /// Called before the outstanding bytes change.
  void keep_outstanding();
  PortTotals& totals_of(const BurstPayload& payload) {
    return payload.write ? totals_.write : totals_.read;
  }

  PeContext& pe_;
  Client& client_;
  std::vector<Request> requests_;        // at the socket, not granted; at most one per channel
  BurstPayload* at_socket_ = nullptr;    // sent, but not accepted
  std::vector<BurstPayload*> end_resp_;  // to be sent when the instant has settled
  TimedQueue<Annotated> annotated_;      // phases whose time is in the future
  const std::unique_ptr<Payloads, LeavePayloads> payloads_;
  std::array<std::uint64_t, 2> outstanding_{};  // bytes, reads and writes
  std::uint64_t outstanding_since_ps_ = 0;      // earlier values are in the totals
  MemoryPortTotals totals_;
  std::unique_ptr<Blocking> blocking_;  // none: pe.dma.port is at
};

}  // namespace kernbench
