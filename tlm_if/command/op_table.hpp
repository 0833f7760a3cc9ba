// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kernbench::command {

/// The operations that engines know. For timing they are opaque labels (R1.3).
enum class OpKind : std::uint8_t {
  gemm,
  rmax,
  rsum,
  max_elem,
  add,
  mul,
  div,
  exp_diff,
  mul_bcast,
  sub_bcast,
  div_bcast,
  mul_cols,
  add_cols,
  fma,
  scale,
  scale_add,
  square,
  rsqrt,
  recip,
  copy,
  relu,
  silu,
  gelu,
  fill,
  mask_cols,
  bias,
};
inline constexpr int kOpKinds = static_cast<int>(OpKind::bias) + 1;

enum class OperandName : std::uint8_t { a, b, src, src_a, src_b, src_c, other, out };
inline constexpr std::array<std::string_view, 8> kOperandNames{"a",     "b",     "src",   "src_a",
                                                               "src_b", "src_c", "other", "out"};
constexpr std::string_view to_string(OperandName name) {
  return kOperandNames[static_cast<std::size_t>(name)];
}

enum class ExtraName : std::uint8_t {
  m,
  k,
  n,
  reduce_axis,
  bcast_axis,
  value,
  a,
  b,
  first_col,
  rows_per_step,
};
inline constexpr std::array<std::string_view, 10> kExtraNames{
    "m", "k", "n", "reduce_axis", "bcast_axis", "value", "a", "b", "first_col", "rows_per_step"};
constexpr std::string_view to_string(ExtraName name) {
  return kExtraNames[static_cast<std::size_t>(name)];
}
enum class ExtraType : std::uint8_t { u32, i32, f32 };

/// How the operands' shapes relate, which decides the shape of the result.
enum class OpShape : std::uint8_t {
  gemm,         ///< (m, k) x (k, n) -> (m, n)
  reduce_row,   ///< (r, c) -> (r,)
  elementwise,  ///< all of one shape
  row_vector,   ///< src_b has one entry per row of src_a; exp_diff also takes two of one shape
  col_vector,   ///< the last operand has one entry per column
  fill,         ///< no input
};

struct ExtraInfo {
  ExtraName name = ExtraName::value;
  ExtraType type = ExtraType::u32;
  bool required = true;
};

/// At most N entries, fixed at compile time.
template <class T, std::size_t N>
class ConstantList {
 public:
  constexpr ConstantList() = default;
  constexpr ConstantList(std::initializer_list<T> values) {
    for (const T& value : values) values_[size_++] = value;
  }
  constexpr std::size_t size() const { return size_; }
  constexpr const T& operator[](std::size_t i) const { return values_[i]; }
  constexpr const T* begin() const { return values_.data(); }
  constexpr const T* end() const { return values_.data() + size_; }

 private:
  std::array<T, N> values_{};
  std::size_t size_ = 0;
};

struct OpInfo {
  OpKind kind;
  std::string_view name;
  OpShape shape;
  /// Operands of the simple or kernel-scope form, in order.
  ConstantList<OperandName, 3> operands;
  ConstantList<ExtraInfo, 3> extras;
  /// Operands of the k_tile / output_tile form, in which `src` is the accumulator; no value: the op
  /// has no such form (R4.6).
  std::optional<ConstantList<OperandName, 2>> tile_operands;
  /// The tile form also names its output, the accumulator; `scale` does not.
  bool tile_out = false;
  /// False: only an epilogue op (bias), not a simple command.
  bool kernel_form = true;
};

/// In the order of OpKind.
extern const std::array<OpInfo, kOpKinds> kOpTable;

inline const OpInfo& op_info(OpKind kind) { return kOpTable[static_cast<std::size_t>(kind)]; }
inline std::string_view to_string(OpKind kind) { return op_info(kind).name; }
std::optional<OpKind> find_op(std::string_view name);
/// All names, for messages about an unknown one.
std::vector<std::string> op_names();

}  // namespace kernbench::command
