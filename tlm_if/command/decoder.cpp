// SPDX-License-Identifier: Apache-2.0
#include "tlm_if/command/decoder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tlm_if/command/little_endian.hpp"
#include "tlm_if/command/program_format.h"
#include "tlm_if/command/text.hpp"

namespace kernbench::command {
namespace {

constexpr std::size_t kSimpleBytes = kFramingBytes + 1;
// An op without operands, output and extras: opcode, scope and two counts.
constexpr std::size_t kLeastOpBytes = 4;
constexpr std::size_t kEntryNameBytes = KB_ENTRY_BYTES - KB_ENTRY_NAME;

/// The number of extras of the op that are not optional.
std::size_t required_extras(const OpInfo& info) {
  return static_cast<std::size_t>(std::count_if(info.extras.begin(), info.extras.end(),
                                                [](const ExtraInfo& e) { return e.required; }));
}

std::string extra_counts(const OpInfo& info) {
  const std::size_t least = required_extras(info);
  const std::size_t most = info.extras.size();
  return least == most ? fmt::format("{}", most) : fmt::format("{} or {}", least, most);
}

std::size_t offset_in_entry(HandlePart part) {
  switch (part) {
    case HandlePart::none:
    case HandlePart::id:
      return KB_ENTRY_ID;
    case HandlePart::addr:
      return KB_ENTRY_ADDRESS;
    case HandlePart::rows:
      return KB_ENTRY_ROWS;
    case HandlePart::cols:
      return KB_ENTRY_COLS;
    case HandlePart::row_stride:
      return KB_ENTRY_ROW_STRIDE;
    case HandlePart::col_stride:
      return KB_ENTRY_COL_STRIDE;
  }
  return KB_ENTRY_ID;
}

}  // namespace

/// A record that is being decoded. Reading stops at the first error.
class Decoder::Record {
 public:
  Record(Decoder& decoder, const std::uint8_t* bytes, std::size_t size)
      : decoder_(decoder), in_(bytes, size), size_(size) {}

  Result decode();

 private:
  // Each of these returns true, or false after it has set the error.
  bool fail(Fault fault, std::size_t offset, std::string_view what);
  bool framing();
  bool composite(CompositeCmd& command);
  bool op(OpSpec& op);
  bool simple(Command& command);
  bool simple_op(std::uint8_t opcode, Command& command);
  bool transfer(TensorHandle& src, TensorHandle& dst);
  bool ipcq(TensorHandle& handle, IpcqChannel& channel);
  bool wait(WaitStep& step);
  bool observe(ObserveStep& step);
  bool text(std::string& text);
  bool set_handle(HandleTableUpdate& update);
  bool entry(TensorHandle& handle);
  bool name(Name& name);

  bool size_is(std::size_t size);
  bool reference(TensorHandle& handle);
  bool operands(OpSpec& op);
  void extras(OpSpec& op, std::size_t count);

  template <class Step, class Read>
  Result step(Read&& read) {
    Step result;
    if (!read(result)) return std::move(error_);
    return ProgramStep(std::move(result));
  }
  Result command(bool good, Command& command) {
    if (!good) return std::move(error_);
    ++decoder_.commands_;
    return ProgramStep(std::move(command));
  }
  std::string where() const;

