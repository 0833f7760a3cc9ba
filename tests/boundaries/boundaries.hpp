// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace kernbench::test {

/// The folder rules of contract 1 and 2 broken by the sources under `root`, one line each, sorted:
/// which file, which line, what it may not do.
std::vector<std::string> broken_boundaries(const std::filesystem::path& root,
                                           const std::vector<std::string>& recipes);

/// The same for link targets. `links` has a line `<folder>: <target> <target> ...` for each
/// library; targets of this project are `KernBench::<name>`.
std::vector<std::string> broken_links(const std::string& links);

}  // namespace kernbench::test
