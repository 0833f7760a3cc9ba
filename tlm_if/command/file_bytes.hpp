// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace kernbench::command {

/// All bytes of a regular file. Throws InputError, `PATH: ..`, if there is no such file or it
/// cannot be read.
std::vector<std::uint8_t> file_bytes(const std::string& path);

struct FileStart {
  std::vector<std::uint8_t> bytes;
  std::size_t size = 0;  ///< of the whole file
};
/// The first `most` bytes of a file, or all if it has fewer. Throws like file_bytes().
FileStart file_start(const std::string& path, std::size_t most);

}  // namespace kernbench::command
