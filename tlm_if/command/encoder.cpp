// SPDX-License-Identifier: Apache-2.0
#include "tlm_if/command/encoder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "tlm_if/command/check.hpp"
#include "tlm_if/command/error.hpp"
#include "tlm_if/command/little_endian.hpp"
#include "tlm_if/command/program_format.h"
#include "tlm_if/command/text.hpp"

namespace kernbench::command {

namespace {

void require(bool fits, std::string_view where, std::size_t count, std::string_view what,
             std::size_t most) {
  if (!fits) {
    throw InputError(fmt::format("{}: {} {} have no binary form; at most {} are allowed", where,
                                 count, what, most));
  }
}

void require_text(std::string_view where, std::string_view text) {
  const TextProblem problem = problem_of_text(text, kMaxTextBytes);
  if (!problem.what.empty()) throw InputError(fmt::format("{}: {}", where, problem.what));
}

/// Throws InputError unless the handle can be a table entry.
void require_entry(const TensorHandle& handle) {
  const HandleProblem problem = problem_of(handle);
  if (problem.part != HandlePart::none) {
    throw InputError(fmt::format("{} has no binary form: {}", handle.describe(), problem.what));
  }
  const std::string_view name = handle.name;
  if (std::any_of(name.begin(), name.end(), is_control)) {
    throw InputError(
        fmt::format("the name of tensor {}#{} has no binary form: it has a control character; give "
                    "it another one",
                    to_string(handle.space), handle.id));
  }
}

}  // namespace

class Encoder::Record {
 public:
  Record(Encoder& encoder, RecordKind kind, std::uint8_t flags = 0)
      : encoder_(encoder), out_(bytes_) {
    out_.put<std::uint16_t>(0);  // the size, which is filled in later
    out_.put(static_cast<std::uint8_t>(kind));
    out_.put(flags);
  }

  template <class T>
  void put(T value) {
    out_.put(value);
  }
  void text(std::string_view text) { out_.text(text); }
  void zeros(std::size_t count) { bytes_.resize(bytes_.size() + count); }
  void reference(const TensorHandle& handle) {
    out_.put(encoder_.reference(handle));
    out_.put<std::uint32_t>(0);
  }
  void operands(const OpSpec& op) {
    for (const Operand& operand : op.operands) reference(operand.handle);
    if (op.has_out) reference(op.out);
  }
  void extras(const OpSpec& op) {
    for (const Extra& extra : op.extras) out_.put(extra.bits);
  }
  void op(const OpSpec& op) {
    out_.put(static_cast<std::uint8_t>(op.kind));
    out_.put(static_cast<std::uint8_t>(op.scope));
    out_.put(static_cast<std::uint8_t>(op.operands.size() | (op.has_out ? kHasOut : 0U)));
    operands(op);
    out_.put(static_cast<std::uint8_t>(op.extras.size()));
    extras(op);
  }
  void finish() {
    out_.set(KB_RECORD_SIZE, static_cast<std::uint16_t>(bytes_.size()));
    encoder_.bytes_.insert(encoder_.bytes_.end(), bytes_.begin(), bytes_.end());
  }

