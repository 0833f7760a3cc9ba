// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/listing.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <sstream>

#include "model/arch/timing.hpp"
#include "tlm_if/command/decoder.hpp"

namespace kernbench::runtime {
namespace {

using command::Command;
using command::OpSpec;
using command::TensorHandle;

std::string allowed(const kernels::Parameter& parameter) {
  if (parameter.list) {
    return fmt::format("{}{}a list of {}..{}", fmt::join(parameter.choices, "|"),
                       parameter.choices.empty() ? "" : ", or ", parameter.min, parameter.max);
  }
  if (!parameter.choices.empty()) return fmt::format("{}", fmt::join(parameter.choices, "|"));
  if (parameter.max == std::numeric_limits<command::Index>::max()) {
    return fmt::format("{}..", parameter.min);
  }
  return fmt::format("{}..{}", parameter.min, parameter.max);
}

std::string placed(const TensorHandle& handle) {
  return fmt::format("{} at {:#x}", handle.describe(), handle.addr);
}

std::string scalar(const command::Extra& extra) {
  const std::string_view name = to_string(extra.name);
  switch (extra.type) {
    case command::ExtraType::u32:
      return fmt::format("{}={}", name, extra.bits);
    case command::ExtraType::i32:
      return fmt::format("{}={}", name, extra.as_i32());
    case command::ExtraType::f32:
      break;
  }
  return fmt::format("{}={}", name, extra.as_f32());
}

std::string operand_text(const OpSpec& op, command::OperandName name, const TensorHandle& handle) {
  // R4.6: in the tile loop `src` and `out` refer to the accumulator.
  if (op.on_accumulator() && name != command::OperandName::other) {
    return fmt::format("{}: accumulator", to_string(name));
  }
  return fmt::format("{}: {}", to_string(name), placed(handle));
}

void print_op(std::ostream& out, std::size_t index, const OpSpec& op) {
  std::string head = fmt::format("  {} {}", index, to_string(op.kind));
  if (op.scope != command::Scope::kernel) head += fmt::format(" per {}", to_string(op.scope));
  for (const command::Extra& extra : op.extras) head += ' ' + scalar(extra);
  fmt::print(out, "{}\n", head);
  for (const command::Operand& operand : op.operands) {
    fmt::print(out, "      {}\n", operand_text(op, operand.name, operand.handle));
  }
  if (op.has_out) {
    fmt::print(out, "      {}\n", operand_text(op, command::OperandName::out, op.out));
  }
}

void print_transfer(std::ostream& out, const TensorHandle& src, const TensorHandle& dst) {
  fmt::print(out, "      src: {}\n      out: {}\n", placed(src), placed(dst));
}

/// `composite: 54 bytes, 1 segment, 43.375 cycles`; without a cost model only the bytes.
std::string cost_line(const Command& command, const arch::CostModelConfig* cost_model) {
  if (const auto* overhead = std::get_if<command::PeCpuOverheadCmd>(&command)) {
    return fmt::format("cpu_overhead: {} cycles, outside the dispatch formula", overhead->cycles);
  }
  const std::uint64_t bytes = logical_bytes(command);
  if (cost_model == nullptr) return fmt::format("{}: {} bytes", label(command), bytes);
  const arch::CostModelConfig& cost = *cost_model;
  const std::uint64_t segments = arch::dispatch_segments(cost, bytes);
  return fmt::format("{}: {} bytes, {} segment{}, {} cycles", label(command), bytes, segments,
                     segments == 1 ? "" : "s",
                     arch::dispatch_cycles(cost, segments, bytes).to_string());
}

/// Prints each call as it comes; without a cost model there are no cycles.
class Lister : public command::CommandSink {
 public:
  Lister(std::ostream& out, const arch::CostModelConfig* cost) : out_(out), cost_(cost) {}

  void issue(Command command) override { print_command(out_, number_++, command, cost_); }
  void wait(const std::vector<command::ByteRange>& ranges) override {
    std::vector<std::string> texts;
    for (const command::ByteRange& range : ranges) {
      texts.push_back(fmt::format("[{:#x}, {:#x})", range.begin, range.end));
    }
    fmt::print(out_, "wait for {}\n", fmt::join(texts, ", "));
  }
  void begin_region(std::string_view name) override {
    fmt::print(out_, "region {} begins\n", name);
  }
  void end_region(std::string_view name) override { fmt::print(out_, "region {} ends\n", name); }
  void observe(std::string_view name, const TensorHandle& handle) override {
    fmt::print(out_, "observe {}: {}\n", name, placed(handle));
  }

