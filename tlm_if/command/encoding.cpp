// SPDX-License-Identifier: Apache-2.0
#include "tlm_if/command/encoding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tlm_if/command/decoder.hpp"
#include "tlm_if/command/encoder.hpp"
#include "tlm_if/command/error.hpp"

namespace kernbench::command {
namespace {

// Bytes of the format that equal enumerators of the command model.
template <class Enum>
constexpr bool is(unsigned number, Enum value) {
  return number == static_cast<unsigned>(value);
}
static_assert(is(KB_SCOPE_KERNEL, Scope::kernel) && is(KB_SCOPE_K_TILE, Scope::k_tile) &&
              is(KB_SCOPE_OUTPUT_TILE, Scope::output_tile));
static_assert(is(KB_DTYPE_F16, DType::f16) && is(KB_DTYPE_BF16, DType::bf16) &&
              is(KB_DTYPE_F32, DType::f32));
static_assert(is(KB_SPACE_HBM, Space::hbm) && is(KB_SPACE_TCM, Space::tcm));

static_assert(KB_SET_HANDLE_INDEX == kFramingBytes);
static_assert(KB_SET_HANDLE_BYTES == KB_SET_HANDLE_ENTRY + kHandleEntryBytes);
static_assert(KB_ENTRY_BYTES - KB_ENTRY_NAME == Name::kMaxSize + 1);
static_assert(KB_PEER(0U, 1U) == kMaxIpcqPeers);
static_assert(kMaxWaitRanges ==
              (kMaxRecordBytes - kFramingBytes - sizeof(std::uint16_t)) / kRangeBytes);

}  // namespace

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
