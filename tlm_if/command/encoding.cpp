// SPDX-License-Identifier: Apache-2.0
#include "tlm_if/command/encoding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "tlm_if/command/error.hpp"
#include "tlm_if/command/limits.hpp"
#include "tlm_if/command/little_endian.hpp"
#include "tlm_if/command/text.hpp"

namespace kernbench::command {
namespace {

constexpr std::size_t kReferenceBytes = 8;
constexpr std::size_t kExtraBytes = 4;
constexpr std::size_t kRangeBytes = 16;
constexpr std::size_t kReservedEntryBytes = 5;
constexpr std::size_t kNameBytes = 24;
constexpr std::size_t kSimpleBytes = kFramingBytes + 1;
// An op without operands, output and extras: opcode, scope and two counts.
constexpr std::size_t kLeastOpBytes = 4;
// The 4-byte scalar of an IPCQ command.
constexpr unsigned kIpcqChannelShift = 24;

static_assert(kMaxWaitRanges == (kMaxRecordBytes - kFramingBytes - 2) / kRangeBytes);
static_assert(kHandleEntryBytes == 6 * 8 + 3 + kReservedEntryBytes + kNameBytes);

/// Empty: there is no such kind.
std::string_view to_string(RecordKind kind) {
  switch (kind) {
    case RecordKind::composite:
      return "composite";
    case RecordKind::simple:
      return "simple command";
    case RecordKind::cpu_overhead:
      return "cpu_overhead";
    case RecordKind::wait:
      return "wait";
    case RecordKind::begin_region:
      return "begin_region";
    case RecordKind::end_region:
      return "end_region";
    case RecordKind::observe:
      return "observe";
    case RecordKind::set_handle:
      return "set_handle";
    case RecordKind::end_of_program:
      return "end_of_program";
  }
  return {};
}

/// Extras of the op that may not be left away.
std::size_t required_extras(const OpInfo& info) {
  return static_cast<std::size_t>(std::count_if(info.extras.begin(), info.extras.end(),
                                                [](const ExtraInfo& e) { return e.required; }));
}

std::string extra_counts(const OpInfo& info) {
  const std::size_t least = required_extras(info);
  const std::size_t most = info.extras.size();
  return least == most ? fmt::format("{}", most) : fmt::format("{} or {}", least, most);
}

}  // namespace

std::string_view to_string(Fault fault) {
  switch (fault) {
    case Fault::none:
      return "none";
    case Fault::bad_size:
      return "bad_size";
    case Fault::bad_kind:
      return "bad_kind";
    case Fault::bad_flags:
      return "bad_flags";
    case Fault::bad_opcode:
      return "bad_opcode";
    case Fault::bad_scope:
      return "bad_scope";
    case Fault::bad_count:
      return "bad_count";
    case Fault::bad_reference:
      return "bad_reference";
    case Fault::bad_handle:
      return "bad_handle";
    case Fault::bad_text:
      return "bad_text";
    case Fault::bad_range:
      return "bad_range";
    case Fault::refused:
      return "refused";
  }
  return "?";
}

// ---- decoding -----------------------------------------------------------------------------------

/// One record on its way in. Reading stops at the first thing that is wrong.
class Decoder::Record {
 public:
  Record(Decoder& decoder, const std::uint8_t* bytes, std::size_t size)
      : decoder_(decoder), in_(bytes, size), size_(size) {}

  Result decode();

