// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace kernbench::command {

enum class DType : std::uint8_t { f16, bf16, f32 };

struct DTypeInfo {
  DType dtype;
  std::string_view name;
  int bits;
};

/// Sizes are in bits, so that an 8-bit or narrower type is just one more entry (R3.1).
inline constexpr std::array<DTypeInfo, 3> kDTypes{{
    {DType::f16, "f16", 16},
    {DType::bf16, "bf16", 16},
    {DType::f32, "f32", 32},
}};

constexpr std::string_view to_string(DType dtype) {
  return kDTypes[static_cast<std::size_t>(dtype)].name;
}
constexpr std::uint64_t bits_of(DType dtype) {
  return static_cast<std::uint64_t>(kDTypes[static_cast<std::size_t>(dtype)].bits);
}
/// Bytes that `elements` consecutive entries take, rounded up to whole bytes.
constexpr std::uint64_t bytes_of(DType dtype, std::uint64_t elements) {
  return (elements * bits_of(dtype) + 7) / 8;
}

enum class Space : std::uint8_t { hbm, tcm };

constexpr std::string_view to_string(Space space) { return space == Space::hbm ? "hbm" : "tcm"; }

}  // namespace kernbench::command
