// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <string_view>
#include <utility>

#include "tl/scratch.hpp"
#include "tlm_if/command/commands.hpp"

namespace kernbench::tl {

using command::DType;
using command::Index;
using command::Scope;
using command::Shape;

inline constexpr DType f16 = DType::f16;
inline constexpr DType bf16 = DType::bf16;
inline constexpr DType f32 = DType::f32;
inline constexpr double kMinusInf = -std::numeric_limits<double>::infinity();

class Context;

/// A tensor of a kernel: a handle and the context that made it, which must outlive it. It has value
/// semantics: copies refer to the same bytes. A default-constructed tensor is empty, and every call
/// refuses it.
///
/// Views have a new id on the same bytes and issue no command. They throw InputError if the slice
/// is out of bounds, the tensor is empty, or its scratch scope has ended.
class Tensor {
 public:
  Tensor() = default;

  /// Rows [begin, begin + count) of a rank-2 tensor.
  Tensor rows(Index begin, Index count) const;
  /// Columns [begin, begin + count); of a rank-1 tensor: entries.
  Tensor cols(Index begin, Index count) const;
  /// The leading corner of the given shape, of the same rank.
  Tensor first(const Shape& shape) const;
  /// The transposed view of a rank-2 tensor; costs nothing.
  Tensor t() const;
  /// The same tensor under a name for messages.
  Tensor named(std::string_view name) const;

  const Shape& shape() const { return handle_.shape; }
  DType dtype() const { return handle_.dtype; }
  const command::TensorHandle& handle() const { return handle_; }
  /// Null for an empty tensor.
  const Context* owner() const { return owner_; }

 private:
  friend class Context;
  Tensor(const command::TensorHandle& handle, Context* owner, Scratch::Lease lease)
      : handle_(handle), owner_(owner), lease_(lease) {}
  Context& live_owner() const;

  command::TensorHandle handle_;
  Context* owner_ = nullptr;
  Scratch::Lease lease_;  // of the allocation that contains it; unused in HBM
};

/// N tensors of one shape used in turn, as the slots of a pipelined loop: `ring[j]` for step j.
template <std::size_t N>
class Ring {
 public:
  explicit Ring(std::array<Tensor, N> slots) : slots_(std::move(slots)) {}
  /// Slot j mod N; j >= 0.
  const Tensor& operator[](Index j) const { return slots_[static_cast<std::size_t>(j) % N]; }

 private:
  std::array<Tensor, N> slots_;
};

}  // namespace kernbench::tl
