// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm.hpp"

#include <algorithm>

#include "kernels/error_bound.hpp"

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

Reference reference(const Gemm& p, Index tile_k, const HostTensors& inputs) {
  const std::vector<double>& a = inputs.at("a");
  const std::vector<double>& b = inputs.at("b");
  const auto m = static_cast<std::size_t>(p.m), n = static_cast<std::size_t>(p.n);
  const auto k = static_cast<std::size_t>(p.k), step = static_cast<std::size_t>(tile_k);
  std::vector<double> out(m * n, 0);
  for (std::size_t row = 0; row < m; ++row) {
    double* sum = out.data() + row * n;
    for (std::size_t begin = 0; begin < k; begin += step) {
      for (std::size_t i = begin; i < std::min(begin + step, k); ++i) {
        for (std::size_t col = 0; col < n; ++col) sum[col] += a[row * k + i] * b[i * n + col];
      }
      // On the running sum, so an early K tile is scaled once more than a later one (contract 5).
      if (p.scale_every_k_tile) {
        for (std::size_t col = 0; col < n; ++col) sum[col] *= kGemmScale;
      }
    }
    for (std::size_t col = 0; col < n; ++col) {
      if (p.scale) sum[col] *= kGemmScale;
      if (p.bias) sum[col] += inputs.at("bias")[col];
      if (p.gelu) sum[col] = gelu(sum[col]);
    }
  }
  Reference result;
  result.outputs.emplace("out", std::move(out));
  result.checked = "out";
  // One rounding to f16 and f32 sums: well inside the bounds of R13.4.
  result.max_rms_rel = 2e-3;
  result.max_abs_rel = 1e-2;
  return result;
}

Instance make(const Parameters& parameters, const tl::Target& target) {
  const Gemm p = gemm_of(parameters);
  Instance instance;
  instance.tensors = {{"a", {p.m, p.k}, {p.m, p.k}, tl::f16, Direction::in},
                      {"b", {p.k, p.n}, {p.k, p.n}, tl::f16, Direction::in}};
  if (p.bias) instance.tensors.push_back({"bias", {p.n}, {p.n}, tl::f16, Direction::in});
  if (p.out_in_hbm) {
    instance.tensors.push_back({"out", {p.m, p.n}, {p.m, p.n}, tl::f16, Direction::out});
  }
  instance.body = [p](tl::Context& tl, const std::vector<tl::Tensor>& bound) { run(tl, p, bound); };
  instance.tiles = gemm_tiles(target, p.m, p.k, p.n);
  instance.reference = [p, tile_k = target.tile_k](const HostTensors& inputs) {
    return reference(p, tile_k, inputs);
  };
  return instance;
}

}  // namespace

std::uint64_t gemm_tiles(const tl::Target& target, Index m, Index k, Index n) {
  const auto tiles = [](Index size, Index tile) {
    return static_cast<std::uint64_t>((size + tile - 1) / tile);
  };
  return tiles(m, target.tile_m) * tiles(k, target.tile_k) * tiles(n, target.tile_n);
}

Kernel gemm() {
  constexpr Index kMaxDim = Index{1} << 24;
  const std::vector<std::string> spaces{"tcm", "hbm"};
  Kernel kernel;
  kernel.name = "gemm";
  kernel.summary = "one gemm composite, (m, k) x (k, n) in f16";
  kernel.parameters = {
      {"m", "8", "rows of a and out", 1, kMaxDim},
      {"k", "128", "columns of a, rows of b", 1, kMaxDim},
      {"n", "64", "columns of b and out", 1, kMaxDim},
      {"a", "tcm", "where a lies: loaded before the loop, or streamed", 0, 0, spaces},
      {"b", "hbm", "where b lies: loaded before the loop, or streamed", 0, 0, spaces},
      {"out", "tcm", "where the result goes", 0, 0, spaces},
      {"epilogue",
       "none",
       "on each finished output tile; scale is by 0.5",
       0,
       0,
       {"none", "scale", "bias", "bias+gelu"}},
      {"k_epilogue",
       "none",
       "on the running sum after each K tile; scale is by 0.5",
       0,
       0,
       {"none", "scale"}},
  };
  kernel.make = make;
  return kernel;
}

}  // namespace kernbench::kernels
