// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "tlm_if/command/commands.hpp"

namespace kernbench::arch {

/// The kinds of op-log rows (R10.2).
enum class StageKind : std::uint8_t {
  dispatch,
  queue_stall,
  wait,
  admit_stall,
  dma_read,
  fetch,
  gemm,
  math,
  store,
  dma_write,
  send,
  recv,
};
std::string_view to_string(StageKind kind);

/// The engine of a row (R10.2). dma_rd and dma_wr also have a channel.
enum class Engine : std::uint8_t { cpu, scheduler, dma_rd, dma_wr, tcm, gemm, math, ipcq };
inline constexpr int kEngines = 8;
std::string_view to_string(Engine engine);

/// A rectangle of entries in memory: the part of an operand that a stage reads or writes. Strides
/// are in elements; one of them is 1.
struct Slice {
  command::OperandName name = command::OperandName::src;
  command::DType dtype = command::DType::f16;
  command::Address addr = 0;
  command::Index rows = 0;
  command::Index cols = 0;
  command::Index row_stride = 0;
  command::Index col_stride = 1;

  std::uint64_t elements() const { return static_cast<std::uint64_t>(rows * cols); }
  std::uint64_t bytes() const { return command::bytes_of(dtype, elements()); }
  /// First to last byte.
  command::ByteRange range() const;
  command::Address element_address(command::Index row, command::Index col) const;
};

/// A tile's place in the grid; -1 where an index does not apply.
struct TileIndex {
  std::int32_t m = -1;
  std::int32_t n = -1;
  std::int32_t k = -1;
};

/// One complete piece of work for one engine; an engine needs nothing else of the command (R1.3).
struct StageSpec {
  StageKind kind = StageKind::math;
  command::OpKind op = command::OpKind::gemm;
  command::Scope scope = command::Scope::kernel;
  std::int32_t op_index = -1;  ///< in the command's ops
  TileIndex tile;
  /// Inputs in memory, by name. DMA: the source and the destination (`out`) slice. IPCQ: the slice
  /// in TCM.
  InlineVector<Slice, 3> operands;
  bool has_out = false;
  Slice out;
  InlineVector<command::Extra, 3> extras;
  /// Extent of the (m, n, k) tile for FETCH, GEMM, STORE and ops on the accumulator.
  command::Index m = 0, n = 0, k = 0;
  /// Position of a chunk of a streamed MATH head in the whole tensor (R5.5); mask_cols counts from
  /// there.
  command::Index row = 0, col = 0;
  /// IPCQ: the peer and the channel.
  command::IpcqChannel ipcq;
  /// Bytes moved (DMA, FETCH, STORE, IPCQ) and entries processed (MATH: n_elements, GEMM: m n k).
  std::uint64_t bytes = 0;
  std::uint64_t elements = 0;

  const Slice* operand(command::OperandName name) const;
  bool on_accumulator() const { return scope != command::Scope::kernel; }
};

}  // namespace kernbench::arch
