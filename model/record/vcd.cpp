// SPDX-License-Identifier: Apache-2.0
#include "model/record/vcd.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <stdexcept>

#include "model/record/codes.hpp"

namespace kernbench::record {
namespace {

using Code = std::pair<int, std::string_view>;

constexpr unsigned kCodeBits = 8;
constexpr unsigned kIndexBits = 32;
constexpr unsigned kByteBits = 40;  // HBM ends below kTcmBase = 2^40 (R3.4)

std::map<std::string_view, std::int64_t> by_text(const std::vector<Code>& codes) {
  std::map<std::string_view, std::int64_t> result;
  for (const Code& code : codes) result[code.second] = code.first;
  return result;
}

std::int64_t code_of(const std::map<std::string_view, std::int64_t>& codes, std::string_view text) {
  if (text.empty()) return 0;
  const auto found = codes.find(text);
  if (found == codes.end()) {
    throw std::logic_error(fmt::format("'{}' has no VCD code; add it to vcd_codes()", text));
  }
  return found->second;
}

std::string describe(std::string_view name, const std::vector<Code>& codes) {
  std::string line = fmt::format("{} codes:", name);
  for (const Code& code : codes) line += fmt::format(" {}={}", code.first, code.second);
  return line;
}

// Printable ASCII, as short as possible: the variable's number in base 94.
std::string identifier(std::size_t number) {
  std::string code;
  do {
    code += static_cast<char>('!' + number % 94);
    number /= 94;
  } while (number != 0);
  return code;
}

/// Moves PEs so that those of one scope follow each other, so that no scope is opened twice.
/// Otherwise their order does not change.
void sort_by_scope(std::vector<PeScope>& pes) {
  std::map<std::string, std::size_t> seen;  // each path and those above it, by first appearance
  const auto rank = [&](const PeScope& pe) {
    std::vector<std::size_t> ranks;
    for (std::size_t end = 0; end != std::string::npos;) {
      end = pe.name.find('.', end + 1);
      ranks.push_back(seen.emplace(pe.name.substr(0, end), seen.size()).first->second);
    }
    return ranks;
  };
  for (const PeScope& pe : pes) rank(pe);
  std::stable_sort(pes.begin(), pes.end(),
                   [&](const PeScope& x, const PeScope& y) { return rank(x) < rank(y); });
}

}  // namespace

VcdCodes vcd_codes() {
  VcdCodes codes;
  codes.op = {{0, "none"}};
  for (const auto& [code, name] :
       {std::pair{CommandCode::composite, "composite"}, std::pair{CommandCode::load, "load"},
        std::pair{CommandCode::store, "store"}, std::pair{CommandCode::dot, "dot"},
        std::pair{CommandCode::cpu_overhead, "cpu_overhead"}, std::pair{CommandCode::send, "send"},
        std::pair{CommandCode::recv, "recv"}}) {
    codes.op.emplace_back(static_cast<int>(op_code(code)), name);
  }
  for (int kind = 0; kind < command::kOpKinds; ++kind) {
    const auto op = static_cast<command::OpKind>(kind);
    codes.op.emplace_back(static_cast<int>(op_code(op)), to_string(op));
  }
  codes.operand = {{0, "none"}};
  for (int name = 0; name <= static_cast<int>(command::OperandName::out); ++name) {
    const auto operand = static_cast<command::OperandName>(name);
    codes.operand.emplace_back(static_cast<int>(operand_code(operand)), to_string(operand));
  }
  codes.state = {{0, "idle"}};
  for (arch::StageKind stage :
       {arch::StageKind::dispatch, arch::StageKind::queue_stall, arch::StageKind::wait}) {
    codes.state.emplace_back(static_cast<int>(state_code(stage)), to_string(stage));
  }
  return codes;
}

Vcd::Vcd(const std::string& path, const arch::TopologyConfig& topology,
         const std::vector<std::uint32_t>& shown)
    : Vcd(path) {
  pes_ = scopes_of(topology);
  for (PeScope& pe : pes_) pe.shown = false;
  for (const std::uint32_t number : shown) pes_.at(number).shown = true;
}

Vcd::Vcd(const std::string& path) : file_(path) {
  const VcdCodes codes = vcd_codes();
  op_codes_ = by_text(codes.op);
  operand_codes_ = by_text(codes.operand);
  file_.write(fmt::format("$comment\n{}\n{}\n{}\n$end\n", describe("op", codes.op),
                          describe("operand", codes.operand), describe("state", codes.state)));
  file_.write("$timescale 1 ps $end\n");
}

void Vcd::declare_pes() {
  declared_ = true;
  sort_by_scope(pes_);
  std::map<std::string, const PeScope*> last_of_memory;  // of those shown
  for (const PeScope& pe : pes_) {
    if (pe.shown) last_of_memory[pe.memory] = &pe;
  }
  std::map<std::string, std::size_t> memories;
  for (const PeScope& pe : pes_) {
    if (!pe.shown) continue;
    declare_pe(pe);
    if (last_of_memory.at(pe.memory) != &pe) continue;
    memories[pe.memory] = memories_.size();
    memories_.push_back(declare_memory(pe));
  }
  for (const PeScope& pe : pes_) {
    const auto found = memories.find(pe.memory);
    if (found != memories.end()) lanes_of(pe).memory = found->second;
  }
  go_to_scope({});
  file_.write("$enddefinitions $end\n");
}

Vcd::PeLanes& Vcd::lanes_of(const PeScope& pe) {
  if (pe.number >= lanes_of_pe_.size()) lanes_of_pe_.resize(pe.number + std::size_t{1});
  return lanes_of_pe_[pe.number];
}

void Vcd::declare_pe(const PeScope& pe) {
  go_to_scope(pe.name);
  PeLanes& lanes = lanes_of(pe);
  lanes.first = lanes_.size();
  lanes.read_channels = pe.read_channels;
  lanes.write_channels = pe.write_channels;
  declare_lane(arch::Engine::cpu, 0);
  declare_lane(arch::Engine::scheduler, 0);
  for (std::uint32_t i = 0; i < pe.read_channels; ++i) declare_lane(arch::Engine::dma_rd, i);
  for (std::uint32_t i = 0; i < pe.write_channels; ++i) declare_lane(arch::Engine::dma_wr, i);
  declare_lane(arch::Engine::tcm, 0);
  declare_lane(arch::Engine::gemm, 0);
  declare_lane(arch::Engine::math, 0);
  if (pe.ipcq) declare_lane(arch::Engine::ipcq, 0);
}

Vcd::Memory Vcd::declare_memory(const PeScope& pe) {
  go_to_scope(pe.memory);
  Memory memory;
  memory.reading = declare("reading", kIndexBits, 0);
  memory.writing = declare("writing", kIndexBits, 0);
  return memory;
}

void Vcd::declare_lane(arch::Engine engine, std::uint32_t channel) {
  Lane lane;
  open_scope(engine_name(engine, channel));
  switch (engine) {
    case arch::Engine::cpu:
      lane.busy = declare("busy", 1, 0);
      lane.state = declare("state", 2, 0);
      lane.cmd = declare("cmd", kIndexBits, kUnknown);
      lane.op = declare("op", kCodeBits, kUnknown);
      break;
    case arch::Engine::scheduler:
      lane.blocked = declare("blocked", 1, 0);
      lane.inflight = declare("inflight", kIndexBits, 0);
      lane.cmd = declare("cmd", kIndexBits, kUnknown);
      break;
    case arch::Engine::dma_rd:
    case arch::Engine::dma_wr:
      lane.busy = declare("busy", 1, 0);
      lane.cmd = declare("cmd", kIndexBits, kUnknown);
      lane.op = declare("op", kCodeBits, kUnknown);
      declare_tile(lane);
      lane.operand = declare("operand", kCodeBits, kUnknown);
      lane.addr = declare("addr", kByteBits, kUnknown);
      lane.bytes = declare("bytes", kByteBits, kUnknown);
      break;
    case arch::Engine::ipcq:
      lane.busy = declare("busy", 1, 0);
      lane.cmd = declare("cmd", kIndexBits, kUnknown);
      lane.op = declare("op", kCodeBits, kUnknown);
      lane.tile_m = declare("slot", kIndexBits, kUnknown);
      lane.tile_n = declare("peer", kIndexBits, kUnknown);
      lane.tile_k = declare("channel", kIndexBits, kUnknown);
      lane.bytes = declare("bytes", kByteBits, kUnknown);
      break;
    default:
      lane.busy = declare("busy", 1, 0);
      lane.cmd = declare("cmd", kIndexBits, kUnknown);
      lane.op = declare("op", kCodeBits, kUnknown);
      declare_tile(lane);
  }
  lane.seq = declare("seq", kIndexBits, 0);
  close_scope();
  lanes_.push_back(lane);
}

void Vcd::declare_tile(Lane& lane) {
  open_scope("tile");
  lane.tile_m = declare("m", kIndexBits, kUnknown);
  lane.tile_n = declare("n", kIndexBits, kUnknown);
  lane.tile_k = declare("k", kIndexBits, kUnknown);
  close_scope();
}

Vcd::VariableIndex Vcd::declare(std::string_view name, unsigned width, std::int64_t initial) {
  const VariableIndex index = variables_.size();
  variables_.push_back({identifier(index), width, initial, initial, false});
  const std::string range = width == 1 ? "" : fmt::format(" [{}:0]", width - 1);
  file_.write(
      fmt::format("$var wire {} {} {}{} $end\n", width, variables_.back().code, name, range));
  return index;
}

void Vcd::go_to_scope(std::string_view path) {
  std::vector<std::string_view> wanted;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('.'), path.size());
    wanted.push_back(path.substr(0, end));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  const auto split = std::mismatch(scopes_.begin(), scopes_.end(), wanted.begin(), wanted.end());
  const auto kept = static_cast<std::size_t>(split.first - scopes_.begin());
  while (scopes_.size() > kept) close_scope();
  while (scopes_.size() < wanted.size()) open_scope(wanted[scopes_.size()]);
}

