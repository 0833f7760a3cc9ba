// SPDX-License-Identifier: Apache-2.0
#include "model/arch/plan.hpp"

#include <algorithm>

#include "tlm_if/command/rounding.hpp"

namespace kernbench::arch {
namespace {

using command::Address;
using command::ceil_div;
using command::Index;
using command::OperandName;
using command::OpSpec;
using command::Scope;
using command::TensorHandle;

Slice slice_of(const TensorHandle& handle, OperandName name, Index row, Index col, Index rows,
               Index cols) {
  const Index offset = row * handle.row_stride + col * handle.col_stride;
  return {name,
          handle.dtype,
          handle.addr + command::bytes_of(handle.dtype, static_cast<std::uint64_t>(offset)),
          rows,
          cols,
          handle.row_stride,
          handle.col_stride};
}

Slice whole(const TensorHandle& handle, OperandName name) {
  return slice_of(handle, name, 0, 0, handle.shape.rows(), handle.shape.cols());
}

// A tile as it is stored in a tile buffer: without gaps, in the order in which its memory rows
// arrive.
Slice packed(Slice slice, Address addr) {
  slice.addr = addr;
  if (slice.col_stride == 1) {
    slice.row_stride = slice.cols;
  } else {
    slice.row_stride = 1;
    slice.col_stride = slice.rows;
  }
  return slice;
}

// `other` of a tile op: (M, N) by tile, (N,) by tile_n, (M, 1) by tile_m, one entry whole (R4.6).
Slice sliced_by_tile(const TensorHandle& handle, OperandName name, const Tile& tile) {
  const bool by_row = handle.shape.rows() > 1;
  const bool by_col = handle.shape.cols() > 1;
  return slice_of(handle, name, by_row ? tile.row : 0, by_col ? tile.col : 0, by_row ? tile.m : 1,
                  by_col ? tile.n : 1);
}

}  // namespace

Plan::Plan(const command::Command& command, const GemmConfig& config)
    : ops_(command::ops_of(command)),
      dma_read_(std::get_if<command::DmaReadCmd>(&command)),
      dma_write_(std::get_if<command::DmaWriteCmd>(&command)),
      send_(std::get_if<command::IpcqSendCmd>(&command)),
      recv_(std::get_if<command::IpcqRecvCmd>(&command)) {
  const auto count = static_cast<std::int32_t>(ops_.size());
  for (std::int32_t i = 0; i < count; ++i) {
    if (ops_[static_cast<std::size_t>(i)].kind == command::OpKind::gemm) loop_op_ = i;
  }
  if (loop_op_ >= 0) {
    plan_gemm(config);
  } else if (std::holds_alternative<command::CompositeCmd>(command) && count > 0 &&
             command::touches_hbm(ops_[0])) {
    loop_op_ = 0;
    plan_head(config);
  } else {
    prologue_ = count;  // R5.1
    return;
  }
  prologue_ = loop_op_;
  for (std::int32_t i = loop_op_ + 1; i < count; ++i) {
    switch (ops_[static_cast<std::size_t>(i)].scope) {
      case Scope::k_tile:
        ++k_tile_count_;
        break;
      case Scope::output_tile:
        ++output_tile_count_;
        break;
      case Scope::kernel:
        ++postloop_count_;
        break;
    }
  }
}

void Plan::plan_gemm(const GemmConfig& config) {
  const OpSpec& gemm = loop_op();
  const TensorHandle& a = *gemm.operand(OperandName::a);
  const TensorHandle& b = *gemm.operand(OperandName::b);
  tile_m_ = config.tile_m;
  tile_k_ = config.tile_k;
  tile_n_ = config.tile_n;
  m_ = static_cast<Index>(gemm.extra(command::ExtraName::m)->bits);
  k_ = static_cast<Index>(gemm.extra(command::ExtraName::k)->bits);
  n_ = static_cast<Index>(gemm.extra(command::ExtraName::n)->bits);
  m_tiles_ = ceil_div(m_, tile_m_);
  n_tiles_ = ceil_div(n_, tile_n_);
  k_tiles_ = ceil_div(k_, tile_k_);
  streams_a_ = !a.pinned();
  streams_b_ = !b.pinned();
  writes_back_ = !gemm.out.pinned();
  const auto tile_bytes = [](const TensorHandle& handle, Index rows, Index cols) {
    return command::bytes_of(handle.dtype, static_cast<std::uint64_t>(rows * cols));
  };
  if (streams_a_)
    streamed_tile_bytes_ += tile_bytes(a, std::min(m_, tile_m_), std::min(k_, tile_k_));
  if (streams_b_)
    streamed_tile_bytes_ += tile_bytes(b, std::min(k_, tile_k_), std::min(n_, tile_n_));
}

void Plan::plan_head(const GemmConfig& config) {
  const OpSpec& op = loop_op();
  const command::Shape& shape = (op.operands.empty() ? op.out : op.operands[0].handle).shape;
  streams_head_ = true;
  tile_m_ = config.tile_m;
  tile_n_ = config.tile_n;
  m_ = shape.rows();
  n_ = shape.cols();
  m_tiles_ = ceil_div(m_, tile_m_);
  n_tiles_ = ceil_div(n_, tile_n_);
  k_tiles_ = 1;
  writes_back_ = !op.out.pinned();
  for (const command::Operand& operand : op.operands) {
    if (operand.handle.pinned()) continue;
    ++head_reads_;
    streamed_tile_bytes_ += loop_slice(operand.handle, operand.name, tile(0)).bytes();
  }
}

bool Plan::splits_reduction() const {
  return streams_head_ && n_tiles_ > 1 &&
         command::op_info(loop_op().kind).shape == command::OpShape::reduce_row;
}

StageSpec Plan::transfer() const {
  StageSpec stage;
  if (send_ != nullptr) {
    stage.kind = StageKind::send;
    stage.operands.push_back(whole(send_->src, OperandName::src));
    stage.bytes = stage.operands[0].bytes();
    stage.ipcq = send_->to;
    return stage;
  }
  stage.has_out = true;
  if (recv_ != nullptr) {
    stage.kind = StageKind::recv;
    stage.out = whole(recv_->dst, OperandName::out);
    stage.bytes = stage.out.bytes();
    stage.ipcq = recv_->from;
    return stage;
  }
  const TensorHandle& src = dma_read_ != nullptr ? dma_read_->src : dma_write_->src;
  const TensorHandle& dst = dma_read_ != nullptr ? dma_read_->dst : dma_write_->dst;
  stage.kind = dma_read_ != nullptr ? StageKind::dma_read : StageKind::dma_write;
  stage.operands.push_back(whole(src, OperandName::src));
  stage.out = whole(dst, OperandName::out);
  stage.bytes = stage.out.bytes();
  return stage;
}

Tile Plan::tile(std::int64_t number) const {
  Tile tile;
  tile.number = number;
  // Divides only if there are several tiles, since a decode's gemms have one tile.
  const std::int64_t k = k_tiles_ == 1 ? 0 : number % k_tiles_;
  const std::int64_t output_tile = k_tiles_ == 1 ? number : number / k_tiles_;
  const std::int64_t n = n_tiles_ == 1 ? 0 : output_tile % n_tiles_;
  const std::int64_t m = n_tiles_ == 1 ? output_tile : output_tile / n_tiles_;
  tile.index = {static_cast<std::int32_t>(m), static_cast<std::int32_t>(n),
                streams_head_ ? -1 : static_cast<std::int32_t>(k)};
  tile.row = m * tile_m_;
  tile.col = n * tile_n_;
  tile.depth = k * tile_k_;
  tile.m = std::min(tile_m_, m_ - tile.row);
  tile.n = std::min(tile_n_, n_ - tile.col);
  tile.k = std::min(tile_k_, k_ - tile.depth);
  tile.first_k = k == 0;
  tile.last_k = k == k_tiles_ - 1;
  return tile;
}

Slice Plan::a_slice(const Tile& tile) const {
  return slice_of(*loop_op().operand(OperandName::a), OperandName::a, tile.row, tile.depth, tile.m,
                  tile.k);
}
Slice Plan::b_slice(const Tile& tile) const {
  return slice_of(*loop_op().operand(OperandName::b), OperandName::b, tile.depth, tile.col, tile.k,
                  tile.n);
}
Slice Plan::out_slice(const Tile& tile) const {
  return loop_slice(loop_op().out, OperandName::out, tile);
}

// Ops of different scopes may alternate.
std::int32_t Plan::op_in_loop(Scope scope, std::int32_t i) const {
  std::int32_t op_index = loop_op_ + 1;
  for (std::int32_t seen = 0;; ++op_index) {
    if (ops_[static_cast<std::size_t>(op_index)].scope == scope && seen++ == i) return op_index;
  }
}

StageSpec Plan::kernel_math(std::int32_t op_index) const {
  const OpSpec& op = ops_[static_cast<std::size_t>(op_index)];
  StageSpec stage;
  stage.kind = StageKind::math;
  stage.op = op.kind;
  stage.op_index = op_index;
  stage.extras = op.extras;
  for (const command::Operand& operand : op.operands) {
    stage.operands.push_back(whole(operand.handle, operand.name));
    stage.elements = std::max(stage.elements, stage.operands[stage.operands.size() - 1].elements());
  }
  if (op.has_out) {
    stage.has_out = true;
    stage.out = whole(op.out, OperandName::out);
    stage.elements = std::max(stage.elements, stage.out.elements());
  }
  return stage;
}

StageSpec Plan::tile_stage(StageKind kind, const Tile& tile) const {
  StageSpec stage;
  stage.kind = kind;
  stage.op = loop_op().kind;
  stage.op_index = loop_op_;
  stage.tile = tile.index;
  stage.m = tile.m;
  stage.n = tile.n;
  stage.k = tile.k;
  return stage;
}

StageSpec Plan::accumulator_math(const Tile& tile, Scope scope, std::int32_t i) const {
  const std::int32_t op_index = op_in_loop(scope, i);
  const OpSpec& op = ops_[static_cast<std::size_t>(op_index)];
  StageSpec stage = tile_stage(StageKind::math, tile);
  stage.op = op.kind;
  stage.scope = scope;
  stage.op_index = op_index;
  stage.extras = op.extras;
  for (const command::Operand& operand : op.operands) {
    if (operand.name == OperandName::src) continue;  // the accumulator is not memory (R4.6)
    stage.operands.push_back(sliced_by_tile(operand.handle, operand.name, tile));
  }
  stage.elements = static_cast<std::uint64_t>(tile.m * tile.n);  // R6.9
  return stage;
}

StageSpec Plan::read_slice(const Tile& tile, const Slice& slice, Address buffer) const {
  StageSpec stage = tile_stage(StageKind::dma_read, tile);
  stage.operands.push_back(slice);
  stage.has_out = true;
  stage.out = packed(slice, buffer);
  stage.bytes = slice.bytes();
  return stage;
}

StageSpec Plan::read_a(const Tile& tile, Address buffer) const {
  return read_slice(tile, a_slice(tile), buffer);
}

StageSpec Plan::read_b(const Tile& tile, Address buffer) const {
  return read_slice(tile, b_slice(tile), buffer + (streams_a_ ? a_slice(tile).bytes() : 0));
}

StageSpec Plan::fetch(const Tile& tile, Address buffer) const {
  StageSpec stage = tile_stage(StageKind::fetch, tile);
  Slice a = a_slice(tile);
  Slice b = b_slice(tile);
  if (streams_b_) b = packed(b, buffer + (streams_a_ ? a.bytes() : 0));
  if (streams_a_) a = packed(a, buffer);
  stage.operands.push_back(a);
  stage.operands.push_back(b);
  stage.bytes = a.bytes() + b.bytes();
  return stage;
}

StageSpec Plan::gemm(const Tile& tile) const {
  StageSpec stage = tile_stage(StageKind::gemm, tile);
  stage.elements = static_cast<std::uint64_t>(tile.m * tile.n * tile.k);
  return stage;
}

// The part of a tensor that belongs to a chunk, or the part of the gemm's out that belongs to a
// tile: the rectangle itself, or, for a vector with one entry per row or column, the matching
// entries.
Slice Plan::loop_slice(const TensorHandle& handle, OperandName name, const Tile& tile) const {
  switch (command::spread_of(loop_op(), name, handle.shape)) {
    case command::Spread::one_a_row:
      return handle.shape.cols() == 1 ? slice_of(handle, name, tile.row, 0, tile.m, 1)
                                      : slice_of(handle, name, 0, tile.row, 1, tile.m);
    case command::Spread::one_a_column:
      return slice_of(handle, name, 0, tile.col, 1, tile.n);
    case command::Spread::matrix:
      break;
  }
  return slice_of(handle, name, tile.row, tile.col, tile.m, tile.n);
}

StageSpec Plan::read_head(const Tile& tile, std::int32_t i, Address buffer) const {
  Slice slice;
  for (const command::Operand& operand : loop_op().operands) {
    if (operand.handle.pinned()) continue;
    slice = loop_slice(operand.handle, operand.name, tile);
    if (i-- == 0) break;
    buffer += slice.bytes();
  }
  return read_slice(tile, slice, buffer);
}

StageSpec Plan::head(const Tile& tile, Address buffer) const {
  const OpSpec& op = loop_op();
  StageSpec stage = tile_stage(StageKind::math, tile);
  stage.extras = op.extras;
  stage.row = tile.row;
  stage.col = tile.col;
  for (const command::Operand& operand : op.operands) {
    Slice slice = loop_slice(operand.handle, operand.name, tile);
    if (!operand.handle.pinned()) {
      slice = packed(slice, buffer);
      buffer += slice.bytes();
    }
    stage.operands.push_back(slice);
    stage.elements = std::max(stage.elements, slice.elements());
  }
  stage.has_out = true;
  stage.out = out_slice(tile);
  stage.elements = std::max(stage.elements, stage.out.elements());
  return stage;
}

StageSpec Plan::store(const Tile& tile) const {
  StageSpec stage = tile_stage(StageKind::store, tile);
  stage.has_out = true;
  stage.out = out_slice(tile);
  stage.bytes = stage.out.bytes();
  return stage;
}

StageSpec Plan::write_out(const Tile& tile) const {
  StageSpec stage = store(tile);
  stage.kind = StageKind::dma_write;
  return stage;
}

}  // namespace kernbench::arch
