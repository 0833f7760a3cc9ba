// SPDX-License-Identifier: Apache-2.0
// Contract 8 and R13.4 on the model: numbers through the stages, of which a kernel's variants
// overlap different ones. Two oracles: float64 within tolerance, and the commands run one after the
// other bit for bit.

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/data_run.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/program_order.hpp"
#include "tests/support/test_inputs.hpp"

namespace kernbench::test {
namespace {

// Runs one variant in data mode in a child and checks it against the oracles.
void check(const std::string& variant, const std::string& s_kv, const std::string& kind,
           Settings settings = {}) {
  settings.push_back({"variant", variant});
  settings.push_back({"s_kv", s_kv});
  in_child([&] {
    const auto compiled = compile("gqa_decode", settings);
    const kernels::HostTensors inputs = test_inputs(compiled.instance, kind);
    const DataRun run = run_with_data(single_pe(), "gqa_decode", settings, inputs);
    EXPECT_EQ(run.results, run_in_program_order(compiled, inputs));
    for (const char* name : {"m", "l", "O"}) {
      for (const double value : run.results.at(name)) EXPECT_TRUE(std::isfinite(value)) << name;
    }
    const auto reference = compiled.instance.reference(inputs);
    const auto error = error_against(reference.outputs.at("out"), run.results.at("out"));
    EXPECT_LE(error.rms, reference.max_rms_rel);
    EXPECT_LE(error.max, reference.max_abs_rel);
    return std::string();
  });
}

void check_lengths(const std::string& variant, const std::string& kind) {
  for (const char* s_kv : {"1", "63", "64", "65", "1000", "4096"}) {
    SCOPED_TRACE(variant + " " + kind + " s_kv " + s_kv);
    check(variant, s_kv, kind);
  }
}

TEST(DecodeData, Opt1Normal) { check_lengths("opt1", "normal"); }
TEST(DecodeData, Opt1Peaked) { check_lengths("opt1", "peaked"); }
TEST(DecodeData, Opt1Rising) { check_lengths("opt1", "rising"); }
TEST(DecodeData, Opt1Sink) { check_lengths("opt1", "sink"); }
TEST(DecodeData, Opt1Uniform) { check_lengths("opt1", "uniform"); }
TEST(DecodeData, Opt2Normal) { check_lengths("opt2", "normal"); }
TEST(DecodeData, Opt2Peaked) { check_lengths("opt2", "peaked"); }
TEST(DecodeData, Opt2Rising) { check_lengths("opt2", "rising"); }
TEST(DecodeData, Opt2Sink) { check_lengths("opt2", "sink"); }
TEST(DecodeData, Opt2Uniform) { check_lengths("opt2", "uniform"); }
TEST(DecodeData, Opt3Normal) { check_lengths("opt3", "normal"); }
TEST(DecodeData, Opt3Peaked) { check_lengths("opt3", "peaked"); }
TEST(DecodeData, Opt3Rising) { check_lengths("opt3", "rising"); }
TEST(DecodeData, Opt3Sink) { check_lengths("opt3", "sink"); }
TEST(DecodeData, Opt3Uniform) { check_lengths("opt3", "uniform"); }

TEST(DecodeData, SeveralHeadsAndQueryTokens) {
  for (const char* variant : {"opt1", "opt2", "opt3"}) {
    check(variant, "200", "normal", {{"kv_heads", "3"}, {"g", "2"}, {"t_q", "5"}});
  }
}
// More rows than tile_m, a head size that is no multiple of tile_k: several tiles each way.
TEST(DecodeData, SeveralTilesAGemm) {
  for (const char* variant : {"opt1", "opt2", "opt3"}) {
    check(variant, "300", "normal", {{"g", "19"}, {"d", "192"}, {"tile", "144"}});
  }
}
TEST(DecodeData, Bf16) {
  for (const char* variant : {"opt1", "opt2", "opt3"})
    check(variant, "500", "normal", {{"dtype", "bf16"}});
}

}  // namespace
}  // namespace kernbench::test
