// SPDX-License-Identifier: Apache-2.0
#include "model/arch/topology_file.hpp"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

#include "model/arch/topology_keys.hpp"
#include "tlm_if/command/error.hpp"
#include "tlm_if/command/spelling.hpp"

namespace kernbench::arch {
namespace {

/// Text of the user as a part of a one-line message.
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

/// The names that may stand in a section; empty if there is no such section.
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

/// The key that was probably meant: same name elsewhere, near spelling here, near spelling
/// anywhere.
std::string nearest_key(const std::string& section, const std::string& name) {
  // What people call a key that has another name.
  static const std::map<std::string, std::string> kOtherNames{
      {"bandwidth", "hbm.gbps"}, {"frequency", "pe.clock_ghz"}, {"latency", "hbm.latency_ns"}};
  std::map<std::string, std::string> paths = kOtherNames;
  for (const TopologyKey& key : topology_keys()) {
    if (!is_op_rate(key)) paths.emplace(last_part(key.path), key.path);
  }
  if (const auto same = paths.find(name); same != paths.end()) return same->second;
  if (const std::string here = nearest_spelling(name, names_in(section)); !here.empty()) {
    return joined(section, here);
  }
  std::vector<std::string> everywhere;
  for (const auto& [spelling, path] : paths) everywhere.push_back(spelling);
  const std::string near = nearest_spelling(name, everywhere);
  return near.empty() ? "" : paths.at(near);
}

InputError unknown_key(const std::string& where, const std::string& section,
                       const std::string& name) {
  const std::string near = nearest_key(section, name);
  return InputError(fmt::format(
      "{}: {}: unknown key {}; allowed{}: {}{}", where, printable(joined(section, name)),
      in_quotes(name), section.empty() ? " at the top" : " in " + section,
      fmt::join(names_in(section), ", "), near.empty() ? "" : "; did you mean '" + near + "'?"));
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

/// A configuration in the making, and where each of its values comes from.
class Loader {
 public:
  explicit Loader(const std::string& file_name) : file_(file_name) {}

  void read(std::string_view yaml_text);
  void set(const std::string& setting);
  /// After the last value: what concerns more than one key.
  TopologyConfig finish();

 private:
  std::string at(const YAML::Mark& mark) const {
    return fmt::format("{}:{}", file_, mark.line + 1);
  }
  void check_characters(std::string_view text) const;
  void read_section(const YAML::Node& node, const std::string& section);
  void read_value(const YAML::Node& node, const TopologyKey& key, const YAML::Mark& key_mark);
  void assign(const std::string& where, const TopologyKey& key, const std::string& text);
  std::string described(const char* path) const;
  /// Where to look for a mistake that these keys make together: the first that is not a default.
  std::string place(std::initializer_list<const char*> paths) const;

  const std::string& file_;
  TopologyConfig config_;
  std::map<std::string, std::string> origins_;  // by path; a missing key has its default
  std::map<std::string, std::string> settings_;
};

// yaml-cpp takes some control characters for the end of the file, and drops what follows.
void Loader::check_characters(std::string_view text) const {
  int line = 1;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') ++line;
    if (byte < 0x20 && c != '\n' && c != '\r' && c != '\t') {
      throw InputError(fmt::format(
          "{}:{}: control character 0x{:02x}; allowed: a YAML text in UTF-8", file_, line, byte));
    }
  }
}

void Loader::read(std::string_view yaml_text) {
  check_characters(yaml_text);
  YAML::Node root;
  DocumentStarts starts;
  try {
    root = YAML::Load(std::string(yaml_text));
    // Load ignores a second document. LoadAll would see it, but never returns from a stray comma,
    // which it takes for one document after another: look for two, not for all.
    std::istringstream stream{std::string(yaml_text)};
    YAML::Parser parser(stream);
    if (parser.HandleNextDocument(starts)) parser.HandleNextDocument(starts);
  } catch (const YAML::Exception& error) {
    throw InputError(fmt::format("{}:{}: column {}: not YAML: {}; correct the syntax{}", file_,
                                 error.mark.line + 1, error.mark.column + 1, error.msg,
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
    throw InputError(fmt::format(
        "{}:1: the file is empty; a topology gives at least its name: 'name: my_pe'", file_));
  }
  if (!root.IsMap()) {
    throw InputError(
        fmt::format("{}: {} is not a topology; allowed: a map of keys such as "
                    "'name: my_pe'",
                    at(root.Mark()), root.IsSequence() ? "a list" : in_quotes(root.Scalar())));
  }
  read_section(root, "");
}

void Loader::read_section(const YAML::Node& node, const std::string& section) {
  // A look-up by name would return the first of two equal keys in silence: go through all.
  std::map<std::string, int> lines;
  for (const auto& entry : node) {
    const YAML::Mark mark = entry.first.Mark();
    if (!entry.first.IsScalar()) {
      throw InputError(fmt::format("{}: {}: a key is not a plain name; allowed: {}", at(mark),
                                   section.empty() ? "the top" : section,
                                   fmt::join(names_in(section), ", ")));
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
    const TopologyKey* key = find_topology_key(path);
    if (key != nullptr) {
      read_value(entry.second, *key, mark);
      continue;
    }
    const std::vector<std::string> names = names_in(path);
    if (names.empty()) throw unknown_key(at(mark), section, name);
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
    return;
  }
  if (const std::vector<std::string> names = names_in(path); !names.empty()) {
    throw InputError(fmt::format("{}: {}: is a section; set one of its keys: {}", where, path,
                                 fmt::join(names, ", ")));
  }
  // As far as the path names sections, the mistake is in what follows.
  std::string section;
  std::string rest = path;
  for (std::size_t dot = rest.find('.'); dot != std::string::npos; dot = rest.find('.')) {
    const std::string inner = joined(section, rest.substr(0, dot));
    if (find_topology_key(inner) != nullptr || names_in(inner).empty()) break;
    section = inner;
    rest = rest.substr(dot + 1);
  }
  throw unknown_key(where, section, rest);
}

std::string Loader::described(const char* path) const {
  const auto origin = origins_.find(path);
  return fmt::format("{} {} ({})", path, find_topology_key(path)->print(config_),
                     origin == origins_.end() ? "default" : origin->second);
}

std::string Loader::place(std::initializer_list<const char*> paths) const {
  for (const char* path : paths) {
    if (const auto origin = origins_.find(path); origin != origins_.end()) return origin->second;
  }
  return file_;
}

TopologyConfig Loader::finish() {
  if (config_.name.empty()) {
    throw InputError(fmt::format("{}:1: name: missing; allowed: {}; add a line 'name: my_pe'",
                                 file_, find_topology_key("name")->allowed));
  }
  const PeConfig& pe = config_.pe;
  if (pe.dma.burst_bytes > pe.dma.max_outstanding_bytes) {  // R6.8
    throw InputError(fmt::format(
        "{}: {} is larger than {}, so that no burst could be sent; lower the first or raise the "
        "second",
        place({"pe.dma.burst_bytes", "pe.dma.max_outstanding_bytes"}),
        described("pe.dma.burst_bytes"), described("pe.dma.max_outstanding_bytes")));
  }
  const std::uint64_t buffers = std::uint64_t{pe.scheduler.tile_buffers} *
                                pe.scheduler.max_inflight_composites * pe.tile_buffer_bytes();
  if (pe.tcm.scratch_bytes + buffers > pe.tcm.bytes) {  // R3.4
    throw InputError(fmt::format(
        "{}: {} plus {} bytes of tile buffers are {} bytes, more than {}; the buffers are {} x {} "
        "x (tile_m tile_k + tile_k tile_n) x 2 bytes with {}, {}, {}; lower one of them or raise "
        "pe.tcm.bytes",
        place({"pe.tcm.scratch_bytes", "pe.tcm.bytes", "pe.scheduler.tile_buffers",
               "pe.scheduler.max_inflight_composites", "pe.gemm.tile_m", "pe.gemm.tile_k",
               "pe.gemm.tile_n"}),
        described("pe.tcm.scratch_bytes"), buffers, pe.tcm.scratch_bytes + buffers,
        described("pe.tcm.bytes"), described("pe.scheduler.tile_buffers"),
        described("pe.scheduler.max_inflight_composites"), described("pe.gemm.tile_m"),
        described("pe.gemm.tile_k"), described("pe.gemm.tile_n")));
  }
  config_.pe.hbm_bytes = config_.hbm.bytes;
  return config_;
}

}  // namespace

TopologyConfig load_topology(std::string_view yaml_text, const std::string& file_name,
                             const std::vector<std::string>& sets) {
  Loader loader(file_name);
  loader.read(yaml_text);
  for (const std::string& setting : sets) loader.set(setting);
  return loader.finish();
}

TopologyConfig read_topology_file(const std::string& path, const std::vector<std::string>& sets) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) {
    throw InputError(
        fmt::format("topology file '{}' does not exist; give the path of a YAML file", path));
  }
  if (std::filesystem::is_directory(status)) {
    throw InputError(
        fmt::format("topology file '{}' is a directory; give the path of a YAML file", path));
  }
  std::ifstream stream(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  if (!stream) {
    throw InputError(fmt::format("topology file '{}' cannot be read; check its permissions", path));
  }
  return load_topology(text, path, sets);
}

}  // namespace kernbench::arch
