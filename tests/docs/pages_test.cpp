// SPDX-License-Identifier: Apache-2.0
// The pages say what the code does: their code stands in the examples, their commands print what is
// shown, their figures are those of a run, their parameters are those of the catalogue, and their
// links lead somewhere. With KERNBENCH_WRITE_DOCS set, figures are written anew.
#include <gmock/gmock.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "kernels/catalogue.hpp"
#include "tests/runtime/command_line.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tl/recipes.hpp"

namespace kernbench::test {
namespace {

namespace fs = std::filesystem;
using Lines = std::vector<std::string>;

const fs::path kRoot = KERNBENCH_SOURCE_DIR;
const fs::path kFigures = kRoot / "docs/figures";
const std::map<std::string, std::string> kPrograms{{"tlc", KERNBENCH_TLC},
                                                   {"single_pe", KERNBENCH_SINGLE_PE},
                                                   {"own_pe", KERNBENCH_OWN_PE},
                                                   {"cosine_pe", KERNBENCH_COSINE_PE},
                                                   {"two_pes", KERNBENCH_TWO_PES},
                                                   {"cube_8pe", KERNBENCH_CUBE_8PE},
                                                   {"llama70b_4sip", KERNBENCH_4SIP},
                                                   {"host_cpu", KERNBENCH_HOST_CPU},
                                                   {"binding", KERNBENCH_BINDING}};

Lines lines_of(const std::string& text) {
  Lines lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string text_of(const fs::path& path) { return read_file(path.string()); }

/// README.md and docs/**/*.md.
std::vector<fs::path> pages() {
  std::vector<fs::path> pages{kRoot / "README.md"};
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / "docs")) {
    if (entry.path().extension() == ".md") pages.push_back(entry.path());
  }
  std::sort(pages.begin(), pages.end());
  return pages;
}

/// What stands between two fences.
struct Block {
  std::string language;
  Lines lines;
};

std::vector<Block> blocks_of(const fs::path& page) {
  std::vector<Block> blocks;
  bool inside = false;
  for (const std::string& line : lines_of(text_of(page))) {
    if (line.rfind("```", 0) == 0) {
      inside = !inside;
      if (inside) blocks.push_back({line.substr(3), {}});
    } else if (inside) {
      blocks.back().lines.push_back(line);
    }
  }
  EXPECT_FALSE(inside) << page << " has a fence that is not closed";
  return blocks;
}

bool contains(const Lines& text, const Lines& part) {
  return std::search(text.begin(), text.end(), part.begin(), part.end()) != text.end();
}

/// A command of a page, `PROGRAM ARGUMENT ..`; no argument has a space.
Outcome run_command(const std::string& command) {
  std::istringstream in(command);
  std::string program, argument;
  in >> program;
  std::vector<std::string> arguments;
  while (in >> argument) arguments.push_back(argument);
  return run_program(kPrograms.at(fs::path(program).filename().string()), arguments);
}

/// `expected` is `found`, where a line `...` stands for any lines.
bool matches(const Lines& expected, const Lines& found, std::size_t e = 0, std::size_t f = 0) {
  if (e == expected.size()) return f == found.size();
  if (expected[e] == "...") {
    for (std::size_t skip = f; skip <= found.size(); ++skip) {
      if (matches(expected, found, e + 1, skip)) return true;
    }
    return false;
  }
  return f < found.size() && expected[e] == found[f] && matches(expected, found, e + 1, f + 1);
}

Lines without_trailing_space(Lines lines) {
  for (std::string& line : lines) line.erase(line.find_last_not_of(' ') + 1);
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

// Code of these pages is part of an example, which is compiled and run.
TEST(Pages, CodeStandsInTheExamples) {
  std::vector<Lines> sources;
  for (const char* folder : {"examples", "tests/package/consumer"}) {
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
      if (entry.is_regular_file()) sources.push_back(lines_of(text_of(entry.path())));
    }
  }
  const std::set<std::string> languages{"cpp", "cmake", "yaml"};
  for (const char* name : {"README.md", "docs/writing_a_kernel.md", "docs/writing_a_recipe.md",
                           "docs/package.md", "docs/host_port.md", "docs/cosim.md"}) {
    std::size_t checked = 0;
    for (const Block& block : blocks_of(kRoot / name)) {
      if (languages.count(block.language) == 0) continue;
      ++checked;
      EXPECT_TRUE(std::any_of(sources.begin(), sources.end(),
                              [&](const Lines& source) { return contains(source, block.lines); }))
          << name << ": no file of the examples has\n"
          << testing::PrintToString(block.lines);
    }
    EXPECT_GT(checked, 0u) << name;
  }
}

// A block `console`: lines with `$ ` are commands, what follows is their output.
TEST(Pages, CommandsPrintWhatIsShown) {
  std::size_t checked = 0;
  for (const fs::path& page : pages()) {
    const TemporaryFolder folder;  // for the files that its commands write
    fs::current_path(folder.path());
    for (const Block& block : blocks_of(page)) {
      if (block.language != "console") continue;
      for (std::size_t i = 0; i < block.lines.size();) {
        ASSERT_EQ(block.lines[i].rfind("$ ", 0), 0u) << page << ": " << block.lines[i];
        const std::string command = block.lines[i].substr(2);
        Lines expected;
        while (++i < block.lines.size() && block.lines[i].rfind("$ ", 0) != 0) {
          expected.push_back(block.lines[i]);
        }
        const Outcome outcome = run_command(command);
        EXPECT_EQ(outcome.exit_code, 0) << page << ": " << command << "\n" << outcome.err;
        EXPECT_TRUE(matches(without_trailing_space(expected),
                            without_trailing_space(lines_of(outcome.out))))
            << page << ": " << command << " prints\n"
            << outcome.out;
        ++checked;
      }
    }
  }
  EXPECT_GT(checked, 0u);
}

/// The matches of the first group on all pages.
std::multiset<std::string> on_pages(const std::regex& pattern) {
  std::multiset<std::string> found;
  for (const fs::path& page : pages()) {
    const std::string text = text_of(page);
    for (std::sregex_iterator match(text.begin(), text.end(), pattern), end; match != end;
         ++match) {
      found.insert((*match)[1]);
    }
  }
  return found;
}

// The page that shows a figure tells how it is drawn; not over the one in the tree.
TEST(Pages, FiguresAreThoseOfARun) {
  const std::string option = " --figure /tmp/";
  std::set<std::string> drawn;
  const TemporaryFolder folder;
  for (const std::string& command :
       on_pages(std::regex("\n(\\S+ run [^\n]*" + option + "[^\n]*)"))) {
    const std::size_t at = command.find(option);
    const std::string name = fs::path(command.substr(at + option.size())).filename().string();
    EXPECT_TRUE(drawn.insert(name).second) << name << " is drawn twice";
    const std::string path = folder / name;
    const Outcome outcome = run_command(command.substr(0, at) + " --figure " + path);
    ASSERT_EQ(outcome.exit_code, 0) << command << "\n" << outcome.err;
    const std::string figure = read_file(path);
    if (std::getenv("KERNBENCH_WRITE_DOCS") != nullptr) {
      std::ofstream(kFigures / name, std::ios::binary) << figure;
    }
    ASSERT_TRUE(fs::exists(kFigures / name)) << name;
    // A whole file says nothing to a reader.
    EXPECT_TRUE(text_of(kFigures / name) == figure)
        << "docs/figures/" << name
        << " is not current: run this test with KERNBENCH_WRITE_DOCS=1 to write it";
  }

  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(kFigures)) {
    files.push_back(entry.path().filename().string());
  }
  EXPECT_THAT(files, testing::UnorderedElementsAreArray(drawn));
  EXPECT_THAT(on_pages(std::regex(R"(!\[[^\]]*\]\([./]*figures/([^)]+)\))")),
              testing::UnorderedElementsAreArray(drawn));
}

