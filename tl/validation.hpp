// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "tl/scratch.hpp"
#include "tl/target.hpp"
#include "tlm_if/command/check.hpp"

namespace kernbench::tl {

/// The checks of a tensor that only the compiler can make (R4.9). All other checks of finished
/// commands are command::check_form and command::check_fit. The context and its recipes build ops
/// from the op table and sound handles (Context::own); only a hand-written flat list may contain
/// anything.
class Validation : public command::HandleRule {
 public:
  /// `next_id`: handle ids below it have been given out.
  Validation(const Target& target, const Scratch& scratch, command::HandleId next_id)
      : target_(target), scratch_(scratch), next_id_(next_id) {}

  /// Empty if the handle was given out, has positive dimensions, and is in HBM or in live scratch;
  /// otherwise says what is wrong.
  std::string problem_of(const command::TensorHandle& handle) const override;
  /// Throws InputError if problem_of() finds one. `what` says what the handle is for.
  void check_handle(const command::TensorHandle& handle, std::string_view what) const;

 private:
  bool is_sound(const command::TensorHandle& handle) const;

  const Target& target_;
  const Scratch& scratch_;
  command::HandleId next_id_;
};

/// What is wrong with a handle whose scratch scope has ended.
std::string scope_ended(const command::TensorHandle& handle);

}  // namespace kernbench::tl
