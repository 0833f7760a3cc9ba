// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace kernbench::command {

struct TextProblem {
  std::size_t offset = 0;  ///< of the byte in the text
  std::string what;        ///< a clause; empty: nothing is wrong
};

/// Checks a name for outputs: 1 to `most` bytes of UTF-8 without control characters. Names go into
/// JSON, CSV and messages.
TextProblem problem_of_text(std::string_view text, std::size_t most);

/// True for a byte that cannot be part of a name, whatever comes before or after it.
bool is_control(char byte);

/// `1 slot`, `2 slots`.
std::string plural(std::uint64_t count, std::string_view what);

}  // namespace kernbench::command
