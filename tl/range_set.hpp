// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tlm_if/command/byte_range.hpp"

namespace kernbench::tl {

/// A set of bytes as disjoint ranges. Adjacent ranges merge, so its size depends on the memory
/// layout, not on the number of additions.
class RangeSet {
 public:
  void add(command::ByteRange range) { command::add_range(ranges_, range); }
  void remove(command::ByteRange range);
  bool overlaps(command::ByteRange range) const;

 private:
  std::vector<command::ByteRange> ranges_;  // ascending, never touching
};

}  // namespace kernbench::tl
