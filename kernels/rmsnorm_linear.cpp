// SPDX-License-Identifier: Apache-2.0
#include "kernels/rmsnorm_linear.hpp"

#include "kernels/error_bound.hpp"
#include "kernels/shapes.hpp"

namespace kernbench::kernels {
namespace {

struct NormLinear {
  Index m, k, n;
  bool fused, out_in_hbm;
};

/// The norm as six simple commands, with the roundings of the recipe: statistics and squares in
/// f32, xn in f16.
tl::Tensor rmsnorm_of(tl::Context& tl, const NormLinear& p, const tl::Tensor& x,
                      const tl::Tensor& gamma, const tl::Tensor& xn) {
  const auto ss = tl.rsum(tl.square(x, tl::f32));
  const auto r = tl.rsqrt(tl.scale_add(ss, 1 / static_cast<double>(p.k), tl::kNormEps));
  return tl.mul_cols(tl.mul_bcast(x, r, xn), gamma, xn);
}

void run(tl::Context& tl, const NormLinear& p, const std::vector<tl::Tensor>& bound) {
  const auto x = tl.load(bound[0]), gamma = tl.load(bound[1]);
  const auto& w = bound[2];  // streams
  const auto out = p.out_in_hbm ? bound[3] : tl.empty({p.m, p.n}, tl::f16).named("out");
  tl.wait({x, gamma});
  {
    auto loop = tl.region("loop");
    if (p.fused) {
      tl.composite(tl::gemm().b(w).out(out).prologue(tl::rmsnorm_linear(x, gamma)));
    } else {
      const auto xn = tl.empty({p.m, p.k}, tl::f16).named("xn");
      tl.composite(tl::gemm(rmsnorm_of(tl, p, x, gamma, xn), w).out(out));
    }
  }
  if (!p.out_in_hbm) tl.observe("out", out);
}

Reference reference(const NormLinear& p, const HostTensors& inputs) {
  const Bounded xn =
      normalized(exact(inputs.at("x")), {p.m, p.k, inputs.at("gamma"), nullptr, true});
  return checked("out", stored_in_f16(product(xn, inputs.at("w"), p.m, p.k, p.n)));
}

Instance make(const Parameters& parameters, const tl::Target& target) {
  const NormLinear p{parameters.integer("m"), parameters.integer("k"), parameters.integer("n"),
                     parameters.choice("variant") == "fused", parameters.choice("out") == "hbm"};
  Instance instance;
  instance.tensors = {matrix("x", p.m, p.k, Direction::in), vector("gamma", p.k),
                      matrix("w", p.k, p.n, Direction::in)};
  if (p.out_in_hbm) instance.tensors.push_back(matrix("out", p.m, p.n, Direction::out));
  instance.body = [p](tl::Context& tl, const std::vector<tl::Tensor>& bound) { run(tl, p, bound); };
  instance.reference = [p](const HostTensors& inputs) { return reference(p, inputs); };
  instance.tiles = gemm_tiles(target, p.m, p.k, p.n);
  return instance;
}

}  // namespace

Kernel rmsnorm_linear() {
  Kernel kernel;
  kernel.name = "rmsnorm_linear";
  kernel.summary = "root-mean-square norm of x, times streamed weights";
  kernel.parameters = {
      choice("variant", "fused",
             "one composite, or the norm as six simple commands before the gemm",
             {"fused", "split"}),
      integer("m", 8, "rows of x and out", 1, kMaxDim),
      integer("k", 256, "columns of x, rows of w", 1, kMaxDim),
      integer("n", 256, "columns of w and out", 1, kMaxDim),
      choice("out", "hbm", "where the result goes", {"tcm", "hbm"}),
  };
  kernel.make = make;
  return kernel;
}

}  // namespace kernbench::kernels
