// SPDX-License-Identifier: Apache-2.0
// Configurations that are filled in by hand: how numbers get into them, and that what a topology
// file may not say is refused there too, by the name of its key.
#include "model/arch/config_check.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include "model/arch/topology_keys.hpp"
#include "tests/support/refusal.hpp"

namespace kernbench::arch {
namespace {

using test::refusal;
using testing::HasSubstr;
using testing::StartsWith;

// ---- numbers ------------------------------------------------------------------------------------

// 1.5 GHz must not become 1 GHz, nor 0.0625 become 0: they do not compile.
template <class From>
constexpr bool kTaken =
    std::is_convertible_v<From, Rational> || std::is_constructible_v<Rational, From> ||
    std::is_assignable_v<Rational&, From> || std::is_constructible_v<Rational, From, int> ||
    std::is_constructible_v<Rational, int, From>;
static_assert(!kTaken<double> && !kTaken<float> && !kTaken<long double>);
static_assert(std::is_convertible_v<int, Rational> && std::is_convertible_v<long long, Rational> &&
              std::is_convertible_v<std::uint64_t, Rational> &&
              std::is_convertible_v<std::uint8_t, Rational>);

TEST(RationalByHand, IsAWholeNumberAFractionOrAText) {
  PeConfig pe;
  pe.clock_ghz = 2;
  EXPECT_EQ(pe.clock_ghz, Rational::parse("2"));
  pe.clock_ghz = {6, 8U};
  EXPECT_EQ(pe.clock_ghz, Rational::parse("0.75"));
  EXPECT_EQ(pe.clock_ghz.num(), 3U);
  const Rational largest = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(largest.num(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(Rational(std::int8_t{127}).num(), 127U);
}

TEST(RationalByHand, IsNotNegativeAndHasADenominator) {
  PeConfig pe;
  const auto least = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(refusal([&] { pe.watchdog_ns = -1; }), "-1 is negative; give a number of at least 0");
  EXPECT_THAT(refusal([&] { pe.watchdog_ns = least; }), StartsWith("-9223372036854775808 is neg"));
  EXPECT_THAT(refusal([&] { pe.watchdog_ns = {-1, 2}; }), StartsWith("-1 is negative"));
  EXPECT_THAT(refusal([&] { pe.watchdog_ns = {1, -2}; }), StartsWith("-2 is negative"));
  EXPECT_EQ(refusal([&] {
              pe.watchdog_ns = {1, 0};
            }),
            "1/0 is not a number; give a denominator of at least 1");
  EXPECT_EQ(pe.watchdog_ns, Rational(0));
}

// ---- ranges -------------------------------------------------------------------------------------

using Setter = std::function<void(TopologyConfig&, const Rational&)>;

void put(Rational& field, const Rational& value) { field = value; }
template <class Integer>
void put(Integer& field, const Rational& value) {
  field = static_cast<Integer>(value.num());
}

// A key has the path of its field, so that a field is named once.
#define FIELD(path)                                                              \
  {                                                                              \
#path, [](TopologyConfig & c, const Rational& value) { put(c.path, value); } \
  }

std::map<std::string, Setter> setters() {
  std::map<std::string, Setter> all{
      FIELD(sips),
      FIELD(cubes_per_sip),
      FIELD(pes_per_cube),
      FIELD(pe.clock_ghz),
      FIELD(pe.watchdog_ns),
      FIELD(pe.pe_cost_model.fixed_cycles),
      FIELD(pe.pe_cost_model.cycles_per_byte),
      FIELD(pe.pe_cost_model.max_composite_logical_bytes),
      FIELD(pe.cpu.cmd_queue_depth),
      FIELD(pe.cpu.launch_ns),
      FIELD(pe.scheduler.tile_buffers),
      FIELD(pe.scheduler.max_inflight_composites),
      FIELD(pe.dma.read_channels),
      FIELD(pe.dma.write_channels),
      FIELD(pe.dma.setup_cycles),
      FIELD(pe.dma.burst_bytes),
      FIELD(pe.dma.max_outstanding_bytes),
      FIELD(pe.dma.bus_bytes),
      FIELD(pe.tcm.bytes),
      FIELD(pe.tcm.bytes_per_cycle),
      FIELD(pe.tcm.scratch_bytes),
      FIELD(pe.gemm.block_m),
      FIELD(pe.gemm.block_k),
      FIELD(pe.gemm.block_n),
      FIELD(pe.gemm.rows),
      FIELD(pe.gemm.cols),
      FIELD(pe.gemm.fill_cycles),
      FIELD(pe.gemm.tile_m),
      FIELD(pe.gemm.tile_k),
      FIELD(pe.gemm.tile_n),
      FIELD(pe.math.lanes),
      FIELD(pe.math.fixed_cycles),
      FIELD(pe.ipcq.channels),
      FIELD(pe.ipcq.depth),
      FIELD(pe.ipcq.slot_bytes),
      FIELD(pe.ipcq.send_cycles),
      FIELD(pe.ipcq.recv_cycles),
      FIELD(hbm.gbps),
      FIELD(hbm.latency_ns),
      FIELD(hbm.efficiency),
      FIELD(hbm.bytes),
      FIELD(hbm.channels),
      FIELD(hbm.interleave_bytes),
      FIELD(noc.cols),
      FIELD(noc.rows),
      FIELD(noc.bytes_per_cycle),
      FIELD(noc.hop_cycles),
      FIELD(noc.niu_cycles),
      FIELD(d2d.gbps),
      FIELD(d2d.latency_ns),
      FIELD(sip_link.gbps),
      FIELD(sip_link.latency_ns),
  };
  for (int i = 0; i < command::kOpKinds; ++i) {
    all[fmt::format("{}.{}", kOpRateSection, to_string(static_cast<command::OpKind>(i)))] =
        [i](TopologyConfig& c, const Rational& value) {
          c.pe.math.op_rate[static_cast<std::size_t>(i)] = value;
        };
  }
  return all;
}
#undef FIELD

/// What is said of one field of a default configuration, by each check that it is looked at by.
struct Said {
  std::string of_topology, of_part;
};
Said said_of(const Setter& set, const std::string& path, const Rational& value) {
  TopologyConfig config;
  set(config, value);
  Said said;
  said.of_topology = refusal([&] { check_config("top", config); });
  if (path.rfind("pe.", 0) == 0) {
    said.of_part = refusal([&] { check_config("part", config.pe); });
  } else if (path.rfind("hbm.", 0) == 0) {
    said.of_part = refusal([&] { check_config("part", config.hbm); });
  } else {
    said.of_part = said.of_topology;
  }
  return said;
}

// Every number that a topology may set: at the ends of its range it is no fault of that key, though
// it may not fit another; half of the least, and beyond the most, it is.
TEST(ConfigByHand, EveryNumberHasTheRangeOfItsKey) {
  const std::map<std::string, Setter> all = setters();
  int checked = 0;
  for (const TopologyKey& key : topology_keys()) {
    if (!key.number) continue;
    SCOPED_TRACE(key.path);
    const auto found = all.find(key.path);
    ASSERT_NE(found, all.end());
    const Setter& set = found->second;
    const std::size_t comma = key.range.find(", ");
    const Rational least = Rational::parse(key.range.substr(1, comma - 1));
    const Rational most =
        Rational::parse(key.range.substr(comma + 2, key.range.find(']') - comma - 2));
    const auto fault = [&](const char* who) { return fmt::format("{}: {}: ", who, key.path); };
    for (const Rational& value : {least, most}) {
      const Said said = said_of(set, key.path, value);
      EXPECT_THAT(said.of_topology, testing::Not(StartsWith(fault("top"))));
      EXPECT_THAT(said.of_part, testing::Not(StartsWith(fault("part"))));
    }
    const bool share = key.path == "hbm.gbps";  // of a slice it may lie below
    const bool decimal = key.type == "decimal number";
    const auto expect_refused = [&](const Rational& value, const std::string& why) {
      const Said said = said_of(set, key.path, value);
      EXPECT_THAT(said.of_topology, StartsWith(fault("top")));
      EXPECT_THAT(said.of_topology, HasSubstr(why + "; allowed: " + key.allowed));
      if (share && value != 0 && value < most) {
        EXPECT_EQ(said.of_part, "");
      } else {
        EXPECT_THAT(said.of_part, HasSubstr(key.path + ": '"));
      }
    };
    expect_refused(most + (decimal ? Rational(1, 1'000'000) : Rational(1)), "is out of range");
    if (least != 0) {
      expect_refused(0, "is out of range");
      if (decimal) expect_refused(least / 2, "is out of range");
    }
    if (decimal) {
      expect_refused(least + Rational(1, 10'000'000), "has more than 6 decimals");
      expect_refused(least + Rational(1, 3000), "is not a decimal number of at most 18 digits");
    } else if (key.range.find("power of two") != std::string::npos) {
      expect_refused(most / 2 + 1, "is not a power of two");
    }
    ++checked;
  }
  EXPECT_GT(checked, 70);
}

// Each key in its range, and yet two of them exclude each other, as in a topology file
// (TopologyError).
TEST(ConfigByHand, KeysThatDoNotFitEachOtherAreRefused) {
  struct Case {
    std::function<void(TopologyConfig&)> set;
    const char* what;
  };
  const std::vector<Case> cases{
      {[](auto& c) {
         c.sips = c.cubes_per_sip = 64;
         c.pes_per_cube = 2;
       },
       "sips 64 x cubes_per_sip 64 x pes_per_cube 2 are 8192 PEs, more than the 4096 that are "
       "allowed; lower one of them"},
      {[](auto& c) { c.pes_per_cube = 9; },
       "noc.cols 4 x noc.rows 2 are 8 routers, fewer than pes_per_cube 9, and each PE of a cube "
       "has one; raise one of the first two or lower the last"},
      {[](auto& c) { c.pe.dma.burst_bytes = 65536; },
       "pe.dma.burst_bytes 65536 is larger than pe.dma.max_outstanding_bytes 32768, so that no "
       "burst could be sent; lower the first or raise the second"},
      {[](auto& c) {
         c.hbm.bytes = 7;
         c.pes_per_cube = 8;
       },
       "hbm.bytes 7 are not a byte for each PE of pes_per_cube 8; raise the first or lower the "
       "second"},
      {[](auto& c) {
         c.hbm.map = HbmMap::interleaved;
         c.hbm.interleave_bytes = 2048;
       },
       "hbm.interleave_bytes 2048 is less than pe.dma.burst_bytes 4096, so that a burst would "
       "touch several channels of hbm.map interleaved; raise the first or lower the second"},
      {[](auto& c) {
         c.hbm.map = HbmMap::interleaved;
         c.hbm.bytes = 8 * 4096 + 4096;
       },
       "hbm.bytes 36864 is not a multiple of hbm.channels 8 x hbm.interleave_bytes 4096 = 32768, "
       "so "
       "that channels of hbm.map interleaved would differ in size; change one of them"},
  };
  for (const Case& c : cases) {
    TopologyConfig config;
    c.set(config);
    EXPECT_EQ(refusal([&] { check_config("top", config); }), std::string("top: ") + c.what);
  }
}

// What a PE of it is made from follows from the other keys, whatever stands in `pe`.
TEST(ConfigByHand, APeSeesItsMemoryAndTheNumberOfPes) {
  TopologyConfig config;
  config.sips = 2;
  config.pes_per_cube = 3;
  config.hbm.bytes = 3000;
  config.pe.dma.setup_cycles = 5;
  EXPECT_EQ(config.pe_config().hbm_bytes, 1000U);
  EXPECT_EQ(config.pe_config().pes, 6U);
  EXPECT_EQ(config.pe_config().dma.setup_cycles, 5U);
  config.hbm.map = HbmMap::interleaved;
  EXPECT_EQ(config.pe_config().hbm_bytes, 3000U);
}

TEST(ConfigByHand, AChoiceThatIsNoneIsRefused) {
  PeConfig pe;
  pe.gemm.model = static_cast<GemmModel>(3);
  EXPECT_EQ(refusal([&] { check_config("pe0", pe); }),
            "pe0: pe.gemm.model: '3' is not a choice; allowed: one of block, systolic_ws, "
            "systolic_os");
}

// Its own field, in the range of a key of the memory (R3.4).
TEST(ConfigByHand, TheMemoryOfAPeHasTheSizesOfOne) {
  PeConfig pe;
  for (const std::uint64_t bytes : {std::uint64_t{0}, (std::uint64_t{1} << 40) + 1}) {
    pe.hbm_bytes = bytes;
    EXPECT_EQ(refusal([&] { check_config("pe0", pe); }),
              fmt::format("pe0: hbm_bytes: '{}' is out of range; allowed: a whole number in [1, "
                          "1099511627776] (bytes)",
                          bytes));
  }
}

}  // namespace
}  // namespace kernbench::arch
