// SPDX-License-Identifier: Apache-2.0
#include "tests/support/kernel_bench.hpp"

#include <stdexcept>

#include "kernels/catalogue.hpp"

namespace kernbench::test {

tl::Target target_of(const arch::TopologyConfig& topology) {
  tl::Target target;
  target.scratch_bytes = topology.pe.tcm.scratch_bytes;
  target.tcm_bytes = topology.pe.tcm.bytes;
  target.hbm_bytes = topology.hbm.bytes;
  target.tile_m = topology.pe.gemm.tile_m;
  target.tile_k = topology.pe.gemm.tile_k;
  target.tile_n = topology.pe.gemm.tile_n;
  return target;
}

KernelBody bind_kernel(const kernels::Instance& instance, const tl::Target& target) {
  return [instance, target](command::CommandSink& sink) {
    tl::Context context(target, sink);
    std::vector<tl::Tensor> bound;
    command::Address addr = 0;
    for (const kernels::TensorSpec& spec : instance.tensors) {
      bound.push_back(context.ref(addr, spec.shape, spec.dtype, spec.name));
      addr = command::align_up(bound.back().handle().range().end, command::kHbmTensorAlignment);
    }
    instance.body(context, bound);
  };
}

kernels::Instance make_instance(const arch::TopologyConfig& topology, const std::string& name,
                                const Settings& settings) {
  for (const kernels::Kernel& kernel : kernels::catalogue()) {
    if (kernel.name == name) {
      return kernel.make(kernels::Parameters(name, kernel.parameters, settings),
                         target_of(topology));
    }
  }
  throw std::runtime_error("no kernel " + name);
}

BenchResult run_catalogue(const arch::TopologyConfig& topology, const std::string& kernel,
                          const Settings& settings, const BenchOptions& options) {
  return run_kernel(topology,
                    bind_kernel(make_instance(topology, kernel, settings), target_of(topology)),
                    options);
}

}  // namespace kernbench::test
