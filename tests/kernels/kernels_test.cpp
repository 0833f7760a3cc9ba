// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "kernels/catalogue.hpp"
#include "model/arch/numerics.hpp"
#include "tests/support/program_order.hpp"
#include "tests/support/program_outline.hpp"
#include "tests/support/test_inputs.hpp"
#include "tlm_if/command/error.hpp"

namespace kernbench::kernels {
namespace {

using namespace test;
using command::Command;
using testing::ElementsAre;
using testing::HasSubstr;

// ---- parameters -------------------------------------------------------------------------------

TEST(Parameters, DefaultsAndSettings) {
  for (const Kernel& kernel : catalogue()) {
    // Every default is a value that may be given.
    Settings defaults;
    Settings given;
    for (const Parameter& p : kernel.parameters) {
      defaults.emplace_back(p.name, p.default_value);
      if (!p.default_value.empty()) given.push_back(defaults.back());
    }
    EXPECT_EQ(Parameters(kernel.name, kernel.parameters, given).values(), defaults);
    EXPECT_EQ(Parameters(kernel.name, kernel.parameters, {}).values(), defaults);
  }
  const std::vector<Parameter> declared = catalogue()[0].parameters;
  const Parameters parameters("gqa_decode", declared, {{"s_kv", "65"}, {"variant", "opt3"}});
  EXPECT_EQ(parameters.integer("s_kv"), 65);
  EXPECT_EQ(parameters.choice("variant"), "opt3");
  EXPECT_EQ(parameters.values()[3], (std::pair<std::string, std::string>("s_kv", "65")));
}

TEST(Parameters, RefuseWhatIsNotDeclared) {
  EXPECT_EQ(error_of("gqa_decode", {{"s_kv", "0"}}),
            "gqa_decode: s_kv=0 is out of range; give an integer from 1 to 1099511627776");
  EXPECT_EQ(error_of("gqa_decode", {{"g", "-8"}}),
            "gqa_decode: g=-8 is out of range; give an integer from 1 to 65536");
  EXPECT_THAT(error_of("gqa_decode", {{"lengths", "0,064"}}),
              HasSubstr("'064' is written with a leading zero; give integers from 0"));
  for (const char* text : {"8.0", "x", "8 ", "0x8"}) {
    EXPECT_THAT(error_of("gqa_decode", {{"g", text}}),
                HasSubstr("is not an integer; give an integer"));
  }
  EXPECT_EQ(error_of("gqa_decode", {{"variant", "opt4"}}),
            "gqa_decode: variant=opt4 is not one of opt1, opt2, opt3");
  EXPECT_EQ(
      error_of("gqa_decode", {{"tiles", "64"}}),
      "gqa_decode: no parameter 'tiles'; parameters are variant, g, d, s_kv, tile, t_q, "
      "kv_heads, dtype, stats, heads, lengths, kv, block_table, blocks, c, p, merge; did you mean "
      "'tile'?");
  EXPECT_EQ(error_of("gemm", {{"m", "1"}, {"m", "1"}}), "gemm: m is given twice; give it once");
}

// ---- gqa_decode: what is issued ---------------------------------------------------------------

Settings decode(const std::string& variant, const std::string& s_kv, Settings more = {}) {
  more.emplace_back("variant", variant);
  more.emplace_back("s_kv", s_kv);
  return more;
}

TEST(GqaDecode, Opt2IssuesTheFlagshipsCommands) {
  // R13.1, R13.2: #1(0); then #2(j), #1(j+1).
  EXPECT_THAT(outline(compile("gqa_decode", decode("opt2", "128"))),
              ElementsAre("load", "fill", "fill", "fill", "wait", "{", "composite", "composite",
                          "composite", "composite", "}", "div_bcast", "store", "observe m",
                          "observe l", "observe O"));
  const std::vector<Command> loop = loop_of(compile("gqa_decode", decode("opt2", "128")));
  EXPECT_EQ(logical_bytes(loop[0]), 54U);
  EXPECT_EQ(logical_bytes(loop[1]), 322U);
  EXPECT_EQ(logical_bytes(loop[2]), 54U);
  EXPECT_EQ(logical_bytes(loop[3]), 322U);
}

TEST(GqaDecode, Opt1IssuesThreeCompositesATile) {
  const Compiled compiled = compile("gqa_decode", decode("opt1", "128"));
  std::vector<std::uint64_t> bytes;
  for (const Command& command : loop_of(compiled)) bytes.push_back(logical_bytes(command));
  EXPECT_THAT(bytes, ElementsAre(54, 254, 82, 54, 254, 82));
}

TEST(GqaDecode, Opt3IssuesTenCommandsATile) {
  const Compiled compiled = compile("gqa_decode", decode("opt3", "128"));
  EXPECT_THAT(
      outline(compiled),
      ElementsAre("load", "fill", "fill", "fill", "wait", "{", "composite",
                  // tile 0: the scores of tile 1 first
                  "composite", "rmax", "max_elem", "exp_diff", "exp_diff", "rsum", "fma",
                  "mul_bcast", "copy", "composite",
                  // tile 1, the last: no further scores
                  "rmax", "max_elem", "exp_diff", "exp_diff", "rsum", "fma", "mul_bcast", "copy",
                  "composite", "}", "div_bcast", "store", "observe m", "observe l", "observe O"));
  std::vector<std::uint64_t> bytes;
  for (const Command& command : loop_of(compiled)) bytes.push_back(logical_bytes(command));
  // Contract 3: the eight simple commands are 25 + 29 + 29 + 33 + 25 + 37 + 33 + 21 = 232.
  EXPECT_THAT(bytes, ElementsAre(54, 54, 25, 29, 29, 33, 25, 37, 33, 21, 82, 25, 29, 29, 33, 25, 37,
                                 33, 21, 82));
}

struct Variant {
  const char* name;
  std::uint64_t commands_per_tile, bytes_per_tile, peak;
  double cycles_per_tile;
};

TEST(GqaDecode, DispatchAndScratchOfTheVariants) {
  // Peaks: q 2048, m and l 64 each, O 4096, S ring 2048 = 8320; then, whichever is higher, the
  // recipe's block or the result of div_bcast (2048). opt1 adds P 1024; opt3 a P ring 2048 and four
  // statistics of 64.
  const Variant variants[] = {{"opt1", 3, 54 + 254 + 82, 11392, 144.375},
                              {"opt2", 2, 54 + 322, 10368, 103.5},
                              {"opt3", 10, 54 + 232 + 82, 12672, 423.0}};
  for (const Variant& variant : variants) {
    for (const std::uint64_t tiles : {1U, 16U, 64U}) {
      const Compiled compiled =
          compile("gqa_decode", decode(variant.name, std::to_string(tiles * 64)));
      const std::vector<Command> loop = loop_of(compiled);
      EXPECT_EQ(compiled.instance.tiles, tiles);
      EXPECT_EQ(loop.size(), variant.commands_per_tile * tiles) << variant.name;
      EXPECT_EQ(bytes_of(loop), variant.bytes_per_tile * tiles) << variant.name;
      EXPECT_EQ(compiled.scratch_peak_bytes, variant.peak) << variant.name << " " << tiles;
      // R3.8 at its defaults; every command is below 1024 bytes, so one segment each.
      const double cycles =
          40 * static_cast<double>(loop.size()) + 0.0625 * static_cast<double>(bytes_of(loop));
      EXPECT_EQ(cycles / static_cast<double>(tiles), variant.cycles_per_tile) << variant.name;
    }
  }
}

TEST(GqaDecode, ScoresAndPAreRingsOfTwoSlots) {
  // R13.2: neighbouring tiles use different slots, every second tile the same one.
  for (const char* variant : {"opt1", "opt2", "opt3"}) {
    std::vector<command::Address> scores;
    for (const Command& command : loop_of(compile("gqa_decode", decode(variant, "256")))) {
      const command::Ops ops = command::ops_of(command);
      if (logical_bytes(command) == 54) scores.push_back(ops[0].out.addr);
    }
    ASSERT_EQ(scores.size(), 4U);
    EXPECT_NE(scores[0], scores[1]) << variant;
    EXPECT_EQ(scores[0], scores[2]) << variant;
    EXPECT_EQ(scores[1], scores[3]) << variant;
  }
  std::vector<command::Address> weights;
  for (const Command& command : loop_of(compile("gqa_decode", decode("opt3", "192")))) {
    if (label(command) == "rsum")
      weights.push_back(command::ops_of(command)[0].operands[0].handle.addr);
  }
  ASSERT_EQ(weights.size(), 3U);
  EXPECT_NE(weights[0], weights[1]);
  EXPECT_EQ(weights[0], weights[2]);
}

TEST(GqaDecode, TheLastTileHasItsTrueSize) {
  // 65 = 64 + 1 (R8.4): K(1).t() is (128, 1), V(1) is (1, 128), the scores are (8, 1).
  for (const char* variant : {"opt1", "opt2", "opt3"}) {
    std::vector<command::Shape> b_shapes;
    for (const Command& command : loop_of(compile("gqa_decode", decode(variant, "65")))) {
      for (const command::OpSpec& op : command::ops_of(command)) {
        if (op.kind == command::OpKind::gemm) b_shapes.push_back(op.operands[1].handle.shape);
      }
    }
    EXPECT_THAT(b_shapes,
                testing::UnorderedElementsAre(command::Shape{128, 64}, command::Shape{128, 1},
                                              command::Shape{64, 128}, command::Shape{1, 128}))
        << variant;
  }
}

TEST(GqaDecode, HeadsRunOneAfterTheOtherInTheSameScratch) {
  const Settings heads{{"kv_heads", "3"}, {"g", "2"}, {"t_q", "4"}};
  const Compiled one = compile("gqa_decode", decode("opt2", "100"));
  const Compiled three = compile("gqa_decode", decode("opt2", "100", heads));
  const Strings head = outline(one);  // also M = 8 rows
  Strings expected = head;
  expected.insert(expected.end(), head.begin(), head.end());
  expected.insert(expected.end(), head.begin(), head.end());
  EXPECT_EQ(outline(three), expected);
  EXPECT_EQ(three.scratch_peak_bytes, one.scratch_peak_bytes);
  EXPECT_EQ(three.instance.tiles, 6U);

  // Files: q and out [kv_heads * g, t_q, d], k and v [kv_heads, s_kv, d] (R8.4).
  const std::vector<TensorSpec>& tensors = three.instance.tensors;
  ASSERT_EQ(tensors.size(), 4U);
  EXPECT_EQ(tensors[0].file_shape, (std::vector<Index>{6, 4, 128}));
  EXPECT_EQ(tensors[0].shape, (command::Shape{24, 128}));
  EXPECT_EQ(tensors[2].file_shape, (std::vector<Index>{3, 100, 128}));
  EXPECT_EQ(tensors[2].shape, (command::Shape{300, 128}));
  EXPECT_EQ(tensors[3].direction, Direction::out);
  std::vector<command::Address> stored;
  for (const Command& command : three.program.commands()) {
    if (const auto* store = std::get_if<command::DmaWriteCmd>(&command)) {
      stored.push_back(store->dst.addr - three.bound[3].addr);
    }
  }
  EXPECT_THAT(stored, ElementsAre(0, 2048, 4096));
}

TEST(GqaDecode, ATileThatDoesNotFitScratchIsRefused) {
  // A ring of two (8, 8192) f16 tensors takes 262144 bytes of 131072.
  const std::string message = error_of("gqa_decode", decode("opt2", "65536", {{"tile", "8192"}}));
  EXPECT_THAT(message, HasSubstr("131072"));
}

// ---- gqa_decode: references and numbers -------------------------------------------------------

TEST(GqaDecode, ReferenceOfAHandComputedCase) {
  // Scores 0 and ln 3: weights 1/3 and 1 relative to the larger one.
  const Compiled compiled = compile("gqa_decode", decode("opt2", "2", {{"g", "1"}, {"d", "1"}}));
  const Reference reference =
      compiled.instance.reference({{"q", {1}}, {"k", {0, std::log(3.0)}}, {"v", {0, 4}}});
  EXPECT_NEAR(reference.outputs.at("m")[0], std::log(3.0), 1e-15);
  EXPECT_NEAR(reference.outputs.at("l")[0], 4.0 / 3, 1e-15);
  EXPECT_NEAR(reference.outputs.at("O")[0], 4, 1e-15);
  EXPECT_NEAR(reference.outputs.at("out")[0], 3, 1e-15);
  EXPECT_EQ(reference.checked, "out");
  EXPECT_EQ(reference.max_rms_rel, 2e-3);
  EXPECT_EQ(reference.max_abs_rel, 1e-2);
}

TEST(GqaDecode, ToleranceGrowsWithScoresAndDType) {
  // R13.4: |s|max = 16 is twice 8.
  const HostTensors inputs{{"q", {2}}, {"k", {-8, 1}}, {"v", {1, 2}}};
  const auto tolerance = [&](Settings settings) {
    return compile("gqa_decode", decode("opt2", "2", std::move(settings)))
        .instance.reference(inputs)
        .max_rms_rel;
  };
  EXPECT_DOUBLE_EQ(tolerance({{"g", "1"}, {"d", "1"}}), 4e-3);
  EXPECT_DOUBLE_EQ(tolerance({{"g", "1"}, {"d", "1"}, {"dtype", "bf16"}}), 32e-3);
}

void expect_variants_agree(const std::string& s_kv, const std::string& kind,
                           const Settings& settings) {
  HostTensors first;
  for (const char* variant : {"opt1", "opt2", "opt3"}) {
    const Compiled compiled = compile("gqa_decode", decode(variant, s_kv, settings));
    const HostTensors inputs = test_inputs(compiled.instance, kind);
    const HostTensors results = run_in_program_order(compiled, inputs);
    if (first.empty()) {
      first = results;
      const Reference reference = compiled.instance.reference(inputs);
      const Error error = error_against(reference.outputs.at("out"), results.at("out"));
      EXPECT_LE(error.rms, reference.max_rms_rel) << kind << " " << s_kv;
      EXPECT_LE(error.max, reference.max_abs_rel) << kind << " " << s_kv;
      for (const char* name : {"m", "l", "O"}) {
        EXPECT_EQ(results.at(name).size(), reference.outputs.at(name).size());
      }
    }
    EXPECT_EQ(results, first) << variant << " " << kind << " " << s_kv;  // bit-equal (R13.4)
  }
}

TEST(GqaDecode, VariantsAreBitEqualAndWithinTolerance) {
  for (const char* s_kv : {"1", "63", "64", "65", "1000"}) {
    for (const char* kind : {"normal", "peaked", "rising", "sink", "uniform"}) {
      expect_variants_agree(s_kv, kind, {});
    }
  }
}

TEST(GqaDecode, OtherShapesDTypesAndStatistics) {
  expect_variants_agree("200", "normal", {{"kv_heads", "3"}, {"g", "2"}, {"t_q", "5"}});
  expect_variants_agree("130", "normal", {{"g", "6"}, {"d", "80"}, {"tile", "48"}});
  expect_variants_agree("500", "normal", {{"dtype", "bf16"}});
  expect_variants_agree("1000", "normal", {{"stats", "f16"}});
}

TEST(GqaDecode, OneTokenGivesItsValueExactly) {
  const Compiled compiled = compile("gqa_decode", decode("opt2", "1"));
  const HostTensors inputs = test_inputs(compiled.instance, "normal");
  const std::vector<double> out = run_in_program_order(compiled, inputs).at("out");
  for (std::size_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], inputs.at("v")[i % 128]);
}

TEST(GqaDecode, ScoresThatOverflowBeforeScalingAreHarmless) {
  // q = 30, k = +-30, d = 128: products of +-115200 exceed f16, +-10182 do not; the first key wins
  // by far, so the result is its value.
  const Compiled compiled = compile("gqa_decode", decode("opt2", "2"));
  HostTensors inputs = test_inputs(compiled.instance, "normal");
  inputs["q"].assign(inputs["q"].size(), 30);
  for (std::size_t i = 0; i < 256; ++i) inputs["k"][i] = i < 128 ? 30 : -30;
  const std::vector<double> out = run_in_program_order(compiled, inputs).at("out");
  for (std::size_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], inputs.at("v")[i % 128]);
}