 private:
  std::ostream& out_;
  const arch::CostModelConfig* cost_;
  std::uint64_t number_ = 0;
};

/// Prints the meaning of each record of a stream, in one or more lines.
class RecordLister {
 public:
  RecordLister() : lister_(text_, nullptr) {}

  std::string text_of(const std::uint8_t* record, std::size_t size) {
    text_.str({});
    const command::Decoder::Result result = decoder_.decode(record, size);
    if (const auto* update = std::get_if<command::HandleTableUpdate>(&result)) {
      print_entry(update->index);
    } else if (const auto* step = std::get_if<command::ProgramStep>(&result)) {
      command::Program{{*step}}.replay(lister_);
    } else if (std::holds_alternative<command::EndOfProgram>(result)) {
      text_ << "end of program\n";
    } else {
      text_ << std::get<command::DecodeError>(result).reason << '\n';
    }
    return text_.str();
  }

 private:
  void print_entry(std::uint32_t index) {
    const TensorHandle& handle = *decoder_.entry(index);
    std::string line = fmt::format("entry {}: {}, id {}", index, placed(handle), handle.id);
    const bool dense = handle.row_stride == handle.shape.cols() && handle.col_stride == 1;
    if (!dense && handle.shape.rank() == 2) {
      line += fmt::format(", strides {} and {}", handle.row_stride, handle.col_stride);
    }
    fmt::print(text_, "{}\n", line);
  }

