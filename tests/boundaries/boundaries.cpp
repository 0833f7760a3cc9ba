// SPDX-License-Identifier: Apache-2.0
#include "tests/boundaries/boundaries.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string_view>

namespace kernbench::test {
namespace {

/// One folder of contract 2 and what its sources may include, as its target may link. A folder
/// without SystemC may include only such folders, so that nothing it includes brings SystemC in.
struct Folder {
  std::string path;
  bool systemc;
  bool recipes;  // may name a recipe (R1.2)
  std::vector<std::string> may_include;
};

const std::vector<Folder>& folders() {
  static const std::vector<Folder> kFolders{
      {"tlm_if/command", false, false, {}},
      {"tl", false, true, {"tlm_if/command"}},
      {"kernels", false, true, {"tl", "tlm_if/command"}},
      {"model/arch", false, false, {"tlm_if/command"}},
      {"model/record", false, false, {"model/arch", "tlm_if/command"}},
      {"tlm_if", true, false, {"model/arch", "tlm_if/command"}},
      {"model", true, false, {"tlm_if", "model/arch", "model/record", "tlm_if/command"}},
      {"runtime/launch",
       false,
       true,
       {"kernels", "tl", "model/arch", "model/record", "tlm_if/command"}},
      {"tlc",
       false,
       true,
       {"runtime/launch", "kernels", "tl", "model/arch", "model/record", "tlm_if/command"}},
      {"runtime",
       true,
       true,
       {"runtime/launch", "kernels", "tl", "tlm_if", "model", "model/arch", "model/record",
        "tlm_if/command"}},
  };
  return kFolders;
}

bool contains(const std::vector<std::string>& list, const std::string& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

/// The folder of the table that a file lies in: `model/arch` before `model`.
const Folder* folder_of(const std::string& file) {
  const Folder* best = nullptr;
  for (const Folder& folder : folders()) {
    if (file.rfind(folder.path + "/", 0) != 0) continue;
    if (best == nullptr || folder.path.size() > best->path.size()) best = &folder;
  }
  return best;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text.empty() ? "no other folder" : text;
}

struct Include {
  std::string header;  // empty: the line is no #include
  bool quoted = false;
};

Include include_of(const std::string& line) {
  constexpr const char* kBlanks = " \t";
  const auto skip_blanks = [&](std::size_t from) { return line.find_first_not_of(kBlanks, from); };
  constexpr std::string_view kInclude = "include";
  std::size_t at = skip_blanks(0);
  if (at == std::string::npos || line[at] != '#') return {};
  at = skip_blanks(at + 1);
  if (at == std::string::npos || line.compare(at, kInclude.size(), kInclude) != 0) return {};
  at = skip_blanks(at + kInclude.size());
  if (at == std::string::npos || (line[at] != '<' && line[at] != '"')) return {};
  const bool quoted = line[at] == '"';
  const std::size_t end = line.find(quoted ? '"' : '>', at + 1);
  return {line.substr(at + 1, end - at - 1), quoted};
}

bool is_systemc(const std::string& header) {
  static const std::vector<std::string> kHeaders{"systemc", "systemc.h", "tlm", "tlm.h"};
  static const std::vector<std::string> kFolders{"sysc", "tlm_core", "tlm_utils"};
  return contains(kHeaders, header) || contains(kFolders, header.substr(0, header.find('/')));
}

class FileCheck {
 public:
  FileCheck(const std::filesystem::path& root, std::string file, const Folder& folder,
            const std::vector<std::string>& recipes, std::vector<std::string>& broken)
      : root_(root), file_(std::move(file)), folder_(folder), recipes_(recipes), broken_(broken) {}

  void run() {
    std::ifstream stream(root_ / file_);
    std::string line;
    while (std::getline(stream, line)) {
      ++line_;
      check_include(line);
      if (!folder_.recipes) check_recipes(line);
      check_simulation(line);
    }
  }

 private:
  void check_include(const std::string& line) {
    const Include include = include_of(line);
    const std::string& header = include.header;
    if (header.empty()) return;
    if (!folder_.systemc && is_systemc(header)) {
      report(folder_.path + " is free of SystemC, but includes <" + header + ">");
    }
    const Folder* other = folder_of(header);
    if (other != nullptr && other != &folder_ && !contains(folder_.may_include, other->path)) {
      report(folder_.path + " may include " + joined(folder_.may_include) + ", but includes " +
             header);
    }
    // A path relative to the file could name any folder without being seen here.
    if (include.quoted && !std::filesystem::exists(root_ / header)) {
      report("includes " + header + ", which is not a path from the root of the repository");
    }
    if (include.quoted && other == nullptr) {
      report(folder_.path + " may not include " + header + ", which is in no library");
    }
  }

  void check_recipes(const std::string& line) {
    for (const std::string& recipe : recipes_) {
      if (line.find(recipe) != std::string::npos) {
        report("the model knows no recipe, but names " + recipe);
      }
    }
  }

  // They belong to the integrator's program.
  void check_simulation(const std::string& line) {
    for (const std::string function : {"sc_set_time_resolution(", "sc_set_default_time_unit(",
                                       "sc_stop(", "sc_set_stop_mode("}) {
      const std::size_t at = line.find(function);
      if (at == std::string::npos || line.find("//") < at) continue;
      report("a library does not call " + function + ")");
    }
  }

  void report(const std::string& what) {
    broken_.push_back(file_ + ":" + std::to_string(line_) + ": " + what);
  }

  const std::filesystem::path& root_;
  std::string file_;
  const Folder& folder_;
  const std::vector<std::string>& recipes_;
  std::vector<std::string>& broken_;
  int line_ = 0;
};

}  // namespace

std::vector<std::string> broken_boundaries(const std::filesystem::path& root,
                                           const std::vector<std::string>& recipes) {
  std::vector<std::string> broken;
  for (const std::string top : {"tlm_if", "tl", "kernels", "model", "runtime", "tlc"}) {
    if (!std::filesystem::exists(root / top)) continue;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / top)) {
      const std::string extension = entry.path().extension().string();
      if (extension != ".hpp" && extension != ".cpp") continue;
      const std::string file = entry.path().lexically_relative(root).generic_string();
      FileCheck(root, file, *folder_of(file), recipes, broken).run();
    }
  }
  std::sort(broken.begin(), broken.end());
  return broken;
}

std::vector<std::string> broken_links(const std::string& links) {
  std::vector<std::string> broken;
  std::istringstream lines(links);
  std::string line;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string path, target;
    words >> path;
    path.pop_back();  // the colon
    const Folder* folder = folder_of(path + "/");
    while (words >> target) {
      if (target == "KernBench::systemc" && !folder->systemc) {
        broken.push_back(path + " is free of SystemC, but links " + target);
      }
      for (const Folder& other : folders()) {
        const std::string name = std::filesystem::path(other.path).filename().string();
        if (target == "KernBench::" + name && !contains(folder->may_include, other.path)) {
          broken.push_back(path + " may link " + joined(folder->may_include) + ", but links " +
                           target);
        }
      }
    }
  }
  std::sort(broken.begin(), broken.end());
  return broken;
}

}  // namespace kernbench::test
