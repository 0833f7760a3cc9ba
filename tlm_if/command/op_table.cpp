// SPDX-License-Identifier: Apache-2.0
#include "tlm_if/command/op_table.hpp"

namespace kernbench::command {
namespace {

using K = OpKind;
using Names = ConstantList<OperandName, 3>;
using TileNames = ConstantList<OperandName, 2>;
// Shorthands with the enumerators' own names. NOLINTBEGIN(readability-identifier-naming)
constexpr auto a = OperandName::a;
constexpr auto b = OperandName::b;
constexpr auto src = OperandName::src;
constexpr auto src_a = OperandName::src_a;
constexpr auto src_b = OperandName::src_b;
constexpr auto src_c = OperandName::src_c;
constexpr auto other = OperandName::other;
// NOLINTEND(readability-identifier-naming)

constexpr ExtraInfo u32(ExtraName name) { return {name, ExtraType::u32, true}; }
constexpr ExtraInfo i32(ExtraName name) { return {name, ExtraType::i32, true}; }
constexpr ExtraInfo f32(ExtraName name) { return {name, ExtraType::f32, true}; }

constexpr OpInfo unary(OpKind kind, std::string_view name) {
  return {kind, name, OpShape::elementwise, Names{src}, {}, {}};
}
constexpr OpInfo unary_with_tile_form(OpKind kind, std::string_view name) {
  return {kind, name, OpShape::elementwise, Names{src}, {}, TileNames{src}, true};
}
constexpr OpInfo binary(OpKind kind, std::string_view name) {
  return {kind, name, OpShape::elementwise, Names{src_a, src_b}, {}, {}};
}
constexpr OpInfo binary_with_tile_form(OpKind kind, std::string_view name) {
  return {kind, name, OpShape::elementwise, Names{src_a, src_b}, {}, TileNames{src, other}, true};
}
constexpr OpInfo with_vector(OpKind kind, std::string_view name, OpShape shape) {
  return {kind, name, shape, Names{src_a, src_b}, {i32(ExtraName::bcast_axis)}, {}};
}
// The axis is given only if src_a is a matrix.
constexpr OpInfo exp_diff() {
  const ExtraInfo axis{ExtraName::bcast_axis, ExtraType::i32, false};
  return {K::exp_diff, "exp_diff", OpShape::row_vector, Names{src_a, src_b}, {axis}, {}};
}

}  // namespace

constexpr std::array<OpInfo, kOpKinds> kOpTable{{
    {K::gemm,
     "gemm",
     OpShape::gemm,
     Names{a, b},
     {u32(ExtraName::m), u32(ExtraName::k), u32(ExtraName::n)},
     {}},
    {K::rmax, "rmax", OpShape::reduce_row, Names{src}, {i32(ExtraName::reduce_axis)}, {}},
    {K::rsum, "rsum", OpShape::reduce_row, Names{src}, {i32(ExtraName::reduce_axis)}, {}},
    binary(K::max_elem, "max_elem"),
    binary_with_tile_form(K::add, "add"),
    binary_with_tile_form(K::mul, "mul"),
    binary(K::div, "div"),
    exp_diff(),
    with_vector(K::mul_bcast, "mul_bcast", OpShape::row_vector),
    with_vector(K::sub_bcast, "sub_bcast", OpShape::row_vector),
    with_vector(K::div_bcast, "div_bcast", OpShape::row_vector),
    with_vector(K::mul_cols, "mul_cols", OpShape::col_vector),
    with_vector(K::add_cols, "add_cols", OpShape::col_vector),
    {K::fma, "fma", OpShape::elementwise, Names{src_a, src_b, src_c}, {}, {}},
    {K::scale, "scale", OpShape::elementwise, Names{src}, {f32(ExtraName::value)}, TileNames{}},
    {K::scale_add,
     "scale_add",
     OpShape::elementwise,
     Names{src},
     {f32(ExtraName::a), f32(ExtraName::b)},
     {}},
    unary(K::square, "square"),
    unary(K::rsqrt, "rsqrt"),
    unary(K::recip, "recip"),
    unary(K::copy, "copy"),
    unary_with_tile_form(K::relu, "relu"),
    unary_with_tile_form(K::silu, "silu"),
    unary_with_tile_form(K::gelu, "gelu"),
    {K::fill, "fill", OpShape::fill, {}, {f32(ExtraName::value)}, {}},
    {K::mask_cols,
     "mask_cols",
     OpShape::elementwise,
     Names{src},
     {f32(ExtraName::value), i32(ExtraName::first_col), u32(ExtraName::rows_per_step)},
     {}},
    {K::bias, "bias", OpShape::col_vector, {}, {}, TileNames{src, other}, true, false},
}};

std::optional<OpKind> find_op(std::string_view name) {
  for (const OpInfo& info : kOpTable) {
    if (info.name == name) return info.kind;
  }
  return std::nullopt;
}

std::vector<std::string> op_names() {
  std::vector<std::string> names;
  for (const OpInfo& info : kOpTable) names.emplace_back(info.name);
  return names;
}

}  // namespace kernbench::command