  Decoder& decoder_;
  LittleEndianReader in_;
  std::size_t size_;
  RecordKind kind_{};
  std::uint8_t flags_ = 0;
  // The item that is being read, for messages.
  int op_index_ = -1;
  std::string_view label_;
  DecodeError error_;
};

std::string Decoder::Record::where() const {
  std::string text(kind_ == RecordKind::simple && !label_.empty() ? label_ : to_string(kind_));
  if (op_index_ >= 0) text += fmt::format(": op {}", op_index_);
  if (op_index_ >= 0 && !label_.empty()) text += fmt::format(" ({})", label_);
  return text;
}

bool Decoder::Record::fail(Fault fault, std::size_t offset, std::string_view what) {
  error_ = {fault, offset, fmt::format("{}: {}", where(), what)};
  return false;
}

Decoder::Result Decoder::Record::decode() {
  if (!framing()) return std::move(error_);
  switch (kind_) {
    case RecordKind::composite: {
      Command result = CompositeCmd{};
      return command(composite(std::get<CompositeCmd>(result)), result);
    }
    case RecordKind::simple: {
      Command result = PeCpuOverheadCmd{};
      return command(simple(result), result);
    }
    case RecordKind::cpu_overhead: {
      Command result = PeCpuOverheadCmd{};
      const bool good = size_is(kFramingBytes + sizeof(std::uint64_t));
      if (good) std::get<PeCpuOverheadCmd>(result).cycles = in_.get<std::uint64_t>();
      return command(good, result);
    }
    case RecordKind::wait:
      return step<WaitStep>([&](WaitStep& result) { return wait(result); });
    case RecordKind::begin_region:
      return step<BeginRegionStep>([&](BeginRegionStep& result) { return text(result.name); });
    case RecordKind::end_region:
      return step<EndRegionStep>([&](EndRegionStep& result) { return text(result.name); });
    case RecordKind::observe:
      return step<ObserveStep>([&](ObserveStep& result) { return observe(result); });
    case RecordKind::set_handle: {
      HandleTableUpdate update;
      if (!set_handle(update)) return std::move(error_);
      return update;
    }
    case RecordKind::end_of_program:
      if (!size_is(kFramingBytes)) return std::move(error_);
      decoder_.commands_ = 0;
      return EndOfProgram{};
  }
  return std::move(error_);  // framing() has checked the kind
}

bool Decoder::Record::framing() {
  if (size_ < kFramingBytes) {
    error_ = {Fault::bad_size, 0,
              fmt::format("a record of {} bytes is shorter than its framing; it must have at "
                          "least {}",
                          size_, kFramingBytes)};
    return false;
  }
  const auto size = in_.get<std::uint16_t>();
  kind_ = static_cast<RecordKind>(in_.get<std::uint8_t>());
  flags_ = in_.get<std::uint8_t>();
  if (size != size_) {
    error_ = {
        Fault::bad_size, 0,
        size < kFramingBytes
            ? fmt::format("the record says that it has {} bytes; it must have at least {}", size,
                          kFramingBytes)
            : fmt::format("the record says that it has {} bytes, and {} are there", size, size_)};
    return false;
  }
  if (to_string(kind_).empty()) {
    error_ = {Fault::bad_kind, KB_RECORD_KIND,
              fmt::format("record kind {:#04x} is unknown; allowed are 0x01, 0x02, 0x10 to 0x14, "
                          "0x20 and 0x21",
                          static_cast<std::uint8_t>(kind_))};
    return false;
  }
  const std::uint8_t allowed = kind_ == RecordKind::composite ? kFlagNoData : 0;
  if ((flags_ & ~allowed) != 0) {
    return fail(
        Fault::bad_flags, KB_RECORD_FLAGS,
        fmt::format("flags are {:#04x}; only the bits of {:#04x} may be set", flags_, allowed));
  }
  return true;
}

bool Decoder::Record::size_is(std::size_t size) {
  return size_ == size ||
         fail(Fault::bad_size, 0, fmt::format("has {} bytes; it must have {}", size_, size));
}

bool Decoder::Record::reference(TensorHandle& handle) {
  const std::size_t offset = in_.offset();
  const auto index = in_.get<std::uint32_t>();
  const auto reserved = in_.get<std::uint32_t>();
  if (reserved != 0) {
    return fail(
        Fault::bad_flags, offset + sizeof index,
        fmt::format("the upper half of a handle reference is {:#x}; it must be 0", reserved));
  }
  const TensorHandle* entry = decoder_.entry(index);
  if (entry == nullptr) {
    return fail(
        Fault::bad_reference, offset,
        index < decoder_.table_entries()
            ? fmt::format("entry {} of the handle table was never set; set it before", index)
            : fmt::format("there is no entry {} in the handle table; give one in [0, {}]", index,
                          decoder_.table_entries() - 1));
  }
  handle = *entry;
  return true;
}

/// `op.operands` already have their names; `op.has_out` says whether an output follows.
bool Decoder::Record::operands(OpSpec& op) {
  for (Operand& operand : op.operands) {
    if (!reference(operand.handle)) return false;
  }
  return !op.has_out || reference(op.out);
}

/// `count` must be the number of all extras of the op, or of those that are not optional.
void Decoder::Record::extras(OpSpec& op, std::size_t count) {
  const OpInfo& info = op_info(op.kind);
  const bool all = count == info.extras.size();
  for (const ExtraInfo& extra : info.extras) {
    if (!all && !extra.required) continue;
    op.extras.push_back({extra.name, extra.type, in_.get<std::uint32_t>()});
  }
}

bool Decoder::Record::composite(CompositeCmd& command) {
  const auto too_short = [&] {
    return fail(Fault::bad_size, in_.offset(),
                fmt::format("has {} bytes and ends too early; write all ops, the number of rw "
                            "handles and their references",
                            size_));
  };
  command.completion.id = decoder_.commands_;
  command.data_op = (flags_ & kFlagNoData) == 0;
  if (!in_.has(1)) return too_short();
  const std::size_t count_offset = in_.offset();
  const std::size_t count = in_.get<std::uint8_t>();
  if (count == 0) {
    return fail(Fault::bad_count, count_offset, "the op list is empty; give at least one op");
  }
  if (!in_.has(count * kLeastOpBytes)) return too_short();
  command.ops.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    op_index_ = static_cast<int>(i);
    label_ = {};
    if (!op(command.ops[i])) return false;
  }
  op_index_ = -1;
  label_ = {};
  if (!in_.has(1)) return too_short();
  const std::size_t handles = in_.get<std::uint8_t>();
  if (in_.rest() != handles * kReferenceBytes) {
    return fail(Fault::bad_size, in_.offset() - 1,
                fmt::format("{} rw handles take {} bytes, and {} follow", handles,
                            handles * kReferenceBytes, in_.rest()));
  }
  command.rw_handles.resize(handles);
  return std::all_of(command.rw_handles.begin(), command.rw_handles.end(),
                     [&](TensorHandle& handle) { return reference(handle); });
}

