// SPDX-License-Identifier: Apache-2.0
#include "kernels/row_blocks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/shapes.hpp"
#include "tlm_if/command/error.hpp"

namespace kernbench::kernels {
namespace {

using Variant = RowBlocks::Variant;

tl::MathBuilder in_order(const std::vector<RowStep>& steps) {
  tl::MathBuilder ops = tl::math(steps.front().op, steps.front().arguments);
  ops.out(steps.front().out);
  for (std::size_t i = 1; i < steps.size(); ++i) {
    ops.then(steps[i].op, steps[i].arguments).out(steps[i].out);
  }
  return ops;
}

}  // namespace

std::vector<Parameter> row_block_parameters() {
  return {
      integer("rows", 64, "rows of x", 1, Index{1} << 32),
      integer("cols", 512, "entries of a row", 1, kMaxDim),
      integer("block", 8, "rows computed at a time", 1, 65536),
      choice("variant", "fused",
             "a block as one MATH composite, as simple commands, or as one composite that reads "
             "x itself",
             {"fused", "split", "streamed"})};
}

RowBlocks row_blocks_of(const std::string& kernel, const Parameters& parameters,
                        const tl::Target& target) {
  const Index rows = parameters.integer("rows");
  const std::string& variant = parameters.choice("variant");
  if (variant == "streamed" && !target.math_head_from_hbm) {
    throw InputError(fmt::format(
        "{}: variant=streamed needs pe.scheduler.math_head_from_hbm, which is false; add --set "
        "pe.scheduler.math_head_from_hbm=true, or give variant=fused",
        kernel));
  }
  return {rows, parameters.integer("cols"), std::min(rows, parameters.integer("block")),
          variant == "streamed" ? Variant::streamed
          : variant == "split"  ? Variant::split
                                : Variant::fused};
}

void stream_rows(tl::Context& tl, const RowBlocks& p, const tl::Tensor& src, const tl::Tensor& dst,
                 const RowSteps& steps) {
  const auto x = tl.ring<3>({p.block, p.cols}, tl::f16, "x");
  const auto y = tl.ring<3>({p.block, p.cols}, tl::f16, "y");
  const auto slot = [&](const tl::Ring<3>& ring, Index j) {
    return ring[j].first({p.length(j), p.cols});
  };
  const auto rows = [&](const tl::Tensor& matrix, Index j) {
    return matrix.rows(j * p.block, p.length(j));
  };
  const auto load = [&](Index j) {
    if (j < p.count() && p.variant != Variant::streamed) tl.load(rows(src, j), slot(x, j));
  };
  auto loop = tl.region("loop");
  load(0);
  for (Index j = 0; j < p.count(); ++j) {
    load(j + 1);
    const tl::Tensor x_j = slot(x, j);
    std::vector<RowStep> ops = steps(x_j, slot(y, j));
    if (p.variant == Variant::streamed) {
      ops.insert(ops.begin(), {"copy", {{"src", rows(src, j)}}, x_j});
    }
    if (p.variant == Variant::split) {
      tl.one_by_one(in_order(ops));
    } else {
      tl.composite(in_order(ops));
    }
    if (j > 0) tl.store(rows(dst, j - 1), slot(y, j - 1));
  }
  tl.store(rows(dst, p.count() - 1), slot(y, p.count() - 1));
}

}  // namespace kernbench::kernels
