// SPDX-License-Identifier: Apache-2.0
#include "tests/support/vcd_reader.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <sstream>
#include <stdexcept>

#include "tests/support/temporary_folder.hpp"

namespace kernbench::test {
namespace {

[[noreturn]] void fail(const std::string& what) { throw std::runtime_error("VCD: " + what); }

class Parser {
 public:
  explicit Parser(std::string_view text) : input_(std::string(text)) {
    if (text.empty() || text.back() != '\n') fail("no newline at the end");
  }

  VcdFile parse() {
    for (std::string token; input_ >> token;) {
      if (token == "$comment") {
        file_.comment = until_end();
      } else if (token == "$timescale") {
        file_.timescale = until_end();
      } else if (token == "$date") {
        file_.has_date = true;
        until_end();
      } else if (token == "$version") {
        file_.has_version = true;
        until_end();
      } else if (token == "$scope") {
        const auto words = split_words(until_end());
        if (words.size() != 2) fail("$scope needs a type and a name");
        scopes_.push_back(words[1]);
        std::string path;
        for (const std::string& scope : scopes_) path += scope + ".";
        if (!scope_paths_.insert(path).second) fail("scope opened twice: " + path);
      } else if (token == "$upscope") {
        until_end();
        if (scopes_.empty()) fail("$upscope without $scope");
        scopes_.pop_back();
      } else if (token == "$var") {
        declare(split_words(until_end()));
      } else if (token == "$enddefinitions") {
        until_end();
        if (!scopes_.empty()) fail("a scope is open at $enddefinitions");
        defined_ = true;
      } else if (token == "$dumpvars") {
        if (!has_time_ || file_.end != 0) fail("$dumpvars is not at #0");
        dumping_ = true;
      } else if (token == "$end") {
        if (!dumping_) fail("$end without a keyword");
        dumping_ = false;
      } else if (token[0] == '#') {
        const std::uint64_t time = std::stoull(token.substr(1));
        if (has_time_ && time <= file_.end) fail("time does not go on at " + token);
        file_.end = time;
        has_time_ = true;
      } else if (token[0] == 'b') {
        std::string code;
        input_ >> code;
        change(code, token.substr(1));
      } else if (token[0] == '0' || token[0] == '1' || token[0] == 'x') {
        change(token.substr(1), token.substr(0, 1));
      } else {
        fail("unexpected '" + token + "'");
      }
    }
    for (const auto& [path, variable] : file_.variables) {
      if (variable.changes.empty() || variable.changes.front().time != 0) {
        fail(path + " has no initial value");
      }
    }
    return std::move(file_);
  }

 private:
  std::string until_end() {
    std::string text;
    for (std::string token; input_ >> token;) {
      if (token == "$end") return text;
      text += (text.empty() ? "" : " ") + token;
    }
    fail("a section without $end");
  }

  static std::vector<std::string> split_words(const std::string& text) {
    std::istringstream words(text);
    return {std::istream_iterator<std::string>(words), {}};
  }

  // wire WIDTH CODE NAME [RANGE]
  void declare(const std::vector<std::string>& words) {
    if (defined_ || words.size() < 4) fail("misplaced or short $var");
    std::string path;
    for (const std::string& scope : scopes_) path += scope + ".";
    path += words[3];
    VcdVariable& variable = file_.variables[path];
    variable.width = static_cast<unsigned>(std::stoul(words[1]));
    if (!by_code_.emplace(words[2], &variable).second) fail("identifier used twice: " + words[2]);
    if (by_code_.size() != file_.variables.size()) fail("declared twice: " + path);
  }

  void change(const std::string& code, const std::string& digits) {
    const auto found = by_code_.find(code);
    if (!defined_ || !has_time_) fail("a value before #0");
    if (found == by_code_.end()) fail("unknown identifier " + code);
    VcdVariable& variable = *found->second;
    if (digits.empty() || digits.size() > variable.width) fail("wrong width of " + code);
    VcdValue value;
    if (digits != "x") {
      if (digits.find_first_not_of("01") != std::string::npos) fail("value " + digits);
      value = std::stoull(digits, nullptr, 2);
    }
    if (!variable.changes.empty()) {
      const VcdChange& last = variable.changes.back();
      if (last.time == file_.end) fail("two changes of " + code + " in one instant");
      if (last.value == value) fail("not a change: " + code);
    }
    variable.changes.push_back({file_.end, value});
  }

