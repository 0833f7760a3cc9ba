// SPDX-License-Identifier: Apache-2.0
// A cache of 262,144 tokens and more, timing only: what the run needs must not grow with its
// length.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <string>

#include "model/record/op_log.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/kernel_bench.hpp"
#include "tests/support/monitored.hpp"
#include "tlm_if/command/error.hpp"

namespace kernbench {
namespace {

using testing::AllOf;
using testing::HasSubstr;

test::Settings decode(const std::string& variant, int tile, int s_kv) {
  return {{"variant", variant}, {"tile", std::to_string(tile)}, {"s_kv", std::to_string(s_kv)}};
}

std::uint64_t scratch_peak(const test::Settings& settings) {
  return test::launch(test::single_pe(), "gqa_decode", settings).scratch_peak_bytes();
}

TEST(LongContext, ScratchDoesNotDependOnTheLength) {
  for (const int tile : {16, 32, 64, 128, 256}) {
    for (const char* variant : {"opt1", "opt2", "opt3"}) {
      EXPECT_EQ(scratch_peak(decode(variant, tile, 262144)),
                scratch_peak(decode(variant, tile, 4 * tile)))
          << variant << " tile " << tile;
    }
  }
  EXPECT_EQ(scratch_peak(decode("opt2", 64, 262144)), 10368U);
  EXPECT_EQ(scratch_peak(decode("opt3", 64, 262144)), 12672U);
}

// Two slots of S of 8 x 4096 f16 are 131,072 bytes: all of the scratch, of which q, m, l and O have
// taken some.
TEST(LongContext, ATileThatDoesNotFitIsRefusedWithTheList) {
  try {
    scratch_peak(decode("opt2", 4096, 262144));
    FAIL() << "not refused";
  } catch (const InputError& e) {
    EXPECT_THAT(e.what(), AllOf(HasSubstr("tile=4096"), HasSubstr("TCM scratch is exhausted"),
                                HasSubstr("131072 bytes"), HasSubstr("pe.tcm.scratch_bytes")));
    EXPECT_THAT(e.detail(),
                AllOf(HasSubstr("S1 at"), HasSubstr("needs 65536 bytes"), HasSubstr("of 131072"),
                      HasSubstr("q 2048"), HasSubstr("O 4096"), HasSubstr("smaller tensors")));
  }
}

// Largest resident size in KiB. The loop takes `loop_ps`, if that is given.
std::string footprint(const test::Settings& settings, std::uint64_t loop_ps = 0) {
  return test::in_child([&] {
    const auto topology = test::single_pe();
    record::Recorder recorder;
    record::OpLog op_log("/dev/null");
    recorder.add_sink(op_log);
    EmbeddedHbm hbm("hbm", topology.hbm, 1, false);
    Pe pe("pe0", topology.pe_config(), 0);
    const auto monitor = test::bind_monitored(pe.memory, hbm.port(0));
    pe.set_recorder(&recorder);
    const auto launched = test::launch(topology, "gqa_decode", settings);
    pe.set_kernel([&](command::CommandSink& sink) { launched.issue(sink); });
    sc_core::sc_start();
    EXPECT_TRUE(pe.idle());
    EXPECT_LT(recorder.pending(), 200U);
    const Region& loop = pe.cpu.regions().at(0);
    if (loop_ps != 0) {
      EXPECT_EQ(loop.end_ps - loop.start_ps, loop_ps);
    }
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return std::to_string(usage.ru_maxrss);
  });
}

void expect_constant_memory(const std::string& variant) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the address sanitizer keeps freed memory";
#endif
  const auto short_kib = std::stoll(footprint(decode(variant, 64, 16384)));
  const auto long_kib = std::stoll(footprint(decode(variant, 64, 262144)));
  // 3840 more tiles: a single 100-byte record for each of their rows would be 8 MiB.
  EXPECT_LT(long_kib - short_kib, 1024) << short_kib << " and " << long_kib << " KiB";
}

// 1,048,576 tokens: K and V have 512 MiB, of which the run keeps nothing. Its length in the loop is
// that of 16,384 tiles (contract 13).
TEST(LongContext, AMillionTokens) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the address sanitizer keeps freed memory";
#endif
  EXPECT_LT(std::stoll(footprint(decode("opt2", 64, 1048576),
                                 365'375 + 478'000 * std::uint64_t{16383} + 378'000)),
            128 * 1024)
      << "KiB";
}

TEST(LongContext, MemoryDoesNotGrowWithTheRunOpt2) { expect_constant_memory("opt2"); }
TEST(LongContext, MemoryDoesNotGrowWithTheRunOpt3) { expect_constant_memory("opt3"); }

}  // namespace
}  // namespace kernbench
