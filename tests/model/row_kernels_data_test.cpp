// SPDX-License-Identifier: Apache-2.0
// Contract 8 on the kernels that work on rows: results through the stages equal the commands run
// one after the other bit for bit and lie within the bound of the float64 reference. That the
// variants are bit-equal is shown in program order (tests/kernels/row_kernels_test.cpp), hence here
// too.

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "tests/support/data_run.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/program_order.hpp"
#include "tests/support/test_inputs.hpp"

namespace kernbench {
namespace {

using kernels::HostTensors;
using test::Settings;

/// MATH heads stream, which only variant=streamed makes use of (R5.5).
arch::TopologyConfig streaming_pe() {
  arch::TopologyConfig topology = test::single_pe();
  topology.pe.scheduler.math_head_from_hbm = true;
  return topology;
}

/// `change` edits the normal inputs. Runs in a process of its own.
template <class Change>
void check(const std::string& kernel, const std::string& variant, Settings settings,
           Change change) {
  settings.emplace_back("variant", variant);
  SCOPED_TRACE(test::launch(streaming_pe(), kernel, settings).title());
  test::in_child([&] {
    const auto compiled = test::compile(kernel, settings, runtime::make_target(streaming_pe()));
    HostTensors inputs = test::test_inputs(compiled.instance);
    change(inputs);
    const test::DataRun run = test::run_with_data(streaming_pe(), kernel, settings, inputs);
    EXPECT_EQ(run.results, test::run_in_program_order(compiled, inputs));
    const auto reference = compiled.instance.reference(inputs);
    const auto error = test::error_against(reference.outputs.at("out"), run.results.at("out"));
    EXPECT_LE(error.rms, reference.max_rms_rel);
    EXPECT_LE(error.max, reference.max_abs_rel);
    return std::string();
  });
}

void check(const std::string& kernel, const std::vector<std::string>& variants,
           const std::vector<Settings>& shapes) {
  for (const std::string& variant : variants) {
    for (const Settings& shape : shapes) check(kernel, variant, shape, [](HostTensors&) {});
  }
}

const std::vector<std::string> kBlockVariants{"fused", "split", "streamed"};

const std::vector<Settings>& row_shapes() {
  // Full blocks; a partial last one; fewer blocks than slots; blocks shorter than a dispatch.
  static const std::vector<Settings> kShapes{{},
                                             {{"rows", "27"}, {"cols", "320"}},
                                             {{"rows", "13"}, {"cols", "100"}},
                                             {{"rows", "40"}, {"cols", "8"}, {"block", "4"}}};
  return kShapes;
}

TEST(RowKernelsData, Softmax) { check("softmax", kBlockVariants, row_shapes()); }
TEST(RowKernelsData, Rmsnorm) { check("rmsnorm", kBlockVariants, row_shapes()); }
TEST(RowKernelsData, Layernorm) { check("layernorm", kBlockVariants, row_shapes()); }

const std::vector<Settings>& gemm_shapes() {
  // More than one tile each way with partial ones at the edges; less than one.
  static const std::vector<Settings> kShapes{
      {}, {{"m", "17"}, {"k", "300"}, {"n", "150"}}, {{"m", "3"}, {"k", "20"}, {"n", "33"}}};
  return kShapes;
}

TEST(RowKernelsData, RmsnormLinear) { check("rmsnorm_linear", {"fused", "split"}, gemm_shapes()); }
TEST(RowKernelsData, RmsnormLinearOutInTcm) {
  check("rmsnorm_linear", {"fused", "split"}, {{{"out", "tcm"}, {"m", "9"}}});
}
TEST(RowKernelsData, LinearGeluNorm) {
  check("linear_gelu_norm", {"fused", "split"}, gemm_shapes());
}
TEST(RowKernelsData, Mlp) {
  check("mlp", {"fused", "split"},
        {{}, {{"m", "17"}, {"k", "150"}, {"f", "300"}}, {{"m", "3"}, {"k", "20"}, {"f", "33"}}});
}
TEST(RowKernelsData, StateMerge) {
  check("state_merge", {"fused", "split"},
        {{}, {{"parts", "2"}, {"rows", "5"}, {"d", "40"}}, {{"parts", "9"}, {"d", "72"}}});
}

// R8.2: rows and entries of -inf give 0.
TEST(RowKernelsData, SoftmaxMasked) {
  for (const std::string& variant : kBlockVariants) {
    check("softmax", variant, {{"rows", "20"}, {"cols", "32"}}, [](HostTensors& inputs) {
      std::vector<double>& x = inputs.at("x");
      const double masked = -std::numeric_limits<double>::infinity();
      std::fill(x.begin() + 3 * 32, x.begin() + 5 * 32, masked);  // rows 3, 4
      std::fill(x.end() - 30, x.end(), masked);                   // all but two of the last row
    });
  }
}

// Field case 36: parts 0 and 2 are empty; row 1 is so in all of them.
TEST(RowKernelsData, StateMergeOfEmptyParts) {
  constexpr std::size_t kRows = 3, kDim = 16;
  const Settings settings{{"parts", "4"}, {"rows", "3"}, {"d", "16"}};
  for (const char* variant : {"fused", "split"}) {
    check("state_merge", variant, settings, [&](HostTensors& inputs) {
      for (std::size_t part = 0; part < 4; ++part) {
        for (std::size_t row = 0; row < kRows; ++row) {
          if (part % 2 != 0 && row != 1) continue;
          const std::size_t at = part * kRows + row;
          inputs.at("m")[at] = -std::numeric_limits<double>::infinity();
          inputs.at("l")[at] = 0;
          const auto first = inputs.at("O").begin() + static_cast<std::ptrdiff_t>(at * kDim);
          std::fill(first, first + kDim, 0);
        }
      }
    });
  }
}

}  // namespace
}  // namespace kernbench
