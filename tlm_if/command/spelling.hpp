// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kernbench {

/// The candidate that `name` probably means. This is the candidate that differs only in upper and
/// lower case; otherwise the one with the fewest letters to add, drop, change or swap with the
/// next, if these are at most a third of its letters. Empty if no candidate is that near, or
/// several are equally near.
std::string nearest_spelling(std::string_view name, const std::vector<std::string>& candidates);

/// The end of a message about an unknown name: `; did you mean 'x'?`, or nothing.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace kernbench
