// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/kernel.hpp"
#include "model/arch/config.hpp"
#include "runtime/launch/placement.hpp"
#include "tlm_if/command/command_sink.hpp"
#include "tlm_if/command/program_file.hpp"

namespace kernbench::runtime {

using Settings = std::vector<std::pair<std::string, std::string>>;

/// What the compiler may know of a PE; the program ids are those of a launch with one program.
tl::Target make_target(const arch::TopologyConfig& topology);

/// Where a kernel's own code has thrown an exception, which is being handled: throws it again, with
/// `where` (`silu n=64: the reference`) before it as a std::runtime_error. An InputError and
/// std::bad_alloc stay what they are.
[[noreturn]] void rethrow_of_kernel(const std::string& where);

/// Programs per axis, and the PE of each in row-major order of the ids; no PEs: 0, 1, ..
struct Grid {
  std::array<command::Index, 3> programs{1, 1, 1};
  std::vector<std::uint32_t> pes = {};
};

/// What a launch sends to each PE of its grid: a kernel body and its arguments, or the commands
/// that such a body has been compiled to. Its commands have been generated or checked once, so that
/// every refusal comes before anything is simulated.
class KernelLaunch {
 public:
  using Body = std::function<void(tl::Context&, const std::vector<tl::Tensor>& bound)>;

  /// `title` begins messages. `recipes`: those that `body` may name; null: the built-in ones.
  /// Throws InputError for a grid that is not on the machine, and whatever `tl` refuses.
  KernelLaunch(std::string title, const arch::TopologyConfig& topology, Body body,
               std::vector<DeviceTensor> arguments, const Grid& grid,
               std::shared_ptr<const tl::RecipeTable> recipes = {});

  /// A compiled kernel, read or made by compile(), each program on the PE that it was compiled for.
  /// Throws InputError, which begins with `name`, for what the topology does not have or take.
  KernelLaunch(std::string_view name, std::shared_ptr<const command::ProgramFile> file,
               const arch::TopologyConfig& topology);

  /// The commands of a program go to `sink`. Any number of times, each alike.
  void issue(command::CommandSink& sink, command::Index program = 0) const {
    issue_(sink, program);
  }

  const std::string& title() const { return title_; }
  /// The PE of each program.
  const std::vector<std::uint32_t>& pes() const { return pes_; }
  const std::vector<DeviceTensor>& arguments() const { return arguments_; }
  /// Of all programs.
  std::uint64_t commands() const { return commands_; }
  /// The highest of any program.
  std::uint64_t scratch_peak_bytes() const { return scratch_peak_bytes_; }

 private:
  std::string title_;
  std::vector<std::uint32_t> pes_;  // by program
  std::vector<DeviceTensor> arguments_;
  std::function<void(command::CommandSink&, command::Index program)> issue_;
  std::uint64_t commands_ = 0;
  std::uint64_t scratch_peak_bytes_ = 0;
};

/// A kernel of a catalogue with its parameters chosen and its tensors placed, for one topology; or
/// a program file, which is the same with the commands compiled already.
class Launch {
 public:
  /// Throws InputError for bad parameters, tensors that do not fit, and whatever `tl` refuses.
  Launch(const kernels::Kernel& kernel, const Settings& settings,
         const arch::TopologyConfig& topology);

  /// `name` begins messages. If the file's title names a kernel of `catalogue` with parameters that
  /// give the file's tensors, what the file does not say is the kernel's: the domains of its inputs
  /// the number of tiles on this topology, and the reference. Throws InputError for a file that is
  /// not for this topology.
  Launch(std::string_view name, const std::shared_ptr<const command::ProgramFile>& file,
         const arch::TopologyConfig& topology, const std::vector<kernels::Kernel>& catalogue = {});

  void issue(command::CommandSink& sink, command::Index program = 0) const {
    launch_.issue(sink, program);
  }

  /// Of the kernel; of a program file whose title names none: `program`.
  const std::string& kernel() const { return kernel_; }
  struct Parameter {
    std::string name, value;
    bool integer = false;  ///< a number, not a choice or a list
  };
  /// Those with a value, in the order of declaration.
  const std::vector<Parameter>& parameters() const { return parameters_; }
  /// Of a program file: without a body.
  const kernels::Instance& instance() const { return instance_; }
  const KernelLaunch& launch() const { return launch_; }
  command::Index programs() const { return static_cast<command::Index>(launch_.pes().size()); }
  /// In the order of the instance's tensors.
  const std::vector<DeviceTensor>& tensors() const { return launch_.arguments(); }
  /// The bytes of a PE's HBM that the input tensors fill before the kernel starts.
  std::vector<command::ByteRange> inputs(std::uint32_t pe = 0) const;
  std::uint64_t commands() const { return launch_.commands(); }
  std::uint64_t scratch_peak_bytes() const { return launch_.scratch_peak_bytes(); }
  /// Why there is no reference to compare results with; empty if there is one.
  std::string why_no_reference() const;
  /// `gqa_decode variant=opt2 g=8 ..`: every parameter with its value.
  const std::string& title() const { return launch_.title(); }
  /// The same in a program file: there a value in quotes is no number, though it reads as one.
  std::string file_title() const;
  /// The same but for one parameter.
  std::string title_without(std::string_view parameter) const;

 private:
  Launch(const kernels::Kernel& kernel, const kernels::Parameters& parameters,
         const arch::TopologyConfig& topology);

  std::string kernel_;
  std::vector<Parameter> parameters_;
  bool is_stranger_ = false;  // a program file of no known kernel
  kernels::Instance instance_;
  KernelLaunch launch_;
};

}  // namespace kernbench::runtime
