// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tl/builder.hpp"
#include "tl/range_set.hpp"
#include "tl/recipes.hpp"
#include "tl/scratch.hpp"
#include "tl/target.hpp"
#include "tl/tensor.hpp"
#include "tlm_if/command/access_set.hpp"
#include "tlm_if/command/command_sink.hpp"

namespace kernbench::tl {

/// Where an op's result goes: a tensor, or TCM scratch of a dtype (default: that of the first
/// operand).
class Out {
 public:
  Out() = default;
  Out(const Tensor& tensor) : tensor_(tensor) {}  // NOLINT: `rmax(s, out)`
  Out(DType dtype) : dtype_(dtype) {}             // NOLINT: `div_bcast(O, l, f16)`

 private:
  friend class Context;
  std::optional<Tensor> tensor_;
  std::optional<DType> dtype_;
};

/// The compiler: a kernel's calls become commands on a sink (contract 4).
///
/// Every call checks its arguments and throws InputError before anything is submitted or allocated
/// (R4.9). Do not pass a trailing CallSite; its default names the kernel's line in messages.
class Context {
 public:
  /// `sink` and `recipes` must outlive the context.
  Context(const Target& target, command::CommandSink& sink,
          const RecipeTable& recipes = builtin_recipes());
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // --- data ---------------------------------------------------------------------------------
  /// A row-major tensor in HBM. No command.
  Tensor ref(command::Address addr, const Shape& shape, DType dtype, std::string_view name = {});
  /// HBM -> new TCM scratch of the same shape and dtype (DmaReadCmd).
  Tensor load(const Tensor& src, CallSite site = CallSite::here());
  /// HBM -> a given TCM tensor of the same shape and dtype, for example a slot of a ring
  /// (DmaReadCmd).
  void load(const Tensor& src, const Tensor& out);
  /// TCM -> HBM (DmaWriteCmd).
  void store(const Tensor& dst, const Tensor& src);
  /// A TCM tensor to another program of the launch, given by its number (IpcqSendCmd). The tensor
  /// is cut into slots; the send is done when the last slot has been sent.
  void send(Index dst, const Tensor& src, Index channel = 0);
  /// The next message of that program and channel, of the same number of bytes, into a TCM tensor
  /// (IpcqRecvCmd). Does not block the kernel; commands that use the tensor wait for it.
  void recv(Index src, const Tensor& out, Index channel = 0);
  /// TCM scratch, not filled. No command.
  Tensor empty(const Shape& shape, DType dtype, CallSite site = CallSite::here());
  /// N such tensors used in turn, called `name`0, `name`1, .. in messages. No command.
  template <std::size_t N>
  Ring<N> ring(const Shape& shape, DType dtype, std::string_view name = {},
               CallSite site = CallSite::here()) {
    std::array<Tensor, N> slots;
    allocate_slots(slots.data(), N, shape, dtype, name, site);
    return Ring<N>(std::move(slots));
  }
  /// TCM scratch, filled (MathCmd fill).
  Tensor zeros(const Shape& shape, DType dtype, CallSite site = CallSite::here());
  Tensor full(const Shape& shape, double value, DType dtype, CallSite site = CallSite::here());
  void fill(const Tensor& out, double value);

  // --- simple ops: one GemmCmd or MathCmd on TCM operands -----------------------------------
  /// (M, K) x (K, N) -> (M, N).
  Tensor dot(const Tensor& a, const Tensor& b, const Out& out = {},
             CallSite site = CallSite::here());

  // Over a row: (r, c) -> (r,).
  Tensor rmax(const Tensor& src, const Out& out = {}, CallSite site = CallSite::here());
  Tensor rsum(const Tensor& src, const Out& out = {}, CallSite site = CallSite::here());