std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    names.insert(entry.path().stem().string());
  }
  return names;
}

// One page a kernel, with a row for each parameter: `| `name` | default | ..`.
TEST(Pages, EachKernelHasOne) {
  std::set<std::string> kernels;
  for (const kernels::Kernel& kernel : kernels::catalogue()) {
    kernels.insert(kernel.name);
    const fs::path page = kRoot / "docs/kernels" / (kernel.name + ".md");
    ASSERT_TRUE(fs::exists(page)) << page;
    const std::string text = text_of(page);
    for (const kernels::Parameter& parameter : kernel.parameters) {
      const std::string value =
          parameter.default_value.empty() ? "" : parameter.default_value + " ";
      EXPECT_THAT(text, testing::HasSubstr("\n| `" + parameter.name + "` | " + value + "|"));
    }
    EXPECT_THAT(text_of(kRoot / "docs/kernels.md"),
                testing::HasSubstr("(kernels/" + kernel.name + ".md)"));
  }
  EXPECT_EQ(names_in(kRoot / "docs/kernels"), kernels);
}

TEST(Pages, EachRecipeHasOne) {
  std::set<std::string> recipes;
  for (const tl::Phase phase : {tl::Phase::prologue, tl::Phase::epilogue}) {
    for (const std::string& name : tl::builtin_recipes().names(phase)) recipes.insert(name);
  }
  EXPECT_EQ(names_in(kRoot / "docs/recipes"), recipes);
  for (const std::string& recipe : recipes) {
    EXPECT_THAT(text_of(kRoot / "docs/tl.md"), testing::HasSubstr("(recipes/" + recipe + ".md)"));
  }
}

/// Of a heading, as the web page has it: lower case, hyphens for spaces, no punctuation.
std::string anchor_of(const std::string& heading) {
  std::string anchor;
  for (const char c : heading) {
    const auto u = static_cast<unsigned char>(c);
    if (std::isalnum(u) != 0 || c == '_' || c == '-') {
      anchor += static_cast<char>(std::tolower(u));
    } else if (c == ' ') {
      anchor += '-';
    }
  }
  return anchor;
}

std::set<std::string> anchors_of(const fs::path& page) {
  std::set<std::string> anchors;
  for (const std::string& line : lines_of(text_of(page))) {
    const std::size_t text = line.find_first_not_of('#');
    if (text != 0 && text != std::string::npos && line[text] == ' ') {
      anchors.insert(anchor_of(line.substr(text + 1)));
    }
  }
  return anchors;
}

TEST(Pages, LinksLeadSomewhere) {
  static const std::regex kLink(R"(\]\(([^)#:\s]*)(#[^)\s]*)?\))");
  for (const fs::path& page : pages()) {
    const std::string text = text_of(page);
    for (std::sregex_iterator match(text.begin(), text.end(), kLink), end; match != end; ++match) {
      const std::string path = (*match)[1], anchor = (*match)[2];
      const fs::path target = path.empty() ? page : page.parent_path() / path;
      EXPECT_TRUE(fs::exists(target)) << page << " links to " << path;
      if (!anchor.empty() && fs::exists(target)) {
        EXPECT_EQ(anchors_of(target).count(anchor.substr(1)), 1u)
            << page << " links to " << path << anchor;
      }
    }
  }
}

}  // namespace
}  // namespace kernbench::test
