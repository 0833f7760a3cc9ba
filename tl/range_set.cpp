// SPDX-License-Identifier: Apache-2.0
#include "tl/range_set.hpp"

#include <algorithm>

namespace kernbench::tl {
namespace {

bool ends_before(const command::ByteRange& range, command::Address addr) {
  return range.end < addr;
}
bool ends_at_or_before(const command::ByteRange& range, command::Address addr) {
  return range.end <= addr;
}

}  // namespace

void RangeSet::add(command::ByteRange range) {
  // [first, last): what the new range overlaps or touches, and swallows.
  const auto first = std::lower_bound(ranges_.begin(), ranges_.end(), range.begin, ends_before);
  auto last = first;
  while (last != ranges_.end() && last->begin <= range.end) {
    range.begin = std::min(range.begin, last->begin);
    range.end = std::max(range.end, last->end);
    ++last;
  }
  if (first == last) {
    ranges_.insert(first, range);
    return;
  }
  *first = range;
  ranges_.erase(first + 1, last);
}

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
