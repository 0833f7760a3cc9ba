// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace kernbench::test {

/// The last value of every variable of a file that SystemC wrote, by path.
inline std::map<std::string, std::uint64_t> last_values(const std::string& text) {
  std::map<std::string, std::string> paths;  // by identifier
  std::map<std::string, std::uint64_t> values;
  std::vector<std::string> scopes;
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
    } else if (first[0] == 'b' && words >> id) {
      values[paths.at(id)] = std::stoull(first.substr(1), nullptr, 2);
    } else if ((first[0] == '0' || first[0] == '1') && paths.count(first.substr(1)) != 0) {
      values[paths.at(first.substr(1))] = first[0] == '1' ? 1 : 0;
    }
  }
  return values;
}

}  // namespace kernbench::test
