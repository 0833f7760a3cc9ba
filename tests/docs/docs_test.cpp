// SPDX-License-Identifier: Apache-2.0
// What the pages that tie requirements to tests claim: each test that they name exists, and each
// requirement of the design documents has a row.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

namespace kernbench {
namespace {

const std::filesystem::path kRoot = KERNBENCH_SOURCE_DIR;

std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  EXPECT_TRUE(in) << file;
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// The first and second group of every match, joined by a point.
std::set<std::string> names_in(const std::string& text, const std::regex& pattern) {
  std::set<std::string> names;
  for (std::sregex_iterator match(text.begin(), text.end(), pattern), end; match != end; ++match) {
    names.insert((*match)[1].str() + "." + (*match)[2].str());
  }
  return names;
}

std::set<std::string> existing_tests() {
  static const std::regex kTest(R"(\nTEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\))");
  std::set<std::string> tests;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kRoot / "tests")) {
    if (entry.path().extension() != ".cpp") continue;
    tests.merge(names_in(text_of(entry.path()), kTest));
  }
  return tests;
}

void check_named_tests(const std::string& page) {
  static const std::regex kName(R"(`([A-Z]\w+)\.(\w+)`)");
  const std::set<std::string> tests = existing_tests();
  const std::set<std::string> named = names_in(text_of(kRoot / "docs" / page), kName);
  EXPECT_FALSE(named.empty());
  for (const std::string& name : named) {
    EXPECT_TRUE(tests.count(name) == 1) << page << " names " << name << ", which does not exist";
  }
}

TEST(Docs, RequirementsNameExistingTests) { check_named_tests("requirements.md"); }
TEST(Docs, FieldCasesNameExistingTests) { check_named_tests("field_cases.md"); }

TEST(Docs, PagesNameExistingTests) {
  check_named_tests("timing.md");
  for (const char* folder : {"kernels", "recipes"}) {
    for (const auto& page : std::filesystem::directory_iterator(kRoot / "docs" / folder)) {
      check_named_tests(folder / page.path().filename());
    }
  }
}

TEST(Docs, EveryRequirementHasARow) {
  const std::string page = text_of(kRoot / "docs" / "requirements.md");
  std::vector<std::string> rows{"D1", "D2", "D3", "D4", "D5", "D7", "D8"};
  for (int i = 1; i <= 7; ++i) rows.push_back("D6." + std::to_string(i));
  for (int i = 1; i <= 11; ++i) rows.push_back(std::to_string(i));
  for (int i = 0; i <= 6; ++i) rows.push_back("P" + std::to_string(i));
  for (const std::string& row : rows) {
    EXPECT_THAT(page, testing::HasSubstr("\n| " + row + " |"));
  }
}

}  // namespace
}  // namespace kernbench
