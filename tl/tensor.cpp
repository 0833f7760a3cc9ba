// SPDX-License-Identifier: Apache-2.0
#include "tl/tensor.hpp"

#include "tl/context.hpp"
#include "tlm_if/command/error.hpp"

namespace kernbench::tl {

Context& Tensor::live_owner() const {
  if (owner_ == nullptr) {
    throw InputError("an empty tensor has no views; make it with a tl::Context first");
  }
  owner_->check_live(handle_);
  return *owner_;
}

Tensor Tensor::rows(Index begin, Index count) const {
  Context& owner = live_owner();
  return owner.adopt(command::view_rows(handle_, begin, count, owner.next_id_++));
}

Tensor Tensor::cols(Index begin, Index count) const {
  Context& owner = live_owner();
  return owner.adopt(command::view_cols(handle_, begin, count, owner.next_id_++));
}

Tensor Tensor::first(const Shape& shape) const {
  Context& owner = live_owner();
  return owner.adopt(command::view_first(handle_, shape, owner.next_id_++));
}

Tensor Tensor::t() const {
  Context& owner = live_owner();
  return owner.adopt(command::view_transposed(handle_, owner.next_id_++));
}

Tensor Tensor::named(std::string_view name) const {
  Context& owner = live_owner();
  command::TensorHandle handle = handle_;
  handle.id = owner.next_id_++;
  handle.name = name;
  if (handle.pinned()) owner.scratch_.rename(handle);
  return owner.adopt(std::move(handle));
}

}  // namespace kernbench::tl
