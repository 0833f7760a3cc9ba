// SPDX-License-Identifier: Apache-2.0
#include "tests/support/random_kernel.hpp"

#include <algorithm>
#include <random>
#include <stdexcept>

#include "tlm_if/command/error.hpp"

namespace kernbench::test {
namespace {

using command::DType;
using command::ExtraName;
using command::Index;
using command::OpKind;
using command::OpShape;
using command::Shape;
using kernels::Direction;
using tl::Tensor;

constexpr Index kSide = 48;  // of the tensors in HBM; no dimension is larger
constexpr int kMaxAttempts = 200;

/// std::uniform_int_distribution differs between libraries; the remainder does not.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}
  int below(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }
  bool one_in(int n) { return below(n) == 0; }
  template <class Container>
  const auto& of(const Container& values) {
    return values[static_cast<std::size_t>(below(static_cast<int>(values.size())))];
  }

 private:
  std::mt19937_64 random_;
};

class Generator {
 public:
  Generator(tl::Context& tl, const std::vector<Tensor>& bound, std::uint64_t seed, int composites)
      : tl_(tl), bound_(bound), dice_(seed), wanted_(composites) {
    const std::vector<Index> sizes{1, 2, 5, 8, 16, 17, 24, 33, 40};
    for (Index& dim : dims_) dim = dice_.of(sizes);
  }

  void run() {
    for (std::size_t i = bound_.size() / 2; i < bound_.size(); ++i) {  // all of it has a value
      auto scope = tl_.scratch_scope();
      tl_.store(bound_[i], tl_.full(bound_[i].shape(), 0.5, bound_[i].dtype()));
    }
    for (int i = 0; i < kPersistent; ++i) step();
    const std::size_t persistent = live_.size();
    while (composites_ < wanted_) {
      auto scope = tl_.scratch_scope();  // its scratch is used again by the next round
      for (int i = dice_.below(16); i >= 0; --i) step();
      observe();
      live_.resize(persistent);
    }
  }

 private:
  static constexpr int kPersistent = 8;

  void observe() {
    for (const Tensor& tensor : live_) {
      tl_.observe("t" + std::to_string(observed_++), tensor);
    }
  }

  /// One command that `tl` accepts.
  void step() {
    for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
      try {
        draw();
        return;
      } catch (const InputError&) {  // does not fit: nothing was issued (R4.9)
      }
    }
    throw std::logic_error("nothing that was drawn is accepted");
  }

  void draw() {
    switch (dice_.below(14)) {
      case 0:
        live_.push_back(tl_.load(in_hbm(any_dim(), any_dim(), any_dtype())));
        return;
      case 1:
        return store();
      case 2:
      case 3:
        return simple_math();
      case 4:
        return dot();
      case 5:
        return math_chain();
      case 6:
        return recipe_alone();
      case 7:
        return flat_list();
      case 8:
        return tl_.wait({in_tcm({any_dim(), any_dim()})});
      case 9:
        return tl_.cpu_overhead(static_cast<std::uint64_t>(dice_.below(200)));
      default:
        return gemm();
    }
  }

  // ---- tensors ----

  Index any_dim() { return dice_.of(dims_); }
  DType any_dtype() { return dice_.of(std::array{DType::f16, DType::bf16, DType::f32}); }

  /// A rectangle of an input, of any place, perhaps transposed; or of an output that is written.
  Tensor in_hbm(Index rows, Index cols, DType dtype) {
    std::vector<Tensor> fitting;
    for (const Tensor& tensor : written_) {
      if (tensor.shape() == Shape{rows, cols} && tensor.dtype() == dtype) fitting.push_back(tensor);
    }
    if (!fitting.empty() && dice_.one_in(2)) return dice_.of(fitting);
    const Tensor& input = bound_[static_cast<std::size_t>(dtype)];
    if (dice_.one_in(3)) return corner(input, cols, rows).t();
    return corner(input, rows, cols);
  }
  /// Entries of an input that follow each other.
  Tensor vector_in_hbm(Index size, DType dtype) {
    const Tensor row = corner(bound_[static_cast<std::size_t>(dtype)], 1, size);
    return tl_.ref(row.handle().addr, {size}, dtype);
  }
  Tensor corner(const Tensor& tensor, Index rows, Index cols) {
    const auto offset = [&](Index size) {
      return static_cast<Index>(dice_.below(static_cast<int>(kSide - size + 1)));
    };
    return tensor.rows(offset(rows), rows).cols(offset(cols), cols);
  }
  /// Of an output tensor.
  Tensor for_output(Index rows, Index cols) {
    const std::size_t inputs = bound_.size() / 2;
    return corner(bound_[inputs + static_cast<std::size_t>(dice_.below(3))], rows, cols);
  }

