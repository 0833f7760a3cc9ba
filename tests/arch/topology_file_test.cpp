// SPDX-License-Identifier: Apache-2.0
// Topology files that are right: values, defaults, overrides, `show`, the shipped files (contract
// 9).
#include "model/arch/topology_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "model/arch/topology_keys.hpp"

namespace kernbench::arch {
namespace {

const std::string kSourceDir = KERNBENCH_SOURCE_DIR;

// No value is a default, and no two of one type in a section are alike: a key that reaches another
// field shows.
constexpr const char* kAllKeys = R"(name: all_keys
sips: 1
cubes_per_sip: 1
pes_per_cube: 1
pe:
  clock_ghz: 1.2
  pe_cost_model: {fixed_cycles: 32, cycles_per_byte: 0.25, max_composite_logical_bytes: 512}
  cpu: {cmd_queue_depth: 9}
  scheduler: {rw_policy: drain_all, rw_match: handle_id, tile_buffers: 2, max_inflight_composites: 5, math_head_from_hbm: true}
  dma: {read_channels: 2, write_channels: 3, setup_cycles: 7, burst_bytes: 256, max_outstanding_bytes: 1000}
  tcm: {bytes: 2097152, bytes_per_cycle: 64, scratch_bytes: 65536}
  gemm: {model: systolic_os, block_m: 4, block_k: 5, block_n: 6, rows: 32, cols: 33, fill_cycles: 11, tile_m: 12, tile_k: 13, tile_n: 14}
  math: {lanes: 128, fixed_cycles: 3, op_rate: {rsum: 2, gelu: 0.125}}
hbm: {gbps: 819.2, latency_ns: 0.5, efficiency: 0.9, bytes: 1048576}
)";

std::string file_text(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// The fields that differ, as the key table prints them.
std::vector<std::string> differences(const TopologyConfig& x, const TopologyConfig& y) {
  std::vector<std::string> paths;
  for (const TopologyKey& key : topology_keys()) {
    if (key.print(x) != key.print(y)) paths.push_back(key.path);
  }
  return paths;
}

TEST(TopologyFile, EachKeyReachesItsField) {
  const TopologyConfig config = load_topology(kAllKeys, "t.yaml");
  EXPECT_EQ(config.name, "all_keys");
  const PeConfig& pe = config.pe;
  EXPECT_EQ(pe.pe_cost_model.fixed_cycles, 32u);
  EXPECT_EQ(pe.pe_cost_model.cycles_per_byte, Rational(1, 4));
  EXPECT_EQ(pe.pe_cost_model.max_composite_logical_bytes, 512u);
  EXPECT_EQ(pe.cpu.cmd_queue_depth, 9u);
  EXPECT_EQ(pe.scheduler.rw_policy, RwPolicy::drain_all);
  EXPECT_EQ(pe.scheduler.rw_match, RwMatch::handle_id);
  EXPECT_TRUE(pe.scheduler.math_head_from_hbm);
  EXPECT_EQ(pe.scheduler.tile_buffers, 2u);
  EXPECT_EQ(pe.scheduler.max_inflight_composites, 5u);
  EXPECT_EQ(pe.dma.read_channels, 2u);
  EXPECT_EQ(pe.dma.write_channels, 3u);
  EXPECT_EQ(pe.dma.setup_cycles, 7u);
  EXPECT_EQ(pe.dma.burst_bytes, 256u);
  EXPECT_EQ(pe.dma.max_outstanding_bytes, 1000u);
  EXPECT_EQ(pe.tcm.bytes, 2097152u);
  EXPECT_EQ(pe.tcm.bytes_per_cycle, 64u);
  EXPECT_EQ(pe.tcm.scratch_bytes, 65536u);
  EXPECT_EQ(pe.gemm.model, GemmModel::systolic_os);
  EXPECT_EQ(pe.gemm.block_m, 4u);
  EXPECT_EQ(pe.gemm.block_k, 5u);
  EXPECT_EQ(pe.gemm.block_n, 6u);
  EXPECT_EQ(pe.gemm.rows, 32u);
  EXPECT_EQ(pe.gemm.cols, 33u);
  EXPECT_EQ(pe.gemm.fill_cycles, 11u);
  EXPECT_EQ(pe.gemm.tile_m, 12);
  EXPECT_EQ(pe.gemm.tile_k, 13);
  EXPECT_EQ(pe.gemm.tile_n, 14);
  EXPECT_EQ(pe.math.lanes, 128u);
  EXPECT_EQ(pe.math.fixed_cycles, 3u);
  for (int i = 0; i < command::kOpKinds; ++i) {
    const auto kind = static_cast<command::OpKind>(i);
    const Rational expected = kind == command::OpKind::rsum   ? Rational(2)
                              : kind == command::OpKind::gelu ? Rational(1, 8)
                                                              : Rational(1);
    EXPECT_EQ(pe.math.op_rate[static_cast<std::size_t>(i)], expected) << command::to_string(kind);
  }
  EXPECT_EQ(config.hbm.bytes, 1048576u);
  EXPECT_EQ(pe.hbm_bytes, 1048576u) << "the DMA's range is the memory's (R3.4)";
}

// R6.1: a decimal is the fraction that its text says, not the double next to it.
TEST(TopologyFile, DecimalsAreExact) {
  const TopologyConfig config = load_topology(kAllKeys, "t.yaml");
  EXPECT_EQ(config.pe.clock_ghz, Rational(6, 5));     // 1.2
  EXPECT_EQ(config.hbm.gbps, Rational(4096, 5));      // 819.2
  EXPECT_EQ(config.hbm.latency_ns, Rational(1, 2));   // 0.5
  EXPECT_EQ(config.hbm.efficiency, Rational(9, 10));  // 0.9
  const TopologyConfig other = load_topology(
      "name: a", "t.yaml",
      {"pe.pe_cost_model.cycles_per_byte=0.0625", "hbm.latency_ns=0.000001", "hbm.gbps=1e3"});
  EXPECT_EQ(other.pe.pe_cost_model.cycles_per_byte, Rational(1, 16));
  EXPECT_EQ(other.hbm.latency_ns, Rational(1, 1'000'000));
  EXPECT_EQ(other.hbm.gbps, Rational(1000));
}

// The example of contract 9, whose values are the defaults.
constexpr const char* kContractDefaults = R"(name: a
sips: 1
cubes_per_sip: 1
pes_per_cube: 1
pe:
  clock_ghz: 1
  pe_cost_model:
    fixed_cycles: 40
    cycles_per_byte: 0.0625
    max_composite_logical_bytes: 1024
  cpu:
    cmd_queue_depth: 16
  scheduler:
    rw_policy: overlap
    rw_match: range
    tile_buffers: 3
    max_inflight_composites: 4
    math_head_from_hbm: false
  dma:
    read_channels: 1
    write_channels: 1
    setup_cycles: 16
    burst_bytes: 4096
    max_outstanding_bytes: 32768
  tcm:
    bytes: 1048576
    bytes_per_cycle: 512
    scratch_bytes: 131072
  gemm:
    model: block
    block_m: 8
    block_k: 16
    block_n: 16
    rows: 16
    cols: 16
    fill_cycles: 0
    tile_m: 8
    tile_k: 128
    tile_n: 128
  math:
    lanes: 64
    fixed_cycles: 0
    op_rate: {}
hbm:
  gbps: 128
  latency_ns: 100
  efficiency: 1
  bytes: 4831838208
)";

TEST(TopologyFile, OnlyNameIsRequired) {
  EXPECT_EQ(to_yaml(load_topology("name: a", "t.yaml")), kContractDefaults);
  EXPECT_EQ(to_yaml(load_topology("name: a\npe: {}\nhbm: {}\n", "t.yaml")), kContractDefaults);
}

TEST(TopologyFile, ShowLoadsBackToTheSameConfiguration) {
  const TopologyConfig config = load_topology(kAllKeys, "t.yaml");
  const std::string shown = to_yaml(config);
  EXPECT_THAT(shown, testing::HasSubstr("    op_rate: {rsum: 2, gelu: 0.125}\n"));
  const TopologyConfig again = load_topology(shown, "shown.yaml");
  EXPECT_THAT(differences(config, again), testing::IsEmpty());
  EXPECT_EQ(to_yaml(again), shown);
}

// The legal name `null` is YAML's null unless quoted.
TEST(TopologyFile, ShowQuotesANameThatIsANull) {
  const TopologyConfig config = load_topology("name: 'null'", "t.yaml");
  EXPECT_EQ(load_topology(to_yaml(config), "shown.yaml").name, "null");
}

TEST(TopologyFile, SetOverridesTheFile) {
  const TopologyConfig file = load_topology(kAllKeys, "t.yaml");
  const TopologyConfig config =
      load_topology(kAllKeys, "t.yaml",
                    {"pe.math.lanes=32", "pe.scheduler.rw_policy=overlap",
                     "pe.math.op_rate.rsum=0.5", "name=renamed", "hbm.bytes=8192"});
  EXPECT_THAT(differences(file, config),
              testing::ElementsAre("name", "pe.scheduler.rw_policy", "pe.math.lanes",
                                   "pe.math.op_rate.rsum", "hbm.bytes"));
  EXPECT_EQ(config.pe.math.lanes, 32u);
  EXPECT_EQ(config.pe.scheduler.rw_policy, RwPolicy::overlap);
  EXPECT_EQ(config.pe.math.op_rate[static_cast<std::size_t>(command::OpKind::rsum)],
            Rational(1, 2));
  EXPECT_EQ(config.name, "renamed");
  EXPECT_EQ(config.pe.hbm_bytes, 8192u);
}

TEST(TopologyFile, SetMayGiveTheName) {
  EXPECT_EQ(load_topology("pe: {}", "t.yaml", {"name=given"}).name, "given");
}

// Files from Windows editors: byte-order mark and CR LF change nothing.
TEST(TopologyFile, ByteOrderMarkAndCrLfAreAccepted) {
  std::string text = "\xef\xbb\xbf";
  for (const char c : std::string(kAllKeys)) text += c == '\n' ? "\r\n" : std::string(1, c);
  EXPECT_THAT(differences(load_topology(kAllKeys, "t.yaml"), load_topology(text, "t.yaml")),
              testing::IsEmpty());
}

TEST(TopologyFile, BoundsAreInclusive) {
  for (const char* setting :
       {"pe.dma.read_channels=1", "pe.dma.read_channels=16", "pe.clock_ghz=0.001",
        "pe.clock_ghz=100", "hbm.efficiency=1", "hbm.latency_ns=0", "pe.dma.setup_cycles=0",
        "hbm.bytes=1099511627776", "pe.dma.max_outstanding_bytes=4096", "pe.tcm.bytes=548864"}) {
    EXPECT_NO_THROW(load_topology("name: a", "t.yaml", {setting})) << setting;
  }
}

TEST(TopologyFile, ShippedSinglePeIsTheDefaults) {
  const TopologyConfig config = read_topology_file(kSourceDir + "/topologies/single_pe.yaml");
  EXPECT_EQ(config.name, "single_pe");
  EXPECT_THAT(differences(config, load_topology("name: single_pe", "t.yaml")), testing::IsEmpty());
}

// Contract 9: single_pe_ns is the calibration with fixed 32 and 0.25 cycles a byte.
TEST(TopologyFile, ShippedSinglePeNsDiffersInTheDispatchCostOnly) {
  const TopologyConfig config = read_topology_file(kSourceDir + "/topologies/single_pe_ns.yaml");
  EXPECT_THAT(differences(config, load_topology("name: a", "t.yaml")),
              testing::ElementsAre("name", "pe.pe_cost_model.fixed_cycles",
                                   "pe.pe_cost_model.cycles_per_byte"));
  EXPECT_EQ(config.name, "single_pe_ns");
  EXPECT_EQ(config.pe.pe_cost_model.fixed_cycles, 32u);
  EXPECT_EQ(config.pe.pe_cost_model.cycles_per_byte, Rational(1, 4));
}

TEST(TopologyFile, ReadingAFileTakesOverrides) {
  const TopologyConfig config =
      read_topology_file(kSourceDir + "/topologies/single_pe.yaml", {"pe.math.lanes=128"});
  EXPECT_EQ(config.pe.math.lanes, 128u);
}

// Range and meaning of each key are complete, and the committed page says what the code does.
TEST(TopologyReference, EachKeyIsDescribed) {
  for (const TopologyKey& key : topology_keys()) {
    EXPECT_FALSE(key.range.empty()) << key.path;
    EXPECT_FALSE(key.allowed.empty()) << key.path;
    ASSERT_FALSE(key.meaning.empty()) << key.path;
    EXPECT_EQ(key.meaning.back(), '.') << key.path;
    EXPECT_EQ(find_topology_key(key.path), &key) << "two keys have the path " << key.path;
  }
}

TEST(TopologyReference, CommittedPageIsCurrent) {
  const std::string path = kSourceDir + "/docs/topology.md";
  if (std::getenv("KERNBENCH_WRITE_DOCS") != nullptr) {
    std::ofstream(path, std::ios::binary) << reference_markdown();
  }
  EXPECT_EQ(file_text(path), reference_markdown())
      << "docs/topology.md is not current: run this test with KERNBENCH_WRITE_DOCS=1 to write it";
}

}  // namespace
}  // namespace kernbench::arch
