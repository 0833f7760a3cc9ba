// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace kernbench::test {

/// (time, value) of every change of a variable, its initial value first.
using ScChanges = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

/// The variables of a file that SystemC wrote, by path. Times in its timescale.
inline std::map<std::string, ScChanges> changes(const std::string& text) {
  std::map<std::string, std::string> paths;  // by identifier
  std::map<std::string, ScChanges> variables;
  std::vector<std::string> scopes;
  std::uint64_t time = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string first, kind, width, id, name;
    words >> first;
    if (first == "$scope") {
      words >> kind >> name;
      scopes.push_back(name == "SystemC" ? "" : name + ".");
    } else if (first == "$upscope") {
      scopes.pop_back();
    } else if (first == "$var") {
      words >> kind >> width >> id >> name;
      std::string path;
      for (const std::string& scope : scopes) path += scope;
      paths[id] = path + name;
    } else if (first[0] == '#') {
      time = std::stoull(first.substr(1));
    } else if (first[0] == 'b' && words >> id) {
      variables[paths.at(id)].emplace_back(time, std::stoull(first.substr(1), nullptr, 2));
    } else if ((first[0] == '0' || first[0] == '1') && paths.count(first.substr(1)) != 0) {
      variables[paths.at(first.substr(1))].emplace_back(time, first[0] == '1' ? 1 : 0);
    }
  }
  return variables;
}

/// The last value of each.
inline std::map<std::string, std::uint64_t> last_values(const std::string& text) {
  std::map<std::string, std::uint64_t> values;
  for (const auto& [path, of_it] : changes(text)) values[path] = of_it.back().second;
  return values;
}

}  // namespace kernbench::test
