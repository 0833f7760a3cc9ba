// SPDX-License-Identifier: Apache-2.0
#include "model/record/hazards.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "model/arch/plan.hpp"
#include "model/arch/slice_bytes.hpp"
#include "tlm_if/command/access_set.hpp"
#include "tlm_if/command/text.hpp"

namespace kernbench::record {
namespace {

using command::ByteRange;
using Ranges = std::vector<ByteRange>;

constexpr std::size_t kForgetAtLeast = 32;

// Both ascending and disjoint, as are the results of the next two.
Ranges intersection(const Ranges& x, const Ranges& y) {
  Ranges shared;
  auto i = x.begin();
  auto j = y.begin();
  while (i != x.end() && j != y.end()) {
    const ByteRange both{std::max(i->begin, j->begin), std::min(i->end, j->end)};
    if (both.begin < both.end) shared.push_back(both);
    i->end < j->end ? ++i : ++j;
  }
  return shared;
}

/// The bytes of `ranges` that are not in `known`.
Ranges difference(const Ranges& ranges, const Ranges& known) {
  Ranges missing;
  for (const ByteRange& range : ranges) {
    command::Address at = range.begin;
    auto next =
        std::upper_bound(known.begin(), known.end(), at,
                         [](command::Address addr, const ByteRange& k) { return addr < k.end; });
    for (; next != known.end() && next->begin < range.end; ++next) {
      if (at < next->begin) missing.push_back({at, next->begin});
      at = next->end;
    }
    if (at < range.end) missing.push_back({at, range.end});
  }
  return missing;
}

std::uint64_t total(const Ranges& ranges) {
  std::uint64_t bytes = 0;
  for (const ByteRange& range : ranges) bytes += range.size();
  return bytes;
}

bool overlaps_any(const Ranges& ranges, const ByteRange& hull) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const ByteRange& range) { return range.overlaps(hull); });
}

/// `command 1 (composite) op 0 (gemm): store writes out S0 in [480000, 482000) ps`
std::string to_string(const HazardAccess& access) {
  const std::string op =
      access.op.empty() ? "" : fmt::format(" op {} ({})", access.op_index, access.op);
  return fmt::format("command {} ({}){}: {} {} {} in [{}, {}) ps", access.command, access.label, op,
                     arch::to_string(access.stage), access.write ? "writes" : "reads",
                     access.operand, access.start, access.done);
}

std::string to_string(std::uint64_t bytes, const ByteRange& first) {
  return fmt::format("{} bytes, first [{:#x}, {:#x})", bytes, first.begin, first.end);
}

}  // namespace

std::string to_string(const Race& race) {
  return fmt::format("{}, and {} without waiting for it; they share {}; {}",
                     to_string(race.earlier), to_string(race.later),
                     to_string(race.shared_bytes, race.bytes),
                     command::plural(race.stage_pairs, "stage pair"));
}

std::string to_string(const UninitializedRead& read) {
  return fmt::format("{}, of which nothing has written {}; {}", to_string(read.access),
                     to_string(read.missing_bytes, read.bytes),
                     command::plural(read.stages, "stage"));
}

std::vector<std::string> lines_of(const HazardFindings& findings) {
  std::vector<std::string> lines;
  for (const Race& race : findings.races) lines.push_back(to_string(race));
  for (const UninitializedRead& read : findings.uninitialized_reads) {
    lines.push_back(to_string(read));
  }
  return lines;
}

/// A command in flight.
struct HazardChecker::Flight {
  Flight(const command::Command& admitted, ByteRange slot, const arch::GemmConfig& gemm)
      : command(admitted),
        tile_buffers(slot),
        accesses(command::access_set(command)),
        plan(command, gemm),
        prologue_begun(plan.prologue_stages() == 0) {}
  Flight(const Flight&) = delete;
  Flight& operator=(const Flight&) = delete;

  const command::Command command;
  const ByteRange tile_buffers;
  const command::AccessSet accesses;
  const arch::Plan plan;
  bool prologue_begun;
  std::int64_t tiles_begun = 0;  ///< tiles all of whose stages have started, and those before
  std::set<std::int64_t> tiles_ahead;

  /// The stages of a tile start one after the other, so only the last one matters.
  bool ends_tile(const ProgramPlace& place, arch::StageKind kind) const {
    if (!plan.tile(place.tile).last_k) {
      return plan.k_tile_ops() == 0
                 ? kind == arch::StageKind::gemm
                 : kind == arch::StageKind::math && place.position == plan.k_tile_ops() - 1;
    }
    if (plan.writes_back()) return kind == arch::StageKind::dma_write;
    return kind == (plan.streams_head() ? arch::StageKind::math : arch::StageKind::store);
  }
  void begun(const ProgramPlace& place, arch::StageKind kind) {
    if (place.tile < 0) {
      if (place.position == plan.prologue_stages() - 1) prologue_begun = true;
      return;
    }
    if (place.tile >= plan.tiles() || !ends_tile(place, kind)) return;
    tiles_ahead.insert(place.tile);
    while (!tiles_ahead.empty() && *tiles_ahead.begin() == tiles_begun) {
      tiles_ahead.erase(tiles_ahead.begin());
      ++tiles_begun;
    }
  }
  bool all_begun_before(std::int64_t tile) const { return prologue_begun && tile < tiles_begun; }
};

