// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kernbench::test {

/// One row of an op log (R10.2). Empty indices are -1, empty amounts 0.
struct OpLogRow {
  std::uint64_t start = 0, end = 0, done = 0;
  std::uint32_t pe = 0;
  std::string engine;  ///< with its channel: `dma_rd`, `dma_rd1`
  std::string stage, op;
  std::int64_t cmd = -1, op_index = -1;
  std::int64_t tile_m = -1, tile_n = -1, tile_k = -1;
  std::string operand;
  std::optional<std::uint64_t> addr;
  std::uint64_t bytes = 0, elements = 0;
};

/// Throws std::runtime_error with the line number for a header, column count or number that is not
/// as R10.2 has it, or a file that does not end with a newline.
std::vector<OpLogRow> parse_op_log(std::string_view text);
std::vector<OpLogRow> read_op_log(const std::string& path);

/// The parts between separators; the last one is empty if the text ends with a separator.
std::vector<std::string_view> split(std::string_view text, char separator);

/// The rows for which `wanted(row)` holds, in their order.
template <class Predicate>
std::vector<OpLogRow> select(const std::vector<OpLogRow>& rows, Predicate wanted) {
  std::vector<OpLogRow> result;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(result), wanted);
  return result;
}

}  // namespace kernbench::test