  // All operands have the same shape.
  Tensor max_elem(const Tensor& a, const Tensor& b, const Out& out = {},
                  CallSite site = CallSite::here());
  Tensor add(const Tensor& a, const Tensor& b, const Out& out = {},
             CallSite site = CallSite::here());
  Tensor mul(const Tensor& a, const Tensor& b, const Out& out = {},
             CallSite site = CallSite::here());
  Tensor div(const Tensor& a, const Tensor& b, const Out& out = {},
             CallSite site = CallSite::here());
  Tensor fma(const Tensor& a, const Tensor& b, const Tensor& c, const Out& out = {},
             CallSite site = CallSite::here());

  // b has one entry per row of a; exp_diff also takes two tensors of the same shape.
  Tensor exp_diff(const Tensor& a, const Tensor& b, const Out& out = {},
                  CallSite site = CallSite::here());
  Tensor mul_bcast(const Tensor& a, const Tensor& b, const Out& out = {},
                   CallSite site = CallSite::here());
  Tensor sub_bcast(const Tensor& a, const Tensor& b, const Out& out = {},
                   CallSite site = CallSite::here());
  Tensor div_bcast(const Tensor& a, const Tensor& b, const Out& out = {},
                   CallSite site = CallSite::here());

  // b has one entry per column of a.
  Tensor mul_cols(const Tensor& a, const Tensor& b, const Out& out = {},
                  CallSite site = CallSite::here());
  Tensor add_cols(const Tensor& a, const Tensor& b, const Out& out = {},
                  CallSite site = CallSite::here());

  Tensor scale(const Tensor& src, double value, const Out& out = {},
               CallSite site = CallSite::here());
  /// src * a + b.
  Tensor scale_add(const Tensor& src, double a, double b, const Out& out = {},
                   CallSite site = CallSite::here());
  Tensor square(const Tensor& src, const Out& out = {}, CallSite site = CallSite::here());
  Tensor rsqrt(const Tensor& src, const Out& out = {}, CallSite site = CallSite::here());
  Tensor recip(const Tensor& src, const Out& out = {}, CallSite site = CallSite::here());
  Tensor copy(const Tensor& src, const Out& out = {}, CallSite site = CallSite::here());
  Tensor relu(const Tensor& src, const Out& out = {}, CallSite site = CallSite::here());
  Tensor silu(const Tensor& src, const Out& out = {}, CallSite site = CallSite::here());
  Tensor gelu(const Tensor& src, const Out& out = {}, CallSite site = CallSite::here());
  /// Entry (r, c) = value where c >= first_col + r / rows_per_step (0: the same for all rows).
  Tensor mask_cols(const Tensor& src, double value, Index first_col, Index rows_per_step,
                   const Out& out = {}, CallSite site = CallSite::here());

  // --- composites ---------------------------------------------------------------------------
  /// Issues one CompositeCmd and returns its output: that of the gemm, otherwise the recipe's
  /// primary output, otherwise that of the last op.
  Tensor composite(const GemmBuilder& builder, CallSite site = CallSite::here());
  Tensor composite(const RecipeBuilder& builder, CallSite site = CallSite::here());
  Tensor composite(const MathBuilder& builder, CallSite site = CallSite::here());
  /// The ops of the builder as simple commands, in order; returns the output of the last one.
  Tensor one_by_one(const MathBuilder& builder, CallSite site = CallSite::here());
  /// Issues a given flat list after the same validation.
  Tensor composite(std::vector<command::OpSpec> ops,
                   std::vector<command::TensorHandle> rw_handles = {}, bool data_op = true);

  // --- control ------------------------------------------------------------------------------
  /// Blocks the kernel until every issued command that writes a byte of the tensors is done.
  void wait(std::initializer_list<Tensor> tensors);
  void wait(const std::vector<Tensor>& tensors);
  /// Scalar work on PE_CPU.
  void cpu_overhead(std::uint64_t cycles);
  /// Makes the value of `tensor` a named result, read when every command issued so far is done. No
  /// command.
  void observe(std::string_view name, const Tensor& tensor);

