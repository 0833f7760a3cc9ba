// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "kernels/collectives.hpp"
#include "kernels/flash_attention.hpp"
#include "kernels/shapes.hpp"

namespace kernbench::kernels {

// Attention of a KV head by several programs, each with a part of its tokens: how programs form
// groups, and how their states are merged.

/// Programs in groups of c cubes with p PEs each; program = group * c * p + place.
struct Groups {
  Index count = 1;
  Index c = 1, p = 1;

  Index members() const { return c * p; }
  Index programs() const { return count * members(); }
  /// The group of a program.
  Team team(Index program) const;
  /// The PE of each program. Groups fill SIPs first, then the cubes of a SIP, then the PEs of a
  /// cube.
  std::vector<std::uint32_t> pes(const tl::Target& target) const;
};

/// `count` tiles from tile `first` on.
struct Tiles {
  Index first = 0, count = 0;
};

/// The distribution of a cache's tiles over the members of a group: ceil(tiles / members) whole
/// tiles each, in the order of the places. The last place that has tiles may have fewer; later
/// places have none and issue nothing for the cache (R4.9).
struct TileSplit {
  Index tiles, members;

  Index each() const { return ceil_div(tiles, members); }
  Tiles of(Index place) const;
  /// The members of a group that have tiles, which are its first members; there is at least one
  /// tile.
  Team takers(Team group) const;
};

/// How many groups of c cubes with p PEs the machine holds.
Index groups_on(const tl::Target& target, Index c, Index p);
/// Throws InputError, whose message begins with the kernel's name, unless a SIP has at least c
/// cubes and a cube at least p PEs.
void check_group(std::string_view kernel, Index c, Index p, const tl::Target& target);

/// The states of the member's children, (rows,), (rows,) and (rows, d) in f32 in the open scope.
/// All receives are posted before the first merge, which blocks the queue until its parts have
/// arrived. They are posted after the loop, since their bytes were its scratch.
std::vector<FlashState> receive_states(tl::Context& tl, const Team& team, const TreeLinks& links,
                                       Index rows, Index d);
/// Merges into `state` the states of the member's subtree, and sends it to the parent. At the root
/// it becomes the state of all members. In f32.
///
/// A state is three messages, because m and l are vectors (rows,), which cannot be views of a
/// matrix. O is sent first: it takes the longest, and m and l are dispatched meanwhile.
void merge_states(tl::Context& tl, const Team& team, const TreeLinks& links,
                  const FlashState& state, const std::vector<FlashState>& parts);

}  // namespace kernbench::kernels
