// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch.hpp"

#include <fmt/format.h>

#include <map>

#include "tlm_if/command/address_map.hpp"
#include "tlm_if/command/error.hpp"

namespace kernbench::runtime {
namespace {

using kernels::TensorSpec;

/// Counts the commands and checks the names of results; keeps nothing that grows with the run.
class DryRun : public command::CommandSink {
 public:
  explicit DryRun(const std::vector<TensorSpec>& tensors) : tensors_(tensors) {}

  void issue(command::Command) override { ++commands_; }
  void wait(const std::vector<command::ByteRange>&) override {}
  void begin_region(std::string_view) override {}
  void end_region(std::string_view) override {}
  void observe(std::string_view name, const command::TensorHandle& handle) override {
    for (const TensorSpec& tensor : tensors_) {
      if (tensor.name == name) {
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
  const std::vector<TensorSpec>& tensors_;
  std::map<std::string, command::TensorHandle> observed_;
  std::uint64_t commands_ = 0;
};

std::vector<tl::Tensor> bound_tensors(tl::Context& context, const std::vector<TensorSpec>& tensors,
                                      const std::vector<command::Address>& addresses) {
  std::vector<tl::Tensor> bound;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    bound.push_back(context.ref(addresses[i], tensors[i].shape, tensors[i].dtype, tensors[i].name));
  }
  return bound;
}

}  // namespace

tl::Target make_target(const arch::TopologyConfig& topology) {
  tl::Target target;
  target.scratch_bytes = topology.pe.tcm.scratch_bytes;
  target.tcm_bytes = topology.pe.tcm.bytes;
  target.hbm_bytes = topology.hbm.bytes;
  target.tile_m = topology.pe.gemm.tile_m;
  target.tile_k = topology.pe.gemm.tile_k;
  target.tile_n = topology.pe.gemm.tile_n;
  target.math_head_from_hbm = topology.pe.scheduler.math_head_from_hbm;
  return target;
}

std::vector<command::Address> place(const std::vector<TensorSpec>& tensors,
                                    std::uint64_t hbm_bytes) {
  std::vector<command::Address> addresses;
  std::string list;
  command::Address end = 0;
  for (const TensorSpec& tensor : tensors) {
    const command::Address begin = command::align_up(end, command::kHbmTensorAlignment);
    const command::TensorHandle handle = command::make_handle(0, begin, tensor.shape, tensor.dtype,
                                                              command::Space::hbm, tensor.name);
    addresses.push_back(begin);
    end = handle.range().end;
    list += fmt::format("{}{} {} bytes at {:#x}", list.empty() ? "" : ", ", tensor.name,
                        handle.bytes(), begin);
  }
  if (end > hbm_bytes) {
    throw InputError(
        fmt::format("the kernel's tensors need {} bytes of HBM and there are {}: {}; choose "
                    "smaller tensors or enlarge hbm.bytes",
                    end, hbm_bytes, list));
  }
  return addresses;
}

Launch::Launch(const kernels::Kernel& kernel, const Settings& settings,
               const arch::TopologyConfig& topology)
    : kernel_(kernel),
      parameters_(kernel.name, kernel.parameters, settings),
      target_(make_target(topology)),
      instance_(kernel_.make(parameters_, target_)),
      addresses_(place(instance_.tensors, topology.hbm.bytes)) {
  if (instance_.tiles == 0) {
    throw InputError(
        fmt::format("kernel {}: its Instance has 0 tiles; give at least 1", kernel.name));
  }
  DryRun dry_run(instance_.tensors);
  tl::Context context(target_, dry_run, recipes());
  try {
    instance_.body(context, bound_tensors(context, instance_.tensors, addresses_));
  } catch (const tl::ScratchExhausted& error) {
    throw InputError(fmt::format("{}: {}, or enlarge pe.tcm.scratch_bytes", title(), error.what()),
                     error.detail());
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", title(), error.what()), error.detail());
  }
  commands_ = dry_run.commands();
  scratch_peak_bytes_ = context.scratch_peak_bytes();
}

const tl::RecipeTable& Launch::recipes() const {
  return instance_.recipes ? *instance_.recipes : tl::builtin_recipes();
}

void Launch::issue(command::CommandSink& sink) const {
  tl::Context context(target_, sink, recipes());
  instance_.body(context, bound_tensors(context, instance_.tensors, addresses_));
}

std::vector<command::ByteRange> Launch::inputs() const {
  std::vector<command::ByteRange> ranges;
  for (std::size_t i = 0; i < addresses_.size(); ++i) {
    const TensorSpec& tensor = instance_.tensors[i];
    if (tensor.direction != kernels::Direction::in) continue;
    const command::Address begin = addresses_[i];
    command::add_range(
        ranges,
        command::make_handle(0, begin, tensor.shape, tensor.dtype, command::Space::hbm).range());
  }
  return ranges;
}

std::string Launch::title(std::string_view without) const {
  std::string title = kernel_.name;
  for (const auto& [name, value] : parameters_.values()) {
    if (!value.empty() && name != without) title += fmt::format(" {}={}", name, value);
  }
  return title;
}

}  // namespace kernbench::runtime
