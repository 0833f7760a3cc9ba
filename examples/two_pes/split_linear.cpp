// SPDX-License-Identifier: Apache-2.0
// A kernel of several programs: out = x w, with the inner dimension split over them. Each program
// has its columns of x and rows of w in its own PE's HBM; program 0 adds the products of the
// others.
#include <string>

#include "kernels/kernel.hpp"
#include "kernels/shapes.hpp"
#include "kernels/shards.hpp"
#include "tlm_if/command/error.hpp"

namespace tl = kernbench::tl;
using namespace kernbench::kernels;

static void run(tl::Context& tl, const std::vector<tl::Tensor>& bound) {
  const tl::Tensor &w = bound[1], &out = bound[2];
  const tl::Tensor x = tl.load(bound[0]);
  const auto sum = tl.empty({x.shape().rows(), w.shape().cols()}, tl::f32);
  std::vector<tl::Tensor> parts;
  for (Index other = 1; tl.program() == 0 && other < tl.programs(); ++other) {
    parts.push_back(tl.empty(sum.shape(), tl::f32));
    tl.recv(other, parts.back());
  }
  tl.wait({x});
  auto loop = tl.region("loop");
  tl.composite(tl::gemm(x, w).out(sum));
  if (tl.program() > 0) {
    tl.send(0, sum);
    return;
  }
  for (const tl::Tensor& part : parts) tl.add(sum, part, sum);
  tl.store(out, tl.copy(sum, tl::f16));
}

// What `--data` compares the simulated result with: it knows no programs.
static Reference expected(Index m, Index k, Index n, const HostTensors& inputs) {
  const auto &x = inputs.at("x"), &w = inputs.at("w");
  std::vector<double> out;
  for (Index row = 0; row < m; ++row) {
    for (Index col = 0; col < n; ++col) {
      double sum = 0;
      for (Index i = 0; i < k; ++i)
        sum += x[std::size_t(row * k + i)] * w[std::size_t(i * n + col)];
      out.push_back(sum);
    }
  }
  Reference reference;
  reference.outputs["out"] = out;
  reference.checked = "out";
  reference.max_rms_rel = 2e-3;
  reference.max_abs_rel = 1e-2;
  return reference;
}

Kernel split_linear() {
  Kernel kernel;
  kernel.name = "split_linear";
  kernel.summary = "out = x w in f16, the inner dimension split over programs";
  kernel.parameters = {integer("programs", 2, "programs, each on a PE"),
                       integer("m", 8, "rows of x"),
                       integer("k", 1024, "columns of x, a multiple of programs"),
                       integer("n", 256, "columns of w")};
  kernel.make = [](const Parameters& parameters, const tl::Target& target) {
    const Index programs = parameters.integer("programs"), m = parameters.integer("m"),
                k = parameters.integer("k"), n = parameters.integer("n");
    if (k % programs != 0) {
      throw kernbench::InputError("split_linear: k=" + std::to_string(k) +
                                  " is not a multiple of programs=" + std::to_string(programs) +
                                  "; give one");
    }
    Instance instance;
    instance.tensors = {matrix("x", m, k, Direction::in), matrix("w", k, n, Direction::in),
                        matrix("out", m, n, Direction::out)};
    instance.tensors[0].shard = split_cols(m, k, programs);
    instance.tensors[1].shard = split_rows(k, programs);
    instance.tensors[2].shard = whole_on(m, 0);
    instance.grid = {programs, 1, 1};
    instance.body = run;
    instance.tiles = std::uint64_t(programs) * gemm_tiles(target, m, k / programs, n);
    instance.reference = [=](const HostTensors& inputs) { return expected(m, k, n, inputs); };
    return instance;
  };
  return kernel;
}
