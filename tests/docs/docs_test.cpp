// SPDX-License-Identifier: Apache-2.0
// What the pages that tie requirements to tests claim: each test that they name exists, and each
// requirement of the design documents has a row.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
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

/// `Suite.Name` of each TEST, TEST_F and TEST_P that begins a line. A regex takes seconds for all
/// of them.
void add_tests_of(const std::string& text, std::set<std::string>& tests) {
  for (std::size_t at = text.find("\nTEST"); at != std::string::npos;
       at = text.find("\nTEST", at + 1)) {
    const std::size_t open = text.find('(', at), close = text.find(')', at);
    const std::string macro = text.substr(at + 1, open - at - 1);
    if (macro != "TEST" && macro != "TEST_F" && macro != "TEST_P") continue;
    std::string name = text.substr(open + 1, close - open - 1);
    name.erase(
        std::remove_if(name.begin(), name.end(), [](char c) { return c == ' ' || c == '\n'; }),
        name.end());
    std::replace(name.begin(), name.end(), ',', '.');
    tests.insert(name);
  }
}

std::set<std::string> existing_tests() {
  std::set<std::string> tests;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kRoot / "tests")) {
    if (entry.path().extension() == ".cpp") add_tests_of(text_of(entry.path()), tests);
  }
  return tests;
}

void check_named_tests(const std::string& page) {
  static const std::regex kName(R"(`([A-Z]\w+)\.(\w+)`)");
  static const std::set<std::string> kTests = existing_tests();
  const std::set<std::string> named = names_in(text_of(kRoot / "docs" / page), kName);
  EXPECT_FALSE(named.empty());
  for (const std::string& name : named) {
    EXPECT_TRUE(kTests.count(name) == 1) << page << " names " << name << ", which does not exist";
  }
}

TEST(Docs, RequirementsNameExistingTests) { check_named_tests("requirements.md"); }
TEST(Docs, FieldCasesNameExistingTests) { check_named_tests("field_cases.md"); }
TEST(Docs, MutationCheckNamesExistingTests) { check_named_tests("mutation_check.md"); }

TEST(Docs, PagesNameExistingTests) {
  check_named_tests("cosim.md");
  check_named_tests("timing.md");
  check_named_tests("machine.md");
  check_named_tests("scaling.md");
  for (const char* folder : {"kernels", "recipes"}) {
    for (const auto& page : std::filesystem::directory_iterator(kRoot / "docs" / folder)) {
      check_named_tests(folder / page.path().filename());
    }
  }
}

/// The first cells of the table in the section of that title, without its head; each row must name
/// a test.
std::vector<std::string> rows_of(const std::string& page, const std::string& title) {
  const std::size_t begin = page.find("\n## " + title + "\n");
  EXPECT_NE(begin, std::string::npos) << title;
  const std::size_t end = page.find("\n## ", begin + 1);
  std::istringstream section(page.substr(begin, end - begin));
  std::vector<std::string> rows;
  bool in_table = false;
  for (std::string line; std::getline(section, line);) {
    if (in_table && line.rfind("| ", 0) == 0) {
      rows.push_back(line.substr(2, line.find(" |", 2) - 2));
      EXPECT_THAT(line, testing::ContainsRegex("`[A-Z][A-Za-z_0-9]+\\.[A-Za-z_0-9]+`"));
    }
    in_table = in_table || line.rfind("|---", 0) == 0;
  }
  return rows;
}

std::vector<std::string> numbered(const std::string& prefix, int first, int last) {
  std::vector<std::string> names;
  for (int i = first; i <= last; ++i) names.push_back(prefix + std::to_string(i));
  return names;
}

TEST(Docs, EveryRequirementHasARow) {
  const std::string page = text_of(kRoot / "docs" / "requirements.md");
  std::vector<std::string> decisions = numbered("D", 1, 5);
  for (const auto& more : {numbered("D6.", 1, 7), numbered("D", 7, 8)}) {
    decisions.insert(decisions.end(), more.begin(), more.end());
  }
  std::vector<std::string> gates = numbered("P", 0, 6);
  gates.emplace_back("all");
  EXPECT_EQ(rows_of(page, "Decisions"), decisions);
  EXPECT_EQ(rows_of(page, "Test requirements of the decision record"), numbered("", 1, 11));
  EXPECT_EQ(rows_of(page, "Success criteria of the detailed design"), numbered("", 1, 5));
  EXPECT_EQ(rows_of(page, "Gates of its phases"), gates);
  EXPECT_EQ(rows_of(page, "Risks").size(), 6U);
}

}  // namespace
}  // namespace kernbench
