// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/arguments.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <limits>

#include "model/record/output_file.hpp"
#include "tlm_if/command/error.hpp"
#include "tlm_if/command/spelling.hpp"

namespace kernbench::runtime {

std::optional<std::uint64_t> parse_whole(const std::string& text) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || last != end) return std::nullopt;
  return value;
}

std::uint64_t whole_number(const std::string& option, const std::string& text) {
  const std::optional<std::uint64_t> value = parse_whole(text);
  if (value) return *value;
  throw InputError(fmt::format("{} {} is not a whole number; give one from 0 to {}", option, text,
                               std::numeric_limits<std::uint64_t>::max()));
}

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> items;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    items.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return items;
}

const kernels::Kernel& kernel_of(const std::vector<kernels::Kernel>& kernels,
                                 const std::string& name) {
  std::vector<std::string> names;
  for (const kernels::Kernel& kernel : kernels) {
    if (kernel.name == name) return kernel;
    names.push_back(kernel.name);
  }
  if (name.find_first_of("./") != std::string::npos) {
    throw InputError(
        fmt::format("'{0}' is not a kernel but looks like a file; kernels are {1} (a program file "
                    "is shown by tlc "
                    "disasm {0} and replayed by run --program {0})",
                    name, fmt::join(names, ", ")));
  }
  throw InputError(fmt::format("no kernel '{}'; kernels are {}{}", name, fmt::join(names, ", "),
                               did_you_mean(name, names)));
}

Settings settings_of(const std::vector<std::string>& parameters) {
  Settings settings;
  for (const std::string& text : parameters) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw InputError(
          fmt::format("'{}' is not a kernel parameter; write name=value, as in tile=64", text));
    }
    settings.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return settings;
}

command::Index program_of(const std::string& text, const std::string& title,
                          command::Index programs) {
  const std::optional<std::uint64_t> program = parse_whole(text);
  if (program && *program < static_cast<std::uint64_t>(programs)) {
    return static_cast<command::Index>(*program);
  }
  if (programs == 1) {
    throw InputError(fmt::format("--program-id {}: {} has one program; give 0", text, title));
  }
  throw InputError(fmt::format("--program-id {}: {} has {} programs; give a number from 0 to {}",
                               text, title, programs, programs - 1));
}

void check_paths(const std::vector<std::pair<const char*, std::string>>& files) {
  namespace fs = std::filesystem;
  std::vector<std::pair<const char*, fs::path>> seen;
  for (const auto& [option, path] : files) {
    std::error_code error;
    // Devices such as /dev/null take any number of outputs.
    if (path.empty() || (fs::exists(path, error) && !fs::is_regular_file(path, error))) continue;
    const fs::path resolved = record::resolved_path(path, error);
    if (error) continue;  // opening the file reports what is wrong
    for (const auto& [other, known] : seen) {
      if (known == resolved) {
        throw InputError(fmt::format("{} and {} name the same file '{}'; give each its own", other,
                                     option, path));
      }
    }
    seen.emplace_back(option, resolved);
  }
}

}  // namespace kernbench::runtime
