// SPDX-License-Identifier: Apache-2.0
#include "tests/support/program_order.hpp"

#include <algorithm>
#include <stdexcept>

#include "kernels/catalogue.hpp"
#include "model/arch/numerics.hpp"
#include "tests/support/slice_of.hpp"

namespace kernbench::test {
namespace {

using arch::Slice;
using arch::Values;
using command::Index;
using command::OperandName;
using command::OpKind;
using command::OpSpec;
using command::TensorHandle;
using kernels::Direction;
using kernels::HostTensors;
using kernels::TensorSpec;

/// Rows [row, row + rows) and columns [col, col + cols); an axis of size 1 is taken whole.
Slice part(const TensorHandle& handle, Index row, Index rows, Index col, Index cols) {
  Slice slice = slice_of(handle);
  const auto offset = [&](Index elements) {
    slice.addr += command::bytes_of(slice.dtype, static_cast<std::uint64_t>(elements));
  };
  if (slice.rows > 1) {
    offset(row * slice.row_stride);
    slice.rows = rows;
  }
  if (slice.cols > 1) {
    offset(col * slice.col_stride);
    slice.cols = cols;
  }
  return slice;
}

class Machine {
 public:
  explicit Machine(const Compiled& compiled) : compiled_(compiled) {}

  void write(const TensorHandle& handle, const std::vector<double>& values) {
    Values entries;
    for (const double value : values) entries.push_back(static_cast<float>(value));
    arch::write_slice(memory_, slice_of(handle), entries);
  }
  std::vector<double> read(const TensorHandle& handle) const {
    Values values;
    arch::read_slice(memory_, slice_of(handle), values);
    return {values.begin(), values.end()};
  }

  void run(const command::Command& command) {
    if (const auto* load = std::get_if<command::DmaReadCmd>(&command)) {
      move(load->src, load->dst);
    } else if (const auto* store = std::get_if<command::DmaWriteCmd>(&command)) {
      move(store->src, store->dst);
    }
    const auto* composite = std::get_if<command::CompositeCmd>(&command);
    if (composite != nullptr && !composite->data_op) return;  // no byte changes (R3.6)
    const command::Ops ops = command::ops_of(command);
    for (std::size_t i = 0; i < ops.size(); ++i) {
      if (ops[i].on_accumulator()) continue;
      if (ops[i].kind == OpKind::gemm) {
        gemm(ops, i);
      } else {
        math(ops[i]);
      }
    }
  }

 private:
  /// Bytes, not numbers: a NaN keeps its payload.
  void move(const TensorHandle& src, const TensorHandle& dst) {
    const Slice from = slice_of(src), to = slice_of(dst);
    std::uint8_t bytes[4];
    const std::uint64_t size = command::bytes_of(src.dtype, 1);
    for (Index row = 0; row < from.rows; ++row) {
      for (Index col = 0; col < from.cols; ++col) {
        memory_.read(from.element_address(row, col), bytes, size);
        memory_.write(to.element_address(row, col), bytes, size);
      }
    }
  }

  void math(const OpSpec& op) {
    arch::StageSpec stage = stage_of(op);
    std::vector<Values> inputs;
    for (const command::Operand& operand : op.operands) {
      stage.operands.push_back(slice_of(operand.handle, operand.name));
      arch::read_slice(memory_, slice_of(operand.handle), inputs.emplace_back());
    }
    stage.out = slice_of(op.out);
    Values result;
    arch::evaluate(stage, inputs, result);
    arch::write_slice(memory_, stage.out, result);
  }

  /// Contract 5: m outer, n, k inner; k_tile ops after each K tile, output_tile ops after the last.
  void gemm(const command::Ops& ops, std::size_t at) {
    const OpSpec& op = ops[at];
    const TensorHandle& a = *op.operand(OperandName::a);
    const TensorHandle& b = *op.operand(OperandName::b);
    const Index m = a.shape.rows(), k = a.shape.cols(), n = b.shape.cols();
    Values a_tile, b_tile;
    for (Index row = 0; row < m; row += compiled_.tile_m) {
      const Index rows = std::min(compiled_.tile_m, m - row);
      for (Index col = 0; col < n; col += compiled_.tile_n) {
        const Index cols = std::min(compiled_.tile_n, n - col);
        Values accumulator(static_cast<std::size_t>(rows * cols), 0);
        for (Index i = 0; i < k; i += compiled_.tile_k) {
          const Index depth = std::min(compiled_.tile_k, k - i);
          arch::read_slice(memory_, part(a, row, rows, i, depth), a_tile);
          arch::read_slice(memory_, part(b, i, depth, col, cols), b_tile);
          arch::multiply_accumulate(rows, depth, cols, a_tile, b_tile, accumulator);
          tile_ops(ops, at, command::Scope::k_tile, row, rows, col, cols, accumulator);
        }
        tile_ops(ops, at, command::Scope::output_tile, row, rows, col, cols, accumulator);
        arch::write_slice(memory_, part(op.out, row, rows, col, cols), accumulator);
      }
    }
  }

