// SPDX-License-Identifier: Apache-2.0
// Composites drawn at random on topologies drawn at random. For each kernel: the numbers are those
// of its commands one after the other, bit by bit; the hazard checker finds nothing; the bounds of
// contract 13 hold; it ends; a second run, one whose modules are created in another order, and one
// without numbers give the same op log (R8.3); and neither longer stages, nor an early or late
// memory, nor NaN in all bytes that nobody wrote changes a result.
//
// KERNBENCH_SEED=N runs one seed in place of those below.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>

#include "tests/support/in_child.hpp"
#include "tests/support/legal_run.hpp"
#include "tests/support/program_order.hpp"
#include "tests/support/random_kernel.hpp"
#include "tests/support/test_inputs.hpp"

namespace kernbench::test {
namespace {

constexpr int kComposites = 42;
constexpr std::uint64_t kSeedsPerTest = 6;
constexpr std::uint64_t kTests = 20;
static_assert(kComposites * kSeedsPerTest * kTests >= 2000);
// The sanitizers make a run ten times slower: every sixth seed is enough for what they look for.
#ifdef __SANITIZE_ADDRESS__
constexpr std::uint64_t kSeedsRun = 1;
#else
constexpr std::uint64_t kSeedsRun = kSeedsPerTest;
#endif

void check_seed(std::uint64_t seed) {
  SCOPED_TRACE(fmt::format("KERNBENCH_SEED={}", seed));
  const arch::TopologyConfig topology = random_topology(seed);
  const kernels::Kernel kernel = random_kernel(seed, kComposites);
  const auto compiled = compile(kernel, {}, runtime::make_target(topology));
  const auto inputs = test_inputs(compiled.instance, "normal", seed);
  const std::string expected = text_of(run_in_program_order(compiled, inputs));

  const runtime::Launch launch(kernel, {}, topology);
  const auto run = [&](const LegalRun& how) {
    return in_child([&] { return run_as_text(topology, launch, inputs, how); });
  };
  const std::string first = run(plain());
  EXPECT_EQ(results_in(first), expected);
  EXPECT_EQ(run(plain()), first) << "a second run";
  EXPECT_EQ(run(shuffled(seed)), first) << "modules created in another order";
  LegalRun timing_only = plain();
  timing_only.options.data = false;
  EXPECT_EQ(op_log_in(run(timing_only)), op_log_in(first)) << "without numbers";
  for (const LegalRun& how : {poisoned(), delayed(seed), early_memory(), late_memory(seed)}) {
    EXPECT_EQ(results_in(run(how)), expected) << how.name;
  }
}

std::vector<std::uint64_t> seeds_of(std::uint64_t test, std::uint64_t count) {
  std::vector<std::uint64_t> seeds;
  for (std::uint64_t i = 0; i < count; ++i) seeds.push_back(1 + test * kSeedsPerTest + i);
  return seeds;
}

class RandomComposites : public testing::TestWithParam<std::uint64_t> {};

TEST_P(RandomComposites, AreRight) {
  if (const char* text = std::getenv("KERNBENCH_SEED")) {
    const char* end = text + std::strlen(text);
    std::uint64_t seed = 0;
    const auto parsed = std::from_chars(text, end, seed);
    ASSERT_TRUE(parsed.ec == std::errc() && parsed.ptr == end)
        << "KERNBENCH_SEED=" << text << " is no number";
    if (GetParam() != 0) GTEST_SKIP() << "one seed is wanted";
    return check_seed(seed);
  }
  for (const std::uint64_t seed : seeds_of(GetParam(), kSeedsRun)) {
    check_seed(seed);
    if (HasFailure()) return;
  }
}
INSTANTIATE_TEST_SUITE_P(Seeds, RandomComposites, testing::Range<std::uint64_t>(0, kTests));

// ---- what is drawn ------------------------------------------------------------------------------

/// How often something that goes wrong easily is among the commands of a kernel.
class Features {
 public:
  int count(const std::string& what) const {
    const auto found = counts_.find(what);
    return found == counts_.end() ? 0 : found->second;
  }

  void add(const command::Program& program, const tl::Target& target) {
    std::map<command::Address, command::DType> written;  // what a scratch address last held
    for (const command::ProgramStep& step : program.steps) {
      counts_["wait"] += std::holds_alternative<command::WaitStep>(step);
      const auto* command = std::get_if<command::Command>(&step);
      if (command == nullptr) continue;
      counts_["cpu_overhead"] += std::holds_alternative<command::PeCpuOverheadCmd>(*command);
      if (const auto* composite = std::get_if<command::CompositeCmd>(command)) {
        add(*composite, target);
      }
      for (const command::OpSpec& op : command::ops_of(*command)) {
        if (op.on_accumulator() || !op.has_out || !op.out.pinned()) continue;
        const auto [before, first] = written.emplace(op.out.addr, op.out.dtype);
        // A view never changes the dtype: these are two tensors.
        counts_["scratch used again"] += !first && before->second != op.out.dtype;
        before->second = op.out.dtype;
      }
    }
  }

