// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tlm_utils/simple_initiator_socket.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/embedded_hbm.hpp"
#include "model/host_port.hpp"
#include "model/pe.hpp"
#include "model/record/recorder.hpp"
#include "tests/support/kernel_bench.hpp"
#include "tests/support/scripted_memory.hpp"
#include "tlm_if/base_protocol_monitor.hpp"

namespace kernbench::test {

using Bytes = std::vector<std::uint8_t>;

/// The records of a kernel of the catalogue.
Bytes records_of(const runtime::Launch& launched,
                 std::uint32_t table_entries = command::kDefaultHandleTableEntries);
/// The records of commands.
Bytes records_of(const KernelBody& kernel);

/// A host CPU in a test: runs `program` in a thread, which drives a host port.
class HostCpu : public sc_core::sc_module, private tlm::tlm_mm_interface {
 public:
  using Program = std::function<void(HostCpu& host)>;

  tlm_utils::simple_initiator_socket<HostCpu, 32> socket{"socket"};
  sc_core::sc_in<bool> interrupt{"interrupt"};

  /// `non_blocking`: the four phases of nb_transport in place of b_transport.
  HostCpu(const sc_core::sc_module_name& name, Program program, bool non_blocking);

  /// Does the access and waits for its delay. `payload` is counted if the host is non-blocking.
  tlm::tlm_response_status access(tlm::tlm_generic_payload& payload);
  /// Of plain attributes.
  tlm::tlm_response_status access(tlm::tlm_command command, std::uint64_t address,
                                  std::uint8_t* data, std::uint32_t length);
  unsigned int debug(tlm::tlm_command command, std::uint64_t address, std::uint8_t* data,
                     std::uint32_t length);

  // Registers; the access must be answered with OK.
  std::uint32_t read(std::uint32_t offset);
  std::uint64_t read64(std::uint32_t offset);
  void write(std::uint32_t offset, std::uint32_t value);

  /// Puts bytes into the ring from the tail on, all of which must be free, and rings.
  void publish(const Bytes& bytes);
  /// The same in parts as there is room, asleep in between until `threshold` bytes are free.
  void feed(const Bytes& bytes, std::uint32_t threshold);
  /// Sleeps until one of `bits` is in IRQ_STATUS, the only ones in IRQ_MASK, and clears them.
  void await(std::uint32_t bits);
  /// Resets the port and starts to count anew.
  void reset();

  /// The program has come to its end: it waits for nothing.
  bool finished() const { return finished_; }

 private:
  void run() {
    program_(*this);
    finished_ = true;
  }
  tlm::tlm_sync_enum nb_transport_bw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay);
  // The adapter of a socket keeps its reference beyond END_RESP.
  void free(tlm::tlm_generic_payload* payload) override { delete payload; }
  void write_ring(const Bytes& bytes);

  Program program_;
  bool non_blocking_;
  sc_core::sc_event response_event_;
  std::uint32_t tail_ = 0;
  bool finished_ = false;
};

/// A PE with its HBM, its host port and a host. Protocol monitors are on both sockets of the PE.
class HostBench {
 public:
  struct Options {
    HostPortConfig port;
    bool data = false;
    bool non_blocking = false;
    bool host_first = false;  ///< created before the PE
    bool connected = false;   ///< to a network, on which there is nobody
    bool interrupt = true;    ///< bound; without, the host's never rises
    std::uint32_t index = 0;  ///< of the PE
    /// Of a memory in place of the HBM, of which addresses from memory_offset on are used.
    ScriptedMemory::Script memory = {};
  };
  /// What a run leaves.
  struct Result {
    std::string op_log;
    std::vector<OpLogRow> rows;
  };

  HostBench(const arch::TopologyConfig& topology, HostCpu::Program program, Options options);
  HostBench(const arch::TopologyConfig& topology, HostCpu::Program program);
  HostBench(const HostBench&) = delete;
  HostBench& operator=(const HostBench&) = delete;
  ~HostBench();

  /// Simulates to the end; then of each bench: finish().
  Result run();
  /// Checks that the host's program has ended and the monitors have found nothing.
  Result finish();

  Pe& pe() { return *pe_; }
  HostPort& port() { return *port_; }
  arch::Storage& hbm() { return hbm_->storage(); }

 private:
  class Files;

  std::unique_ptr<Files> files_;
  sc_core::sc_signal<bool> interrupt_;
  std::unique_ptr<HostCpu> host_;
  std::unique_ptr<EmbeddedHbm> hbm_;
  std::unique_ptr<ScriptedMemory> scripted_;
  std::unique_ptr<Pe> pe_;
  std::unique_ptr<HostPort> port_;
  std::unique_ptr<BaseProtocolMonitor> memory_monitor_;
  std::unique_ptr<BaseProtocolMonitor> host_monitor_;
};

}  // namespace kernbench::test
