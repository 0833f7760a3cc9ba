// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/kernel.hpp"
#include "runtime/launch.hpp"
#include "tlm_if/command/program.hpp"

namespace kernbench::test {

/// What a kernel lowers to.
struct Compiled {
  kernels::Instance instance;
  command::Program program;
  std::vector<command::TensorHandle> bound;  ///< in the order of instance.tensors
  std::uint64_t scratch_peak_bytes = 0;
  command::Index tile_m = 0, tile_k = 0, tile_n = 0;
};

using runtime::Settings;

/// One of the catalogue.
kernels::Kernel catalogue_kernel(const std::string& name);

/// A kernel, compiled with its tensors placed as R3.4 says.
Compiled compile(const kernels::Kernel& kernel, const Settings& settings,
                 const tl::Target& target = tl::Target());
Compiled compile(const std::string& kernel, const Settings& settings,
                 const tl::Target& target = tl::Target());

/// Outputs and observed values (all of one name joined) of running the commands one after the
/// other: what any legal overlap of them must give as well.
kernels::HostTensors run_in_program_order(const Compiled& compiled,
                                          const kernels::HostTensors& inputs);

}  // namespace kernbench::test
