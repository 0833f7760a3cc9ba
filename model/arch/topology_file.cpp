// SPDX-License-Identifier: Apache-2.0
#include "model/arch/topology_file.hpp"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <sstream>

#include "model/arch/config_check.hpp"
#include "model/arch/topology_keys.hpp"
#include "tlm_if/command/error.hpp"
#include "tlm_if/command/spelling.hpp"

namespace kernbench::arch {
namespace {

namespace fs = std::filesystem;

/// The text of an included file, by the path that messages name. Throws InputError.
using Reader = std::function<std::string(const std::string&)>;

constexpr const char* kInclude = "include";

/// The user's text as part of a one-line message.
std::string printable(std::string_view text) {
  constexpr std::size_t kMaxShown = 100;
  std::string result;
  for (const char c : text.substr(0, kMaxShown)) {
    const auto byte = static_cast<unsigned char>(c);
    result += byte < 0x20 || byte == 0x7f ? fmt::format("\\x{:02x}", byte) : std::string(1, c);
  }
  return text.size() > kMaxShown ? result + "..." : result;
}

std::string in_quotes(std::string_view text) { return fmt::format("'{}'", printable(text)); }

std::string joined(std::string_view section, std::string_view name) {
  return section.empty() ? std::string(name) : fmt::format("{}.{}", section, name);
}

std::string last_part(const std::string& path) { return path.substr(path.rfind('.') + 1); }

bool starts_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

/// The names that a section may contain; empty if there is no such section.
std::vector<std::string> names_in(const std::string& section) {
  const std::string prefix = section.empty() ? "" : section + ".";
  std::vector<std::string> names;
  for (const TopologyKey& key : topology_keys()) {
    if (!starts_with(key.path, prefix)) continue;
    std::string name = key.path.substr(prefix.size());
    name = name.substr(0, name.find('.'));
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

/// These names and `include`, which is allowed only at the top of a file.
std::vector<std::string> names_in_file(const std::string& section) {
  std::vector<std::string> names = names_in(section);
  if (section.empty()) names.emplace_back(kInclude);
  return names;
}

/// The key that was probably meant. It looks for the same name elsewhere, then for a near spelling
/// in this section, anywhere, and of the whole path. `here`: the names that the section may
/// contain.
std::string nearest_key(const std::string& section, const std::string& name,
                        const std::vector<std::string>& here) {
  // Common other names of keys.
  static const std::map<std::string, std::string> kOtherNames{
      {"bandwidth", "hbm.gbps"}, {"frequency", "pe.clock_ghz"}, {"latency", "hbm.latency_ns"}};
  std::map<std::string, std::string> paths = kOtherNames;
  for (const TopologyKey& key : topology_keys()) {
    if (!is_op_rate(key)) paths.emplace(last_part(key.path), key.path);
  }
  if (const auto same = paths.find(name); same != paths.end()) return same->second;
  if (const std::string near = nearest_spelling(name, here); !near.empty()) {
    return joined(section, near);
  }
  std::vector<std::string> everywhere;
  for (const auto& [spelling, path] : paths) everywhere.push_back(spelling);
  if (const std::string near = nearest_spelling(name, everywhere); !near.empty()) {
    return paths.at(near);
  }
  std::vector<std::string> whole;  // HBM.GBPS
  for (const TopologyKey& key : topology_keys()) whole.push_back(key.path);
  return nearest_spelling(joined(section, name), whole);
}

InputError unknown_key(const std::string& where, const std::string& section,
                       const std::string& name, const std::vector<std::string>& allowed) {
  const std::string near = nearest_key(section, name, allowed);
  return InputError(fmt::format(
      "{}: {}: unknown key {}; allowed{}: {}{}", where, printable(joined(section, name)),
      in_quotes(name), section.empty() ? " at the top" : " in " + section, fmt::join(allowed, ", "),
      near.empty() ? "" : "; did you mean '" + near + "'?"));
}

InputError bad_value(const std::string& where, const TopologyKey& key, const std::string& value,
                     const std::string& problem) {
  return InputError(
      fmt::format("{}: {}: {} {}; allowed: {}", where, key.path, value, problem, key.allowed));
}

/// Notes where each document of a text starts, and ignores the rest.
class DocumentStarts : public YAML::EventHandler {
 public:
  const std::vector<YAML::Mark>& marks() const { return marks_; }

  void OnDocumentStart(const YAML::Mark& mark) override { marks_.push_back(mark); }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}

 private:
  std::vector<YAML::Mark> marks_;
};

/// A configuration under construction, and the source of each of its values.
class Loader {
 public:
  Loader(std::string file_name, Reader reader)
      : files_{std::move(file_name)}, reader_(std::move(reader)) {}

  void read(std::string_view yaml_text);
  void set(const std::string& setting);
  /// Checks that concern more than one key; called after the last value.
  TopologyConfig finish();

 private:
  std::string at(const YAML::Mark& mark) const {
    return fmt::format("{}:{}", files_.back(), mark.line + 1);
  }
  void check_characters(std::string_view text) const;
  YAML::Node parse(std::string_view yaml_text) const;
  void read_include(const YAML::Node& node, const YAML::Mark& key_mark);
  void read_section(const YAML::Node& node, const std::string& section);
  void read_value(const YAML::Node& node, const TopologyKey& key, const YAML::Mark& key_mark);
  void assign(const std::string& where, const TopologyKey& key, const std::string& text);
  std::string described(const char* path) const;
  /// The place of a mistake that these keys make together: the first key that is not a default.
  std::string place(const std::vector<const char*>& paths) const;

  std::vector<std::string> files_;  // the current file, after the files that include it
  Reader reader_;
  TopologyConfig config_;
  std::map<std::string, std::string> origins_;  // by path; a missing key has its default
  std::map<std::string, std::string> settings_;
};

// yaml-cpp treats some control characters as the end of the file and drops the rest.
void Loader::check_characters(std::string_view text) const {
  int line = 1;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') ++line;
    if (byte < 0x20 && c != '\n' && c != '\r' && c != '\t') {
      throw InputError(
          fmt::format("{}:{}: control character 0x{:02x}; allowed: a YAML text in UTF-8",
                      files_.back(), line, byte));
    }
  }
}

void Loader::read(std::string_view yaml_text) {
  const YAML::Node root = parse(yaml_text);
  for (const auto& entry : root) {
    if (!entry.first.IsScalar() || entry.first.Scalar() != kInclude) continue;
    read_include(entry.second, entry.first.Mark());
    break;  // a second one is a duplicate key
  }
  read_section(root, "");
}

YAML::Node Loader::parse(std::string_view yaml_text) const {
  check_characters(yaml_text);
  YAML::Node root;
  DocumentStarts starts;
  try {
    root = YAML::Load(std::string(yaml_text));
    // Load ignores a second document. LoadAll would see it, but it never returns on a stray comma,
    // which it takes for endless documents. So only two documents are looked for.
    std::istringstream stream{std::string(yaml_text)};
    YAML::Parser parser(stream);
    if (parser.HandleNextDocument(starts)) parser.HandleNextDocument(starts);
  } catch (const YAML::Exception& error) {
    throw InputError(fmt::format("{}:{}: column {}: not YAML: {}; correct the syntax{}",
                                 files_.back(), error.mark.line + 1, error.mark.column + 1,
                                 error.msg,
                                 yaml_text.find('\t') == std::string_view::npos
                                     ? ""
                                     : " (indent with spaces: the file has tabs)"));
  }
  if (starts.marks().size() > 1) {
    throw InputError(fmt::format(
        "{}: a second document, or a stray character, starts here; allowed: one document a file; "
        "remove it",
        at(starts.marks()[1])));
  }
  if (root.IsNull()) {
    throw InputError(fmt::format("{}:1: the file is empty; {}", files_.back(),
                                 files_.size() == 1
                                     ? "a topology gives at least its name: 'name: my_pe'"
                                     : "give the keys that it is to set, or do not include it"));
  }
  if (!root.IsMap()) {
    throw InputError(
        fmt::format("{}: {} is not a topology; allowed: a map of keys such as "
                    "'name: my_pe'",
                    at(root.Mark()), root.IsSequence() ? "a list" : in_quotes(root.Scalar())));
  }
  return root;
}

void Loader::read_include(const YAML::Node& node, const YAML::Mark& key_mark) {
  const std::string where = fmt::format("{}: {}", at(key_mark), kInclude);
  const std::string allowed = "allowed: the path of one YAML file, relative to this one";
  if (!node.IsScalar() || (node.Tag() != "?" && node.Tag() != "!")) {
    throw InputError(fmt::format("{}: {} is not a path; {}", where,
                                 node.IsNull()       ? "nothing"
                                 : node.IsSequence() ? "a list"
                                 : node.IsMap()      ? "a map"
                                                     : "a value with a tag",
                                 allowed));
  }
  const std::string& name = node.Scalar();
  const bool has_control = std::any_of(name.begin(), name.end(),
                                       [](char c) { return static_cast<unsigned char>(c) < 0x20; });
  if (name.empty() || has_control || fs::path(name).is_absolute()) {
    throw InputError(fmt::format("{}: {} is {}; {}", where, in_quotes(name),
                                 fs::path(name).is_absolute() ? "an absolute path" : "not a path",
                                 allowed));
  }
  const std::string path =
      (fs::path(files_.back()).parent_path() / name).lexically_normal().generic_string();
  const auto is_path = [&](const std::string& file) {
    return fs::path(file).lexically_normal() == fs::path(path);
  };
  if (std::any_of(files_.begin(), files_.end(), is_path)) {
    throw InputError(fmt::format("{}: {} includes itself: {} -> {}; remove one of these", where,
                                 path, fmt::join(files_, " -> "), path));
  }
  std::string text;
  try {
    text = reader_(path);
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", where, error.what()));
  }
  files_.push_back(path);
  read(text);
  files_.pop_back();
}

void Loader::read_section(const YAML::Node& node, const std::string& section) {
  // A look-up by name would silently return the first of two equal keys, so all keys are visited.
  std::map<std::string, int> lines;
  for (const auto& entry : node) {
    const YAML::Mark mark = entry.first.Mark();
    if (!entry.first.IsScalar()) {
      throw InputError(fmt::format("{}: {}: a key is not a plain name; allowed: {}", at(mark),
                                   section.empty() ? "the top" : section,
                                   fmt::join(names_in_file(section), ", ")));
    }
    const std::string name = entry.first.Scalar();
    const std::string path = joined(section, name);
    if (name == "<<") {
      throw InputError(fmt::format("{}: {}: merge key '<<' is not supported; write the merged keys",
                                   at(mark), path));
    }
    const auto [first, is_new] = lines.emplace(name, mark.line + 1);
    if (!is_new) {
      throw InputError(fmt::format("{}: {}: duplicate key, first given on line {}; remove one",
                                   at(mark), printable(path), first->second));
    }
    if (name.find('.') != std::string::npos) {
      throw InputError(
          fmt::format("{}: {}: unknown key {}; dotted paths are for --set, write "
                      "nested maps in a file",
                      at(mark), printable(path), in_quotes(name)));
    }
    if (path == kInclude) continue;  // has been read
    if (name == kInclude) {
      throw InputError(fmt::format("{}: {}: 'include' stands at the top of the file; move it there",
                                   at(mark), path));
    }
    const TopologyKey* key = find_topology_key(path);
    if (key != nullptr) {
      read_value(entry.second, *key, mark);
      continue;
    }
    const std::vector<std::string> names = names_in(path);
    if (names.empty()) throw unknown_key(at(mark), section, name, names_in_file(section));
    if (!entry.second.IsMap()) {
      const std::string value = entry.second.IsScalar()     ? in_quotes(entry.second.Scalar())
                                : entry.second.IsSequence() ? "a list"
                                                            : "nothing";
      throw InputError(fmt::format("{}: {}: {} is given where a map is due; allowed: a map of {}",
                                   at(mark), path, value, fmt::join(names, ", ")));
    }
    read_section(entry.second, path);
  }
}

void Loader::read_value(const YAML::Node& node, const TopologyKey& key,
                        const YAML::Mark& key_mark) {
  if (node.IsNull()) throw bad_value(at(key_mark), key, "nothing", "is given");
  const std::string where = at(node.Mark());
  if (node.IsMap()) throw bad_value(where, key, "a map", "is not a " + key.type);
  if (node.IsSequence()) throw bad_value(where, key, "a list", "is not a " + key.type);
  // yaml-cpp tags a plain scalar `?` and a quoted one `!`.
  if (node.Tag() != "?" && node.Tag() != "!") {
    throw bad_value(
        where, key, in_quotes(node.Scalar()),
        fmt::format("has the tag {}, and tags are not supported", in_quotes(node.Tag())));
  }
  if (key.number && node.Tag() == "!") {
    throw bad_value(where, key, in_quotes(node.Scalar()),
                    "is quoted, hence text; remove the quotes");
  }
  assign(where, key, node.Scalar());
}

void Loader::assign(const std::string& where, const TopologyKey& key, const std::string& text) {
  const std::string problem = key.assign(config_, text);
  if (!problem.empty()) throw bad_value(where, key, in_quotes(text), problem);
  origins_[key.path] = where;
}

void Loader::set(const std::string& setting) {
  const std::string where = "--set " + printable(setting);
  const std::size_t equals = setting.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw InputError(fmt::format(
        "--set {}: expected path=value, for example --set pe.math.lanes=128", in_quotes(setting)));
  }
  const std::string path = setting.substr(0, equals);
  const auto [first, is_new] = settings_.emplace(path, setting);
  if (!is_new) {
    throw InputError(fmt::format("{}: {}: duplicate, first given as --set {}; remove one", where,
                                 printable(path), printable(first->second)));
  }
  if (const TopologyKey* key = find_topology_key(path)) {
    assign(where, *key, setting.substr(equals + 1));
    config_.overrides.push_back(setting);
    return;
  }
  if (path == kInclude) {
    throw InputError(
        fmt::format("{}: {}: is for files only; give the file to --topology", where, kInclude));
  }
  if (const std::vector<std::string> names = names_in(path); !names.empty()) {
    throw InputError(fmt::format("{}: {}: is a section; set one of its keys: {}", where, path,
                                 fmt::join(names, ", ")));
  }
  // Descends while the path names sections; the unknown key is the rest.
  std::string section;
  std::string rest = path;
  for (std::size_t dot = rest.find('.'); dot != std::string::npos; dot = rest.find('.')) {
    const std::string inner = joined(section, rest.substr(0, dot));
    if (find_topology_key(inner) != nullptr || names_in(inner).empty()) break;
    section = inner;
    rest = rest.substr(dot + 1);
  }
  throw unknown_key(where, section, rest, names_in(section));
}

std::string Loader::described(const char* path) const {
  const auto origin = origins_.find(path);
  return fmt::format("{} {} ({})", path, find_topology_key(path)->print(config_),
                     origin == origins_.end() ? "default" : origin->second);
}

std::string Loader::place(const std::vector<const char*>& paths) const {
  // The mistake is in the command line, not in the file that it does not fit.
  for (const char* path : paths) {
    const auto origin = origins_.find(path);
    if (origin != origins_.end() && starts_with(origin->second, "--set")) return origin->second;
  }
  for (const char* path : paths) {
    if (const auto origin = origins_.find(path); origin != origins_.end()) return origin->second;
  }
  return files_.back();
}

TopologyConfig Loader::finish() {
  if (config_.name.empty()) {
    throw InputError(fmt::format("{}:1: name: missing; allowed: {}; add a line 'name: my_pe'",
                                 files_.back(), find_topology_key("name")->allowed));
  }
  const auto conflict =
      find_conflict(config_, [this](const char* path) { return described(path); });
  if (conflict) throw InputError(place(conflict->keys) + ": " + conflict->message);
  return config_;
}

/// The text of a file on disk.
std::string read_text(const std::string& path) {
  std::error_code error;
  const auto status = fs::status(path, error);
  if (!fs::exists(status)) {
    throw InputError(
        fmt::format("topology file '{}' does not exist; give the path of a YAML file", path));
  }
  if (fs::is_directory(status)) {
    throw InputError(
        fmt::format("topology file '{}' is a directory; give the path of a YAML file", path));
  }
  std::ifstream stream(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(stream), {}};
  if (!stream) {
    throw InputError(fmt::format("topology file '{}' cannot be read; check its permissions", path));
  }
  return text;
}

TopologyConfig load(std::string_view yaml_text, const std::string& file_name,
                    const std::vector<std::string>& sets, Reader reader) {
  Loader loader(file_name, std::move(reader));
  loader.read(yaml_text);
  for (const std::string& setting : sets) loader.set(setting);
  return loader.finish();
}

}  // namespace

TopologyConfig load_topology(std::string_view yaml_text, const std::string& file_name,
                             const std::vector<std::string>& sets,
                             const TopologyIncludes& includes) {
  const fs::path folder = fs::path(file_name).parent_path().lexically_normal();
  return load(yaml_text, file_name, sets, [&](const std::string& path) {
    const auto found = includes.find(fs::path(path).lexically_relative(folder).generic_string());
    if (found != includes.end()) return found->second;
    std::vector<std::string> known;
    for (const auto& entry : includes) known.push_back(entry.first);
    throw InputError(fmt::format(
        "topology file '{}' does not come with {}, which is not read from the disk ({}); in a "
        "topology that a binary embeds, write 'include: FILE.yaml' on a line of its own",
        path, file_name,
        known.empty() ? "no file does" : fmt::format("these do: {}", fmt::join(known, ", "))));
  });
}

TopologyConfig read_topology_file(const std::string& path, const std::vector<std::string>& sets) {
  return load(read_text(path), path, sets, read_text);
}

}  // namespace kernbench::arch
