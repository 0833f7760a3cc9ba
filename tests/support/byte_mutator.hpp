// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace kernbench::test {

using Bytes = std::vector<std::uint8_t>;

/// Byte strings that a decoder may meet: noise, and valid streams that were damaged. The same for
/// the same seed everywhere: std::uniform_int_distribution differs between libraries.
class ByteMutator {
 public:
  ByteMutator(std::uint64_t seed, const std::vector<Bytes>& valid) : random_(seed), valid_(valid) {}

  /// Noise, or a valid stream that was mutated, cut, or joined to another.
  Bytes next() {
    switch (below(4)) {
      case 0:
        return noise();
      case 1:
        return cut(pick());
      case 2:
        return mutated(joined(pick(), pick()));
      default:
        return mutated(pick());
    }
  }
  /// A few bytes changed. Fields are mostly small: so are most values here.
  Bytes mutated(Bytes bytes) {
    for (std::size_t i = 1 + below(4); i > 0 && !bytes.empty(); --i) {
      std::uint8_t& byte = bytes[below(bytes.size())];
      switch (below(5)) {
        case 0:
          byte = static_cast<std::uint8_t>(byte ^ 1U << below(8));
          break;
        case 1:
          byte = static_cast<std::uint8_t>(byte + 1);
          break;
        case 2:
          byte = static_cast<std::uint8_t>(below(4));
          break;
        case 3:
          byte = static_cast<std::uint8_t>(random_());
          break;
        default: {  // a whole word from elsewhere
          const std::size_t from = below(bytes.size()), to = below(bytes.size());
          for (std::size_t k = 0; k < 8 && from + k < bytes.size() && to + k < bytes.size(); ++k) {
            bytes[to + k] = bytes[from + k];
          }
          break;
        }
      }
    }
    return bytes;
  }

  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }

 private:
  const Bytes& pick() { return valid_[below(valid_.size())]; }
  Bytes noise() {
    Bytes bytes(below(200));
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random_());
    // A record kind and a size that fit let the rest be looked at.
    if (bytes.size() >= 4 && below(2) == 0) {
      bytes[0] = static_cast<std::uint8_t>(bytes.size());
      bytes[1] = 0;
      bytes[2] = static_cast<std::uint8_t>(below(0x24));
      bytes[3] = 0;
    }
    return bytes;
  }
  Bytes cut(Bytes bytes) {
    bytes.resize(below(bytes.size() + 1));
    return bytes;
  }
  /// The begin of one and the end of another.
  Bytes joined(Bytes first, const Bytes& second) {
    first.resize(below(first.size() + 1));
    first.insert(first.end(), second.end() - static_cast<std::ptrdiff_t>(below(second.size() + 1)),
                 second.end());
    return first;
  }

  std::mt19937_64 random_;
  const std::vector<Bytes>& valid_;
};

}  // namespace kernbench::test