TEST(GqaDecode, QueryHeadsUseTheirKvHead) {
  // V of KV head h is h + 1 throughout, so query head i gives i / g + 1 whatever the scores.
  const Compiled compiled =
      compile("gqa_decode", decode("opt3", "70", {{"kv_heads", "2"}, {"g", "3"}, {"t_q", "2"}}));
  HostTensors inputs = test_inputs(compiled.instance, "normal");
  std::vector<double>& v = inputs["v"];
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = i < v.size() / 2 ? 1 : 2;
  const std::vector<double> out = run_in_program_order(compiled, inputs).at("out");
  const std::vector<double> reference = compiled.instance.reference(inputs).outputs.at("out");
  ASSERT_EQ(out.size(), 6U * 2 * 128);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double expected = i < out.size() / 2 ? 1 : 2;
    EXPECT_NEAR(out[i], expected, 2e-3);
    EXPECT_NEAR(reference[i], expected, 1e-12);
  }
}

// ---- gemm -------------------------------------------------------------------------------------

TEST(Gemm, CommandsFollowThePlaces) {
  EXPECT_THAT(outline(compile("gemm", {})),
              ElementsAre("load", "wait", "{", "composite", "}", "observe out"));
  EXPECT_THAT(outline(compile("gemm", {{"b", "tcm"}, {"epilogue", "bias"}})),
              ElementsAre("load", "load", "load", "wait", "{", "composite", "}", "observe out"));
  EXPECT_THAT(outline(compile("gemm", {{"a", "hbm"}, {"out", "hbm"}})),
              ElementsAre("{", "composite", "}"));
  EXPECT_EQ(compile("gemm", {}).instance.tensors.size(), 2U);
  const Compiled all = compile("gemm", {{"epilogue", "bias+gelu"}, {"out", "hbm"}});
  ASSERT_EQ(all.instance.tensors.size(), 4U);
  EXPECT_EQ(all.instance.tensors[2].name, "bias");
  EXPECT_EQ(all.instance.tensors[3].name, "out");
}

