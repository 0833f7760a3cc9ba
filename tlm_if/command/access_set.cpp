// SPDX-License-Identifier: Apache-2.0
#include "tlm_if/command/access_set.hpp"

namespace kernbench::command {
namespace {

// Both ascending and disjoint: one pass.
bool overlap(const std::vector<ByteRange>& x, const std::vector<ByteRange>& y) {
  auto i = x.begin();
  auto j = y.begin();
  while (i != x.end() && j != y.end()) {
    if (i->end <= j->begin) {
      ++i;
    } else if (j->end <= i->begin) {
      ++j;
    } else {
      return true;
    }
  }
  return false;
}

template <class Visit>
void for_each_read(const OpSpec& op, Visit&& visit) {
  for (const Operand& operand : op.operands) {
    if (op.on_accumulator() && operand.name == OperandName::src) continue;
    visit(operand.handle);
  }
}
template <class Visit>
void for_each_read(const CompositeCmd& command, Visit&& visit) {
  for (const OpSpec& op : command.ops) for_each_read(op, visit);
}
template <class Visit>
void for_each_read(const MathCmd& command, Visit&& visit) {
  for_each_read(command.op, visit);
}
template <class Visit>
void for_each_read(const GemmCmd& command, Visit&& visit) {
  for_each_read(command.op, visit);
}
template <class Visit>
void for_each_read(const DmaReadCmd& command, Visit&& visit) {
  visit(command.src);
}
template <class Visit>
void for_each_read(const DmaWriteCmd& command, Visit&& visit) {
  visit(command.src);
}
template <class Visit>
void for_each_read(const IpcqSendCmd& command, Visit&& visit) {
  visit(command.src);
}
template <class Visit>
void for_each_read(const IpcqRecvCmd&, Visit&&) {}
template <class Visit>
void for_each_read(const PeCpuOverheadCmd&, Visit&&) {}

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

void access_set(const Command& command, AccessSet& result) {
  result.reads.clear();
  result.writes.clear();
  std::visit(
      [&](const auto& each) {
        for_each_read(each, [&](const TensorHandle& x) { add_range(result.reads, x.range()); });
        for_each_write(each, [&](const TensorHandle& x) { add_range(result.writes, x.range()); });
      },
      command);
}

AccessSet access_set(const Command& command) {
  AccessSet result;
  access_set(command, result);
  return result;
}

}  // namespace kernbench::command
