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
/// Bytes [k * interleave_bytes, (k + 1) * interleave_bytes) are on channel k % channels. Each
/// channel is an EmbeddedHbm with its share of the bandwidth.
///
/// Flow: PE -> its NIU (network interface unit) -> NoC -> NIU of the channel -> channel, and back.
/// A read request and a write response are one flit (noc.bytes_per_cycle); a write request and a
/// read response carry the data.
///
/// Timing without other traffic, with `way` = 2 niu_cycles + H hop_cycles and flits(B) cycles on a
/// link: END_REQ reaches the PE after flits(request), when the tail has left the PE's own link.
/// BEGIN_RESP follows after 2 way + flits(request) + flits(response) + the channel's service and
/// latency. One request is at a channel until the channel accepts it; the others queue in its NIU
/// in order of arrival. b_transport takes the same route; calls of one port leave it one after the
/// other. Not modelled: packet headers, bounded buffers in the NIUs (the outstanding bytes of PEs
/// bound them).
///
/// A burst that has no bytes, or crosses from one channel to another, is reported as
/// `/kernbench/interleaved_hbm/burst`. A PE_DMA never sends such a burst, because interleave_bytes
/// is a power of two of at least pe.dma.burst_bytes, which a topology ensures (R6.8).
class InterleavedHbm : public sc_core::sc_module {
 public:
  /// The stack of cube number `cube` of the design. `noc`: arch::Network::mesh of that cube; its
  /// exit function sends a packet for memory `index` to the endpoint of that PE, and a packet for a
  /// channel to the endpoint of that channel. `data`: as in EmbeddedHbm. With check_protocol of the
  /// topology a reporting monitor is at each memory socket. `reverse_creation`: for tests, creates
  /// the last channel and port first; results are the same. Throws InputError for a topology that
  /// arch::check_config() refuses.
  InterleavedHbm(const sc_core::sc_module_name& name, const arch::TopologyConfig& topology,
                 std::uint32_t cube, Fabric& noc, bool data, bool reverse_creation = false);
  ~InterleavedHbm() override;

  /// The port for the memory socket of PE `pe` of the cube. Each port addresses all of [0,
  /// hbm.bytes).
  tlm::tlm_target_socket<32>& port(std::uint32_t pe);
  std::uint32_t channels() const { return static_cast<std::uint32_t>(channels_.size()); }
  EmbeddedHbm& channel(std::uint32_t index) { return *channels_.at(index); }
  const EmbeddedHbm& channel(std::uint32_t index) const { return *channels_.at(index); }

 private:
  struct MemoryPacket;
  class PeNiu;
  class ChannelNiu;

  std::uint32_t channel_of(std::uint64_t addr) const {
    return static_cast<std::uint32_t>(addr / interleave_bytes_ % channels_.size());
  }
  // Sizes on the NoC.
  std::uint64_t request_bytes(const tlm::tlm_generic_payload& payload) const;
  std::uint64_t response_bytes(const tlm::tlm_generic_payload& payload) const;

  const std::uint64_t interleave_bytes_;
  const std::uint64_t flit_bytes_;
  std::vector<std::unique_ptr<EmbeddedHbm>> channels_;
  std::vector<std::unique_ptr<ChannelNiu>> channel_nius_;
  std::vector<std::unique_ptr<PeNiu>> pe_nius_;
  std::vector<std::unique_ptr<BaseProtocolMonitor>> port_monitors_;  // none, or one per PE
  std::vector<std::unique_ptr<BaseProtocolMonitor>> channel_monitors_;
};

}  // namespace kernbench