  /// A live tensor of that shape, dtype or any, perhaps a view; else a new one.
  Tensor in_tcm(const Shape& shape, std::optional<DType> dtype = std::nullopt) {
    std::vector<Tensor> fitting;
    for (const Tensor& tensor : live_) {
      if (dtype && tensor.dtype() != *dtype) continue;
      const Shape& own = tensor.shape();
      if (own == shape) fitting.push_back(tensor);
      if (own.rank() != shape.rank()) continue;
      if (own.rows() >= shape.rows() && own.cols() >= shape.cols() && dice_.one_in(4)) {
        fitting.push_back(tensor.first(shape));
      }
      if (shape.rank() == 2 && own.rows() == shape.cols() && own.cols() == shape.rows()) {
        fitting.push_back(tensor.t());
      }
    }
    if (!fitting.empty() && !dice_.one_in(4)) return dice_.of(fitting);
    const DType type = dtype ? *dtype : any_dtype();
    if (dice_.one_in(12)) {  // rarely: among entries that are all alike a wrong place does not show
      live_.push_back(tl_.full(shape, 0.25 * (dice_.below(9) - 4), type));
    } else if (shape.rank() == 2) {
      live_.push_back(tl_.load(in_hbm(shape.rows(), shape.cols(), type)));
    } else {
      live_.push_back(tl_.load(vector_in_hbm(shape[0], type)));
    }
    return live_.back();
  }
  Tensor matrix_operand(Index rows, Index cols, DType dtype) {
    return dice_.one_in(2) ? in_hbm(rows, cols, dtype) : in_tcm({rows, cols}, dtype);
  }
  /// What an op may write: a live tensor, or a new one.
  Tensor destination(const Shape& shape) {
    if (dice_.one_in(2)) {
      const Tensor out = tl_.empty(shape, any_dtype());
      fresh_.push_back(out);
      return out;
    }
    return in_tcm(shape);
  }
  /// A composite that computes nothing leaves its outputs as they are: they must have a value.
  bool without_data() { return fresh_.empty() && dice_.one_in(8); }
  /// A command has been issued that wrote what destination() had made.
  void keep() {
    for (Tensor& tensor : fresh_) live_.push_back(tensor);
    fresh_.clear();
  }

  // ---- commands ----

  void store() {
    const Tensor src = in_tcm({any_dim(), any_dim()});
    const Tensor dst = for_output(src.shape().rows(), src.shape().cols());
    tl_.store(dst, src);
    written_.push_back(dst);
  }

  void dot() {
    const Index m = any_dim(), k = any_dim(), n = any_dim();
    const DType dtype = any_dtype();
    const Tensor a = in_tcm({m, k}, dtype), b = in_tcm({k, n}, dtype);
    fresh_.clear();
    const Tensor out = destination({m, n});
    tl_.dot(a, b, out);
    keep();
  }

