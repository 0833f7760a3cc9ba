// SPDX-License-Identifier: Apache-2.0
#include "tl/range_set.hpp"

#include <algorithm>

namespace kernbench::tl {
namespace {

bool ends_at_or_before(const command::ByteRange& range, command::Address addr) {
  return range.end <= addr;
}

}  // namespace

void RangeSet::remove(command::ByteRange range) {
  auto it = std::lower_bound(ranges_.begin(), ranges_.end(), range.begin, ends_at_or_before);
  while (it != ranges_.end() && it->begin < range.end) {
    const command::ByteRange old = *it;
    it = ranges_.erase(it);
    if (old.begin < range.begin) it = ranges_.insert(it, {old.begin, range.begin}) + 1;
    if (range.end < old.end) it = ranges_.insert(it, {range.end, old.end}) + 1;
  }
}

bool RangeSet::overlaps(command::ByteRange range) const {
  const auto it = std::lower_bound(ranges_.begin(), ranges_.end(), range.begin, ends_at_or_before);
  return it != ranges_.end() && it->overlaps(range);
}

}  // namespace kernbench::tl
