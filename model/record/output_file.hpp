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

/// The absolute path at which a file of that name is, or would be created. Symbolic links are
/// followed, including a dangling one. `error` is set if a folder of the path cannot be read, or if
/// the links form a cycle.
std::filesystem::path resolved_path(const std::string& path, std::error_code& error);

/// After this call a signal that ends the process (SIGINT, SIGTERM, SIGHUP) first removes the files
/// that OutputFile has not completed. Only a program should call it, not a library.
void remove_unfinished_files_on_signals();

/// A buffered file that appears under its name only when it is complete (R11.1). It is written as
/// `NAME.PID.N.part` in the same folder and renamed by commit(). It is removed if commit() is never
/// called; on a signal, see remove_unfinished_files_on_signals(). A name that is not a regular file
/// (a pipe, /dev/null), or that stands for an open file (/dev/stdout), is written in place. A link
/// is followed, so it still points to the same place afterwards. `-` is refused; use /dev/stdout.
///
/// Errors: InputError with path and reason if the file cannot be opened; std::runtime_error with
/// path and reason if a write or the rename fails (disk full).
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
