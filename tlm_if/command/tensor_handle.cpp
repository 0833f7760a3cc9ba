// SPDX-License-Identifier: Apache-2.0
#include "tlm_if/command/tensor_handle.hpp"

#include <fmt/format.h>

#include <limits>

#include "tlm_if/command/error.hpp"

namespace kernbench::command {
namespace {

// Sizes stay below 2^56 elements, so that bits, bytes and address sums fit 64 bits.
constexpr Index kMaxElements = Index{1} << 56;

// True if a dimension is below 1.
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

HandleProblem problem_of_shape(const Shape& shape) {
  const Index rows = shape.rows();
  const Index cols = shape.cols();
  if (rows < 1 || rows > kMaxElements) {
    return {HandlePart::rows, fmt::format("rows is {}; it must be in [1, 2^56]", rows)};
  }
  if (cols < 1 || cols > kMaxElements / rows) {
    return {HandlePart::cols,
            fmt::format("cols is {}; with {} rows it must be at least 1, and the tensor has at "
                        "most 2^56 entries",
                        cols, rows)};
  }
  return {};
}

/// Checks the strides of a handle whose shape is sound. It must be a view of a dense tensor, whose
/// rows (or columns, after t()) follow one after the other.
HandleProblem problem_of_strides(const TensorHandle& handle) {
  const Index rows = handle.shape.rows();
  const Index cols = handle.shape.cols();
  const Index row_stride = handle.row_stride;
  const Index col_stride = handle.col_stride;
  if (row_stride < 1 || row_stride > kMaxElements) {
    return {HandlePart::row_stride,
            fmt::format("row_stride is {}; it must be in [1, 2^56]", row_stride)};
  }
  if (col_stride < 1 || col_stride > kMaxElements) {
    return {HandlePart::col_stride,
            fmt::format("col_stride is {}; it must be in [1, 2^56]", col_stride)};
  }
  if (col_stride != 1 && (row_stride != 1 || handle.shape.rank() == 1)) {
    return {HandlePart::col_stride,
            fmt::format("col_stride is {}; it must be 1, as row_stride {} of a rank-{} tensor is "
                        "not that of a transposed view",
                        col_stride, row_stride, handle.shape.rank())};
  }
  const bool transposed = col_stride != 1;
  const HandlePart part = transposed ? HandlePart::col_stride : HandlePart::row_stride;
  const bool rows_apart = rows == 1 || row_stride >= cols;
  const bool cols_apart = cols == 1 || col_stride >= rows;
  if (!(col_stride == 1 && rows_apart) && !(row_stride == 1 && cols_apart)) {
    return {
        part,
        fmt::format("{} is {} in a tensor of shape {}: entries would share bytes; it must be "
                    "at least {}",
                    transposed ? "col_stride" : "row_stride", transposed ? col_stride : row_stride,
                    to_string(handle.shape), transposed ? rows : cols)};
  }
  // One of the strides is 1, and shape and strides are at most 2^56: no sum overflows.
  const Index steps = transposed ? cols - 1 : rows - 1;
  const Index stride = transposed ? col_stride : row_stride;
  const Index along = transposed ? rows : cols;
  if (steps > 0 && stride > (kMaxElements - along) / steps) {
    return {part,
            fmt::format("stride {} of shape {} spans more than 2^56 entries; use a smaller tensor",
                        stride, to_string(handle.shape))};
  }
  return {};
}

/// Checks the address of a handle whose shape and strides are sound (R3.4).
HandleProblem problem_of_address(const TensorHandle& handle) {
  const Index last =
      (handle.shape.rows() - 1) * handle.row_stride + (handle.shape.cols() - 1) * handle.col_stride;
  const std::uint64_t bytes = bytes_of(handle.dtype, static_cast<std::uint64_t>(last + 1));
  if (handle.pinned() && handle.addr < kTcmBase) {
    return {HandlePart::addr, fmt::format("address {:#x} is one of HBM, but the space is tcm, "
                                          "which starts at {:#x}",
                                          handle.addr, kTcmBase)};
  }
  if (handle.pinned() &&
      handle.addr > static_cast<std::uint64_t>(std::numeric_limits<Index>::max()) - bytes) {
    return {HandlePart::addr, fmt::format("address {:#x} leaves no room for its {} bytes below "
                                          "2^63",
                                          handle.addr, bytes)};
  }
  if (!handle.pinned() && (bytes > kTcmBase || handle.addr > kTcmBase - bytes)) {
    return {HandlePart::addr,
            fmt::format("address {:#x} and its {} bytes reach beyond {:#x}, where TCM starts, but "
                        "the space is hbm",
                        handle.addr, bytes, kTcmBase)};
  }
  return {};
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

HandleProblem problem_of(const TensorHandle& handle) {
  if (handle.id == 0) return {HandlePart::id, "the id is 0; ids start at 1"};
  HandleProblem problem = problem_of_shape(handle.shape);
  if (problem.part == HandlePart::none) problem = problem_of_strides(handle);
  if (problem.part == HandlePart::none) problem = problem_of_address(handle);
  return problem;
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
