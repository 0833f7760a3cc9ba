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

/// What the compiler may know about a PE; the program ids are those of a launch with one program.
tl::Target make_target(const arch::TopologyConfig& topology);

/// Call it while handling an exception that a kernel's own code has thrown. Rethrows it as a
/// std::runtime_error with `where` (`silu n=64: the reference`) in front. An InputError or
/// std::bad_alloc is rethrown unchanged.
[[noreturn]] void rethrow_of_kernel(const std::string& where);

/// Programs per axis, and the PE of each program in row-major order of the ids; empty `pes`: PE 0,
/// 1, ..
struct Grid {
  std::array<command::Index, 3> programs{1, 1, 1};
  std::vector<std::uint32_t> pes = {};
};

/// What a launch sends to each PE of its grid: a kernel body and its arguments, or the commands
/// that such a body has been compiled to. The constructor generates or checks the commands once, so
/// that every refusal comes before anything is simulated.
class KernelLaunch {
 public:
  using Body = std::function<void(tl::Context&, const std::vector<tl::Tensor>& bound)>;

  /// `title` begins messages. `recipes`: those that `body` may name; null: the built-in ones.
  /// Throws InputError for a grid that does not fit the machine, and for whatever `tl` refuses.
  KernelLaunch(std::string title, const arch::TopologyConfig& topology, Body body,
               std::vector<DeviceTensor> arguments, const Grid& grid,
               std::shared_ptr<const tl::RecipeTable> recipes = {});

  /// A compiled kernel, read from a file or made by compile(); each program runs on the PE for
  /// which it was compiled. Throws InputError, whose message begins with `name`, if the topology
  /// lacks or refuses something.
  KernelLaunch(std::string_view name, std::shared_ptr<const command::ProgramFile> file,
               const arch::TopologyConfig& topology);

  /// Sends the commands of a program to `sink`. It may be called any number of times and always
  /// gives the same commands.
  void issue(command::CommandSink& sink, command::Index program = 0) const {
    issue_(sink, program);
  }

  const std::string& title() const { return title_; }
  /// The PE of each program.
  const std::vector<std::uint32_t>& pes() const { return pes_; }
  const std::vector<DeviceTensor>& arguments() const { return arguments_; }
  /// The number of commands of all programs.
  std::uint64_t commands() const { return commands_; }
  /// The largest of any program.
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
/// a program file, which is the same with compiled commands.
class Launch {
 public:
  /// Throws InputError for bad parameters, tensors that do not fit, and for whatever `tl` refuses.
  Launch(const kernels::Kernel& kernel, const Settings& settings,
         const arch::TopologyConfig& topology);

  /// `name` begins messages. If the file's title names a kernel of `catalogue` whose parameters
  /// give the file's tensors, that kernel supplies what the file does not hold: the domains of the
  /// inputs, the number of tiles on this topology, and the reference. Throws InputError for a file
  /// that is not for this topology.
  Launch(std::string_view name, const std::shared_ptr<const command::ProgramFile>& file,
         const arch::TopologyConfig& topology, const std::vector<kernels::Kernel>& catalogue = {});

  void issue(command::CommandSink& sink, command::Index program = 0) const {
    launch_.issue(sink, program);
  }

  /// The kernel's name; for a program file whose title names none: `program`.
  const std::string& kernel() const { return kernel_; }
  struct Parameter {
    std::string name, value;
    bool integer = false;  ///< a number, not a choice or a list
  };
  /// The parameters that have a value, in the order of declaration.
  const std::vector<Parameter>& parameters() const { return parameters_; }
  /// For a program file it has no body.
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
  /// The title as a program file holds it: a value that looks like a number but is not one is in
  /// quotes.
  std::string file_title() const;
  /// The title without one parameter.
  std::string title_without(std::string_view parameter) const;

 private:
  Launch(const kernels::Kernel& kernel, const kernels::Parameters& parameters,
         const arch::TopologyConfig& topology);

  std::string kernel_;
  std::vector<Parameter> parameters_;
  bool is_stranger_ = false;  // a program file whose kernel is not known
  kernels::Instance instance_;
  KernelLaunch launch_;
};

}  // namespace kernbench::runtime