  /// Names and values of the arguments of one MATH op of the table; the out comes last.
  struct Call {
    OpKind kind;
    std::string op;
    tl::Arguments arguments;
    Tensor out;
  };
  Call math_call(const std::function<Tensor(const Shape&)>& source) {
    static constexpr std::array kKinds{
        OpKind::rmax,     OpKind::rsum,     OpKind::max_elem,  OpKind::add,       OpKind::mul,
        OpKind::div,      OpKind::exp_diff, OpKind::mul_bcast, OpKind::sub_bcast, OpKind::div_bcast,
        OpKind::mul_cols, OpKind::add_cols, OpKind::fma,       OpKind::scale,     OpKind::scale_add,
        OpKind::square,   OpKind::rsqrt,    OpKind::recip,     OpKind::copy,      OpKind::relu,
        OpKind::silu,     OpKind::gelu,     OpKind::fill,      OpKind::mask_cols,
    };
    return math_call(dice_.of(kKinds), source);
  }
  Call math_call(OpKind kind, const std::function<Tensor(const Shape&)>& source) {
    const command::OpInfo& info = command::op_info(kind);
    const Shape shape{any_dim(), any_dim()};
    Call call{kind, std::string(info.name), {}, {}};
    for (std::size_t i = 0; i < info.operands.size(); ++i) {
      Shape operand = shape;
      if (i > 0 && info.shape == OpShape::row_vector) operand = Shape{shape.rows()};
      if (i > 0 && info.shape == OpShape::col_vector) operand = Shape{shape.cols()};
      call.arguments.emplace_back(to_string(info.operands[i]), source(operand));
    }
    for (const command::ExtraInfo& extra : info.extras) {
      if (extra.name == ExtraName::reduce_axis || extra.name == ExtraName::bcast_axis) continue;
      const double value =
          extra.type == command::ExtraType::f32 ? 0.5 * (dice_.below(5) - 2) : dice_.below(20);
      call.arguments.emplace_back(to_string(extra.name), value);
    }
    const Shape result = info.shape == OpShape::reduce_row ? Shape{shape.rows()} : shape;
    const auto* first =
        call.arguments.empty() ? nullptr : std::get_if<Tensor>(&call.arguments.front().value);
    const bool in_place =
        first != nullptr && first->handle().pinned() && first->shape() == result && dice_.one_in(3);
    call.out = in_place ? *first : destination(result);
    return call;
  }
  std::function<Tensor(const Shape&)> from_tcm() {
    return [this](const Shape& shape) { return in_tcm(shape); };
  }

  /// A composite of one op would cost more bytes than the simple command; here it is as good.
  void simple_math() {
    fresh_.clear();
    const Tensor src = in_tcm({any_dim(), any_dim()});
    const Tensor row = in_tcm({src.shape().rows()});
    switch (dice_.below(6)) {
      case 0:
        tl_.exp_diff(src, row, destination(src.shape()));
        break;
      case 1:
        live_.push_back(tl_.rsum(src, DType::f32));
        break;
      case 2:
        tl_.add(src, src, src);
        break;
      case 3:
        tl_.mul_bcast(src, row, destination(src.shape()));
        break;
      case 4:
        tl_.mask_cols(src, -1, dice_.below(30) - 10, dice_.below(3), destination(src.shape()));
        break;
      default:
        live_.push_back(tl_.copy(src, any_dtype()));
        break;
    }
    keep();
  }

  void math_chain() {
    fresh_.clear();
    const bool head_from_hbm = tl_.target().math_head_from_hbm && !dice_.one_in(3);
    Call head = math_call([&](const Shape& shape) {
      if (!head_from_hbm || dice_.one_in(3)) return in_tcm(shape);
      if (shape.rank() == 2) return in_hbm(shape.rows(), shape.cols(), any_dtype());
      return vector_in_hbm(shape[0], any_dtype());
    });
    std::vector<Tensor> to_hbm;
    if (head_from_hbm && dice_.one_in(2) && head.out.shape().rank() == 2) {
      head.out = for_output(head.out.shape().rows(), head.out.shape().cols());
      to_hbm.push_back(head.out);
      fresh_.clear();
    }
    auto builder = tl::math(head.op, head.arguments).out(head.out);
    for (int i = dice_.below(4); i > 0; --i) {
      const Call call = math_call(from_tcm());
      builder.then(call.op, call.arguments).out(call.out);
    }
    builder.data_op(!without_data());
    tl_.composite(builder);
    ++composites_;
    keep();
    written_.insert(written_.end(), to_hbm.begin(), to_hbm.end());
  }

  /// Ready ops (R4.1), with the first one's out as rw handle.
  void flat_list() {
    static constexpr std::array kKinds{OpKind::max_elem, OpKind::add,  OpKind::mul,
                                       OpKind::fma,      OpKind::relu, OpKind::silu,
                                       OpKind::square,   OpKind::copy, OpKind::gelu};
    fresh_.clear();
    std::vector<command::OpSpec> ops;
    for (int i = 1 + dice_.below(3); i > 0; --i) {
      const Call call = math_call(dice_.of(kKinds), from_tcm());
      command::OpSpec& op = ops.emplace_back();
      op.kind = call.kind;
      const auto& names = command::op_info(call.kind).operands;
      for (std::size_t operand = 0; operand < names.size(); ++operand) {
        op.operands.push_back(
            {names[operand], std::get<Tensor>(call.arguments[operand].value).handle()});
      }
      op.has_out = true;
      op.out = call.out.handle();
    }
    const std::vector<command::TensorHandle> rw_handles{ops.front().out};
    tl_.composite(ops, rw_handles, !without_data());
    ++composites_;
    keep();
  }

