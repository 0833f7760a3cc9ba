// SPDX-License-Identifier: Apache-2.0
#include "tlm_if/command/access_set.hpp"

#include <algorithm>

namespace kernbench::command {
namespace {

// Most ranges of a command are those of few tensors: merging early keeps the list short.
void add(std::vector<ByteRange>& ranges, const ByteRange& range) {
  for (ByteRange& known : ranges) {
    if (range.begin <= known.end && known.begin <= range.end) {
      known.begin = std::min(known.begin, range.begin);
      known.end = std::max(known.end, range.end);
      return;
    }
  }
  ranges.push_back(range);
}

// A merge may have closed a gap between two others: those merge here.
void normalise(std::vector<ByteRange>& ranges) {
  if (ranges.size() < 2) return;
  std::sort(ranges.begin(), ranges.end(),
            [](const ByteRange& x, const ByteRange& y) { return x.begin < y.begin; });
  std::size_t last = 0;
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].begin <= ranges[last].end) {
      ranges[last].end = std::max(ranges[last].end, ranges[i].end);
    } else {
      ranges[++last] = ranges[i];
    }
  }
  ranges.resize(last + 1);
}

// Both sorted and merged: one pass.
bool overlap(const std::vector<ByteRange>& x, const std::vector<ByteRange>& y) {
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < x.size() && j < y.size()) {
    if (x[i].overlaps(y[j])) return true;
    if (x[i].end <= y[j].end) {
      ++i;
    } else {
      ++j;
    }
  }
  return false;
}

}  // namespace

bool AccessSet::conflicts_with(const AccessSet& other) const {
  return overlap(writes, other.reads) || overlap(writes, other.writes) ||
         overlap(reads, other.writes);
}

bool AccessSet::writes_any_of(const std::vector<ByteRange>& ranges) const {
  for (const ByteRange& range : ranges) {
    for (const ByteRange& write : writes) {
      if (write.overlaps(range)) return true;
    }
  }
  return false;
}

void append_writes(const Command& command, std::vector<ByteRange>& writes) {
  for (const OpSpec& op : ops_of(command)) {
    if (op.has_out) writes.push_back(op.out.range());
  }
  if (const auto* composite = std::get_if<CompositeCmd>(&command)) {
    for (const TensorHandle& handle : composite->rw_handles) writes.push_back(handle.range());
  } else if (const auto* read = std::get_if<DmaReadCmd>(&command)) {
    writes.push_back(read->dst.range());
  } else if (const auto* write = std::get_if<DmaWriteCmd>(&command)) {
    writes.push_back(write->dst.range());
  }
}

void access_set(const Command& command, AccessSet& result) {
  result.reads.clear();
  result.writes.clear();
  for (const OpSpec& op : ops_of(command)) {
    for (const Operand& operand : op.operands) {
      if (op.on_accumulator() && operand.name == OperandName::src) continue;
      add(result.reads, operand.handle.range());
    }
  }
  if (const auto* read = std::get_if<DmaReadCmd>(&command)) {
    add(result.reads, read->src.range());
  } else if (const auto* write = std::get_if<DmaWriteCmd>(&command)) {
    add(result.reads, write->src.range());
  }
  append_writes(command, result.writes);
  normalise(result.reads);
  normalise(result.writes);
}

AccessSet access_set(const Command& command) {
  AccessSet result;
  access_set(command, result);
  return result;
}

}  // namespace kernbench::command
