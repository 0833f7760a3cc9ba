// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/shards.hpp"
#include "runtime/design.hpp"
#include "runtime/stage_files.hpp"
#include "runtime/watchdog.hpp"  // SimulationError
#include "tlm_if/command/error.hpp"

namespace kernbench::runtime {

/// A host program: tensors on the PEs of a design, and kernels launched on them one after the
/// other.
///
///     Host host("attention", topology, true, {"op_log.csv", {}, {}, "summary.json"});
///     const auto x = host.from_file("x.safetensors", "x", kernels::split_rows(1024, 8));
///     const auto y = host.empty("y", {1024, 64}, tl::f16, kernels::split_rows(1024, 8));
///     host.launch("scale", scale_rows, {x, y}, {{8, 1, 1}});
///     host.run();
///     const std::vector<double> result = host.read(y);
///     host.finish();
///
/// A sharding gives each program of `pes` its part (empty: all of the tensor); a launch that takes
/// the tensor runs its program i on the same PE. Everything is checked before anything runs: each
/// call throws InputError for what is wrong with it. Its what() and that of SimulationError are a
/// line complete by itself; detail() of either has further ones, of the latter who waits for what.
class Host {
 public:
  /// `data`: with numbers; otherwise only times are computed. `outputs`: opened here, completed by
  /// finish(). Once a process: SystemC's kernel is global.
  Host(std::string_view name, const arch::TopologyConfig& topology, bool data,
       const StagePaths& outputs = {});

  /// No PEs: program i is on PE i, for every PE of the design.
  DeviceTensor empty(std::string_view name, const command::Shape& shape, command::DType dtype,
                     kernels::Sharding sharding = {}, const std::vector<std::uint32_t>& pes = {});
  DeviceTensor zeros(std::string_view name, const command::Shape& shape, command::DType dtype,
                     kernels::Sharding sharding = {}, const std::vector<std::uint32_t>& pes = {});
  /// `values`: row-major, one an entry.
  DeviceTensor from_values(std::string_view name, const command::Shape& shape, command::DType dtype,
                           const std::vector<double>& values, kernels::Sharding sharding = {},
                           const std::vector<std::uint32_t>& pes = {});
  /// A tensor of a safetensors file, in its dtype; leading axes are joined to rows.
  DeviceTensor from_file(const std::string& path, std::string_view name,
                         kernels::Sharding sharding = {},
                         const std::vector<std::uint32_t>& pes = {});

  /// Sends the kernel to the PEs of the grid when the launch before is over; PE_CPU takes
  /// `pe.cpu.launch_ns` to start it.
  void launch(std::string title, KernelLaunch::Body body, std::vector<DeviceTensor> arguments,
              const Grid& grid);

  /// Runs every launch to its end; those that come later, at another run(), from the time at which
  /// this one ends. Throws SimulationError if they do not come to it, and what a kernel throws.
  void run();

  /// After the last run(): completes the outputs and the sinks of design().recorder. What is
  /// launched later is not recorded; a second call does nothing. Without it there are no files.
  /// They are those of a kernel on the command line, the summary without the keys that are of a
  /// kernel or of the host's time. Throws InputError while a launch is not over: no file is written
  /// then.
  void finish();

  /// After run(), with data: the entries of a tensor, row-major.
  std::vector<double> read(const DeviceTensor& tensor) { return design_.read(tensor); }
  /// When the last launch was over.
  std::uint64_t end_ps() const { return design_.last_done_ps(); }
  /// The machine and its recorder, to look at, or to add sinks to before the first run(); finish()
  /// hands them their last rows.
  Design& design() { return design_; }

 private:
  DeviceTensor place(std::string_view name, const command::Shape& shape, command::DType dtype,
                     kernels::Sharding sharding, const std::vector<std::uint32_t>& pes);

  const arch::TopologyConfig topology_;
  const bool data_;
  const std::unique_ptr<StageFiles> files_;  // their buffers are much for the stack of a thread
  DeviceMemory memory_;
  Design design_;
  bool finished_ = false;
};

}  // namespace kernbench::runtime
