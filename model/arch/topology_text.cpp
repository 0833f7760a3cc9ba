// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "model/arch/topology_file.hpp"
#include "model/arch/topology_keys.hpp"

namespace kernbench::arch {
namespace {

std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.', begin)) {
    parts.push_back(path.substr(begin, dot - begin));
    begin = dot + 1;
  }
  parts.push_back(path.substr(begin));
  return parts;
}

/// `{rmax: 0.5}`: the ops whose rate is not the default.
std::string op_rates(const TopologyConfig& config) {
  const TopologyConfig defaults;
  std::vector<std::string> rates;
  for (const TopologyKey& key : topology_keys()) {
    if (is_op_rate(key) && key.print(config) != key.print(defaults)) {
      rates.push_back(fmt::format("{}: {}", parts_of(key.path).back(), key.print(config)));
    }
  }
  return fmt::format("{{{}}}", fmt::join(rates, ", "));
}

std::string row(const std::string& path, const TopologyKey& key, const std::string& initial) {
  return fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", path, key.type, key.unit, initial,
                     key.range, key.meaning);
}

}  // namespace

std::string to_yaml(const TopologyConfig& config) {
  std::string text;
  std::vector<std::string> open;
  bool rates_written = false;
  for (const TopologyKey& key : topology_keys()) {
    if (is_op_rate(key) && rates_written) continue;
    rates_written = is_op_rate(key);
    std::vector<std::string> sections =
        parts_of(is_op_rate(key) ? std::string(kOpRateSection) : key.path);
    const std::string name = sections.back();
    sections.pop_back();
    const auto common = static_cast<std::size_t>(
        std::mismatch(open.begin(), open.end(), sections.begin(), sections.end()).first -
        open.begin());
    for (std::size_t depth = common; depth < sections.size(); ++depth) {
      text += fmt::format("{:{}}{}:\n", "", 2 * depth, sections[depth]);
    }
    text += fmt::format("{:{}}{}: {}\n", "", 2 * sections.size(), name,
                        is_op_rate(key) ? op_rates(config) : key.print(config));
    open = std::move(sections);
  }
  return text;
}

std::string reference_markdown() {
  std::string text =
      "# Topology reference\n"
      "\n"
      "Generated from the key table in `model/arch/topology_keys.cpp`; a test compares the two.\n"
      "\n"
      "A topology is a YAML file of nested maps: `pe.dma.burst_bytes` below is `burst_bytes` in\n"
      "`dma` in `pe`. Only `name` is required. Any key can be overridden on the command line, for\n"
      "example `--set pe.dma.burst_bytes=2048`; `show` prints the resolved topology.\n"
      "\n"
      "Nothing is guessed. An unknown or duplicate key, a second document, a merge key, a tag, a\n"
      "quoted number, a number with a leading zero, a value of the wrong kind or out of range is "
      "an\n"
      "error that names file, line and key. Decimal numbers have at most 6 decimals and are kept\n"
      "exactly.\n"
      "\n"
      "`include: FILE.yaml` at the top level, on any line, reads the keys of another file first;\n"
      "the including file's replace them, key by key. The path is relative to the including\n"
      "file. An included file needs no `name` and may include another; a circle is an error.\n"
      "A binary carries what its topology includes on a line `include: FILE.yaml` of its own.\n"
      "\n"
      "| key | type | unit | default | range | meaning |\n"
      "|---|---|---|---|---|---|\n";
  const TopologyConfig defaults;
  std::vector<std::string> ops;
  for (const TopologyKey& key : topology_keys()) {
    const std::string initial = key.print(defaults);
    if (!is_op_rate(key)) {
      text += row(key.path, key, initial.empty() ? "required" : initial);
      continue;
    }
    if (ops.empty()) text += row(fmt::format("{}.OP", kOpRateSection), key, initial);
    ops.push_back(fmt::format("`{}`", parts_of(key.path).back()));
  }
  text += fmt::format("\n`OP` is one of {}.\n", fmt::join(ops, ", "));
  text +=
      "\n"
      "Keys that must agree:\n"
      "\n"
      "- `pe.tcm.scratch_bytes` plus the tile buffers must fit `pe.tcm.bytes`. The tile buffers "
      "are\n"
      "  `tile_buffers` x `max_inflight_composites` x (`tile_m` `tile_k` + `tile_k` `tile_n`) x 2\n"
      "  bytes.\n"
      "- `pe.dma.burst_bytes` is at most `pe.dma.max_outstanding_bytes`.\n"
      "- `sips` x `cubes_per_sip` x `pes_per_cube` is at most 4096.\n"
      "- `noc.cols` x `noc.rows` is at least `pes_per_cube`, if that is more than 1.\n"
      "- With `hbm.map: pe_local`, `hbm.bytes` is at least `pes_per_cube`: each PE has its part,\n"
      "  rounded down.\n"
      "- With `hbm.map: interleaved`, `hbm.interleave_bytes` is at least `pe.dma.burst_bytes`,\n"
      "  and `hbm.bytes` a multiple of `hbm.channels` x `hbm.interleave_bytes`.\n";
  return text;
}

}  // namespace kernbench::arch
