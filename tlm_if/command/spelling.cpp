// SPDX-License-Identifier: Apache-2.0
#include "tlm_if/command/spelling.hpp"

#include <algorithm>
#include <numeric>

namespace kernbench {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0u : 1u)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

std::string nearest_spelling(std::string_view name, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t best_distance = name.size() / 2 + 1;
  for (const auto& candidate : candidates) {
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates) {
  const std::string near = nearest_spelling(name, candidates);
  return near.empty() ? std::string{} : "; did you mean '" + near + "'?";
}

}  // namespace kernbench
