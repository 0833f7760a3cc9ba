// SPDX-License-Identifier: Apache-2.0
#include "tests/support/program_order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <stdexcept>
#include <tuple>

#include "kernels/catalogue.hpp"
#include "model/arch/numerics.hpp"
#include "tests/support/slice_of.hpp"
#include "tlm_if/command/access_set.hpp"

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

using Bytes = std::vector<std::uint8_t>;

/// One PE.
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
  /// A message: the bytes of the entries, row after row.
  Bytes read_bytes(const TensorHandle& handle) const {
    const std::uint64_t size = command::bytes_of(handle.dtype, 1);
    const Slice slice = slice_of(handle);
    Bytes bytes(handle.bytes());
    std::uint8_t* at = bytes.data();
    for (Index row = 0; row < slice.rows; ++row) {
      for (Index col = 0; col < slice.cols; ++col, at += size) {
        memory_.read(slice.element_address(row, col), at, size);
      }
    }
    return bytes;
  }
  void write_bytes(const TensorHandle& handle, const Bytes& bytes) {
    const std::uint64_t size = command::bytes_of(handle.dtype, 1);
    const Slice slice = slice_of(handle);
    const std::uint8_t* at = bytes.data();
    for (Index row = 0; row < slice.rows; ++row) {
      for (Index col = 0; col < slice.cols; ++col, at += size) {
        memory_.write(slice.element_address(row, col), at, size);
      }
    }
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

/// Messages under way, by sending PE, receiving PE and channel.
using Channels =
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::deque<Bytes>>;

/// One program on its machine. A receive is posted and done when its message is there; meanwhile
/// the program goes on up to the first step that uses the same bytes (R7.1).
class Runner {
 public:
  Runner(const Compiled& compiled, Channels& channels)
      : compiled_(compiled), machine_(compiled), channels_(channels) {}

  Machine& machine() { return machine_; }
  const HostTensors& observed() const { return observed_; }
  bool done() const { return next_ == compiled_.program.steps.size() && posted_.empty(); }

  /// Goes on until it is done or must wait for a message; false if it did nothing.
  bool go_on() {
    bool moved = receive();
    while (next_ < compiled_.program.steps.size() && step(compiled_.program.steps[next_])) {
      ++next_;
      receive();
      moved = true;
    }
    return moved;
  }
  std::string waits_for() const {
    const command::IpcqChannel from = posted_.front().command.from;
    return fmt::format("PE {} for PE {} channel {}", compiled_.pe, from.peer, from.channel);
  }

 private:
  struct Posted {
    command::IpcqRecvCmd command;
    command::AccessSet access;
  };

  bool in_use(const command::AccessSet& access) const {
    return std::any_of(posted_.begin(), posted_.end(),
                       [&](const Posted& posted) { return posted.access.conflicts_with(access); });
  }

  /// False: it must wait.
  bool step(const command::ProgramStep& step) {
    if (const auto* command = std::get_if<command::Command>(&step)) return run(*command);
    if (const auto* wait = std::get_if<command::WaitStep>(&step)) {
      return std::none_of(posted_.begin(), posted_.end(), [&](const Posted& posted) {
        return posted.access.writes_any_of(wait->ranges);
      });
    }
    if (const auto* observed = std::get_if<command::ObserveStep>(&step)) {
      if (in_use({{observed->handle.range()}, {}})) return false;
      const std::vector<double> values = machine_.read(observed->handle);
      std::vector<double>& joined = observed_[observed->name];
      joined.insert(joined.end(), values.begin(), values.end());
    }
    return true;
  }

  bool run(const command::Command& command) {
    const command::AccessSet access = command::access_set(command);
    if (in_use(access)) return false;
    if (const auto* recv = std::get_if<command::IpcqRecvCmd>(&command)) {
      posted_.push_back({*recv, access});
    } else if (const auto* send = std::get_if<command::IpcqSendCmd>(&command)) {
      channels_[{compiled_.pe, send->to.peer, send->to.channel}].push_back(
          machine_.read_bytes(send->src));
    } else {
      machine_.run(command);
    }
    return true;
  }

  /// Messages of a channel go to its receives in order.
  bool receive() {
    const std::size_t posted = posted_.size();
    for (auto next = posted_.begin(); next != posted_.end();) {
      const auto& [dst, from] = next->command;
      std::deque<Bytes>& channel = channels_[{from.peer, compiled_.pe, from.channel}];
      // An earlier receive of the channel is still posted only if there is no message.
      if (channel.empty()) {
        ++next;
        continue;
      }
      if (channel.front().size() != dst.bytes()) {
        throw std::logic_error(fmt::format("PE {} receives {} bytes from PE {}, which sent {}",
                                           compiled_.pe, dst.bytes(), from.peer,
                                           channel.front().size()));
      }
      machine_.write_bytes(dst, channel.front());
      channel.pop_front();
      next = posted_.erase(next);
    }
    return posted_.size() != posted;
  }

  const Compiled& compiled_;
  Machine machine_;
  Channels& channels_;
  std::size_t next_ = 0;
  std::deque<Posted> posted_;
  HostTensors observed_;
};

/// Calls `move` with the position of each entry of the program's part in the tensor, in order.
template <class Move>
void for_each_entry(const TensorSpec& spec, Index program, Move move) {
  kernels::Shard shard{{{0, spec.shape.rows()}}};
  if (spec.shard) shard = spec.shard(program);
  const Index cols = shard.cols == 0 ? spec.shape.cols() - shard.first_col : shard.cols;
  for (const kernels::Shard::Rows& rows : shard.rows) {
    for (Index row = rows.begin; row < rows.begin + rows.count; ++row) {
      for (Index col = shard.first_col; col < shard.first_col + cols; ++col) {
        move(static_cast<std::size_t>(row * spec.shape.cols() + col));
      }
    }
  }
}

/// Of the program's part; none if it has none.
std::optional<command::Shape> part_shape(const TensorSpec& spec, Index program) {
  if (!spec.shard) return spec.shape;
  const kernels::Shard shard = spec.shard(program);
  Index rows = 0;
  for (const kernels::Shard::Rows& block : shard.rows) rows += block.count;
  if (rows == 0) return std::nullopt;
  const Index cols = shard.cols == 0 ? spec.shape.cols() - shard.first_col : shard.cols;
  return spec.shape.rank() == 1 ? command::Shape{cols} : command::Shape{rows, cols};
}

void write_inputs(Runner& runner, const Compiled& compiled, const HostTensors& inputs) {
  for (std::size_t i = 0; i < compiled.bound.size(); ++i) {
    const TensorSpec& spec = compiled.instance.tensors[i];
    if (spec.direction != Direction::in || compiled.bound[i].shape.rank() == 0) continue;
    std::vector<double> part;
    for_each_entry(spec, compiled.number,
                   [&](std::size_t at) { part.push_back(inputs.at(spec.name)[at]); });
    runner.machine().write(compiled.bound[i], part);
  }
}

/// `held` says which entries have been read already.
void read_outputs(Runner& runner, const Compiled& compiled,
                  std::map<std::string, std::vector<bool>>& held, HostTensors& results) {
  for (std::size_t i = 0; i < compiled.bound.size(); ++i) {
    const TensorSpec& spec = compiled.instance.tensors[i];
    if (spec.direction != Direction::out) continue;
    const auto size = static_cast<std::size_t>(spec.shape.elements());
    std::vector<double>& values = results[spec.name];
    std::vector<bool>& known = held[spec.name];
    values.resize(size);
    known.resize(size);
    if (compiled.bound[i].shape.rank() == 0) continue;
    const std::vector<double> part = runner.machine().read(compiled.bound[i]);
    std::size_t next = 0;
    for_each_entry(spec, compiled.number, [&](std::size_t at) {
      if (!known[at]) values[at] = part[next];
      known[at] = true;
      ++next;
    });
  }
}

Compiled compile_program(const kernels::Instance& instance, const tl::Target& target) {
  Compiled result;
  result.instance = instance;
  result.number = target.program();
  result.pe = target.pes[static_cast<std::size_t>(result.number)];
  result.tile_m = target.tile_m;
  result.tile_k = target.tile_k;
  result.tile_n = target.tile_n;
  command::ProgramRecorder recorder;
  tl::Context tl(target, recorder, instance.recipes ? *instance.recipes : tl::builtin_recipes());
  std::vector<tl::Tensor> bound;
  command::Address addr = 0;
  for (const TensorSpec& spec : instance.tensors) {
    const auto shape = part_shape(spec, result.number);
    bound.push_back(shape ? tl.ref(addr, *shape, spec.dtype, spec.name) : tl::Tensor());
    result.bound.push_back(bound.back().handle());
    if (shape) {
      addr = command::align_up(result.bound.back().range().end, command::kHbmTensorAlignment);
    }
  }
  instance.body(tl, bound);
  result.program = recorder.program();
  result.scratch_peak_bytes = tl.scratch_peak_bytes();
  return result;
}

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
  const kernels::Parameters parameters(kernel.name, kernel.parameters, settings);
  return compile_program(kernel.make(parameters, target), target);
}