  command::Decoder decoder_{command::kMaxHandleTableEntries};
  std::ostringstream text_;
  Lister lister_;
};

std::string shape_text(const std::vector<command::Index>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

/// `program 1: rows 64 to 127 of columns 0 to 15 at 0x1000`.
std::string part_text(const command::ProgramFile::Tensor& tensor,
                      const command::ProgramFile::Tensor::Part& part) {
  std::string text = fmt::format("program {}: ", part.program);
  const auto span = [](command::Index begin, command::Index count) {
    return count == 1 ? fmt::format("{}", begin)
                      : fmt::format("{} to {}", begin, begin + count - 1);
  };
  std::vector<std::string> rows;
  for (const auto& block : part.rows) rows.push_back(span(block.begin, block.count));
  const bool all_rows = part.rows.size() == 1 && part.rows[0].count == tensor.shape.rows();
  const bool all_cols = part.cols == tensor.shape.cols();
  if (!all_rows) text += fmt::format("rows {}", fmt::join(rows, ", "));
  if (!all_rows && !all_cols) text += " of ";
  if (!all_cols) text += fmt::format("columns {}", span(part.first_col, part.cols));
  if (all_rows && all_cols) text += "all";
  return text + fmt::format(" at {:#x}", part.handle.addr);
}

std::size_t commands_of(const command::Program& program) {
  return static_cast<std::size_t>(
      std::count_if(program.steps.begin(), program.steps.end(),
                    [](const auto& step) { return std::holds_alternative<Command>(step); }));
}

}  // namespace

void print_command(std::ostream& out, std::uint64_t number, const Command& command,
                   const arch::CostModelConfig* cost) {
  std::string line = fmt::format("#{} {}", number, cost_line(command, cost));
  if (const auto* composite = std::get_if<command::CompositeCmd>(&command)) {
    std::vector<std::string> names;
    for (const TensorHandle& handle : composite->rw_handles) names.push_back(handle.label());
    if (!names.empty()) line += fmt::format(", rw=({})", fmt::join(names, ", "));
    if (!composite->data_op) line += ", computes no data";
  }
  fmt::print(out, "{}\n", line);
  const command::Ops ops = ops_of(command);
  for (std::size_t i = 0; i < ops.size(); ++i) print_op(out, i, ops[i]);
  if (const auto* read = std::get_if<command::DmaReadCmd>(&command)) {
    print_transfer(out, read->src, read->dst);
  }
  if (const auto* write = std::get_if<command::DmaWriteCmd>(&command)) {
    print_transfer(out, write->src, write->dst);
  }
  if (const auto* send = std::get_if<command::IpcqSendCmd>(&command)) {
    fmt::print(out, "      src: {}\n      to: PE {}, channel {}\n", placed(send->src),
               send->to.peer, send->to.channel);
  }
  if (const auto* recv = std::get_if<command::IpcqRecvCmd>(&command)) {
    fmt::print(out, "      from: PE {}, channel {}\n      out: {}\n", recv->from.peer,
               recv->from.channel, placed(recv->dst));
  }
}

std::string of_program(const Launch& launch, const arch::TopologyConfig& topology,
                       command::Index program) {
  if (launch.programs() == 1) return "";
  return fmt::format(
      " in {} programs; those of program {}, on {}", launch.programs(), program,
      arch::pe_name(topology, launch.launch().pes()[static_cast<std::size_t>(program)]));
}

void list_kernels(std::ostream& out, const std::vector<kernels::Kernel>& kernels) {
  for (const kernels::Kernel& kernel : kernels) {
    fmt::print(out, "{}: {}\n", kernel.name, kernel.summary);
    std::size_t width = 0;
    for (const kernels::Parameter& parameter : kernel.parameters) {
      width = std::max(width, parameter.name.size() + 1 + parameter.default_value.size());
    }
    for (const kernels::Parameter& parameter : kernel.parameters) {
      fmt::print(out, "  {:<{}}  {} ({})\n", parameter.name + "=" + parameter.default_value, width,
                 parameter.meaning, allowed(parameter));
    }
  }
}

void list_commands(std::ostream& out, const Launch& launch, const arch::TopologyConfig& topology,
                   command::Index program) {
  const arch::CostModelConfig& cost = topology.pe.pe_cost_model;
  fmt::print(out, "{} on {}: {} commands{}\n", launch.title(), arch::title_of(topology),
             launch.commands(), of_program(launch, topology, program));
  fmt::print(out, "dispatch: {} cycles per segment of at most {} bytes + {} cycles per byte\n\n",
             cost.fixed_cycles, cost.max_composite_logical_bytes, cost.cycles_per_byte.to_string());
  Lister lister(out, &cost);
  launch.issue(lister, program);
}

void list_file(std::ostream& out, const command::ProgramFile& file) {
  fmt::print(out, "{}\n", file.title);
  fmt::print(out, "needs of each PE: {} bytes of HBM, {} bytes of TCM scratch\n", file.hbm_bytes,
             file.scratch_bytes);
  for (const auto& tensor : file.tensors) {
    fmt::print(out, "{} {} {} {}, in a file {}\n", tensor.is_output ? "output" : "input",
               tensor.name, to_string(tensor.shape), to_string(tensor.dtype),
               shape_text(tensor.file_shape));
    for (const auto& part : tensor.parts) fmt::print(out, "  {}\n", part_text(tensor, part));
  }
  for (std::size_t i = 0; i < file.streams.size(); ++i) {
    const auto& stream = file.streams[i];
    fmt::print(out, "program {} on PE {}: {} commands, {} bytes at {:#x}\n", i, stream.pe,
               commands_of(stream.program), stream.size, stream.offset);
  }
}

void list_records(std::ostream& out, const command::ProgramFile& file,
                  const std::vector<std::uint8_t>& bytes, command::Index program) {
  const auto& stream = file.streams[static_cast<std::size_t>(program)];
  fmt::print(out, "program {} on PE {}: {} commands\n", program, stream.pe,
             commands_of(stream.program));
  RecordLister lister;
  for (std::size_t offset = stream.offset; offset < stream.offset + stream.size;) {
    const std::uint8_t* record = &bytes[offset];
    const std::size_t size = command::Decoder::record_size(record);
    std::istringstream lines(lister.text_of(record, size));
    std::string line;
    std::getline(lines, line);
    fmt::print(out, "{:#010x} {:>5}  {}\n", offset, size, line);
    while (std::getline(lines, line)) fmt::print(out, "{:18}{}\n", "", line);
    offset += size;
  }
}

}  // namespace kernbench::runtime
