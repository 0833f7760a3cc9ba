// SPDX-License-Identifier: Apache-2.0
#include "tl/ops.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>

#include "tlm_if/command/error.hpp"

namespace kernbench::tl {
namespace {

using command::Extra;
using command::ExtraName;
using command::ExtraType;
using command::OpKind;
using command::OpShape;
using command::OpSpec;
using command::Shape;

constexpr std::array<EpilogueOp, 7> kEpilogueOps{{
    {"add", OpKind::add, "other"},
    {"bias", OpKind::bias, "bias"},
    {"mul", OpKind::mul, "other"},
    {"gelu", OpKind::gelu, ""},
    {"silu", OpKind::silu, ""},
    {"relu", OpKind::relu, ""},
    {"scale", OpKind::scale, "value", true},
}};

constexpr double kMaxF32 = std::numeric_limits<float>::max();

template <class Integer>
bool fits_integer(double value) {
  return value >= static_cast<double>(std::numeric_limits<Integer>::min()) &&
         value <= static_cast<double>(std::numeric_limits<Integer>::max()) &&
         value == std::floor(value);
}

[[noreturn]] void does_not_fit(const command::OpInfo& info, ExtraName name, double value,
                               std::string_view allowed) {
  throw InputError(fmt::format("{}: {} = {} does not fit its 4 bytes; give {}", info.name,
                               to_string(name), value, allowed));
}

Extra extent(ExtraName name, command::Index value) {
  if (value <= std::numeric_limits<std::uint32_t>::max()) {
    return Extra::u32(name, static_cast<std::uint32_t>(value));
  }
  return make_extra(command::op_info(OpKind::gemm), name, static_cast<double>(value));
}

}  // namespace

const EpilogueOp* find_epilogue(std::string_view name) {
  for (const EpilogueOp& op : kEpilogueOps) {
    if (op.name == name) return &op;
  }
  return nullptr;
}

std::vector<std::string> epilogue_names() {
  std::vector<std::string> names;
  for (const EpilogueOp& op : kEpilogueOps) names.emplace_back(op.name);
  return names;
}

Extra make_extra(const command::OpInfo& info, ExtraName name, double value) {
  for (const command::ExtraInfo& extra : info.extras) {
    if (extra.name != name) continue;
    switch (extra.type) {
      case ExtraType::u32:
        if (!fits_integer<std::uint32_t>(value)) {
          does_not_fit(info, name, value, "an integer in [0, 4294967295]");
        }
        return Extra::u32(name, static_cast<std::uint32_t>(value));
      case ExtraType::i32:
        if (!fits_integer<std::int32_t>(value)) {
          does_not_fit(info, name, value, "an integer in [-2147483648, 2147483647]");
        }
        return Extra::i32(name, static_cast<std::int32_t>(value));
      case ExtraType::f32:
        // f32 can hold an infinity, but a finite number must not become one.
        if (std::isfinite(value) && std::abs(value) > kMaxF32) {
          does_not_fit(info, name, value, "a number in the range of f32, +-3.4028235e38");
        }
        return Extra::f32(name, static_cast<float>(value));
    }
  }
  throw InputError(fmt::format("{}: has no scalar '{}'", info.name, to_string(name)));
}

void push_axis_extras(OpSpec& op) {
  switch (command::op_info(op.kind).shape) {
    case OpShape::reduce_row:
      op.extras.push_back(Extra::i32(ExtraName::reduce_axis, -1));
      break;
    case OpShape::row_vector:
      if (op.kind != OpKind::exp_diff) {
        op.extras.push_back(Extra::i32(ExtraName::bcast_axis, 1));
      } else if (op.operands[0].handle.shape.rank() == 2) {
        op.extras.push_back(Extra::i32(ExtraName::bcast_axis, 0));
      }
      break;
    case OpShape::col_vector:
      op.extras.push_back(Extra::i32(ExtraName::bcast_axis, 0));
      break;
    default:
      break;
  }
}

Shape result_shape(const OpSpec& op) {
  const Shape& first = op.operands[0].handle.shape;
  switch (command::op_info(op.kind).shape) {
    case OpShape::gemm:
      return Shape::matrix(first.rows(), op.operands[1].handle.shape.cols());
    case OpShape::reduce_row:
      return Shape::vector(first.rows());
    default:
      return first;
  }
}

OpSpec make_gemm(const command::TensorHandle& a, const command::TensorHandle& b,
                 const command::TensorHandle& out) {
  OpSpec op;
  op.kind = OpKind::gemm;
  op.operands.emplace_back(command::OperandName::a, a);
  op.operands.emplace_back(command::OperandName::b, b);
  op.extras.push_back(extent(ExtraName::m, a.shape.rows()));
  op.extras.push_back(extent(ExtraName::k, a.shape.cols()));
  op.extras.push_back(extent(ExtraName::n, b.shape.cols()));
  op.has_out = true;
  op.out = out;
  return op;
}

}  // namespace kernbench::tl
