// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/pe.hpp"
#include "tlm_if/command/tensor_handle.hpp"

namespace kernbench::runtime {

// Host access to what a PE computes on: debug transport through its memory socket, without time.
// Data mode only, once the sockets are bound: from start_of_simulation() of a module on, or from
// sc_start(SC_ZERO_TIME) on. For PEs in a design of one's own; Host and Design do the same for
// theirs. A memory that moves fewer bytes than it is asked to is the report
// /kernbench/runtime/host_access.

/// Rounds the entries to the tensor's dtype and writes them. `handle` is row-major in HBM, in the
/// PE's own addresses; `values` has one an entry, row after row; another
/// number of them is an InputError.
void write_tensor(Pe& pe, const command::TensorHandle& handle, const std::vector<double>& values);

/// The bytes that write_tensor() makes of `count` entries, behind those of `bytes`.
void append_entries(command::DType dtype, const double* values, std::size_t count,
                    std::vector<std::uint8_t>& bytes);
/// Writes them to HBM, in the PE's own addresses.
void write_bytes(Pe& pe, command::Address addr, std::vector<std::uint8_t> bytes);

/// The entries of a tensor in HBM or TCM, row after row.
std::vector<double> read_tensor(Pe& pe, const command::TensorHandle& handle);

}  // namespace kernbench::runtime
