// SPDX-License-Identifier: Apache-2.0
#include "model/record/output_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <stdexcept>
#include <system_error>

#include "tlm_if/command/error.hpp"

namespace kernbench::record {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const std::string& path, const std::string& reason) {
  throw InputError(fmt::format(
      "cannot write '{}': {}; name a file in a folder that exists and is writable", path, reason));
}

std::string reason_of(int error) { return std::generic_category().message(error); }

/// /dev/stdout and the like lead there; no file can be renamed to such a name.
bool below_proc(const fs::path& path) { return path.string().rfind("/proc/", 0) == 0; }

/// A descriptor of this process is shared, not opened again, so that other text on stdout follows
/// and is not overwritten. Returns null, with errno, if it cannot be opened.
std::FILE* open_descriptor(const fs::path& path) {
  if (path.parent_path() != fmt::format("/proc/{}/fd", getpid())) {
    return std::fopen(path.c_str(), "wb");
  }
  const std::string name = path.filename().string();
  int number = -1;
  std::from_chars(name.data(), name.data() + name.size(), number);
  const int copy = dup(number);
  return copy < 0 ? nullptr : fdopen(copy, "wb");
}

/// Paths that the signal handler removes. This is the one exception to "no global state" (R1.5):
/// signals belong to the process, and a handler reaches nothing else. It may only unlink them.
std::array<std::atomic<const char*>, 64> unfinished_files{};

void set_unfinished(const char* from, const char* to) {
  for (std::atomic<const char*>& path : unfinished_files) {
    const char* expected = from;
    if (path.compare_exchange_strong(expected, to)) return;
  }
}

void on_signal(int number) {
  for (const std::atomic<const char*>& path : unfinished_files) {
    if (const char* name = path.load()) unlink(name);
  }
  raise(number);  // the handler is reset, so the process ends as without it
}

}  // namespace

void remove_unfinished_files_on_signals() {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction known {};
    sigaction(number, nullptr, &known);
    if (known.sa_handler != SIG_DFL) continue;  // ignored, as under nohup
    struct sigaction action {};
    action.sa_handler = on_signal;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(number, &action, nullptr);
  }
}

std::filesystem::path resolved_path(const std::string& path, std::error_code& error) {
  constexpr int kMaxLinks = 40;  // as Linux
  fs::path resolved = path;
  for (int links = 0; links <= kMaxLinks; ++links) {
    const fs::path absolute = fs::absolute(resolved, error);
    if (error) return resolved;
    resolved = fs::weakly_canonical(absolute.parent_path(), error) / absolute.filename();
    if (error || below_proc(resolved)) return resolved;
    std::error_code none;  // a path that does not exist yet is not a link
    if (!fs::is_symlink(fs::symlink_status(resolved, none))) return resolved;
    resolved = resolved.parent_path() / fs::read_symlink(resolved, error);
    if (error) return resolved;
  }
  error = std::make_error_code(std::errc::too_many_symbolic_link_levels);
  return resolved;
}

OutputFile::OutputFile(const std::string& path) : path_(path) {
  if (path.empty()) refuse(path, "the file name is empty");
  if (path == "-") {
    throw InputError(
        "cannot write '-': it does not stand for stdout here; write /dev/stdout for that, or ./- "
        "for a file of that name");
  }
  std::error_code error;
  const fs::path target = resolved_path(path, error);
  if (error) refuse(path, error.message());
  target_ = target.string();
  const fs::file_status status = fs::status(target, error);  // no error if it does not exist yet
  if (fs::is_directory(status)) refuse(path, reason_of(EISDIR));
  if (below_proc(target)) {
    file_ = open_descriptor(target);
  } else if (fs::exists(status) && !fs::is_regular_file(status)) {
    file_ = std::fopen(path.c_str(), "wb");
  } else {
    // Exclusive: two runs that write the same file must not mix, the last one wins.
    for (int attempt = 0; file_ == nullptr; ++attempt) {
      temporary_ = fmt::format("{}.{}.{}.part", target_, getpid(), attempt);
      file_ = std::fopen(temporary_.c_str(), "wbx");
      if (file_ == nullptr && errno != EEXIST) break;
    }
    if (file_ != nullptr) set_unfinished(nullptr, temporary_.c_str());
  }
  if (file_ == nullptr) refuse(path, reason_of(errno));
  std::setvbuf(file_, nullptr, _IONBF, 0);  // buffer_ is the buffer
}

OutputFile::~OutputFile() {
  if (file_ != nullptr) std::fclose(file_);
  if (temporary_.empty()) return;
  std::remove(temporary_.c_str());
  set_unfinished(temporary_.c_str(), nullptr);
}

void OutputFile::write(std::string_view text) {
  while (!text.empty()) {
    if (used_ == buffer_.size()) flush();
    const std::size_t count = std::min(text.size(), buffer_.size() - used_);
    std::copy_n(text.data(), count, buffer_.data() + used_);
    used_ += count;
    text.remove_prefix(count);
  }
}

void OutputFile::write_decimal(std::uint64_t value) {
  const fmt::format_int digits(value);
  write({digits.data(), digits.size()});
}

void OutputFile::write_hex(std::uint64_t value) {
  std::array<char, 16> digits;
  const auto result = std::to_chars(digits.data(), digits.data() + digits.size(), value, 16);
  write("0x");
  write({digits.data(), static_cast<std::size_t>(result.ptr - digits.data())});
}

void OutputFile::commit() {
  flush();
  std::FILE* file = file_;
  file_ = nullptr;  // closed even if fclose() reports an error
  if (std::fclose(file) != 0) fail(errno);
  if (temporary_.empty()) return;
  if (std::rename(temporary_.c_str(), target_.c_str()) != 0) fail(errno);
  set_unfinished(temporary_.c_str(), nullptr);
  temporary_.clear();
}

void OutputFile::flush() {
  const std::size_t size = used_;
  used_ = 0;
  if (std::fwrite(buffer_.data(), 1, size, file_) != size) fail(errno);
}

void OutputFile::fail(int error) const {
  throw std::runtime_error(fmt::format(
      "writing '{}' failed: {}; free some space or name another file", path_, reason_of(error)));
}

}  // namespace kernbench::record
