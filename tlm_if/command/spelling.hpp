// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kernbench {

/// The candidate that `name` probably means: the same but for upper and lower case, else the one
/// with the fewest letters to add, drop, change or swap with the next, if those are at most a third
/// of its letters. Empty if none is that near, or several are equally near.
std::string nearest_spelling(std::string_view name, const std::vector<std::string>& candidates);

/// `; did you mean 'x'?` or nothing: the tail of a message about an unknown name.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace kernbench
