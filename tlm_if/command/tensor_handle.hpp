// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "tlm_if/command/byte_range.hpp"
#include "tlm_if/command/dtype.hpp"
#include "tlm_if/command/name.hpp"

namespace kernbench::command {

using Index = std::int64_t;
using HandleId = std::uint64_t;

/// Rank 1 (n,) or rank 2 (rows, cols). A rank-1 tensor is laid out as one row.
class Shape {
 public:
  Shape() = default;
  /// Throws InputError unless there are one or two dimensions.
  Shape(std::initializer_list<Index> dims) : rank_(static_cast<int>(dims.size())) {
    if (dims.size() < 1 || dims.size() > 2) refuse_rank(dims.size());
    if (rank_ == 2) rows_ = *dims.begin();
    cols_ = *(dims.end() - 1);
  }
  static Shape vector(Index n) { return Shape(1, n, 1); }
  static Shape matrix(Index rows, Index cols) { return Shape(rows, cols, 2); }

  int rank() const { return rank_; }
  /// `axis` is 0 or 1, and below the rank.
  Index operator[](int axis) const { return axis + 1 < rank_ ? rows_ : cols_; }
  Index rows() const { return rows_; }
  Index cols() const { return cols_; }
  /// make_handle() has checked that this fits.
  Index elements() const { return rows() * cols(); }

  friend bool operator==(const Shape& x, const Shape& y) {
    return x.rank_ == y.rank_ && x.rows_ == y.rows_ && x.cols_ == y.cols_;
  }
  friend bool operator!=(const Shape& x, const Shape& y) { return !(x == y); }

 private:
  Shape(Index rows, Index cols, int rank) : rows_(rows), cols_(cols), rank_(rank) {}
  [[noreturn]] static void refuse_rank(std::size_t rank);

  Index rows_ = 1;
  Index cols_ = 0;
  int rank_ = 0;
};

std::string to_string(const Shape& shape);

/// A value that describes a tensor's bytes (R3.2). `row_stride` and `col_stride` are in elements;
/// one of them is 1. A transposed view has row_stride 1.
struct TensorHandle {
  HandleId id = 0;
  Address addr = 0;
  Shape shape;
  Index row_stride = 0;
  Index col_stride = 1;
  DType dtype = DType::f16;
  Space space = Space::hbm;
  Name name;  ///< for messages only; empty: `label()` makes one up

  /// True if the data is already in TCM: it is consumed in place, without a DMA.
  bool pinned() const { return space == Space::tcm; }
  Index elements() const { return shape.elements(); }
  /// Bytes of the entries themselves, without the gaps of a strided view.
  std::uint64_t bytes() const {
    return bytes_of(dtype, static_cast<std::uint64_t>(shape.elements()));
  }
  /// The hull: first to last byte (R3.3).
  ByteRange range() const {
    const Index last = (shape.rows() - 1) * row_stride + (shape.cols() - 1) * col_stride;
    return {addr, addr + bytes_of(dtype, static_cast<std::uint64_t>(last + 1))};
  }
  /// `S`, or `tcm#12` when the tensor has no name.
  std::string label() const;
  /// `S (8, 64) f16 tcm`, for messages.
  std::string describe() const;

  /// Same bytes in the same order; the id and the name may differ.
  bool same_view(const TensorHandle& other) const;
};

bool operator==(const TensorHandle& x, const TensorHandle& y);

/// A dense row-major handle. Throws InputError on a dimension below 1, or a size or address range
/// that does not fit 63 bits.
TensorHandle make_handle(HandleId id, Address addr, const Shape& shape, DType dtype, Space space,
                         const Name& name = {});

/// The part of a handle that a problem is about. Other encodings of a handle use it to locate the
/// problem.
enum class HandlePart : std::uint8_t { none, id, addr, rows, cols, row_stride, col_stride };
struct HandleProblem {
  HandlePart part = HandlePart::none;
  std::string what;  ///< a clause: `row_stride is 0; it must be ..`
};
/// Finds a handle that make_handle() and the view functions cannot have made, or that is on the
/// wrong side of the address map (R3.4). Does not allocate if the handle is sound.
HandleProblem problem_of(const TensorHandle& handle);

/// Views: a new id on the same bytes, bounds-checked (InputError).
/// Rows [begin, begin + count) of a rank-2 handle.
TensorHandle view_rows(const TensorHandle& handle, Index begin, Index count, HandleId id);
/// Columns [begin, begin + count); of a rank-1 handle: entries.
TensorHandle view_cols(const TensorHandle& handle, Index begin, Index count, HandleId id);
/// The leading corner of the given shape, of the same rank.
TensorHandle view_first(const TensorHandle& handle, const Shape& shape, HandleId id);
/// The transposed view of a rank-2 handle.
TensorHandle view_transposed(const TensorHandle& handle, HandleId id);

}  // namespace kernbench::command