  class [[nodiscard]] ScratchScope {
   public:
    ScratchScope(const ScratchScope&) = delete;
    ScratchScope& operator=(const ScratchScope&) = delete;
    ~ScratchScope() { context_.release_to(mark_); }

   private:
    friend class Context;
    explicit ScratchScope(Context& context) : context_(context), mark_(context.scratch_.mark()) {}
    Context& context_;
    Scratch::Mark mark_;
  };
  /// Scratch that is allocated while the returned object lives is released when it is destroyed.
  ScratchScope scratch_scope() { return ScratchScope(*this); }

  class [[nodiscard]] Region {
   public:
    Region(const Region&) = delete;
    Region& operator=(const Region&) = delete;
    ~Region() { sink_.end_region(name_); }

   private:
    friend class Context;
    Region(command::CommandSink& sink, std::string_view name) : sink_(sink), name_(name) {
      sink_.begin_region(name_);
    }
    command::CommandSink& sink_;
    std::string name_;
  };
  /// A named span: from the first dispatch while the returned object lives, to the end of the last
  /// stage of the commands issued in that time.
  Region region(std::string_view name);

  /// The id of this program and the number of programs on an axis, 0 to 2.
  Index program_id(int axis) const;
  Index num_programs(int axis) const;
  /// The same over all axes, row-major: what send and recv take.
  Index program() const { return target_.program(); }
  Index programs() const { return target_.programs(); }
  const Target& target() const { return target_; }
  /// The highest use of scratch so far, in bytes from its base.
  std::uint64_t scratch_peak_bytes() const { return scratch_.peak_bytes(); }

 private:
  friend class Tensor;
  friend class Lowering;
  class Attempt;

  /// The tensor of a handle that is sound: in HBM, or in a live allocation.
  Tensor adopt(const command::TensorHandle& handle);
  /// The tensor's handle, if the tensor belongs to this context and its scratch scope has not
  /// ended. Otherwise throws an InputError that begins with `where` and `what`. Nothing else can be
  /// wrong with a single tensor, since views and results come from the context's own calls.
  const command::TensorHandle& own(const Tensor& tensor, std::string_view where,
                                   std::string_view what) const {
    if (tensor.owner() != this) refuse_foreign(tensor, where, what);
    check_live(tensor, where, what);
    return tensor.handle();
  }
  void check_live(const Tensor& tensor, std::string_view where, std::string_view what) const {
    if (tensor.handle_.pinned() && !scratch_.is_live(tensor.lease_)) {
      refuse_ended(tensor, where, what);
    }
  }
  command::IpcqChannel ipcq_channel(const char* name, Index peer, Index channel) const;
  [[noreturn]] void refuse_foreign(const Tensor& tensor, std::string_view where,
                                   std::string_view what) const;
  [[noreturn]] void refuse_ended(const Tensor& tensor, std::string_view where,
                                 std::string_view what) const;
  Tensor allocate(const Shape& shape, DType dtype, const command::Name& name, CallSite site);
  /// For a ring; the message of a failure says how many slots it has.
  void allocate_slots(Tensor* slots, std::size_t count, const Shape& shape, DType dtype,
                      std::string_view name, CallSite site);
  void release_to(Scratch::Mark mark);
  Tensor math(command::OpKind kind, std::initializer_list<const Tensor*> inputs,
              std::initializer_list<std::pair<command::ExtraName, double>> extras, const Out& out,
              CallSite site);
  template <class Builder>
  Tensor emit(const Builder& builder, CallSite site);
  template <class Tensors>
  void wait_for(const Tensors& tensors);
  template <class Cmd>
  void issue(Cmd&& command);

  Target target_;
  command::Limits limits_;  // of the target
  command::CommandSink& sink_;
  const RecipeTable& recipes_;
  Scratch scratch_;
  command::HandleId next_id_ = 1;
  std::uint64_t issued_ = 0;
  RangeSet produced_;  // bytes that an issued command writes
};

using ScratchScope = Context::ScratchScope;
using Region = Context::Region;

}  // namespace kernbench::tl
