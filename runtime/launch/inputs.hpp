// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/kernel.hpp"
#include "runtime/launch/safetensors.hpp"

namespace kernbench::runtime {

/// Synthetic entries for every input of `tensors`, in its domain and rounded to its dtype. A
/// tensor's entries depend only on the seed, its name and their position, not on other tensors, the
/// machine or the library.
kernels::HostTensors synthetic_inputs(const std::vector<kernels::TensorSpec>& tensors,
                                      std::uint64_t seed);

/// The inputs of `tensors`, taken from `given`. Names, dtypes and shapes must match, but axes of
/// size 1 may be missing. Entries must be in the tensor's domain. `source` names the file in
/// messages. Throws InputError.
kernels::HostTensors checked_inputs(const std::vector<kernels::TensorSpec>& tensors,
                                    FileTensors given, const std::string& source);

}  // namespace kernbench::runtime
