// SPDX-License-Identifier: Apache-2.0
// What the kernels of the catalogue lower to has a binary form, as long as what dispatch pays for,
// and comes back the same.
#include <gtest/gtest.h>

#include "model/arch/limits.hpp"
#include "tests/support/catalogue_programs.hpp"
#include "tlm_if/command/check.hpp"
#include "tlm_if/command/decoder.hpp"

namespace kernbench::test {
namespace {

using command::Decoder;
using command::Program;

/// Bytes of each command's record, and of the rest.
std::vector<std::uint64_t> command_sizes(const std::vector<std::uint8_t>& stream) {
  std::vector<std::uint64_t> sizes;
  for (std::size_t i = 0; i < stream.size(); i += Decoder::record_size(&stream[i])) {
    const auto kind = static_cast<command::RecordKind>(stream[i + 2]);
    if (kind == command::RecordKind::composite || kind == command::RecordKind::simple) {
      sizes.push_back(Decoder::record_size(&stream[i]));
    }
  }
  return sizes;
}

TEST(CatalogueEncoding, RecordsAreAsLongAsLogicalBytesAndComeBackTheSame) {
  const arch::TopologyConfig topology = catalogue_topology();
  const arch::PeConfig pe = topology.pe_config();
  const command::Limits limits = arch::limits_of(pe);
  std::size_t programs = 0, commands = 0;
  for (const NamedProgram& named : catalogue_programs()) {
    SCOPED_TRACE(named.name);
    for (const std::uint32_t entries : {64U, command::kDefaultHandleTableEntries}) {
      const auto stream = command::encode(named.program, entries);
      std::vector<std::uint64_t> expected;
      for (const command::Command& command : named.program.commands()) {
        const std::uint64_t bytes = logical_bytes(command);
        if (bytes > 0) expected.push_back(bytes);  // cpu_overhead has none (R3.9)
      }
      ASSERT_EQ(command_sizes(stream), expected);
      const Program decoded = command::decode(stream, "stream", entries);
      ASSERT_TRUE(decoded == named.program);
      ASSERT_EQ(command::encode(decoded, entries), stream);
      commands += expected.size();
    }
    // Whatever `tl` emits, a PE of the same configuration takes.
    for (const command::ProgramStep& step : named.program.steps) {
      ASSERT_NO_THROW(command::check_step(step, limits));
    }
    ++programs;
  }
  EXPECT_GT(programs, 40u);
  EXPECT_GT(commands, 2000u);
}

}  // namespace
}  // namespace kernbench::test