  void tile_ops(const command::Ops& ops, std::size_t at, command::Scope scope, Index row,
                Index rows, Index col, Index cols, Values& accumulator) {
    for (std::size_t i = at + 1; i < ops.size(); ++i) {
      if (ops[i].scope != scope) continue;
      arch::StageSpec stage = stage_of(ops[i]);
      stage.m = rows;
      stage.n = cols;
      const TensorHandle* other = ops[i].operand(OperandName::other);
      Slice other_slice;
      Values values;
      if (other != nullptr) {
        other_slice = part(*other, row, rows, col, cols);
        arch::read_slice(memory_, other_slice, values);
      }
      arch::evaluate_on_accumulator(stage, other != nullptr ? &other_slice : nullptr, values,
                                    accumulator);
    }
  }

  static arch::StageSpec stage_of(const OpSpec& op) {
    arch::StageSpec stage;
    stage.op = op.kind;
    stage.scope = op.scope;
    stage.has_out = op.has_out;
    stage.extras = op.extras;
    return stage;
  }

  const Compiled& compiled_;
  arch::Storage memory_{{0, command::Address{1} << 41}};
};

}  // namespace

kernels::Kernel catalogue_kernel(const std::string& name) {
  const std::vector<kernels::Kernel> all = kernels::catalogue();
  for (const kernels::Kernel& kernel : all) {
    if (kernel.name == name) return kernel;
  }
  throw std::logic_error("no kernel " + name);
}

Compiled compile(const kernels::Kernel& kernel, const Settings& settings,
                 const tl::Target& target) {
  Compiled result;
  const kernels::Parameters parameters(kernel.name, kernel.parameters, settings);
  result.instance = kernel.make(parameters, target);
  result.tile_m = target.tile_m;
  result.tile_k = target.tile_k;
  result.tile_n = target.tile_n;
  command::Recorder recorder;
  tl::Context tl(target, recorder,
                 result.instance.recipes ? *result.instance.recipes : tl::builtin_recipes());
  std::vector<tl::Tensor> bound;
  command::Address addr = 0;
  for (const TensorSpec& spec : result.instance.tensors) {
    bound.push_back(tl.ref(addr, spec.shape, spec.dtype, spec.name));
    result.bound.push_back(bound.back().handle());
    addr = command::align_up(result.bound.back().range().end, command::kHbmTensorAlignment);
  }
  result.instance.body(tl, bound);
  result.program = recorder.program();
  result.scratch_peak_bytes = tl.scratch_peak_bytes();
  return result;
}

Compiled compile(const std::string& kernel, const Settings& settings, const tl::Target& target) {
  return compile(catalogue_kernel(kernel), settings, target);
}

HostTensors run_in_program_order(const Compiled& compiled, const HostTensors& inputs) {
  Machine machine(compiled);
  for (std::size_t i = 0; i < compiled.bound.size(); ++i) {
    const TensorSpec& spec = compiled.instance.tensors[i];
    if (spec.direction == Direction::in) machine.write(compiled.bound[i], inputs.at(spec.name));
  }
  HostTensors results;
  for (const command::ProgramStep& step : compiled.program.steps) {
    if (const auto* command = std::get_if<command::Command>(&step)) {
      machine.run(*command);
    } else if (const auto* observed = std::get_if<command::ObserveStep>(&step)) {
      const std::vector<double> values = machine.read(observed->handle);
      std::vector<double>& joined = results[observed->name];
      joined.insert(joined.end(), values.begin(), values.end());
    }
  }
  for (std::size_t i = 0; i < compiled.bound.size(); ++i) {
    const TensorSpec& spec = compiled.instance.tensors[i];
    if (spec.direction == Direction::out) results[spec.name] = machine.read(compiled.bound[i]);
  }
  return results;
}

}  // namespace kernbench::test
