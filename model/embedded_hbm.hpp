// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "model/arch/storage.hpp"
#include "model/arch/timing.hpp"
#include "model/settle_hub.hpp"
#include "model/timed_queue.hpp"
#include "tlm_if/systemc.hpp"

namespace kernbench {

/// What a memory has served, without debug transport.
struct MemoryTotals {
  std::uint64_t busy_ps = 0;
  std::uint64_t read_bytes = 0;
  std::uint64_t write_bytes = 0;
};

/// The memory that comes with the model. One server handles reads and writes of all its ports in
/// order of arrival; requests of one instant in port order.
///
/// Timing: END_REQ at the end of a burst's service (bytes / (gbps * efficiency)), BEGIN_RESP
/// latency_ns later, pipelined. b_transport waits for its turn in the same order, and for its
/// response. Calls at one port are accepted one after the other. Not modelled: banks, rows,
/// refresh, read-write turnaround.
class EmbeddedHbm : public sc_core::sc_module, private Settling {
 public:
  /// Throws InputError if a field of `config` is outside the range of its key. `gbps` may be below
  /// that range but not 0, since a PE or a channel may have a share. `data`: the memory holds
  /// bytes; otherwise it only takes time, and transport_dbg moves 0 bytes. `order`: its place among
  /// the memories of a design when an instant settles.
  EmbeddedHbm(const sc_core::sc_module_name& name, const arch::HbmConfig& config,
              std::uint32_t ports, bool data, std::uint32_t order = 0);
  ~EmbeddedHbm() override;

  tlm::tlm_target_socket<32>& port(std::uint32_t index);
  /// The bytes, for tests; data mode only. Host access goes through transport_dbg.
  arch::Storage& storage() { return storage_; }
  const MemoryTotals& totals() const { return totals_; }

 private:
  class Port;
  struct Request {
    std::uint64_t arrival;
    Port* port;
    tlm::tlm_generic_payload* payload;
  };
  struct Annotated {
    Port* port;
    tlm::tlm_generic_payload* payload;
  };
  struct Response {
    std::uint64_t time;
    Port* port;
    tlm::tlm_generic_payload* payload;
  };

  void settle() override;
  void finish_service();
  void send_responses();

  /// A request arrives after `delay`, which the caller annotated.
  void arrive(Port& port, tlm::tlm_generic_payload& payload, const sc_core::sc_time& delay);
  void enqueue(Port& port, tlm::tlm_generic_payload& payload);
  void take_annotated();
  void count(const tlm::tlm_generic_payload& payload);
  /// Moves the bytes and sets the response status.
  void access(tlm::tlm_generic_payload& payload);

  const arch::HbmTiming timing_;
  const TimeBase time_;
  const bool data_;
  arch::Storage storage_;
  std::vector<std::unique_ptr<Port>> ports_;
  std::vector<Request> requests_;    // at most one per port, in order of service
  TimedQueue<Annotated> annotated_;  // those whose arrival is in the future
  Request served_{};
  bool serving_ = false;
  MemoryTotals totals_;
  std::deque<Response> responses_;  // by time: the latency is the same for all
  sc_core::sc_event service_event_;
  sc_core::sc_event response_event_;
};

}  // namespace kernbench
