// SPDX-License-Identifier: Apache-2.0
// A program file is the run of the kernel that it was compiled from (R3.7): every kernel of the
// catalogue live, and from the bytes of its file; outputs and numbers are the same bytes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "kernels/catalogue.hpp"
#include "runtime/launch/compile.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/machine_bench.hpp"
#include "tests/support/op_log_diff.hpp"
#include "tests/support/test_inputs.hpp"

namespace kernbench::test {
namespace {

struct Case {
  std::string kernel;
  Settings settings;
  std::string topology = "single_pe";
  std::vector<std::string> sets = {};      ///< compiled and run with
  std::vector<std::string> when_run = {};  ///< keys that a command does not depend on
};

const Settings kSmallLlama{{"hidden", "128"}, {"heads", "16"}, {"kv_heads", "8"}, {"d", "16"},
                           {"ffn", "128"},    {"s_kv", "100"}, {"tile", "32"}};

// Small, with partial tiles or blocks.
std::vector<Case> cases() {
  const std::vector<std::string> other_pe{"pe.math.lanes=16", "hbm.gbps=32", "pe.clock_ghz=0.7",
                                          "pe.pe_cost_model.fixed_cycles=7"};
  const std::vector<std::string> other_tiles{"pe.gemm.tile_m=4", "pe.gemm.tile_k=32",
                                             "pe.gemm.tile_n=16"};
  Settings layers = kSmallLlama;
  layers.emplace_back("layers", "2");
  return {
      {"gqa_decode", {{"s_kv", "100"}, {"kv_heads", "2"}, {"d", "32"}, {"t_q", "2"}}},
      {"gqa_decode", {{"s_kv", "100"}, {"d", "32"}, {"variant", "opt1"}}},
      {"gqa_decode",
       {{"s_kv", "100"}, {"d", "32"}, {"variant", "opt3"}},
       "single_pe",
       {},
       other_pe},
      {"gqa_decode",
       {{"lengths", "0,5,64"}, {"d", "32"}, {"kv", "paged"}},
       "single_pe",
       other_tiles},
      {"gqa_decode", {{"s_kv", "700"}, {"p", "8"}, {"d", "32"}}, "cube_8pe"},
      {"gqa_decode",
       {{"s_kv", "700"}, {"kv_heads", "2"}, {"c", "2"}, {"p", "8"}, {"d", "32"}},
       "llama70b_4sip",
       {"hbm.map=interleaved"}},
      {"gqa_prefill", {{"s_q", "20"}, {"prefix", "13"}, {"g", "2"}, {"d", "32"}, {"tile", "16"}}},
      {"gemm",
       {{"m", "20"}, {"k", "300"}, {"n", "150"}, {"epilogue", "bias+gelu"}},
       "single_pe",
       other_tiles,
       other_pe},
      {"gemm", {{"m", "9"}, {"k", "140"}, {"a", "hbm"}, {"out", "hbm"}, {"k_epilogue", "scale"}}},
      {"state_merge", {{"parts", "3"}, {"rows", "9"}, {"d", "40"}}},
      {"softmax", {{"rows", "19"}, {"cols", "70"}, {"block", "8"}}},
      {"softmax",
       {{"rows", "19"}, {"cols", "70"}, {"block", "8"}, {"variant", "streamed"}},
       "single_pe",
       {"pe.scheduler.math_head_from_hbm=true"}},
      {"rmsnorm", {{"rows", "19"}, {"cols", "70"}, {"variant", "split"}}},
      {"layernorm", {{"rows", "19"}, {"cols", "70"}, {"block", "8"}}},
      {"rmsnorm_linear", {{"m", "9"}, {"k", "140"}, {"n", "130"}}},
      {"linear_gelu_norm", {{"m", "9"}, {"k", "140"}, {"n", "130"}}},
      {"mlp", {{"m", "9"}, {"k", "70"}, {"f", "140"}}},
      {"all_reduce", {{"n", "100"}}, "cube_8pe"},
      {"all_reduce", {{"n", "100"}, {"algorithm", "tree"}, {"programs", "48"}}, "llama70b_4sip"},
      {"all_gather", {{"n", "100"}}, "cube_8pe"},
      {"llama_layer", kSmallLlama, "cube_8pe"},
      {"llama_decode_step", layers, "cube_8pe"},
      {"dispatch", {{"commands", "20"}}},
  };
}

/// All that comes out of a run. The summary has the comparison with the reference, which is that of
/// the kernel that the file's title names.
std::string text_of(const MachineRun& run) {
  std::string text = fmt::format("{}\n{}\n{}\n", run.op_log, run.summary, run.vcd);
  for (const auto& [name, values] : run.results) {
    for (const double value : values) text += fmt::format("{} {:a}\n", name, value);
  }
  return text;
}

std::string run(const Case& c, bool from_file) {
  return in_child([&] {
    std::vector<std::string> sets = c.sets;
    const arch::TopologyConfig compiled_for = shipped(c.topology, sets);
    sets.insert(sets.end(), c.when_run.begin(), c.when_run.end());
    const arch::TopologyConfig topology = shipped(c.topology, sets);
    MachineRunOptions options;
    options.vcd_pes = {0};
    options.inputs = test_inputs(launch(topology, c.kernel, c.settings).instance());
    if (!from_file) {
      return text_of(run_machine(topology, launch(topology, c.kernel, c.settings), options));
    }
    const auto bytes =
        command::to_bytes(runtime::compile(launch(compiled_for, c.kernel, c.settings)));
    const auto file =
        std::make_shared<const command::ProgramFile>(command::parse_program_file(bytes, "f.kbp"));
    const runtime::Launch replayed("f.kbp", file, topology, kernels::catalogue());
    // Its synthetic inputs are those of the kernel.
    EXPECT_EQ(test_inputs(replayed.instance()), *options.inputs);
    return text_of(run_machine(topology, replayed, options));
  });
}

void expect_same(bool several_pes) {
  for (const Case& c : cases()) {
    if ((c.topology != "single_pe") != several_pes) continue;
    SCOPED_TRACE(fmt::format("{} on {}", c.kernel, c.topology));
    const std::string live = run(c, false);
    const std::string replayed = run(c, true);
    EXPECT_NE(live.find(",dispatch,"), std::string::npos);
    EXPECT_TRUE(live == replayed) << op_log_diff(live, replayed);
  }
}

TEST(ProgramReplay, IsTheRunOfTheKernel) { expect_same(false); }
TEST(ProgramReplay, IsTheRunOfTheKernelOnSeveralPes) { expect_same(true); }

// One whose title is of no kernel, of one with other parameters, or of one with other tensors.
TEST(ProgramReplay, OfAnUnknownKernelHasNoReference) {
  const arch::TopologyConfig topology = shipped("single_pe");
  const Settings settings{{"parts", "3"}, {"rows", "9"}, {"d", "40"}};
  command::ProgramFile file = runtime::compile(launch(topology, "state_merge", settings));
  const auto of_title = [&](const std::string& title) {
    file.title = title;
    return runtime::Launch("f.kbp", std::make_shared<const command::ProgramFile>(file), topology,
                           kernels::catalogue());
  };
  const runtime::Launch known = of_title(file.title);
  EXPECT_TRUE(known.instance().reference);
  const auto is_sum = [](const kernels::TensorSpec& tensor) {
    return tensor.name == "l" && tensor.domain == kernels::Domain::at_least_one;
  };
  EXPECT_TRUE(
      std::any_of(known.instance().tensors.begin(), known.instance().tensors.end(), is_sum));
  for (const std::string title : {"my_merge parts=3 rows=9 d=40", "state_merge parts=3 rows=9 e=40",
                                  "state_merge parts=3 rows=9 d=41", "by hand"}) {
    SCOPED_TRACE(title);
    const runtime::Launch unknown = of_title(title);
    EXPECT_FALSE(unknown.instance().reference);
    for (const kernels::TensorSpec& tensor : unknown.instance().tensors) {
      EXPECT_EQ(tensor.domain, kernels::Domain::any);
    }
  }
}

TEST(ProgramReplay, HasEveryKernelOfTheCatalogue) {
  std::set<std::string> covered, catalogue;
  for (const Case& c : cases()) covered.insert(c.kernel);
  for (const kernels::Kernel& kernel : kernels::catalogue()) catalogue.insert(kernel.name);
  EXPECT_EQ(covered, catalogue);
}

}  // namespace
}  // namespace kernbench::test