  void recipe_alone() {
    const Index g = any_dim(), d = any_dim();
    const DType stats = dice_.one_in(2) ? DType::f32 : DType::f16;
    const auto row = [&] { return in_tcm({g}, stats); };
    const auto matrix = [&] { return in_tcm({g, d}, stats); };
    if (dice_.one_in(2)) {
      const Tensor m = row(), l = row(), m2 = row(), l2 = row(), O = matrix(), O2 = matrix();
      fresh_.clear();
      tl_.composite(tl::recipe(tl::state_merge(m, l, O, m2, l2, O2)).data_op(!without_data()));
    } else {
      const Tensor s = in_tcm({g, any_dim()}), m = row(), l = row(), O = matrix();
      live_.push_back(tl_.composite(tl::recipe(tl::softmax_merge(s, m, l, O))));
    }
    ++composites_;
  }

  void gemm() {
    fresh_.clear();
    const Index m = any_dim(), k = any_dim(), n = any_dim();
    const DType dtype = any_dtype();
    tl::GemmBuilder builder;
    const int prologue = dice_.below(4);
    Tensor accumulator;  // of softmax_merge
    if (prologue == 0) {
      accumulator = in_tcm({m, n}, DType::f32);
      builder.prologue(tl::softmax_merge(in_tcm({m, k}, dtype), in_tcm({m}, DType::f32),
                                         in_tcm({m}, DType::f32), accumulator));
    } else if (prologue == 1) {
      builder.prologue(tl::rmsnorm_linear(in_tcm({m, k}, dtype), in_tcm({k})));
    } else {
      builder.a(matrix_operand(m, k, dtype));
    }
    builder.b(matrix_operand(k, n, dtype));

    Tensor out;
    std::vector<Tensor> to_hbm;
    switch (prologue == 0 ? 0 : dice_.below(5)) {
      case 0:
        out = prologue == 0 ? accumulator : in_tcm({m, n});
        builder.out(out);
        break;
      case 1:
        out = for_output(m, n);
        to_hbm.push_back(out);
        builder.out(out);
        break;
      case 2: {
        const Tensor& whole = bound_.back();
        const Tensor dense = tl_.ref(whole.handle().addr, {m, n}, dtype);
        to_hbm.push_back(dense);
        out = dense;
        builder.out_ptr(dense.handle().addr);
        break;
      }
      case 3:
        if (dice_.one_in(2)) builder.dtype(DType::f32);
        break;
      default:
        out = destination({m, n});
        builder.out(out);
        break;
    }
    for (int i = dice_.below(3); i > 0; --i) epilogue(builder, m, n, out);
    const bool in_tcm_out = out.owner() != nullptr && out.handle().pinned();
    if (in_tcm_out && dice_.one_in(3)) postloop(builder, out);
    if (out.owner() != nullptr) builder.data_op(!without_data());
    const Tensor result = tl_.composite(builder);
    ++composites_;
    keep();
    if (out.owner() == nullptr) live_.push_back(result);
    written_.insert(written_.end(), to_hbm.begin(), to_hbm.end());
  }

  void epilogue(tl::GemmBuilder& builder, Index m, Index n, const Tensor& out) {
    const auto scope = dice_.one_in(3) ? tl::Scope::k_tile : tl::Scope::output_tile;
    const auto other = [&] {
      switch (dice_.below(4)) {
        case 0:
          return in_tcm({n});
        case 1:
          return in_tcm({m, 1});
        case 2:
          return in_tcm({1});
        default:
          return out.owner() != nullptr && is_written(out) && dice_.one_in(2) ? out
                                                                              : in_tcm({m, n});
      }
    };
    switch (dice_.below(6)) {
      case 0:
        builder.epilogue(tl::bias(in_tcm({n}), scope));
        break;
      case 1:
        builder.epilogue(tl::add(other(), scope));
        break;
      case 2:
        builder.epilogue(tl::mul(other(), scope));
        break;
      case 3:
        builder.epilogue(tl::scale(0.5, scope));
        break;
      case 4:
        builder.epilogue(tl::relu(scope));
        break;
      default:
        builder.epilogue(tl::gelu(scope));
        break;
    }
  }
  bool is_written(const Tensor& tensor) const {
    return std::any_of(live_.begin(), live_.end(), [&](const Tensor& live) {
      return live.handle().same_view(tensor.handle());
    });
  }

