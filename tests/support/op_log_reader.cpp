// SPDX-License-Identifier: Apache-2.0
#include "tests/support/op_log_reader.hpp"

#include <charconv>
#include <stdexcept>

#include "tests/support/temporary_folder.hpp"

namespace kernbench::test {
namespace {

constexpr std::string_view kHeader =
    "start_ps,end_ps,done_ps,pe,engine,stage,op,cmd,op_index,tile_m,tile_n,tile_k,operand,addr,"
    "bytes,elements";
constexpr std::size_t kColumns = 16;

[[noreturn]] void fail(std::size_t line, const std::string& what) {
  throw std::runtime_error("op log line " + std::to_string(line) + ": " + what);
}

template <class Number>
Number number(std::string_view text, std::size_t line, int base = 10) {
  Number value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size()) {
    fail(line, "'" + std::string(text) + "' is not a number");
  }
  return value;
}

std::int64_t index(std::string_view text, std::size_t line) {
  return text.empty() ? -1 : number<std::int64_t>(text, line);
}

std::uint64_t amount(std::string_view text, std::size_t line) {
  return text.empty() ? 0 : number<std::uint64_t>(text, line);
}

OpLogRow parse_row(std::string_view text, std::size_t line) {
  const auto fields = split(text, ',');
  if (fields.size() != kColumns) fail(line, std::to_string(fields.size()) + " columns");
  OpLogRow row;
  row.start = number<std::uint64_t>(fields[0], line);
  row.end = number<std::uint64_t>(fields[1], line);
  row.done = number<std::uint64_t>(fields[2], line);
  row.pe = number<std::uint32_t>(fields[3], line);
  row.engine = fields[4];
  row.stage = fields[5];
  row.op = fields[6];
  row.cmd = index(fields[7], line);
  row.op_index = index(fields[8], line);
  row.tile_m = index(fields[9], line);
  row.tile_n = index(fields[10], line);
  row.tile_k = index(fields[11], line);
  row.operand = fields[12];
  if (!fields[13].empty()) {
    if (fields[13].substr(0, 2) != "0x") fail(line, "an address without 0x");
    row.addr = number<std::uint64_t>(fields[13].substr(2), line, 16);
  }
  row.bytes = amount(fields[14], line);
  row.elements = amount(fields[15], line);
  return row;
}

}  // namespace

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::vector<OpLogRow> parse_op_log(std::string_view text) {
  if (text.empty() || text.back() != '\n') fail(0, "the file does not end with a newline");
  text.remove_suffix(1);
  const auto lines = split(text, '\n');
  if (lines[0] != kHeader) fail(1, "header '" + std::string(lines[0]) + "'");
  std::vector<OpLogRow> rows;
  for (std::size_t i = 1; i < lines.size(); ++i) rows.push_back(parse_row(lines[i], i + 1));
  return rows;
}

std::vector<OpLogRow> read_op_log(const std::string& path) { return parse_op_log(read_file(path)); }

}  // namespace kernbench::test
