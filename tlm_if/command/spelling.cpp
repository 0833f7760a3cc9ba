// SPDX-License-Identifier: Apache-2.0
#include "tlm_if/command/spelling.hpp"

#include <algorithm>
#include <cctype>
#include <numeric>

namespace kernbench {
namespace {

/// Number of letters to add, drop, change or swap with the next.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before.swap(above);
    above.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] =
          std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] == b[j - 1] ? 0u : 1u)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

bool same_but_for_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

}  // namespace

std::string nearest_spelling(std::string_view name, const std::vector<std::string>& candidates) {
  for (const std::string& candidate : candidates) {
    if (same_but_for_case(name, candidate)) return candidate;
  }
  // The dashes of an option are not letters of its name.
  const std::size_t letters = name.size() - std::min(name.find_first_not_of('-'), name.size());
  std::size_t nearest = std::max<std::size_t>(letters / 3, 1) + 1;
  std::string best;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(name, candidate);
    if (distance == nearest && candidate != best) best.clear();
    if (distance >= nearest) continue;
    nearest = distance;
    best = candidate;
  }
  // A single letter is near any other letter.
  return letters > 1 ? best : std::string();
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates) {
  const std::string near = nearest_spelling(name, candidates);
  return near.empty() ? std::string{} : "; did you mean '" + near + "'?";
}

}  // namespace kernbench
