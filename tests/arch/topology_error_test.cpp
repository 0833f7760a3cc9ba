// SPDX-License-Identifier: Apache-2.0
// Topology files that are wrong: each class of contract 9, on its message.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "model/arch/topology_file.hpp"
#include "tlm_if/command/error.hpp"

namespace kernbench::arch {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

/// What is said about a topology; fails the test unless it is one line.
std::string message(const std::string& yaml, const std::vector<std::string>& sets = {}) {
  try {
    load_topology(yaml, "t.yaml", sets);
  } catch (const InputError& error) {
    const std::string what = error.what();
    EXPECT_EQ(std::count(what.begin(), what.end(), '\n'), 0) << what;
    return what;
  }
  return "accepted";
}

/// The same for one value of `pe.math.lanes` (a whole number), on line 4.
std::string lanes(const std::string& value) {
  return message("name: a\npe:\n  math:\n    lanes: " + value + "\n");
}
/// The same for one value of `pe.clock_ghz` (a decimal number), on line 3.
std::string clock_ghz(const std::string& value) {
  return message("name: a\npe:\n  clock_ghz: " + value + "\n");
}

const std::string kWhole = "; allowed: a whole number in [1, 1048576] (entries)";
const std::string kDecimal =
    "; allowed: a decimal number in [0.001, 100] with at most 6 decimals (GHz)";

TEST(TopologyError, UnknownKeySuggestsTheNearOne) {
  EXPECT_EQ(message("name: a\npe:\n  dma:\n    burst_byte: 64"),
            "t.yaml:4: pe.dma.burst_byte: unknown key 'burst_byte'; allowed in pe.dma: "
            "read_channels, write_channels, setup_cycles, burst_bytes, max_outstanding_bytes; did "
            "you mean 'pe.dma.burst_bytes'?");
  EXPECT_THAT(message("nmae: a"), HasSubstr("did you mean 'name'?"));
}

TEST(TopologyError, UnknownKeyUnderItsCommonNameSuggestsTheKey) {
  EXPECT_EQ(message("name: a\nhbm: {bandwith: 64}"),
            "t.yaml:2: hbm.bandwith: unknown key 'bandwith'; allowed in hbm: gbps, latency_ns, "
            "efficiency, bytes; did you mean 'hbm.gbps'?");
}

TEST(TopologyError, KeyInTheWrongPlaceSuggestsTheRightOne) {
  EXPECT_THAT(message("name: a\nlanes: 3"),
              AllOf(StartsWith("t.yaml:2: lanes: unknown key 'lanes'; allowed at the top: name, "),
                    HasSubstr("did you mean 'pe.math.lanes'?")));
}

TEST(TopologyError, DottedKeyInAFile) {
  EXPECT_EQ(message("name: a\npe.clock_ghz: 2"),
            "t.yaml:2: pe.clock_ghz: unknown key 'pe.clock_ghz'; dotted paths are for --set, write "
            "nested maps in a file");
}

// A key whose feature does not exist yet is unknown, not ignored.
TEST(TopologyError, KeysOfLaterFeaturesAreUnknown) {
  for (const char* path : {"pe.ipcq.channels", "pe.cpu.launch_ns", "pe.dma.port", "hbm.map", "noc",
                           "d2d", "sip_link", "check_protocol"}) {
    EXPECT_THAT(message("name: a", {std::string(path) + "=1"}), HasSubstr(": unknown key '"))
        << path;
  }
}

TEST(TopologyError, UnknownOpSuggestsTheNearOne) {
  EXPECT_THAT(message("name: a\npe:\n  math:\n    op_rate: {gelo: 2}"),
              AllOf(StartsWith("t.yaml:4: pe.math.op_rate.gelo: unknown key 'gelo'; allowed in "
                               "pe.math.op_rate: rmax, rsum, "),
                    HasSubstr("did you mean 'pe.math.op_rate.gelu'?")));
  EXPECT_THAT(message("name: a\npe: {math: {op_rate: {gemm: 2}}}"),
              HasSubstr("unknown key 'gemm'"));
}

TEST(TopologyError, OpRateOutOfRange) {
  EXPECT_EQ(message("name: a\npe: {math: {op_rate: {gelu: 0}}}"),
            "t.yaml:2: pe.math.op_rate.gelu: '0' is out of range; allowed: a decimal number in "
            "[0.001, 1000] with at most 6 decimals (lane-loads per cycle)");
}

TEST(TopologyError, DuplicateKeyInEitherOrder) {
  const std::string expected =
      "t.yaml:5: pe.dma.setup_cycles: duplicate key, first given on line 4; remove one";
  EXPECT_EQ(message("name: a\npe:\n  dma:\n    setup_cycles: 16\n    setup_cycles: 2"), expected);
  EXPECT_EQ(message("name: a\npe:\n  dma:\n    setup_cycles: 2\n    setup_cycles: 16"), expected);
  EXPECT_EQ(message("name: a\nname: a"),
            "t.yaml:2: name: duplicate key, first given on line 1; remove one");
}

TEST(TopologyError, DuplicateSectionOrOp) {
  EXPECT_THAT(message("name: a\npe: {}\nhbm: {}\npe: {}"),
              StartsWith("t.yaml:4: pe: duplicate key, first given on line 2"));
  EXPECT_THAT(message("name: a\npe: {math: {op_rate: {rmax: 1, rmax: 2}}}"),
              StartsWith("t.yaml:2: pe.math.op_rate.rmax: duplicate key, first given on line 2"));
}

TEST(TopologyError, MergeKey) {
  EXPECT_EQ(message("name: a\npe:\n  <<: {clock_ghz: 2}"),
            "t.yaml:3: pe.<<: merge key '<<' is not supported; write the merged keys");
}

TEST(TopologyError, SecondDocument) {
  const std::string tail =
      ": a second document, or a stray character, starts here; allowed: one document a file; "
      "remove it";
  EXPECT_EQ(message("name: a\n---\nname: b\n"), "t.yaml:2" + tail);
  EXPECT_EQ(message("name: a\n...\nname: b\n"), "t.yaml:3" + tail);
  // YAML::LoadAll does not return from this one.
  EXPECT_EQ(message(", name: a\n"), "t.yaml:1" + tail);
}

TEST(TopologyError, EmptyFile) {
  for (const char* text : {"", "\n\n", "# only a comment\n", "---\n", "null"}) {
    EXPECT_EQ(message(text),
              "t.yaml:1: the file is empty; a topology gives at least its name: 'name: my_pe'");
  }
}

TEST(TopologyError, NotAMapAtTheTop) {
  const std::string tail = " is not a topology; allowed: a map of keys such as 'name: my_pe'";
  EXPECT_EQ(message("hello"), "t.yaml:1: 'hello'" + tail);
  EXPECT_EQ(message("- name: a"), "t.yaml:1: a list" + tail);
}

TEST(TopologyError, KeyThatIsNoName) {
  EXPECT_THAT(message("name: a\n? [x]\n: 1"),
              StartsWith("t.yaml:2: the top: a key is not a plain name; allowed: name, sips, "));
  EXPECT_THAT(message("name: a\npe:\n  ~: 1"), StartsWith("t.yaml:3: pe: a key is not a plain"));
}

TEST(TopologyError, Syntax) {
  EXPECT_THAT(message("name: a\npe: {dma: {setup_cycles: 1}\n"),
              AllOf(StartsWith("t.yaml:3: column "), HasSubstr("not YAML: end of map flow")));
  EXPECT_THAT(message("name: a\npe: [1, 2"), HasSubstr("not YAML: end of sequence flow"));
  EXPECT_THAT(message("name: a\npe: *none"), HasSubstr("anchor is not defined"));
}

TEST(TopologyError, TabIndent) {
  EXPECT_THAT(message("name: a\npe:\n\tclock_ghz: 2\n"),
              AllOf(StartsWith("t.yaml:3: column "), HasSubstr("not YAML: "),
                    HasSubstr("indent with spaces")));
}

TEST(TopologyError, DeepNesting) {
  EXPECT_THAT(message("name: " + std::string(100'000, '[')), HasSubstr("not YAML: "));
}

// yaml-cpp reads 0x04 as the end of the file; what follows would be lost in silence.
TEST(TopologyError, ControlCharacter) {
  EXPECT_EQ(message("name: a\n\x04\nfoo: 1"),
            "t.yaml:2: control character 0x04; allowed: a YAML text in UTF-8");
}

TEST(TopologyError, NameMissing) {
  const std::string legal =
      "letters, digits and underscores, not starting with a digit, at most 64 characters";
  EXPECT_EQ(message("pe: {}"),
            "t.yaml:1: name: missing; allowed: " + legal + "; add a line 'name: my_pe'");
  EXPECT_EQ(message("name:"), "t.yaml:1: name: nothing is given; allowed: " + legal);
}

TEST(TopologyError, IllegalName) {
  EXPECT_THAT(message("name: 9a"), StartsWith("t.yaml:1: name: '9a' is not a legal name; allowed"));
  EXPECT_THAT(message("name: a-b"), HasSubstr("'a-b' is not a legal name"));
  EXPECT_THAT(message("name: ''"), HasSubstr("'' is not a legal name"));
  EXPECT_THAT(message("name: \"a\\nb\""), HasSubstr("'a\\x0ab' is not a legal name"));
  EXPECT_EQ(message("name: " + std::string(64, 'a')), "accepted");
  EXPECT_THAT(message("name: " + std::string(65, 'a')), HasSubstr("' has 65 characters; allowed"));
}

TEST(TopologyError, WholeNumberOfAnotherKind) {
  const std::string at = "t.yaml:4: pe.math.lanes: ";
  for (const char* text : {"0x10", "0o17", "1e3", "16.0", "1_000", "+5", "true", "1:30", "many"}) {
    EXPECT_EQ(lanes(text), at + "'" + text + "' is not a whole number" + kWhole);
  }
  EXPECT_EQ(lanes("010"), at + "'010' looks octal (leading zero)" + kWhole);
  EXPECT_EQ(lanes("'40'"), at + "'40' is quoted, hence text; remove the quotes" + kWhole);
  EXPECT_EQ(lanes("\"40\""), at + "'40' is quoted, hence text; remove the quotes" + kWhole);
  EXPECT_EQ(lanes("!!int 4"),
            at + "'4' has the tag 'tag:yaml.org,2002:int', and tags are not supported" + kWhole);
  EXPECT_EQ(lanes("[1]"), at + "a list is not a whole number" + kWhole);
  EXPECT_EQ(lanes("{a: 1}"), at + "a map is not a whole number" + kWhole);
  EXPECT_EQ(lanes(""), at + "nothing is given" + kWhole);
  EXPECT_EQ(lanes("~"), at + "nothing is given" + kWhole);
}

TEST(TopologyError, WholeNumberOutOfRange) {
  for (const char* text : {"0", "-1", "1048577", "18446744073709551617", "99999999999999999999"}) {
    EXPECT_EQ(lanes(text),
              std::string("t.yaml:4: pe.math.lanes: '") + text + "' is out of range" + kWhole);
  }
}

TEST(TopologyError, DecimalNumberOfAnotherKind) {
  const std::string at = "t.yaml:3: pe.clock_ghz: ";
  for (const char* text : {".nan", ".inf", "-.inf", "nan", "inf", "0x1p3", "1.2.3", "1,5", "fast",
                           "0.1234567890123456789", "1e400"}) {
    EXPECT_EQ(clock_ghz(text),
              at + "'" + text + "' is not a decimal number of at most 18 digits" + kDecimal);
  }
  EXPECT_EQ(clock_ghz("01.5"), at + "'01.5' looks octal (leading zero)" + kDecimal);
  EXPECT_EQ(clock_ghz("1.0000001"), at + "'1.0000001' has more than 6 decimals" + kDecimal);
  EXPECT_EQ(clock_ghz("'1.0'"), at + "'1.0' is quoted, hence text; remove the quotes" + kDecimal);
  EXPECT_EQ(clock_ghz("[1]"), at + "a list is not a decimal number" + kDecimal);
}

TEST(TopologyError, DecimalNumberOutOfRange) {
  for (const char* text : {"0", "-1.5", "0.0009", "100.000001"}) {
    EXPECT_EQ(clock_ghz(text),
              std::string("t.yaml:3: pe.clock_ghz: '") + text + "' is out of range" + kDecimal);
  }
  EXPECT_THAT(message("name: a\nhbm: {gbps: 0}"), HasSubstr("hbm.gbps: '0' is out of range"));
  EXPECT_THAT(message("name: a\nhbm: {latency_ns: -1}"), HasSubstr("'-1' is out of range"));
  EXPECT_THAT(message("name: a\nhbm: {efficiency: 1.01}"), HasSubstr("'1.01' is out of range"));
}

TEST(TopologyError, UnknownChoice) {
  EXPECT_EQ(message("name: a\npe:\n  scheduler: {rw_policy: overlapp}"),
            "t.yaml:3: pe.scheduler.rw_policy: 'overlapp' is not a choice (did you mean "
            "'overlap'?); allowed: one of overlap, drain_all");
  EXPECT_EQ(message("name: a\npe: {gemm: {model: magic}}"),
            "t.yaml:2: pe.gemm.model: 'magic' is not a choice; allowed: one of block, systolic_ws, "
            "systolic_os");
}

TEST(TopologyError, SectionThatIsNoMap) {
  const std::string tail =
      " is given where a map is due; allowed: a map of gbps, latency_ns, "
      "efficiency, bytes";
  EXPECT_EQ(message("name: a\nhbm: 128"), "t.yaml:2: hbm: '128'" + tail);
  EXPECT_EQ(message("name: a\nhbm: [128]"), "t.yaml:2: hbm: a list" + tail);
  EXPECT_EQ(message("name: a\nhbm:\n"), "t.yaml:2: hbm: nothing" + tail);
}

TEST(TopologyError, BurstIsAPowerOfTwo) {
  EXPECT_EQ(
      message("name: a\npe: {dma: {burst_bytes: 3000}}"),
      "t.yaml:2: pe.dma.burst_bytes: '3000' is not a power of two; allowed: a power of two in "
      "[1, 1048576] (bytes)");
}

TEST(TopologyError, MoreThanOnePe) {
  EXPECT_EQ(message("name: a\npes_per_cube: 8"),
            "t.yaml:2: pes_per_cube: '8' is out of range; allowed: a whole number in [1, 1]");
}

// R6.8. The line is that of a key which was given; both keys are named.
TEST(TopologyError, BurstLargerThanOutstanding) {
  EXPECT_EQ(message("name: a\npe:\n  dma: {burst_bytes: 65536}"),
            "t.yaml:3: pe.dma.burst_bytes 65536 (t.yaml:3) is larger than "
            "pe.dma.max_outstanding_bytes 32768 (default), so that no burst could be sent; lower "
            "the first or raise the second");
  EXPECT_THAT(message("name: a", {"pe.dma.max_outstanding_bytes=2048"}),
              StartsWith("--set pe.dma.max_outstanding_bytes=2048: pe.dma.burst_bytes 4096 "
                         "(default) is larger than pe.dma.max_outstanding_bytes 2048 (--set "));
  EXPECT_EQ(message("name: a\npe: {dma: {burst_bytes: 65536, max_outstanding_bytes: 65536}}"),
            "accepted");
}

// R3.4. Defaults: 3 * 4 * (8 * 128 + 128 * 128) * 2 = 417792 bytes of buffers, with 131072 of
// scratch 548864.
TEST(TopologyError, ScratchAndTileBuffersMustFitTcm) {
  EXPECT_EQ(message("name: a", {"pe.tcm.bytes=548864"}), "accepted");
  EXPECT_EQ(
      message("name: a\npe:\n  tcm: {bytes: 548863}"),
      "t.yaml:3: pe.tcm.scratch_bytes 131072 (default) plus 417792 bytes of tile buffers are "
      "548864 "
      "bytes, more than pe.tcm.bytes 548863 (t.yaml:3); the buffers are pe.scheduler.tile_buffers "
      "3 "
      "(default) x pe.scheduler.max_inflight_composites 4 (default) x (tile_m tile_k + tile_k "
      "tile_n) x 2 bytes with pe.gemm.tile_m 8 (default), pe.gemm.tile_k 128 (default), "
      "pe.gemm.tile_n 128 (default); lower one of them or raise pe.tcm.bytes");
}

// 1024 * 1024 * (65536^2 + 65536^2) * 2 = 2^54 bytes of buffers at the upper bounds: no
// wrap-around.
TEST(TopologyError, LargestTileBuffersDoNotWrap) {
  EXPECT_THAT(message("name: a", {"pe.scheduler.tile_buffers=1024",
                                  "pe.scheduler.max_inflight_composites=1024",
                                  "pe.gemm.tile_m=65536", "pe.gemm.tile_k=65536",
                                  "pe.gemm.tile_n=65536", "pe.tcm.bytes=1099511627776"}),
              HasSubstr("plus 18014398509481984 bytes of tile buffers"));
}

TEST(TopologyError, SetIsCheckedLikeTheFile) {
  EXPECT_EQ(message("name: a", {"pe.math.lanes=0"}),
            "--set pe.math.lanes=0: pe.math.lanes: '0' is out of range" + kWhole);
  EXPECT_EQ(message("name: a", {"pe.math.lanes="}),
            "--set pe.math.lanes=: pe.math.lanes: '' is not a whole number" + kWhole);
  EXPECT_EQ(message("name: a", {"pe.math.lane=5"}),
            "--set pe.math.lane=5: pe.math.lane: unknown key 'lane'; allowed in pe.math: lanes, "
            "fixed_cycles, op_rate; did you mean 'pe.math.lanes'?");
  EXPECT_THAT(message("name: a", {"lanes=5"}), HasSubstr("did you mean 'pe.math.lanes'?"));
  EXPECT_THAT(message("name: a", {"pe.math.op_rate.gelo=5"}),
              HasSubstr("did you mean 'pe.math.op_rate.gelu'?"));
}

TEST(TopologyError, SetOfAnotherForm) {
  const std::string tail = ": expected path=value, for example --set pe.math.lanes=128";
  EXPECT_EQ(message("name: a", {"pe.math.lanes"}), "--set 'pe.math.lanes'" + tail);
  EXPECT_EQ(message("name: a", {"=5"}), "--set '=5'" + tail);
  EXPECT_EQ(message("name: a", {"pe.math=5"}),
            "--set pe.math=5: pe.math: is a section; set one of its keys: lanes, fixed_cycles, "
            "op_rate");
  EXPECT_EQ(message("name: a", {"pe.math.lanes=5", "pe.math.lanes=6"}),
            "--set pe.math.lanes=6: pe.math.lanes: duplicate, first given as --set "
            "pe.math.lanes=5; remove one");
}

// A wrong value in the file is an error although --set replaces it.
TEST(TopologyError, SetDoesNotHideAMistakeInTheFile) {
  EXPECT_THAT(message("name: a\npe: {math: {lanes: 0}}", {"pe.math.lanes=64"}),
              StartsWith("t.yaml:2: pe.math.lanes: '0' is out of range"));
}

std::string file_message(const std::string& path) {
  try {
    read_topology_file(path);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(TopologyError, FileThatCannotBeRead) {
  EXPECT_EQ(file_message("no_such_folder/no_such.yaml"),
            "topology file 'no_such_folder/no_such.yaml' does not exist; give the path of a YAML "
            "file");
  const std::string folder = std::filesystem::temp_directory_path().string();
  EXPECT_EQ(file_message(folder),
            "topology file '" + folder + "' is a directory; give the path of a YAML file");
}

}  // namespace
}  // namespace kernbench::arch
