// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kernbench {

/// The candidate with the smallest edit distance to `name`, empty if none is near (more than half
/// of its letters differ). Ties go to the first candidate.
std::string nearest_spelling(std::string_view name, const std::vector<std::string>& candidates);

/// `; did you mean 'x'?` or nothing: the tail of a message about an unknown name.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace kernbench
