// SPDX-License-Identifier: Apache-2.0
#include "model/arch/stage.hpp"

#include <array>

namespace kernbench::arch {

std::string_view to_string(StageKind kind) {
  static constexpr std::array<std::string_view, 12> kNames{
      "dispatch", "queue_stall", "wait",  "admit_stall", "dma_read", "fetch",
      "gemm",     "math",        "store", "dma_write",   "send",     "recv"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view to_string(Engine engine) {
  static constexpr std::array<std::string_view, kEngines> kNames{
      "cpu", "scheduler", "dma_rd", "dma_wr", "tcm", "gemm", "math", "ipcq"};
  return kNames[static_cast<std::size_t>(engine)];
}

command::ByteRange Slice::range() const {
  const command::Index last = (rows - 1) * row_stride + (cols - 1) * col_stride;
  return {addr, addr + command::bytes_of(dtype, static_cast<std::uint64_t>(last + 1))};
}

command::Address Slice::element_address(command::Index row, command::Index col) const {
  const command::Index offset = row * row_stride + col * col_stride;
  return addr + command::bytes_of(dtype, static_cast<std::uint64_t>(offset));
}

const Slice* StageSpec::operand(command::OperandName name) const {
  for (const Slice& slice : operands) {
    if (slice.name == name) return &slice;
  }
  return nullptr;
}

}  // namespace kernbench::arch
