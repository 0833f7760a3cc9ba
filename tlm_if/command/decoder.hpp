// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "tlm_if/command/encoding.hpp"

namespace kernbench::command {

struct DecodeError {
  Fault fault = Fault::none;
  std::size_t offset = 0;  ///< of the wrong byte in the record
  std::string reason;      ///< one line of text
};

struct HandleTableUpdate {
  std::uint32_t index = 0;
};
struct EndOfProgram {};

/// Decodes records. Any bytes are allowed: bytes that are not a record give a DecodeError and
/// change nothing.
class Decoder {
 public:
  using Result = std::variant<ProgramStep, HandleTableUpdate, EndOfProgram, DecodeError>;

  /// The table has at least one entry.
  explicit Decoder(std::uint32_t table_entries = kDefaultHandleTableEntries);

  /// The size that a record gives in its first kFramingBytes. A size below kFramingBytes is a fault
  /// that decode() reports.
  static std::size_t record_size(const std::uint8_t* framing);

  /// Decodes one complete record of `size` bytes.
  Result decode(const std::uint8_t* record, std::size_t size);

  std::uint32_t table_entries() const { return static_cast<std::uint32_t>(table_.size()); }
  /// Null if the entry was never set, or is beyond the table.
  const TensorHandle* entry(std::uint32_t index) const;
  /// Resets to the state after construction.
  void reset();

 private:
  class Record;

  std::vector<TensorHandle> table_;  // id 0: not set
  std::uint64_t commands_ = 0;       // in this program so far, which is the completion id of the
                                     // next composite (R3.6)
};

}  // namespace kernbench::command
