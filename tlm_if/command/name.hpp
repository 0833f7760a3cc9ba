// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace kernbench::command {

/// A tensor's name, for messages: at most 23 characters; a longer name is cut and ends in `~`. It
/// is stored inside its handle, so that commands are copied as plain bytes.
class Name {
 public:
  static constexpr std::size_t kMaxSize = 23;

  Name() = default;
  Name(std::string_view text) {  // NOLINT: `handle.name = "S"`
    const std::size_t size = std::min(text.size(), kMaxSize);
    std::copy_n(text.begin(), size, text_.begin());
    if (text.size() > kMaxSize) text_[kMaxSize - 1] = '~';
  }
  Name(const std::string& text) : Name(std::string_view(text)) {}  // NOLINT
  Name(const char* text) : Name(std::string_view(text)) {}         // NOLINT

  bool empty() const { return text_[0] == '\0'; }
  operator std::string_view() const { return text_.data(); }          // NOLINT
  operator std::string() const { return std::string(text_.data()); }  // NOLINT

  friend bool operator==(const Name& x, const Name& y) { return x.text_ == y.text_; }

 private:
  std::array<char, kMaxSize + 1> text_{};
};

}  // namespace kernbench::command
