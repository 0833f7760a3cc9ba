// SPDX-License-Identifier: Apache-2.0
// What is decoded and passes command::check_step() runs: programs drawn at random are encoded,
// their bytes mutated record by record, and what is still accepted runs on a small PE with numbers
// and without. No report, no violation on the HBM port, and it ends. The numbers mean nothing.
//
// KERNBENCH_SEED=N runs one program in place of those below.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <random>
#include <string>

#include "model/arch/limits.hpp"
#include "model/arch/plan.hpp"
#include "runtime/launch/launch.hpp"
#include "tests/support/byte_mutator.hpp"
#include "tests/support/decode_check.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/pe_bench.hpp"
#include "tests/support/random_kernel.hpp"
#include "tlm_if/command/check.hpp"
#include "tlm_if/command/decoder.hpp"
#include "tlm_if/command/encoder.hpp"
#include "tlm_if/command/error.hpp"

namespace kernbench::test {
namespace {

using command::Command;
using command::TensorHandle;

constexpr std::uint64_t kProgramsPerTest = 40;
constexpr std::uint64_t kTests = 10;
constexpr int kComposites = 10;
constexpr std::uint32_t kTableEntries = 32;
// A product of what fits the HBM may have millions of tiles: right, but nothing to wait for here.
constexpr std::int64_t kMostTiles = 20'000;

arch::TopologyConfig small_topology(std::uint64_t seed) {
  arch::TopologyConfig topology = random_topology(seed);
  topology.hbm.bytes = 1 << 17;
  return topology;
}

std::vector<std::uint8_t> random_program(std::uint64_t seed, const arch::TopologyConfig& topology) {
  const runtime::Launch launch(random_kernel(seed, kComposites), {}, topology);
  command::ProgramRecorder recorder;
  launch.issue(recorder);
  return command::encode(recorder.program(), kTableEntries);
}

/// Commands that nobody compiled, made from compiled ones: other tensors of the program, tensors
/// that lie otherwise, other ops of the same form, ops added, doubled and left away, odd extras.
class CommandMutator {
 public:
  CommandMutator(std::uint64_t seed, const command::Program& program) : random_(seed) {
    for (const command::ProgramStep& step : program.steps) {
      if (const auto* observe = std::get_if<command::ObserveStep>(&step)) {
        tensors_.push_back(observe->handle);
      } else if (const auto* one = std::get_if<Command>(&step)) {
        Command copy = *one;
        for (const TensorHandle* handle : handles_of(copy)) tensors_.push_back(*handle);
      }
    }
  }

  Command mutated(Command command) {
    for (std::size_t i = 1 + below(2); i > 0; --i) change(command);
    return command;
  }
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }

 private:
  static std::vector<command::OpSpec*> ops_of(Command& command) {
    std::vector<command::OpSpec*> ops;
    if (auto* composite = std::get_if<command::CompositeCmd>(&command)) {
      for (command::OpSpec& op : composite->ops) ops.push_back(&op);
    }
    if (auto* math = std::get_if<command::MathCmd>(&command)) ops.push_back(&math->op);
    if (auto* gemm = std::get_if<command::GemmCmd>(&command)) ops.push_back(&gemm->op);
    return ops;
  }
  static std::vector<TensorHandle*> handles_of(Command& command) {
    std::vector<TensorHandle*> handles;
    for (command::OpSpec* op : ops_of(command)) {
      for (command::Operand& operand : op->operands) handles.push_back(&operand.handle);
      if (op->has_out) handles.push_back(&op->out);
    }
    if (auto* composite = std::get_if<command::CompositeCmd>(&command)) {
      for (TensorHandle& handle : composite->rw_handles) handles.push_back(&handle);
    }
    if (auto* load = std::get_if<command::DmaReadCmd>(&command)) {
      handles.insert(handles.end(), {&load->src, &load->dst});
    }
    if (auto* store = std::get_if<command::DmaWriteCmd>(&command)) {
      handles.insert(handles.end(), {&store->src, &store->dst});
    }
    return handles;
  }

  void change(Command& command) {
    const std::vector<TensorHandle*> handles = handles_of(command);
    const std::vector<command::OpSpec*> ops = ops_of(command);
    auto* composite = std::get_if<command::CompositeCmd>(&command);
    switch (below(8)) {
      case 0:
      case 1:
      case 2:
        if (!handles.empty()) replace(*handles[below(handles.size())]);
        break;
      case 3:
        if (!handles.empty()) lay_otherwise(*handles[below(handles.size())]);
        break;
      case 4:
        if (!ops.empty()) another_op(*ops[below(ops.size())]);
        break;
      case 5:
        for (command::OpSpec* op : ops) {
          if (op->kind == command::OpKind::gemm) continue;
          for (command::Extra& extra : op->extras) extra.bits = odd_bits();
        }
        break;
      case 6:
        if (composite != nullptr) other_ops(*composite);
        break;
      default:
        if (composite != nullptr) {
          composite->rw_handles.push_back(tensors_[below(tensors_.size())]);
        }
        break;
    }
    if (auto* overhead = std::get_if<command::PeCpuOverheadCmd>(&command)) {
      overhead->cycles = below(2) == 0 ? 0 : command::kMaxOverheadCycles;
    }
  }

