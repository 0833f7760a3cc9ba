// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/kernel.hpp"
#include "runtime/launch/safetensors.hpp"

namespace kernbench::runtime {

/// Entries of its domain for every input of `tensors`, rounded to its dtype. A tensor's entries
/// depend on the seed, its name and their position only: not on the other tensors, the machine or
/// the library.
kernels::HostTensors synthetic_inputs(const std::vector<kernels::TensorSpec>& tensors,
                                      std::uint64_t seed);

/// The inputs of `tensors` as found in `given`, whose names, dtypes and shapes must be theirs; axes
/// of size 1 may be missing. Entries are of the tensor's domain. `source` names the file in
/// messages. Throws InputError.
kernels::HostTensors checked_inputs(const std::vector<kernels::TensorSpec>& tensors,
                                    FileTensors given, const std::string& source);

}  // namespace kernbench::runtime
