// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "kernels/kernel.hpp"

namespace kernbench::kernels {

// Collectives over send and recv (channel 0). Every member of a team calls the same ones in the
// same order. Tensors lie in TCM, (n,) or (1, n); anything else is an InputError.

/// Programs of a launch that work together.
struct Team {
  std::vector<Index> programs;  ///< by place
  Index place = 0;              ///< this program's

  Index size() const { return static_cast<Index>(programs.size()); }
  /// Of the member at `other`, counted round: -1 is the last place.
  Index program(Index other) const {
    return programs[static_cast<std::size_t>((other + size()) % size())];
  }
};
/// All programs of the launch.
Team everyone(const tl::Context& tl);

/// Whom a member of a tree talks to, by place. Place 0 is the root.
struct TreeLinks {
  std::optional<Index> parent;
  std::vector<Index> children;  ///< the one with the smallest subtree first
};
/// Step s = 1, 2, 4, ..: place i with i % 2s == s is a child of i - s.
TreeLinks binomial_tree(const Team& team);
/// Place i + 1 is the only child of i.
TreeLinks chain(const Team& team);

/// Entries of a message at most, unless a caller says otherwise: two slots of f32 at the defaults.
inline constexpr Index kMessageEntries = 4096;

/// x becomes the sum of the members' x. N chunks go round: N - 1 steps add, N - 1 more hand out the
/// sums. Chunks differ by at most an entry, are cut into messages of at most `message` entries, and
/// an empty one is not sent. Entry e of chunk k is ((x_k + x_(k+1)) + ..) + x_(k-1), the places
/// counted round, each sum rounded to the dtype of x: the same bits in every member.
void all_reduce_ring(tl::Context& tl, const Team& team, const tl::Tensor& x,
                     Index message = kMessageEntries);
/// The same by a binomial tree: sums go up to place 0, the result down. Whole tensors.
void all_reduce_tree(tl::Context& tl, const Team& team, const tl::Tensor& x);
/// Chunk k of x, as all_reduce_ring cuts it, goes from place k to all.
void all_gather_ring(tl::Context& tl, const Team& team, const tl::Tensor& x,
                     Index message = kMessageEntries);
/// x of place 0 goes to all, down a binomial tree.
void broadcast(tl::Context& tl, const Team& team, const tl::Tensor& x);
/// Chunk k of x goes from place k to place 0, up a binomial tree: a member passes on what it and
/// those below it have. post_gather issues the receives, before the member's own chunk is ready.
void post_gather(tl::Context& tl, const Team& team, const tl::Tensor& x);
void gather(tl::Context& tl, const Team& team, const tl::Tensor& x);
/// Chunk k of x goes from place 0 to place k, down that tree.
void scatter(tl::Context& tl, const Team& team, const tl::Tensor& x);

/// x [programs, n]: each program has a row, and gets the sum of all rows.
Kernel all_reduce();
/// x [programs, n]: each program has a row, and gets all of them, one after the other.
Kernel all_gather();

}  // namespace kernbench::kernels
