// SPDX-License-Identifier: Apache-2.0
#include "kernels/softmax.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/error_bound.hpp"
#include "kernels/row_blocks.hpp"
#include "kernels/shapes.hpp"

namespace kernbench::kernels {
namespace {

void run(tl::Context& tl, const RowBlocks& p, const std::vector<tl::Tensor>& bound) {
  const auto m = tl.empty({p.block}, tl::f32).named("m");
  const auto l = tl.empty({p.block}, tl::f32).named("l");
  const auto e = tl.empty({p.block, p.cols}, tl::f32).named("e");
  stream_rows(tl, p, bound[0], bound[1], [&](const tl::Tensor& x, const tl::Tensor& y) {
    const Index rows = x.shape().rows();
    const auto m_j = m.first({rows}), l_j = l.first({rows}), e_j = e.first({rows, p.cols});
    return std::vector<RowStep>{{"rmax", {{"src", x}}, m_j},
                                {"exp_diff", {{"src_a", x}, {"src_b", m_j}}, e_j},
                                {"rsum", {{"src", e_j}}, l_j},
                                {"div_bcast", {{"src_a", e_j}, {"src_b", l_j}}, y}};
  });
}

/// One row; `out` and `error` have room for it.
void softmax_row(const double* x, std::size_t cols, double* out, double* error) {
  const double largest = *std::max_element(x, x + cols);
  if (largest == -std::numeric_limits<double>::infinity()) return;  // stays 0 (R8.2)
  double sum = 0;
  for (std::size_t i = 0; i < cols; ++i) sum += std::exp(x[i] - largest);
  for (std::size_t i = 0; i < cols; ++i) {
    out[i] = std::exp(x[i] - largest) / sum;
    if (out[i] == 0) continue;  // also for x = -inf
    // Roundings to f32: of the difference, whose error is an error of the exponent; of exp; of the
    // sum of cols terms, each with the error of its own exponent (on average at most ln(cols)); and
    // of the division.
    const auto n = static_cast<double>(cols);
    const double roundings = (largest - x[i]) + n + std::log(n) + 5;
    error[i] = kRoundF32 * roundings * out[i];
  }
}

Reference reference(const RowBlocks& p, const HostTensors& inputs) {
  const std::vector<double>& x = inputs.at("x");
  Bounded out = exact(std::vector<double>(x.size(), 0));
  const auto cols = static_cast<std::size_t>(p.cols);
  for (std::size_t first = 0; first < x.size(); first += cols) {
    softmax_row(&x[first], cols, &out.value[first], &out.error[first]);
  }
  return checked("out", stored_in_f16(std::move(out)));
}

Instance make(const Parameters& parameters, const tl::Target& target) {
  const RowBlocks p = row_blocks_of("softmax", parameters, target);
  Instance instance;
  instance.tensors = {matrix("x", p.rows, p.cols, Direction::in),
                      matrix("out", p.rows, p.cols, Direction::out)};
  instance.tensors[0].domain = Domain::masked;
  instance.body = [p](tl::Context& tl, const std::vector<tl::Tensor>& bound) { run(tl, p, bound); };
  instance.reference = [p](const HostTensors& inputs) { return reference(p, inputs); };
  instance.tiles = static_cast<std::uint64_t>(p.count());
  return instance;
}

}  // namespace

Kernel softmax() {
  Kernel kernel;
  kernel.name = "softmax";
  kernel.summary = "softmax of the rows of a matrix, in blocks of rows";
  kernel.parameters = row_block_parameters();
  kernel.make = make;
  return kernel;
}

}  // namespace kernbench::kernels
