// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kernels/kernel.hpp"
#include "kernels/shapes.hpp"

namespace kernbench::kernels {

/// A matrix that is processed in blocks of whole rows, as in softmax, rmsnorm and layernorm.
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
/// Throws InputError, whose message begins with `kernel`, if the variant is streamed and the
/// target's MATH heads do not stream.
RowBlocks row_blocks_of(const std::string& kernel, const Parameters& parameters,
                        const tl::Target& target);

/// A MATH op on a block, with operands and scalars under the names of the op table.
struct RowStep {
  std::string op;
  tl::Arguments arguments;
  tl::Tensor out;
};
/// Returns the steps that compute the rows y of the result from the rows x.
using RowSteps = std::function<std::vector<RowStep>(const tl::Tensor& x, const tl::Tensor& y)>;

/// Issues the region `loop` (R13.1): each block of `src` is loaded, processed by the steps and
/// stored to `dst`. The load of the next block is issued before a block's commands, and the store
/// of the previous block after them: a store waits for its block (R6.11), and the kernel issues
/// nothing while it waits. So three blocks are in progress at a time: one is loaded, one computed,
/// one stored. The variant streamed has no loads: op 0 of a block's composite copies its rows of
/// `src` into TCM.
void stream_rows(tl::Context& tl, const RowBlocks& p, const tl::Tensor& src, const tl::Tensor& dst,
                 const RowSteps& steps);

}  // namespace kernbench::kernels
