// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace kernbench::command {

using Address = std::uint64_t;

/// TCM addresses start here, above every HBM address (R3.4), so an address identifies one byte.
inline constexpr Address kTcmBase = Address{1} << 40;
inline constexpr std::uint64_t kHbmTensorAlignment = 4096;
inline constexpr std::uint64_t kTcmTensorAlignment = 64;

constexpr std::uint64_t align_up(std::uint64_t value, std::uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

}  // namespace kernbench::command
