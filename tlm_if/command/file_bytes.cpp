// SPDX-License-Identifier: Apache-2.0
#include "tlm_if/command/file_bytes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

#include "tlm_if/command/error.hpp"

namespace kernbench::command {

FileStart file_start(const std::string& path, std::size_t most) {
  const auto error = [&](const std::string& what) {
    return InputError(fmt::format("{}: {}", path, what));
  };
  std::error_code code;
  const auto status = std::filesystem::status(path, code);
  if (!std::filesystem::exists(status))
    throw error("no such file; give the path of one that exists");
  if (!std::filesystem::is_regular_file(status)) throw error("is not a regular file");
  std::ifstream file(path, std::ios::binary);
  if (!file) throw error(fmt::format("cannot be opened: {}", std::strerror(errno)));
  file.seekg(0, std::ios::end);
  FileStart start;
  start.size = static_cast<std::size_t>(file.tellg());
  start.bytes.resize(std::min(start.size, most));
  file.seekg(0);
  file.read(reinterpret_cast<char*>(start.bytes.data()),
            static_cast<std::streamsize>(start.bytes.size()));
  if (!file) throw error("cannot be read to its end");
  return start;
}

std::vector<std::uint8_t> file_bytes(const std::string& path) {
  return file_start(path, std::numeric_limits<std::size_t>::max()).bytes;
}

}  // namespace kernbench::command
