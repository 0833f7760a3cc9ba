// SPDX-License-Identifier: Apache-2.0
#include "kernels/rmsnorm.hpp"

#include "kernels/error_bound.hpp"
#include "kernels/row_blocks.hpp"
#include "kernels/shapes.hpp"

namespace kernbench::kernels {
namespace {

void run(tl::Context& tl, const RowBlocks& p, const std::vector<tl::Tensor>& bound) {
  const auto gamma = tl.load(bound[1]);
  const auto t = tl.empty({p.block, p.cols}, tl::f32).named("t");  // squares, then x * r
  const auto ss = tl.empty({p.block}, tl::f32).named("ss");
  const auto ms = tl.empty({p.block}, tl::f32).named("ms");
  const auto r = tl.empty({p.block}, tl::f32).named("r");
  const double one_over_cols = 1 / static_cast<double>(p.cols);
  tl.wait({gamma});
  stream_rows(tl, p, bound[0], bound[2], [&](const tl::Tensor& x, const tl::Tensor& y) {
    const Index rows = x.shape().rows();
    const auto t_j = t.first({rows, p.cols});
    const auto ss_j = ss.first({rows}), ms_j = ms.first({rows}), r_j = r.first({rows});
    return std::vector<RowStep>{
        {"square", {{"src", x}}, t_j},
        {"rsum", {{"src", t_j}}, ss_j},
        {"scale_add", {{"src", ss_j}, {"a", one_over_cols}, {"b", tl::kNormEps}}, ms_j},
        {"rsqrt", {{"src", ms_j}}, r_j},
        {"mul_bcast", {{"src_a", x}, {"src_b", r_j}}, t_j},
        {"mul_cols", {{"src_a", t_j}, {"src_b", gamma}}, y}};
  });
}

Instance make(const Parameters& parameters, const tl::Target& target) {
  const RowBlocks p = row_blocks_of("rmsnorm", parameters, target);
  Instance instance;
  instance.tensors = {matrix("x", p.rows, p.cols, Direction::in), vector("gamma", p.cols),
                      matrix("out", p.rows, p.cols, Direction::out)};
  instance.body = [p](tl::Context& tl, const std::vector<tl::Tensor>& bound) { run(tl, p, bound); };
  instance.reference = [p](const HostTensors& inputs) {
    return checked("out", normalized(exact(inputs.at("x")),
                                     {p.rows, p.cols, inputs.at("gamma"), nullptr, false}));
  };
  instance.tiles = static_cast<std::uint64_t>(p.count());
  return instance;
}

}  // namespace

Kernel rmsnorm() {
  Kernel kernel;
  kernel.name = "rmsnorm";
  kernel.summary = "root-mean-square norm of the rows of a matrix, in blocks of rows";
  kernel.parameters = row_block_parameters();
  kernel.make = make;
  return kernel;
}

}  // namespace kernbench::kernels