struct HazardChecker::Access {
  command::OperandName operand;
  bool write;
  Ranges bytes;  // never empty
  ByteRange hull;
};

struct HazardChecker::Stage {
  std::shared_ptr<const Flight> flight;
  ProgramPlace place;
  arch::StageKind kind;
  std::int32_t op_index;
  Picoseconds start;
  Picoseconds done = 0;
  Ticket ticket;
  std::vector<Access> accesses;
  /// Later stages that started while this one was running.
  std::vector<Found> overtaken;

  bool may_meet(const Flight& other) const {
    return std::any_of(accesses.begin(), accesses.end(), [&](const Access& access) {
      return overlaps_any(other.accesses.writes, access.hull) ||
             other.tile_buffers.overlaps(access.hull) ||
             (access.write && overlaps_any(other.accesses.reads, access.hull));
    });
  }
};

// A stage that never ended refers to the stages that overtook it, and they refer to it.
HazardChecker::~HazardChecker() {
  for (const std::shared_ptr<Stage>& stage : open_) stage->overtaken.clear();
}

void HazardChecker::admit(std::uint64_t number, const command::Command& command,
                          ByteRange tile_buffers) {
  flights_.emplace(number, std::make_shared<Flight>(command, tile_buffers, gemm_));
}

void HazardChecker::retire(std::uint64_t number) {
  flights_.erase(number);
  forget();
}

HazardChecker::Ticket HazardChecker::begin(const ProgramPlace& place, const arch::StageSpec& spec,
                                           Picoseconds start) {
  const auto admitted = flights_.find(place.command);
  if (admitted == flights_.end()) {
    throw std::logic_error(fmt::format(
        "hazard checker: a stage of command {} starts, which is not in flight", place.command));
  }
  const std::shared_ptr<Flight>& flight = admitted->second;
  flight->begun(place, spec.kind);
  const auto stage = std::make_shared<Stage>();
  stage->flight = flight;
  stage->place = place;
  stage->kind = spec.kind;
  stage->op_index = spec.op_index;
  stage->start = start;
  stage->ticket = next_ticket_++;
  const auto add = [&](const arch::Slice& slice, bool write) {
    Access access{slice.name, write, {}, {}};
    arch::byte_runs(slice, access.bytes);
    access.hull = {access.bytes.front().begin, access.bytes.back().end};
    stage->accesses.push_back(std::move(access));
  };
  for (const arch::Slice& operand : spec.operands) add(operand, false);
  // Bytes for HBM are there after their DMA_WRITE; before that they are not in TCM.
  const bool staged = spec.kind != arch::StageKind::dma_write && spec.out.addr < command::kTcmBase;
  if (spec.has_out && !staged) add(spec.out, true);

  for (const std::shared_ptr<Stage>& other : open_) compare(stage, other);
  for (const std::shared_ptr<Stage>& other : finished_) compare(stage, other);
  check_initialized(stage);
  open_.push_back(stage);
  return stage->ticket;
}

void HazardChecker::end(Ticket ticket, Picoseconds done) {
  const auto found =
      std::find_if(open_.begin(), open_.end(), [&](const auto& s) { return s->ticket == ticket; });
  const std::shared_ptr<Stage> stage = *found;
  open_.erase(found);
  stage->done = done;
  for (const Access& access : stage->accesses) {
    if (!access.write) continue;
    for (const ByteRange& range : access.bytes) command::add_range(initialized_, range);
  }
  for (const Found& overtaken : stage->overtaken) {
    // A foreign memory may answer after the starts of the same instant; that is in time.
    if (stage->done > overtaken.later.stage->start) add_race(overtaken);
  }
  stage->overtaken.clear();
  if (!can_be_inverted(*stage)) return;
  finished_.push_back(stage);
  if (finished_.size() >= forget_at_) forget();
}

