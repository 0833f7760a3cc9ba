// SPDX-License-Identifier: Apache-2.0
#include "tlm_if/command/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tlm_if/command/error.hpp"

namespace kernbench::command {
namespace {

[[noreturn]] void refuse(std::string_view where, const std::string& what) {
  throw InputError(fmt::format("{}: {}", where, what));
}

template <class Names>
std::string join_names(const Names& names) {
  std::string text;
  for (const auto& name : names) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", to_string(name));
  }
  return text.empty() ? "none" : text;
}

std::vector<OperandName> names_of(const OpSpec& op) {
  std::vector<OperandName> names;
  for (const Operand& operand : op.operands) names.push_back(operand.name);
  return names;
}

template <class Names>
bool same_names(const OpSpec& op, const Names& expected) {
  return std::equal(op.operands.begin(), op.operands.end(), expected.begin(), expected.end(),
                    [](const Operand& operand, OperandName name) { return operand.name == name; });
}

// One entry per row or column: (n,), or a matrix of one column or one row.
bool is_vector(const Shape& shape, Index n, bool column) {
  if (shape.elements() != n) return false;
  return shape.rank() == 1 || (column ? shape.cols() : shape.rows()) == 1;
}

bool are_gemm_operands(const TensorHandle& a, const TensorHandle& b) {
  return a.shape.rank() == 2 && b.shape.rank() == 2 && a.shape.cols() == b.shape.rows() &&
         a.dtype == b.dtype;
}

[[noreturn]] void refuse_gemm_operands(std::string_view where, const TensorHandle& a,
                                       const TensorHandle& b) {
  if (a.shape.rank() != 2 || b.shape.rank() != 2) {
    refuse(where, fmt::format("a {} and b {} must have rank 2", a.describe(), b.describe()));
  }
  if (a.shape.cols() != b.shape.rows()) {
    refuse(where, fmt::format("a {} does not fit b {}: dimension 1 of a is {}, dimension 0 of b is "
                              "{}; they must be equal",
                              a.describe(), b.describe(), a.shape.cols(), b.shape.rows()));
  }
  refuse(where, fmt::format("a {} and b {} differ in dtype; convert one of them", a.describe(),
                            b.describe()));
}

// The same bytes with the same layout in every tile, so reading and writing them tile by tile is
// safe.
bool same_tiles(const TensorHandle& x, const TensorHandle& y) {
  return x.addr == y.addr && x.dtype == y.dtype && x.shape.rows() == y.shape.rows() &&
         x.shape.cols() == y.shape.cols() &&
         (x.shape.rows() == 1 || x.row_stride == y.row_stride) &&
         (x.shape.cols() == 1 || x.col_stride == y.col_stride);
}

std::string first_difference(const Shape& shape, const Shape& expected) {
  if (shape.rank() != expected.rank()) {
    return fmt::format("the rank is {}, must be {}", shape.rank(), expected.rank());
  }
  const int axis = shape[0] != expected[0] ? 0 : 1;
  return fmt::format("dimension {} is {}, must be {}", axis, shape[axis], expected[axis]);
}

// True if the entries of a row are not contiguous.
bool is_column_major(const TensorHandle& handle) {
  return handle.shape.cols() > 1 && handle.col_stride != 1;
}

// The number of ops if there is no gemm.
std::size_t gemm_index(const std::vector<OpSpec>& ops) {
  std::size_t i = 0;
  while (i < ops.size() && ops[i].kind != OpKind::gemm) ++i;
  return i;
}

bool fits(const Extra& extra, ExtraName name, Index value) {
  return extra.name == name && static_cast<Index>(extra.bits) == value;
}

/// An op and its position, for messages.
class Op {
 public:
  explicit Op(const OpSpec& spec) : spec_(spec) {}
  Op(const OpSpec& spec, std::size_t index) : spec_(spec), index_(static_cast<int>(index)) {}

