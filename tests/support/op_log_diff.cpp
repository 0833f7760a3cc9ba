// SPDX-License-Identifier: Apache-2.0
#include "tests/support/op_log_diff.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "tests/support/op_log_reader.hpp"

namespace kernbench::test {
namespace {

/// Columns, by the header's names, in which two rows differ.
std::string columns_that_differ(std::string_view header, std::string_view expected,
                                std::string_view found) {
  const auto names = split(header, ','), left = split(expected, ','), right = split(found, ',');
  if (left.size() != names.size() || right.size() != names.size()) return "its number of columns";
  std::string columns;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (left[i] == right[i]) continue;
    if (!columns.empty()) columns += ", ";
    columns += names[i];
  }
  return columns;
}

}  // namespace

std::string op_log_diff(std::string_view expected, std::string_view found) {
  if (expected == found) return {};
  const auto left = split(expected, '\n'), right = split(found, '\n');
  const std::size_t common = std::min(left.size(), right.size());
  std::size_t row = 0;
  while (row < common && left[row] == right[row]) ++row;
  // What follows the last newline is no row.
  const auto has_row = [row](const std::vector<std::string_view>& lines) {
    return row < lines.size() && !lines[row].empty();
  };
  const auto row_of = [&](const std::vector<std::string_view>& lines) {
    return has_row(lines) ? std::string(lines[row]) : "(none)";
  };
  const auto rows = [](const std::vector<std::string_view>& lines) {
    return std::to_string(std::count_if(lines.begin() + 1, lines.end(),
                                        [](std::string_view line) { return !line.empty(); }));
  };
  const std::string what = has_row(left) && has_row(right)
                               ? "differs in " + columns_that_differ(left[0], left[row], right[row])
                           : has_row(left)  ? "is missing"
                           : has_row(right) ? "is one too many"
                                            : "differs in the newline before it";
  return "row " + std::to_string(row) + " " + what + " (" + rows(left) + " rows expected, " +
         rows(right) + " found)\n  expected: " + row_of(left) + "\n  found:    " + row_of(right);
}

}  // namespace kernbench::test
