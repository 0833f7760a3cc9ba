// SPDX-License-Identifier: Apache-2.0
// Queries against an index of vectors, as in retrieval or CLIP: out = scale * (q / |q|) index^T.
// With an index of unit rows that is scale times the cosine. The index streams from HBM.
#include <cmath>

#include "examples/own_recipe/l2norm.hpp"
#include "kernels/error_bound.hpp"
#include "kernels/kernel.hpp"
#include "kernels/shapes.hpp"

namespace tl = kernbench::tl;
using namespace kernbench::kernels;

namespace {

struct Cosine {
  Index m, d, n, scale;
  bool fused;
};

void run(tl::Context& tl, const Cosine& p, const std::vector<tl::Tensor>& bound) {
  const tl::Tensor &index = bound[1], &out = bound[2];  // stay in HBM
  const tl::Tensor q = tl.load(bound[0]);
  const auto scale = tl::scale(static_cast<double>(p.scale));
  tl.wait({q});
  auto loop = tl.region("loop");
  if (p.fused) {
    tl.composite(tl::gemm().b(index.t()).out(out).prologue("l2norm", {{"x", q}}).epilogue(scale));
  } else {
    const auto r = tl.rsqrt(tl.scale_add(tl.rsum(tl.square(q, tl::f32)), 1, kL2NormEps));
    const auto qn = tl.mul_bcast(q, r, tl::f16);
    tl.composite(tl::gemm(qn, index.t()).out(out).epilogue(scale));
  }
}

// What `--data` compares the result with: float64, and for each entry how far the kernel's may be
// from it. 2^-24 and 2^-11 are the errors of one rounding to f32 and f16.
Reference expected(const Cosine& p, const HostTensors& inputs) {
  const auto m = std::size_t(p.m), d = std::size_t(p.d), n = std::size_t(p.n);
  const auto &q = inputs.at("q"), &index = inputs.at("index");
  Bounded qn = exact(q);
  for (std::size_t row = 0; row < m; ++row) {
    double squares = 0;
    for (std::size_t i = 0; i < d; ++i) squares += q[row * d + i] * q[row * d + i];
    const double r = 1 / std::sqrt(squares + kL2NormEps);
    // Of r: half of what the squares, their d sums and scale_add make; two for rsqrt; the product.
    const double roundings = double(d + 2) / 2 + 3;
    for (std::size_t i = row * d; i < (row + 1) * d; ++i) {
      qn.value[i] *= r;
      qn.error[i] = kRoundF32 * roundings * std::abs(qn.value[i]);
    }
  }
  std::vector<double> transposed(d * n);
  for (std::size_t row = 0; row < n; ++row) {
    for (std::size_t i = 0; i < d; ++i) transposed[i * n + row] = index[row * d + i];
  }
  Bounded out = product(stored_in_f16(std::move(qn)), transposed, p.m, p.d, p.n);
  for (std::size_t i = 0; i < m * n; ++i) {
    out.value[i] *= double(p.scale);
    out.error[i] = out.error[i] * double(p.scale) + kRoundF32 * std::abs(out.value[i]);
  }
  return checked("out", stored_in_f16(std::move(out)));
}

Instance make(const Parameters& parameters, const tl::Target& target) {
  const Cosine p{parameters.integer("m"), parameters.integer("d"), parameters.integer("n"),
                 parameters.integer("scale"), parameters.choice("variant") == "fused"};
  Instance instance;
  instance.tensors = {matrix("q", p.m, p.d, Direction::in),
                      matrix("index", p.n, p.d, Direction::in),
                      matrix("out", p.m, p.n, Direction::out)};
  instance.recipes = recipes_with_l2norm();
  instance.body = [p](tl::Context& tl, const std::vector<tl::Tensor>& bound) { run(tl, p, bound); };
  instance.reference = [p](const HostTensors& inputs) { return expected(p, inputs); };
  instance.tiles = gemm_tiles(target, p.m, p.d, p.n);
  return instance;
}

}  // namespace

Kernel cosine_scores() {
  Kernel kernel;
  kernel.name = "cosine_scores";
  kernel.summary = "scores of normalized queries against the rows of an index";
  kernel.parameters = {
      integer("m", 8, "queries", 1, 65536),
      integer("d", 256, "entries of a vector", 1, 65536),
      integer("n", 512, "vectors in the index", 1, kMaxDim),
      integer("scale", 20, "factor of the scores: one over the temperature", 1, 1000),
      choice("variant", "fused",
             "one composite, or the norm as five simple commands before the gemm",
             {"fused", "split"}),
  };
  kernel.make = make;
  return kernel;
}
