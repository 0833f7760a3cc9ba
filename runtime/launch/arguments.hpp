// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/launch/launch.hpp"

// Parses arguments of a command line. All functions throw InputError for an invalid argument.

namespace kernbench::runtime {

/// The number; none if the text is not the decimal digits of a number that fits.
std::optional<std::uint64_t> parse_whole(const std::string& text);
/// `option` is for the message.
std::uint64_t whole_number(const std::string& option, const std::string& text);

/// The items of a comma list, of which there is at least one.
std::vector<std::string> split(const std::string& list);

const kernels::Kernel& kernel_of(const std::vector<kernels::Kernel>& kernels,
                                 const std::string& name);
/// Each `name=value`.
Settings settings_of(const std::vector<std::string>& parameters);

/// The program that the value of --program-id names, out of the `programs` of `title`.
command::Index program_of(const std::string& text, const std::string& title,
                          command::Index programs);

/// `files`: paths by option; an empty path means no file. No file may be written twice, or
/// overwrite a file that is read.
void check_paths(const std::vector<std::pair<const char*, std::string>>& files);

}  // namespace kernbench::runtime