TEST(Gemm, BytesFollowTheEpilogues) {
  // Contract 3: bare 46; scale 8, bias 28, gelu 20 more.
  const auto bytes = [](const Settings& settings) {
    return bytes_of(loop_of(compile("gemm", settings)));
  };
  EXPECT_EQ(bytes({}), 46U);
  EXPECT_EQ(bytes({{"epilogue", "scale"}}), 54U);
  EXPECT_EQ(bytes({{"k_epilogue", "scale"}}), 54U);
  EXPECT_EQ(bytes({{"epilogue", "bias"}}), 74U);
  EXPECT_EQ(bytes({{"epilogue", "bias+gelu"}}), 94U);
}

TEST(Gemm, ReferenceOfHandComputedCases) {
  // a = (1, 2, 3), b = (1, 1, 1), K tiles of two: ((1 + 2) / 2 + 3) / 2 = 2.25 when scaled by tile.
  tl::Target target;
  target.tile_k = 2;
  const auto out = [&](Settings settings) {
    settings.insert(settings.end(), {{"m", "1"}, {"k", "3"}, {"n", "1"}});
    return compile("gemm", settings, target)
        .instance.reference({{"a", {1, 2, 3}}, {"b", {1, 1, 1}}, {"bias", {-5}}})
        .outputs.at("out")[0];
  };
  EXPECT_EQ(out({}), 6);
  EXPECT_EQ(out({{"epilogue", "scale"}}), 3);
  EXPECT_EQ(out({{"k_epilogue", "scale"}}), 2.25);
  EXPECT_EQ(out({{"k_epilogue", "scale"}, {"epilogue", "scale"}}), 1.125);
  EXPECT_EQ(out({{"epilogue", "bias"}}), 1);
  EXPECT_NEAR(out({{"epilogue", "bias+gelu"}}), 0.841192, 1e-6);  // gelu(1), tanh form
}