Compiled compile(const std::string& kernel, const Settings& settings, const tl::Target& target) {
  return compile(catalogue_kernel(kernel), settings, target);
}

std::vector<Compiled> compile_all(const kernels::Kernel& kernel, const Settings& settings,
                                  const tl::Target& machine) {
  const kernels::Parameters parameters(kernel.name, kernel.parameters, settings);
  const kernels::Instance instance = kernel.make(parameters, machine);
  tl::Target target = machine;
  target.num_programs = instance.grid;
  target.pes = instance.pes;
  for (Index i = static_cast<Index>(target.pes.size()); i < target.programs(); ++i) {
    target.pes.push_back(static_cast<std::uint32_t>(i));
  }
  std::vector<Compiled> programs;
  auto& [x, y, z] = target.program_id;
  for (x = 0; x < instance.grid[0]; ++x) {
    for (y = 0; y < instance.grid[1]; ++y) {
      for (z = 0; z < instance.grid[2]; ++z) {
        programs.push_back(compile_program(instance, target));
      }
    }
  }
  return programs;
}

std::vector<Compiled> compile_all(const std::string& kernel, const Settings& settings,
                                  const tl::Target& machine) {
  return compile_all(catalogue_kernel(kernel), settings, machine);
}

HostTensors run_in_program_order(const Compiled& compiled, const HostTensors& inputs) {
  return run_in_program_order(std::vector<Compiled>{compiled}, inputs);
}

