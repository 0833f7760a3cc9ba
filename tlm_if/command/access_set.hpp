// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tlm_if/command/commands.hpp"

namespace kernbench::command {

/// The bytes that a command reads and writes, as hulls of its handles (R3.3). Ranges are sorted,
/// and overlapping or adjacent ranges are merged: only the union matters, and a recipe's scratch
/// slots become one range.
struct AccessSet {
  std::vector<ByteRange> reads;
  std::vector<ByteRange> writes;

  /// True if one of the two writes bytes that the other reads or writes.
  bool conflicts_with(const AccessSet& other) const;
  bool writes_any_of(const std::vector<ByteRange>& ranges) const;
};

/// Reads are the operands in memory (not the accumulator, R4.6); writes are outs and rw_handles
/// (R7.1).
AccessSet access_set(const Command& command);
/// The same into an existing object, whose memory is reused.
void access_set(const Command& command, AccessSet& result);

// These call `visit` with every handle that a command writes; a tensor may be visited twice.
template <class Visit>
void for_each_write(const OpSpec& op, Visit&& visit) {
  if (op.has_out) visit(op.out);
}
template <class Visit>
void for_each_write(const CompositeCmd& command, Visit&& visit) {
  for (const OpSpec& op : command.ops) for_each_write(op, visit);
  for (const TensorHandle& handle : command.rw_handles) visit(handle);
}
template <class Visit>
void for_each_write(const MathCmd& command, Visit&& visit) {
  for_each_write(command.op, visit);
}
template <class Visit>
void for_each_write(const GemmCmd& command, Visit&& visit) {
  for_each_write(command.op, visit);
}
template <class Visit>
void for_each_write(const DmaReadCmd& command, Visit&& visit) {
  visit(command.dst);
}
template <class Visit>
void for_each_write(const DmaWriteCmd& command, Visit&& visit) {
  visit(command.dst);
}
template <class Visit>
void for_each_write(const IpcqRecvCmd& command, Visit&& visit) {
  visit(command.dst);
}
template <class Visit>
void for_each_write(const IpcqSendCmd&, Visit&&) {}
template <class Visit>
void for_each_write(const PeCpuOverheadCmd&, Visit&&) {}

}  // namespace kernbench::command
