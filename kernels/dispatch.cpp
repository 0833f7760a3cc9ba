// SPDX-License-Identifier: Apache-2.0
#include "kernels/dispatch.hpp"

namespace kernbench::kernels {

Kernel dispatch() {
  Kernel kernel;
  kernel.name = "dispatch";
  kernel.summary = "as many one-entry fills as wanted: what dispatch alone costs";
  kernel.parameters = {integer("commands", 1000, "number of fills", 1, Index{1} << 40)};
  kernel.make = [](const Parameters& parameters, const tl::Target&) {
    const Index commands = parameters.integer("commands");
    Instance instance;
    instance.tiles = static_cast<std::uint64_t>(commands);
    instance.body = [commands](tl::Context& tl, const std::vector<tl::Tensor>&) {
      const auto x = tl.empty({1}, tl::f32).named("x");
      auto loop = tl.region("loop");
      for (Index i = 0; i < commands; ++i) tl.fill(x, 0);
    };
    return instance;
  };
  return kernel;
}

}  // namespace kernbench::kernels