HostTensors run_in_program_order(const std::vector<Compiled>& programs, const HostTensors& inputs) {
  Channels channels;
  std::deque<Runner> runners;  // in place: a memory is not copied
  for (const Compiled& compiled : programs) {
    write_inputs(runners.emplace_back(compiled, channels), compiled, inputs);
  }
  bool moved = true;
  while (moved) {
    moved = false;
    for (Runner& runner : runners) moved = runner.go_on() || moved;
  }
  std::string waiting;
  for (const Runner& runner : runners) {
    if (!runner.done()) waiting += "; " + runner.waits_for();
  }
  if (!waiting.empty()) throw std::logic_error("programs wait for ever" + waiting);
  for (const auto& [channel, messages] : channels) {
    if (messages.empty()) continue;
    throw std::logic_error(fmt::format("{} messages from PE {} to PE {} are left over",
                                       messages.size(), std::get<0>(channel),
                                       std::get<1>(channel)));
  }

  HostTensors results;
  std::map<std::string, std::vector<bool>> held;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    for (const auto& [name, values] : runners[i].observed()) {
      std::vector<double>& joined = results[name];
      joined.insert(joined.end(), values.begin(), values.end());
    }
    read_outputs(runners[i], programs[i], held, results);
  }
  return results;
}

}  // namespace kernbench::test
