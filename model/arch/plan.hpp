// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "model/arch/config.hpp"
#include "model/arch/stage.hpp"

namespace kernbench::arch {

/// One (m, n, k) tile of a gemm at its true size, or one chunk of a streamed MATH head (k = 0).
struct Tile {
  std::int64_t number = 0;  ///< m outer, n, k inner (R5.2)
  TileIndex index;
  command::Index row = 0, col = 0, depth = 0;  ///< first row, column, k
  command::Index m = 0, n = 0, k = 0;          ///< extent
  bool first_k = true;
  bool last_k = true;
};

/// The stages of a command, as a pure function of the command and the tile sizes (R5.6). A gemm may
/// have millions of tiles, so tiles are made on demand. Position and scope of an op say when it
/// runs (contract 5); the plan distinguishes no op kind but gemm (R1.2).
///
/// The loop is driven by the gemm, or by op 0 of a gemm-less command with a tensor in HBM (R5.5).
class Plan {
 public:
  Plan() = default;
  /// Refers to `command`, which must outlive the plan.
  Plan(const command::Command& command, const GemmConfig& config);

  /// A DmaReadCmd, DmaWriteCmd (R6.0), IpcqSendCmd or IpcqRecvCmd: its one stage.
  bool is_transfer() const {
    return dma_read_ != nullptr || dma_write_ != nullptr || send_ != nullptr || recv_ != nullptr;
  }
  StageSpec transfer() const;

  /// MATH stages before the loop (all of them, if nothing drives one) and after it.
  std::int32_t prologue_stages() const { return prologue_; }
  StageSpec prologue(std::int32_t i) const { return kernel_math(i); }
  std::int32_t epilogue_stages() const { return postloop_count_; }
  StageSpec epilogue(std::int32_t i) const {
    return kernel_math(op_in_loop(command::Scope::kernel, i));
  }

  std::int64_t m_tiles() const { return m_tiles_; }
  std::int64_t n_tiles() const { return n_tiles_; }
  std::int64_t k_tiles() const { return k_tiles_; }
  std::int64_t tiles() const { return m_tiles_ * n_tiles_ * k_tiles_; }
  Tile tile(std::int64_t number) const;

  bool streams_a() const { return streams_a_; }
  bool streams_b() const { return streams_b_; }
  bool writes_back() const { return writes_back_; }
  /// Bytes of a tile buffer that the largest tile takes.
  std::uint64_t streamed_tile_bytes() const { return streamed_tile_bytes_; }
  /// Streamed bytes land in a tile buffer at `buffer`: the A tile first, then the B tile.
  StageSpec read_a(const Tile& tile, command::Address buffer) const;
  StageSpec read_b(const Tile& tile, command::Address buffer) const;
  StageSpec fetch(const Tile& tile, command::Address buffer) const;
  StageSpec gemm(const Tile& tile) const;
  std::int32_t k_tile_ops() const { return k_tile_count_; }
  StageSpec k_tile_op(const Tile& tile, std::int32_t i) const {
    return accumulator_math(tile, command::Scope::k_tile, i);
  }
  std::int32_t output_tile_ops() const { return output_tile_count_; }
  StageSpec output_tile_op(const Tile& tile, std::int32_t i) const {
    return accumulator_math(tile, command::Scope::output_tile, i);
  }
  StageSpec store(const Tile& tile) const;
  StageSpec write_out(const Tile& tile) const;

  /// A MATH head streams in chunks of tile_m rows x tile_n columns (R5.5). The stages of a chunk
  /// are a read of each operand in HBM, the op, and write_out() if its out is in HBM.
  bool streams_head() const { return streams_head_; }
  /// `op` is an element of the command's ops.
  bool is_loop_op(const command::OpSpec& op) const { return loop_op_ >= 0 && &op == &loop_op(); }
  std::int32_t head_reads() const { return head_reads_; }
  StageSpec read_head(const Tile& tile, std::int32_t i, command::Address buffer) const;
  StageSpec head(const Tile& tile, command::Address buffer) const;
  /// True for a reduction whose rows do not fit a chunk; it cannot stream.
  bool splits_reduction() const;

 private:
  const command::OpSpec& loop_op() const { return ops_[static_cast<std::size_t>(loop_op_)]; }
  /// Index in the command's ops of the i-th op of that scope after the one that drives the loop.
  std::int32_t op_in_loop(command::Scope scope, std::int32_t i) const;
  void plan_gemm(const GemmConfig& config);
  void plan_head(const GemmConfig& config);
  Slice loop_slice(const command::TensorHandle& handle, command::OperandName name,
                   const Tile& tile) const;
  StageSpec read_slice(const Tile& tile, const Slice& slice, command::Address buffer) const;
  StageSpec kernel_math(std::int32_t op_index) const;
  StageSpec accumulator_math(const Tile& tile, command::Scope scope, std::int32_t i) const;
  StageSpec tile_stage(StageKind kind, const Tile& tile) const;
  Slice a_slice(const Tile& tile) const;
  Slice b_slice(const Tile& tile) const;
  Slice out_slice(const Tile& tile) const;

  command::Ops ops_;
  const command::DmaReadCmd* dma_read_ = nullptr;
  const command::DmaWriteCmd* dma_write_ = nullptr;
  const command::IpcqSendCmd* send_ = nullptr;
  const command::IpcqRecvCmd* recv_ = nullptr;
  std::int32_t loop_op_ = -1;
  std::int32_t prologue_ = 0;
  std::int32_t postloop_count_ = 0;
  std::int32_t k_tile_count_ = 0;
  std::int32_t output_tile_count_ = 0;
  command::Index tile_m_ = 1, tile_k_ = 1, tile_n_ = 1;
  command::Index m_ = 0, k_ = 0, n_ = 0;
  std::int64_t m_tiles_ = 0, n_tiles_ = 0, k_tiles_ = 0;
  bool streams_a_ = false, streams_b_ = false, writes_back_ = false;
  bool streams_head_ = false;
  std::int32_t head_reads_ = 0;
  std::uint64_t streamed_tile_bytes_ = 0;
};

}  // namespace kernbench::arch
