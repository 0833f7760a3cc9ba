// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "tl/scratch.hpp"
#include "tl/target.hpp"
#include "tlm_if/command/commands.hpp"

namespace kernbench::tl {

/// The refusals of R4.9 on finished commands, however they came about: lowered from a builder, or a
/// ready flat list. Throws InputError; on success costs no allocation.
///
/// A tensor's handle is sound by itself (Context::own), and the context and its recipes build ops
/// from the op table: `check` asks whether they fit each other. A flat list written by hand may
/// hold anything: `check_form` comes first.
class Validation {
 public:
  /// `next_id`: handle ids below it have been given out.
  Validation(const Target& target, const Scratch& scratch, command::HandleId next_id)
      : target_(target), scratch_(scratch), next_id_(next_id) {}

  /// Ops as the op table has them, at most one gemm, tile ops after it, and sound handles.
  void check_form(const command::CompositeCmd& command) const;
  void check(const command::CompositeCmd& command) const;
  void check(const command::MathCmd& command) const;
  void check(const command::GemmCmd& command) const;
  void check(const command::DmaReadCmd& command) const;
  void check(const command::DmaWriteCmd& command) const;
  void check(const command::IpcqSendCmd& command) const;
  void check(const command::IpcqRecvCmd& command) const;
  /// The handle was given out, has positive dimensions, and lies in HBM or in live scratch.
  /// `what` says what it is for.
  void check_handle(const command::TensorHandle& handle, std::string_view what) const;

 private:
  class Op;

  void check_in_tcm(const Op& op) const;
  void check_gemm(const Op& op) const;
  /// Op 0 of a composite without a gemm, with a tensor in HBM (R5.5).
  void check_streamed_head(const Op& op) const;
  void check_rw_handles(const command::CompositeCmd& command, const command::OpSpec* gemm) const;
  void check_transfer(const char* name, const command::TensorHandle& src,
                      const command::TensorHandle& dst) const;
  bool is_sound(const command::TensorHandle& handle) const;
  /// What is wrong with a handle that is not sound.
  std::string problem_of(const command::TensorHandle& handle) const;

  const Target& target_;
  const Scratch& scratch_;
  command::HandleId next_id_;
};

/// What is wrong with a handle whose scratch scope has ended.
std::string scope_ended(const command::TensorHandle& handle);

/// Throws InputError unless a and b are rank-2 operands of one gemm: of one dtype, with the inner
/// dimensions alike. `where` begins the message.
void check_gemm_operands(std::string_view where, const command::TensorHandle& a,
                         const command::TensorHandle& b);

}  // namespace kernbench::tl