  const OpSpec& operator*() const { return spec_; }
  const OpSpec* operator->() const { return &spec_; }
  const OpInfo& info() const { return op_info(spec_.kind); }
  const TensorHandle& in(std::size_t i) const { return spec_.operands[i].handle; }

  std::string where() const {
    return index_ < 0 ? std::string(info().name) : fmt::format("op {} ({})", index_, info().name);
  }
  [[noreturn]] void refuse(const std::string& what) const { command::refuse(where(), what); }

  std::string name(std::size_t i) const {
    return fmt::format("{} {}", to_string(spec_.operands[i].name), in(i).describe());
  }
  std::string out_name() const { return fmt::format("out {}", spec_.out.describe()); }

  void check_form() const;
  void check_kernel_shapes() const;
  /// Checks that `src` and `out` refer to the gemm's output and that `other` fits it (R4.6).
  void check_on_accumulator(const TensorHandle& out) const;

 private:
  void check_extras() const;
  /// Checks that operand or output `handle` has the shape of operand `i`.
  void require_alike(OperandName handle_name, const TensorHandle& handle, std::size_t i) const {
    if (handle.shape != in(i).shape) refuse_unlike(handle_name, handle, i);
  }
  [[noreturn]] void refuse_unlike(OperandName handle_name, const TensorHandle& handle,
                                  std::size_t i) const;

