// SPDX-License-Identifier: Apache-2.0
#include "tl/builder.hpp"

namespace kernbench::tl {

RecipeCall softmax_merge(const Tensor& s, const Tensor& m, const Tensor& l, const Tensor& o) {
  return {"softmax_merge", {{"s", s}, {"m", m}, {"l", l}, {"O", o}}};
}

RecipeCall rmsnorm_linear(const Tensor& x, const Tensor& gamma, double eps) {
  return {"rmsnorm_linear", {{"x", x}, {"gamma", gamma}, {"eps", eps}}};
}
RecipeCall linear_gelu_norm(const Tensor& bias, const Tensor& gamma, const Tensor& beta,
                            double eps) {
  return {"linear_gelu_norm", {{"bias", bias}, {"gamma", gamma}, {"beta", beta}, {"eps", eps}}};
}
RecipeCall state_merge(const Tensor& m, const Tensor& l, const Tensor& o, const Tensor& m2,
                       const Tensor& l2, const Tensor& o2) {
  return {"state_merge", {{"m", m}, {"l", l}, {"O", o}, {"m2", m2}, {"l2", l2}, {"O2", o2}}};
}

EpilogueCall add(const Tensor& other, Scope scope) { return {"add", {{"other", other}}, scope}; }
EpilogueCall mul(const Tensor& other, Scope scope) { return {"mul", {{"other", other}}, scope}; }
EpilogueCall bias(const Tensor& bias, Scope scope) { return {"bias", {{"bias", bias}}, scope}; }
EpilogueCall scale(double value, Scope scope) { return {"scale", {{"value", value}}, scope}; }
EpilogueCall gelu(Scope scope) { return {"gelu", {}, scope}; }
EpilogueCall silu(Scope scope) { return {"silu", {}, scope}; }
EpilogueCall relu(Scope scope) { return {"relu", {}, scope}; }

GemmBuilder& GemmBuilder::a(const Tensor& tensor) {
  a_ = tensor;
  return *this;
}
GemmBuilder& GemmBuilder::b(const Tensor& tensor) {
  b_ = tensor;
  return *this;
}
GemmBuilder& GemmBuilder::out(const Tensor& tensor) {
  out_ = tensor;
  return *this;
}
GemmBuilder& GemmBuilder::out_ptr(command::Address addr) {
  out_ptr_ = addr;
  return *this;
}
GemmBuilder& GemmBuilder::dtype(DType dtype) {
  dtype_ = dtype;
  return *this;
}
GemmBuilder& GemmBuilder::prologue(RecipeCall call) {
  prologue_.push_back(std::move(call));
  return *this;
}
GemmBuilder& GemmBuilder::prologue(std::string name, Arguments arguments) {
  return prologue({std::move(name), std::move(arguments)});
}
GemmBuilder& GemmBuilder::epilogue(EpilogueCall call) {
  epilogue_.push_back(std::move(call));
  return *this;
}
GemmBuilder& GemmBuilder::epilogue(RecipeCall call) {
  return epilogue(EpilogueCall{std::move(call.name), std::move(call.arguments), std::nullopt});
}
GemmBuilder& GemmBuilder::epilogue(std::string name, Arguments arguments,
                                   std::optional<Scope> scope) {
  return epilogue(EpilogueCall{std::move(name), std::move(arguments), scope});
}
GemmBuilder& GemmBuilder::data_op(bool enabled) {
  data_op_ = enabled;
  return *this;
}

RecipeBuilder& RecipeBuilder::out(const Tensor& tensor) {
  out_ = tensor;
  return *this;
}
RecipeBuilder& RecipeBuilder::data_op(bool enabled) {
  data_op_ = enabled;
  return *this;
}
RecipeBuilder recipe(std::string name, Arguments arguments) {
  return RecipeBuilder({std::move(name), std::move(arguments)});
}

MathBuilder::MathBuilder(std::string op, Arguments arguments) {
  then(std::move(op), std::move(arguments));
}
MathBuilder& MathBuilder::then(std::string op, Arguments arguments) {
  steps_.push_back({std::move(op), std::move(arguments), std::nullopt});
  return *this;
}
MathBuilder& MathBuilder::out(const Tensor& tensor) {
  steps_.back().out = tensor;
  return *this;
}
MathBuilder& MathBuilder::data_op(bool enabled) {
  data_op_ = enabled;
  return *this;
}

}  // namespace kernbench::tl