TEST(Gemm, ResultsAreWithinToleranceForEveryEpilogue) {
  for (const char* epilogue : {"none", "scale", "bias", "bias+gelu"}) {
    for (const char* k_epilogue : {"none", "scale"}) {
      for (const char* out : {"tcm", "hbm"}) {
        const Compiled compiled = compile("gemm", {{"m", "17"},
                                                   {"k", "300"},
                                                   {"n", "150"},
                                                   {"out", out},
                                                   {"epilogue", epilogue},
                                                   {"k_epilogue", k_epilogue}});
        const HostTensors inputs = test_inputs(compiled.instance, "normal");
        const Reference reference = compiled.instance.reference(inputs);
        const HostTensors results = run_in_program_order(compiled, inputs);
        const Error error = error_against(reference.outputs.at("out"), results.at("out"));
        EXPECT_LE(error.rms, reference.max_rms_rel) << epilogue << " " << k_epilogue;
        EXPECT_LE(error.max, reference.max_abs_rel) << epilogue << " " << k_epilogue;
        // The bound is one: the result is not far inside it, nor is it wide.
        EXPECT_GE(error.rms, reference.max_rms_rel / 30) << epilogue << " " << k_epilogue;
        EXPECT_LT(reference.max_rms_rel, 1e-3) << epilogue << " " << k_epilogue;
      }
    }
  }
}

