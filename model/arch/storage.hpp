// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "tlm_if/command/byte_range.hpp"

namespace kernbench::arch {

/// Bytes of one memory, by absolute address. Blocks are allocated at the first write, so a 36 GiB
/// memory takes only what is used of it. Bytes that were never written read as 0, or as
/// set_unwritten() says.
class Storage {
 public:
  explicit Storage(command::ByteRange range) : range_(range) {}

  const command::ByteRange& range() const { return range_; }
  /// The bytes [addr, addr + size) must be in range(); callers check this (R3.4).
  void read(command::Address addr, void* data, std::uint64_t size) const;
  void write(command::Address addr, const void* data, std::uint64_t size);
  /// Sets the value of bytes that were never written; call it before the first write. 0xff makes
  /// every such f16, bf16 and f32 a NaN, so that its use is noticed.
  void set_unwritten(std::uint8_t value) { unwritten_ = value; }
  std::uint8_t unwritten() const { return unwritten_; }

 private:
  static constexpr std::uint64_t kBlockBytes = 65536;
  using Block = std::unique_ptr<std::uint8_t[]>;

  command::ByteRange range_;
  std::uint8_t unwritten_ = 0;
  std::unordered_map<std::uint64_t, Block> blocks_;  // only looked up, never iterated
};

}  // namespace kernbench::arch
