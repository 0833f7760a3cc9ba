// SPDX-License-Identifier: Apache-2.0
// What a kernel computes does not depend on when things happen: for every kernel of the catalogue
// the results are those of its commands one after the other, bit by bit, and within the tolerance
// of its float64 reference, whatever the policies and resources of the PE, with longer stages, with
// every DMA as early or as late as is legal, and with NaN in every byte that nobody wrote. Nor do
// times depend on numbers (R8.3).
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/catalogue.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/legal_run.hpp"
#include "tests/support/program_order.hpp"
#include "tests/support/test_inputs.hpp"

namespace kernbench::test {
namespace {

struct Case {
  std::string kernel;
  Settings settings;
};

// Small, with partial tiles or blocks, every variant.
std::vector<Case> cases() {
  std::vector<Case> all{
      {"gemm", {{"m", "20"}, {"k", "300"}, {"n", "150"}, {"epilogue", "bias+gelu"}}},
      {"gemm",
       {{"m", "9"},
        {"k", "140"},
        {"n", "130"},
        {"a", "hbm"},
        {"out", "hbm"},
        {"k_epilogue", "scale"}}},
      {"gqa_decode", {{"s_kv", "100"}, {"kv_heads", "2"}, {"d", "32"}, {"t_q", "2"}}},
      {"gqa_decode", {{"lengths", "0,5,64"}, {"d", "32"}, {"tile", "32"}}},
      {"gqa_decode",
       {{"lengths", "70,33"},
        {"d", "32"},
        {"tile", "32"},
        {"kv", "paged"},
        {"block_table", "reversed"}}},
      {"gqa_prefill", {{"s_q", "20"}, {"prefix", "13"}, {"g", "2"}, {"d", "32"}, {"tile", "16"}}},
      {"softmax", {{"rows", "19"}, {"cols", "70"}, {"block", "8"}}},
      {"rmsnorm", {{"rows", "19"}, {"cols", "70"}, {"block", "8"}}},
      {"layernorm", {{"rows", "19"}, {"cols", "70"}, {"block", "8"}}},
      {"rmsnorm_linear", {{"m", "9"}, {"k", "140"}, {"n", "130"}}},
      {"linear_gelu_norm", {{"m", "9"}, {"k", "140"}, {"n", "130"}}},
      {"mlp", {{"m", "9"}, {"k", "70"}, {"f", "140"}}},
      {"state_merge", {{"parts", "3"}, {"rows", "9"}, {"d", "40"}}},
      {"all_reduce", {{"n", "100"}}},
      {"all_gather", {{"n", "100"}}},
      {"llama_layer",
       {{"hidden", "70"},
        {"heads", "3"},
        {"kv_heads", "1"},
        {"d", "32"},
        {"ffn", "150"},
        {"s_kv", "70"},
        {"tile", "32"}}},
      {"llama_decode_step",
       {{"layers", "2"},
        {"hidden", "140"},
        {"heads", "2"},
        {"kv_heads", "1"},
        {"d", "16"},
        {"ffn", "60"},
        {"s_kv", "33"},
        {"tile", "32"}}},
  };
  const auto variants_of = [](const std::string& kernel) {
    for (const kernels::Kernel& candidate : kernels::catalogue()) {
      if (candidate.name != kernel) continue;
      const kernels::Parameter* variant = kernels::find_parameter(candidate.parameters, "variant");
      if (variant != nullptr) return variant->choices;
    }
    return std::vector<std::string>();
  };
  std::vector<Case> each;
  for (const Case& base : all) {
    for (const std::string& variant : variants_of(base.kernel)) {
      Case one = base;
      one.settings.push_back({"variant", variant});
      each.push_back(one);
    }
    if (variants_of(base.kernel).empty()) each.push_back(base);
  }
  return each;
}

/// MATH heads stream, which only variant=streamed makes use of (R5.5).
arch::TopologyConfig streaming_pe() {
  arch::TopologyConfig topology = single_pe();
  topology.pe.scheduler.math_head_from_hbm = true;
  return topology;
}
arch::TopologyConfig one_of_everything() {
  arch::TopologyConfig topology = streaming_pe();
  topology.pe.cpu.cmd_queue_depth = 1;
  topology.pe.scheduler.tile_buffers = 1;
  topology.pe.scheduler.max_inflight_composites = 1;
  return topology;
}
arch::TopologyConfig many_channels() {
  arch::TopologyConfig topology = streaming_pe();
  topology.pe.dma.read_channels = topology.pe.dma.write_channels = 4;
  topology.pe.scheduler.tile_buffers = 4;
  return topology;
}
arch::TopologyConfig drain_all() {
  arch::TopologyConfig topology = streaming_pe();
  topology.pe.scheduler.rw_policy = arch::RwPolicy::drain_all;
  return topology;
}

// `dispatch` has no tensors: nothing to compute.
TEST(CatalogueResults, CoverEveryKernel) {
  for (const kernels::Kernel& kernel : kernels::catalogue()) {
    if (kernel.name == "dispatch") continue;
    const auto all = cases();
    EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](const Case& c) {
      return c.kernel == kernel.name;
    })) << kernel.name;
  }
}

class CatalogueResults : public testing::TestWithParam<std::size_t> {};

TEST_P(CatalogueResults, DoNotDependOnTimes) {
  const Case c = cases()[GetParam()];
  const auto compiled = compile(c.kernel, c.settings, runtime::make_target(streaming_pe()));
  const auto inputs = test_inputs(compiled.instance, "normal");
  const auto results = run_in_program_order(compiled, inputs);
  const std::string expected = text_of(results);

  const kernels::Reference reference = compiled.instance.reference(inputs);
  const auto error =
      error_against(reference.outputs.at(reference.checked), results.at(reference.checked));
  EXPECT_LE(error.rms, reference.max_rms_rel);
  EXPECT_LE(error.max, reference.max_abs_rel);

  const auto run = [&](const arch::TopologyConfig& topology, const LegalRun& how) {
    return in_child(
        [&] { return run_as_text(topology, launch(topology, c.kernel, c.settings), inputs, how); });
  };
  LegalRun timing_only = plain();
  timing_only.options.data = false;
  for (const auto& topology : {streaming_pe(), one_of_everything(), many_channels(), drain_all()}) {
    const std::string with_data = run(topology, plain());
    EXPECT_EQ(results_in(with_data), expected);
    EXPECT_EQ(op_log_in(run(topology, timing_only)), op_log_in(with_data)) << "R8.3";
    EXPECT_EQ(results_in(run(topology, delayed(GetParam()))), expected) << "delayed";
  }
  for (const LegalRun& how : {poisoned(), early_memory(), late_memory(GetParam())}) {
    EXPECT_EQ(results_in(run(streaming_pe(), how)), expected) << how.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, CatalogueResults, testing::Range<std::size_t>(0, cases().size()),
                         [](const testing::TestParamInfo<std::size_t>& param) {
                           const Case c = cases()[param.param];
                           std::string name = c.kernel;
                           for (const auto& [key, value] : c.settings) {
                             if (key == "variant") name += "_" + value;
                           }
                           return name + "_" + std::to_string(param.param);
                         });

}  // namespace
}  // namespace kernbench::test
