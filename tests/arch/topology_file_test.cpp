// SPDX-License-Identifier: Apache-2.0
// Topology files that are right: values, defaults, overrides, `show`, the shipped files (contract
// 9).
#include "model/arch/topology_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "model/arch/topology_keys.hpp"
#include "tests/support/temporary_folder.hpp"

namespace kernbench::arch {
namespace {

const std::string kSourceDir = KERNBENCH_SOURCE_DIR;

// No value is a default, and no two of one type in a section are alike: a key that reaches another
// field shows.
constexpr const char* kAllKeys = R"(name: all_keys
sips: 2
cubes_per_sip: 3
pes_per_cube: 5
pe:
  clock_ghz: 1.2
  watchdog_ns: 2500.5
  pe_cost_model: {fixed_cycles: 32, cycles_per_byte: 0.25, max_composite_logical_bytes: 512}
  cpu: {cmd_queue_depth: 9, launch_ns: 12.5}
  scheduler: {rw_policy: drain_all, rw_match: handle_id, tile_buffers: 2, max_inflight_composites: 5, math_head_from_hbm: true}
  dma: {port: lt, read_channels: 2, write_channels: 3, setup_cycles: 7, burst_bytes: 256, max_outstanding_bytes: 1000, bus_bytes: 64}
  tcm: {bytes: 2097152, bytes_per_cycle: 64, scratch_bytes: 65536}
  gemm: {model: systolic_os, block_m: 4, block_k: 5, block_n: 6, rows: 32, cols: 33, fill_cycles: 11, tile_m: 12, tile_k: 13, tile_n: 14}
  math: {lanes: 128, fixed_cycles: 3, op_rate: {rsum: 2, gelu: 0.125}}
  ipcq: {channels: 2, depth: 8, slot_bytes: 128, send_cycles: 3, recv_cycles: 4}
hbm: {gbps: 819.2, latency_ns: 0.5, efficiency: 0.9, bytes: 1048576, map: interleaved, channels: 4, interleave_bytes: 512}
noc: {cols: 3, rows: 6, bytes_per_cycle: 32, hop_cycles: 2, niu_cycles: 7}
d2d: {gbps: 64.5, latency_ns: 2.5}
sip_link: {gbps: 12.5, latency_ns: 300}
check_protocol: true
)";

using Sets = std::vector<std::string>;

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
  EXPECT_EQ(config.sips, 2u);
  EXPECT_EQ(config.cubes_per_sip, 3u);
  EXPECT_EQ(config.pes_per_cube, 5u);
  const PeConfig& pe = config.pe;
  EXPECT_EQ(pe.watchdog_ns, Rational(5001, 2));
  EXPECT_EQ(pe.pe_cost_model.fixed_cycles, 32u);
  EXPECT_EQ(pe.pe_cost_model.cycles_per_byte, Rational(1, 4));
  EXPECT_EQ(pe.pe_cost_model.max_composite_logical_bytes, 512u);
  EXPECT_EQ(pe.cpu.cmd_queue_depth, 9u);
  EXPECT_EQ(pe.scheduler.rw_policy, RwPolicy::drain_all);
  EXPECT_EQ(pe.scheduler.rw_match, RwMatch::handle_id);
  EXPECT_TRUE(pe.scheduler.math_head_from_hbm);
  EXPECT_EQ(pe.scheduler.tile_buffers, 2u);
  EXPECT_EQ(pe.scheduler.max_inflight_composites, 5u);
  EXPECT_EQ(pe.dma.port, DmaPort::lt);
  EXPECT_EQ(pe.dma.read_channels, 2u);
  EXPECT_EQ(pe.dma.write_channels, 3u);
  EXPECT_EQ(pe.dma.setup_cycles, 7u);
  EXPECT_EQ(pe.dma.burst_bytes, 256u);
  EXPECT_EQ(pe.dma.max_outstanding_bytes, 1000u);
  EXPECT_EQ(pe.dma.bus_bytes, 64u);
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
  EXPECT_EQ(pe.ipcq.channels, 2u);
  EXPECT_EQ(pe.ipcq.depth, 8u);
  EXPECT_EQ(pe.ipcq.slot_bytes, 128u);
  EXPECT_EQ(pe.ipcq.send_cycles, 3u);
  EXPECT_EQ(pe.ipcq.recv_cycles, 4u);
  EXPECT_EQ(config.hbm.bytes, 1048576u);
  EXPECT_EQ(config.hbm.map, HbmMap::interleaved);
  EXPECT_EQ(config.hbm.channels, 4u);
  EXPECT_EQ(config.hbm.interleave_bytes, 512u);
  EXPECT_EQ(config.noc.cols, 3u);
  EXPECT_EQ(config.noc.rows, 6u);
  EXPECT_EQ(config.noc.bytes_per_cycle, 32u);
  EXPECT_EQ(config.noc.hop_cycles, 2u);
  EXPECT_EQ(config.noc.niu_cycles, 7u);
  EXPECT_TRUE(config.check_protocol);
  const std::vector<std::string> different = differences(config, TopologyConfig());
  for (const TopologyKey& key : topology_keys()) {
    if (is_op_rate(key)) continue;
    EXPECT_THAT(different, testing::Contains(key.path)) << "kAllKeys has it not, or its default";
  }
}

