// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/pe.hpp"
#include "tlm_if/command/tensor_handle.hpp"

namespace kernbench::runtime {

// Host access to a PE's tensors by debug transport through its memory socket, which takes no time.
// Data mode only, and only once the sockets are bound: in or after a module's
// start_of_simulation(), or after sc_start(SC_ZERO_TIME). For PEs in your own design; Host and
// Design do the same for theirs. If the memory moves fewer bytes than requested, the report is
// /kernbench/runtime/host_access.

/// Rounds the entries to the tensor's dtype and writes them. `handle` is row-major in HBM, in the
/// PE's own addresses. `values` has one value per entry, row after row; any other number is an
/// InputError.
void write_tensor(Pe& pe, const command::TensorHandle& handle, const std::vector<double>& values);

/// Appends to `bytes` what write_tensor() makes of `count` entries.
void append_entries(command::DType dtype, const double* values, std::size_t count,
                    std::vector<std::uint8_t>& bytes);
/// Writes them to HBM, in the PE's own addresses.
void write_bytes(Pe& pe, command::Address addr, std::vector<std::uint8_t> bytes);

/// The entries of a tensor in HBM or TCM, row after row.
std::vector<double> read_tensor(Pe& pe, const command::TensorHandle& handle);

}  // namespace kernbench::runtime