void Vcd::open_scope(std::string_view name) {
  file_.write(fmt::format("$scope module {} $end\n", name));
  scopes_.emplace_back(name);
}

void Vcd::close_scope() {
  file_.write("$upscope $end\n");
  scopes_.pop_back();
}

Vcd::Lane* Vcd::find_lane(std::uint32_t pe, arch::Engine engine, std::uint32_t channel) {
  if (pe >= lanes_of_pe_.size()) return nullptr;  // beyond those that are shown
  const PeLanes& lanes = lanes_of_pe_[pe];
  if (lanes.first == kNone) return nullptr;
  assert(channel < (engine == arch::Engine::dma_rd   ? lanes.read_channels
                    : engine == arch::Engine::dma_wr ? lanes.write_channels
                                                     : 1));
  std::size_t offset = static_cast<std::size_t>(engine);
  if (engine > arch::Engine::dma_rd) offset += lanes.read_channels - std::size_t{1};
  if (engine > arch::Engine::dma_wr) offset += lanes.write_channels - std::size_t{1};
  return &lanes_.at(lanes.first + offset + channel);
}

void Vcd::record(const StageRecord& record) {
  advance(record.start);
  if (Lane* lane = find_lane(record.pe, record.engine, record.channel)) {
    start_stage(*lane, record);
    ends_.push({record.end, static_cast<std::size_t>(lane - lanes_.data()), kNone});
  }
  const bool reads = record.stage == arch::StageKind::dma_read;
  if (reads || record.stage == arch::StageKind::dma_write) {
    if (record.pe >= lanes_of_pe_.size()) return;
    const std::size_t memory = lanes_of_pe_[record.pe].memory;
    if (memory == kNone) return;
    const VariableIndex counter = reads ? memories_[memory].reading : memories_[memory].writing;
    add(counter, 1);
    ends_.push({record.done, kNone, counter});
  }
}

