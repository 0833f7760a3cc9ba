// SPDX-License-Identifier: Apache-2.0
#include "tl/tensor.hpp"

#include "tl/context.hpp"
#include "tlm_if/command/error.hpp"

namespace kernbench::tl {

Context& Tensor::live_owner() const {
  if (owner_ == nullptr) {
    throw InputError("an empty tensor has no views; make it with a tl::Context first");
  }
  owner_->check_live(*this, "view", {});
  return *owner_;
}

Tensor Tensor::rows(Index begin, Index count) const {
  Context& owner = live_owner();
  return {command::view_rows(handle_, begin, count, owner.next_id_++), &owner, lease_};
}

Tensor Tensor::cols(Index begin, Index count) const {
  Context& owner = live_owner();
  return {command::view_cols(handle_, begin, count, owner.next_id_++), &owner, lease_};
}

Tensor Tensor::first(const Shape& shape) const {
  Context& owner = live_owner();
  return {command::view_first(handle_, shape, owner.next_id_++), &owner, lease_};
}

Tensor Tensor::t() const {
  Context& owner = live_owner();
  return {command::view_transposed(handle_, owner.next_id_++), &owner, lease_};
}

Tensor Tensor::named(std::string_view name) const {
  Context& owner = live_owner();
  Tensor result = *this;
  result.handle_.id = owner.next_id_++;
  result.handle_.name = name;
  if (result.handle_.pinned()) owner.scratch_.rename(result.handle_);
  return result;
}

}  // namespace kernbench::tl