// The DMA's range is that of the memory which a PE sees (R3.4): its part of the cube's HBM, or all.
TEST(TopologyFile, APeSeesItsMemoryAndTheNumberOfPes) {
  const Sets sizes{"sips=2", "cubes_per_sip=3", "pes_per_cube=5"};
  const TopologyConfig local = load_topology("name: a\nhbm: {bytes: 100004}", "t.yaml", sizes);
  EXPECT_EQ(local.pe_config().hbm_bytes, 20000u);  // 100004 / 5, rounded down
  EXPECT_EQ(local.pe_config().pes, 30u);
  const TopologyConfig shared =
      load_topology("name: a\nhbm: {bytes: 98304, map: interleaved, channels: 3}", "t.yaml", sizes);
  EXPECT_EQ(shared.pe_config().hbm_bytes, 98304u);
  EXPECT_EQ(shared.pe_config().pes, 30u);
  const TopologyConfig one = load_topology("name: a", "t.yaml");
  EXPECT_EQ(one.pe_config().hbm_bytes, one.hbm.bytes);
  EXPECT_EQ(one.pe_config().pes, 1u);
}

// R6.1: a decimal is the fraction that its text says, not the double next to it.
TEST(TopologyFile, DecimalsAreExact) {
  const TopologyConfig config = load_topology(kAllKeys, "t.yaml");
  EXPECT_EQ(config.pe.clock_ghz, Rational(6, 5));     // 1.2
  EXPECT_EQ(config.hbm.gbps, Rational(4096, 5));      // 819.2
  EXPECT_EQ(config.hbm.latency_ns, Rational(1, 2));   // 0.5
  EXPECT_EQ(config.hbm.efficiency, Rational(9, 10));  // 0.9
  EXPECT_EQ(config.pe.cpu.launch_ns, Rational(25, 2));
  EXPECT_EQ(config.d2d.gbps, Rational(129, 2));
  EXPECT_EQ(config.d2d.latency_ns, Rational(5, 2));
  EXPECT_EQ(config.sip_link.gbps, Rational(25, 2));
  EXPECT_EQ(config.sip_link.latency_ns, Rational(300));
  const TopologyConfig other = load_topology(
      "name: a", "t.yaml",
      {"pe.pe_cost_model.cycles_per_byte=0.0625", "hbm.latency_ns=0.000001", "hbm.gbps=1e3"});
  EXPECT_EQ(other.pe.pe_cost_model.cycles_per_byte, Rational(1, 16));
  EXPECT_EQ(other.hbm.latency_ns, Rational(1, 1'000'000));
  EXPECT_EQ(other.hbm.gbps, Rational(1000));
}

// The example of contract 9, whose values are the defaults, and its later keys.
constexpr const char* kContractDefaults = R"(name: a
sips: 1
cubes_per_sip: 1
pes_per_cube: 1
pe:
  clock_ghz: 1
  watchdog_ns: 0
  pe_cost_model:
    fixed_cycles: 40
    cycles_per_byte: 0.0625
    max_composite_logical_bytes: 1024
  cpu:
    cmd_queue_depth: 16
    launch_ns: 0
  scheduler:
    rw_policy: overlap
    rw_match: range
    tile_buffers: 3
    max_inflight_composites: 4
    math_head_from_hbm: false
  dma:
    port: at
    read_channels: 1
    write_channels: 1
    setup_cycles: 16
    burst_bytes: 4096
    max_outstanding_bytes: 32768
    bus_bytes: 32
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
  ipcq:
    channels: 4
    depth: 16
    slot_bytes: 8192
    send_cycles: 10
    recv_cycles: 10
hbm:
  gbps: 128
  latency_ns: 100
  efficiency: 1
  bytes: 4831838208
  map: pe_local
  channels: 8
  interleave_bytes: 4096
noc:
  cols: 4
  rows: 2
  bytes_per_cycle: 64
  hop_cycles: 8
  niu_cycles: 5
d2d:
  gbps: 256
  latency_ns: 20
sip_link:
  gbps: 100
  latency_ns: 500
