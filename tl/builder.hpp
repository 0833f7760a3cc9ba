// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tl/recipes.hpp"
#include "tl/tensor.hpp"
#include "tlm_if/command/address_map.hpp"

namespace kernbench::tl {

// What a kernel passes to Context::composite. Nothing is checked here; names, shapes and spaces are
// checked when the composite is emitted (R4.9).

/// A named operand or scalar of the string forms: `{"s", S}`, `{"value", 0.5}`.
struct Argument {
  Argument(std::string_view argument_name, const Tensor& tensor)
      : name(argument_name), value(tensor) {}
  Argument(std::string_view argument_name, double scalar) : name(argument_name), value(scalar) {}

  std::string name;
  std::variant<Tensor, double> value;
};
using Arguments = std::vector<Argument>;

/// A recipe of the context's table with its arguments.
struct RecipeCall {
  std::string name;
  Arguments arguments;
};

/// What follows a gemm: an epilogue op on its tiles (default scope: output_tile), a recipe of phase
/// epilogue, or with scope kernel any MATH op, which runs once after the tile loop. Such an op has
/// its operands and scalars under the names of the op table, and its destination as `out`.
struct EpilogueCall {
  std::string name;
  Arguments arguments;
  std::optional<Scope> scope;
};

/// Online-softmax update of m, l (G,) and o (G, d) by scores s (G, TILE). The result is P, with
/// shape and dtype of s.
RecipeCall softmax_merge(const Tensor& s, const Tensor& m, const Tensor& l, const Tensor& o);

/// Root-mean-square norm of x (M, K) by gamma (K,). The result is the gemm's a: x * gamma /
/// sqrt(mean of x^2 over a row + eps), in the dtype of x.
RecipeCall rmsnorm_linear(const Tensor& x, const Tensor& gamma, double eps = kNormEps);
/// Epilogue: gelu(accumulator + bias) on each output tile, then the layer norm of the gemm's out,
/// in place in TCM, by gamma and beta. All three are (N,).
RecipeCall linear_gelu_norm(const Tensor& bias, const Tensor& gamma, const Tensor& beta,
                            double eps = kNormEps);
/// Merges the partial softmax state m2, l2 (G,), o2 (G, d) into m, l, o; an empty state is
/// m2 = -inf, l2 = 0, o2 = 0.
RecipeCall state_merge(const Tensor& m, const Tensor& l, const Tensor& o, const Tensor& m2,
                       const Tensor& l2, const Tensor& o2);

// Epilogue ops, on the f32 accumulator. `other` is (M, N), (N,), (M, 1) or a scalar (1,).
EpilogueCall add(const Tensor& other, Scope scope = Scope::output_tile);
EpilogueCall mul(const Tensor& other, Scope scope = Scope::output_tile);
/// `bias` is (N,): one entry per column.
EpilogueCall bias(const Tensor& bias, Scope scope = Scope::output_tile);
EpilogueCall scale(double value, Scope scope = Scope::output_tile);
EpilogueCall gelu(Scope scope = Scope::output_tile);
EpilogueCall silu(Scope scope = Scope::output_tile);
EpilogueCall relu(Scope scope = Scope::output_tile);

/// A composite around one gemm, (M, K) x (K, N).
class GemmBuilder {
 public:
  GemmBuilder() = default;
  GemmBuilder(const Tensor& a, const Tensor& b) : a_(a), b_(b) {}

  GemmBuilder& a(const Tensor& tensor);
  GemmBuilder& b(const Tensor& tensor);
  /// (M, N), in TCM or HBM (R4.2).
  GemmBuilder& out(const Tensor& tensor);
  /// The same as `out(ref(addr, {M, N}, dtype))`.
  GemmBuilder& out_ptr(command::Address addr);
  /// The dtype of an output that is not given (default: that of a).
  GemmBuilder& dtype(DType dtype);
  GemmBuilder& prologue(RecipeCall call);
  GemmBuilder& prologue(std::string name, Arguments arguments);
  GemmBuilder& epilogue(EpilogueCall call);
  GemmBuilder& epilogue(RecipeCall call);
  GemmBuilder& epilogue(std::string name, Arguments arguments = {},
                        std::optional<Scope> scope = std::nullopt);
  /// False: timing as usual, no data is computed.
  GemmBuilder& data_op(bool enabled);

 private:
  friend class Lowering;
  std::optional<Tensor> a_, b_, out_;
  std::optional<command::Address> out_ptr_;
  std::optional<DType> dtype_;
  std::vector<RecipeCall> prologue_;
  std::vector<EpilogueCall> epilogue_;
  bool data_op_ = true;
};
inline GemmBuilder gemm(const Tensor& a, const Tensor& b) { return GemmBuilder(a, b); }
inline GemmBuilder gemm() { return GemmBuilder(); }

/// A composite of one recipe and no gemm.
class RecipeBuilder {
 public:
  explicit RecipeBuilder(RecipeCall call) : call_(std::move(call)) {}

  /// The recipe's primary output; if it is not given, it is allocated in the open scope.
  RecipeBuilder& out(const Tensor& tensor);
  RecipeBuilder& data_op(bool enabled);

 private:
  friend class Lowering;
  RecipeCall call_;
  std::optional<Tensor> out_;
  bool data_op_ = true;
};
inline RecipeBuilder recipe(RecipeCall call) { return RecipeBuilder(std::move(call)); }
RecipeBuilder recipe(std::string name, Arguments arguments);

/// A composite of MATH ops and no gemm, run in order. Operands and scalars go by the names of the
/// op table: `math("mul_bcast", {{"src_a", x}, {"src_b", r}}).out(y).then("relu", {{"src", y}})`.
class MathBuilder {
 public:
  MathBuilder(std::string op, Arguments arguments);

  MathBuilder& then(std::string op, Arguments arguments);
  /// The output of the op added last; if it is not given, it is allocated in the open scope with
  /// the dtype of the first operand.
  MathBuilder& out(const Tensor& tensor);
  MathBuilder& data_op(bool enabled);

 private:
  friend class Lowering;
  struct Step {
    std::string op;
    Arguments arguments;
    std::optional<Tensor> out;
  };
  std::vector<Step> steps_;
  bool data_op_ = true;
};
inline MathBuilder math(std::string op, Arguments arguments) {
  return MathBuilder(std::move(op), std::move(arguments));
}

}  // namespace kernbench::tl
