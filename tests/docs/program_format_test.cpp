// SPDX-License-Identifier: Apache-2.0
// docs/program_format.md says what the code does: its example is what the encoder writes, its
// tables are those of ops, faults and record kinds.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "tests/command/pv_composite.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tlm_if/command/encoding.hpp"

namespace kernbench::command {
namespace {

std::vector<std::string> page() {
  std::istringstream text(
      kernbench::test::read_file(KERNBENCH_SOURCE_DIR "/docs/program_format.md"));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

/// The rows of the table after a marker, without its head.
std::vector<std::string> table_after(const std::string& marker) {
  const std::vector<std::string> lines = page();
  auto line = std::find(lines.begin(), lines.end(), marker);
  EXPECT_NE(line, lines.end()) << marker;
  std::vector<std::string> rows;
  for (line += 3; line != lines.end() && line->rfind("| ", 0) == 0; ++line) rows.push_back(*line);
  return rows;
}

// The composite of contract 3 with 82 bytes, and the entries that it names.
TEST(ProgramFormatPage, TheExampleIsWhatTheEncoderWrites) {
  const TensorHandle p = make_handle(1, kTcmBase, Shape{8, 64}, DType::f16, Space::tcm, "P");
  const TensorHandle v = make_handle(2, 4096, Shape{64, 128}, DType::f16, Space::hbm, "V");
  const TensorHandle o =
      make_handle(3, kTcmBase + 1024, Shape{8, 128}, DType::f32, Space::tcm, "O");
  std::vector<std::uint8_t> shown;
  bool inside = false;
  for (const std::string& line : page()) {
    if (line == "```hex" || line == "```") inside = line == "```hex";
    if (!inside || line == "```hex") continue;
    std::istringstream bytes(line.substr(0, line.find("  ")));
    for (std::string byte; bytes >> byte;) {
      shown.push_back(static_cast<std::uint8_t>(std::stoul(byte, nullptr, 16)));
    }
  }
  EXPECT_EQ(shown, encode({{Command(test::pv_composite(p, v, o))}}));
}

template <class Names>
std::string joined(const Names& names) {
  std::string text;
  for (const auto& name : names)
    text += fmt::format("{}{}", text.empty() ? "" : ", ", to_string(name));
  return text.empty() ? "none" : text;
}

std::string row_of(const OpInfo& info) {
  constexpr std::array kTypes{"u32", "i32", "f32"};
  const std::string kernel = info.kernel_form ? joined(info.operands) + " + out" : "";
  std::string extras;
  for (const ExtraInfo& extra : info.extras) {
    const std::string text =
        fmt::format("{} {}", kTypes[static_cast<std::size_t>(extra.type)], to_string(extra.name));
    extras += (extras.empty() ? "" : ", ") + (extra.required ? text : "[" + text + "]");
  }
  std::string tile;
  if (info.tile_operands) tile = joined(*info.tile_operands) + (info.tile_out ? " + out" : "");
  const auto cell = [](const std::string& text) { return text.empty() ? "" : text + " "; };
  return fmt::format("| {:#04x} | {} | {}| {}| {}|", static_cast<int>(info.kind), info.name,
                     cell(kernel), cell(extras), cell(tile));
}

TEST(ProgramFormatPage, TheOpcodesAreThoseOfTheOpTable) {
  std::vector<std::string> expected;
  for (const OpInfo& info : kOpTable) expected.push_back(row_of(info));
  EXPECT_EQ(table_after("<!-- opcodes -->"), expected);
}

TEST(ProgramFormatPage, TheFaultsAreThoseOfTheCode) {
  const std::vector<std::string> rows = table_after("<!-- faults -->");
  ASSERT_EQ(rows.size(), static_cast<std::size_t>(Fault::refused));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_THAT(rows[i], testing::StartsWith(fmt::format("| {} | {} | ", i + 1,
                                                         to_string(static_cast<Fault>(i + 1)))));
  }
}

}  // namespace
}  // namespace kernbench::command
