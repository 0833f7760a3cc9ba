// SPDX-License-Identifier: Apache-2.0
#include "runtime/host_access.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "model/arch/numerics.hpp"
#include "tlm_if/command/error.hpp"

namespace kernbench::runtime {
namespace {

constexpr std::size_t kHostAccessBytes = 1u << 20;  // of one debug access

void access(Pe& pe, tlm::tlm_command command, command::Address addr,
            std::vector<std::uint8_t>& bytes) {
  for (std::size_t done = 0; done < bytes.size();) {
    const auto count =
        static_cast<unsigned>(std::min<std::size_t>(bytes.size() - done, kHostAccessBytes));
    tlm::tlm_generic_payload payload;
    payload.set_command(command);
    payload.set_address(pe.config().memory_offset + addr + done);
    payload.set_data_ptr(&bytes[done]);
    payload.set_data_length(count);
    payload.set_streaming_width(count);
    const unsigned moved = pe.memory->transport_dbg(payload);
    if (moved != count) {
      SC_REPORT_ERROR(
          "/kernbench/runtime/host_access",
          fmt::format("the memory of PE {} moved {} of {} bytes at {:#x} in "
                      "transport_dbg; tensors need a memory that moves them all: check that it "
                      "stores data, and its size",
                      pe.index(), moved, count, addr + done)
              .c_str());
      return;
    }
    done += count;
  }
}

}  // namespace

void write_tensor(Pe& pe, const command::TensorHandle& handle, const std::vector<double>& values) {
  if (static_cast<command::Index>(values.size()) != handle.shape.elements()) {
    throw InputError(
        fmt::format("tensor {} {} has {} entries and {} values are given; give one an entry",
                    handle.name, to_string(handle.shape), handle.shape.elements(), values.size()));
  }
  std::vector<std::uint8_t> bytes;
  append_entries(handle.dtype, values.data(), values.size(), bytes);
  write_bytes(pe, handle.addr, std::move(bytes));
}

void append_entries(command::DType dtype, const double* values, std::size_t count,
                    std::vector<std::uint8_t>& bytes) {
  const std::size_t entry_bytes = command::bytes_of(dtype, 1);
  const std::size_t before = bytes.size();
  bytes.resize(before + count * entry_bytes);
  for (std::size_t i = 0; i < count; ++i) {
    arch::encode(dtype, static_cast<float>(values[i]), &bytes[before + i * entry_bytes]);
  }
}

void write_bytes(Pe& pe, command::Address addr, std::vector<std::uint8_t> bytes) {
  access(pe, tlm::TLM_WRITE_COMMAND, addr, bytes);
}

std::vector<double> read_tensor(Pe& pe, const command::TensorHandle& handle) {
  std::vector<std::uint8_t> bytes(handle.range().size());
  if (handle.pinned()) {
    pe.tcm_storage().read(handle.addr, bytes.data(), bytes.size());
  } else {
    access(pe, tlm::TLM_READ_COMMAND, handle.addr, bytes);
  }
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(handle.elements()));
  for (command::Index row = 0; row < handle.shape.rows(); ++row) {
    for (command::Index col = 0; col < handle.shape.cols(); ++col) {
      const auto entry =
          static_cast<std::uint64_t>(row * handle.row_stride + col * handle.col_stride);
      values.push_back(static_cast<double>(
          arch::decode(handle.dtype, &bytes[command::bytes_of(handle.dtype, entry)])));
    }
  }
  return values;
}

}  // namespace kernbench::runtime