  /// By a tensor of the same shape, if one is found, wherever it lies.
  void replace(TensorHandle& handle) {
    for (int attempt = 0; attempt < 50; ++attempt) {
      const TensorHandle& other = tensors_[below(tensors_.size())];
      if (other.shape.rows() != handle.shape.rows() || other.shape.cols() != handle.shape.cols()) {
        continue;
      }
      handle = other;
      return;
    }
  }
  /// The same shape with other strides, at another place, of another dtype or rank.
  void lay_otherwise(TensorHandle& handle) {
    switch (below(5)) {
      case 0:
        handle.addr += below(64);  // of any alignment
        break;
      case 1:
        handle.addr -= below(4096);
        break;
      case 2:
        handle.dtype = command::kDTypes[below(command::kDTypes.size())].dtype;
        break;
      case 3:
        if (handle.col_stride == 1) {
          handle.row_stride += static_cast<command::Index>(below(9));
        } else {
          handle.col_stride += static_cast<command::Index>(below(9));
        }
        break;
      default:
        if (handle.shape.rows() == 1 && handle.col_stride == 1) {
          handle.shape = handle.shape.rank() == 2 ? command::Shape::vector(handle.shape.cols())
                                                  : command::Shape::matrix(1, handle.shape.cols());
        }
        break;
    }
  }
  void another_op(command::OpSpec& op) {
    const auto& kind = command::kOpTable[below(command::kOpTable.size())];
    if (op.on_accumulator() ? !kind.tile_operands : !kind.kernel_form) return;
    op.kind = kind.kind;
    op.extras.clear();
    for (const command::ExtraInfo& extra : kind.extras) {
      op.extras.push_back({extra.name, extra.type, odd_bits()});
    }
  }
  void other_ops(command::CompositeCmd& composite) {
    auto& ops = composite.ops;
    if (ops.empty()) return;
    const std::size_t i = below(ops.size());
    const command::OpSpec op = ops[i];
    switch (below(4)) {
      case 0:
        ops.erase(ops.begin() + static_cast<std::ptrdiff_t>(i));
        break;
      case 1:  // up to the most that a record holds
        if (op.kind != command::OpKind::gemm) {
          ops.insert(ops.begin() + static_cast<std::ptrdiff_t>(i), 1 + below(240), op);
        }
        break;
      case 2:
        std::swap(ops[i], ops[below(ops.size())]);
        break;
      default:
        ops[i].scope = static_cast<command::Scope>(below(3));
        break;
    }
    if (ops.size() > command::kMaxOps) ops.resize(command::kMaxOps);
  }
  std::uint32_t odd_bits() {
    constexpr std::array kOdd{0U,          1U,          0x7fffffffU, 0x80000000U,
                              0xffffffffU, 0x7fc00000U, 0x7f800000U};
    return kOdd[below(kOdd.size())];
  }

  std::mt19937_64 random_;
  std::vector<TensorHandle> tensors_;
};

struct Accepted {
  command::Program program;
  std::size_t commands = 0;
  std::size_t changed = 0;  ///< of them, that nobody compiled
};

/// Collects what a PE takes: it decodes and passes check_step().
class Gate {
 public:
  explicit Gate(const arch::TopologyConfig& topology)
      : topology_(topology), limits_(arch::limits_of(topology.pe_config())) {}

  bool takes(const command::ProgramStep& step) const {
    try {
      command::check_step(step, limits_);
    } catch (const InputError&) {
      return false;
    }
    const auto* command = std::get_if<command::Command>(&step);
    return command == nullptr || arch::Plan(*command, topology_.pe.gemm).tiles() <= kMostTiles;
  }

