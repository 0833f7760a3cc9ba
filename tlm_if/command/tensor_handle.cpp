// SPDX-License-Identifier: Apache-2.0
#include "tlm_if/command/tensor_handle.hpp"

#include <fmt/format.h>

#include <limits>

#include "tlm_if/command/error.hpp"

namespace kernbench::command {
namespace {

// Sizes stay below 2^56 elements, so that bits, bytes and address sums fit 64 bits.
constexpr Index kMaxElements = Index{1} << 56;

// A dimension is below 1.
[[noreturn]] void refuse_dimension(const Shape& shape, const Name& name) {
  const int axis = shape.rank() == 2 && shape.rows() >= 1 ? 1 : 0;
  throw InputError(
      fmt::format("dimension {} of {} {} is {}; it must be at least 1", axis,
                  name.empty() ? std::string("a tensor of shape") : "tensor " + std::string(name),
                  to_string(shape), shape[axis]));
}

[[noreturn]] void refuse_size(const Shape& shape) {
  throw InputError(
      fmt::format("shape {} has more than 2^56 entries; use a smaller tensor", to_string(shape)));
}

[[noreturn]] void refuse_slice(const TensorHandle& handle, const char* what, Index begin,
                               Index count, Index size) {
  throw InputError(fmt::format("{} [{}, {}) of {} lie outside [0, {}); at least one is needed",
                               what, begin, begin + count, handle.describe(), size));
}

void check_rows(const TensorHandle& handle, Index begin, Index count) {
  const Index size = handle.shape.rows();
  if (begin < 0 || count < 1 || begin > size || count > size - begin) {
    refuse_slice(handle, "rows", begin, count, size);
  }
}
void check_cols(const TensorHandle& handle, Index begin, Index count) {
  const Index size = handle.shape.cols();
  if (begin < 0 || count < 1 || begin > size || count > size - begin) {
    refuse_slice(handle, "columns", begin, count, size);
  }
}

// In whole bytes: views of sub-byte types must start on a byte.
Address offset(const TensorHandle& handle, Index elements) {
  return handle.addr + bytes_of(handle.dtype, static_cast<std::uint64_t>(elements));
}

}  // namespace

void Shape::refuse_rank(std::size_t rank) {
  throw InputError(fmt::format("a tensor has rank 1 or 2, not {}", rank));
}

std::string to_string(const Shape& shape) {
  return shape.rank() == 2 ? fmt::format("({}, {})", shape[0], shape[1])
                           : fmt::format("({},)", shape.cols());
}

std::string TensorHandle::label() const {
  return name.empty() ? fmt::format("{}#{}", to_string(space), id) : std::string(name);
}

std::string TensorHandle::describe() const {
  return fmt::format("{} {} {} {}", label(), to_string(shape), to_string(dtype), to_string(space));
}

bool TensorHandle::same_view(const TensorHandle& other) const {
  return addr == other.addr && shape == other.shape && dtype == other.dtype &&
         space == other.space && (shape.rows() == 1 || row_stride == other.row_stride) &&
         (shape.cols() == 1 || col_stride == other.col_stride);
}

bool operator==(const TensorHandle& x, const TensorHandle& y) {
  return x.id == y.id && x.addr == y.addr && x.shape == y.shape && x.row_stride == y.row_stride &&
         x.col_stride == y.col_stride && x.dtype == y.dtype && x.space == y.space &&
         x.name == y.name;
}

TensorHandle make_handle(HandleId id, Address addr, const Shape& shape, DType dtype, Space space,
                         const Name& name) {
  if (shape.rows() < 1 || shape.cols() < 1) refuse_dimension(shape, name);
  if (shape.cols() > kMaxElements / shape.rows()) refuse_size(shape);
  TensorHandle handle{id, addr, shape, shape.cols(), 1, dtype, space, name};
  const std::uint64_t bytes = handle.bytes();
  if (addr > static_cast<std::uint64_t>(std::numeric_limits<Index>::max()) - bytes) {
    throw InputError(fmt::format("address {:#x} of {} leaves no room for its {} bytes", addr,
                                 handle.describe(), bytes));
  }
  return handle;
}

TensorHandle view_rows(const TensorHandle& handle, Index begin, Index count, HandleId id) {
  if (handle.shape.rank() != 2) {
    throw InputError(fmt::format("rows() needs a rank-2 tensor; {} has rank {}; use cols()",
                                 handle.describe(), handle.shape.rank()));
  }
  check_rows(handle, begin, count);
  TensorHandle view = handle;
  view.id = id;
  view.addr = offset(handle, begin * handle.row_stride);
  view.shape = Shape::matrix(count, handle.shape.cols());
  return view;
}

TensorHandle view_cols(const TensorHandle& handle, Index begin, Index count, HandleId id) {
  check_cols(handle, begin, count);
  TensorHandle view = handle;
  view.id = id;
  view.addr = offset(handle, begin * handle.col_stride);
  view.shape =
      handle.shape.rank() == 2 ? Shape::matrix(handle.shape.rows(), count) : Shape::vector(count);
  return view;
}

TensorHandle view_first(const TensorHandle& handle, const Shape& shape, HandleId id) {
  if (shape.rank() != handle.shape.rank()) {
    throw InputError(fmt::format("first({}) of {}: the ranks differ; give rank {}",
                                 to_string(shape), handle.describe(), handle.shape.rank()));
  }
  check_cols(handle, 0, shape.cols());
  check_rows(handle, 0, shape.rows());
  TensorHandle view = handle;
  view.id = id;
  view.shape = shape;
  return view;
}

TensorHandle view_transposed(const TensorHandle& handle, HandleId id) {
  if (handle.shape.rank() != 2) {
    throw InputError(fmt::format("t() needs a rank-2 tensor; {} has rank {}", handle.describe(),
                                 handle.shape.rank()));
  }
  TensorHandle view = handle;
  view.id = id;
  view.shape = Shape::matrix(handle.shape.cols(), handle.shape.rows());
  view.row_stride = handle.col_stride;
  view.col_stride = handle.row_stride;
  return view;
}

}  // namespace kernbench::command
