// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "tlm_if/command/program.hpp"

// The binary form of a command stream: what a program file holds and what a host writes into the
// command ring of a host port. docs/program_format.md lists every field; all of it is
// little-endian, packed, and without alignment.
//
// A stream is a sequence of records, each of which begins with four bytes of framing. A command's
// record is as long as its logical bytes (contract 3): what dispatch pays for is what is there. The
// other records (waits, regions, table entries) cost no dispatch.

namespace kernbench::command {

/// Of the first two bytes, little-endian.
inline constexpr std::size_t kMaxRecordBytes = 65535;
inline constexpr std::size_t kFramingBytes = 4;
/// Of a tensor in a SET_HANDLE record.
inline constexpr std::size_t kHandleEntryBytes = 80;
/// Of a region or a result.
inline constexpr std::size_t kMaxTextBytes = 255;
/// Ranges of one WAIT record.
inline constexpr std::size_t kMaxWaitRanges = 4095;
inline constexpr std::size_t kMaxOps = 255;        ///< of a composite
inline constexpr std::size_t kMaxRwHandles = 255;  ///< of a composite
inline constexpr std::uint32_t kDefaultHandleTableEntries = 4096;
inline constexpr std::uint32_t kMaxHandleTableEntries = 65536;  ///< of a program file

/// The third byte.
enum class RecordKind : std::uint8_t {
  composite = 0x01,
  simple = 0x02,
  cpu_overhead = 0x10,
  wait = 0x11,
  begin_region = 0x12,
  end_region = 0x13,
  observe = 0x14,
  set_handle = 0x20,
  end_of_program = 0x21,
};

/// The opcode byte of a simple command: below this, a MathCmd of that OpKind, or GemmCmd for
/// OpKind::gemm.
enum class SimpleOpcode : std::uint8_t { load = 0x80, store = 0x81, send = 0x82, recv = 0x83 };

/// The fourth byte: flags. Only a composite has one.
inline constexpr std::uint8_t kFlagNoData = 0x01;  ///< data_op is false
/// Of the operand count byte of an op.
inline constexpr std::uint8_t kHasOut = 0x80;

/// What is wrong with a record. The numbers are those of the host port's ERROR_CODE register.
enum class Fault : std::uint8_t {
  none = 0,
  bad_size = 1,       ///< the record is shorter or longer than what it holds
  bad_kind = 2,       ///< no such record
  bad_flags = 3,      ///< a reserved bit or byte is not 0
  bad_opcode = 4,     ///< no such op, or none that a command of this kind takes
  bad_scope = 5,      ///< no such scope, or none that the op takes
  bad_count = 6,      ///< operands, extras or ops in another number than allowed
  bad_reference = 7,  ///< a handle that the table does not hold
  bad_handle = 8,     ///< a table entry that describes no tensor
  bad_text = 9,       ///< a name that is empty, too long, or no printable UTF-8
  bad_range = 10,     ///< a range that is empty or reversed
  refused = 11,       ///< well-formed, but no command that this PE takes (R4.9)
};
std::string_view to_string(Fault fault);

struct DecodeError {
  Fault fault = Fault::none;
  std::size_t offset = 0;  ///< of the byte, in the record
  std::string reason;      ///< one line for a reader
};

struct HandleTableUpdate {
  std::uint32_t index = 0;
};
struct EndOfProgram {};

/// Turns records into what they stand for. Any bytes are allowed: what is not a record gives a
/// DecodeError, and changes nothing.
class Decoder {
 public:
  using Result = std::variant<ProgramStep, HandleTableUpdate, EndOfProgram, DecodeError>;

  /// At least one entry.
  explicit Decoder(std::uint32_t table_entries = kDefaultHandleTableEntries);

  /// The size that a record says it has, from its first kFramingBytes; less than kFramingBytes is a
  /// fault that decode() tells of.
  static std::size_t record_size(const std::uint8_t* framing);

  /// One whole record of `size` bytes.
  Result decode(const std::uint8_t* record, std::size_t size);

  std::uint32_t table_entries() const { return static_cast<std::uint32_t>(table_.size()); }
  /// Null: never set, or beyond the table.
  const TensorHandle* entry(std::uint32_t index) const;
  /// As constructed.
  void reset();

 private:
  class Record;

  std::vector<TensorHandle> table_;  // id 0: not set
  std::uint64_t commands_ = 0;       // of this program: completion of the next (R3.6)
};

/// Turns the steps of a program into records. Handles are put into the table in order of first use;
/// in a full table the oldest entry gives way, and is written again when it is used again.
class Encoder {
 public:
  explicit Encoder(std::uint32_t table_entries = kDefaultHandleTableEntries);

  /// Appends the records of a step: first those of table entries that it needs. Throws InputError
  /// for a command that has no binary form: operands or extras that are not those of the op table,
  /// a completion that is not the command's number in its program (R3.6), sizes beyond a record.
  void append(const ProgramStep& step);
  /// Appends the end of the program; another may follow.
  void end_program();

  const std::vector<std::uint8_t>& bytes() const { return bytes_; }

 private:
  /// A record that is being made: its table entries are written before it.
  class Record;
  /// Index of a table entry that holds the handle, and is this step's until the next.
  std::uint32_t reference(const TensorHandle& handle);

  struct Entry {
    TensorHandle handle;
    std::uint64_t used = 0;  // by which step
  };
  struct HandleHash {
    std::size_t operator()(const TensorHandle& handle) const;
  };
  std::vector<std::uint8_t> bytes_;
  std::vector<Entry> table_;
  // Not by id: a tensor may have several forms (a view, a dtype, a name), each with its own entry.
  std::unordered_map<TensorHandle, std::uint32_t, HandleHash> index_;  // looked up, never walked
  std::uint32_t next_ = 0;                                             // entry to give way
  std::uint64_t steps_ = 0;
  std::uint64_t commands_ = 0;
};

/// The records of a program, its end included.
std::vector<std::uint8_t> encode(const Program& program,
                                 std::uint32_t table_entries = kDefaultHandleTableEntries);
/// The program in the bytes, which hold one whole program. Throws InputError, which begins with
/// `name` and names the offset, for anything else.
Program decode(const std::vector<std::uint8_t>& bytes, std::string_view name,
               std::uint32_t table_entries = kDefaultHandleTableEntries);
/// The same of bytes inside something larger. `refuse` throws what it is told of.
using Refuse = std::function<void(std::size_t offset, const std::string& what)>;
Program decode(const std::uint8_t* bytes, std::size_t size, std::uint32_t table_entries,
               const Refuse& refuse);

}  // namespace kernbench::command
