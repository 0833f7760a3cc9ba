// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm.hpp"

#include <cmath>

#include "kernels/error_bound.hpp"
#include "kernels/shapes.hpp"

namespace kernbench::kernels {
namespace {

struct Gemm {
  Index m, k, n;
  bool load_a, load_b, out_in_hbm;
  bool scale, bias, gelu;  // the epilogue
  bool scale_every_k_tile;
};

Gemm gemm_of(const Parameters& parameters) {
  const std::string& epilogue = parameters.choice("epilogue");
  const bool gelu = epilogue == "bias+gelu";
  return {parameters.integer("m"),
          parameters.integer("k"),
          parameters.integer("n"),
          parameters.choice("a") == "tcm",
          parameters.choice("b") == "tcm",
          parameters.choice("out") == "hbm",
          epilogue == "scale",
          gelu || epilogue == "bias",
          gelu,
          parameters.choice("k_epilogue") == "scale"};
}

void run(tl::Context& tl, const Gemm& p, const std::vector<tl::Tensor>& bound) {
  std::vector<tl::Tensor> loaded;
  const auto placed = [&](const tl::Tensor& tensor, bool load) {
    if (!load) return tensor;
    loaded.push_back(tl.load(tensor));
    return loaded.back();
  };
  const auto a = placed(bound[0], p.load_a);
  const auto b = placed(bound[1], p.load_b);
  auto product = tl::gemm(a, b);
  if (p.scale_every_k_tile) product.epilogue(tl::scale(kGemmScale, tl::Scope::k_tile));
  if (p.scale) product.epilogue(tl::scale(kGemmScale));
  if (p.bias) product.epilogue(tl::bias(placed(bound[2], true)));
  if (p.gelu) product.epilogue(tl::gelu());
  product.out(p.out_in_hbm ? bound.back() : tl.empty({p.m, p.n}, tl::f16).named("out"));
  if (!loaded.empty()) tl.wait(loaded);

  tl::Tensor out;
  {
    auto loop = tl.region("loop");
    out = tl.composite(product);
  }
  if (!p.out_in_hbm) tl.observe("out", out);
}

/// b as it contributes to the result: with k_epilogue each K tile's product is scaled at the end of
/// its own tile and of every later tile. The factor is a power of two, so no rounding differs.
std::vector<double> weighted_rows(const Gemm& p, Index tile_k, std::vector<double> b) {
  if (!p.scale_every_k_tile) return b;
  const Index tiles = ceil_div(p.k, tile_k);
  for (std::size_t i = 0; i < b.size(); ++i) {
    const Index scalings = tiles - static_cast<Index>(i) / p.n / tile_k;
    b[i] *= std::pow(kGemmScale, static_cast<double>(scalings));
  }
  return b;
}

Reference reference(const Gemm& p, Index tile_k, const HostTensors& inputs) {
  Bounded out =
      product(exact(inputs.at("a")), weighted_rows(p, tile_k, inputs.at("b")), p.m, p.k, p.n);
  if (p.scale) out = scaled(std::move(out), kGemmScale);
  if (p.bias) out = biased(std::move(out), inputs.at("bias"));
  if (p.gelu) out = gelu(std::move(out));
  return checked("out", stored_in_f16(std::move(out)));
}

Instance make(const Parameters& parameters, const tl::Target& target) {
  const Gemm p = gemm_of(parameters);
  Instance instance;
  instance.tensors = {matrix("a", p.m, p.k, Direction::in), matrix("b", p.k, p.n, Direction::in)};
  if (p.bias) instance.tensors.push_back(vector("bias", p.n));
  if (p.out_in_hbm) instance.tensors.push_back(matrix("out", p.m, p.n, Direction::out));
  instance.body = [p](tl::Context& tl, const std::vector<tl::Tensor>& bound) { run(tl, p, bound); };
  instance.tiles = gemm_tiles(target, p.m, p.k, p.n);
  instance.reference = [p, tile_k = target.tile_k](const HostTensors& inputs) {
    return reference(p, tile_k, inputs);
  };
  return instance;
}

}  // namespace

Kernel gemm() {
  const std::vector<std::string> spaces{"tcm", "hbm"};
  Kernel kernel;
  kernel.name = "gemm";
  kernel.summary = "one gemm composite, (m, k) x (k, n) in f16";
  kernel.parameters = {
      integer("m", 8, "rows of a and out", 1, kMaxDim),
      integer("k", 128, "columns of a, rows of b", 1, kMaxDim),
      integer("n", 64, "columns of b and out", 1, kMaxDim),
      choice("a", "tcm", "where a lies: loaded before the loop, or streamed", spaces),
      choice("b", "hbm", "where b lies: loaded before the loop, or streamed", spaces),
      choice("out", "tcm", "where the result goes", spaces),
      choice("epilogue", "none", "on each finished output tile; scale is by 0.5",
             {"none", "scale", "bias", "bias+gelu"}),
      choice("k_epilogue", "none", "on the running sum after each K tile; scale is by 0.5",
             {"none", "scale"}),
  };
  kernel.make = make;
  return kernel;
}

}  // namespace kernbench::kernels
