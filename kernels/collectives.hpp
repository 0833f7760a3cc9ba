// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "kernels/kernel.hpp"

namespace kernbench::kernels {

// Collectives over send and recv (channel 0). All members of a team call the same collectives in
// the same order. Tensors must be in TCM, of shape (n,) or (1, n); anything else is an InputError.

/// Programs of a launch that work together.
struct Team {
  std::vector<Index> programs;  ///< by place
  Index place = 0;              ///< this program's

  Index size() const { return static_cast<Index>(programs.size()); }
  /// The program at place `other`, modulo the size: -1 is the last place.
  Index program(Index other) const {
    return programs[static_cast<std::size_t>((other + size()) % size())];
  }
};
/// All programs of the launch.
Team everyone(const tl::Context& tl);

/// The places with which a member of a tree communicates. Place 0 is the root.
struct TreeLinks {
  std::optional<Index> parent;
  std::vector<Index> children;  ///< the one with the smallest subtree first
};
/// Step s = 1, 2, 4, ..: place i with i % 2s == s is a child of i - s.
TreeLinks binomial_tree(const Team& team);
/// Place i + 1 is the only child of i.
TreeLinks chain(const Team& team);

/// Default for the largest number of entries in a message: two slots of f32 at the default keys.
inline constexpr Index kMessageEntries = 4096;

/// x becomes the sum of the members' x. N chunks go around the ring: N - 1 steps add, and N - 1
/// more distribute the sums. Chunks differ in size by at most one entry and are cut into messages
/// of at most `message` entries; an empty chunk is not sent. Entry e of chunk k is ((x_k + x_(k+1))
/// + ..) + x_(k-1), with places modulo N and each sum rounded to the dtype of x. So every member
/// has the same bits.
void all_reduce_ring(tl::Context& tl, const Team& team, const tl::Tensor& x,
                     Index message = kMessageEntries);
/// The same by a binomial tree: sums go up to place 0, and the result goes down. Messages are whole
/// tensors.
void all_reduce_tree(tl::Context& tl, const Team& team, const tl::Tensor& x);
/// Chunk k of x, cut as in all_reduce_ring, goes from place k to all places.
void all_gather_ring(tl::Context& tl, const Team& team, const tl::Tensor& x,
                     Index message = kMessageEntries);
/// x of place 0 goes to all places, down a binomial tree.
void broadcast(tl::Context& tl, const Team& team, const tl::Tensor& x);
/// Chunk k of x goes from place k to place 0, up a binomial tree: a member passes on its own chunk
/// and those of its subtree. post_gather issues the receives; call it before the member's own chunk
/// is ready.
void post_gather(tl::Context& tl, const Team& team, const tl::Tensor& x);
void gather(tl::Context& tl, const Team& team, const tl::Tensor& x);
/// Chunk k of x goes from place 0 to place k, down a binomial tree.
void scatter(tl::Context& tl, const Team& team, const tl::Tensor& x);

/// x [programs, n]: each program has a row, and gets the sum of all rows.
Kernel all_reduce();
/// x [programs, n]: each program has a row, and gets all rows one after the other.
Kernel all_gather();

}  // namespace kernbench::kernels
