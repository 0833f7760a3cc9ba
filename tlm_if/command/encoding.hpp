// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tlm_if/command/program.hpp"
#include "tlm_if/command/program_format.h"

// The binary form of a command stream. A program file contains it, and a host writes it into the
// command ring of a host port. docs/program_format.md lists every field, and
// tlm_if/command/program_format.h has the numbers. Everything is little-endian, packed, and without
// alignment.
//
// A stream is a sequence of records, each of which begins with four bytes of framing. A command's
// record is exactly as long as its logical bytes (contract 3), which determine the dispatch cost.
// The other records (waits, regions, table entries) have no dispatch cost.

namespace kernbench::command {

inline constexpr std::size_t kMaxRecordBytes = KB_RECORD_MAX_BYTES;
inline constexpr std::size_t kFramingBytes = KB_RECORD_BODY;
/// Size of a reference to a handle: an index into the handle table.
inline constexpr std::size_t kReferenceBytes = KB_REFERENCE_BYTES;
/// Size of an extra of an op, and of the scalar of a send or recv.
inline constexpr std::size_t kScalarBytes = KB_EXTRA_BYTES;
/// Size of a tensor in a SET_HANDLE record.
inline constexpr std::size_t kHandleEntryBytes = KB_ENTRY_BYTES;
/// Largest size of the name of a region or a result.
inline constexpr std::size_t kMaxTextBytes = 255;
/// Largest number of ranges in one WAIT record.
inline constexpr std::size_t kMaxWaitRanges = 4095;
inline constexpr std::size_t kRangeBytes = 16;
inline constexpr std::size_t kMaxOps = 255;        ///< of a composite
inline constexpr std::size_t kMaxRwHandles = 255;  ///< of a composite
inline constexpr std::uint32_t kDefaultHandleTableEntries = 4096;
inline constexpr std::uint32_t kMaxHandleTableEntries = 65536;  ///< of a program file

/// The third byte of a record.
enum class RecordKind : std::uint8_t {
  composite = KB_REC_COMPOSITE,
  simple = KB_REC_SIMPLE,
  cpu_overhead = KB_REC_CPU_OVERHEAD,
  wait = KB_REC_WAIT,
  begin_region = KB_REC_BEGIN_REGION,
  end_region = KB_REC_END_REGION,
  observe = KB_REC_OBSERVE,
  set_handle = KB_REC_SET_HANDLE,
  end_of_program = KB_REC_END_OF_PROGRAM,
};
/// Empty if there is no such kind.
std::string_view to_string(RecordKind kind);

/// The opcode byte of a simple command. Smaller values are OpKinds: a MathCmd, or a GemmCmd for
/// OpKind::gemm.
enum class SimpleOpcode : std::uint8_t {
  load = KB_SIMPLE_LOAD,
  store = KB_SIMPLE_STORE,
  send = KB_SIMPLE_SEND,
  recv = KB_SIMPLE_RECV,
};

/// The fourth byte of a record: flags. Only a composite has a flag.
inline constexpr std::uint8_t kFlagNoData = KB_FLAG_NO_DATA;  ///< data_op is false
/// A bit of the operand count byte of an op.
inline constexpr std::uint8_t kHasOut = KB_HAS_OUT;

/// What is wrong with a record. The numbers are those of the host port's ERROR_CODE register.
enum class Fault : std::uint8_t {
  none = 0,
  bad_size = 1,       ///< the record is shorter or longer than its contents
  bad_kind = 2,       ///< there is no such record
  bad_flags = 3,      ///< a reserved bit or byte is not 0
  bad_opcode = 4,     ///< there is no such op, or not in a command of this kind
  bad_scope = 5,      ///< there is no such scope, or this op does not allow it
  bad_count = 6,      ///< a number of operands, extras or ops that is not allowed
  bad_reference = 7,  ///< a handle that is not in the table
  bad_handle = 8,     ///< a table entry that does not describe a tensor
  bad_text = 9,       ///< a name that is empty, too long, or not printable UTF-8
  bad_range = 10,     ///< a range that is empty or reversed
  refused = 11,       ///< well-formed, but this PE does not accept it (R4.9)
};
std::string_view to_string(Fault fault);

/// The records of a program, its end included.
std::vector<std::uint8_t> encode(const Program& program,
                                 std::uint32_t table_entries = kDefaultHandleTableEntries);
/// Decodes bytes that contain exactly one program. Throws InputError, whose message begins with
/// `name` and names the offset, for anything else.
Program decode(const std::vector<std::uint8_t>& bytes, std::string_view name,
               std::uint32_t table_entries = kDefaultHandleTableEntries);
/// The same for bytes inside something larger. `refuse` must throw.
using Refuse = std::function<void(std::size_t offset, const std::string& what)>;
Program decode(const std::uint8_t* bytes, std::size_t size, std::uint32_t table_entries,
               const Refuse& refuse);

}  // namespace kernbench::command
