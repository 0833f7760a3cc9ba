// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/kernel.hpp"

namespace kernbench::kernels {

/// Flash-decode attention of grouped query heads over a K/V cache (R8.4, R13.1 to R13.4), in the
/// three ways to submit it that are compared: opt1, opt2, opt3. They compute bit-equal results.
/// A batch of sequences runs one after the other; one without tokens gives zeros. The cache is
/// contiguous, or a pool of blocks of one tile behind a block table.
/// A group of c cubes with p PEs each works on one KV head: whole tiles, then a merge of the
/// partial states into its first program. Heads go over as many groups as the machine holds.
/// Observed: m, l (rows,) and O (rows, d) of each KV head of each sequence that has tokens, group
/// after group, in each in order.
Kernel gqa_decode();

}  // namespace kernbench::kernels
