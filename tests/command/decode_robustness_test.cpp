// SPDX-License-Identifier: Apache-2.0
// 1,000,000 byte strings through decode and check: noise, and streams of the catalogue's commands
// that were mutated, cut and joined. Nothing crashes (the sanitizers look), each refusal has a
// reason and a place, and what is accepted has one binary form.
//
// KERNBENCH_SEED=N runs one seed in place of those below.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <string>

#include "model/arch/limits.hpp"
#include "tests/fuzz/decode_fuzzer.hpp"
#include "tests/support/byte_mutator.hpp"
#include "tests/support/catalogue_programs.hpp"
#include "tests/support/decode_check.hpp"

namespace kernbench::test {
namespace {

constexpr int kStringsPerTest = 250'000;
constexpr std::uint64_t kTests = 4;
static_assert(kStringsPerTest * kTests >= 1'000'000);
constexpr std::uint32_t kTableEntries = 32;

class Decode : public testing::TestWithParam<std::uint64_t> {};

TEST_P(Decode, RefusesOrTakesAnyBytes) {
  std::uint64_t seed = GetParam();
  if (const char* text = std::getenv("KERNBENCH_SEED")) {
    if (seed != 1) GTEST_SKIP() << "one seed is wanted";
    seed = std::stoull(text);
  }
  const std::vector<Bytes> valid = sample_streams();
  command::Limits limits = arch::limits_of(catalogue_topology().pe);
  limits.pes = 8;
  limits.pe = 0;
  command::Decoder decoder(kTableEntries);
  ByteMutator mutator(seed, valid);
  DecodeTally tally;
  for (int i = 0; i < kStringsPerTest; ++i) {
    const bool encode = i % 8 == 0;
    const std::string problem = decode_all(mutator.next(), decoder, limits, encode, tally);
    ASSERT_EQ(problem, "") << "KERNBENCH_SEED=" << seed << ", string " << i;
  }
  // Neither side may be empty: the strings are to be near the border.
  EXPECT_GT(tally.refused, 60'000u);
  EXPECT_GT(tally.taken, 8000u);
  EXPECT_GT(tally.commands, tally.taken + 2000);
}

INSTANTIATE_TEST_SUITE_P(Seeds, Decode, testing::Range(std::uint64_t{1}, kTests + 1));

// What the strings are made from is what the catalogue makes.
TEST(SampleStreams, HoldEveryKindOfRecord) {
  std::array<int, 256> kinds{};
  std::array<int, 256> opcodes{};
  for (const Bytes& stream : sample_streams()) {
    for (std::size_t i = 0; i < stream.size(); i += command::Decoder::record_size(&stream[i])) {
      ++kinds[stream[i + 2]];
      if (stream[i + 2] == static_cast<std::uint8_t>(command::RecordKind::simple)) {
        ++opcodes[stream[i + 4]];
      }
    }
  }
  for (const std::size_t kind : {0x01U, 0x02U, 0x11U, 0x12U, 0x13U, 0x14U, 0x20U, 0x21U}) {
    EXPECT_GT(kinds[kind], 0) << kind;
  }
  for (const std::size_t opcode : {0x80U, 0x81U, 0x82U, 0x83U})
    EXPECT_GT(opcodes[opcode], 0) << opcode;
}

// What the fuzzer calls, on what it starts from.
TEST(SampleStreams, PassTheFuzzer) {
  for (const Bytes& stream : sample_streams()) {
    EXPECT_EQ(LLVMFuzzerTestOneInput(stream.data(), stream.size()), 0);
  }
  const std::vector<Bytes> programs = sample_programs(kFuzzedTableEntries);
  EXPECT_GT(programs.size(), 20u);
  for (const Bytes& program : programs) {
    EXPECT_EQ(LLVMFuzzerTestOneInput(program.data(), program.size()), 0);
  }
  const Bytes file = sample_file();
  EXPECT_EQ(LLVMFuzzerTestOneInput(file.data(), file.size()), 0);
}

}  // namespace
}  // namespace kernbench::test
