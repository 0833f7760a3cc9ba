// SPDX-License-Identifier: Apache-2.0
#include "tlm_if/command/byte_range.hpp"

#include <algorithm>

namespace kernbench::command {

void add_range(std::vector<ByteRange>& ranges, ByteRange range) {
  // The order of ascending addresses is the usual one.
  if (ranges.empty() || ranges.back().end < range.begin) {
    ranges.push_back(range);
    return;
  }
  // [first, last): what the new range overlaps or touches, and swallows.
  auto first = ranges.begin();  // the sets of a command are short
  while (first->end < range.begin) ++first;
  if (range.end < first->begin) {
    ranges.insert(first, range);
    return;
  }
  if (first->contains(range)) return;
  auto last = first;
  while (last != ranges.end() && last->begin <= range.end) {
    range.begin = std::min(range.begin, last->begin);
    range.end = std::max(range.end, last->end);
    ++last;
  }
  *first = range;
  ranges.erase(first + 1, last);
}

}  // namespace kernbench::command