  std::istringstream input_;
  VcdFile file_;
  std::vector<std::string> scopes_;
  std::set<std::string> scope_paths_;  // of all scopes so far
  std::map<std::string, VcdVariable*> by_code_;
  bool defined_ = false, has_time_ = false, dumping_ = false;
};

// `NAME codes: 0=none 1=a ..` in the comment.
std::string decode(const std::string& comment, const std::string& name, std::uint64_t code) {
  const std::size_t table = comment.find(name + " codes:");
  if (table == std::string::npos) fail("no table of codes for " + name);
  std::istringstream words(comment.substr(table + name.size() + 7));
  const std::string wanted = std::to_string(code) + "=";
  for (std::string word; words >> word && word.find('=') != std::string::npos;) {
    if (word.rfind(wanted, 0) == 0) return code == 0 ? "" : word.substr(wanted.size());
  }
  fail("code " + std::to_string(code) + " is not in the table for " + name);
}

}  // namespace

VcdValue VcdVariable::at(std::uint64_t time) const {
  const auto after = std::upper_bound(
      changes.begin(), changes.end(), time,
      [](std::uint64_t instant, const VcdChange& change) { return instant < change.time; });
  return after == changes.begin() ? VcdValue{} : std::prev(after)->value;
}

const VcdVariable& VcdFile::variable(const std::string& path) const {
  const auto found = variables.find(path);
  if (found == variables.end()) fail("no variable " + path);
  return found->second;
}

std::vector<VcdStage> VcdFile::stages(const std::string& scope) const {
  const auto at = [&](const std::string& name, std::uint64_t time) -> VcdValue {
    const auto found = variables.find(scope + "." + name);
    return found == variables.end() ? VcdValue{} : found->second.at(time);
  };
  const auto index_at = [&](const std::string& name, std::uint64_t time) -> std::int64_t {
    const VcdValue value = at(name, time);
    return value ? static_cast<std::int64_t>(*value) : -1;
  };
  const bool has_state = variables.count(scope + ".state") != 0;
  const std::string activity = has_state                               ? "state"
                               : variables.count(scope + ".busy") != 0 ? "busy"
                                                                       : "blocked";

  std::set<std::uint64_t> instants;
  for (const std::string& name : {activity, std::string("seq")}) {
    for (const VcdChange& change : variable(scope + "." + name).changes) {
      instants.insert(change.time);
    }
  }
  std::vector<VcdStage> result;
  std::uint64_t seq = 0;
  bool active = false;
  for (std::uint64_t time : instants) {
    const bool starts = *at("seq", time) != seq;
    const bool shown = *at(activity, time) != 0;
    if (active && (starts || !shown)) {
      result.back().end = time;
      active = false;
    }
    if (!starts) continue;
    if (*at("seq", time) != seq + 1) fail(scope + ".seq jumps at " + std::to_string(time));
    if (!shown) fail(scope + " starts a stage without being active at " + std::to_string(time));
    seq = *at("seq", time);
    active = true;
    VcdStage stage;
    stage.start = time;
    if (has_state) stage.state = decode(comment, "state", *at("state", time));
    stage.cmd = index_at("cmd", time);
    if (const VcdValue op = at("op", time)) stage.op = decode(comment, "op", *op);
    if (const VcdValue name = at("operand", time)) {
      stage.operand = decode(comment, "operand", *name);
    }
    stage.tile_m = index_at("tile.m", time);
    stage.tile_n = index_at("tile.n", time);
    stage.tile_k = index_at("tile.k", time);
    stage.slot = index_at("slot", time);
    stage.peer = index_at("peer", time);
    stage.channel = index_at("channel", time);
    stage.addr = at("addr", time);
    stage.bytes = at("bytes", time).value_or(0);
    result.push_back(stage);
  }
  if (active) result.back().end = end;
  return result;
}

VcdFile parse_vcd(std::string_view text) { return Parser(text).parse(); }

VcdFile read_vcd(const std::string& path) { return parse_vcd(read_file(path)); }

}  // namespace kernbench::test
