// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace kernbench {

/// Who in a PE makes packets; each counts its own.
enum class PacketMaker : std::uint8_t { ipcq, memory };

/// Packet::key of the packet number `count` of a part of a PE: (PE, maker, count).
constexpr std::uint64_t packet_key(std::uint32_t pe, PacketMaker maker, std::uint64_t count) {
  constexpr unsigned kPeShift = 32, kMakerShift = 31;
  constexpr std::uint64_t kCountMask = (std::uint64_t{1} << kMakerShift) - 1;
  return std::uint64_t{pe} << kPeShift | static_cast<std::uint64_t>(maker) << kMakerShift |
         (count & kCountMask);
}

/// What travels over links, from endpoint to endpoint. Whoever makes it derives from it and owns
/// it; who takes it out at the other end gives it back.
struct Packet {
  /// What stands at the end of the way.
  enum class To : std::uint8_t {
    ipcq,     ///< PE_IPCQ of PE number `index` of the design
    memory,   ///< the memory port of PE number `index` of the design, in the same cube
    channel,  ///< HBM channel number `index` of the cube
  };
  To to = To::ipcq;
  std::uint32_t index = 0;
  /// On the wire. 0: on a side band, as a credit: takes the latency of the way, occupies no link.
  std::uint64_t bytes = 0;
  /// Order of service among arrivals of one instant at a link, by packet_key(); unique among the
  /// packets under way.
  std::uint64_t key = 0;

  // Of the links that carry it.
  std::uint32_t from = 0, exit = 0;  ///< endpoints
  std::uint64_t arrival = 0;         ///< ps, at the present link
};

}  // namespace kernbench