bool Decoder::Record::op(OpSpec& op) {
  const std::size_t offset = in_.offset();
  const auto too_short = [&] {
    return fail(Fault::bad_size, in_.offset(),
                fmt::format("the record of {} bytes ends inside it", size_));
  };
  if (!in_.has(3)) return too_short();
  const auto opcode = in_.get<std::uint8_t>();
  const auto scope = in_.get<std::uint8_t>();
  const auto counts = in_.get<std::uint8_t>();
  if (opcode >= kOpKinds) {
    return fail(
        Fault::bad_opcode, offset,
        fmt::format("opcode {:#04x} is unknown; give one in [0, {:#04x}]", opcode, kOpKinds - 1));
  }
  op.kind = static_cast<OpKind>(opcode);
  const OpInfo& info = op_info(op.kind);
  label_ = info.name;
  if (scope > static_cast<std::uint8_t>(Scope::output_tile)) {
    return fail(Fault::bad_scope, offset + 1,
                fmt::format("scope {} is unknown; 0 is kernel, 1 k_tile, 2 output_tile", scope));
  }
  op.scope = static_cast<Scope>(scope);
  if (op.on_accumulator() ? !info.tile_operands.has_value() : !info.kernel_form) {
    return fail(Fault::bad_scope, offset + 1,
                op.on_accumulator()
                    ? fmt::format("has no {} form; give it scope kernel (0)", to_string(op.scope))
                    : "is an epilogue op only; give it scope k_tile (1) or output_tile (2)");
  }
  op.has_out = (counts & kHasOut) != 0;
  if (op.on_accumulator()) {
    for (OperandName name : *info.tile_operands) op.operands.emplace_back(name, TensorHandle{});
  } else {
    for (OperandName name : info.operands) op.operands.emplace_back(name, TensorHandle{});
  }
  const bool needs_out = !op.on_accumulator() || info.tile_out;
  const auto expected = static_cast<std::uint8_t>(op.operands.size() | (needs_out ? kHasOut : 0U));
  if (counts != expected) {
    return fail(Fault::bad_count, offset + 2,
                fmt::format("its count of operands is {:#04x}; at scope {} it must be {:#04x}: {} "
                            "and {} output",
                            counts, to_string(op.scope), expected, op.operands.size(),
                            needs_out ? "an" : "no"));
  }
  const std::size_t handles = op.operands.size() + (op.has_out ? 1 : 0);
  if (!in_.has(handles * kReferenceBytes + 1)) return too_short();
  if (!operands(op)) return false;
  const std::size_t extras_offset = in_.offset();
  const std::size_t count = in_.get<std::uint8_t>();
  if (count != info.extras.size() && count != required_extras(info)) {
    return fail(Fault::bad_count, extras_offset,
                fmt::format("it has {} extras; it takes {}", count, extra_counts(info)));
  }
  if (!in_.has(count * kScalarBytes)) return too_short();
  extras(op, count);
  return true;
}