  void postloop(tl::GemmBuilder& builder, const Tensor& out) {
    const Index n = out.shape().cols();
    switch (dice_.below(3)) {
      case 0:
        builder.epilogue(tl::linear_gelu_norm(in_tcm({n}), in_tcm({n}), in_tcm({n})));
        break;
      case 1:
        builder.epilogue("silu", {{"src", out}, {"out", out}}, tl::Scope::kernel);
        break;
      default:
        builder.epilogue("rsum", {{"src", out}, {"out", destination({out.shape().rows()})}},
                         tl::Scope::kernel);
        break;
    }
  }

  tl::Context& tl_;
  const std::vector<Tensor>& bound_;
  Dice dice_;
  std::array<Index, 4> dims_{};
  std::vector<Tensor> live_;     // in TCM, each written by an issued command
  std::vector<Tensor> fresh_;    // in TCM, written by the command that is being drawn
  std::vector<Tensor> written_;  // rectangles of the outputs in HBM that commands wrote
  int composites_ = 0;
  int observed_ = 0;
  int wanted_;
};

}  // namespace

kernels::Kernel random_kernel(std::uint64_t seed, int composites) {
  kernels::Kernel kernel;
  kernel.name = "random";
  kernel.summary = "composites drawn at random";
  kernel.make = [seed, composites](const kernels::Parameters&, const tl::Target&) {
    kernels::Instance instance;
    const std::vector<Index> side{kSide, kSide};
    // Inputs by the number of their dtype, then as many outputs.
    for (const auto direction : {Direction::in, Direction::out}) {
      for (const DType dtype : {DType::f16, DType::bf16, DType::f32}) {
        const std::string name = direction == Direction::in ? "x_" : "y_";
        instance.tensors.push_back(
            {name + std::string(to_string(dtype)), side, {kSide, kSide}, dtype, direction});
      }
    }
    instance.body = [seed, composites](tl::Context& tl, const std::vector<Tensor>& bound) {
      Generator(tl, bound, seed, composites).run();
    };
    return instance;
  };
  return kernel;
}

arch::TopologyConfig random_topology(std::uint64_t seed) {
  Dice dice(seed);
  arch::TopologyConfig topology;
  topology.name = "random";
  const auto pick = [&](std::initializer_list<int> values) {
    return *(values.begin() + dice.below(static_cast<int>(values.size())));
  };
  const auto number = [&](std::initializer_list<int> values) {
    return static_cast<std::uint64_t>(pick(values));
  };
  const auto count = [&](int most) { return static_cast<std::uint32_t>(1 + dice.below(most)); };
  arch::PeConfig& pe = topology.pe;
  const std::uint64_t clock = number({1, 3, 13});
  pe.clock_ghz = arch::Rational(clock, number({1, 4}));
  pe.pe_cost_model.fixed_cycles = number({0, 1, 40});
  pe.pe_cost_model.max_composite_logical_bytes = number({64, 1024});
  pe.cpu.cmd_queue_depth = count(4);
  pe.scheduler.rw_policy = dice.one_in(3) ? arch::RwPolicy::drain_all : arch::RwPolicy::overlap;
  pe.scheduler.tile_buffers = count(4);
  pe.scheduler.max_inflight_composites = count(4);
  pe.scheduler.math_head_from_hbm = dice.one_in(2);
  pe.dma.read_channels = count(3);
  pe.dma.write_channels = count(3);
  pe.dma.setup_cycles = number({0, 16});
  pe.dma.burst_bytes = static_cast<std::uint32_t>(pick({16, 256, 4096}));
  pe.dma.max_outstanding_bytes = number({4096, 32768});
  pe.tcm.scratch_bytes = 600000;
  pe.tcm.bytes_per_cycle = number({16, 512});
  pe.gemm.model = static_cast<arch::GemmModel>(dice.below(3));
  pe.gemm.tile_m = pick({4, 8, 16});
  pe.gemm.tile_k = pick({8, 16, 32});
  pe.gemm.tile_n = pick({8, 16, 32});
  pe.math.lanes = number({1, 64});
  topology.hbm.gbps = arch::Rational(number({16, 100, 1024}));
  topology.hbm.latency_ns = arch::Rational(number({0, 7, 100}));
  return topology;
}

}  // namespace kernbench::test
