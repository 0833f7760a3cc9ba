// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/launch/launch.hpp"

// What the arguments of a command line say. Everything throws InputError for what it does not
// understand.

namespace kernbench::runtime {

/// None: not the decimal digits of a number that fits.
std::optional<std::uint64_t> parse_whole(const std::string& text);
/// `option` is for the message.
std::uint64_t whole_number(const std::string& option, const std::string& text);

/// The items of a comma list, of which there is at least one.
std::vector<std::string> split(const std::string& list);

const kernels::Kernel& kernel_of(const std::vector<kernels::Kernel>& kernels,
                                 const std::string& name);
/// Each `name=value`.
Settings settings_of(const std::vector<std::string>& parameters);

/// The program that the value of --program names, of those that `title` has.
command::Index program_of(const std::string& text, const std::string& title,
                          command::Index programs);

/// Files by option; an empty path is none. No file may be written twice, or over what is read.
void check_paths(const std::vector<std::pair<const char*, std::string>>& files);

}  // namespace kernbench::runtime
