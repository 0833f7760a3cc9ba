// SPDX-License-Identifier: Apache-2.0
#include "tlm_if/command/text.hpp"

#include <fmt/format.h>

#include <cstdint>

namespace kernbench::command {
namespace {

// The leading byte of UTF-8 gives the size of its character; each following byte holds 6 bits.
constexpr std::uint32_t kFollowing = 0x80;
constexpr std::uint32_t kTwoBytes = 0xc0;
constexpr std::uint32_t kThreeBytes = 0xe0;
constexpr std::uint32_t kFourBytes = 0xf0;
constexpr std::uint32_t kLastLeading = 0xf4;

/// The number of bytes of the character at the front, if it is well-formed UTF-8 and not a control
/// character; otherwise 0.
std::size_t printable_size(std::string_view text) {
  const auto byte = [&](std::size_t i) -> std::uint32_t {
    return i < text.size() ? static_cast<std::uint8_t>(text[i]) : 0;
  };
  const std::uint32_t first = byte(0);
  if (first < kFollowing) return is_control(text[0]) ? 0 : 1;
  if (first < kTwoBytes || first > kLastLeading) return 0;
  const std::size_t size = first < kThreeBytes ? 2 : first < kFourBytes ? 3 : 4;
  std::uint32_t code = first & (0xffU >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & kTwoBytes) != kFollowing) return 0;
    code = code << 6 | (byte(i) & 0x3fU);
  }
  // The controls of Latin-1, a longer form than needed, half a UTF-16 pair, beyond Unicode.
  const std::uint32_t least = size == 2 ? 0xa0 : size == 3 ? 0x800 : 0x10000;
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  return code >= least && !surrogate && code < 0x110000 ? size : 0;
}

}  // namespace

bool is_control(char byte) { return static_cast<std::uint8_t>(byte) < 0x20 || byte == 0x7f; }

TextProblem problem_of_text(std::string_view text, std::size_t most) {
  if (text.empty()) return {0, "the name is empty; give at least one character"};
  if (text.size() > most) {
    return {0, fmt::format("the name has {} bytes; at most {} are allowed", text.size(), most)};
  }
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t size = printable_size(text.substr(i));
    if (size == 0) {
      return {i, fmt::format("byte {} of the name is {:#04x}; names are UTF-8 without control "
                             "characters",
                             i, static_cast<std::uint8_t>(text[i]))};
    }
    i += size;
  }
  return {};
}

std::string plural(std::uint64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

}  // namespace kernbench::command