 private:
  // Each of these is true, or has said what is wrong.
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
  // What is being read, for messages.
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
  return std::move(error_);  // framing() knows all kinds
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
    error_ = {Fault::bad_kind, 2,
              fmt::format("record kind {:#04x} is unknown; allowed are 0x01, 0x02, 0x10 to 0x14, "
                          "0x20 and 0x21",
                          static_cast<std::uint8_t>(kind_))};
    return false;
  }
  const std::uint8_t allowed = kind_ == RecordKind::composite ? kFlagNoData : 0;
  if ((flags_ & ~allowed) != 0) {
    return fail(
        Fault::bad_flags, 3,
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

/// `op.operands` have their names; `op.has_out` says whether an output follows.
bool Decoder::Record::operands(OpSpec& op) {
  for (Operand& operand : op.operands) {
    if (!reference(operand.handle)) return false;
  }
  return !op.has_out || reference(op.out);
}

/// `count` is that of all extras of the op or of those that may not be left away.
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
  if (!in_.has(count * kExtraBytes)) return too_short();
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
  const std::size_t least = without_extras + required_extras(info) * kExtraBytes;
  const std::size_t most = without_extras + info.extras.size() * kExtraBytes;
  if (size_ != least && size_ != most) {
    return fail(
        Fault::bad_size, 0,
        fmt::format(
            "has {} bytes; with {} extras it must have {}", size_, extra_counts(info),
            least == most ? fmt::format("{}", most) : fmt::format("{} or {}", least, most)));
  }
  if (!operands(op)) return false;
  extras(op, (size_ - without_extras) / kExtraBytes);
  return true;
}

bool Decoder::Record::transfer(TensorHandle& src, TensorHandle& dst) {
  return size_is(kSimpleBytes + 2 * kReferenceBytes) && reference(src) && reference(dst);
}

bool Decoder::Record::ipcq(TensorHandle& handle, IpcqChannel& channel) {
  if (!size_is(kSimpleBytes + kReferenceBytes + kExtraBytes) || !reference(handle)) return false;
  const auto scalar = in_.get<std::uint32_t>();
  channel = {scalar & (kMaxIpcqPeers - 1), scalar >> kIpcqChannelShift};
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
  if (!size_is(kFramingBytes + sizeof update.index + kHandleEntryBytes)) return false;
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
    return bad(48, fmt::format("rank is {}; it must be 1 or 2", rank));
  }
  if (rank == 1 && rows != 1) {
    return bad(16, fmt::format("rows is {}; a tensor of rank 1 has 1", rows));
  }
  if (dtype >= kDTypes.size()) {
    return bad(49, fmt::format("dtype {} is unknown; 0 is f16, 1 bf16, 2 f32", dtype));
  }
  if (space > static_cast<std::uint8_t>(Space::tcm)) {
    return bad(50, fmt::format("space {} is unknown; 0 is hbm, 1 tcm", space));
  }
  handle.shape = rank == 1 ? Shape::vector(cols) : Shape::matrix(rows, cols);
  handle.dtype = static_cast<DType>(dtype);
  handle.space = static_cast<Space>(space);
  for (std::size_t i = 0; i < kReservedEntryBytes; ++i) {
    const std::size_t offset = in_.offset();
    const auto reserved = in_.get<std::uint8_t>();
    if (reserved != 0) {
      return fail(Fault::bad_flags, offset,
                  fmt::format("a reserved byte is {:#04x}; it must be 0", reserved));
    }
  }
  if (!name(handle.name)) return false;
  const HandleProblem problem = problem_of(handle);
  switch (problem.part) {
    case HandlePart::none:
      return true;
    case HandlePart::id:
      return bad(0, problem.what);
    case HandlePart::addr:
      return bad(8, problem.what);
    case HandlePart::rows:
      return bad(16, problem.what);
    case HandlePart::cols:
      return bad(24, problem.what);
    case HandlePart::row_stride:
      return bad(32, problem.what);
    case HandlePart::col_stride:
      return bad(40, problem.what);
  }
  return true;
}

bool Decoder::Record::name(Name& name) {
  const std::size_t offset = in_.offset();
  const std::string_view padded = in_.text(kNameBytes);
  const std::string_view text = padded.substr(0, padded.find('\0'));
  const auto control =
      static_cast<std::size_t>(std::find_if(text.begin(), text.end(), is_control) - text.begin());
  if (control != text.size()) {
    return fail(Fault::bad_text, offset + control,
                fmt::format("byte {} of the tensor's name is {:#04x}, a control character", control,
                            static_cast<std::uint8_t>(text[control])));
  }
  const std::size_t rest = padded.find_first_not_of('\0', text.size());
  if (text.size() == kNameBytes || rest != std::string_view::npos) {
    return fail(
        Fault::bad_text, offset + std::min(rest, kNameBytes - 1),
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

// ---- encoding -----------------------------------------------------------------------------------

class Encoder::Record {
 public:
  Record(Encoder& encoder, RecordKind kind, std::uint8_t flags = 0)
      : encoder_(encoder), out_(bytes_) {
    out_.put<std::uint16_t>(0);
    out_.put(static_cast<std::uint8_t>(kind));
    out_.put(flags);
  }

  template <class T>
  void put(T value) {
    out_.put(value);
  }
  void text(std::string_view text) { out_.text(text); }
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
  void simple(SimpleOpcode opcode) { out_.put(static_cast<std::uint8_t>(opcode)); }
  void simple(const OpSpec& op) {
    out_.put(static_cast<std::uint8_t>(op.kind));
    operands(op);
    extras(op);
  }
  void ipcq(const IpcqChannel& channel) {
    out_.put(channel.peer | channel.channel << kIpcqChannelShift);
  }
  void finish() {
    bytes_[0] = static_cast<std::uint8_t>(bytes_.size());
    bytes_[1] = static_cast<std::uint8_t>(bytes_.size() >> 8);
    encoder_.bytes_.insert(encoder_.bytes_.end(), bytes_.begin(), bytes_.end());
  }

 private:
  Encoder& encoder_;
  std::vector<std::uint8_t> bytes_;
  LittleEndianWriter out_;
};

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

void require_channel(const char* where, const IpcqChannel& channel) {
  if (channel.peer < kMaxIpcqPeers && channel.channel < kMaxIpcqChannels) return;
  throw InputError(
      fmt::format("{}: PE {}, channel {} have no binary form; they must be below {} "
                  "and {}",
                  where, channel.peer, channel.channel, kMaxIpcqPeers, kMaxIpcqChannels));
}

}  // namespace

/// Of what tells tiles of one tensor apart; the rest is left to the comparison.
std::size_t Encoder::HandleHash::operator()(const TensorHandle& handle) const {
  constexpr std::uint64_t kGoldenRatio = 0x9E3779B97F4A7C15;  // spreads ids that count up
  return std::hash<std::uint64_t>{}((handle.id * kGoldenRatio) ^ handle.addr);
}

Encoder::Encoder(std::uint32_t table_entries) : table_(std::max(table_entries, 1U)) {}

std::uint32_t Encoder::reference(const TensorHandle& handle) {
  const auto known = index_.find(handle);
  if (known != index_.end()) {
    table_[known->second].used = steps_;
    return known->second;
  }
  const HandleProblem problem = problem_of(handle);
  if (problem.part != HandlePart::none) {
    throw InputError(fmt::format("{} has no binary form: {}", handle.describe(), problem.what));
  }
  const std::string_view name = handle.name;
  if (std::any_of(name.begin(), name.end(), is_control)) {
    throw InputError(
        fmt::format("the name of tensor {}#{} has no binary form: it has a control "
                    "character; give it another one",
                    to_string(handle.space), handle.id));
  }
  std::size_t tried = 0;
  while (tried < table_.size() && table_[next_].used == steps_) {
    next_ = (next_ + 1) % static_cast<std::uint32_t>(table_.size());
    ++tried;
  }
  if (tried == table_.size()) {
    throw InputError(
        fmt::format("a command has more tensors than the {} entries of the handle "
                    "table; enlarge it",
                    table_.size()));
  }
  const std::uint32_t index = next_;
  next_ = (next_ + 1) % static_cast<std::uint32_t>(table_.size());
  index_.erase(table_[index].handle);
  table_[index] = {handle, steps_};
  index_.emplace(handle, index);

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
  for (std::size_t i = 0; i < kReservedEntryBytes; ++i) record.put(std::uint8_t{0});
  record.text(name);
  for (std::size_t i = name.size(); i < kNameBytes; ++i) record.put(std::uint8_t{0});
  record.finish();
  return index;
}

void Encoder::append(const ProgramStep& step) {
  struct Append {
    Encoder& encoder;

    void operator()(const Command& command) const {
      check_form(command);
      std::visit(*this, command);
      ++encoder.commands_;
    }
    void operator()(const CompositeCmd& command) const {
      require(command.ops.size() <= kMaxOps, "composite", command.ops.size(), "ops", kMaxOps);
      require(command.rw_handles.size() <= kMaxRwHandles, "composite", command.rw_handles.size(),
              "rw handles", kMaxRwHandles);
      if (command.completion.id != encoder.commands_) {
        throw InputError(
            fmt::format("composite: its completion is {} and has no binary form; it "
                        "must be its number in its program, {}",
                        command.completion.id, encoder.commands_));
      }
      Record record(encoder, RecordKind::composite, command.data_op ? 0 : kFlagNoData);
      record.put(static_cast<std::uint8_t>(command.ops.size()));
      for (const OpSpec& op : command.ops) record.op(op);
      record.put(static_cast<std::uint8_t>(command.rw_handles.size()));
      for (const TensorHandle& handle : command.rw_handles) record.reference(handle);
      record.finish();
    }
    void operator()(const DmaReadCmd& command) const {
      Record record(encoder, RecordKind::simple);
      record.simple(SimpleOpcode::load);
      record.reference(command.src);
      record.reference(command.dst);
      record.finish();
    }
    void operator()(const DmaWriteCmd& command) const {
      Record record(encoder, RecordKind::simple);
      record.simple(SimpleOpcode::store);
      record.reference(command.src);
      record.reference(command.dst);
      record.finish();
    }
    void operator()(const MathCmd& command) const { op(command.op); }
    void operator()(const GemmCmd& command) const { op(command.op); }
    void op(const OpSpec& op) const {
      Record record(encoder, RecordKind::simple);
      record.simple(op);
      record.finish();
    }
    void operator()(const IpcqSendCmd& command) const {
      require_channel("send", command.to);
      Record record(encoder, RecordKind::simple);
      record.simple(SimpleOpcode::send);
      record.reference(command.src);
      record.ipcq(command.to);
      record.finish();
    }
    void operator()(const IpcqRecvCmd& command) const {
      require_channel("recv", command.from);
      Record record(encoder, RecordKind::simple);
      record.simple(SimpleOpcode::recv);
      record.reference(command.dst);
      record.ipcq(command.from);
      record.finish();
    }
    void operator()(const PeCpuOverheadCmd& command) const {
      Record record(encoder, RecordKind::cpu_overhead);
      record.put(command.cycles);
      record.finish();
    }
    void operator()(const WaitStep& step) const {
      require(step.ranges.size() <= kMaxWaitRanges, "wait", step.ranges.size(), "ranges",
              kMaxWaitRanges);
      Record record(encoder, RecordKind::wait);
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
    void operator()(const BeginRegionStep& step) const {
      text(RecordKind::begin_region, step.name);
    }
    void operator()(const EndRegionStep& step) const { text(RecordKind::end_region, step.name); }
    void text(RecordKind kind, std::string_view name) const {
      require_text(to_string(kind), name);
      Record record(encoder, kind);
      record.text(name);
      record.finish();
    }
    void operator()(const ObserveStep& step) const {
      require_text("observe", step.name);
      Record record(encoder, RecordKind::observe);
      record.reference(step.handle);
      record.text(step.name);
      record.finish();
    }
  };
  ++steps_;
  std::visit(Append{*this}, step);
}

void Encoder::end_program() {
  Record(*this, RecordKind::end_of_program).finish();
  commands_ = 0;
}

// ---- whole programs -----------------------------------------------------------------------------

std::vector<std::uint8_t> encode(const Program& program, std::uint32_t table_entries) {
  Encoder encoder(table_entries);
  for (const ProgramStep& step : program.steps) encoder.append(step);
  encoder.end_program();
  return encoder.bytes();
}

Program decode(const std::uint8_t* bytes, std::size_t size, std::uint32_t table_entries,
               const Refuse& refuse) {
  Decoder decoder(table_entries);
  Program program;
  std::size_t offset = 0;
  for (;;) {
    const std::size_t rest = size - offset;
    if (rest < kFramingBytes) {
      refuse(offset, fmt::format("the stream ends after {} bytes without an end of program; it is "
                                 "cut short",
                                 size));
    }
    const std::size_t record = Decoder::record_size(bytes + offset);
    if (record > rest) {
      refuse(offset, fmt::format("a record of {} bytes begins and {} are left; the stream is cut "
                                 "short",
                                 record, rest));
    }
    Decoder::Result result = decoder.decode(bytes + offset, std::max(record, kFramingBytes));
    if (const auto* error = std::get_if<DecodeError>(&result)) {
      refuse(offset + error->offset,
             fmt::format("{} ({})", error->reason, to_string(error->fault)));
    }
    offset += record;
    if (std::holds_alternative<EndOfProgram>(result)) break;
    if (auto* step = std::get_if<ProgramStep>(&result)) program.steps.push_back(std::move(*step));
  }
  if (offset != size) {
    refuse(offset,
           fmt::format("{} bytes follow the end of the program; remove them", size - offset));
  }
  return program;
}

Program decode(const std::vector<std::uint8_t>& bytes, std::string_view name,
               std::uint32_t table_entries) {
  return decode(bytes.data(), bytes.size(), table_entries,
                [&](std::size_t offset, const std::string& what) {
                  throw InputError(fmt::format("{}: offset {}: {}", name, offset, what));
                });
}

}  // namespace kernbench::command
