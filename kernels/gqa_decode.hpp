// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/kernel.hpp"

namespace kernbench::kernels {

/// Flash-decode attention of grouped query heads over a K/V cache (R8.4, R13.1 to R13.4). The
/// variants opt1, opt2 and opt3 submit it in three ways and give bit-equal results. The sequences
/// of a batch run one after the other; a sequence without tokens gives zeros. The cache is
/// contiguous, or a pool of blocks of one tile with a block table. A group of c cubes with p PEs
/// each computes one KV head: each member has whole tiles, and then the partial states are merged
/// into the group's first program. Heads are distributed over as many groups as the machine holds.
/// Observed values: m, l (rows,) and O (rows, d) of each KV head of each sequence that has tokens,
/// group after group, and in order within a group.
Kernel gqa_decode();

}  // namespace kernbench::kernels