  const OpSpec& spec_;
  int index_ = -1;
};

// Checks that operands, output and extras are those of the op table (R3.5).
void Op::check_form() const {
  const bool tile_form = spec_.on_accumulator();
  if (tile_form && !info().tile_operands) {
    refuse(fmt::format("has no {} form; give it scope kernel", to_string(spec_.scope)));
  }
  if (!tile_form && !info().kernel_form) {
    refuse("is an epilogue op only; give it scope k_tile or output_tile after a gemm");
  }
  if (tile_form && !same_names(spec_, *info().tile_operands)) {
    refuse(fmt::format("operands are {}; at scope {} they must be {}", join_names(names_of(spec_)),
                       to_string(spec_.scope), join_names(*info().tile_operands)));
  }
  if (!tile_form && !same_names(spec_, info().operands)) {
    refuse(fmt::format("operands are {}; they must be {}", join_names(names_of(spec_)),
                       join_names(info().operands)));
  }
  const bool needs_out = !tile_form || info().tile_out;
  if (spec_.has_out != needs_out) {
    refuse(needs_out ? "has no out; give one" : "has an out; leave it away");
  }
  check_extras();
}

void Op::check_extras() const {
  const auto* given = spec_.extras.begin();
  for (const ExtraInfo& expected : info().extras) {
    if (given != spec_.extras.end() && given->name == expected.name &&
        given->type == expected.type) {
      ++given;
    } else if (expected.required) {
      refuse(
          fmt::format("lacks its extra '{}', or has it at another place or as another type; "
                      "give {} in the order of the op table",
                      to_string(expected.name), info().extras.size() == 1 ? "it" : "all"));
    }
  }
  if (given != spec_.extras.end()) {
    refuse(fmt::format("takes no extra '{}' here; leave it away", to_string(given->name)));
  }
}

void Op::refuse_unlike(OperandName handle_name, const TensorHandle& handle, std::size_t i) const {
  refuse(fmt::format("{} {} does not fit {}: {}", to_string(handle_name), handle.describe(),
                     name(i), first_difference(handle.shape, in(i).shape)));
}

void Op::check_kernel_shapes() const {
  const OpShape shape = info().shape;
  if (shape == OpShape::fill) return;
  const Shape& first = in(0).shape;
  if (shape == OpShape::reduce_row) {
    if (!is_vector(spec_.out.shape, first.rows(), true)) {
      refuse(fmt::format("{} does not fit {}: it needs one entry per row, dimension 0 must be {}",
                         out_name(), name(0), first.rows()));
    }
    return;
  }
  if (shape == OpShape::elementwise) {
    for (std::size_t i = 1; i < spec_.operands.size(); ++i) {
      require_alike(spec_.operands[i].name, in(i), 0);
    }
  } else {
    const bool column = shape == OpShape::row_vector;
    const Index n = column ? first.rows() : first.cols();
    const bool both_vectors = spec_.kind == OpKind::exp_diff && first.rank() == 1;
    const bool alike = spec_.kind == OpKind::exp_diff && in(1).shape == first;
    if (both_vectors) {
      require_alike(spec_.operands[1].name, in(1), 0);
    } else if (!alike && !is_vector(in(1).shape, n, column)) {
      refuse(fmt::format("{} does not fit {}: it needs one entry per {}, dimension {} of {} is {}",
                         name(1), name(0), column ? "row" : "column",
                         column || first.rank() == 1 ? 0 : 1, in(0).label(), n));
    }
  }
  require_alike(OperandName::out, spec_.out, 0);
}

void Op::check_on_accumulator(const TensorHandle& out) const {
  for (const Operand& operand : spec_.operands) {
    if (operand.name == OperandName::src && !operand.handle.same_view(out)) {
      refuse(fmt::format("src {} must name the accumulator; give the gemm's out {}",
                         operand.handle.describe(), out.describe()));
    }
  }
  if (spec_.has_out && !spec_.out.same_view(out)) {
    refuse(fmt::format("out {} must name the accumulator; give the gemm's out {}",
                       spec_.out.describe(), out.describe()));
  }
  const TensorHandle* other = spec_.operand(OperandName::other);
  if (other == nullptr) return;
  if (!other->pinned()) {
    refuse(fmt::format("other {} is in HBM; epilogue operands must lie in TCM, load it first",
                       other->describe()));
  }
  const Index m = out.shape.rows();
  const Index n = out.shape.cols();
  const Shape& shape = other->shape;
  const bool per_column = shape == Shape::vector(n);
  const bool other_forms = shape == out.shape || shape == Shape::matrix(m, 1) ||
                           shape == Shape::vector(1) || shape == Shape::matrix(1, 1);
  const bool only_per_column = info().shape == OpShape::col_vector;
  if (!per_column && (only_per_column || !other_forms)) {
    refuse(fmt::format(
        "other {} does not fit out {}: its shape must be {}", other->describe(), out.describe(),
        only_per_column ? fmt::format("({},), one entry per column", n)
                        : fmt::format("({}, {}), ({},), ({}, 1) or (1,)", m, n, n, m)));
  }
  // A tile of `out` is stored before the next tile reads `other`.
  if (other->range().overlaps(out.range()) && !same_tiles(*other, out)) {
    refuse(fmt::format("other {} overlaps out {} in part; use the same tensor or separate ones",
                       other->describe(), out.describe()));
  }
}

void check_in_tcm(const Op& op) {
  for (std::size_t i = 0; i < op->operands.size(); ++i) {
    if (!op.in(i).pinned()) {
      op.refuse(op.name(i) + " is in HBM; it must lie in TCM, load it first");
    }
  }
  if (!op->out.pinned()) {
    op.refuse(op.out_name() + " is in HBM; it must lie in TCM, store it afterwards");
  }
}

void check_tile_count(const Op& op, Index size, Index tile) {
  if (size / kMaxTiles < tile) return;
  op.refuse(
      fmt::format("a dimension of {} makes more than 2^31 - 1 tiles of {}; use larger tiles "
                  "or smaller tensors",
                  size, tile));
}

void check_gemm(const Op& op, const Limits& limits) {
  const TensorHandle& a = op.in(0);
  const TensorHandle& b = op.in(1);
  const TensorHandle& out = op->out;
  if (!are_gemm_operands(a, b)) refuse_gemm_operands(op.where(), a, b);
  const Index m = a.shape.rows();
  const Index k = a.shape.cols();
  const Index n = b.shape.cols();
  if (out.shape != Shape::matrix(m, n)) {
    op.refuse(fmt::format("{} does not fit {} times {}: {}", op.out_name(), op.name(0), op.name(1),
                          first_difference(out.shape, Shape::matrix(m, n))));
  }
  if (!fits(op->extras[0], ExtraName::m, m) || !fits(op->extras[1], ExtraName::k, k) ||
      !fits(op->extras[2], ExtraName::n, n)) {
    op.refuse(fmt::format("extras m, k, n are {}, {}, {}; {} and {} make them {}, {}, {}",
                          op->extras[0].bits, op->extras[1].bits, op->extras[2].bits, op.name(0),
                          op.name(1), m, k, n));
  }
  check_tile_count(op, m, limits.tile_m);
  check_tile_count(op, k, limits.tile_k);
  check_tile_count(op, n, limits.tile_n);
  const Index tile_m = std::min(m, limits.tile_m);
  const Index tile_k = std::min(k, limits.tile_k);
  const Index tile_n = std::min(n, limits.tile_n);
  // A tile stored early would change an input of a later tile.
  if (tile_m < m || tile_k < k || tile_n < n) {
    for (std::size_t i = 0; i < 2; ++i) {
      if (out.range().overlaps(op.in(i).range())) {
        op.refuse(
            fmt::format("{} overlaps {} and the gemm has more than one tile of {}x{}x{}; "
                        "give a separate out",
                        op.out_name(), op.name(i), limits.tile_m, limits.tile_k, limits.tile_n));
      }
    }
  }
  const auto streamed = [](const TensorHandle& handle, Index rows, Index cols) {
    return handle.pinned() ? 0 : bytes_of(handle.dtype, static_cast<std::uint64_t>(rows * cols));
  };
  const std::uint64_t bytes = streamed(a, tile_m, tile_k) + streamed(b, tile_k, tile_n);
  if (bytes > limits.tile_buffer_bytes) {
    op.refuse(
        fmt::format("streamed tiles of {} and {} take {} bytes, a tile buffer has {}; load "
                    "an operand first, or use smaller tiles",
                    op.name(0), op.name(1), bytes, limits.tile_buffer_bytes));
  }
}

void check_streamed_head(const Op& op, const Limits& limits) {
  const Shape& shape = op->operands.empty() ? op->out.shape : op.in(0).shape;
  check_tile_count(op, shape.rows(), limits.tile_m);
  check_tile_count(op, shape.cols(), limits.tile_n);
  const Index rows = std::min(shape.rows(), limits.tile_m);
  const Index cols = std::min(shape.cols(), limits.tile_n);
  if (op.info().shape == OpShape::reduce_row && cols < shape.cols()) {
    op.refuse(
        fmt::format("{} streams from HBM in chunks of {} columns and {} reduces rows of {}; "
                    "load it first, or use wider tiles",
                    op.name(0), limits.tile_n, op.info().name, shape.cols()));
  }
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < op->operands.size(); ++i) {
    const TensorHandle& handle = op.in(i);
    if (!handle.pinned()) {
      const auto spread = spread_of(*op, op->operands[i].name, handle.shape);
      const Index entries = spread == Spread::matrix      ? rows * cols
                            : spread == Spread::one_a_row ? rows
                                                          : cols;
      bytes += bytes_of(handle.dtype, static_cast<std::uint64_t>(entries));
    }
    // A chunk of `out` is written before the next chunk is read.
    const bool one_chunk = rows == shape.rows() && cols == shape.cols();
    if (!one_chunk && handle.range().overlaps(op->out.range()) && !same_tiles(handle, op->out)) {
      op.refuse(
          fmt::format("{} overlaps {} in part and streams in chunks of {}x{}; use the same "
                      "tensor or separate ones",
                      op.out_name(), op.name(i), limits.tile_m, limits.tile_n));
    }
  }
  if (bytes > limits.tile_buffer_bytes) {
    op.refuse(
        fmt::format("a chunk of its operands in HBM takes {} bytes, a tile buffer has {}; "
                    "load one of them first, or use smaller tiles",
                    bytes, limits.tile_buffer_bytes));
  }
}

