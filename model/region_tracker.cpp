// SPDX-License-Identifier: Apache-2.0
#include "model/region_tracker.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tlm_if/command/error.hpp"
#include "tlm_if/command/limits.hpp"

namespace kernbench {
namespace {

constexpr std::uint64_t bit(std::size_t region) { return std::uint64_t{1} << region; }

}  // namespace

bool RegionTracker::takes(std::string_view name) const {
  return regions_.size() < command::kMaxRegions ||
         std::any_of(regions_.begin(), regions_.end(),
                     [&](const Region& region) { return region.name == name; });
}

std::vector<Region>::iterator RegionTracker::find(std::string_view name) {
  return std::find_if(regions_.begin(), regions_.end(),
                      [&](const Region& region) { return region.name == name; });
}

void RegionTracker::begin(std::string_view name) {
  auto region = find(name);
  if (region == regions_.end()) {
    if (regions_.size() == command::kMaxRegions) {
      throw InputError(
          fmt::format("region '{}' is one more than the {} that a kernel may name; "
                      "reuse names for repeated phases",
                      name, command::kMaxRegions));
    }
    region = regions_.insert(regions_.end(), Region{});
    region->name = name;
    progress_.emplace_back();
  }
  const auto index = static_cast<std::size_t>(region - regions_.begin());
  if (progress_[index].depth++ == 0) awaits_dispatch_ |= bit(index);
  open_ |= bit(index);
}

void RegionTracker::end(std::string_view name) {
  const auto region = find(name);
  if (region == regions_.end()) return;
  const auto index = static_cast<std::size_t>(region - regions_.begin());
  Progress& progress = progress_[index];
  if (progress.depth > 0 && --progress.depth == 0) open_ &= ~bit(index);
}

void RegionTracker::enter(std::uint64_t set, const Dispatch& dispatch) {
  for (std::size_t i = 0; i < regions_.size(); ++i) {
    if ((set & bit(i)) == 0) continue;
    Region& region = regions_[i];
    if (!region.entered) region.start_ps = dispatch.start_ps;
    region.entered = true;
    region.end_ps = std::max(region.end_ps, dispatch.end_ps);
    ++region.commands;
    region.segments += dispatch.segments;
    region.logical_bytes += dispatch.logical_bytes;
    std::vector<Entry>& entries = progress_[i].entries;
    if ((awaits_dispatch_ & bit(i)) != 0) {
      awaits_dispatch_ &= ~bit(i);
      ++region.entries;
      // Earlier entries are tracked until their last command is done.
      const auto ended = [](const Entry& entry) { return entry.open_commands == 0; };
      entries.erase(std::remove_if(entries.begin(), entries.end(), ended), entries.end());
      entries.push_back({dispatch.command, dispatch.start_ps, 0});
    }
    Entry& entry = entries.back();
    ++entry.open_commands;
    if (dispatch.end_ps > entry.end_ps) {
      region.total_ps += dispatch.end_ps - entry.end_ps;
      entry.end_ps = dispatch.end_ps;
    }
  }
}

void RegionTracker::leave(std::uint64_t set, std::uint64_t command, std::uint64_t now_ps) {
  for (std::size_t i = 0; i < regions_.size(); ++i) {
    if ((set & bit(i)) == 0) continue;
    Region& region = regions_[i];
    region.end_ps = std::max(region.end_ps, now_ps);
    auto entry = progress_[i].entries.end() - 1;
    while (entry->first_command > command) --entry;
    --entry->open_commands;
    if (now_ps > entry->end_ps) {
      region.total_ps += now_ps - entry->end_ps;
      entry->end_ps = now_ps;
    }
  }
}

}  // namespace kernbench
