// SPDX-License-Identifier: Apache-2.0
// R3.4, R3.7: a program may come from elsewhere than `tl`, so the model itself reports an operand
// on the wrong side: command, operand and address in one line.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/in_child.hpp"
#include "tests/support/kernel_bench.hpp"
#include "tests/support/monitored.hpp"

namespace kernbench {
namespace {

using command::DType;
using command::make_handle;
using command::OperandName;
using command::OpKind;
using command::OpSpec;
using command::Shape;
using command::Space;
using testing::HasSubstr;

// The first line of the report, or "no report". The handler ends the run in place of throwing.
std::string report_of(const command::Command& command) {
  static std::string text;
  return test::in_child([&] {
    text = "no report";
    sc_core::sc_report_handler::set_actions(sc_core::SC_ERROR, sc_core::SC_DISPLAY);
    sc_core::sc_report_handler::set_handler(
        [](const sc_core::sc_report& report, const sc_core::sc_actions&) {
          if (report.get_severity() == sc_core::SC_ERROR && text == "no report") {
            text = std::string(report.get_msg_type()) + ": " + report.get_msg();
            sc_core::sc_stop();
          }
        });
    const auto topology = test::single_pe();
    EmbeddedHbm hbm("hbm", topology.hbm, 1, false);
    Pe pe("pe0", topology.pe_config(), 0);
    const auto monitor = test::bind_monitored(pe.memory, hbm.port(0));
    pe.set_kernel([&](command::CommandSink& sink) { sink.issue(command); });
    sc_core::sc_start();
    return text;
  });
}

OpSpec copy_op(Space from, command::Address src, command::Address out) {
  OpSpec op;
  op.kind = OpKind::copy;
  op.operands.push_back({OperandName::src, make_handle(1, src, Shape{8}, DType::f16, from)});
  op.has_out = true;
  op.out = make_handle(2, out, Shape{8}, DType::f16, Space::tcm);
  return op;
}

constexpr command::Address kTcm = command::kTcmBase;

TEST(OperandCheck, SoundCommandsPass) {
  EXPECT_EQ(report_of(command::MathCmd{copy_op(Space::tcm, kTcm, kTcm + 64)}), "no report");
}

TEST(OperandCheck, MathOperandInHbm) {
  EXPECT_THAT(report_of(command::MathCmd{copy_op(Space::hbm, 4096, kTcm)}),
              HasSubstr("/kernbench/pe_scheduler/operand: pe0.scheduler: command 0 (copy): operand "
                        "src at [0x1000, 0x1010) lies outside TCM"));
}

TEST(OperandCheck, OutBeyondTheEndOfTcm) {
  EXPECT_THAT(report_of(command::MathCmd{copy_op(Space::tcm, kTcm, kTcm + 1048576 - 8)}),
              HasSubstr("operand out at [0x100000ffff8, 0x10000100008) lies outside TCM"));
}

TEST(OperandCheck, DmaAddressesOfTheWrongSide) {
  const auto tcm = make_handle(1, kTcm, Shape{8}, DType::f16, Space::tcm);
  const auto hbm = make_handle(2, 4831838208 - 8, Shape{8}, DType::f16, Space::hbm);
  EXPECT_THAT(report_of(command::DmaReadCmd{hbm, tcm}),
              HasSubstr("command 0 (dma_read): operand src at [0x11ffffff8, 0x120000008) lies "
                        "outside HBM"));
  EXPECT_THAT(report_of(command::DmaWriteCmd{tcm, tcm}),
              HasSubstr("command 0 (dma_write): operand out at [0x10000000000, 0x10000000010) lies "
                        "outside HBM"));
  EXPECT_THAT(report_of(command::DmaReadCmd{make_handle(3, 0, Shape{8}, DType::f16, Space::hbm),
                                            make_handle(4, 64, Shape{8}, DType::f16, Space::hbm)}),
              HasSubstr("operand out at [0x40, 0x50) lies outside TCM"));
}

// 128 x 128 f32 are 65,536 bytes, a tile buffer has (8 * 128 + 128 * 128) * 2 = 34,816.
TEST(OperandCheck, StreamedTilesThatDoNotFitATileBuffer) {
  OpSpec gemm;
  gemm.kind = OpKind::gemm;
  gemm.operands.push_back(
      {OperandName::a, make_handle(1, kTcm, Shape{8, 128}, DType::f32, Space::tcm)});
  gemm.operands.push_back(
      {OperandName::b, make_handle(2, 0, Shape{128, 128}, DType::f32, Space::hbm)});
  gemm.extras = {command::Extra::u32(command::ExtraName::m, 8),
                 command::Extra::u32(command::ExtraName::k, 128),
                 command::Extra::u32(command::ExtraName::n, 128)};
  gemm.has_out = true;
  gemm.out = make_handle(3, kTcm + 65536, Shape{8, 128}, DType::f32, Space::tcm);
  EXPECT_THAT(report_of(command::CompositeCmd{{0}, {gemm}, {}, true}),
              HasSubstr("operand b needs tiles of 65536 bytes and a tile buffer has 34816"));
}

TEST(OperandCheck, PinnedGemmOperandAtAnHbmAddress) {
  OpSpec gemm;
  gemm.kind = OpKind::gemm;
  gemm.operands.push_back(
      {OperandName::a, make_handle(1, 4096, Shape{8, 16}, DType::f16, Space::tcm)});
  gemm.operands.push_back(
      {OperandName::b, make_handle(2, kTcm, Shape{16, 16}, DType::f16, Space::tcm)});
  gemm.extras = {command::Extra::u32(command::ExtraName::m, 8),
                 command::Extra::u32(command::ExtraName::k, 16),
                 command::Extra::u32(command::ExtraName::n, 16)};
  gemm.has_out = true;
  gemm.out = make_handle(3, kTcm + 4096, Shape{8, 16}, DType::f16, Space::tcm);
  EXPECT_THAT(report_of(command::GemmCmd{gemm}),
              HasSubstr("command 0 (dot): operand a at [0x1000, 0x1100) lies outside TCM"));
}

// A tensor written in parts is complete when the last part is, whichever command that is.
TEST(Observe, WaitsForEveryWriter) {
  const auto topology = test::single_pe();
  test::BenchOptions options;
  options.data = true;
  const auto result = test::run_kernel(
      topology,
      [&](command::CommandSink& sink) {
        tl::Context tl(runtime::make_target(topology), sink);
        const auto b = tl.ref(0, {128, 64}, tl::f16, "b");
        const auto a = tl.full({8, 128}, 1, tl::f16);
        const auto x = tl.full({8, 64}, 3, tl::f16);
        const auto O = tl.empty({16, 64}, tl::f16);
        tl.composite(tl::gemm(a, b).out(O.rows(0, 8)));  // slow: streams b
        tl.relu(x, O.rows(8, 8));                        // issued last, done first
        tl.observe("O", O);
      },
      [&] {
        options.load = [](arch::Storage& hbm) {
          const arch::Slice b{OperandName::b, DType::f16, 0, 128, 64, 64, 1};
          arch::write_slice(hbm, b, arch::Values(128 * 64, 0.5F));
        };
        return options;
      }());
  const auto& values = result.observed.at("O");
  ASSERT_EQ(values.size(), 16U * 64);
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(values[i], i < 8 * 64 ? 64.0F : 3.0F) << i;  // 128 * 0.5
  }
}

}  // namespace
}  // namespace kernbench
