// SPDX-License-Identifier: Apache-2.0
#include "runtime/host_access.hpp"

#include <fmt/format.h>

#include <algorithm>

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
  const std::size_t entry_bytes = command::bytes_of(handle.dtype, 1);
  std::vector<std::uint8_t> bytes(handle.bytes());
  for (std::size_t i = 0; i < values.size(); ++i) {
    arch::encode(handle.dtype, static_cast<float>(values[i]), &bytes[i * entry_bytes]);
  }
  access(pe, tlm::TLM_WRITE_COMMAND, handle.addr, bytes);
}

std::vector<double> read_tensor(Pe& pe, const command::TensorHandle& handle) {
  const arch::Slice slice{command::OperandName::src, handle.dtype,        handle.addr,
                          handle.shape.rows(),       handle.shape.cols(), handle.row_stride,
                          handle.col_stride};
  arch::Values values;
  if (handle.pinned()) {
    arch::read_slice(pe.tcm_storage(), slice, values);
  } else {
    std::vector<std::uint8_t> bytes(handle.range().size());
    access(pe, tlm::TLM_READ_COMMAND, handle.addr, bytes);
    arch::Storage storage(handle.range());
    storage.write(handle.addr, bytes.data(), bytes.size());
    arch::read_slice(storage, slice, values);
  }
  return {values.begin(), values.end()};
}

}  // namespace kernbench::runtime
