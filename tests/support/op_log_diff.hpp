// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace kernbench::test {

/// Empty if two op logs have the same bytes. Else their first differing stage, in three lines: its
/// row, 1 being that after the header, with the columns that differ and the number of rows of both;
/// the row as expected; the row as found. A header that differs is row 0, a row that only one of
/// them has is `(none)` in the other.
std::string op_log_diff(std::string_view expected, std::string_view found);

}  // namespace kernbench::test
