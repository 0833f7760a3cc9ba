// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "tl/scratch.hpp"
#include "tl/target.hpp"
#include "tlm_if/command/limits.hpp"

namespace kernbench::tl {

/// What the compiler alone knows of a tensor (R4.9); all other refusals of finished commands are
/// command::check_form and command::check_fit. The context and its recipes build ops from the op
/// table and sound handles (Context::own): only a flat list written by hand may hold anything.
class Validation : public command::HandleRule {
 public:
  /// `next_id`: handle ids below it have been given out.
  Validation(const Target& target, const Scratch& scratch, command::HandleId next_id)
      : target_(target), scratch_(scratch), next_id_(next_id) {}

  /// The handle was given out, has positive dimensions, and lies in HBM or in live scratch.
  std::string problem_of(const command::TensorHandle& handle) const override;
  /// Throws InputError if it does not. `what` says what it is for.
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