// One product of 3 and 0.5: one rounding of it, one of the sum, each 2^-24; then one of f16 and its
// smallest step. An epilogue of 0.5 halves the value and, without a rounding, what came before.
TEST(Gemm, ToleranceIsThatOfTheRoundings) {
  const auto tolerance = [](const Settings& more) {
    Settings settings{{"m", "1"}, {"k", "1"}, {"n", "1"}};
    settings.insert(settings.end(), more.begin(), more.end());
    return compile("gemm", settings).instance.reference({{"a", {3}}, {"b", {0.5}}}).max_abs_rel;
  };
  EXPECT_DOUBLE_EQ(tolerance({}), 2 * 0x1p-24 + 0x1p-11 + 0x1p-25 / 1.5);
  EXPECT_DOUBLE_EQ(tolerance({{"epilogue", "scale"}}), 2 * 0x1p-24 + 0x1p-11 + 0x1p-25 / 0.75);
}

// ---- dispatch ---------------------------------------------------------------------------------

TEST(Dispatch, IssuesThatManyFillsOfOneTensor) {
  const Compiled compiled = compile("dispatch", {{"commands", "3"}});
  EXPECT_THAT(outline(compiled), ElementsAre("{", "fill", "fill", "fill", "}"));
  EXPECT_EQ(bytes_of(loop_of(compiled)), 3U * 17);
  EXPECT_EQ(compiled.instance.tiles, 3U);
  EXPECT_EQ(compiled.scratch_peak_bytes, 4U);
  EXPECT_TRUE(compiled.instance.tensors.empty());
  EXPECT_FALSE(compiled.instance.reference);
}

}  // namespace
}  // namespace kernbench::kernels
