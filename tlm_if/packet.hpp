// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace kernbench {

/// The parts of a PE that make packets; each counts its own packets.
enum class PacketMaker : std::uint8_t { ipcq, memory };

/// Packet::key of packet number `count` of a part of a PE: (PE, maker, count).
constexpr std::uint64_t packet_key(std::uint32_t pe, PacketMaker maker, std::uint64_t count) {
  constexpr unsigned kPeShift = 32, kMakerShift = 31;
  constexpr std::uint64_t kCountMask = (std::uint64_t{1} << kMakerShift) - 1;
  return std::uint64_t{pe} << kPeShift | static_cast<std::uint64_t>(maker) << kMakerShift |
         (count & kCountMask);
}

/// What travels over links, from endpoint to endpoint. The maker of a packet derives its type from
/// Packet and owns it; the receiver gives it back to the owner.
struct Packet {
  /// The destination of the packet.
  enum class To : std::uint8_t {
    ipcq,     ///< PE_IPCQ of PE number `index` of the design
    memory,   ///< the memory port of PE number `index` of the design, in the same cube
    channel,  ///< HBM channel number `index` of the cube
  };
  To to = To::ipcq;
  std::uint32_t index = 0;
  /// Bytes on the wire. A packet of 0 bytes, such as a credit, travels on a side band: it takes the
  /// latency of the route and occupies no link.
  std::uint64_t bytes = 0;
  /// Order of service among arrivals of one instant at a link, by packet_key(); unique among the
  /// packets in flight.
  std::uint64_t key = 0;

  // Set by the links that carry the packet.
  std::uint32_t from = 0, exit = 0;  ///< endpoints
  std::uint64_t arrival = 0;         ///< ps, at the present link
};

}  // namespace kernbench
