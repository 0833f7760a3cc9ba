// SPDX-License-Identifier: Apache-2.0
#include "model/arch/topology_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>
#include <utility>

#include "tlm_if/command/address_map.hpp"
#include "tlm_if/command/error.hpp"
#include "tlm_if/command/spelling.hpp"

namespace kernbench::arch {
namespace {

// Six decimals and the bounds below keep each factor of a duration within 64 bits, so that its
// exact product in ps exists (R6.1).
constexpr std::uint64_t kDecimalSteps = 1'000'000;
constexpr std::size_t kMaxNameLength = 64;
constexpr std::uint64_t kMaxCycles = 1'000'000;
constexpr std::uint64_t kMaxExtent = 65'536;
constexpr std::uint64_t kMaxEntries = 1'024;
constexpr std::uint64_t kMaxChannels = 16;
constexpr std::uint64_t kMaxBurst = 1'048'576;
// The largest number of SIPs, of cubes in a SIP, of PEs in a cube, and of routers in a row or
// column.
constexpr std::uint64_t kMaxGroup = 64;
// HBM ends where TCM begins (R3.4); TCM may be as large.
constexpr std::uint64_t kMaxMemory = command::kTcmBase;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

/// `010` may be read as 8 or as 10.
bool looks_octal(const std::string& text) {
  return text.size() > 1 && text[0] == '0' && is_digit(text[1]);
}
constexpr const char* kOctal = "looks octal (leading zero)";
constexpr const char* kOutOfRange = "is out of range";

struct Bounds {
  std::uint64_t min;
  std::uint64_t max;
  bool power_of_two = false;
};

std::string parse_whole(const std::string& text, const Bounds& bounds, std::uint64_t& value) {
  const bool negative = text.size() > 1 && text[0] == '-';
  const std::string digits = negative ? text.substr(1) : text;
  if (digits.empty() || !std::all_of(digits.begin(), digits.end(), is_digit)) {
    return "is not a whole number";
  }
  if (looks_octal(digits)) return kOctal;
  // 19 digits always fit 64 bits, and no bound has more.
  if (negative || digits.size() > 19) return kOutOfRange;
  value = std::stoull(digits);
  if (value < bounds.min || value > bounds.max) return kOutOfRange;
  if (bounds.power_of_two && (value & (value - 1)) != 0) return "is not a power of two";
  return {};
}

std::string parse_decimal(const std::string& text, const Rational& min, const Rational& max,
                          Rational& value) {
  const bool negative = text.size() > 1 && text[0] == '-';
  const std::string magnitude = negative ? text.substr(1) : text;
  if (looks_octal(magnitude)) return kOctal;
  try {
    value = Rational::parse(magnitude);
  } catch (const InputError&) {
    return "is not a decimal number of at most 18 digits";
  }
  if (negative || value < min || max < value) return kOutOfRange;
  if (kDecimalSteps % value.den() != 0) return "has more than 6 decimals";
  return {};
}

/// A scope in the VCD and an instance in SystemC (contract 10).
std::string check_name(const std::string& text) {
  const bool legal =
      !text.empty() && is_letter(text[0]) &&
      std::all_of(text.begin(), text.end(), [](char c) { return is_letter(c) || is_digit(c); });
  if (!legal) return "is not a legal name";
  return text.size() > kMaxNameLength ? fmt::format("has {} characters", text.size()) : "";
}

std::string with_unit(const std::string& text, const std::string& unit) {
  return unit.empty() ? text : fmt::format("{} ({})", text, unit);
}

// In each, `field` maps a (const) TopologyConfig to the field.

template <class Field>
TopologyKey whole(std::string path, std::string unit, Bounds bounds, std::string meaning,
                  Field field) {
  TopologyKey key;
  key.path = std::move(path);
  key.type = "whole number";
  key.unit = std::move(unit);
  const std::string interval = fmt::format("[{}, {}]", bounds.min, bounds.max);
  key.range = interval + (bounds.power_of_two ? ", a power of two" : "");
  key.allowed = with_unit(
      fmt::format("a {} in {}", bounds.power_of_two ? "power of two" : "whole number", interval),
      key.unit);
  key.meaning = std::move(meaning);
  key.number = true;
  key.print = [field](const TopologyConfig& config) { return fmt::format("{}", field(config)); };
  key.assign = [field, bounds](TopologyConfig& config, const std::string& text) {
    std::uint64_t value = 0;
    std::string problem = parse_whole(text, bounds, value);
    if (problem.empty()) {
      field(config) = static_cast<std::decay_t<decltype(field(config))>>(value);
    }
    return problem;
  };
  return key;
}

template <class Field>
TopologyKey decimal(std::string path, std::string unit, const char* min, const char* max,
                    std::string meaning, Field field) {
  TopologyKey key;
  key.path = std::move(path);
  key.type = "decimal number";
  key.unit = std::move(unit);
  key.range = fmt::format("[{}, {}]", min, max);
  key.allowed =
      with_unit(fmt::format("a decimal number in {} with at most 6 decimals", key.range), key.unit);
  key.meaning = std::move(meaning);
  key.number = true;
  key.print = [field](const TopologyConfig& config) { return field(config).to_string(); };
  key.assign = [field, low = Rational::parse(min), high = Rational::parse(max)](
                   TopologyConfig& config, const std::string& text) {
    Rational value;
    std::string problem = parse_decimal(text, low, high, value);
    if (problem.empty()) field(config) = value;
    return problem;
  };
  return key;
}

/// `names` in the order of the enumerators.
template <class Field>
TopologyKey choice(std::string path, std::vector<std::string> names, std::string meaning,
                   Field field) {
  TopologyKey key;
  key.path = std::move(path);
  key.type = "choice";
  key.range = fmt::format("{}", fmt::join(names, ", "));
  key.allowed = "one of " + key.range;
  key.meaning = std::move(meaning);
  key.print = [field, names](const TopologyConfig& config) {
    const auto index = static_cast<std::size_t>(field(config));
    return index < names.size() ? names[index] : fmt::format("{}", index);
  };
  key.assign = [field, names](TopologyConfig& config, const std::string& text) -> std::string {
    const auto found = std::find(names.begin(), names.end(), text);
    if (found == names.end()) {
      const std::string near = nearest_spelling(text, names);
      return near.empty() ? "is not a choice"
                          : fmt::format("is not a choice (did you mean '{}'?)", near);
    }
    using Enum = std::decay_t<decltype(field(config))>;
    field(config) = static_cast<Enum>(found - names.begin());
    return {};
  };
  return key;
}

template <class Field>
TopologyKey boolean(std::string path, std::string meaning, Field field) {
  TopologyKey key =
      choice(std::move(path), {"false", "true"}, std::move(meaning), std::move(field));
  key.type = "boolean";
  return key;
}

TopologyKey name_key() {
  TopologyKey key;
  key.path = "name";
  key.type = "name";
  key.range = "letters, digits and underscores, not starting with a digit, at most 64 characters";
  key.allowed = key.range;
  key.meaning = "Name of the design in reports and traces; required; no timing effect.";
  key.print = [](const TopologyConfig& config) {
    // Unquoted, these three words are YAML's null.
    const bool is_null = config.name == "null" || config.name == "Null" || config.name == "NULL";
    return is_null ? fmt::format("\"{}\"", config.name) : config.name;
  };
  key.assign = [](TopologyConfig& config, const std::string& text) {
    std::string problem = check_name(text);
    if (problem.empty()) config.name = text;
    return problem;
  };
  return key;
}

// The lambdas take the config by `auto&` so that one serves reading and writing.
std::vector<TopologyKey> make_keys() {
  std::vector<TopologyKey> keys{
      name_key(),
      whole(
          "sips", "", {1, kMaxGroup}, "SIPs in the design, linked to a ring by sip_link.",
          [](auto& c) -> auto& { return c.sips; }),
      whole(
          "cubes_per_sip", "", {1, kMaxGroup}, "Cubes in a SIP, linked to a ring by d2d.",
          [](auto& c) -> auto& { return c.cubes_per_sip; }),
      whole(
          "pes_per_cube", "", {1, kMaxGroup},
          "PEs in a cube; they share its HBM and reach each other through its NoC.",
          [](auto& c) -> auto& { return c.pes_per_cube; }),

      decimal(
          "pe.clock_ghz", "GHz", "0.001", "100", "Clock of the PE.",
          [](auto& c) -> auto& { return c.pe.clock_ghz; }),
      decimal(
          "pe.watchdog_ns", "ns", "0", "1000000000",
          "Longest time without any progress of the PE while its commands are outstanding, after "
          "which the run ends with the list of what waits for what; that another PE is busy is no "
          "progress; 0: no limit; no timing effect.",
          [](auto& c) -> auto& { return c.pe.watchdog_ns; }),

      whole(
          "pe.pe_cost_model.fixed_cycles", "cycles", {0, kMaxCycles},
          "Dispatch cost of each segment of a command.",
          [](auto& c) -> auto& { return c.pe.pe_cost_model.fixed_cycles; }),
      decimal(
          "pe.pe_cost_model.cycles_per_byte", "cycles per byte", "0", "1000",
          "Dispatch cost of each logical byte of a command.",
          [](auto& c) -> auto& { return c.pe.pe_cost_model.cycles_per_byte; }),
      whole(
          "pe.pe_cost_model.max_composite_logical_bytes", "bytes", {1, 1'048'576},
          "Logical bytes of a segment: a longer command is dispatched in several.",
          [](auto& c) -> auto& { return c.pe.pe_cost_model.max_composite_logical_bytes; }),

      whole(
          "pe.cpu.cmd_queue_depth", "commands", {1, kMaxEntries},
          "Commands that the scheduler queue holds; PE_CPU stalls before a full queue.",
          [](auto& c) -> auto& { return c.pe.cpu.cmd_queue_depth; }),
      decimal(
          "pe.cpu.launch_ns", "ns", "0", "1000000",
          "Time from a launch to the start of its kernel, once per launch and PE.",
          [](auto& c) -> auto& { return c.pe.cpu.launch_ns; }),

      choice(
          "pe.scheduler.rw_policy", {"overlap", "drain_all"},
          "What a command that conflicts with one in flight waits for: all earlier overlapping "
          "commands, or everything in flight.",
          [](auto& c) -> auto& { return c.pe.scheduler.rw_policy; }),
      choice(
          "pe.scheduler.rw_match", {"range", "handle_id"},
          "What makes two commands conflict: the bytes they touch, or the ids of the rw_handles of "
          "composites, which misses hazards (for study, with --check-hazards).",
          [](auto& c) -> auto& { return c.pe.scheduler.rw_match; }),
      whole(
          "pe.scheduler.tile_buffers", "tiles", {1, kMaxEntries},
          "Tiles of one composite in flight at a time, each with a buffer in TCM.",
          [](auto& c) -> auto& { return c.pe.scheduler.tile_buffers; }),
      whole(
          "pe.scheduler.max_inflight_composites", "composites", {1, kMaxEntries},
          "Composites in flight at a time.",
          [](auto& c) -> auto& { return c.pe.scheduler.max_inflight_composites; }),
      boolean(
          "pe.scheduler.math_head_from_hbm",
          "Op 0 of a composite without a gemm may have tensors in HBM, which stream in chunks of "
          "pe.gemm.tile_m rows x pe.gemm.tile_n columns; without: refused.",
          [](auto& c) -> auto& { return c.pe.scheduler.math_head_from_hbm; }),

      choice(
          "pe.dma.port", {"at", "lt"},
          "How the HBM port calls the memory: by the phases of the base protocol, pipelined, or by "
          "b_transport, one burst of a channel after the other.",
          [](auto& c) -> auto& { return c.pe.dma.port; }),
      whole(
          "pe.dma.read_channels", "channels", {1, kMaxChannels}, "DMA channels from HBM to TCM.",
          [](auto& c) -> auto& { return c.pe.dma.read_channels; }),
      whole(
          "pe.dma.write_channels", "channels", {1, kMaxChannels}, "DMA channels from TCM to HBM.",
          [](auto& c) -> auto& { return c.pe.dma.write_channels; }),
      whole(
          "pe.dma.setup_cycles", "cycles", {0, kMaxCycles},
          "Time that a channel takes before the first burst of a stage.",
          [](auto& c) -> auto& { return c.pe.dma.setup_cycles; }),
      whole(
          "pe.dma.burst_bytes", "bytes", {1, kMaxBurst, true}, "Largest burst on the HBM port.",
          [](auto& c) -> auto& { return c.pe.dma.burst_bytes; }),
      whole(
          "pe.dma.max_outstanding_bytes", "bytes", {1, 1'073'741'824},
          "Bytes of a channel between request and response; at least pe.dma.burst_bytes.",
          [](auto& c) -> auto& { return c.pe.dma.max_outstanding_bytes; }),
      whole(
          "pe.dma.bus_bytes", "bytes", {1, kMaxBurst, true},
          "Width of the memory's bus, in whole beats of which bus bytes are counted; no timing "
          "effect.",
          [](auto& c) -> auto& { return c.pe.dma.bus_bytes; }),

      whole(
          "pe.tcm.bytes", "bytes", {1, kMaxMemory},
          "Size of TCM: scratch and tile buffers must fit; no timing effect.",
          [](auto& c) -> auto& { return c.pe.tcm.bytes; }),
      whole(
          "pe.tcm.bytes_per_cycle", "bytes per cycle", {1, 1'048'576},
          "Bandwidth of FETCH and STORE, which share one server.",
          [](auto& c) -> auto& { return c.pe.tcm.bytes_per_cycle; }),
      whole(
          "pe.tcm.scratch_bytes", "bytes", {1, kMaxMemory},
          "Part of TCM that kernels allocate their tensors from; no timing effect.",
          [](auto& c) -> auto& { return c.pe.tcm.scratch_bytes; }),

      choice(
          "pe.gemm.model", {"block", "systolic_ws", "systolic_os"}, "Timing formula of PE_GEMM.",
          [](auto& c) -> auto& { return c.pe.gemm.model; }),
      whole(
          "pe.gemm.block_m", "rows", {1, kMaxExtent},
          "Rows of the block that PE_GEMM does in one cycle (model block only).",
          [](auto& c) -> auto& { return c.pe.gemm.block_m; }),
      whole(
          "pe.gemm.block_k", "entries", {1, kMaxExtent},
          "Depth of the block that PE_GEMM does in one cycle (model block only).",
          [](auto& c) -> auto& { return c.pe.gemm.block_k; }),
      whole(
          "pe.gemm.block_n", "columns", {1, kMaxExtent},
          "Columns of the block that PE_GEMM does in one cycle (model block only).",
          [](auto& c) -> auto& { return c.pe.gemm.block_n; }),
      whole(
          "pe.gemm.rows", "rows", {1, kMaxExtent},
          "Rows of the systolic array (systolic models only).",
          [](auto& c) -> auto& { return c.pe.gemm.rows; }),
      whole(
          "pe.gemm.cols", "columns", {1, kMaxExtent},
          "Columns of the systolic array (systolic models only).",
          [](auto& c) -> auto& { return c.pe.gemm.cols; }),
      whole(
          "pe.gemm.fill_cycles", "cycles", {0, kMaxCycles},
          "Added to each GEMM stage (model block only).",
          [](auto& c) -> auto& { return c.pe.gemm.fill_cycles; }),
      whole(
          "pe.gemm.tile_m", "rows", {1, kMaxExtent}, "Rows of a tile of the output.",
          [](auto& c) -> auto& { return c.pe.gemm.tile_m; }),
      whole(
          "pe.gemm.tile_k", "entries", {1, kMaxExtent}, "Depth of a tile of the inputs.",
          [](auto& c) -> auto& { return c.pe.gemm.tile_k; }),
      whole(
          "pe.gemm.tile_n", "columns", {1, kMaxExtent}, "Columns of a tile of the output.",
          [](auto& c) -> auto& { return c.pe.gemm.tile_n; }),

      whole(
          "pe.math.lanes", "entries", {1, 1'048'576}, "Entries that PE_MATH loads at a time.",
          [](auto& c) -> auto& { return c.pe.math.lanes; }),
      whole(
          "pe.math.fixed_cycles", "cycles", {0, kMaxCycles}, "Added to each MATH stage.",
          [](auto& c) -> auto& { return c.pe.math.fixed_cycles; }),
  };
  for (int i = 0; i < command::kOpKinds; ++i) {
    const auto kind = static_cast<command::OpKind>(i);
    if (kind == command::OpKind::gemm) continue;  // no MATH stage
    keys.push_back(decimal(
        fmt::format("{}.{}", kOpRateSection, command::to_string(kind)), "lane-loads per cycle",
        "0.001", "1000",
        "Speed of one op in PE_MATH; an op that is not named runs at 1.", [i](auto& c) -> auto& {
          return c.pe.math.op_rate[static_cast<std::size_t>(i)];
        }));
  }
  std::vector<TopologyKey> shared{
      whole(
          "pe.ipcq.channels", "channels", {1, 256},
          "Channels from each PE to each other one, of which a message names one; no timing "
          "effect.",
          [](auto& c) -> auto& { return c.pe.ipcq.channels; }),
      whole(
          "pe.ipcq.depth", "slots", {1, kMaxEntries},
          "Slots of a channel: those sent and not yet received; no effect with one PE.",
          [](auto& c) -> auto& { return c.pe.ipcq.depth; }),
      whole(
          "pe.ipcq.slot_bytes", "bytes", {64, kMaxBurst, true},
          "Size of a slot; a longer message takes several; no effect with one PE.",
          [](auto& c) -> auto& { return c.pe.ipcq.slot_bytes; }),
      whole(
          "pe.ipcq.send_cycles", "cycles", {0, kMaxCycles},
          "Time of PE_IPCQ for a slot to send, at least 1 ps; no effect with one PE.",
          [](auto& c) -> auto& { return c.pe.ipcq.send_cycles; }),
      whole(
          "pe.ipcq.recv_cycles", "cycles", {0, kMaxCycles},
          "Time of PE_IPCQ for a slot to receive, at least 1 ps; no effect with one PE.",
          [](auto& c) -> auto& { return c.pe.ipcq.recv_cycles; }),

      decimal(
          "hbm.gbps", "GB/s", "0.001", "100000",
          "Peak bandwidth of a cube's HBM; 1 GB/s is 1e9 bytes/s.",
          [](auto& c) -> auto& { return c.hbm.gbps; }),
      decimal(
          "hbm.latency_ns", "ns", "0", "1000000",
          "From the end of a burst's service to its response.",
          [](auto& c) -> auto& { return c.hbm.latency_ns; }),
      decimal(
          "hbm.efficiency", "", "0.001", "1", "Part of the peak bandwidth that is reached.",
          [](auto& c) -> auto& { return c.hbm.efficiency; }),
      whole(
          "hbm.bytes", "bytes", {1, kMaxMemory},
          "Size of a cube's HBM: tensors must fit; no timing effect.",
          [](auto& c) -> auto& { return c.hbm.bytes; }),
      choice(
          "hbm.map", {"pe_local", "interleaved"},
          "How the PEs of a cube share its HBM: each has its share of the bandwidth and of the "
          "bytes to itself, or all reach all channels through the NoC.",
          [](auto& c) -> auto& { return c.hbm.map; }),
      whole(
          "hbm.channels", "channels", {1, 256},
          "Channels of a cube's HBM, each with its share of the bandwidth (map interleaved only).",
          [](auto& c) -> auto& { return c.hbm.channels; }),
      whole(
          "hbm.interleave_bytes", "bytes", {64, 1'073'741'824, true},
          "Bytes on a channel before those of the next begin (map interleaved only).",
          [](auto& c) -> auto& { return c.hbm.interleave_bytes; }),

      whole(
          "noc.cols", "routers", {1, kMaxGroup},
          "Routers in a row of a cube's mesh; PE i of the cube is at column i mod cols of row i / "
          "cols; no effect with one PE and hbm.map pe_local.",
          [](auto& c) -> auto& { return c.noc.cols; }),
      whole(
          "noc.rows", "routers", {1, kMaxGroup},
          "Rows of a cube's mesh; no effect with one PE and hbm.map pe_local.",
          [](auto& c) -> auto& { return c.noc.rows; }),
      whole(
          "noc.bytes_per_cycle", "bytes per cycle", {1, 1'048'576},
          "Bandwidth of each link of the mesh, each way, in cycles of the PE clock; no effect with "
          "one PE and hbm.map pe_local.",
          [](auto& c) -> auto& { return c.noc.bytes_per_cycle; }),
      whole(
          "noc.hop_cycles", "cycles", {0, kMaxCycles},
          "Latency from router to router; no effect with one PE and hbm.map pe_local.",
          [](auto& c) -> auto& { return c.noc.hop_cycles; }),
      whole(
          "noc.niu_cycles", "cycles", {0, kMaxCycles},
          "Latency into the mesh, and again out of it; no effect with one PE and hbm.map pe_local.",
          [](auto& c) -> auto& { return c.noc.niu_cycles; }),

      decimal(
          "d2d.gbps", "GB/s", "0.001", "100000",
          "Bandwidth of each link between cubes of a SIP (UCIe), each way; no effect with one "
          "cube.",
          [](auto& c) -> auto& { return c.d2d.gbps; }),
      decimal(
          "d2d.latency_ns", "ns", "0", "1000000",
          "Latency of each link between cubes of a SIP; no effect with one cube.",
          [](auto& c) -> auto& { return c.d2d.latency_ns; }),
      decimal(
          "sip_link.gbps", "GB/s", "0.001", "100000",
          "Bandwidth of each link between SIPs, each way; no effect with one SIP.",
          [](auto& c) -> auto& { return c.sip_link.gbps; }),
      decimal(
          "sip_link.latency_ns", "ns", "0", "1000000",
          "Latency of each link between SIPs; no effect with one SIP.",
          [](auto& c) -> auto& { return c.sip_link.latency_ns; }),

      boolean(
          "check_protocol",
          "A protocol monitor at every memory socket: a violation ends the run; no timing effect.",
          [](auto& c) -> auto& { return c.check_protocol; }),
  };
  std::move(shared.begin(), shared.end(), std::back_inserter(keys));
  return keys;
}

}  // namespace

const std::vector<TopologyKey>& topology_keys() {
  static const std::vector<TopologyKey> kKeys = make_keys();
  return kKeys;
}

const TopologyKey* find_topology_key(std::string_view path) {
  for (const TopologyKey& key : topology_keys()) {
    if (key.path == path) return &key;
  }
  return nullptr;
}

bool is_op_rate(const TopologyKey& key) {
  return key.path.compare(0, kOpRateSection.size(), kOpRateSection) == 0;
}

}  // namespace kernbench::arch
