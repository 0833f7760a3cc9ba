// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kernbench {

/// A named span of the kernels: from the start of the first dispatch inside to the end of the last
/// stage of its commands. If it is entered again, it reaches from the first start to the last end
/// (R13.1).
struct Region {
  std::string name;
  bool entered = false;  ///< a dispatch has started inside
  std::uint64_t start_ps = 0;
  std::uint64_t end_ps = 0;
  std::uint64_t entries = 0;   ///< times the region was entered and dispatched a command; a nested
                               ///< entry of the same region does not count
  std::uint64_t total_ps = 0;  ///< sum of their spans, which may overlap
  std::uint64_t commands = 0;
  std::uint64_t segments = 0;  ///< with `logical_bytes`: dispatch cycles, unrounded
  std::uint64_t logical_bytes = 0;
};

/// The regions of one PE's kernels, at most 64. A set of regions is a bit mask, with bit i for
/// regions()[i].
class RegionTracker {
 public:
  /// A command and its dispatch.
  struct Dispatch {
    std::uint64_t command = 0;  ///< its number; numbers must ascend
    std::uint64_t start_ps = 0;
    std::uint64_t end_ps = 0;
    std::uint64_t segments = 0;
    std::uint64_t logical_bytes = 0;
  };

  /// True if begin() would accept the name.
  bool takes(std::string_view name) const;
  /// Throws InputError for the 65th name. A region may be nested in itself.
  void begin(std::string_view name);
  void end(std::string_view name);

  /// A dispatch starts in the regions of `set`.
  void enter(std::uint64_t set, const Dispatch& dispatch);
  /// A command that was dispatched in the regions of `set` is done.
  void leave(std::uint64_t set, std::uint64_t command, std::uint64_t now_ps);

  /// Regions that have begun and not ended.
  std::uint64_t open() const { return open_; }
  /// The open regions in which a dispatch has started since they began.
  std::uint64_t entered() const { return open_ & ~awaits_dispatch_; }
  const std::vector<Region>& regions() const { return regions_; }

 private:
  /// One entry into a region, from its outermost begin() to the matching end(). It is tracked until
  /// its commands are done.
  struct Entry {
    std::uint64_t first_command;
    std::uint64_t end_ps;         // so far
    std::uint64_t open_commands;  // dispatched and not done
  };
  struct Progress {
    std::uint32_t depth = 0;     // nesting depth
    std::vector<Entry> entries;  // in order; the last is the current one
  };

  std::vector<Region>::iterator find(std::string_view name);

  std::vector<Region> regions_;
  std::vector<Progress> progress_;  // of the region of the same index
  std::uint64_t open_ = 0;
  std::uint64_t awaits_dispatch_ = 0;  // the next dispatch is the first of an entry
};

}  // namespace kernbench
