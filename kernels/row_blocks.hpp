// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kernels/kernel.hpp"
#include "kernels/shapes.hpp"

namespace kernbench::kernels {

/// A matrix worked on in blocks of whole rows: what softmax, rmsnorm and layernorm have in common.
struct RowBlocks {
  /// How the MATH ops of a block are submitted: as one composite; as one simple command each; or as
  /// one composite that reads its block of x itself (R5.5).
  enum class Variant : std::uint8_t { fused, split, streamed };

  Index rows, cols, block;  // block <= rows
  Variant variant;

  Index count() const { return ceil_div(rows, block); }
  /// Rows of block j: the last one has its true size.
  Index length(Index j) const { return j + 1 < count() ? block : rows - j * block; }
};

/// Declares the parameters rows, cols, block and variant=fused|split|streamed.
std::vector<Parameter> row_block_parameters();
/// Throws InputError if the variant is streamed and the target's MATH heads do not stream. `kernel`
/// begins the message.
RowBlocks row_blocks_of(const std::string& kernel, const Parameters& parameters,
                        const tl::Target& target);

/// A MATH op on a block, operands and scalars by the names of the op table.
struct RowStep {
  std::string op;
  tl::Arguments arguments;
  tl::Tensor out;
};
/// What makes the rows y of the result of the rows x.
using RowSteps = std::function<std::vector<RowStep>(const tl::Tensor& x, const tl::Tensor& y)>;

/// The region `loop` (R13.1): block after block of `src` is loaded, taken through the steps and
/// stored to `dst`. The load of the next block goes before a block's commands, the store of the
/// last one after them: a store waits for its block (R6.11), and while it does the kernel issues
/// nothing. So three blocks are in hand at a time: one being loaded, one computed, one stored.
/// Streamed there are no loads: op 0 of a block's composite copies its rows of `src` into TCM.
void stream_rows(tl::Context& tl, const RowBlocks& p, const tl::Tensor& src, const tl::Tensor& dst,
                 const RowSteps& steps);

}  // namespace kernbench::kernels