 private:
  Encoder& encoder_;
  std::vector<std::uint8_t> bytes_;
  LittleEndianWriter out_;
};

Encoder::Encoder(std::uint32_t table_entries) : table_(std::max(table_entries, 1U)) {}

void Encoder::append(const ProgramStep& step) {
  ++steps_;
  std::visit(Overloaded{[this](const Command& command) { write_command(command); },
                        [this](const auto& other) { write(other); }},
             step);
}

void Encoder::write_command(const Command& command) {
  check_form(command);
  std::visit([this](const auto& each) { write(each); }, command);
  ++commands_;
}

void Encoder::write(const CompositeCmd& command) {
  require(command.ops.size() <= kMaxOps, "composite", command.ops.size(), "ops", kMaxOps);
  require(command.rw_handles.size() <= kMaxRwHandles, "composite", command.rw_handles.size(),
          "rw handles", kMaxRwHandles);
  if (command.completion.id != commands_) {
    throw InputError(
        fmt::format("composite: its completion is {} and has no binary form; it must be its number "
                    "in its program, {}",
                    command.completion.id, commands_));
  }
  Record record(*this, RecordKind::composite, command.data_op ? 0 : kFlagNoData);
  record.put(static_cast<std::uint8_t>(command.ops.size()));
  for (const OpSpec& op : command.ops) record.op(op);
  record.put(static_cast<std::uint8_t>(command.rw_handles.size()));
  for (const TensorHandle& handle : command.rw_handles) record.reference(handle);
  record.finish();
}

void Encoder::write(const DmaReadCmd& command) {
  write_transfer(SimpleOpcode::load, command.src, command.dst);
}
void Encoder::write(const DmaWriteCmd& command) {
  write_transfer(SimpleOpcode::store, command.src, command.dst);
}
void Encoder::write_transfer(SimpleOpcode opcode, const TensorHandle& src,
                             const TensorHandle& dst) {
  Record record(*this, RecordKind::simple);
  record.put(static_cast<std::uint8_t>(opcode));
  record.reference(src);
  record.reference(dst);
  record.finish();
}

void Encoder::write(const MathCmd& command) { write_op(command.op); }
void Encoder::write(const GemmCmd& command) { write_op(command.op); }
void Encoder::write_op(const OpSpec& op) {
  Record record(*this, RecordKind::simple);
  record.put(static_cast<std::uint8_t>(op.kind));
  record.operands(op);
  record.extras(op);
  record.finish();
}

void Encoder::write(const IpcqSendCmd& command) {
  write_ipcq(SimpleOpcode::send, "send", command.src, command.to);
}
void Encoder::write(const IpcqRecvCmd& command) {
  write_ipcq(SimpleOpcode::recv, "recv", command.dst, command.from);
}
void Encoder::write_ipcq(SimpleOpcode opcode, std::string_view where, const TensorHandle& handle,
                         const IpcqChannel& channel) {
  if (channel.peer >= kMaxIpcqPeers || channel.channel >= kMaxIpcqChannels) {
    throw InputError(
        fmt::format("{}: PE {}, channel {} have no binary form; they must be below {} and {}",
                    where, channel.peer, channel.channel, kMaxIpcqPeers, kMaxIpcqChannels));
  }
  Record record(*this, RecordKind::simple);
  record.put(static_cast<std::uint8_t>(opcode));
  record.reference(handle);
  record.put(std::uint32_t{KB_PEER(channel.peer, channel.channel)});
  record.finish();
}

void Encoder::write(const PeCpuOverheadCmd& command) {
  Record record(*this, RecordKind::cpu_overhead);
  record.put(command.cycles);
  record.finish();
}

void Encoder::write(const WaitStep& step) {
  require(step.ranges.size() <= kMaxWaitRanges, "wait", step.ranges.size(), "ranges",
          kMaxWaitRanges);
  Record record(*this, RecordKind::wait);
  record.put(static_cast<std::uint16_t>(step.ranges.size()));
  for (const ByteRange& range : step.ranges) {
    if (range.begin >= range.end) {
      throw InputError(fmt::format("wait: range [{:#x}, {:#x}) is empty and has no binary form",
                                   range.begin, range.end));
    }
    record.put(range.begin);
    record.put(range.end);
  }
  record.finish();
}

void Encoder::write(const BeginRegionStep& step) {
  write_text(RecordKind::begin_region, step.name);
}
void Encoder::write(const EndRegionStep& step) { write_text(RecordKind::end_region, step.name); }
void Encoder::write_text(RecordKind kind, std::string_view text) {
  require_text(to_string(kind), text);
  Record record(*this, kind);
  record.text(text);
  record.finish();
}

void Encoder::write(const ObserveStep& step) {
  require_text(to_string(RecordKind::observe), step.name);
  Record record(*this, RecordKind::observe);
  record.reference(step.handle);
  record.text(step.name);
  record.finish();
}

void Encoder::end_program() {
  Record(*this, RecordKind::end_of_program).finish();
  commands_ = 0;
}

/// Hashes what distinguishes tiles of one tensor; the comparison does the rest.
std::size_t Encoder::HandleHash::operator()(const TensorHandle& handle) const {
  constexpr std::uint64_t kGoldenRatio = 0x9E3779B97F4A7C15;  // spreads consecutive ids
  return std::hash<std::uint64_t>{}((handle.id * kGoldenRatio) ^ handle.addr);
}

std::uint32_t Encoder::reference(const TensorHandle& handle) {
  const auto known = index_.find(handle);
  if (known != index_.end()) {
    table_[known->second].used = steps_;
    return known->second;
  }
  require_entry(handle);
  const std::uint32_t index = free_entry();
  index_.erase(table_[index].handle);
  table_[index] = {handle, steps_};
  index_.emplace(handle, index);
  write_entry(index, handle);
  return index;
}

std::uint32_t Encoder::free_entry() {
  for (std::size_t tried = 0; tried < table_.size(); ++tried) {
    const std::uint32_t index = next_;
    next_ = (next_ + 1) % static_cast<std::uint32_t>(table_.size());
    if (table_[index].used != steps_) return index;
  }
  throw InputError(
      fmt::format("a command has more tensors than the {} entries of the handle table; enlarge it",
                  table_.size()));
}

void Encoder::write_entry(std::uint32_t index, const TensorHandle& handle) {
  const std::string_view name = handle.name;
  Record record(*this, RecordKind::set_handle);
  record.put(index);
  record.put(handle.id);
  record.put(handle.addr);
  record.put(static_cast<std::uint64_t>(handle.shape.rows()));
  record.put(static_cast<std::uint64_t>(handle.shape.cols()));
  record.put(static_cast<std::uint64_t>(handle.row_stride));
  record.put(static_cast<std::uint64_t>(handle.col_stride));
  record.put(static_cast<std::uint8_t>(handle.shape.rank()));
  record.put(static_cast<std::uint8_t>(handle.dtype));
  record.put(static_cast<std::uint8_t>(handle.space));
  record.zeros(KB_ENTRY_NAME - KB_ENTRY_RESERVED);
  record.text(name);
  record.zeros(KB_ENTRY_BYTES - KB_ENTRY_NAME - name.size());
  record.finish();
}

}  // namespace kernbench::command