// `stage` starts now; `other` is running or done.
void HazardChecker::compare(const std::shared_ptr<Stage>& stage,
                            const std::shared_ptr<Stage>& other) {
  const bool inverted = stage->place < other->place;
  const bool under_way = other->done == 0;
  if (!inverted && !under_way) return;
  for (std::size_t i = 0; i < stage->accesses.size(); ++i) {
    const Access& mine = stage->accesses[i];
    for (std::size_t j = 0; j < other->accesses.size(); ++j) {
      const Access& theirs = other->accesses[j];
      if ((!mine.write && !theirs.write) || !mine.hull.overlaps(theirs.hull)) continue;
      Ranges shared = intersection(mine.bytes, theirs.bytes);
      if (shared.empty()) continue;
      if (inverted) {
        add_race({{stage, i}, {other, j}, std::move(shared), 1});
      } else {
        other->overtaken.push_back({{other, j}, {stage, i}, std::move(shared), 1});
      }
    }
  }
}

void HazardChecker::check_initialized(const std::shared_ptr<Stage>& stage) {
  for (std::size_t i = 0; i < stage->accesses.size(); ++i) {
    if (stage->accesses[i].write) continue;
    Ranges missing = difference(stage->accesses[i].bytes, initialized_);
    if (missing.empty()) continue;
    // Stages start in time order, so the first found is the first.
    const Found found{{stage, i}, {}, std::move(missing), 0};
    ++uninitialized_.emplace(operand_of(found.earlier), found).first->second.count;
  }
}

void HazardChecker::add_race(const Found& found) {
  const auto [known, added] =
      races_.emplace(std::pair(operand_of(found.earlier), operand_of(found.later)), found);
  if (added) return;
  const std::uint64_t count = known->second.count + 1;
  // Completions of one instant come in any order.
  if (is_before(found, known->second)) known->second = found;
  known->second.count = count;
}

bool HazardChecker::is_before(const Found& x, const Found& y) {
  const auto order = [](const Found& found) {
    return std::tie(found.later.stage->start, found.earlier.stage->start, found.later.stage->place,
                    found.earlier.stage->place);
  };
  return order(x) < order(y);
}

/// A stage before it in program order has not started yet and may touch its bytes.
bool HazardChecker::can_be_inverted(const Stage& stage) const {
  for (const auto& [number, flight] : flights_) {
    if (number > stage.place.command) return false;
    if (number == stage.place.command && flight->all_begun_before(stage.place.tile)) return false;
    if (stage.may_meet(*flight)) return true;
  }
  return false;
}

void HazardChecker::forget() {
  const auto gone = [&](const auto& stage) { return !can_be_inverted(*stage); };
  finished_.erase(std::remove_if(finished_.begin(), finished_.end(), gone), finished_.end());
  forget_at_ = std::max(kForgetAtLeast, 2 * finished_.size());
}

// ---- findings -----------------------------------------------------------------------------------

HazardChecker::Operand HazardChecker::operand_of(const Side& side) {
  const Stage& stage = *side.stage;
  const Access& access = stage.accesses[side.access];
  return {stage.place.command, stage.op_index, access.operand, access.write, stage.kind};
}

HazardAccess HazardChecker::describe(const Side& side) {
  const Stage& stage = *side.stage;
  const Access& access = stage.accesses[side.access];
  const command::Command& command = stage.flight->command;
  HazardAccess text;
  text.command = stage.place.command;
  text.label = command::label(command);
  text.op_index = stage.op_index;
  text.stage = stage.kind;
  text.write = access.write;
  text.start = stage.start;
  text.done = stage.done;
  const bool is_out = access.operand == command::OperandName::out;
  const command::TensorHandle* handle = nullptr;
  if (const auto* read = std::get_if<command::DmaReadCmd>(&command)) {
    handle = is_out ? &read->dst : &read->src;
  } else if (const auto* write = std::get_if<command::DmaWriteCmd>(&command)) {
    handle = is_out ? &write->dst : &write->src;
  } else if (const auto* send = std::get_if<command::IpcqSendCmd>(&command)) {
    handle = &send->src;
  } else if (const auto* recv = std::get_if<command::IpcqRecvCmd>(&command)) {
    handle = &recv->dst;
  } else {
    const command::OpSpec& op = command::ops_of(command)[static_cast<std::size_t>(stage.op_index)];
    text.op = command::to_string(op.kind);
    handle = is_out ? &op.out : op.operand(access.operand);
  }
  const bool buffered = stage.flight->tile_buffers.overlaps(access.hull);
  text.operand = fmt::format("{} {}{}", command::to_string(access.operand), handle->label(),
                             buffered ? " in its tile buffer" : "");
  return text;
}

HazardFindings HazardChecker::findings() const {
  HazardFindings findings;
  for (const auto& [operands, found] : races_) {
    findings.races.push_back({describe(found.earlier), describe(found.later), found.bytes.front(),
                              total(found.bytes), found.count});
  }
  for (const auto& [operand, found] : uninitialized_) {
    findings.uninitialized_reads.push_back(
        {describe(found.earlier), found.bytes.front(), total(found.bytes), found.count});
  }
  return findings;
}

}  // namespace kernbench::record