void check_rw_handles(const CompositeCmd& command, const OpSpec* gemm) {
  const auto& handles = command.rw_handles;
  for (std::size_t i = 0; i < handles.size(); ++i) {
    if (!handles[i].pinned() && (gemm == nullptr || !handles[i].same_view(gemm->out))) {
      refuse("composite",
             fmt::format("rw handle {} is in HBM; it must lie in TCM", handles[i].describe()));
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (handles[i].id == handles[j].id) {
        refuse("composite",
               fmt::format("rw handle {} is given twice; give each once", handles[i].describe()));
      }
    }
  }
}

/// The single op of a simple command.
void check_form(const OpSpec& spec, bool is_gemm) {
  const Op op(spec);
  if (is_gemm != (spec.kind == OpKind::gemm)) {
    op.refuse(is_gemm ? "is not a gemm; issue it as a MathCmd"
                      : "is a gemm; issue it as a GemmCmd");
  }
  if (spec.on_accumulator()) {
    op.refuse(fmt::format("scope {} needs a gemm before it; this command has none",
                          to_string(spec.scope)));
  }
  op.check_form();
}

/// IPCQ moves rows between TCMs, without HBM and without transposing.
void check_ipcq(const char* name, const char* what, const TensorHandle& handle,
                const IpcqChannel& with, const Limits& limits) {
  if (!handle.pinned()) {
    refuse(name, fmt::format("{} {} is in HBM; it must lie in TCM", what, handle.describe()));
  }
  if (is_column_major(handle)) {
    refuse(name, fmt::format("{} {} is a transposed view; move it as it lies and take .t() of the "
                             "result",
                             what, handle.describe()));
  }
  if (with.peer >= limits.pes || limits.pes == 1) {
    refuse(
        name,
        limits.pes == 1
            ? fmt::format("there is no PE {} to talk to: the design has one, or does not connect "
                          "this one",
                          with.peer)
            : fmt::format("there is no PE {}; name one in [0, {}]", with.peer, limits.pes - 1));
  }
  if (limits.pe == with.peer) {
    refuse(name, fmt::format("PE {} is this one; name another", with.peer));
  }
  if (with.channel >= limits.ipcq_channels) {
    refuse(name, fmt::format("channel {} does not exist; name one in [0, {}], or raise "
                             "pe.ipcq.channels",
                             with.channel, limits.ipcq_channels - 1));
  }
}

