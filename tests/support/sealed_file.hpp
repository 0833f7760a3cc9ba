// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace kernbench::test {

/// CRC-32 as IEEE 802.3 defines it, a bit at a time: not the table of the code.
inline std::uint32_t crc32_by_bits(const std::vector<std::uint8_t>& bytes, std::size_t size) {
  std::uint32_t crc = 0xffffffff;
  for (std::size_t i = 0; i < size; ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      const bool low = ((crc ^ bytes[i] >> bit) & 1) != 0;
      crc = crc >> 1 ^ (low ? 0xedb88320 : 0);
    }
  }
  return ~crc;
}

/// A program file whose stated size and check sum fit: what is wrong is inside. At least 68 bytes.
inline std::vector<std::uint8_t> sealed(std::vector<std::uint8_t> bytes) {
  const std::size_t size = bytes.size();
  for (std::size_t i = 0; i < 8; ++i) bytes[16 + i] = static_cast<std::uint8_t>(size >> 8 * i);
  const std::uint32_t crc = crc32_by_bits(bytes, size - 4);
  for (std::size_t i = 0; i < 4; ++i) bytes[size - 4 + i] = static_cast<std::uint8_t>(crc >> 8 * i);
  return bytes;
}

}  // namespace kernbench::test
