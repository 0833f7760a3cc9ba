// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/kernel.hpp"
#include "model/arch/config.hpp"

namespace kernbench::test {

/// A kernel of `composites` composites and about as many simple commands, drawn at random: ops,
/// recipes, ready lists, scopes, shapes (with partial tiles), dtypes, spaces, transposed and
/// strided views, outputs on top of inputs, chains through HBM, scratch that is released and used
/// again, composites without data, waits, scalar work. What `tl` refuses is drawn anew. Every TCM
/// tensor that is live at the end is observed.
kernels::Kernel random_kernel(std::uint64_t seed, int composites);

/// Tiles of a few entries, 1 to 4 of every resource, either policy, odd clocks and bandwidths.
arch::TopologyConfig random_topology(std::uint64_t seed);

}  // namespace kernbench::test
