// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <vector>

namespace kernbench::command {

/// Reads packed little-endian integers one after the other. Who calls has made sure with has() that
/// the bytes are there.
class LittleEndianReader {
 public:
  LittleEndianReader(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}

  std::size_t offset() const { return offset_; }
  std::size_t rest() const { return size_ - offset_; }
  bool has(std::size_t bytes) const { return bytes <= rest(); }

  template <class T>
  T get() {
    static_assert(std::is_unsigned_v<T>);
    assert(has(sizeof(T)));
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      value |= std::uint64_t{data_[offset_ + i]} << 8 * i;
    }
    offset_ += sizeof(T);
    return static_cast<T>(value);
  }
  std::string_view text(std::size_t size) {
    assert(has(size));
    const std::string_view result(reinterpret_cast<const char*>(data_ + offset_), size);
    offset_ += size;
    return result;
  }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
  std::size_t offset_ = 0;
};

/// Appends packed little-endian integers.
class LittleEndianWriter {
 public:
  explicit LittleEndianWriter(std::vector<std::uint8_t>& bytes) : bytes_(bytes) {}

  template <class T>
  void put(T value) {
    static_assert(std::is_unsigned_v<T>);
    bytes_.resize(bytes_.size() + sizeof(T));
    set(bytes_.size() - sizeof(T), value);
  }
  /// Overwrites the bytes at `offset`.
  template <class T>
  void set(std::size_t offset, T value) {
    static_assert(std::is_unsigned_v<T>);
    assert(offset + sizeof(T) <= bytes_.size());
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      bytes_[offset + i] = static_cast<std::uint8_t>(std::uint64_t{value} >> 8 * i);
    }
  }
  void text(std::string_view text) { bytes_.insert(bytes_.end(), text.begin(), text.end()); }

 private:
  std::vector<std::uint8_t>& bytes_;
};

}  // namespace kernbench::command
