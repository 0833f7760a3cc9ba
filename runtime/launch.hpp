// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/kernel.hpp"
#include "model/arch/config.hpp"
#include "tlm_if/command/command_sink.hpp"

namespace kernbench::runtime {

using Settings = std::vector<std::pair<std::string, std::string>>;

/// What the compiler may know of the PE.
tl::Target make_target(const arch::TopologyConfig& topology);

/// HBM addresses of the tensors: in order from 0, each at the next multiple of 4096 (R3.4). Throws
/// InputError with the list if they do not fit `hbm_bytes`.
std::vector<command::Address> place(const std::vector<kernels::TensorSpec>& tensors,
                                    std::uint64_t hbm_bytes);

/// A kernel with its parameters chosen and its tensors placed, for one topology. Its commands have
/// been generated once, so that every refusal of `tl` comes before anything is simulated.
class Launch {
 public:
  /// Throws InputError for bad parameters, tensors that do not fit, and whatever `tl` refuses.
  Launch(const kernels::Kernel& kernel, const Settings& settings,
         const arch::TopologyConfig& topology);

  /// Runs the kernel body: its commands go to `sink`. Any number of times, each alike.
  void issue(command::CommandSink& sink) const;

  const kernels::Kernel& kernel() const { return kernel_; }
  const kernels::Parameters& parameters() const { return parameters_; }
  const kernels::Instance& instance() const { return instance_; }
  const std::vector<command::Address>& addresses() const { return addresses_; }
  /// The bytes of HBM that the input tensors fill before the kernel starts.
  std::vector<command::ByteRange> inputs() const;
  std::uint64_t commands() const { return commands_; }
  std::uint64_t scratch_peak_bytes() const { return scratch_peak_bytes_; }
  /// `gqa_decode variant=opt2 g=8 ..`: every parameter with its value, but for one.
  std::string title(std::string_view without = {}) const;

 private:
  const tl::RecipeTable& recipes() const;

  kernels::Kernel kernel_;
  kernels::Parameters parameters_;
  tl::Target target_;
  kernels::Instance instance_;
  std::vector<command::Address> addresses_;
  std::uint64_t commands_ = 0;
  std::uint64_t scratch_peak_bytes_ = 0;
};

}  // namespace kernbench::runtime