void Vcd::inflight(const InflightChange& change) {
  advance(change.time);
  if (Lane* lane = find_lane(change.pe, arch::Engine::scheduler, 0)) {
    add(lane->inflight, change.change);
  }
}

void Vcd::finish(Picoseconds end) {
  advance(end);
  write_instant();
  if (written_time_ != end) write_time(end);
  file_.commit();
}

void Vcd::start_stage(Lane& lane, const StageRecord& record) {
  ++lane.running;
  set(lane.busy, is_stall(record.stage) ? 0 : 1);
  set(lane.blocked, 1);
  if (lane.state != kNone) set(lane.state, state_code(record.stage));
  set(lane.cmd, record.cmd);
  set(lane.op, code_of(op_codes_, record.op));
  set(lane.operand, code_of(operand_codes_, record.operand));
  set(lane.addr, record.has_addr ? static_cast<std::int64_t>(record.addr) : kUnknown);
  set(lane.bytes, static_cast<std::int64_t>(record.bytes));
  set(lane.tile_m, record.tile.m);
  set(lane.tile_n, record.tile.n);
  set(lane.tile_k, record.tile.k);
  add(lane.seq, 1);
}

void Vcd::end_stage(Lane& lane) {
  if (--lane.running != 0) return;
  set(lane.busy, 0);
  set(lane.blocked, 0);
  set(lane.state, 0);
}

