// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "tlm_if/command/error.hpp"

namespace kernbench::runtime {
namespace {

/// Counts the commands and checks the names of results; keeps nothing that grows with the run.
class DryRun : public command::CommandSink {
 public:
  explicit DryRun(const std::vector<DeviceTensor>& tensors) : tensors_(tensors) {}

  void issue(command::Command) override { ++commands_; }
  void wait(const std::vector<command::ByteRange>&) override {}
  void begin_region(std::string_view) override {}
  void end_region(std::string_view) override {}
  void observe(std::string_view name, const command::TensorHandle& handle) override {
    for (const DeviceTensor& tensor : tensors_) {
      if (tensor->spec.name == name) {
        throw InputError(fmt::format(
            "the kernel observes '{}', which is the name of one of its tensors; use another name",
            name));
      }
    }
    const auto [first, added] = observed_.emplace(std::string(name), handle);
    const command::TensorHandle& known = first->second;
    if (!added && (known.shape != handle.shape || known.dtype != handle.dtype)) {
      throw InputError(fmt::format(
          "the kernel observes '{}' as {} and as {}; give values of one name one shape and dtype",
          name, known.describe(), handle.describe()));
    }
  }

  std::uint64_t commands() const { return commands_; }

 private:
  const std::vector<DeviceTensor>& tensors_;
  std::map<std::string, command::TensorHandle> observed_;
  std::uint64_t commands_ = 0;
};

/// `title` of a launch: every parameter with its value, but for one.
std::string title_of(const kernels::Kernel& kernel, const kernels::Parameters& parameters,
                     std::string_view without) {
  std::string title = kernel.name;
  for (const auto& [name, value] : parameters.values()) {
    if (!value.empty() && name != without) title += fmt::format(" {}={}", name, value);
  }
  return title;
}

/// The PE of each program. Throws InputError unless each has one of its own.
std::vector<std::uint32_t> pes_of(const std::string& title, const Grid& grid, std::uint32_t pes) {
  const auto [low, high] = std::minmax_element(grid.programs.begin(), grid.programs.end());
  const bool fits = *low >= 1 && *high <= pes;  // so that the product does
  const command::Index programs = fits ? grid.programs[0] * grid.programs[1] * grid.programs[2] : 0;
  if (!fits || programs > pes) {
    throw InputError(fmt::format(
        "{}: the grid of {} x {} x {} programs needs a PE for each, and the topology has {}; take "
        "fewer programs or a larger topology",
        title, grid.programs[0], grid.programs[1], grid.programs[2], pes));
  }
  std::vector<std::uint32_t> result = grid.pes;
  if (result.empty()) {
    for (command::Index i = 0; i < programs; ++i) result.push_back(static_cast<std::uint32_t>(i));
  }
  std::vector<bool> taken(pes, false);
  bool sound = static_cast<command::Index>(result.size()) == programs;
  for (const std::uint32_t pe : result) {
    sound = sound && pe < pes && !taken[pe];
    if (sound) taken[pe] = true;
  }
  if (!sound) {
    throw InputError(fmt::format(
        "{}: the grid has {} programs and the PEs [{}]; give each program a PE of its own, of 0 to "
        "{}",
        title, programs, fmt::join(result, ", "), pes - 1));
  }
  return result;
}

}  // namespace

tl::Target make_target(const arch::TopologyConfig& topology) {
  tl::Target target;
  target.scratch_bytes = topology.pe.tcm.scratch_bytes;
  target.tcm_bytes = topology.pe.tcm.bytes;
  target.hbm_bytes =
      topology.hbm.map == arch::HbmMap::pe_local ? topology.pe_slice().bytes : topology.hbm.bytes;
  target.tile_m = topology.pe.gemm.tile_m;
  target.tile_k = topology.pe.gemm.tile_k;
  target.tile_n = topology.pe.gemm.tile_n;
  target.math_head_from_hbm = topology.pe.scheduler.math_head_from_hbm;
  target.sips = topology.sips;
  target.cubes_per_sip = topology.cubes_per_sip;
  target.pes_per_cube = topology.pes_per_cube;
  target.ipcq_channels = topology.pe.ipcq.channels;
  return target;
}

KernelLaunch::KernelLaunch(std::string title, const arch::TopologyConfig& topology, Body body,
                           std::vector<DeviceTensor> arguments, const Grid& grid,
                           std::shared_ptr<const tl::RecipeTable> recipes)
    : title_(std::move(title)),
      target_(make_target(topology)),
      body_(std::move(body)),
      arguments_(std::move(arguments)),
      recipes_(std::move(recipes)) {
  target_.pes = pes_of(title_, grid, topology.pes());
  target_.num_programs = grid.programs;
  DryRun dry_run(arguments_);
  for (command::Index program = 0; program < target_.programs(); ++program) {
    try {
      tl::Context context(target_of(program), dry_run, this->recipes());
      body_(context, bound_tensors(context, program));
      scratch_peak_bytes_ = std::max(scratch_peak_bytes_, context.scratch_peak_bytes());
    } catch (const tl::ScratchExhausted& error) {
      throw InputError(fmt::format("{}: {}, or enlarge pe.tcm.scratch_bytes", title_, error.what()),
                       error.detail());
    } catch (const InputError& error) {
      throw InputError(fmt::format("{}: {}", title_, error.what()), error.detail());
    }
  }
  commands_ = dry_run.commands();
}

tl::Target KernelLaunch::target_of(command::Index program) const {
  tl::Target target = target_;
  const command::Index y = target.num_programs[1], z = target.num_programs[2];
  target.program_id = {program / (y * z), program / z % y, program % z};
  return target;
}

const tl::RecipeTable& KernelLaunch::recipes() const {
  return recipes_ ? *recipes_ : tl::builtin_recipes();
}

std::vector<tl::Tensor> KernelLaunch::bound_tensors(tl::Context& context,
                                                    command::Index program) const {
  std::vector<tl::Tensor> bound;
  for (const DeviceTensor& tensor : arguments_) {
    const Part* part = tensor->part_of(program);
    bound.push_back(part == nullptr ? tl::Tensor()
                                    : context.ref(part->handle.addr, part->handle.shape,
                                                  tensor->spec.dtype, tensor->spec.name));
  }
  return bound;
}

void KernelLaunch::issue(command::CommandSink& sink, command::Index program) const {
  tl::Context context(target_of(program), sink, recipes());
  body_(context, bound_tensors(context, program));
}

namespace {

KernelLaunch launch_of(const kernels::Kernel& kernel, const kernels::Parameters& parameters,
                       const kernels::Instance& instance, const arch::TopologyConfig& topology) {
  const std::string title = title_of(kernel, parameters, {});
  if (instance.tiles == 0) {
    throw InputError(
        fmt::format("kernel {}: its Instance has 0 tiles; give at least 1", kernel.name));
  }
  const Grid grid{instance.grid, instance.pes};
  DeviceMemory memory(topology);
  return {title,         topology,
          instance.body, memory.place(instance.tensors, pes_of(title, grid, topology.pes())),
          grid,          instance.recipes};
}

}  // namespace

Launch::Launch(const kernels::Kernel& kernel, const Settings& settings,
               const arch::TopologyConfig& topology)
    : kernel_(kernel),
      parameters_(kernel.name, kernel.parameters, settings),
      instance_(kernel_.make(parameters_, make_target(topology))),
      launch_(launch_of(kernel_, parameters_, instance_, topology)) {}

std::vector<command::ByteRange> Launch::inputs(std::uint32_t pe) const {
  std::vector<command::ByteRange> ranges;
  for (const DeviceTensor& tensor : tensors()) {
    if (tensor->spec.direction != kernels::Direction::in) continue;
    for (const Part& part : tensor->parts) {
      if (part.pe == pe) command::add_range(ranges, part.handle.range());
    }
  }
  return ranges;
}

std::string Launch::title(std::string_view without) const {
  return title_of(kernel_, parameters_, without);
}

}  // namespace kernbench::runtime