check_protocol: false
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
  EXPECT_EQ(config.pe_config().hbm_bytes, 8192u);
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
        "hbm.bytes=1099511627776", "pe.dma.max_outstanding_bytes=4096", "pe.tcm.bytes=548864",
        "sips=64", "cubes_per_sip=64", "pe.ipcq.channels=256", "pe.ipcq.slot_bytes=64",
        "pe.ipcq.send_cycles=0", "hbm.interleave_bytes=64", "noc.cols=64", "noc.rows=1"}) {
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

// The figures of the machine: each PE has what single_pe has.
TEST(TopologyFile, ShippedCube8Pe) {
  const TopologyConfig config = read_topology_file(kSourceDir + "/topologies/cube_8pe.yaml");
  const TopologyConfig one = read_topology_file(kSourceDir + "/topologies/single_pe.yaml");
  EXPECT_THAT(
      differences(config, one),
      testing::ElementsAre("name", "pes_per_cube", "pe.cpu.launch_ns", "hbm.gbps", "hbm.bytes"));
  EXPECT_EQ(config.name, "cube_8pe");
  EXPECT_EQ(config.pes(), 8u);
  EXPECT_EQ(config.pe.cpu.launch_ns, Rational(500));
  EXPECT_EQ(config.hbm.gbps, Rational(1024));
  EXPECT_EQ(config.hbm.bytes, std::uint64_t{36} << 30);
  EXPECT_EQ(config.pe_slice().gbps, one.hbm.gbps);
  EXPECT_EQ(config.pe_slice().bytes, one.hbm.bytes);
  EXPECT_EQ(config.noc.cols * config.noc.rows, 8u);
}

TEST(TopologyFile, ShippedLlama70b4SipIsSixteenOfThoseCubes) {
  const TopologyConfig config = read_topology_file(kSourceDir + "/topologies/llama70b_4sip.yaml");
  EXPECT_THAT(differences(config, read_topology_file(kSourceDir + "/topologies/cube_8pe.yaml")),
              testing::ElementsAre("name", "sips", "cubes_per_sip"));
  EXPECT_EQ(config.name, "llama70b_4sip");
  EXPECT_EQ(config.sips, 4u);
  EXPECT_EQ(config.pes(), 128u);
  EXPECT_EQ(config.d2d.gbps, Rational(256));
  EXPECT_EQ(config.d2d.latency_ns, Rational(20));
  EXPECT_EQ(config.sip_link.gbps, Rational(100));
  EXPECT_EQ(config.sip_link.latency_ns, Rational(500));
}

// Who copies the shipped PE sees every key of it.
TEST(TopologyFile, ShippedPeDefaultsNameEveryKeyOfAPe) {
  const std::string text = file_text(kSourceDir + "/topologies/pe_defaults.yaml");
  for (const TopologyKey& key : topology_keys()) {
    if (key.path.rfind("pe.", 0) != 0 || is_op_rate(key)) continue;
    EXPECT_THAT(text, testing::HasSubstr(key.path.substr(key.path.rfind('.') + 1) + ": "));
  }
}

// The included file's keys come first, wherever the line stands; those of the including file
// replace them one by one, not section by section.
TEST(TopologyInclude, IsReadFirstAndReplacedKeyByKey) {
  const TopologyIncludes includes{
      {"pe.yaml", "pe: {clock_ghz: 2, math: {lanes: 8, fixed_cycles: 3}}\n"}};
  const TopologyConfig expected =
      load_topology("name: a\npe: {clock_ghz: 2, math: {lanes: 16, fixed_cycles: 3}}\n", "t.yaml");
  for (const char* text : {"include: pe.yaml\nname: a\npe: {math: {lanes: 16}}\n",
                           "name: a\npe: {math: {lanes: 16}}\ninclude: pe.yaml\n",
                           "{name: a, pe: {math: {lanes: 16}}, 'include': \"pe.yaml\"}"}) {
    EXPECT_THAT(differences(load_topology(text, "t.yaml", {}, includes), expected),
                testing::IsEmpty())
        << text;
  }
  EXPECT_EQ(load_topology("name: a\ninclude: pe.yaml", "t.yaml", {"pe.math.lanes=4"}, includes)
                .pe.math.lanes,
            4u);
}

// A chain, each path relative to the file in which it stands; `show` has no include.
TEST(TopologyInclude, PathsAreRelativeToTheIncludingFile) {
  const std::string text = "include: parts/cube.yaml\npes_per_cube: 3\n";
  const TopologyIncludes includes{
      {"parts/cube.yaml", "name: given\nsips: 2\npes_per_cube: 4\ninclude: ../pe.yaml\n"},
      {"pe.yaml", "sips: 3\npe: {clock_ghz: 2}\n"}};
  for (const char* file : {"t.yaml", "./t.yaml", "some/t.yaml", "/some/where/t.yaml"}) {
    const TopologyConfig config = load_topology(text, file, {}, includes);
    EXPECT_THAT(differences(config, load_topology("{name: given, sips: 2, pes_per_cube: 3, pe: "
                                                  "{clock_ghz: 2}}",
                                                  "u.yaml")),
                testing::IsEmpty())
        << file;
    EXPECT_THAT(to_yaml(config), testing::Not(testing::HasSubstr("include")));
  }
}

TEST(TopologyInclude, FilesAreFoundFromAnyFolder) {
  const test::TemporaryFolder folder;
  std::filesystem::create_directory(folder / "parts");
  std::ofstream(folder / "t.yaml") << "name: a\ninclude: parts/cube.yaml\n";
  std::ofstream(folder / "parts/cube.yaml") << "pes_per_cube: 4\ninclude: pe.yaml\n";
  std::ofstream(folder / "parts/pe.yaml") << "pe: {clock_ghz: 2}\n";
  const TopologyConfig config = read_topology_file(folder / "t.yaml");
  EXPECT_EQ(config.pes_per_cube, 4u);
  EXPECT_EQ(config.pe.clock_ghz, Rational(2));
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