void check_transfer(const char* name, const TensorHandle& src, const TensorHandle& dst) {
  if (src.shape != dst.shape) {
    refuse(name, fmt::format("source {} does not fit destination {}: {}", src.describe(),
                             dst.describe(), first_difference(src.shape, dst.shape)));
  }
  if (src.dtype != dst.dtype) {
    refuse(name, fmt::format("source {} and destination {} differ in dtype; DMA does not convert",
                             src.describe(), dst.describe()));
  }
  // DMA moves rows; it does not transpose.
  if (is_column_major(src) != is_column_major(dst)) {
    refuse(name, fmt::format("{} is a transposed view and {} is not; move it as it lies and take "
                             ".t() of the result",
                             (is_column_major(src) ? src : dst).describe(),
                             (is_column_major(src) ? dst : src).describe()));
  }
}

template <class Visit>
void for_each_handle(const OpSpec& op, Visit&& visit) {
  for (const Operand& operand : op.operands) visit(to_string(operand.name), operand.handle);
  if (op.has_out) visit(to_string(OperandName::out), op.out);
}

void check_handles(const Op& op, const HandleRule& rule) {
  for_each_handle(*op, [&](std::string_view name, const TensorHandle& handle) {
    const std::string problem = rule.problem_of(handle);
    if (!problem.empty()) op.refuse(fmt::format("{} {}", name, problem));
  });
}

