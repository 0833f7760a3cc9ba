// SPDX-License-Identifier: Apache-2.0
#include "model/arch/operand_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace kernbench::arch {
namespace {

using command::ByteRange;
using command::OperandName;
using command::TensorHandle;

class OperandCheck {
 public:
  OperandCheck(const command::Command& command, const command::AccessSet& accesses,
               const Plan& plan, const PeConfig& config)
      : ops_(command::ops_of(command)),
        plan_(plan),
        config_(config),
        tcm_{command::kTcmBase, command::kTcmBase + config.tcm.bytes},
        all_end_in_tcm_(end_in_tcm(accesses.reads) && end_in_tcm(accesses.writes)) {
    if (const auto* send = std::get_if<command::IpcqSendCmd>(&command)) {
      if (!lies_in_tcm(send->src)) add_outside(OperandName::src, send->src, "load it first");
    } else if (const auto* recv = std::get_if<command::IpcqRecvCmd>(&command)) {
      if (!lies_in_tcm(recv->dst)) {
        add_outside(OperandName::out, recv->dst, "receive into TCM and store that");
      }
    }
    for (const command::OpSpec& op : ops_) check_places(op);
    check_streams();
  }

  std::vector<OperandProblem> take_problems() { return std::move(problems_); }

 private:
  bool end_in_tcm(const std::vector<ByteRange>& ranges) const {
    return std::all_of(ranges.begin(), ranges.end(), [&](const ByteRange& range) {
      return range.begin < tcm_.begin || range.end <= tcm_.end;
    });
  }

  bool lies_in_tcm(const TensorHandle& handle) const {
    return handle.addr >= tcm_.begin && (all_end_in_tcm_ || handle.range().end <= tcm_.end);
  }

  void check_places(const command::OpSpec& op) {
    for (const command::Operand& operand : op.operands) {
      if (lies_in_tcm(operand.handle)) continue;
      if (op.on_accumulator() && operand.name == OperandName::src) continue;  // no memory (R4.6)
      if (!streams(op, operand.handle)) add_outside(operand.name, operand.handle, "load it first");
    }
    if (!op.has_out || lies_in_tcm(op.out) || op.on_accumulator()) return;
    if (!streams(op, op.out)) add_outside(OperandName::out, op.out, "load it first");
  }

  /// True if PE_DMA moves the operand tile by tile: for a gemm, and with math_head_from_hbm (R5.5)
  /// for the op that drives the loop instead.
  bool streams(const command::OpSpec& op, const TensorHandle& handle) const {
    if (handle.pinned()) return false;
    return op.kind == command::OpKind::gemm ||
           (config_.scheduler.math_head_from_hbm && plan_.streams_head() && plan_.is_loop_op(op));
  }

  void add_outside(OperandName operand, const TensorHandle& handle, const char* remedy) {
    const ByteRange range = handle.range();
    problems_.push_back(
        {operand, fmt::format("at [{:#x}, {:#x}) lies outside TCM [{:#x}, {:#x}); {}", range.begin,
                              range.end, tcm_.begin, tcm_.end, remedy)});
  }

  void check_streams() {
    if (plan_.splits_reduction()) {
      const command::Operand& reduced = ops_[0].operands[0];
      problems_.push_back(
          {OperandName::src, fmt::format("reduces rows of {} entries and streams chunks of {} "
                                         "columns; load it first, or enlarge pe.gemm.tile_n",
                                         reduced.handle.shape.cols(), config_.gemm.tile_n)});
    }
    if (plan_.streamed_tile_bytes() > config_.tile_buffer_bytes()) {
      const OperandName streamed = plan_.streams_head() ? ops_[0].operands[0].name
                                   : plan_.streams_b()  ? OperandName::b
                                                        : OperandName::a;
      problems_.push_back(
          {streamed, fmt::format("needs tiles of {} bytes and a tile buffer has {}; use a 16-bit "
                                 "type or smaller pe.gemm tiles",
                                 plan_.streamed_tile_bytes(), config_.tile_buffer_bytes())});
    }
  }

  const command::Ops ops_;
  const Plan& plan_;
  const PeConfig& config_;
  const ByteRange tcm_;
  const bool all_end_in_tcm_;  // those that begin there, by the merged ranges: the usual case
  std::vector<OperandProblem> problems_;
};

}  // namespace

std::vector<OperandProblem> operand_problems(const command::Command& command,
                                             const command::AccessSet& accesses, const Plan& plan,
                                             const PeConfig& config) {
  return OperandCheck(command, accesses, plan, config).take_problems();
}

}  // namespace kernbench::arch
