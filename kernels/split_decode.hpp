// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "kernels/collectives.hpp"
#include "kernels/flash_attention.hpp"
#include "kernels/shapes.hpp"

namespace kernbench::kernels {

// Attention of a KV head by several programs, each with a part of its tokens: who they are, and
// how their states become one.

/// Programs in groups of c cubes with p PEs each; program = group * c * p + place.
struct Groups {
  Index count = 1;
  Index c = 1, p = 1;

  Index members() const { return c * p; }
  Index programs() const { return count * members(); }
  /// The group of a program.
  Team team(Index program) const;
  /// Of each program. Groups fill SIPs first, then the cubes of a SIP, then the PEs of a cube.
  std::vector<std::uint32_t> pes(const tl::Target& target) const;
};

/// `count` tiles from tile `first` on.
struct Tiles {
  Index first = 0, count = 0;
};

/// The tiles of a cache over the members of a group: whole ones, ceil(tiles / members) each, in the
/// order of the places. The last place that has any may have fewer; those behind it have none, and
/// issue nothing for the cache (R4.9).
struct TileSplit {
  Index tiles, members;

  Index each() const { return ceil_div(tiles, members); }
  Tiles of(Index place) const;
  /// Of a group, the members that have any, which are the first ones; there is at least one tile.
  Team takers(Team group) const;
};

/// How many groups of c cubes with p PEs the machine holds.
Index groups_on(const tl::Target& target, Index c, Index p);
/// Throws InputError, which begins with the kernel's name, unless a SIP has c cubes and a cube p
/// PEs.
void check_group(std::string_view kernel, Index c, Index p, const tl::Target& target);

/// The states of the member's children, (rows,), (rows,) and (rows, d) in f32 in the open scope.
/// All receives are posted before the first merge, which holds the queue until its parts have
/// come. They come after the loop: their bytes were its scratch.
std::vector<FlashState> receive_states(tl::Context& tl, const Team& team, const TreeLinks& links,
                                       Index rows, Index d);
/// `state` becomes that of the member and all below it, and goes to the parent: of the root, it is
/// the state of all. In f32.
///
/// A state is three messages, as m and l are vectors (rows,), which no view of a matrix is. O goes
/// first: it takes the longest on the way, while m and l are dispatched.
void merge_states(tl::Context& tl, const Team& team, const TreeLinks& links,
                  const FlashState& state, const std::vector<FlashState>& parts);

}  // namespace kernbench::kernels
