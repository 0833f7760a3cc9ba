// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/pe_bench.hpp"
#include "tlm_if/command/commands.hpp"
#include "tlm_if/command/op_table.hpp"

// Commands for tests of the model, made by hand and issued to the raw sink, and a PE on which their
// times are whole numbers of ns.

namespace kernbench::test {

/// 1 GHz; every dispatch 10 ns; HBM 64 B/ns without latency, one channel each way without setup;
/// TCM 64 B/ns; gemm tiles of 8x32x32.
///
/// A tile of f16 takes: dma a 8, dma b 32, FETCH 40, GEMM 1*2*2 + 6 = 10, an op on the accumulator
/// 256/64 = 4, STORE 8, dma_write 8.
inline arch::TopologyConfig unit_pe() {
  arch::TopologyConfig topology = single_pe();
  topology.pe.pe_cost_model.fixed_cycles = 10;
  topology.pe.pe_cost_model.cycles_per_byte = arch::Rational(0);
  topology.pe.dma.setup_cycles = 0;
  topology.pe.tcm.bytes_per_cycle = 64;
  topology.pe.gemm.tile_m = 8;
  topology.pe.gemm.tile_k = 32;
  topology.pe.gemm.tile_n = 32;
  topology.pe.gemm.fill_cycles = 6;
  topology.pe.math.lanes = 64;
  topology.hbm.gbps = arch::Rational(64);
  topology.hbm.latency_ns = arch::Rational(0);
  return topology;
}

// ---- handles: dense and row-major unless transposed ---------------------------------------------

/// `offset` bytes into TCM.
inline command::TensorHandle tcm(command::Address offset, const command::Shape& shape,
                                 command::DType dtype = command::DType::f16) {
  return command::make_handle(offset + 1, command::kTcmBase + offset, shape, dtype,
                              command::Space::tcm);
}
inline command::TensorHandle hbm(command::Address addr, const command::Shape& shape,
                                 command::DType dtype = command::DType::f16) {
  return command::make_handle(addr + 1, addr, shape, dtype, command::Space::hbm);
}
/// A (rows, cols) view whose columns are dense: a tile of whole columns is one run of bytes.
inline command::TensorHandle transposed(const command::TensorHandle& handle) {
  return command::view_transposed(handle, handle.id);
}

// ---- ops and commands ---------------------------------------------------------------------------

/// A kernel-scope op; its operands are named by the op table.
inline command::OpSpec op(command::OpKind kind, std::initializer_list<command::TensorHandle> inputs,
                          const command::TensorHandle& out) {
  command::OpSpec spec;
  spec.kind = kind;
  std::size_t i = 0;
  for (const command::TensorHandle& input : inputs) {
    spec.operands.push_back({command::op_info(kind).operands[i++], input});
  }
  spec.has_out = true;
  spec.out = out;
  return spec;
}
inline command::OpSpec fill(const command::TensorHandle& out, float value = 0) {
  command::OpSpec spec = op(command::OpKind::fill, {}, out);
  spec.extras = {command::Extra::f32(command::ExtraName::value, value)};
  return spec;
}
inline command::OpSpec copy(const command::TensorHandle& src, const command::TensorHandle& out) {
  return op(command::OpKind::copy, {src}, out);
}
inline command::OpSpec gemm(const command::TensorHandle& a, const command::TensorHandle& b,
                            const command::TensorHandle& out) {
  using command::Extra;
  using command::ExtraName;
  command::OpSpec spec = op(command::OpKind::gemm, {a, b}, out);
  spec.extras = {Extra::u32(ExtraName::m, static_cast<std::uint32_t>(a.shape.rows())),
                 Extra::u32(ExtraName::k, static_cast<std::uint32_t>(a.shape.cols())),
                 Extra::u32(ExtraName::n, static_cast<std::uint32_t>(b.shape.cols()))};
  return spec;
}
/// acc + other, on the accumulator of `out`.
inline command::OpSpec add(const command::TensorHandle& out, const command::TensorHandle& other) {
  command::OpSpec spec = op(command::OpKind::add, {}, out);
  spec.scope = command::Scope::output_tile;
  spec.operands = {{command::OperandName::src, out}, {command::OperandName::other, other}};
  return spec;
}
/// acc * value.
inline command::OpSpec scale(command::Scope scope, float value = 2) {
  command::OpSpec spec;
  spec.kind = command::OpKind::scale;
  spec.scope = scope;
  spec.extras = {command::Extra::f32(command::ExtraName::value, value)};
  return spec;
}
inline command::CompositeCmd composite(std::vector<command::OpSpec> ops,
                                       std::vector<command::TensorHandle> rw_handles = {}) {
  return {{0}, std::move(ops), std::move(rw_handles)};
}
/// A tensor that MATH processes in `time` ns (64 entries each) on unit_pe.
inline command::TensorHandle ns_of_math(command::Address offset, command::Index time) {
  return tcm(offset, {time, 64});
}

// ---- the op log ---------------------------------------------------------------------------------

/// Start and end, in ps.
using Span = std::pair<std::uint64_t, std::uint64_t>;
inline Span ns(std::uint64_t start, std::uint64_t end) { return {start * 1000, end * 1000}; }

inline std::vector<OpLogRow> rows_of(const BenchResult& result, std::int64_t cmd,
                                     const std::string& stage) {
  return select(result.rows,
                [&](const OpLogRow& row) { return row.cmd == cmd && row.stage == stage; });
}
/// In the order of the op log, which is that of their starts.
inline std::vector<Span> spans(const BenchResult& result, std::int64_t cmd,
                               const std::string& stage) {
  std::vector<Span> found;
  for (const OpLogRow& row : rows_of(result, cmd, stage)) found.emplace_back(row.start, row.end);
  return found;
}
/// The work of a command on engines: neither dispatch nor standing still.
inline std::vector<OpLogRow> work_of(const BenchResult& result, std::int64_t cmd) {
  return select(result.rows, [&](const OpLogRow& row) {
    return row.cmd == cmd && row.engine != "cpu" && row.engine != "scheduler";
  });
}
/// From the start of a command's first stage until the data of its last is complete.
inline Span work_span(const BenchResult& result, std::int64_t cmd) {
  Span span{UINT64_MAX, 0};
  for (const OpLogRow& row : work_of(result, cmd)) {
    span.first = std::min(span.first, row.start);
    span.second = std::max(span.second, row.done);
  }
  return span;
}

}  // namespace kernbench::test
