// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

namespace kernbench::record {

/// Where a file of that name lies or would lie: absolute, links followed, also one that points to
/// nothing yet. `error` is set if a folder on the way cannot be looked at, or for a ring of links.
std::filesystem::path resolved_path(const std::string& path, std::error_code& error);

/// From here on a signal that ends the process (SIGINT, SIGTERM, SIGHUP) first removes what
/// OutputFile has not completed. For whole programs: a library leaves signals to whom it is linked
/// by.
void remove_unfinished_files_on_signals();

/// A buffered file that appears under its name only when it is complete (R11.1): it is written
/// beside it as `NAME.PID.N.part`, renamed by commit(), and removed if that is never called (by a
/// signal: remove_unfinished_files_on_signals()). A name
/// that is no regular file (a pipe, /dev/null) or stands for an open one (/dev/stdout) is written
/// in place; a link is followed, so that it still points there afterwards. `-` is refused: stdout
/// is /dev/stdout.
///
/// Errors: InputError with path and reason when it cannot be opened; std::runtime_error with path
/// and reason when a write or the renaming fails (disk full).
class OutputFile {
 public:
  explicit OutputFile(const std::string& path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void put(char c) {
    if (used_ == buffer_.size()) flush();
    buffer_[used_++] = c;
  }
  void write(std::string_view text);
  void write_decimal(std::uint64_t value);
  /// `0x` and lower-case digits.
  void write_hex(std::uint64_t value);
  /// Nothing may be written after it.
  void commit();

 private:
  void flush();
  [[noreturn]] void fail(int error) const;

  std::string path_;       // as given, for messages
  std::string target_;     // where commit() moves it
  std::string temporary_;  // empty: written in place
  std::FILE* file_ = nullptr;
  std::array<char, 65536> buffer_{};
  std::size_t used_ = 0;
};

}  // namespace kernbench::record