bool Decoder::Record::simple(Command& command) {
  if (size_ < kSimpleBytes) {
    return fail(
        Fault::bad_size, 0,
        fmt::format("has {} bytes and no opcode; it must have at least {}", size_, kSimpleBytes));
  }
  const auto opcode = in_.get<std::uint8_t>();
  switch (static_cast<SimpleOpcode>(opcode)) {
    case SimpleOpcode::load: {
      label_ = "load";
      auto& load = command.emplace<DmaReadCmd>();
      return transfer(load.src, load.dst);
    }
    case SimpleOpcode::store: {
      label_ = "store";
      auto& store = command.emplace<DmaWriteCmd>();
      return transfer(store.src, store.dst);
    }
    case SimpleOpcode::send: {
      label_ = "send";
      auto& send = command.emplace<IpcqSendCmd>();
      return ipcq(send.src, send.to);
    }
    case SimpleOpcode::recv: {
      label_ = "recv";
      auto& recv = command.emplace<IpcqRecvCmd>();
      return ipcq(recv.dst, recv.from);
    }
  }
  if (opcode >= kOpKinds) {
    return fail(Fault::bad_opcode, kFramingBytes,
                fmt::format("opcode {:#04x} is unknown; give one in [0, {:#04x}] or [{:#04x}, "
                            "{:#04x}]",
                            opcode, kOpKinds - 1, static_cast<std::uint8_t>(SimpleOpcode::load),
                            static_cast<std::uint8_t>(SimpleOpcode::recv)));
  }
  return simple_op(opcode, command);
}

bool Decoder::Record::simple_op(std::uint8_t opcode, Command& command) {
  const auto kind = static_cast<OpKind>(opcode);
  const OpInfo& info = op_info(kind);
  label_ = info.name;
  if (!info.kernel_form) {
    return fail(Fault::bad_opcode, kFramingBytes,
                "is an epilogue op of a composite only, no simple command");
  }
  OpSpec& op = kind == OpKind::gemm ? command.emplace<GemmCmd>().op : command.emplace<MathCmd>().op;
  op.kind = kind;
  for (OperandName name : info.operands) op.operands.emplace_back(name, TensorHandle{});
  op.has_out = true;
  const std::size_t without_extras = kSimpleBytes + (op.operands.size() + 1) * kReferenceBytes;
  const std::size_t least = without_extras + required_extras(info) * kScalarBytes;
  const std::size_t most = without_extras + info.extras.size() * kScalarBytes;
  if (size_ != least && size_ != most) {
    return fail(
        Fault::bad_size, 0,
        fmt::format(
            "has {} bytes; with {} extras it must have {}", size_, extra_counts(info),
            least == most ? fmt::format("{}", most) : fmt::format("{} or {}", least, most)));
  }
  if (!operands(op)) return false;
  extras(op, (size_ - without_extras) / kScalarBytes);
  return true;
}

bool Decoder::Record::transfer(TensorHandle& src, TensorHandle& dst) {
  return size_is(kSimpleBytes + 2 * kReferenceBytes) && reference(src) && reference(dst);
}

bool Decoder::Record::ipcq(TensorHandle& handle, IpcqChannel& channel) {
  if (!size_is(kSimpleBytes + kReferenceBytes + kScalarBytes) || !reference(handle)) return false;
  const auto scalar = in_.get<std::uint32_t>();
  channel = {scalar % kMaxIpcqPeers, scalar / kMaxIpcqPeers};  // KB_PEER
  return true;
}

bool Decoder::Record::wait(WaitStep& step) {
  constexpr std::size_t kFixed = kFramingBytes + sizeof(std::uint16_t);
  if (size_ < kFixed) return size_is(kFixed);
  const std::size_t count = in_.get<std::uint16_t>();
  if (!size_is(kFixed + count * kRangeBytes)) return false;
  step.ranges.resize(count);
  for (ByteRange& range : step.ranges) {
    const std::size_t offset = in_.offset();
    range.begin = in_.get<std::uint64_t>();
    range.end = in_.get<std::uint64_t>();
    if (range.begin >= range.end) {
      return fail(Fault::bad_range, offset,
                  fmt::format("range [{:#x}, {:#x}) is empty; its end must be above its begin",
                              range.begin, range.end));
    }
  }
  return true;
}

bool Decoder::Record::text(std::string& text) {
  const std::size_t offset = in_.offset();
  const std::string_view given = in_.text(in_.rest());
  const TextProblem problem = problem_of_text(given, kMaxTextBytes);
  if (!problem.what.empty()) return fail(Fault::bad_text, offset + problem.offset, problem.what);
  text = given;
  return true;
}

bool Decoder::Record::observe(ObserveStep& step) {
  if (!in_.has(kReferenceBytes)) {
    return fail(Fault::bad_size, 0,
                fmt::format("has {} bytes; it must have at least {} and a name", size_,
                            kFramingBytes + kReferenceBytes));
  }
  return reference(step.handle) && text(step.name);
}

