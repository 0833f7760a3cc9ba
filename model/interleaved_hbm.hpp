// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "model/arch/config.hpp"
#include "model/embedded_hbm.hpp"
#include "model/fabric.hpp"
#include "tlm_if/base_protocol_monitor.hpp"
#include "tlm_if/systemc.hpp"

namespace kernbench {

/// The stack of a cube whose PEs share every channel through the NoC (`hbm.map: interleaved`).
/// Bytes [k * interleave_bytes, (k + 1) * interleave_bytes) lie on channel k % channels. Each
/// channel is an EmbeddedHbm with its share of the bandwidth.
///
/// Flow: PE -> its NIU -> NoC -> NIU of the channel -> channel, and back. A read request and a
/// write response are one flit (noc.bytes_per_cycle), a write request and a read response the data.
///
/// Timing, with nothing else under way, for `way` = 2 niu_cycles + H hop_cycles and flits(B) cycles
/// on a link: END_REQ to the PE after flits(request), when the tail has left the PE's own link;
/// BEGIN_RESP after 2 way + flits(request) + flits(response) + the channel's service and latency.
/// One request is at a channel until it accepts; the others queue in its NIU in order of arrival.
/// b_transport goes the same way; calls of one port leave it one after the other.
/// Not modelled: packet headers, bounded buffers in the NIUs (the bytes that PEs have outstanding
/// bound them).
///
/// Report `/kernbench/interleaved_hbm/burst`: a burst without bytes or across the bytes of two
/// channels. With interleave_bytes a power of two of at least pe.dma.burst_bytes, which a topology
/// ensures, the bursts of a PE_DMA never are (R6.8).
class InterleavedHbm : public sc_core::sc_module {
 public:
  /// Of cube number `cube` of the design. `noc`: arch::Network::mesh of that cube; its exit
  /// function sends a packet to memory `index` to the endpoint of that PE, one to a channel to the
  /// channel's. `data`: as EmbeddedHbm. With check_protocol of the topology a monitor that reports
  /// is at each memory socket. `reverse_creation`: for tests, the last channel and port first.
  /// Results are the same.
  InterleavedHbm(const sc_core::sc_module_name& name, const arch::TopologyConfig& topology,
                 std::uint32_t cube, Fabric& noc, bool data, bool reverse_creation = false);
  ~InterleavedHbm() override;

  /// For the memory socket of PE `pe` of the cube. Each addresses all of [0, hbm.bytes).
  tlm::tlm_target_socket<32>& port(std::uint32_t pe);
  std::uint32_t channels() const { return static_cast<std::uint32_t>(channels_.size()); }
  EmbeddedHbm& channel(std::uint32_t index) { return *channels_.at(index); }
  const EmbeddedHbm& channel(std::uint32_t index) const { return *channels_.at(index); }

  /// No transaction is between a port and its channel.
  bool idle() const;

 private:
  struct MemoryPacket;
  class PeNiu;
  class ChannelNiu;

  std::uint32_t channel_of(std::uint64_t addr) const {
    return static_cast<std::uint32_t>(addr / interleave_bytes_ % channels_.size());
  }
  // On the NoC.
  std::uint64_t request_bytes(const tlm::tlm_generic_payload& payload) const;
  std::uint64_t response_bytes(const tlm::tlm_generic_payload& payload) const;

  const std::uint64_t interleave_bytes_;
  const std::uint64_t flit_bytes_;
  std::vector<std::unique_ptr<EmbeddedHbm>> channels_;
  std::vector<std::unique_ptr<ChannelNiu>> channel_nius_;
  std::vector<std::unique_ptr<PeNiu>> pe_nius_;
  std::vector<std::unique_ptr<BaseProtocolMonitor>> port_monitors_;  // none, or one a PE
  std::vector<std::unique_ptr<BaseProtocolMonitor>> channel_monitors_;
};

}  // namespace kernbench