void check_handle(std::string_view where, const TensorHandle& handle, const HandleRule& rule) {
  const std::string problem = rule.problem_of(handle);
  if (!problem.empty()) refuse(where, problem);
}

/// The handle must be sound and inside the part of memory that the limits leave to tensors (R3.4).
class InsideLimits : public HandleRule {
 public:
  explicit InsideLimits(const Limits& limits) : limits_(limits) {}

  std::string problem_of(const TensorHandle& handle) const override {
    HandleProblem problem = command::problem_of(handle);
    if (problem.part != HandlePart::none) {
      return fmt::format("{}: {}", handle.label(), problem.what);
    }
    if (handle.pinned()) {
      return limits_.scratch.contains(handle.range()) ? std::string()
                                                      : outside_scratch(handle, limits_.scratch);
    }
    return handle.range().end <= limits_.hbm_bytes ? std::string()
                                                   : beyond_hbm(handle, limits_.hbm_bytes);
  }

 private:
  const Limits& limits_;
};

}  // namespace

std::string beyond_hbm(const TensorHandle& handle, std::uint64_t hbm_bytes) {
  return fmt::format(
      "{} at {:#x} ends at {:#x}, beyond the {} bytes of HBM; give an address "
      "in [0, {:#x})",
      handle.describe(), handle.addr, handle.range().end, hbm_bytes, hbm_bytes);
}

std::string outside_scratch(const TensorHandle& handle, const ByteRange& scratch) {
  return fmt::format("{} at {:#x} lies outside the scratch [{:#x}, {:#x})", handle.describe(),
                     handle.addr, scratch.begin, scratch.end);
}

void check_gemm_operands(std::string_view where, const TensorHandle& a, const TensorHandle& b) {
  if (!are_gemm_operands(a, b)) refuse_gemm_operands(where, a, b);
}

void check_form(const CompositeCmd& command) {
  const auto& ops = command.ops;
  if (ops.empty()) refuse("composite", "the op list is empty; give at least one op");
  const std::size_t g = gemm_index(ops);
  for (std::size_t i = g + 1; i < ops.size(); ++i) {
    if (ops[i].kind == OpKind::gemm) {
      refuse("composite", fmt::format("ops {} and {} are gemms; at most one is allowed, issue "
                                      "two composites",
                                      g, i));
    }
  }
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const Op op(ops[i], i);
    if (op->on_accumulator() && i <= g) {
      op.refuse(
          fmt::format("scope {} needs a gemm before it; {}", to_string(op->scope),
                      g == ops.size() ? "this composite has none" : fmt::format("it is op {}", g)));
    }
    op.check_form();
  }
}

void check_form(const Command& command) {
  std::visit(Overloaded{[](const CompositeCmd& c) { check_form(c); },
                        [](const MathCmd& c) { check_form(c.op, false); },
                        [](const GemmCmd& c) { check_form(c.op, true); }, [](const DmaReadCmd&) {},
                        [](const DmaWriteCmd&) {}, [](const IpcqSendCmd&) {},
                        [](const IpcqRecvCmd&) {}, [](const PeCpuOverheadCmd&) {}},
             command);
}

void check_handles(const CompositeCmd& command, const HandleRule& rule) {
  for (std::size_t i = 0; i < command.ops.size(); ++i) check_handles(Op(command.ops[i], i), rule);
  for (const TensorHandle& handle : command.rw_handles) {
    check_handle("composite: rw handle", handle, rule);
  }
}

