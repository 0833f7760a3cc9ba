// SPDX-License-Identifier: Apache-2.0
#include "tl/context.hpp"

#include <fmt/format.h>

#include "tl/lowering.hpp"
#include "tl/ops.hpp"
#include "tl/validation.hpp"
#include "tlm_if/command/error.hpp"

namespace kernbench::tl {

using command::ExtraName;
using command::OpKind;
using command::OpSpec;
using command::TensorHandle;

/// A refused call leaves the scratch unchanged.
class Context::Attempt {
 public:
  explicit Attempt(Context& context) : context_(context), mark_(context.scratch_.mark()) {}
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;
  ~Attempt() {
    if (!done_) context_.release_to(mark_);
  }
  void done() { done_ = true; }

 private:
  Context& context_;
  Scratch::Mark mark_;
  bool done_ = false;
};

Context::Context(const Target& target, command::CommandSink& sink, const RecipeTable& recipes)
    : target_(target),
      limits_(target.limits()),
      sink_(sink),
      recipes_(recipes),
      scratch_(target.scratch_base, target.scratch_bytes) {
  if (target.scratch_bytes > target.tcm_bytes) {
    throw InputError(fmt::format("target: scratch of {} bytes does not fit the TCM of {} bytes",
                                 target.scratch_bytes, target.tcm_bytes));
  }
}

void Context::refuse_foreign(const Tensor& tensor, std::string_view where,
                             std::string_view what) const {
  if (tensor.owner() == nullptr) {
    throw InputError(
        fmt::format("{}: {} is an empty tensor; make it with this context first", where, what));
  }
  throw InputError(
      fmt::format("{}: {} {} belongs to another context; use this context's own tensors", where,
                  what, tensor.handle().describe()));
}

void Context::refuse_ended(const Tensor& tensor, std::string_view where,
                           std::string_view what) const {
  throw InputError(fmt::format("{}: {}{}{}", where, what, what.empty() ? "" : " ",
                               scope_ended(tensor.handle())));
}

Tensor Context::adopt(const TensorHandle& handle) {
  return {handle, this,
          handle.pinned() ? scratch_.find(handle).value_or(Scratch::Lease{}) : Scratch::Lease{}};
}

Tensor Context::allocate(const Shape& shape, DType dtype, const command::Name& name,
                         CallSite site) {
  TensorHandle handle = command::make_handle(next_id_, 0, shape, dtype, command::Space::tcm, name);
  const Scratch::Block block = scratch_.allocate(handle.bytes(), handle.id, name, site);
  handle.addr = block.addr;
  ++next_id_;
  return {handle, this, block.lease};
}

void Context::allocate_slots(Tensor* slots, std::size_t count, const Shape& shape, DType dtype,
                             std::string_view name, CallSite site) {
  Attempt attempt(*this);
  for (std::size_t i = 0; i < count; ++i) {
    const auto in_ring = [&](const InputError& error) {
      return fmt::format("slot {} of ring<{}>: {}", i, count, error.what());
    };
    try {
      const command::Name slot = name.empty() ? "" : fmt::format("{}{}", name, i);
      slots[i] = allocate(shape, dtype, slot, site);
    } catch (const ScratchExhausted& error) {
      throw ScratchExhausted(in_ring(error), error.detail());
    } catch (const InputError& error) {
      throw InputError(in_ring(error), error.detail());
    }
  }
  attempt.done();
}

void Context::release_to(Scratch::Mark mark) {
  const command::Address top = scratch_.mark().top;
  if (mark.top >= top) return;
  scratch_.release(mark);
  // Bytes that no tensor refers to any more do not count as an output.
  produced_.remove({scratch_.mark().top, top});
}

template <class Cmd>
void Context::issue(Cmd&& command) {
  const command::Address top = scratch_.mark().top;
  command::for_each_write(command, [&](const TensorHandle& handle) {
    // No tensor refers to a recipe's scratch, which has been released by now.
    if (handle.addr < top) produced_.add(handle.range());
  });
  ++issued_;
  sink_.issue(std::forward<Cmd>(command));
}

// ---- data ----

Tensor Context::ref(command::Address addr, const Shape& shape, DType dtype, std::string_view name) {
  const TensorHandle handle =
      command::make_handle(next_id_, addr, shape, dtype, command::Space::hbm, name);
  ++next_id_;
  Validation(target_, scratch_, next_id_).check_handle(handle, "ref");
  return {handle, this, {}};
}

Tensor Context::load(const Tensor& src, CallSite site) {
  Attempt attempt(*this);
  const TensorHandle& handle = own(src, "load", "source");
  const Tensor result = allocate(handle.shape, handle.dtype, handle.name, site);
  const command::DmaReadCmd command{handle, result.handle()};
  command::check_fit(command, limits_);
  issue(command);
  attempt.done();
  return result;
}

void Context::load(const Tensor& src, const Tensor& out) {
  const command::DmaReadCmd command{own(src, "load", "source"), own(out, "load", "destination")};
  command::check_fit(command, limits_);
  issue(command);
}

void Context::store(const Tensor& dst, const Tensor& src) {
  const command::DmaWriteCmd command{own(src, "store", "source"), own(dst, "store", "destination")};
  command::check_fit(command, limits_);
  issue(command);
}

command::IpcqChannel Context::ipcq_channel(const char* name, Index peer, Index channel) const {
  if (programs() == 1) {
    throw InputError(fmt::format(
        "{}: there is no program {} to talk to: the launch has one program; give it more", name,
        peer));
  }
  if (peer < 0 || peer >= programs() || peer == program()) {
    throw InputError(fmt::format(
        "{}: there is no program {} for program {} of {} to talk to; give another one in [0, {}]",
        name, peer, program(), programs(), programs() - 1));
  }
  if (channel < 0 || channel >= static_cast<Index>(target_.ipcq_channels)) {
    throw InputError(
        fmt::format("{}: channel {} does not exist; give one in [0, {}], or raise pe.ipcq.channels",
                    name, channel, target_.ipcq_channels - 1));
  }
  return {target_.pes[static_cast<std::size_t>(peer)], static_cast<std::uint32_t>(channel)};
}

void Context::send(Index dst, const Tensor& src, Index channel) {
  const command::IpcqSendCmd command{own(src, "send", "source"),
                                     ipcq_channel("send", dst, channel)};
  command::check_fit(command, limits_);
  issue(command);
}

void Context::recv(Index src, const Tensor& out, Index channel) {
  const command::IpcqRecvCmd command{own(out, "recv", "destination"),
                                     ipcq_channel("recv", src, channel)};
  command::check_fit(command, limits_);
  issue(command);
}

Tensor Context::empty(const Shape& shape, DType dtype, CallSite site) {
  return allocate(shape, dtype, {}, site);
}

Tensor Context::zeros(const Shape& shape, DType dtype, CallSite site) {
  return full(shape, 0, dtype, site);
}

Tensor Context::full(const Shape& shape, double value, DType dtype, CallSite site) {
  Attempt attempt(*this);
  Tensor result = empty(shape, dtype, site);
  fill(result, value);
  attempt.done();
  return result;
}

void Context::fill(const Tensor& out, double value) {
  math(OpKind::fill, {}, {{ExtraName::value, value}}, out, {});
}

// ---- simple ops ----

Tensor Context::dot(const Tensor& a, const Tensor& b, const Out& out, CallSite site) {
  Attempt attempt(*this);
  const TensorHandle& a_handle = own(a, "dot", "a");
  const TensorHandle& b_handle = own(b, "dot", "b");
  command::check_gemm_operands("dot", a_handle, b_handle);
  const Shape shape = Shape::matrix(a_handle.shape.rows(), b_handle.shape.cols());
  Tensor result =
      out.tensor_ ? *out.tensor_ : allocate(shape, out.dtype_.value_or(a_handle.dtype), {}, site);
  command::GemmCmd command{make_gemm(a_handle, b_handle, own(result, "dot", "out"))};
  command::check_fit(command, limits_);
  issue(std::move(command));
  attempt.done();
  return result;
}

Tensor Context::math(OpKind kind, std::initializer_list<const Tensor*> inputs,
                     std::initializer_list<std::pair<ExtraName, double>> extras, const Out& out,
                     CallSite site) {
  Attempt attempt(*this);
  const command::OpInfo& info = command::op_info(kind);
  command::MathCmd command;
  OpSpec& op = command.op;
  op.kind = kind;
  std::size_t i = 0;
  for (const Tensor* input : inputs) {
    const command::OperandName name = info.operands[i++];
    op.operands.emplace_back(name, own(*input, info.name, to_string(name)));
  }
  push_axis_extras(op);
  for (const auto& [name, value] : extras) op.extras.push_back(make_extra(info, name, value));
  Tensor result =
      out.tensor_
          ? *out.tensor_
          : allocate(result_shape(op), out.dtype_.value_or(op.operands[0].handle.dtype), {}, site);
  op.has_out = true;
  op.out = own(result, info.name, "out");
  command::check_fit(command, limits_);
  issue(std::move(command));
  attempt.done();
  return result;
}

Tensor Context::rmax(const Tensor& src, const Out& out, CallSite site) {
  return math(OpKind::rmax, {&src}, {}, out, site);
}
Tensor Context::rsum(const Tensor& src, const Out& out, CallSite site) {
  return math(OpKind::rsum, {&src}, {}, out, site);
}
Tensor Context::max_elem(const Tensor& a, const Tensor& b, const Out& out, CallSite site) {
  return math(OpKind::max_elem, {&a, &b}, {}, out, site);
}
Tensor Context::add(const Tensor& a, const Tensor& b, const Out& out, CallSite site) {
  return math(OpKind::add, {&a, &b}, {}, out, site);
}
Tensor Context::mul(const Tensor& a, const Tensor& b, const Out& out, CallSite site) {
  return math(OpKind::mul, {&a, &b}, {}, out, site);
}
Tensor Context::div(const Tensor& a, const Tensor& b, const Out& out, CallSite site) {
  return math(OpKind::div, {&a, &b}, {}, out, site);
}
Tensor Context::fma(const Tensor& a, const Tensor& b, const Tensor& c, const Out& out,
                    CallSite site) {
  return math(OpKind::fma, {&a, &b, &c}, {}, out, site);
}
Tensor Context::exp_diff(const Tensor& a, const Tensor& b, const Out& out, CallSite site) {
  return math(OpKind::exp_diff, {&a, &b}, {}, out, site);
}
Tensor Context::mul_bcast(const Tensor& a, const Tensor& b, const Out& out, CallSite site) {
  return math(OpKind::mul_bcast, {&a, &b}, {}, out, site);
}
Tensor Context::sub_bcast(const Tensor& a, const Tensor& b, const Out& out, CallSite site) {
  return math(OpKind::sub_bcast, {&a, &b}, {}, out, site);
}
Tensor Context::div_bcast(const Tensor& a, const Tensor& b, const Out& out, CallSite site) {
  return math(OpKind::div_bcast, {&a, &b}, {}, out, site);
}
Tensor Context::mul_cols(const Tensor& a, const Tensor& b, const Out& out, CallSite site) {
  return math(OpKind::mul_cols, {&a, &b}, {}, out, site);
}
Tensor Context::add_cols(const Tensor& a, const Tensor& b, const Out& out, CallSite site) {
  return math(OpKind::add_cols, {&a, &b}, {}, out, site);
}
Tensor Context::scale(const Tensor& src, double value, const Out& out, CallSite site) {
  return math(OpKind::scale, {&src}, {{ExtraName::value, value}}, out, site);
}
Tensor Context::scale_add(const Tensor& src, double a, double b, const Out& out, CallSite site) {
  return math(OpKind::scale_add, {&src}, {{ExtraName::a, a}, {ExtraName::b, b}}, out, site);
}
Tensor Context::square(const Tensor& src, const Out& out, CallSite site) {
  return math(OpKind::square, {&src}, {}, out, site);
}
Tensor Context::rsqrt(const Tensor& src, const Out& out, CallSite site) {
  return math(OpKind::rsqrt, {&src}, {}, out, site);
}
Tensor Context::recip(const Tensor& src, const Out& out, CallSite site) {
  return math(OpKind::recip, {&src}, {}, out, site);
}
Tensor Context::copy(const Tensor& src, const Out& out, CallSite site) {
  return math(OpKind::copy, {&src}, {}, out, site);
}
Tensor Context::relu(const Tensor& src, const Out& out, CallSite site) {
  return math(OpKind::relu, {&src}, {}, out, site);
}
Tensor Context::silu(const Tensor& src, const Out& out, CallSite site) {
  return math(OpKind::silu, {&src}, {}, out, site);
}
Tensor Context::gelu(const Tensor& src, const Out& out, CallSite site) {
  return math(OpKind::gelu, {&src}, {}, out, site);
}
Tensor Context::mask_cols(const Tensor& src, double value, Index first_col, Index rows_per_step,
                          const Out& out, CallSite site) {
  return math(OpKind::mask_cols, {&src},
              {{ExtraName::value, value},
               {ExtraName::first_col, static_cast<double>(first_col)},
               {ExtraName::rows_per_step, static_cast<double>(rows_per_step)}},
              out, site);
}

// ---- composites ----

template <class Builder>
Tensor Context::emit(const Builder& builder, CallSite site) {
  Attempt attempt(*this);
  Lowering::Result lowered = Lowering(*this, site).lower(builder);
  lowered.command.completion.id = issued_;
  command::check_fit(lowered.command, limits_);
  release_to(lowered.kept);
  issue(std::move(lowered.command));
  attempt.done();
  return lowered.out;
}

Tensor Context::composite(const GemmBuilder& builder, CallSite site) { return emit(builder, site); }
Tensor Context::composite(const RecipeBuilder& builder, CallSite site) {
  return emit(builder, site);
}
Tensor Context::composite(const MathBuilder& builder, CallSite site) { return emit(builder, site); }

Tensor Context::one_by_one(const MathBuilder& builder, CallSite site) {
  Attempt attempt(*this);
  Lowering::Result lowered = Lowering(*this, site).lower(builder);
  if (!lowered.command.data_op) {
    throw InputError("one_by_one: data_op(false) is for composites; leave it away");
  }
  std::vector<command::MathCmd> commands;
  for (OpSpec& op : lowered.command.ops) {
    command::check_fit(commands.emplace_back(command::MathCmd{op}), limits_);
  }
  for (command::MathCmd& command : commands) issue(std::move(command));
  attempt.done();
  return lowered.out;
}

Tensor Context::composite(std::vector<OpSpec> ops, std::vector<TensorHandle> rw_handles,
                          bool data_op) {
  command::CompositeCmd command{{issued_}, std::move(ops), std::move(rw_handles), data_op};
  command::check_form(command);
  command::check_handles(command, Validation(target_, scratch_, next_id_));
  command::check_fit(command, limits_);
  TensorHandle out = command.ops.back().out;
  for (const OpSpec& op : command.ops) {
    if (op.kind == OpKind::gemm) out = op.out;
  }
  issue(std::move(command));
  return adopt(out);
}

// ---- control ----

template <class Tensors>
void Context::wait_for(const Tensors& tensors) {
  std::vector<command::ByteRange> ranges;
  ranges.reserve(tensors.size());
  for (const Tensor& tensor : tensors) {
    const TensorHandle& handle = own(tensor, "wait", "tensor");
    ranges.push_back(handle.range());
    if (!produced_.overlaps(ranges.back())) {
      throw InputError(
          fmt::format("wait: no issued command writes {}; wait for the result of a "
                      "load, an op or a composite",
                      handle.describe()));
    }
  }
  sink_.wait(ranges);
}

void Context::wait(std::initializer_list<Tensor> tensors) { wait_for(tensors); }
void Context::wait(const std::vector<Tensor>& tensors) { wait_for(tensors); }

void Context::cpu_overhead(std::uint64_t cycles) {
  const command::PeCpuOverheadCmd command{cycles};
  command::check_fit(command, limits_);
  issue(command);
}

void Context::observe(std::string_view name, const Tensor& tensor) {
  sink_.observe(name, own(tensor, "observe", "tensor"));
}

Context::Region Context::region(std::string_view name) {
  if (name.empty()) throw InputError("a region needs a name; give one");
  return Region(sink_, name);
}

namespace {
Index on_axis(const std::array<Index, 3>& values, int axis) {
  if (axis < 0 || axis > 2) {
    throw InputError(fmt::format("axis {} does not exist; there are 0, 1 and 2", axis));
  }
  return values[static_cast<std::size_t>(axis)];
}
}  // namespace

Index Context::program_id(int axis) const { return on_axis(target_.program_id, axis); }
Index Context::num_programs(int axis) const { return on_axis(target_.num_programs, axis); }

}  // namespace kernbench::tl
