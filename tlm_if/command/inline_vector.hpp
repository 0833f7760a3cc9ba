// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <new>
#include <type_traits>
#include <utility>

namespace kernbench {

/// A sequence of at most N plain values, stored inside its owner. So commands and stages hold their
/// operands without an allocation, and a copy moves only the values that exist.
template <class T, std::size_t N>
class InlineVector {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  InlineVector() {}  // NOLINT: leaves the storage as it is
  InlineVector(std::initializer_list<T> values) {
    for (const T& value : values) push_back(value);
  }
  InlineVector(const InlineVector& other) { assign(other); }
  InlineVector& operator=(const InlineVector& other) {
    if (this != &other) assign(other);
    return *this;
  }

  void push_back(const T& value) {
    assert(size_ < N);
    std::memcpy(static_cast<void*>(data() + size_++), &value, sizeof(T));
  }
  /// Appends a value that is made in place from the given members.
  template <class... Members>
  T& emplace_back(Members&&... members) {
    assert(size_ < N);
    return *::new (static_cast<void*>(data() + size_++)) T{std::forward<Members>(members)...};
  }
  void clear() { size_ = 0; }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  T& operator[](std::size_t i) { return data()[i]; }
  const T& operator[](std::size_t i) const { return data()[i]; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }

  friend bool operator==(const InlineVector& x, const InlineVector& y) {
    if (x.size_ != y.size_) return false;
    for (std::size_t i = 0; i < x.size_; ++i) {
      if (!(x[i] == y[i])) return false;
    }
    return true;
  }

 private:
  void assign(const InlineVector& other) {
    size_ = other.size_;
    for (std::size_t i = 0; i < size_; ++i) ::new (static_cast<void*>(data() + i)) T(other[i]);
  }
  T* data() { return reinterpret_cast<T*>(storage_); }
  const T* data() const { return reinterpret_cast<const T*>(storage_); }

  alignas(T) unsigned char storage_[N * sizeof(T)];
  std::size_t size_ = 0;
};

}  // namespace kernbench
