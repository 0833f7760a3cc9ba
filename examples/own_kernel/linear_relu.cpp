// SPDX-License-Identifier: Apache-2.0
// A first kernel of your own: out = relu(x w + bias) as one composite. w streams from HBM tile by
// tile, the epilogue runs on the accumulator, and each finished tile goes back to HBM.
#include <algorithm>

#include "kernels/kernel.hpp"
#include "kernels/shapes.hpp"

namespace tl = kernbench::tl;
using namespace kernbench::kernels;

static void run(tl::Context& tl, const std::vector<tl::Tensor>& bound) {
  const tl::Tensor &w = bound[1], &out = bound[3];
  const tl::Tensor x = tl.load(bound[0]), bias = tl.load(bound[2]);
  tl.wait({x, bias});
  auto loop = tl.region("loop");
  tl.composite(tl::gemm(x, w).out(out).epilogue(tl::bias(bias)).epilogue(tl::relu()));
}

// What `--data` compares the simulated result with.
static Reference expected(Index m, Index k, Index n, const HostTensors& inputs) {
  const auto &x = inputs.at("x"), &w = inputs.at("w"), &bias = inputs.at("bias");
  std::vector<double> out;
  for (Index row = 0; row < m; ++row) {
    for (Index col = 0; col < n; ++col) {
      double sum = bias[std::size_t(col)];
      for (Index i = 0; i < k; ++i)
        sum += x[std::size_t(row * k + i)] * w[std::size_t(i * n + col)];
      out.push_back(std::max(sum, 0.0));
    }
  }
  Reference reference;
  reference.outputs["out"] = out;
  reference.checked = "out";
  reference.max_rms_rel = 2e-3;
  reference.max_abs_rel = 1e-2;
  return reference;
}

Kernel linear_relu() {
  Kernel kernel;
  kernel.name = "linear_relu";
  kernel.summary = "out = relu(x w + bias) in f16, one composite";
  kernel.parameters = {integer("m", 8, "rows of x"), integer("k", 256, "columns of x"),
                       integer("n", 512, "columns of w")};
  kernel.make = [](const Parameters& parameters, const tl::Target& target) {
    const Index m = parameters.integer("m"), k = parameters.integer("k"),
                n = parameters.integer("n");
    Instance instance;
    instance.tensors = {matrix("x", m, k, Direction::in), matrix("w", k, n, Direction::in),
                        vector("bias", n), matrix("out", m, n, Direction::out)};
    instance.body = run;
    instance.tiles = gemm_tiles(target, m, k, n);
    instance.reference = [=](const HostTensors& inputs) { return expected(m, k, n, inputs); };
    return instance;
  };
  return kernel;
}