 private:
  const arch::TopologyConfig& topology_;
  command::Limits limits_;
};

/// Mutates the bytes of every third record; what is refused is left out, what follows is not.
command::Program mutated_bytes(const std::vector<std::uint8_t>& stream, std::uint64_t seed,
                               const Gate& gate) {
  command::Decoder decoder(kTableEntries);
  const std::vector<Bytes> none;
  ByteMutator mutator(seed, none);
  command::Program program;
  for (std::size_t i = 0; i < stream.size(); i += command::Decoder::record_size(&stream[i])) {
    const auto begin = stream.begin() + static_cast<std::ptrdiff_t>(i);
    const std::size_t size = command::Decoder::record_size(&stream[i]);
    Bytes record(begin, begin + static_cast<std::ptrdiff_t>(size));
    if (mutator.below(3) == 0) record = mutator.mutated(record);
    const auto result = decoder.decode(record.data(), record.size());
    const auto* step = std::get_if<command::ProgramStep>(&result);
    if (step != nullptr && gate.takes(*step)) program.steps.push_back(*step);
  }
  return program;
}

/// Puts commands that nobody compiled between those of a program, by way of their bytes.
Accepted mutated_commands(const command::Program& program, std::uint64_t seed, const Gate& gate) {
  constexpr int kAttempts = 6;  // a command
  CommandMutator mutator(seed, program);
  command::Encoder encoder;
  Accepted accepted;
  const auto append = [&](command::ProgramStep step) {
    if (auto* command = std::get_if<command::Command>(&step)) {
      auto* composite = std::get_if<command::CompositeCmd>(command);
      if (composite != nullptr) composite->completion.id = accepted.commands;
      encoder.append(step);
      ++accepted.commands;
    } else {
      encoder.append(step);
    }
  };
  for (const command::ProgramStep& step : program.steps) {
    append(step);
    const auto* command = std::get_if<command::Command>(&step);
    for (int i = 0; command != nullptr && i < kAttempts; ++i) {
      const command::Command other = mutator.mutated(*command);
      if (other == *command || !gate.takes(other)) continue;
      append(other);
      ++accepted.changed;
    }
  }
  encoder.end_program();
  accepted.program = command::decode(encoder.bytes(), "stream");
  return accepted;
}

std::size_t check_program(std::uint64_t seed) {
  SCOPED_TRACE(fmt::format("KERNBENCH_SEED={}", seed));
  const arch::TopologyConfig topology = small_topology(seed);
  const Gate gate(topology);
  const command::Program bytes = mutated_bytes(random_program(seed, topology), seed, gate);
  const Accepted accepted = mutated_commands(bytes, seed, gate);
  in_child([&] {
    BenchOptions options;
    options.data = seed % 3 != 0;
    options.expects_hazards = true;  // it reads what nobody wrote
    const auto kernel = [&](command::CommandSink& sink) { accepted.program.replay(sink); };
    const BenchResult result = run_kernel(topology, kernel, options);
    EXPECT_TRUE(result.idle) << (result.waiting.empty() ? "" : result.waiting.front());
    EXPECT_EQ(result.totals.commands, accepted.commands);
    return std::string();
  });
  return accepted.changed;
}

class DecodedPrograms : public testing::TestWithParam<std::uint64_t> {};

TEST_P(DecodedPrograms, RunToTheirEnd) {
  if (const char* text = std::getenv("KERNBENCH_SEED")) {
    if (GetParam() != 0) GTEST_SKIP() << "one seed is wanted";
    check_program(std::stoull(text));
    return;
  }
  std::size_t changed = 0;
  for (std::uint64_t i = 0; i < kProgramsPerTest; ++i) {
    changed += check_program(1 + GetParam() * kProgramsPerTest + i);
    if (HasFailure()) return;
  }
  EXPECT_GT(changed, 20 * kProgramsPerTest) << "too little of it is what nobody compiled";
}

INSTANTIATE_TEST_SUITE_P(Seeds, DecodedPrograms, testing::Range(std::uint64_t{0}, kTests));

// A PE and the compiler for it take the same commands: their limits are the same.
TEST(LimitsOfAPe, AreThoseOfTheTarget) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    arch::TopologyConfig topology = small_topology(seed);
    topology.pes_per_cube = static_cast<std::uint32_t>(1 + seed % 3);
    topology.hbm.bytes *= topology.pes_per_cube;
    const command::Limits pe = arch::limits_of(topology.pe_config());
    const command::Limits target = runtime::make_target(topology).limits();
    EXPECT_EQ(pe.hbm_bytes, target.hbm_bytes);
    EXPECT_EQ(pe.scratch, target.scratch);
    EXPECT_EQ(pe.tile_m, target.tile_m);
    EXPECT_EQ(pe.tile_k, target.tile_k);
    EXPECT_EQ(pe.tile_n, target.tile_n);
    EXPECT_EQ(pe.tile_buffer_bytes, target.tile_buffer_bytes);
    EXPECT_EQ(pe.math_head_from_hbm, target.math_head_from_hbm);
    EXPECT_EQ(pe.pes, target.pes);
    EXPECT_EQ(pe.ipcq_channels, target.ipcq_channels);
    // What `tl` emits passes: the same values, and nothing that only decoding would mind.
    const runtime::Launch launch(random_kernel(seed, kComposites), {}, topology);
    command::ProgramRecorder recorder;
    launch.issue(recorder);
    for (const command::ProgramStep& step : recorder.program().steps) {
      ASSERT_NO_THROW(command::check_step(step, pe)) << "seed " << seed;
    }
    // And has a binary form, as long as what dispatch pays for.
    for (const std::uint32_t entries : {kTableEntries, command::kDefaultHandleTableEntries}) {
      const auto stream = command::encode(recorder.program(), entries);
      ASSERT_TRUE(command::decode(stream, "stream", entries) == recorder.program());
      command::Decoder decoder(entries);
      DecodeTally tally;
      ASSERT_EQ(decode_all(stream, decoder, pe, true, tally), "") << "seed " << seed;
      ASSERT_EQ(tally.taken, recorder.program().steps.size());
    }
  }
}

}  // namespace
}  // namespace kernbench::test
