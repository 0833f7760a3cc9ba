// SPDX-License-Identifier: Apache-2.0
// Contract 8 and R13.4 on the model: numbers through the stages, of which a kernel's variants
// overlap different ones. Three oracles: float64 within tolerance, the commands run one after the
// other bit for bit, and the times with data off.

#include <gtest/gtest.h>

#include <cmath>

#include "model/arch/numerics.hpp"
#include "tests/support/decode_inputs.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/kernel_bench.hpp"
#include "tests/support/program_order.hpp"

namespace kernbench {
namespace {

using kernels::HostTensors;
using test::Settings;

// The device's view of a kernel's tensors, placed as R3.4 says.
std::vector<arch::Slice> slices_of(const kernels::Instance& instance) {
  std::vector<arch::Slice> slices;
  command::Address addr = 0;
  for (const kernels::TensorSpec& spec : instance.tensors) {
    slices.push_back({command::OperandName::src, spec.dtype, addr, spec.shape.rows(),
                      spec.shape.cols(), spec.shape.cols(), 1});
    addr = command::align_up(slices.back().range().end, command::kHbmTensorAlignment);
  }
  return slices;
}

// Runs one variant in data mode in a child and checks it against the oracles.
void check(const std::string& variant, const std::string& s_kv, const std::string& kind,
           Settings settings = {}) {
  settings.push_back({"variant", variant});
  settings.push_back({"s_kv", s_kv});
  const arch::TopologyConfig topology = test::single_pe();
  const std::string timing_only =
      test::in_child([&] { return test::run_catalogue(topology, "gqa_decode", settings).op_log; });
  const std::string with_data = test::in_child([&] {
    const auto compiled = kernels::compile("gqa_decode", settings);
    const HostTensors inputs = kernels::decode_inputs(compiled.instance, kind);
    const HostTensors expected = kernels::run_in_program_order(compiled, inputs);
    test::BenchOptions options;
    options.data = true;
    const std::vector<arch::Slice> slices = slices_of(compiled.instance);
    options.load = [&](arch::Storage& hbm) {
      for (std::size_t i = 0; i + 1 < slices.size(); ++i) {
        const auto& values = inputs.at(compiled.instance.tensors[i].name);
        arch::write_slice(hbm, slices[i], arch::Values(values.begin(), values.end()));
      }
    };
    arch::Values out;
    options.inspect = [&](const arch::Storage& hbm) { arch::read_slice(hbm, slices.back(), out); };
    const auto result = test::run_catalogue(topology, "gqa_decode", settings, options);
    for (const char* name : {"m", "l", "O"}) {
      const auto& values = result.observed.at(name);
      EXPECT_EQ(std::vector<double>(values.begin(), values.end()), expected.at(name)) << name;
      for (const float value : values) EXPECT_TRUE(std::isfinite(value));
    }
    const auto reference = compiled.instance.reference(inputs);
    const auto error = kernels::error_against(reference.outputs.at("out"),
                                              std::vector<double>(out.begin(), out.end()));
    EXPECT_LE(error.rms, reference.max_rms_rel);
    EXPECT_LE(error.max, reference.max_abs_rel);
    return result.op_log;
  });
  EXPECT_EQ(with_data, timing_only) << "R8.3: times must not depend on data";
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
}  // namespace kernbench
