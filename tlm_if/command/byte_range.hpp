// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tlm_if/command/address_map.hpp"

namespace kernbench::command {

/// The bytes [begin, end). HBM and TCM do not share addresses, so a range needs no space tag.
struct ByteRange {
  Address begin = 0;
  Address end = 0;

  std::uint64_t size() const { return end - begin; }
  bool overlaps(const ByteRange& other) const { return begin < other.end && other.begin < end; }
  bool contains(const ByteRange& other) const { return begin <= other.begin && other.end <= end; }

  friend bool operator==(const ByteRange& x, const ByteRange& y) {
    return x.begin == y.begin && x.end == y.end;
  }
  friend bool operator!=(const ByteRange& x, const ByteRange& y) { return !(x == y); }
};

/// Adds a range to a set of bytes, kept as ascending ranges that never touch.
void add_range(std::vector<ByteRange>& ranges, ByteRange range);

}  // namespace kernbench::command
