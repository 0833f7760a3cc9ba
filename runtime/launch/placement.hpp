// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/kernel.hpp"
#include "model/arch/config.hpp"
#include "tlm_if/command/address_map.hpp"

namespace kernbench::runtime {

/// The part of a tensor that one program holds, in the HBM of its PE.
struct Part {
  std::uint32_t pe = 0;
  command::Index program = 0;
  kernels::Shard shard;  ///< `cols` resolved
  command::TensorHandle handle;
};

/// A tensor of the host, distributed over PEs.
struct PlacedTensor {
  kernels::TensorSpec spec;
  std::vector<Part> parts;  ///< by program; only programs that hold something

  /// Null: the program holds nothing.
  const Part* part_of(command::Index program) const;
};
/// Shared by the launches that take it.
using DeviceTensor = std::shared_ptr<const PlacedTensor>;

/// Allocates the HBM of every PE: each tensor at the next multiple of 4096 of the PE's own bytes
/// (R3.4). With an interleaved HBM the own bytes of a PE are an equal part of the stack.
class DeviceMemory {
 public:
  explicit DeviceMemory(const arch::TopologyConfig& topology);

  /// Program i runs on PE pes[i]. Throws InputError for a shard that is not inside its tensor, or,
  /// with the list of what a PE holds, if its HBM is too small. Nothing is placed then.
  std::vector<DeviceTensor> place(const std::vector<kernels::TensorSpec>& specs,
                                  const std::vector<std::uint32_t>& pes);

 private:
  struct Area {
    command::Address next = 0;
    command::ByteRange bytes;
    std::string list;  ///< what it holds, for messages
  };
  DeviceTensor place_one(const kernels::TensorSpec& spec, const std::vector<std::uint32_t>& pes);
  void check() const;

  std::vector<Area> areas_;  // by PE
};

}  // namespace kernbench::runtime