bool Decoder::Record::set_handle(HandleTableUpdate& update) {
  if (!size_is(KB_SET_HANDLE_BYTES)) return false;
  const std::size_t offset = in_.offset();
  update.index = in_.get<std::uint32_t>();
  if (update.index >= decoder_.table_entries()) {
    return fail(Fault::bad_reference, offset,
                fmt::format("there is no entry {} in the handle table; give one in [0, {}]",
                            update.index, decoder_.table_entries() - 1));
  }
  TensorHandle handle;
  if (!entry(handle)) return false;
  decoder_.table_[update.index] = handle;
  return true;
}

bool Decoder::Record::entry(TensorHandle& handle) {
  const std::size_t begin = in_.offset();
  const auto index = [&] { return static_cast<Index>(in_.get<std::uint64_t>()); };
  // `offset`: of the field in the entry.
  const auto bad = [&](std::size_t offset, std::string_view what) {
    return fail(Fault::bad_handle, begin + offset, what);
  };
  handle.id = in_.get<std::uint64_t>();
  handle.addr = in_.get<std::uint64_t>();
  const Index rows = index();
  const Index cols = index();
  handle.row_stride = index();
  handle.col_stride = index();
  const auto rank = in_.get<std::uint8_t>();
  const auto dtype = in_.get<std::uint8_t>();
  const auto space = in_.get<std::uint8_t>();
  if (rank != 1 && rank != 2) {
    return bad(KB_ENTRY_RANK, fmt::format("rank is {}; it must be 1 or 2", rank));
  }
  if (rank == 1 && rows != 1) {
    return bad(KB_ENTRY_ROWS, fmt::format("rows is {}; a tensor of rank 1 has 1", rows));
  }
  if (dtype >= kDTypes.size()) {
    return bad(KB_ENTRY_DTYPE, fmt::format("dtype {} is unknown; 0 is f16, 1 bf16, 2 f32", dtype));
  }
  if (space > static_cast<std::uint8_t>(Space::tcm)) {
    return bad(KB_ENTRY_SPACE, fmt::format("space {} is unknown; 0 is hbm, 1 tcm", space));
  }
  handle.shape = rank == 1 ? Shape::vector(cols) : Shape::matrix(rows, cols);
  handle.dtype = static_cast<DType>(dtype);
  handle.space = static_cast<Space>(space);
  for (std::size_t i = 0; i < KB_ENTRY_NAME - KB_ENTRY_RESERVED; ++i) {
    const std::size_t offset = in_.offset();
    const auto reserved = in_.get<std::uint8_t>();
    if (reserved != 0) {
      return fail(Fault::bad_flags, offset,
                  fmt::format("a reserved byte is {:#04x}; it must be 0", reserved));
    }
  }
  if (!name(handle.name)) return false;
  const HandleProblem problem = problem_of(handle);
  return problem.part == HandlePart::none || bad(offset_in_entry(problem.part), problem.what);
}

bool Decoder::Record::name(Name& name) {
  const std::size_t offset = in_.offset();
  const std::string_view padded = in_.text(kEntryNameBytes);
  const std::string_view text = padded.substr(0, padded.find('\0'));
  const auto control =
      static_cast<std::size_t>(std::find_if(text.begin(), text.end(), is_control) - text.begin());
  if (control != text.size()) {
    return fail(Fault::bad_text, offset + control,
                fmt::format("byte {} of the tensor's name is {:#04x}, a control character", control,
                            static_cast<std::uint8_t>(text[control])));
  }
  const std::size_t rest = padded.find_first_not_of('\0', text.size());
  if (text.size() == kEntryNameBytes || rest != std::string_view::npos) {
    return fail(
        Fault::bad_text, offset + std::min(rest, kEntryNameBytes - 1),
        "the tensor's name is not padded with zeros; it has at most 23 bytes and ends in 0");
  }
  name = text;
  return true;
}

Decoder::Decoder(std::uint32_t table_entries) : table_(std::max(table_entries, 1U)) {}

std::size_t Decoder::record_size(const std::uint8_t* framing) {
  return LittleEndianReader(framing, sizeof(std::uint16_t)).get<std::uint16_t>();
}

Decoder::Result Decoder::decode(const std::uint8_t* record, std::size_t size) {
  return Record(*this, record, size).decode();
}

const TensorHandle* Decoder::entry(std::uint32_t index) const {
  return index < table_.size() && table_[index].id != 0 ? &table_[index] : nullptr;
}

void Decoder::reset() {
  std::fill(table_.begin(), table_.end(), TensorHandle{});
  commands_ = 0;
}

}  // namespace kernbench::command
