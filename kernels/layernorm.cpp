// SPDX-License-Identifier: Apache-2.0
#include "kernels/layernorm.hpp"

#include "kernels/error_bound.hpp"
#include "kernels/row_blocks.hpp"
#include "kernels/shapes.hpp"

namespace kernbench::kernels {
namespace {

void run(tl::Context& tl, const RowBlocks& p, const std::vector<tl::Tensor>& bound) {
  const auto gamma = tl.load(bound[1]), beta = tl.load(bound[2]);
  const auto c = tl.empty({p.block, p.cols}, tl::f32).named("c");  // x - mean, and on to the end
  const auto sq = tl.empty({p.block, p.cols}, tl::f32).named("sq");
  const auto sum = tl.empty({p.block}, tl::f32).named("sum");
  const auto mean = tl.empty({p.block}, tl::f32).named("mean");
  const auto var = tl.empty({p.block}, tl::f32).named("var");
  const auto r = tl.empty({p.block}, tl::f32).named("r");
  const double one_over_cols = 1 / static_cast<double>(p.cols);
  tl.wait({gamma, beta});
  stream_rows(tl, p, bound[0], bound[3], [&](const tl::Tensor& x, const tl::Tensor& y) {
    const Index rows = x.shape().rows();
    const auto c_j = c.first({rows, p.cols}), sq_j = sq.first({rows, p.cols});
    const auto sum_j = sum.first({rows}), mean_j = mean.first({rows});
    const auto var_j = var.first({rows}), r_j = r.first({rows});
    return std::vector<RowStep>{
        {"rsum", {{"src", x}}, sum_j},
        {"scale", {{"src", sum_j}, {"value", one_over_cols}}, mean_j},
        {"sub_bcast", {{"src_a", x}, {"src_b", mean_j}}, c_j},
        {"square", {{"src", c_j}}, sq_j},
        {"rsum", {{"src", sq_j}}, sum_j},
        {"scale_add", {{"src", sum_j}, {"a", one_over_cols}, {"b", tl::kNormEps}}, var_j},
        {"rsqrt", {{"src", var_j}}, r_j},
        {"mul_bcast", {{"src_a", c_j}, {"src_b", r_j}}, c_j},
        {"mul_cols", {{"src_a", c_j}, {"src_b", gamma}}, c_j},
        {"add_cols", {{"src_a", c_j}, {"src_b", beta}}, y}};
  });
}

Instance make(const Parameters& parameters, const tl::Target& target) {
  const RowBlocks p = row_blocks_of("layernorm", parameters, target);
  Instance instance;
  instance.tensors = {matrix("x", p.rows, p.cols, Direction::in), vector("gamma", p.cols),
                      vector("beta", p.cols), matrix("out", p.rows, p.cols, Direction::out)};
  instance.body = [p](tl::Context& tl, const std::vector<tl::Tensor>& bound) { run(tl, p, bound); };
  instance.reference = [p](const HostTensors& inputs) {
    return checked("out", normalized(exact(inputs.at("x")), {p.rows, p.cols, inputs.at("gamma"),
                                                             &inputs.at("beta"), false}));
  };
  instance.tiles = static_cast<std::uint64_t>(p.count());
  return instance;
}

}  // namespace

Kernel layernorm() {
  Kernel kernel;
  kernel.name = "layernorm";
  kernel.summary = "layer norm of the rows of a matrix, in blocks of rows";
  kernel.parameters = row_block_parameters();
  kernel.make = make;
  return kernel;
}

}  // namespace kernbench::kernels
