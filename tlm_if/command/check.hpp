// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tlm_if/command/limits.hpp"
#include "tlm_if/command/program.hpp"

namespace kernbench::command {

/// Throws InputError for a finished command that R4.9 refuses, whatever its source: ops that do not
/// have the form of the op table, shapes or dtypes that do not fit, tensors outside `limits`. Does
/// not allocate on success.
void check(const Command& command, const Limits& limits);

/// The same for any step of a program. An observed tensor must be one that a command could read.
/// Waits and regions are never refused.
void check_step(const ProgramStep& step, const Limits& limits);

// The parts of check(), in its order, for a producer whose commands fulfil some of them by
// construction.

/// Checks that ops, operands, outputs and extras are those of the op table, that at most one op is
/// a gemm, and that ops on the accumulator come after it. Does not check tensors.
void check_form(const Command& command);
void check_form(const CompositeCmd& command);

/// A rule for each tensor by itself.
class HandleRule {
 public:
  virtual ~HandleRule() = default;
  /// A clause that begins with a description of the handle; empty if nothing is wrong.
  virtual std::string problem_of(const TensorHandle& handle) const = 0;
};
/// Throws InputError that names op and operand, if the rule finds a problem.
void check_handles(const Command& command, const HandleRule& rule);
void check_handles(const CompositeCmd& command, const HandleRule& rule);

/// Checks that the tensors fit each other and the tiles. Each tensor by itself must be sound and in
/// its place.
void check_fit(const CompositeCmd& command, const Limits& limits);
void check_fit(const MathCmd& command, const Limits& limits);
void check_fit(const GemmCmd& command, const Limits& limits);
void check_fit(const DmaReadCmd& command, const Limits& limits);
void check_fit(const DmaWriteCmd& command, const Limits& limits);
void check_fit(const IpcqSendCmd& command, const Limits& limits);
void check_fit(const IpcqRecvCmd& command, const Limits& limits);
void check_fit(const PeCpuOverheadCmd& command, const Limits& limits);

/// Throws InputError unless a and b can be the operands of a gemm: rank 2, one dtype, equal inner
/// dimensions. `where` begins the message.
void check_gemm_operands(std::string_view where, const TensorHandle& a, const TensorHandle& b);

/// `S (8, 64) f16 hbm at 0x10 ends at 0x410, beyond the 256 bytes of HBM; ..`
std::string beyond_hbm(const TensorHandle& handle, std::uint64_t hbm_bytes);
/// `S (8, 64) f16 tcm at 0x10000000000 lies outside the scratch ..`
std::string outside_scratch(const TensorHandle& handle, const ByteRange& scratch);

}  // namespace kernbench::command
