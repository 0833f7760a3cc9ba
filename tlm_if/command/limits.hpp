// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tlm_if/command/program.hpp"

namespace kernbench::command {

/// What a PE takes: bounds that a command is checked against before it is issued.
struct Limits {
  std::uint64_t hbm_bytes = 0;
  ByteRange scratch;  ///< the part of TCM that tensors may lie in; tile buffers follow
  Index tile_m = 1, tile_k = 1, tile_n = 1;
  std::uint64_t tile_buffer_bytes = 0;
  bool math_head_from_hbm = false;  ///< R5.5
  std::uint32_t pes = 1;            ///< of the design: those that IPCQ commands may name
  std::optional<std::uint32_t> pe;  ///< its own number, which they may not name; empty: not known
  std::uint32_t ipcq_channels = 1;
};

/// Of one PeCpuOverheadCmd: 2^40 cycles are 18 minutes at 1 GHz. Times are 64 bits of picoseconds.
inline constexpr std::uint64_t kMaxOverheadCycles = std::uint64_t{1} << 40;
/// Of a tile loop in each direction: tile numbers of the op log are signed and have 32 bits.
inline constexpr Index kMaxTiles = (Index{1} << 31) - 1;

/// Names of regions that a PE keeps statistics of, in all its launches together.
inline constexpr std::size_t kMaxRegions = 64;

/// Throws InputError for what R4.9 refuses of a finished command, however it came about: ops that
/// are not in the form of the op table, shapes or dtypes that do not fit, tensors outside `limits`.
/// On success costs no allocation.
void check(const Command& command, const Limits& limits);

/// The same of any step of a program: an observed tensor is one that a command could read. Waits
/// and regions are never refused.
void check_step(const ProgramStep& step, const Limits& limits);

// The parts of check(), in its order, for a producer that knows some of it by construction.

/// Ops, operands, outputs and extras are those of the op table, at most one op is a gemm, and ops
/// on the accumulator come after it. Asks nothing of the tensors.
void check_form(const Command& command);
void check_form(const CompositeCmd& command);

/// What is asked of each tensor by itself.
class HandleRule {
 public:
  virtual ~HandleRule() = default;
  /// A clause that begins with what the handle is; empty: nothing is wrong.
  virtual std::string problem_of(const TensorHandle& handle) const = 0;
};
/// Throws InputError, naming op and operand, unless the rule finds nothing.
void check_handles(const Command& command, const HandleRule& rule);
void check_handles(const CompositeCmd& command, const HandleRule& rule);

/// Tensors, each of which is sound and in its place, fit each other and the tiles.
void check_fit(const CompositeCmd& command, const Limits& limits);
void check_fit(const MathCmd& command, const Limits& limits);
void check_fit(const GemmCmd& command, const Limits& limits);
void check_fit(const DmaReadCmd& command, const Limits& limits);
void check_fit(const DmaWriteCmd& command, const Limits& limits);
void check_fit(const IpcqSendCmd& command, const Limits& limits);
void check_fit(const IpcqRecvCmd& command, const Limits& limits);
void check_fit(const PeCpuOverheadCmd& command, const Limits& limits);

/// Throws InputError unless a and b are rank-2 operands of one gemm: of one dtype, with the inner
/// dimensions alike. `where` begins the message.
void check_gemm_operands(std::string_view where, const TensorHandle& a, const TensorHandle& b);

/// `S (8, 64) f16 hbm at 0x10 ends at 0x410, beyond the 256 bytes of HBM; ..`
std::string beyond_hbm(const TensorHandle& handle, std::uint64_t hbm_bytes);
/// `S (8, 64) f16 tcm at 0x10000000000 lies outside the scratch ..`
std::string outside_scratch(const TensorHandle& handle, const ByteRange& scratch);

}  // namespace kernbench::command
