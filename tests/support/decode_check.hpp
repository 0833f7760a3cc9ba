// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tlm_if/command/decoder.hpp"
#include "tlm_if/command/limits.hpp"

namespace kernbench::test {

using Bytes = std::vector<std::uint8_t>;

/// Of what became of byte strings.
struct DecodeTally {
  std::uint64_t refused = 0;   ///< strings with a record that is none
  std::uint64_t commands = 0;  ///< steps that were decoded
  std::uint64_t taken = 0;     ///< and passed check_step()
};

/// Decodes the records in `bytes` up to the first that is refused, and checks what they stand for.
/// Each refusal must have a reason and a place inside its record; with `encode`, each step must
/// have one binary form, of the size that it came in, and all of a program together must encode
/// with a handle table of that size. Returns what is broken, empty: nothing.
std::string decode_all(const Bytes& bytes, command::Decoder& decoder, const command::Limits& limits,
                       bool encode, DecodeTally& tally);

}  // namespace kernbench::test
