// SPDX-License-Identifier: Apache-2.0
#include "kernels/row_blocks.hpp"

#include <algorithm>

namespace kernbench::kernels {

std::vector<Parameter> row_block_parameters() {
  return {{"rows", "64", "rows of x", 1, Index{1} << 32},
          {"cols", "512", "entries of a row", 1, Index{1} << 24},
          {"block", "8", "rows computed at a time", 1, 65536},
          {"variant",
           "fused",
           "a block as one MATH composite, or as simple commands",
           0,
           0,
           {"fused", "simple"}}};
}

RowBlocks row_blocks_of(const Parameters& parameters) {
  const Index rows = parameters.integer("rows");
  return {rows, parameters.integer("cols"), std::min(rows, parameters.integer("block")),
          parameters.choice("variant") == "fused"};
}

TensorSpec row_block_tensor(const RowBlocks& p, const char* name, Direction direction) {
  return {name, {p.rows, p.cols}, {p.rows, p.cols}, tl::f16, direction};
}

void stream_rows(tl::Context& tl, const RowBlocks& p, const tl::Tensor& src, const tl::Tensor& dst,
                 const std::function<void(const tl::Tensor& x, const tl::Tensor& y)>& body) {
  const auto x = tl.ring<3>({p.block, p.cols}, tl::f16);
  const auto y = tl.ring<3>({p.block, p.cols}, tl::f16);
  const auto slot = [&](const tl::Ring<3>& ring, Index j) {
    return ring[j].first({p.length(j), p.cols});
  };
  const auto rows = [&](const tl::Tensor& matrix, Index j) {
    return matrix.rows(j * p.block, p.length(j));
  };
  auto loop = tl.region("loop");
  tl.load(rows(src, 0), slot(x, 0));
  for (Index j = 0; j < p.count(); ++j) {
    if (j + 1 < p.count()) tl.load(rows(src, j + 1), slot(x, j + 1));
    body(slot(x, j), slot(y, j));
    if (j > 0) tl.store(rows(dst, j - 1), slot(y, j - 1));
  }
  tl.store(rows(dst, p.count() - 1), slot(y, p.count() - 1));
}

}  // namespace kernbench::kernels