void check_handles(const Command& command, const HandleRule& rule) {
  std::visit(
      Overloaded{[&](const CompositeCmd& c) { check_handles(c, rule); },
                 [&](const MathCmd& c) { check_handles(Op(c.op), rule); },
                 [&](const GemmCmd& c) { check_handles(Op(c.op), rule); },
                 [&](const DmaReadCmd& c) {
                   check_handle("load: source", c.src, rule);
                   check_handle("load: destination", c.dst, rule);
                 },
                 [&](const DmaWriteCmd& c) {
                   check_handle("store: source", c.src, rule);
                   check_handle("store: destination", c.dst, rule);
                 },
                 [&](const IpcqSendCmd& c) { check_handle("send: source", c.src, rule); },
                 [&](const IpcqRecvCmd& c) { check_handle("recv: destination", c.dst, rule); },
                 [](const PeCpuOverheadCmd&) {}},
      command);
}

void check(const Command& command, const Limits& limits) {
  check_form(command);
  check_handles(command, InsideLimits(limits));
  std::visit([&](const auto& each) { check_fit(each, limits); }, command);
}

void check_step(const ProgramStep& step, const Limits& limits) {
  if (const auto* command = std::get_if<Command>(&step)) check(*command, limits);
  if (const auto* observe = std::get_if<ObserveStep>(&step)) {
    check_handle(fmt::format("observe {}", observe->name), observe->handle, InsideLimits(limits));
  }
}

void check_fit(const CompositeCmd& command, const Limits& limits) {
  const auto& ops = command.ops;
  const std::size_t g = gemm_index(ops);
  const OpSpec* gemm = g < ops.size() ? &ops[g] : nullptr;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const Op op(ops[i], i);
    if (i == g) {
      check_gemm(op, limits);
    } else if (op->on_accumulator()) {
      op.check_on_accumulator(gemm->out);
    } else {
      if (gemm != nullptr && i > g && !gemm->out.pinned() &&
          op->out.range().overlaps(gemm->out.range())) {
        op.refuse(
            fmt::format("rewrites {} after the tile loop, which is in HBM; give the gemm an "
                        "out in TCM and store it afterwards",
                        op.out_name()));
      }
      const bool may_stream = gemm == nullptr && i == 0 && limits.math_head_from_hbm;  // R5.5
      if (!may_stream) check_in_tcm(op);
      op.check_kernel_shapes();
      if (may_stream && touches_hbm(*op)) check_streamed_head(op, limits);
    }
  }
  check_rw_handles(command, gemm);
}

void check_fit(const MathCmd& command, const Limits&) {
  const Op op(command.op);
  check_in_tcm(op);
  op.check_kernel_shapes();
}

void check_fit(const GemmCmd& command, const Limits& limits) {
  const Op op(command.op);
  check_in_tcm(op);
  check_gemm(op, limits);
}

void check_fit(const DmaReadCmd& command, const Limits&) {
  if (command.src.pinned()) {
    refuse("load", fmt::format("source {} is in TCM already; load takes a tensor in HBM",
                               command.src.describe()));
  }
  if (!command.dst.pinned()) {
    refuse("load",
           fmt::format("destination {} is in HBM; it must lie in TCM", command.dst.describe()));
  }
  check_transfer("load", command.src, command.dst);
}

void check_fit(const DmaWriteCmd& command, const Limits&) {
  if (!command.src.pinned()) {
    refuse("store", fmt::format("source {} is in HBM; store takes a tensor in TCM, load it first",
                                command.src.describe()));
  }
  if (command.dst.pinned()) {
    refuse("store", fmt::format("destination {} is in TCM; store takes a tensor in HBM, use copy",
                                command.dst.describe()));
  }
  check_transfer("store", command.src, command.dst);
}

void check_fit(const IpcqSendCmd& command, const Limits& limits) {
  check_ipcq("send", "source", command.src, command.to, limits);
}

void check_fit(const IpcqRecvCmd& command, const Limits& limits) {
  check_ipcq("recv", "destination", command.dst, command.from, limits);
}

void check_fit(const PeCpuOverheadCmd& command, const Limits&) {
  if (command.cycles > kMaxOverheadCycles) {
    refuse("cpu_overhead",
           fmt::format("{} cycles are more than 2^40; issue several", command.cycles));
  }
}

}  // namespace kernbench::command
