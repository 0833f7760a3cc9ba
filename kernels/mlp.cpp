// SPDX-License-Identifier: Apache-2.0
#include "kernels/mlp.hpp"

#include <cmath>

#include "kernels/error_bound.hpp"
#include "kernels/shapes.hpp"

namespace kernbench::kernels {
namespace {

struct Mlp {
  Index m, k, f;
  bool fused;
};

void run(tl::Context& tl, const Mlp& p, const std::vector<tl::Tensor>& bound) {
  const auto x = tl.load(bound[0]);
  const auto &wg = bound[1], &wu = bound[2], &wd = bound[3], &out = bound[4];  // all stream
  const auto h = tl.empty({p.m, p.f}, tl::f16).named("h");
  // No wait in the loop: a composite never blocks the kernel, the scheduler orders those that
  // share h (R7.1).
  if (p.fused) {
    tl.wait({x});
    auto loop = tl.region("loop");
    tl.composite(tl::gemm(x, wg).out(h).epilogue(tl::silu()));
    tl.composite(tl::gemm(x, wu).out(h).epilogue(tl::mul(h)));  // in place: same tiles
    tl.composite(tl::gemm(h, wd).out(out));
    return;
  }
  // f32 between the gemms, so that nothing is rounded which the fused form does not round.
  const auto gate = tl.empty({p.m, p.f}, tl::f32).named("gate");
  const auto up = tl.empty({p.m, p.f}, tl::f32).named("up");
  tl.wait({x});
  auto loop = tl.region("loop");
  tl.composite(tl::gemm(x, wg).out(gate));
  tl.composite(tl::gemm(x, wu).out(up));
  tl.silu(gate, h);
  tl.mul(up, h, h);
  tl.composite(tl::gemm(h, wd).out(out));
}

Reference reference(const Mlp& p, const HostTensors& inputs) {
  const Bounded x = exact(inputs.at("x"));
  const Bounded gate = stored_in_f16(silu(product(x, inputs.at("wg"), p.m, p.k, p.f)));
  Bounded h = product(x, inputs.at("wu"), p.m, p.k, p.f);
  for (std::size_t i = 0; i < h.value.size(); ++i) {
    h.error[i] = h.error[i] * std::abs(gate.value[i]) + std::abs(h.value[i]) * gate.error[i];
    h.value[i] *= gate.value[i];
    h.error[i] += kRoundF32 * std::abs(h.value[i]);
  }
  h = stored_in_f16(std::move(h));
  return checked("out", stored_in_f16(product(h, inputs.at("wd"), p.m, p.f, p.k)));
}

Instance make(const Parameters& parameters, const tl::Target& target) {
  const Mlp p{parameters.integer("m"), parameters.integer("k"), parameters.integer("f"),
              parameters.choice("variant") == "fused"};
  Instance instance;
  instance.tensors = {matrix("x", p.m, p.k, Direction::in), matrix("wg", p.k, p.f, Direction::in),
                      matrix("wu", p.k, p.f, Direction::in), matrix("wd", p.f, p.k, Direction::in),
                      matrix("out", p.m, p.k, Direction::out)};
  instance.body = [p](tl::Context& tl, const std::vector<tl::Tensor>& bound) { run(tl, p, bound); };
  instance.reference = [p](const HostTensors& inputs) { return reference(p, inputs); };
  instance.tiles = 2 * gemm_tiles(target, p.m, p.k, p.f) + gemm_tiles(target, p.m, p.f, p.k);
  return instance;
}

}  // namespace

Kernel mlp() {
  Kernel kernel;
  kernel.name = "mlp";
  kernel.summary = "gated feed-forward: gate, up, silu * product, down, weights streamed";
  kernel.parameters = {
      choice("variant", "fused",
             "silu and product as epilogues of the gemms, or as simple commands between them",
             {"fused", "split"}),
      integer("m", 8, "rows of x and out: tokens", 1, kMaxDim),
      integer("k", 128, "columns of x and out: the model's width", 1, kMaxDim),
      integer("f", 512, "columns of wg and wu, rows of wd: the hidden width", 1, kMaxDim),
  };
  kernel.make = make;
  return kernel;
}

}  // namespace kernbench::kernels
