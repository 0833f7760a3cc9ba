// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace kernbench::command::test {

using Bytes = std::vector<std::uint8_t>;

/// Writes records by hand, field by field as docs/program_format.md has them: little-endian,
/// packed.
class Raw {
 public:
  Raw& u8(unsigned value) { return put(value, 1); }
  Raw& u16(unsigned value) { return put(value, 2); }
  Raw& u32(std::uint32_t value) { return put(value, 4); }
  Raw& u64(std::uint64_t value) { return put(value, 8); }
  Raw& text(std::string_view text) {
    for (const char c : text) u8(static_cast<std::uint8_t>(c));
    return *this;
  }
  Raw& zeros(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) u8(0);
    return *this;
  }
  /// Framing, whose size is filled in by bytes().
  Raw& framing(unsigned kind, unsigned flags = 0) { return u16(0).u8(kind).u8(flags); }
  /// A handle reference.
  Raw& ref(std::uint32_t index) { return u32(index).u32(0); }
  /// The 80 bytes of a table entry.
  Raw& entry(std::uint64_t id, std::uint64_t addr, std::uint64_t rows, std::uint64_t cols,
             std::uint64_t row_stride, std::uint64_t col_stride, unsigned rank, unsigned dtype,
             unsigned space, std::string_view name = {}) {
    u64(id).u64(addr).u64(rows).u64(cols).u64(row_stride).u64(col_stride);
    return u8(rank).u8(dtype).u8(space).zeros(5).text(name).zeros(24 - name.size());
  }

  Bytes bytes() const {
    Bytes bytes = bytes_;
    bytes[0] = static_cast<std::uint8_t>(bytes.size());
    bytes[1] = static_cast<std::uint8_t>(bytes.size() >> 8);
    return bytes;
  }

 private:
  Raw& put(std::uint64_t value, int size) {
    for (int i = 0; i < size; ++i) bytes_.push_back(static_cast<std::uint8_t>(value >> 8 * i));
    return *this;
  }

  Bytes bytes_;
};

}  // namespace kernbench::command::test
