// SPDX-License-Identifier: Apache-2.0
// Topology files that are wrong: each class of contract 9, on its message.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "model/arch/topology_file.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tlm_if/command/error.hpp"

namespace kernbench::arch {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

/// What is said about a topology; fails the test unless it is one line.
std::string message(const std::string& yaml, const std::vector<std::string>& sets = {},
                    const TopologyIncludes& includes = {}) {
  try {
    load_topology(yaml, "t.yaml", sets, includes);
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
  EXPECT_EQ(
      message("name: a\npe:\n  dma:\n    burst_byte: 64"),
      "t.yaml:4: pe.dma.burst_byte: unknown key 'burst_byte'; allowed in pe.dma: "
      "port, read_channels, write_channels, setup_cycles, burst_bytes, max_outstanding_bytes, "
      "bus_bytes; did you mean 'pe.dma.burst_bytes'?");
  EXPECT_THAT(message("nmae: a"), HasSubstr("did you mean 'name'?"));
}

TEST(TopologyError, UnknownKeyUnderItsCommonNameSuggestsTheKey) {
  EXPECT_EQ(message("name: a\nhbm: {bandwith: 64}"),
            "t.yaml:2: hbm.bandwith: unknown key 'bandwith'; allowed in hbm: gbps, latency_ns, "
            "efficiency, bytes, map, channels, interleave_bytes; did you mean 'hbm.gbps'?");
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
      "efficiency, bytes, map, channels, interleave_bytes";
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

// 64 x 64 x 1 are allowed, 64 x 64 x 2 and 16 x 16 x 17 = 4352 are not.
TEST(TopologyError, TooManyPes) {
  EXPECT_EQ(message("name: a", {"sips=64", "cubes_per_sip=64"}), "accepted");
  EXPECT_EQ(message("name: a\nsips: 64\ncubes_per_sip: 64\npes_per_cube: 2"),
            "t.yaml:2: sips 64 (t.yaml:2) x cubes_per_sip 64 (t.yaml:3) x pes_per_cube 2 "
            "(t.yaml:4) are 8192 PEs, more than the 4096 that are allowed; lower one of them");
  EXPECT_THAT(message("name: a", {"cubes_per_sip=64", "pes_per_cube=64", "sips=2"}),
              HasSubstr(" are 8192 PEs"));
  EXPECT_EQ(message("name: a", {"cubes_per_sip=8", "sips=8", "pes_per_cube=64", "noc.cols=64"}),
            "accepted");
  EXPECT_EQ(message("name: a\npes_per_cube: 65"),
            "t.yaml:2: pes_per_cube: '65' is out of range; allowed: a whole number in [1, 64]");
}

// 16 PEs on a network of 4: field case 28.
TEST(TopologyError, FewerRoutersThanPes) {
  EXPECT_EQ(message("name: a\npes_per_cube: 16\nnoc: {cols: 2}"),
            "t.yaml:3: noc.cols 2 (t.yaml:3) x noc.rows 2 (default) are 4 routers, fewer than "
            "pes_per_cube 16 (t.yaml:2), and each PE of a cube has one; raise one of the first two "
            "or lower the last");
  EXPECT_THAT(message("name: a", {"pes_per_cube=9"}),
              StartsWith("--set pes_per_cube=9: noc.cols 4 (default) x noc.rows 2 (default) are 8 "
                         "routers, fewer than pes_per_cube 9 (--set pes_per_cube=9)"));
  EXPECT_EQ(message("name: a", {"pes_per_cube=8"}), "accepted");
  EXPECT_EQ(message("name: a", {"noc.cols=1", "noc.rows=1"}), "accepted");
}

TEST(TopologyError, SlotsArePowersOfTwo) {
  EXPECT_EQ(message("name: a\npe: {ipcq: {slot_bytes: 100}}"),
            "t.yaml:2: pe.ipcq.slot_bytes: '100' is not a power of two; allowed: a power of two in "
            "[64, 1048576] (bytes)");
  EXPECT_THAT(message("name: a\npe: {ipcq: {slot_bytes: 32}}"), HasSubstr("'32' is out of range"));
}

TEST(TopologyError, FewerBytesThanPes) {
  EXPECT_EQ(message("name: a\npes_per_cube: 8\nhbm: {bytes: 7}"),
            "t.yaml:3: hbm.bytes 7 (t.yaml:3) are not a byte for each PE of pes_per_cube 8 "
            "(t.yaml:2); raise the first or lower the second");
  EXPECT_EQ(message("name: a\npes_per_cube: 8\nhbm: {bytes: 8}"), "accepted");
}

// A burst would touch several channels; with parts of its own for each PE there is none.
TEST(TopologyError, InterleavingSmallerThanABurst) {
  EXPECT_EQ(message("name: a\nhbm: {map: interleaved, interleave_bytes: 2048}"),
            "t.yaml:2: hbm.interleave_bytes 2048 (t.yaml:2) is less than pe.dma.burst_bytes 4096 "
            "(default), so that a burst would touch several channels of hbm.map interleaved "
            "(t.yaml:2); raise the first or lower the second");
  EXPECT_EQ(message("name: a\nhbm: {interleave_bytes: 2048}"), "accepted");
  EXPECT_EQ(message("name: a\nhbm: {map: interleaved}"), "accepted");
  EXPECT_THAT(message("name: a\nhbm: {map: interleaved, interleave_bytes: 5000}"),
              HasSubstr("'5000' is not a power of two"));
}

// 6 x 4096 = 24576; five times that is 122880.
TEST(TopologyError, ChannelsOfDifferentSize) {
  const std::string hbm = "name: a\nhbm: {map: interleaved, channels: 6, bytes: ";
  EXPECT_EQ(message(hbm + "122880}"), "accepted");
  EXPECT_EQ(
      message(hbm + "126976}"),
      "t.yaml:2: hbm.bytes 126976 (t.yaml:2) is not a multiple of hbm.channels 6 (t.yaml:2) x "
      "hbm.interleave_bytes 4096 (default) = 24576, so that channels of hbm.map interleaved "
      "(t.yaml:2) would differ in size; change one of them");
  EXPECT_THAT(message(hbm + "4096}"), HasSubstr("hbm.bytes 4096 (t.yaml:2) is not a multiple of"));
  EXPECT_EQ(message("name: a\nhbm: {channels: 6, bytes: 4096}"), "accepted");
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

// ---- include ------------------------------------------------------------------------------------

TEST(TopologyIncludeError, MistakesAreThoseOfTheIncludedFile) {
  const auto included = [](const std::string& text) {
    return message("name: a\ninclude: pe.yaml\n", {}, {{"pe.yaml", text}});
  };
  EXPECT_THAT(included("# a PE\npe:\n  clock: 2\n"),
              StartsWith("pe.yaml:3: pe.clock: unknown key 'clock'; allowed in pe: "));
  EXPECT_EQ(included("pe: {math: {lanes: 0}}"),
            "pe.yaml:1: pe.math.lanes: '0' is out of range" + kWhole);
  EXPECT_EQ(included("pe: {}\nsips: 1\npe: {}\n"),
            "pe.yaml:3: pe: duplicate key, first given on line 1; remove one");
  EXPECT_EQ(included("pe:\n  <<: {clock_ghz: 2}"),
            "pe.yaml:2: pe.<<: merge key '<<' is not supported; write the merged keys");
  EXPECT_THAT(included("pe: {math: [1"), StartsWith("pe.yaml:1: column "));
  EXPECT_EQ(included("pe: {}\n\x01"),
            "pe.yaml:2: control character 0x01; allowed: a YAML text in UTF-8");
  EXPECT_EQ(
      included("pe: {}\n---\npe: {}\n"),
      "pe.yaml:2: a second document, or a stray character, starts here; allowed: one document "
      "a file; remove it");
  EXPECT_EQ(included("# nothing\n"),
            "pe.yaml:1: the file is empty; give the keys that it is to set, or do not include it");
}

// A wrong value that the including file replaces is wrong all the same, as with --set.
TEST(TopologyIncludeError, AReplacedMistakeIsOne) {
  EXPECT_THAT(message("name: a\ninclude: pe.yaml\npe: {math: {lanes: 8}}", {},
                      {{"pe.yaml", "pe: {math: {lanes: 0}}"}}),
              StartsWith("pe.yaml:1: pe.math.lanes: '0' is out of range"));
}

// The including file's own mistakes have its name and line again.
TEST(TopologyIncludeError, AfterTheIncludeLinesAreThoseOfTheFile) {
  EXPECT_THAT(message("name: a\ninclude: pe.yaml\npe: {clock: 2}", {}, {{"pe.yaml", "sips: 1"}}),
              StartsWith("t.yaml:3: pe.clock: unknown key"));
  EXPECT_THAT(message("include: pe.yaml\n", {}, {{"pe.yaml", "sips: 1"}}),
              StartsWith("t.yaml:1: name: missing"));
}

// Keys that do not fit each other name the files in which they stand.
TEST(TopologyIncludeError, KeysOfTwoFilesThatDoNotFit) {
  EXPECT_THAT(message("name: a\ninclude: pe.yaml\npes_per_cube: 16\n", {},
                      {{"pe.yaml", "sips: 1\nnoc: {cols: 2}"}}),
              StartsWith("pe.yaml:2: noc.cols 2 (pe.yaml:2) x noc.rows 2 (default) are 4 routers, "
                         "fewer than pes_per_cube 16 (t.yaml:3)"));
}

TEST(TopologyIncludeError, TwiceInAFile) {
  EXPECT_EQ(message("name: a\ninclude: b.yaml\ninclude: b.yaml\n", {}, {{"b.yaml", "sips: 1"}}),
            "t.yaml:3: include: duplicate key, first given on line 2; remove one");
}

TEST(TopologyIncludeError, ValueThatIsNoPath) {
  const auto value = [](const std::string& text) {
    return message("name: a\ninclude: " + text + "\n");
  };
  const std::string tail = "; allowed: the path of one YAML file, relative to this one";
  EXPECT_EQ(value(""), "t.yaml:2: include: nothing is not a path" + tail);
  EXPECT_EQ(value("[a.yaml, b.yaml]"), "t.yaml:2: include: a list is not a path" + tail);
  EXPECT_EQ(value("{a: b}"), "t.yaml:2: include: a map is not a path" + tail);
  EXPECT_EQ(value("!file a.yaml"), "t.yaml:2: include: a value with a tag is not a path" + tail);
  EXPECT_EQ(value("''"), "t.yaml:2: include: '' is not a path" + tail);
  EXPECT_EQ(value("\"a\\nb\""), "t.yaml:2: include: 'a\\x0ab' is not a path" + tail);
  EXPECT_EQ(value("/etc/pe.yaml"), "t.yaml:2: include: '/etc/pe.yaml' is an absolute path" + tail);
}

TEST(TopologyIncludeError, OnlyAtTheTopOfAFile) {
  EXPECT_EQ(message("name: a\npe: {include: pe.yaml}"),
            "t.yaml:2: pe.include: 'include' stands at the top of the file; move it there");
  EXPECT_THAT(message("name: a\ninclud: pe.yaml"),
              AllOf(HasSubstr(", include;"), HasSubstr("did you mean 'include'?")));
  EXPECT_THAT(message("name: a", {"includ=pe.yaml"}), Not(HasSubstr("include")));
  EXPECT_EQ(message("name: a", {"include=pe.yaml"}),
            "--set include=pe.yaml: include: is for files only; give the file to --topology");
}

TEST(TopologyIncludeError, Circle) {
  EXPECT_EQ(message("name: a\ninclude: t.yaml"),
            "t.yaml:2: include: t.yaml includes itself: t.yaml -> t.yaml; remove one of these");
  EXPECT_EQ(message("include: d/b.yaml", {},
                    {{"d/b.yaml", "include: c.yaml"}, {"d/c.yaml", "\ninclude: ../d/b.yaml"}}),
            "d/c.yaml:2: include: d/b.yaml includes itself: t.yaml -> d/b.yaml -> d/c.yaml -> "
            "d/b.yaml; remove one of these");
}

// A topology that comes as a text has what comes with it, and no access to the disk.
TEST(TopologyIncludeError, FileThatDoesNotComeWithTheText) {
  EXPECT_EQ(
      message("name: a\ninclude: b.yaml", {}, {{"c.yaml", ""}, {"d/e.yaml", ""}}),
      "t.yaml:2: include: topology file 'b.yaml' does not come with t.yaml, which is not read "
      "from the disk (these do: c.yaml, d/e.yaml); in a topology that a binary embeds, write "
      "'include: FILE.yaml' on a line of its own");
  EXPECT_THAT(message("name: a\ninclude: b.yaml"), HasSubstr("(no file does)"));
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

TEST(TopologyIncludeError, FileThatCannotBeRead) {
  const test::TemporaryFolder folder;
  const std::string file = folder / "t.yaml";
  std::filesystem::create_directory(folder / "parts");
  std::ofstream(folder / "loop.yaml") << "include: parts/../loop.yaml\n";
  const auto including = [&](const std::string& path) {
    std::ofstream(file) << "name: a\n\ninclude: " << path << '\n';
    return file_message(file);
  };
  EXPECT_EQ(including("parts/none.yaml"), file + ":3: include: topology file '" +
                                              (folder / "parts/none.yaml") +
                                              "' does not exist; give the path of a YAML file");
  EXPECT_EQ(including("parts"), file + ":3: include: topology file '" + (folder / "parts") +
                                    "' is a directory; give the path of a YAML file");
  EXPECT_THAT(including("loop.yaml"), AllOf(StartsWith((folder / "loop.yaml") + ":1: include: "),
                                            HasSubstr("loop.yaml includes itself: ")));
}

}  // namespace
}  // namespace kernbench::arch
