// SPDX-License-Identifier: Apache-2.0
#pragma once

// Somebody else's memory: written against IEEE 1666 only, no header of KernBench in it.

#include <tlm_utils/peq_with_cb_and_phase.h>
#include <tlm_utils/simple_target_socket.h>

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <systemc>
#include <tlm>
#include <vector>

namespace dram {

enum class Scheduler : std::uint8_t {
  in_order,  ///< a bank serves its requests in order of arrival
  fr_fcfs,   ///< those that hit its open row first, each group in order of arrival
};

/// One channel. With the defaults it moves 128 GB/s, and one access takes 76 ns if its row is open,
/// 90 if no row is open, and 104 if another row is open.
struct Config {
  /// Which bits of an address, from the most significant, above those of one access.
  std::string mapping = "row:bank:column";
  std::uint32_t banks = 16;
  std::uint32_t rows = 512;  ///< of a bank
  std::uint32_t row_bytes = 2048;
  /// Bytes of one column access, which is the largest transaction. A shorter one takes the same
  /// time.
  std::uint32_t access_bytes = 256;
  double t_rcd_ns = 14;   ///< activate to column access
  double t_rp_ns = 14;    ///< precharge to activate
  double t_cl_ns = 14;    ///< column access to its first data
  double t_burst_ns = 2;  ///< of one access on the data bus
  double t_phy_ns = 60;   ///< last data to BEGIN_RESP: controller, PHY and the way back
  double t_refi_ns = 0;   ///< from refresh to refresh of all banks; 0: none
  double t_rfc_ns = 350;  ///< of a refresh, which closes all rows
  Scheduler scheduler = Scheduler::fr_fcfs;
  std::uint32_t queue_depth = 16;  ///< requests accepted and not issued

  std::uint64_t bytes() const { return std::uint64_t{banks} * rows * row_bytes; }
};

struct Place {
  std::uint64_t bank = 0, row = 0, column = 0;
};

struct Statistics {
  std::uint64_t hits = 0;       ///< accesses whose row was open
  std::uint64_t misses = 0;     ///< whose bank had no row open
  std::uint64_t conflicts = 0;  ///< whose bank had another row open
  std::uint64_t bytes = 0;
  sc_core::sc_time end_req_wait;  ///< requests before a full queue, summed up

  double hit_rate() const {
    const std::uint64_t accesses = hits + misses + conflicts;
    return accesses == 0 ? 0 : static_cast<double>(hits) / static_cast<double>(accesses);
  }
};

/// A DRAM controller and its channel: an approximately timed target with banks and open rows that
/// answers out of order.
///
/// A request is accepted (END_REQ) when the queue has room. Each bank serves one request at a time:
/// a hit issues its column access at once, a miss after tRCD, a conflict after tRP + tRCD. Data
/// follow tCL later, when the data bus is free, for tBurst. The bank continues when the data of the
/// next column access cannot collide with them. BEGIN_RESP comes tPHY after the last data, one at a
/// time. A refresh lets running accesses end. Nothing happens while the channel is idle, so that a
/// simulation runs out of events. Not modelled: command bus, tRAS, tFAW, write recovery, turnaround
/// of the bus. b_transport takes the time of a miss, without contention.
class DramController : public sc_core::sc_module {
 public:
  tlm_utils::simple_target_socket<DramController, 32> socket{"socket"};

  /// Throws std::invalid_argument, one line, for an invalid configuration.
  DramController(const sc_core::sc_module_name& name, const Config& config);

  Place place(std::uint64_t address) const;
  const Statistics& statistics() const { return statistics_; }

 private:
  enum class Field : std::uint8_t { row, bank, column };
  struct Request {
    tlm::tlm_generic_payload* payload;
    Place place;
  };
  struct Bank {
    bool busy = false, open = false;
    std::uint64_t row = 0;
    std::uint64_t refreshes = 0;  // number of refreshes that it has had
  };

  tlm::tlm_sync_enum nb_transport_fw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay);
  void b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  unsigned int transport_dbg(tlm::tlm_generic_payload& payload);

  /// Handles every event by its phase: the phases of the protocol and some of its own.
  void step(tlm::tlm_generic_payload& payload, const tlm::tlm_phase& phase);
  void arrive(tlm::tlm_generic_payload& payload);
  void accept(tlm::tlm_generic_payload& payload);
  void enqueue(tlm::tlm_generic_payload& payload);
  /// The next request of an idle bank.
  void serve(std::uint64_t bank);
  void issue_column(tlm::tlm_generic_payload& payload);
  void leave(const tlm::tlm_generic_payload& payload);
  void respond(tlm::tlm_generic_payload& payload);
  void begin_response();

  /// OK, or what is wrong with a transaction.
  tlm::tlm_response_status check(const tlm::tlm_generic_payload& payload) const;
  void access(tlm::tlm_generic_payload& payload);
  /// The time, from now, until which a refresh occupies the bank. Closes the bank's row if there
  /// was a refresh since.
  sc_core::sc_time refresh_delay(Bank& bank) const;

  const Config config_;
  std::array<Field, 3> mapping_{};
  const sc_core::sc_time t_rcd_, t_rp_, t_cl_, t_burst_, t_phy_, t_refi_, t_rfc_;
  std::vector<unsigned char> bytes_;
  std::vector<Bank> banks_;
  std::deque<Request> queue_;                 // in order of arrival
  tlm::tlm_generic_payload* held_ = nullptr;  // BEGIN_REQ came, the queue is full
  sc_core::sc_time held_since_;
  sc_core::sc_time bus_free_;
  std::deque<tlm::tlm_generic_payload*> responses_;
  bool responding_ = false;  // END_RESP of the first is awaited
  Statistics statistics_;
  tlm_utils::peq_with_cb_and_phase<DramController> agenda_;
};

}  // namespace dram
