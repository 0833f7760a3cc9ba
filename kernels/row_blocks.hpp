// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "kernels/kernel.hpp"

namespace kernbench::kernels {

/// A matrix worked on in blocks of whole rows: what softmax, rmsnorm and layernorm have in common.
struct RowBlocks {
  Index rows, cols, block;  // block <= rows
  bool fused;

  Index count() const { return (rows + block - 1) / block; }
  /// Rows of block j: the last one has its true size.
  Index length(Index j) const { return j + 1 < count() ? block : rows - j * block; }
};

/// Declares the parameters rows, cols, block and variant=fused|simple.
std::vector<Parameter> row_block_parameters();
RowBlocks row_blocks_of(const Parameters& parameters);

/// The instance's input x and output `out`, both [rows, cols] in f16.
TensorSpec row_block_tensor(const RowBlocks& p, const char* name, Direction direction);

/// The region `loop` (R13.1): block after block of `src` is loaded, given to `body` as x, and what
/// that issues into y is stored to `dst`. The load of the next block goes before a block's
/// commands, the store of the last one after them: a store waits for its block (R6.11), and while
/// it does the kernel issues nothing. So three blocks are in hand at a time: one being loaded, one
/// computed, one stored.
void stream_rows(tl::Context& tl, const RowBlocks& p, const tl::Tensor& src, const tl::Tensor& dst,
                 const std::function<void(const tl::Tensor& x, const tl::Tensor& y)>& body);

}  // namespace kernbench::kernels