 private:
  void add(const command::CompositeCmd& composite, const tl::Target& target) {
    const auto& ops = composite.ops;
    const auto gemm = std::find_if(ops.begin(), ops.end(), [](const command::OpSpec& op) {
      return op.kind == command::OpKind::gemm;
    });
    counts_["without data"] += !composite.data_op;
    if (gemm == ops.end()) {
      // Of the recipes, none is that short.
      counts_["ready list"] += ops.size() <= 3 && !composite.rw_handles.empty();
      counts_["head of several chunks"] += streams_in_chunks(ops.front(), target);
    } else {
      const bool several_k_tiles =
          gemm->operand(command::OperandName::a)->shape.cols() > target.tile_k;
      counts_["gemm out in HBM"] += !gemm->out.pinned();
      bool k_tile = false, post_loop = false;
      for (auto op = gemm + 1; op != ops.end(); ++op) {
        k_tile = k_tile || op->scope == command::Scope::k_tile;
        post_loop = post_loop || op->scope == command::Scope::kernel;
      }
      counts_["k_tile op on several K tiles"] += k_tile && several_k_tiles;
      counts_["ops after the loop"] += post_loop;
    }
    for (const command::OpSpec& op : ops) {
      counts_["op " + std::string(to_string(op.kind))] += 1;
      counts_["two views of the same bytes"] += has_alias(op);
    }
  }

  static bool streams_in_chunks(const command::OpSpec& head, const tl::Target& target) {
    const auto is_large = [&](const command::TensorHandle& handle) {
      return !handle.pinned() &&
             (handle.shape.rows() > target.tile_m || handle.shape.cols() > target.tile_n);
    };
    return is_large(head.out) ||
           std::any_of(head.operands.begin(), head.operands.end(),
                       [&](const command::Operand& operand) { return is_large(operand.handle); });
  }
  static bool has_alias(const command::OpSpec& op) {
    std::vector<command::TensorHandle> handles;
    for (const command::Operand& operand : op.operands) handles.push_back(operand.handle);
    if (op.has_out) handles.push_back(op.out);
    for (std::size_t i = 0; i < handles.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (handles[i].range().overlaps(handles[j].range()) && !handles[i].same_view(handles[j])) {
          return true;
        }
      }
    }
    return false;
  }

  std::map<std::string, int> counts_;
};

/// Of the observed tensors with several entries: all finite and not all alike.
struct Telling {
  int telling = 0, all = 0;
  void add(const kernels::HostTensors& results) {
    for (const auto& [name, values] : results) {
      if (name[0] != 't' || values.size() == 1) continue;
      const bool finite = std::all_of(values.begin(), values.end(),
                                      [](double value) { return std::isfinite(value); });
      const bool alike =
          std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) == values.end();
      ++all;
      telling += finite && !alike;
    }
  }
};

TEST(RandomKernels, DrawWhatGoesWrongEasily) {
  Features features;
  Telling telling;
  for (std::uint64_t test = 0; test < kTests; ++test) {
    for (const std::uint64_t seed : seeds_of(test, kSeedsPerTest)) {
      const tl::Target target = runtime::make_target(random_topology(seed));
      const auto compiled = compile(random_kernel(seed, kComposites), {}, target);
      features.add(compiled.program, target);
      telling.add(run_in_program_order(compiled, test_inputs(compiled.instance, "normal", seed)));
    }
  }
  const auto expect_often = [&](const std::string& what) {
    constexpr int kOften = 40;
    EXPECT_GE(features.count(what), kOften) << what;
  };
  for (const char* what :
       {"wait", "cpu_overhead", "scratch used again", "without data", "ready list",
        "head of several chunks", "gemm out in HBM", "k_tile op on several K tiles",
        "ops after the loop", "two views of the same bytes"}) {
    expect_often(what);
  }
  for (int i = 0; i < command::kOpKinds; ++i) {
    expect_often("op " + std::string(to_string(static_cast<command::OpKind>(i))));
  }
  EXPECT_GE(telling.telling * 10, telling.all * 7) << telling.telling << " of " << telling.all;
}

}  // namespace
}  // namespace kernbench::test
