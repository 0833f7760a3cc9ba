// SPDX-License-Identifier: Apache-2.0
#include "kernels/linear_gelu_norm.hpp"

#include "kernels/error_bound.hpp"
#include "kernels/shapes.hpp"

namespace kernbench::kernels {
namespace {

struct LinearNorm {
  Index m, k, n;
  bool fused;
};

/// The layer norm of y in place as ten simple commands, with the roundings of the recipe:
/// statistics and squares in f32, y in f16.
void layernorm_in_place(tl::Context& tl, const LinearNorm& p, const tl::Tensor& y,
                        const tl::Tensor& gamma, const tl::Tensor& beta) {
  const double one_over_n = 1 / static_cast<double>(p.n);
  const auto mean = tl.scale_add(tl.rsum(y, tl::f32), one_over_n, 0);
  tl.sub_bcast(y, mean, y);
  const auto squares = tl.rsum(tl.square(y, tl::f32));
  const auto r = tl.rsqrt(tl.scale_add(squares, one_over_n, tl::kNormEps));
  tl.mul_bcast(y, r, y);
  tl.mul_cols(y, gamma, y);
  tl.add_cols(y, beta, y);
}

void run(tl::Context& tl, const LinearNorm& p, const std::vector<tl::Tensor>& bound) {
  const auto x = tl.load(bound[0]);
  const auto& w = bound[1];  // streams
  const auto bias = tl.load(bound[2]), gamma = tl.load(bound[3]), beta = tl.load(bound[4]);
  // The norm rewrites y after the tile loop, so y is in TCM (R4.9) and is stored at the end.
  const auto y = tl.empty({p.m, p.n}, tl::f16).named("y");
  tl.wait({x, bias, gamma, beta});
  {
    auto loop = tl.region("loop");
    if (p.fused) {
      tl.composite(tl::gemm(x, w).out(y).epilogue(tl::linear_gelu_norm(bias, gamma, beta)));
    } else {
      tl.composite(tl::gemm(x, w).out(y).epilogue(tl::bias(bias)).epilogue(tl::gelu()));
      layernorm_in_place(tl, p, y, gamma, beta);
    }
  }
  tl.store(bound[5], y);
}

Reference reference(const LinearNorm& p, const HostTensors& inputs) {
  Bounded y = product(exact(inputs.at("x")), inputs.at("w"), p.m, p.k, p.n);
  y = stored_in_f16(gelu(biased(std::move(y), inputs.at("bias"))));
  return checked("out", normalized(y, {p.m, p.n, inputs.at("gamma"), &inputs.at("beta"), true}));
}

Instance make(const Parameters& parameters, const tl::Target& target) {
  const LinearNorm p{parameters.integer("m"), parameters.integer("k"), parameters.integer("n"),
                     parameters.choice("variant") == "fused"};
  Instance instance;
  instance.tensors = {matrix("x", p.m, p.k, Direction::in),
                      matrix("w", p.k, p.n, Direction::in),
                      vector("bias", p.n),
                      vector("gamma", p.n),
                      vector("beta", p.n),
                      matrix("out", p.m, p.n, Direction::out)};
  instance.body = [p](tl::Context& tl, const std::vector<tl::Tensor>& bound) { run(tl, p, bound); };
  instance.reference = [p](const HostTensors& inputs) { return reference(p, inputs); };
  instance.tiles = gemm_tiles(target, p.m, p.k, p.n);
  return instance;
}

}  // namespace

Kernel linear_gelu_norm() {
  Kernel kernel;
  kernel.name = "linear_gelu_norm";
  kernel.summary = "x times streamed weights, bias, gelu, then the layer norm of the rows";
  kernel.parameters = {
      choice("variant", "fused", "one composite, or the norm as ten simple commands after the gemm",
             {"fused", "split"}),
      integer("m", 8, "rows of x and out", 1, kMaxDim),
      integer("k", 256, "columns of x, rows of w", 1, kMaxDim),
      integer("n", 256, "columns of w and out: the row that is normalized", 1, kMaxDim),
  };
  kernel.make = make;
  return kernel;
}

}  // namespace kernbench::kernels