void Vcd::advance(Picoseconds time) {
  if (!declared_) declare_pes();
  while (!ends_.empty() && ends_.top().time <= time) {
    const PendingEnd end = ends_.top();
    ends_.pop();
    move_to(end.time);
    if (end.lane != kNone) {
      end_stage(lanes_[end.lane]);
    } else {
      add(end.counter, -1);
    }
  }
  move_to(time);
}

void Vcd::move_to(Picoseconds time) {
  if (time == now_) return;
  write_instant();
  now_ = time;
}

void Vcd::write_instant() {
  // A defined order that does not depend on the order of the changes in the instant.
  std::sort(touched_.begin(), touched_.end());
  if (!initial_written_) {
    initial_written_ = true;
    file_.write("#0\n$dumpvars\n");
    for (Variable& variable : variables_) write_value(variable);
    file_.write("$end\n");
  }
  for (VariableIndex index : touched_) {
    Variable& variable = variables_[index];
    variable.touched = false;
    if (variable.value == variable.written) continue;
    if (written_time_ != now_) write_time(now_);
    write_value(variable);
  }
  touched_.clear();
}

void Vcd::write_time(Picoseconds time) {
  file_.put('#');
  file_.write_decimal(time);
  file_.put('\n');
  written_time_ = time;
}

void Vcd::write_value(Variable& variable) {
  variable.written = variable.value;
  if (variable.width > 1) file_.put('b');
  if (variable.value == kUnknown) {
    file_.put('x');
  } else {
    const auto value = static_cast<std::uint64_t>(variable.value);
    unsigned digits = 1;  // leading zeros are left out
    while (digits < variable.width && value >> digits != 0) ++digits;
    while (digits-- != 0) file_.put((value >> digits & 1) != 0 ? '1' : '0');
  }
  if (variable.width > 1) file_.put(' ');
  file_.write(variable.code);
  file_.put('\n');
}

void Vcd::set(VariableIndex variable, std::int64_t value) {
  if (variable == kNone) return;
  Variable& target = variables_[variable];
  target.value = value;
  if (!target.touched) touched_.push_back(variable);
  target.touched = true;
}

void Vcd::add(VariableIndex variable, std::int64_t change) {
  set(variable, variables_[variable].value + change);
}

}  // namespace kernbench::record
