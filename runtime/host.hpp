// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/shards.hpp"
#include "runtime/design.hpp"
#include "runtime/run_to_end.hpp"  // SimulationError
#include "runtime/stage_files.hpp"
#include "tlm_if/command/error.hpp"

namespace kernbench::runtime {

/// A host program: it places tensors on the PEs of a design and launches kernels on them one after
/// the other.
///
///     Host host("attention", topology, true, {"op_log.csv", {}, {}, "summary.json"});
///     const auto x = host.from_file("x.safetensors", "x", kernels::split_rows(1024, 8));
///     const auto y = host.empty("y", {1024, 64}, tl::f16, kernels::split_rows(1024, 8));
///     host.launch("scale", scale_rows, {x, y}, {{8, 1, 1}});
///     host.run();
///     const std::vector<double> result = host.read(y);
///     host.finish();
///
/// A sharding gives each program of `pes` its part of a tensor (empty: all of the tensor). A launch
/// with that tensor runs its program i on the same PE. Everything is checked before anything runs:
/// each call throws InputError for its mistakes. what() of InputError and SimulationError is one
/// complete line; detail() has further lines, for SimulationError the wait graph.
class Host {
 public:
  /// `data`: compute numbers; otherwise only times are computed. `outputs`: opened here and
  /// completed by finish(). Make one Host per process, since SystemC's kernel is global.
  Host(std::string_view name, const arch::TopologyConfig& topology, bool data,
       const StagePaths& outputs = {});

  /// Without `pes`, program i is on PE i, for every PE of the design.
  DeviceTensor empty(std::string_view name, const command::Shape& shape, command::DType dtype,
                     kernels::Sharding sharding = {}, const std::vector<std::uint32_t>& pes = {});
  DeviceTensor zeros(std::string_view name, const command::Shape& shape, command::DType dtype,
                     kernels::Sharding sharding = {}, const std::vector<std::uint32_t>& pes = {});
  /// `values`: row-major, one per entry.
  DeviceTensor from_values(std::string_view name, const command::Shape& shape, command::DType dtype,
                           const std::vector<double>& values, kernels::Sharding sharding = {},
                           const std::vector<std::uint32_t>& pes = {});
  /// A tensor of a safetensors file, in its dtype; leading axes are joined to rows.
  DeviceTensor from_file(const std::string& path, std::string_view name,
                         kernels::Sharding sharding = {},
                         const std::vector<std::uint32_t>& pes = {});

  /// Sends the kernel to the PEs of the grid when the previous launch has ended; PE_CPU takes
  /// `pe.cpu.launch_ns` to start it.
  void launch(std::string title, KernelLaunch::Body body, std::vector<DeviceTensor> arguments,
              const Grid& grid);

  /// Runs every launch to its end. Later launches, with another run(), start at the time at which
  /// this run ended. Throws SimulationError if a launch does not end, and whatever a kernel throws.
  void run();

  /// Completes the outputs and the sinks of design().recorder; call it after the last run(). Later
  /// launches are not recorded, and a second call does nothing. Without finish() there are no
  /// files. The files are those of the command line, except that the summary lacks the keys of a
  /// kernel and of the host's time. Throws InputError, and writes no file, if a launch has not
  /// ended.
  void finish();

  /// After run(), with data: the entries of a tensor, row-major.
  std::vector<double> read(const DeviceTensor& tensor) { return design_.read(tensor); }
  /// When the last launch ended.
  std::uint64_t end_ps() const { return design_.last_done_ps(); }
  /// The machine and its recorder, to inspect, or to add sinks before the first run(). finish()
  /// passes the last rows to the sinks.
  Design& design() { return design_; }

 private:
  DeviceTensor place(std::string_view name, const command::Shape& shape, command::DType dtype,
                     kernels::Sharding sharding, const std::vector<std::uint32_t>& pes);

  const arch::TopologyConfig topology_;
  const bool data_;
  const std::unique_ptr<StageFiles> files_;  // on the heap, since their buffers are large for a
                                             // thread's stack
  DeviceMemory memory_;
  Design design_;
  bool finished_ = false;
};

}  // namespace kernbench::runtime
