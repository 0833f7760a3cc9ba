// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/kernel.hpp"
#include "runtime/launch/launch.hpp"
#include "tlm_if/command/program.hpp"

namespace kernbench::test {

/// What one program of a kernel lowers to.
struct Compiled {
  kernels::Instance instance;
  command::Program program;
  /// In the order of instance.tensors; that of one that the program has no part of has no shape.
  std::vector<command::TensorHandle> bound;
  command::Index number = 0;  ///< of the program
  std::uint32_t pe = 0;       ///< that runs it
  std::uint64_t scratch_peak_bytes = 0;
  command::Index tile_m = 0, tile_k = 0, tile_n = 0;
};

using runtime::Settings;

/// A target that is the default one but for the machine around it.
inline tl::Target machine(command::Index sips, command::Index cubes_per_sip,
                          command::Index pes_per_cube) {
  tl::Target target;
  target.sips = sips;
  target.cubes_per_sip = cubes_per_sip;
  target.pes_per_cube = pes_per_cube;
  return target;
}

/// One of the catalogue.
kernels::Kernel catalogue_kernel(const std::string& name);

/// A kernel, compiled with its tensors placed as R3.4 says.
Compiled compile(const kernels::Kernel& kernel, const Settings& settings,
                 const tl::Target& target = tl::Target());
Compiled compile(const std::string& kernel, const Settings& settings,
                 const tl::Target& target = tl::Target());

/// All programs of a kernel on a machine, in order; their tensors sharded and placed likewise.
std::vector<Compiled> compile_all(const kernels::Kernel& kernel, const Settings& settings,
                                  const tl::Target& target);
std::vector<Compiled> compile_all(const std::string& kernel, const Settings& settings,
                                  const tl::Target& target);

/// Outputs and observed values (all of one name joined) of running the commands one after the
/// other: what any legal overlap of them must give as well.
kernels::HostTensors run_in_program_order(const Compiled& compiled,
                                          const kernels::HostTensors& inputs);

/// The same of all programs of a kernel. A receive is posted; the program goes on up to the first
/// step that uses the same bytes. Channels take any number of messages. Values are joined by
/// program number, then in order; an entry that several programs hold is that of the first. Throws
/// std::logic_error, with who waits for whom, if none can go on, if a message has another size than
/// its receive, and if one is left over.
kernels::HostTensors run_in_program_order(const std::vector<Compiled>& programs,
                                          const kernels::HostTensors& inputs);

}  // namespace kernbench::test
