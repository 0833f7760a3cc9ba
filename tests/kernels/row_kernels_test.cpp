// SPDX-License-Identifier: Apache-2.0
// Kernels that work on rows: what they issue, their float64 references, and their results in
// program order. Sizes of ops by contract 3: 4 + 8 an operand + 8 for out + 4 a scalar; a composite
// is 6 more, and 8 an rw handle; a simple command 5 + 8 a handle + 4 a scalar.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/support/program_order.hpp"
#include "tests/support/program_outline.hpp"
#include "tests/support/test_inputs.hpp"

namespace kernbench::kernels {
namespace {

using namespace test;
using command::Command;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr double kInf = std::numeric_limits<double>::infinity();

std::vector<std::uint64_t> bytes_of_each(const std::vector<Command>& commands) {
  std::vector<std::uint64_t> bytes;
  for (const Command& command : commands) bytes.push_back(logical_bytes(command));
  return bytes;
}

HostTensors reference_of(const std::string& kernel, const Settings& settings,
                         const HostTensors& inputs) {
  return compile(kernel, settings).instance.reference(inputs).outputs;
}

/// Results of both variants, which must be bit-equal and as near to float64 as the reference's
/// bound says. The bound is one: a result is not within a thirtieth of it.
HostTensors check_variants(const std::string& kernel, const std::vector<std::string>& variants,
                           const Settings& settings, const tl::Target& target = tl::Target()) {
  HostTensors first;
  for (const std::string& variant : variants) {
    Settings all = settings;
    all.emplace_back("variant", variant);
    const Compiled compiled = compile(kernel, all, target);
    const HostTensors inputs = test_inputs(compiled.instance, "normal");
    const HostTensors results = run_in_program_order(compiled, inputs);
    if (first.empty()) {
      first = results;
      const Reference reference = compiled.instance.reference(inputs);
      const Error error = error_against(reference.outputs.at("out"), results.at("out"));
      EXPECT_LE(error.rms, reference.max_rms_rel) << kernel;
      EXPECT_LE(error.max, reference.max_abs_rel) << kernel;
      EXPECT_GE(error.rms, reference.max_rms_rel / 30) << kernel;
      EXPECT_LT(reference.max_rms_rel, 1e-2) << kernel;
    }
    EXPECT_EQ(results, first) << kernel << " " << variant;
  }
  return first;
}

// ---- blocks of rows: softmax, rmsnorm, layernorm ------------------------------------------------

const std::vector<std::string> kVariants{"fused", "split", "streamed"};

/// Its MATH heads stream.
tl::Target streaming() {
  tl::Target target;
  target.math_head_from_hbm = true;
  return target;
}

TEST(RowBlocks, FusedIsOneCompositeABlockBetweenTheNextLoadAndTheStoreBefore) {
  const Settings three_blocks{{"rows", "24"}};
  EXPECT_THAT(outline(compile("softmax", three_blocks)),
              ElementsAre("{", "load", "load", "composite", "load", "composite", "store",
                          "composite", "store", "store", "}"));
  EXPECT_THAT(outline(compile("rmsnorm", {{"rows", "8"}})),
              ElementsAre("load", "wait", "{", "load", "composite", "store", "}"));
  EXPECT_THAT(outline(compile("layernorm", {{"rows", "8"}})),
              ElementsAre("load", "load", "wait", "{", "load", "composite", "store", "}"));
}

TEST(RowBlocks, SplitIsTheSameOpsOneByOne) {
  const Settings one_block{{"rows", "8"}, {"variant", "split"}};
  EXPECT_THAT(outline(compile("softmax", one_block)),
              ElementsAre("{", "load", "rmax", "exp_diff", "rsum", "div_bcast", "store", "}"));
  EXPECT_THAT(outline(compile("rmsnorm", one_block)),
              ElementsAre("load", "wait", "{", "load", "square", "rsum", "scale_add", "rsqrt",
                          "mul_bcast", "mul_cols", "store", "}"));
  EXPECT_THAT(
      outline(compile("layernorm", one_block)),
      ElementsAre("load", "load", "wait", "{", "load", "rsum", "scale", "sub_bcast", "square",
                  "rsum", "scale_add", "rsqrt", "mul_bcast", "mul_cols", "add_cols", "store", "}"));
}

TEST(RowBlocks, StreamedIsOneCompositeABlockAndNoLoad) {
  EXPECT_THAT(
      outline(compile("softmax", {{"rows", "24"}, {"variant", "streamed"}}, streaming())),
      ElementsAre("{", "composite", "composite", "store", "composite", "store", "store", "}"));
  const Settings one_block{{"rows", "8"}, {"variant", "streamed"}};
  EXPECT_THAT(outline(compile("rmsnorm", one_block, streaming())),
              ElementsAre("load", "wait", "{", "composite", "store", "}"));
  EXPECT_THAT(outline(compile("layernorm", one_block, streaming())),
              ElementsAre("load", "load", "wait", "{", "composite", "store", "}"));
}

// R5.5: op 0 alone reads HBM; it copies the rows of its block to where the others find them.
TEST(RowBlocks, StreamedCopiesItsRowsOfX) {
  const Compiled compiled =
      compile("softmax", {{"rows", "19"}, {"cols", "100"}, {"variant", "streamed"}}, streaming());
  std::uint64_t row = 0;
  for (const Command& command : loop_of(compiled)) {
    if (label(command) != "composite") continue;
    const command::Ops ops = command::ops_of(command);
    ASSERT_EQ(ops.size(), 5U);
    EXPECT_EQ(ops[0].kind, command::OpKind::copy);
    EXPECT_EQ(ops[0].operands[0].handle.addr, compiled.bound[0].addr + row * 200);
    row += static_cast<std::uint64_t>(ops[0].operands[0].handle.shape.rows());
    EXPECT_EQ(ops[0].out, ops[1].operands[0].handle);
    EXPECT_TRUE(ops[0].out.pinned());
  }
  EXPECT_EQ(row, 19U);
}

TEST(RowBlocks, StreamedNeedsATargetWhoseHeadsStream) {
  for (const std::string kernel : {"softmax", "rmsnorm", "layernorm"}) {
    EXPECT_EQ(error_of(kernel, {{"variant", "streamed"}}),
              kernel +
                  ": variant=streamed needs pe.scheduler.math_head_from_hbm, which is false; "
                  "add --set pe.scheduler.math_head_from_hbm=true, or give variant=fused");
  }
}

TEST(RowBlocks, SlotsAreNamedForMessages) {
  const Compiled compiled = compile("softmax", {{"rows", "16"}});
  const auto second = std::get<command::DmaReadCmd>(loop_of(compiled)[1]);
  EXPECT_EQ(second.dst.label(), "x1");
}

TEST(RowBlocks, BytesOfABlock) {
  const auto block = [](const std::string& kernel, const std::string& variant) {
    std::vector<std::uint64_t> bytes =
        bytes_of_each(loop_of(compile(kernel, {{"rows", "8"}, {"variant", variant}})));
    EXPECT_EQ(bytes.front(), 21U);  // load
    EXPECT_EQ(bytes.back(), 21U);   // store
    return std::vector<std::uint64_t>(bytes.begin() + 1, bytes.end() - 1);
  };
  // rmax 24, exp_diff with axis 32, rsum 24, div_bcast 32.
  EXPECT_THAT(block("softmax", "fused"), ElementsAre(24 + 32 + 24 + 32 + 6));
  EXPECT_THAT(block("softmax", "split"), ElementsAre(25, 33, 25, 33));
  // copy 20 more, and no load.
  const Settings streamed{{"rows", "8"}, {"variant", "streamed"}};
  EXPECT_THAT(bytes_of_each(loop_of(compile("softmax", streamed, streaming()))),
              ElementsAre(20 + 118, 21));
  // square 20, rsum 24, scale_add 28, rsqrt 20, mul_bcast 32, mul_cols 32.
  EXPECT_THAT(block("rmsnorm", "fused"), ElementsAre(20 + 24 + 28 + 20 + 32 + 32 + 6));
  EXPECT_THAT(block("rmsnorm", "split"), ElementsAre(21, 25, 29, 21, 33, 33));
  // rsum 24, scale 24, sub_bcast 32, square 20, rsum 24, scale_add 28, rsqrt 20, three with axis.
  EXPECT_THAT(block("layernorm", "fused"),
              ElementsAre(24 + 24 + 32 + 20 + 24 + 28 + 20 + 32 + 32 + 32 + 6));
  EXPECT_THAT(block("layernorm", "split"), ElementsAre(25, 25, 33, 21, 25, 29, 21, 33, 33, 33));
}

TEST(RowBlocks, TheLastBlockHasItsTrueSize) {
  // 19 rows in blocks of 8: 8, 8, 3.
  for (const char* kernel : {"softmax", "rmsnorm", "layernorm"}) {
    for (const std::string& variant : kVariants) {
      const Compiled compiled =
          compile(kernel, {{"rows", "19"}, {"cols", "100"}, {"variant", variant}}, streaming());
      EXPECT_EQ(compiled.instance.tiles, 3U);
      std::vector<command::Shape> loaded, stored;
      for (const Command& command : loop_of(compiled)) {
        if (const auto* load = std::get_if<command::DmaReadCmd>(&command)) {
          loaded.push_back(load->dst.shape);
        } else if (const auto* store = std::get_if<command::DmaWriteCmd>(&command)) {
          stored.push_back(store->src.shape);
        } else if (variant == "streamed") {
          loaded.push_back(command::ops_of(command)[0].out.shape);
        }
      }
      const command::Shape full{8, 100}, rest{3, 100};
      EXPECT_THAT(loaded, ElementsAre(full, full, rest));
      EXPECT_THAT(stored, ElementsAre(full, full, rest));
    }
  }
}

TEST(RowBlocks, ABlockIsAtMostTheMatrixAndMustFitScratch) {
  EXPECT_EQ(compile("softmax", {{"rows", "3"}, {"block", "8"}}).instance.tiles, 1U);
  EXPECT_EQ(error_of("softmax", {{"block", "0"}}),
            "softmax: block=0 is out of range; give an integer from 1 to 65536");
  EXPECT_EQ(error_of("rmsnorm", {{"variant", "spilt"}}),
            "rmsnorm: variant=spilt is not one of fused, split, streamed; did you mean 'split'?");
  // e alone has 16 * 4096 * 4 bytes.
  EXPECT_THAT(error_of("softmax", {{"block", "16"}, {"cols", "4096"}}),
              HasSubstr("TCM scratch is exhausted"));
}

TEST(RowBlocks, ReferencesOfHandComputedCases) {
  const auto out = [](const std::string& kernel, const HostTensors& inputs, const char* rows) {
    return reference_of(kernel, {{"rows", rows}, {"cols", "2"}}, inputs).at("out");
  };
  const std::vector<double> softmax =
      out("softmax", {{"x", {0, std::log(3.0), -kInf, 5, -kInf, -kInf}}}, "3");
  EXPECT_NEAR(softmax[0], 0.25, 1e-15);
  EXPECT_NEAR(softmax[1], 0.75, 1e-15);
  EXPECT_THAT(std::vector<double>(softmax.begin() + 2, softmax.end()), ElementsAre(0, 1, 0, 0));
  // The mean of 9 and 16 is 12.5.
  const std::vector<double> rms = out("rmsnorm", {{"x", {3, 4}}, {"gamma", {2, -1}}}, "1");
  EXPECT_NEAR(rms[0], 6 / std::sqrt(12.5 + 1e-5), 1e-14);
  EXPECT_NEAR(rms[1], -4 / std::sqrt(12.5 + 1e-5), 1e-14);
  // Mean 2, variance 1.
  const std::vector<double> layer =
      out("layernorm", {{"x", {1, 3}}, {"gamma", {2, -1}}, {"beta", {10, 20}}}, "1");
  EXPECT_NEAR(layer[0], 10 - 2 / std::sqrt(1 + 1e-5), 1e-14);
  EXPECT_NEAR(layer[1], 20 - 1 / std::sqrt(1 + 1e-5), 1e-14);
}

TEST(RowBlocks, ToleranceIsTheLastRoundingAtLeast) {
  // One entry a row: softmax is 1, and the roundings are one of f16 (2^-11), its smallest step
  // (2^-25) and, of f32 (2^-24), 1 + 5.
  const Reference reference =
      compile("softmax", {{"rows", "1"}, {"cols", "1"}}).instance.reference({{"x", {3}}});
  EXPECT_EQ(reference.checked, "out");
  EXPECT_DOUBLE_EQ(reference.max_rms_rel, 0x1p-11 + 0x1p-25 + 6 * 0x1p-24);
  EXPECT_DOUBLE_EQ(reference.max_abs_rel, reference.max_rms_rel);
}

// All variants issue the same ops on the same tensors: no rounding differs.
TEST(RowBlocks, VariantsAreBitEqualAndWithinTheirBound) {
  const Settings shapes[] = {{},
                             {{"rows", "19"}, {"cols", "100"}},
                             {{"rows", "5"}, {"cols", "1000"}, {"block", "2"}},
                             {{"rows", "33"}, {"cols", "7"}, {"block", "16"}}};
  for (const Settings& shape : shapes) {
    for (const char* kernel : {"softmax", "rmsnorm", "layernorm"}) {
      check_variants(kernel, kVariants, shape, streaming());
    }
  }
}

TEST(Softmax, MaskedEntriesAndRowsGiveZero) {
  // R8.2: row 1 is all -inf; of row 2 only entry 3 is not.
  for (const std::string& variant : kVariants) {
    const Compiled compiled =
        compile("softmax", {{"rows", "3"}, {"cols", "8"}, {"block", "2"}, {"variant", variant}},
                streaming());
    HostTensors inputs = test_inputs(compiled.instance, "normal");
    std::vector<double>& x = inputs["x"];
    std::fill(x.begin() + 8, x.end(), -kInf);
    x[16 + 3] = -7;
    const std::vector<double> out = run_in_program_order(compiled, inputs).at("out");
    for (std::size_t i = 8; i < 24; ++i) EXPECT_EQ(out[i], i == 19 ? 1 : 0) << i;
    double sum = 0;
    for (std::size_t i = 0; i < 8; ++i) sum += out[i];
    EXPECT_NEAR(sum, 1, 8 * 0x1p-12);
  }
}

TEST(Softmax, LargeEntriesDoNotOverflow) {
  // exp(60000) is not finite; the difference to the row's maximum is 0 or -32.
  const Compiled compiled = compile("softmax", {{"rows", "1"}, {"cols", "2"}});
  const std::vector<double> out = run_in_program_order(compiled, {{"x", {60000, 59968}}}).at("out");
  EXPECT_THAT(out, ElementsAre(1, 0));  // exp(-32) is below 2^-25
}

// ---- rmsnorm_linear -----------------------------------------------------------------------------

TEST(RmsnormLinear, FusedIsOneCommandOf202Bytes) {
  // Contract 13: six ops of 156, gemm 40, 6.
  const Compiled compiled = compile("rmsnorm_linear", {});
  EXPECT_THAT(outline(compiled), ElementsAre("load", "load", "wait", "{", "composite", "}"));
  EXPECT_THAT(bytes_of_each(loop_of(compiled)), ElementsAre(202));
  EXPECT_THAT(outline(compile("rmsnorm_linear", {{"out", "tcm"}})),
              ElementsAre("load", "load", "wait", "{", "composite", "}", "observe out"));
}

TEST(RmsnormLinear, SplitIsSixSimpleCommandsAndAGemm) {
  const Compiled compiled = compile("rmsnorm_linear", {{"variant", "split"}});
  EXPECT_THAT(outline(compiled),
              ElementsAre("load", "load", "wait", "{", "square", "rsum", "scale_add", "rsqrt",
                          "mul_bcast", "mul_cols", "composite", "}"));
  EXPECT_THAT(bytes_of_each(loop_of(compiled)), ElementsAre(21, 25, 29, 21, 33, 33, 46));
}

TEST(RmsnormLinear, TensorsAndTiles) {
  const Compiled compiled = compile("rmsnorm_linear", {{"m", "9"}, {"k", "300"}, {"n", "129"}});
  ASSERT_EQ(compiled.instance.tensors.size(), 4U);
  EXPECT_EQ(compiled.instance.tensors[1].shape, (command::Shape{300}));
  EXPECT_EQ(compiled.instance.tensors[2].shape, (command::Shape{300, 129}));
  EXPECT_EQ(compiled.instance.tensors[3].direction, Direction::out);
  EXPECT_EQ(compiled.instance.tiles, 2U * 3 * 2);  // of 8 x 128 x 128
  EXPECT_EQ(compile("rmsnorm_linear", {{"out", "tcm"}}).instance.tensors.size(), 3U);
}

TEST(RmsnormLinear, ReferenceOfAHandComputedCase) {
  const HostTensors outputs =
      reference_of("rmsnorm_linear", {{"m", "1"}, {"k", "2"}, {"n", "2"}},
                   {{"x", {3, 4}}, {"gamma", {2, 1}}, {"w", {1, 0, 1, -1}}});
  EXPECT_NEAR(outputs.at("out")[0], (6 + 4) / std::sqrt(12.5 + 1e-5), 1e-14);
  EXPECT_NEAR(outputs.at("out")[1], -4 / std::sqrt(12.5 + 1e-5), 1e-14);
}

// The split form stores xn in f16 and the statistics in f32, as the recipe does.
TEST(RmsnormLinear, VariantsAreBitEqualAndWithinTheirBound) {
  for (const char* out : {"tcm", "hbm"}) {
    check_variants("rmsnorm_linear", {"fused", "split"}, {{"out", out}});
    check_variants("rmsnorm_linear", {"fused", "split"},
                   {{"out", out}, {"m", "17"}, {"k", "300"}, {"n", "150"}});
    check_variants("rmsnorm_linear", {"fused", "split"},
                   {{"out", out}, {"m", "5"}, {"k", "33"}, {"n", "80"}});
  }
}

// ---- linear_gelu_norm ---------------------------------------------------------------------------

TEST(LinearGeluNorm, FusedIsOneCommandOf374Bytes) {
  // Contract 13: gemm 40, bias 28, gelu 20, rsum 24, scale_add 28, sub_bcast 32, square 20, rsum
  // 24, scale_add 28, rsqrt 20, three with axis 96, 6, rw (y) 8.
  const Compiled compiled = compile("linear_gelu_norm", {});
  EXPECT_THAT(outline(compiled),
              ElementsAre("load", "load", "load", "load", "wait", "{", "composite", "}", "store"));
  EXPECT_THAT(bytes_of_each(loop_of(compiled)), ElementsAre(374));
}

TEST(LinearGeluNorm, SplitIsAGemmAndTenSimpleCommands) {
  const Compiled compiled = compile("linear_gelu_norm", {{"variant", "split"}});
  EXPECT_THAT(outline(compiled),
              ElementsAre("load", "load", "load", "load", "wait", "{", "composite", "rsum",
                          "scale_add", "sub_bcast", "square", "rsum", "scale_add", "rsqrt",
                          "mul_bcast", "mul_cols", "add_cols", "}", "store"));
  EXPECT_THAT(bytes_of_each(loop_of(compiled)),
              ElementsAre(40 + 28 + 20 + 6, 25, 29, 33, 21, 25, 29, 21, 33, 33, 33));
}

TEST(LinearGeluNorm, ReferenceOfAHandComputedCase) {
  // gelu(1) - gelu(-1) = 1 whatever the form, so the deviations are +-0.5 and the variance 0.25.
  const HostTensors outputs = reference_of(
      "linear_gelu_norm", {{"m", "1"}, {"k", "1"}, {"n", "2"}},
      {{"x", {2}}, {"w", {1, -1}}, {"bias", {-1, 1}}, {"gamma", {3, 5}}, {"beta", {10, 20}}});
  EXPECT_NEAR(outputs.at("out")[0], 10 + 1.5 / std::sqrt(0.25 + 1e-5), 1e-12);
  EXPECT_NEAR(outputs.at("out")[1], 20 - 2.5 / std::sqrt(0.25 + 1e-5), 1e-12);
}

// The split form keeps y in f16 and the statistics in f32, as the recipe does.
TEST(LinearGeluNorm, VariantsAreBitEqualAndWithinTheirBound) {
  check_variants("linear_gelu_norm", {"fused", "split"}, {});
  check_variants("linear_gelu_norm", {"fused", "split"}, {{"m", "17"}, {"k", "300"}, {"n", "150"}});
  check_variants("linear_gelu_norm", {"fused", "split"}, {{"m", "3"}, {"k", "7"}, {"n", "33"}});
}

// ---- mlp ----------------------------------------------------------------------------------------

TEST(Mlp, FusedIsThreeComposites) {
  // gemm 46; silu 20 more; mul 28 and the rw handle 8 more, as it reads the tensor it writes.
  const Compiled compiled = compile("mlp", {});
  EXPECT_THAT(outline(compiled),
              ElementsAre("load", "wait", "{", "composite", "composite", "composite", "}"));
  EXPECT_THAT(bytes_of_each(loop_of(compiled)), ElementsAre(66, 82, 46));
}

TEST(Mlp, SplitHasSiluAndProductBetweenTheGemms) {
  const Compiled compiled = compile("mlp", {{"variant", "split"}});
  EXPECT_THAT(outline(compiled), ElementsAre("load", "wait", "{", "composite", "composite", "silu",
                                             "mul", "composite", "}"));
  EXPECT_THAT(bytes_of_each(loop_of(compiled)), ElementsAre(46, 46, 21, 29, 46));
}

TEST(Mlp, TensorsAndTiles) {
  const Compiled compiled = compile("mlp", {{"m", "9"}, {"k", "130"}, {"f", "300"}});
  ASSERT_EQ(compiled.instance.tensors.size(), 5U);
  EXPECT_EQ(compiled.instance.tensors[2].shape, (command::Shape{130, 300}));
  EXPECT_EQ(compiled.instance.tensors[3].shape, (command::Shape{300, 130}));
  EXPECT_EQ(compiled.instance.tiles, 3U * (2 * 2 * 3));
}

TEST(Mlp, ReferenceOfAHandComputedCase) {
  // silu(2) = 2 / (1 + exp(-2)); times 3, times 0.5.
  const HostTensors outputs = reference_of("mlp", {{"m", "1"}, {"k", "1"}, {"f", "1"}},
                                           {{"x", {1}}, {"wg", {2}}, {"wu", {3}}, {"wd", {0.5}}});
  EXPECT_NEAR(outputs.at("out")[0], 3 / (1 + std::exp(-2.0)), 1e-14);
}

// The split form keeps what lies between the gemms in f32, where the fused one has it in the
// accumulator: both round silu and the product, and nothing else.
TEST(Mlp, VariantsAreBitEqualAndWithinTheirBound) {
  check_variants("mlp", {"fused", "split"}, {});
  check_variants("mlp", {"fused", "split"}, {{"m", "17"}, {"k", "150"}, {"f", "300"}});
  check_variants("mlp", {"fused", "split"}, {{"m", "3"}, {"k", "7"}, {"f", "33"}});
}

// ---- state_merge --------------------------------------------------------------------------------

TEST(StateMerge, FusedIsOneCommandOf290BytesAMerge) {
  // Contract 13: max_elem, exp_diff, exp_diff, mul 28 each, fma 36, mul_bcast 32 twice, add 28,
  // copy 20, 6, rw (m, l, O) 24.
  const Compiled compiled = compile("state_merge", {{"parts", "3"}});
  EXPECT_THAT(outline(compiled),
              ElementsAre("load", "load", "load", "wait", "{", "load", "load", "load", "load",
                          "load", "load", "composite", "composite", "}", "div_bcast", "store",
                          "observe merged_m", "observe merged_l"));
  EXPECT_EQ(bytes_of(loop_of(compiled)), 6U * 21 + 2 * 290);
  EXPECT_EQ(compiled.instance.tiles, 2U);
}

TEST(StateMerge, SplitIsNineCommandsAMerge) {
  const Compiled compiled = compile("state_merge", {{"parts", "2"}, {"variant", "split"}});
  EXPECT_THAT(bytes_of_each(loop_of(compiled)),
              ElementsAre(21, 21, 21, 29, 29, 29, 29, 37, 33, 33, 29, 21));
  EXPECT_EQ(error_of("state_merge", {{"parts", "1"}}),
            "state_merge: parts=1 is out of range; give an integer from 2 to 65536");
}

TEST(StateMerge, ReferenceOfAHandComputedCase) {
  // Weights 1/2 and 1: l = 1.5, O = 5.
  const HostTensors outputs =
      reference_of("state_merge", {{"parts", "2"}, {"rows", "1"}, {"d", "1"}},
                   {{"m", {0, std::log(2.0)}}, {"l", {1, 1}}, {"O", {2, 4}}});
  EXPECT_NEAR(outputs.at("out")[0], 5 / 1.5, 1e-14);
  EXPECT_NEAR(outputs.at("merged_l")[0], 1.5, 1e-14);
  EXPECT_EQ(outputs.at("merged_m")[0], std::log(2.0));
}

// x / 0 = 0, as div_bcast has it: no error is allowed there, and the row beside it is unaffected.
TEST(StateMerge, AReferenceWithoutWeightIsZero) {
  const Compiled compiled = compile("state_merge", {{"parts", "2"}, {"rows", "2"}, {"d", "1"}});
  const HostTensors inputs{{"m", {0, 0, 0, -kInf}}, {"l", {0, 2, 0, 0}}, {"O", {5, 8, 3, 0}}};
  const Reference reference = compiled.instance.reference(inputs);
  EXPECT_THAT(reference.outputs.at("out"), ElementsAre(0, 4));
  EXPECT_THAT(reference.outputs.at("merged_l"), ElementsAre(0, 2));
  EXPECT_TRUE(std::isfinite(reference.max_rms_rel) && reference.max_rms_rel < 1e-3);
  EXPECT_EQ(run_in_program_order(compiled, inputs).at("out"), reference.outputs.at("out"));
}

TEST(StateMerge, VariantsAreBitEqualAndWithinTheirBound) {
  for (const char* parts : {"2", "3", "4", "17"}) {
    const HostTensors results = check_variants("state_merge", {"fused", "split"},
                                               {{"parts", parts}, {"rows", "5"}, {"d", "40"}});
    EXPECT_EQ(results.at("merged_m").size(), 5U);
  }
}

/// The states of `shares` of one softmax-weighted sum with scores s (rows, n) and values v (n, d);
/// a share without keys is empty.
HostTensors partial_states(const std::vector<double>& s, const std::vector<double>& v,
                           std::size_t rows, std::size_t d,
                           const std::vector<std::pair<std::size_t, std::size_t>>& shares) {
  const std::size_t n = s.size() / rows;
  HostTensors states{{"m", {}}, {"l", {}}, {"O", {}}};
  for (const auto& [begin, end] : shares) {
    for (std::size_t row = 0; row < rows; ++row) {
      double m = -kInf, l = 0;
      for (std::size_t i = begin; i < end; ++i) m = std::max(m, s[row * n + i]);
      std::vector<double> O(d, 0);
      for (std::size_t i = begin; i < end; ++i) {
        const double weight = std::exp(s[row * n + i] - m);
        l += weight;
        for (std::size_t c = 0; c < d; ++c) O[c] += weight * v[i * d + c];
      }
      states["m"].push_back(m);
      states["l"].push_back(l);
      states["O"].insert(states["O"].end(), O.begin(), O.end());
    }
  }
  return states;
}

// Field case 36: lengths of 1, 5 and 64 keys in 4 shares of 64, of which three are empty, wherever
// they stand; and shares of a length that is really split. All equal the unsplit softmax.
TEST(StateMerge, SharesOfASplitEqualTheWholeAndEmptyOnesMergeToNothing) {
  constexpr std::size_t kRows = 3, kDim = 4;
  const std::vector<std::pair<std::size_t, std::size_t>> empty_last{
      {0, 64}, {64, 64}, {64, 64}, {64, 64}},
      empty_first{{0, 0}, {0, 0}, {0, 64}, {64, 64}}, split{{0, 1}, {1, 1}, {1, 60}, {60, 64}};
  for (const std::size_t n : {std::size_t{1}, std::size_t{5}, std::size_t{64}}) {
    for (const auto& shares : {empty_last, empty_first, split}) {
      const Compiled compiled = compile("state_merge", {{"rows", "3"}, {"d", "4"}});
      std::vector<double> s(kRows * n), v(n * kDim);
      for (std::size_t i = 0; i < s.size(); ++i) s[i] = 3 * std::sin(static_cast<double>(7 * i));
      for (std::size_t i = 0; i < v.size(); ++i) v[i] = std::cos(static_cast<double>(i));
      auto clipped = shares;
      for (auto& [begin, end] : clipped) {
        begin = std::min(begin, n);
        end = std::min(end, n);
      }
      HostTensors inputs = partial_states(s, v, kRows, kDim, clipped);
      for (auto& [name, values] : inputs) values = rounded(DType::f32, std::move(values));
      const HostTensors whole = partial_states(s, v, kRows, kDim, {{0, n}});
      const HostTensors results = run_in_program_order(compiled, inputs);
      for (std::size_t row = 0; row < kRows; ++row) {
        EXPECT_NEAR(results.at("merged_m")[row], whole.at("m")[row], 1e-6);
        EXPECT_NEAR(results.at("merged_l")[row], whole.at("l")[row], 1e-5 * whole.at("l")[row]);
        for (std::size_t c = 0; c < kDim; ++c) {
          EXPECT_NEAR(results.at("out")[row * kDim + c],
                      whole.at("O")[row * kDim + c] / whole.at("l")[row], 1e-3);
        }
      }
    }
  }
}

// Field case 36: nothing anywhere gives 0, no NaN; a row beside it is unaffected.
TEST(StateMerge, ARowWithoutEntriesIsZero) {
  for (const char* variant : {"fused", "split"}) {
    const Compiled compiled =
        compile("state_merge", {{"parts", "3"}, {"rows", "2"}, {"d", "2"}, {"variant", variant}});
    const HostTensors inputs{{"m", {-kInf, -kInf, -kInf, 1, -kInf, -kInf}},
                             {"l", {0, 0, 0, 2, 0, 0}},
                             {"O", {0, 0, 0, 0, 0, 0, 8, -4, 0, 0, 0, 0}}};
    const HostTensors results = run_in_program_order(compiled, inputs);
    EXPECT_THAT(results.at("out"), ElementsAre(0, 0, 4, -2));
    EXPECT_THAT(results.at("merged_m"), ElementsAre(-kInf, 1));
    EXPECT_THAT(results.at("merged_l"), ElementsAre(0, 2));
    EXPECT_EQ(compiled.instance.reference(inputs).outputs, results);
  }
}

}  // namespace
}  // namespace kernbench::kernels
