// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tlm_if/command/encoding.hpp"

namespace kernbench::command {

/// Encodes the steps of a program as records. Handles are put into the table in order of first use.
/// In a full table the oldest entry is replaced, and its handle is written again when it is used
/// again.
class Encoder {
 public:
  explicit Encoder(std::uint32_t table_entries = kDefaultHandleTableEntries);

  /// Appends the records of a step, after those of the table entries that it needs. Throws
  /// InputError for a command without a binary form: operands or extras that are not those of the
  /// op table, a completion that is not the command's number in its program (R3.6), sizes beyond a
  /// record.
  void append(const ProgramStep& step);
  /// Appends the end of the program; another program may follow.
  void end_program();

  const std::vector<std::uint8_t>& bytes() const { return bytes_; }

 private:
  /// A record that is being encoded; its table entries are written before it.
  class Record;

  // The records of each kind of command and step.
  void write(const CompositeCmd& command);
  void write(const DmaReadCmd& command);
  void write(const DmaWriteCmd& command);
  void write(const MathCmd& command);
  void write(const GemmCmd& command);
  void write(const PeCpuOverheadCmd& command);
  void write(const IpcqSendCmd& command);
  void write(const IpcqRecvCmd& command);
  void write(const WaitStep& step);
  void write(const BeginRegionStep& step);
  void write(const EndRegionStep& step);
  void write(const ObserveStep& step);

  void write_command(const Command& command);
  void write_transfer(SimpleOpcode opcode, const TensorHandle& src, const TensorHandle& dst);
  void write_ipcq(SimpleOpcode opcode, std::string_view where, const TensorHandle& handle,
                  const IpcqChannel& channel);
  void write_op(const OpSpec& op);
  void write_text(RecordKind kind, std::string_view text);
  void write_entry(std::uint32_t index, const TensorHandle& handle);

  /// Index of a table entry with the handle. The entry is reserved until the next step.
  std::uint32_t reference(const TensorHandle& handle);
  /// The oldest entry that this step does not use.
  std::uint32_t free_entry();

  struct Entry {
    TensorHandle handle;
    std::uint64_t used = 0;  // the last step that used it
  };
  struct HandleHash {
    std::size_t operator()(const TensorHandle& handle) const;
  };
  std::vector<std::uint8_t> bytes_;
  std::vector<Entry> table_;
  // Keyed by handle, not by id: an id may have several forms (view, dtype, name), each with its own
  // entry.
  std::unordered_map<TensorHandle, std::uint32_t, HandleHash> index_;  // only looked up, never
                                                                       // iterated
  std::uint32_t next_ = 0;                                             // the entry to replace next
  std::uint64_t steps_ = 0;
  std::uint64_t commands_ = 0;
};

}  // namespace kernbench::command
