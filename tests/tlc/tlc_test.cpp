// SPDX-License-Identifier: Apache-2.0
// tlc and `run --program` as their users see them: files, text, exit codes, messages (contract 11).
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/runtime/command_line.hpp"
#include "tests/support/temporary_folder.hpp"

namespace kernbench::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::Not;
using testing::StartsWith;

Outcome tlc(const std::vector<std::string>& arguments) {
  return run_program(KERNBENCH_TLC, arguments);
}
Outcome single_pe(const std::vector<std::string>& arguments) {
  return run_program(KERNBENCH_SINGLE_PE, arguments);
}
Outcome cube_8pe(const std::vector<std::string>& arguments) {
  return run_program(KERNBENCH_CUBE_8PE, arguments);
}

/// Refused with exit code 2, this in the first line, and no output.
void expect_refused(const Outcome& outcome, const std::string& program,
                    const std::vector<std::string>& parts) {
  EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
  EXPECT_THAT(outcome.first_error(), StartsWith(program + ": "));
  for (const std::string& part : parts) EXPECT_THAT(outcome.first_error(), HasSubstr(part));
  EXPECT_EQ(outcome.out, "");
}

void write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

/// Compiles `words` into FOLDER/f.kbp and returns that path.
std::string compiled(const TemporaryFolder& folder, const std::vector<std::string>& words) {
  const std::string path = folder / "f.kbp";
  std::vector<std::string> arguments{"compile"};
  arguments.insert(arguments.end(), words.begin(), words.end());
  arguments.insert(arguments.end(), {"-o", path});
  const Outcome outcome = tlc(arguments);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out + outcome.err, "");
  return path;
}

const std::vector<std::string> kSmallGemm{"gemm", "m=8", "k=16", "n=16", "b=hbm", "out=hbm"};

// --- what is written and shown --------------------------------------------------------------

// Header 64 bytes, title 19, head of the stream 16: records begin at 99. A SET_HANDLE is 4 + 4 + 80
// bytes, a region 4 + the 4 of its name, a fill 17 (contract 3). x is tensor 1 of the kernel and 2
// when it has been named, first in TCM scratch.
TEST(Disasm, OfTwoFills) {
  const TemporaryFolder folder;
  const Outcome outcome = tlc({"disasm", compiled(folder, {"dispatch", "commands=2"})});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out,
            "dispatch commands=2\n"
            "\n"
            "program 0 on PE 0: 2 commands\n"
            "0x00000063     8  region loop begins\n"
            "0x0000006b    88  entry 0: x (1,) f32 tcm at 0x10000000000, id 2\n"
            "0x000000c3    17  #0 fill: 17 bytes\n"
            "                    0 fill value=0\n"
            "                        out: x (1,) f32 tcm at 0x10000000000\n"
            "0x000000d4    17  #1 fill: 17 bytes\n"
            "                    0 fill value=0\n"
            "                        out: x (1,) f32 tcm at 0x10000000000\n"
            "0x000000e5     8  region loop ends\n"
            "0x000000ed     4  end of program\n");
}

/// The lines without offsets and table entries: what `commands` lists as well.
std::string without_offsets(const std::string& disassembly) {
  std::istringstream in(disassembly.substr(disassembly.find("program 0")));
  std::string text, line;
  std::getline(in, line);
  constexpr std::size_t kMargin = 18;
  while (std::getline(in, line)) {
    const std::string rest = line.substr(std::min(kMargin, line.size()));
    if (rest.rfind("entry ", 0) != 0 && rest != "end of program") text += rest + "\n";
  }
  return text;
}

/// The lines of `commands` without head and cycles: `#0 load: 21 bytes, 1 segment, ..` is cut.
std::string without_cycles(const std::string& listing) {
  std::istringstream in(listing.substr(listing.find("\n\n") + 2));
  std::string text, line;
  while (std::getline(in, line)) {
    const std::size_t cut = line.find(" bytes, ");
    const std::size_t rest = line.find(" cycles", std::min(cut, line.size()));
    if (line[0] == '#' && rest != std::string::npos) {
      line = line.substr(0, cut) + " bytes" + line.substr(rest + std::string(" cycles").size());
    }
    text += line + "\n";
  }
  return text;
}

TEST(Disasm, ListsWhatCommandsLists) {
  const TemporaryFolder folder;
  for (const std::vector<std::string>& kernel :
       std::vector<std::vector<std::string>>{{"gqa_decode", "variant=opt2", "s_kv=128"},
                                             {"gqa_decode", "variant=opt3", "s_kv=128"},
                                             kSmallGemm}) {
    std::vector<std::string> commands = kernel;
    commands.insert(commands.begin(), "commands");
    EXPECT_EQ(without_offsets(tlc({"disasm", compiled(folder, kernel)}).out),
              without_cycles(single_pe(commands).out));
  }
}

// A transposed view lies as it does: rows are next to each other.
TEST(Disasm, ShowsStrides) {
  const TemporaryFolder folder;
  const Outcome outcome = tlc({"disasm", compiled(folder, {"gqa_decode", "s_kv=64"})});
  EXPECT_THAT(outcome.out, HasSubstr("k (128, 64) f16 hbm at 0x1000, id "));
  EXPECT_THAT(outcome.out, HasSubstr(", strides 1 and 128\n"));
}

TEST(Disasm, OfOneOfSeveralPrograms) {
  const TemporaryFolder folder;
  const std::string file = compiled(folder, {"all_gather", "n=16", "--machine", "cube_8pe"});
  const std::string all = tlc({"disasm", file}).out;
  EXPECT_THAT(all, HasSubstr("\nprogram 7 on PE 7: "));
  const std::string one = tlc({"disasm", file, "--program-id", "3"}).out;
  EXPECT_THAT(one, HasSubstr("\nprogram 3 on PE 3: "));
  EXPECT_THAT(one, Not(HasSubstr("program 2")));
  EXPECT_THAT(one, HasSubstr("      to: PE 4, channel "));
  EXPECT_THAT(all, HasSubstr(one.substr(one.find("program 3"))));
  expect_refused(tlc({"disasm", file, "--program-id", "8"}), "tlc",
                 {"--program-id 8: ", "has 8 programs; give a number from 0 to 7"});
}

// a (8, 16) f16 at 0, b (16, 16) at 0x1000, out (8, 16) of 256 bytes at 0x2000; in TCM a alone.
TEST(Info, OfAGemm) {
  const TemporaryFolder folder;
  const std::string text = tlc({"info", compiled(folder, kSmallGemm)}).out;
  EXPECT_THAT(text, StartsWith("gemm m=8 k=16 n=16 a=tcm b=hbm out=hbm "));
  EXPECT_THAT(text, HasSubstr("\nneeds of each PE: 8448 bytes of HBM, 256 bytes of TCM scratch\n"
                              "input a (8, 16) f16, in a file [8, 16]\n"
                              "  program 0: all at 0x0\n"
                              "input b (16, 16) f16, in a file [16, 16]\n"
                              "  program 0: all at 0x1000\n"
                              "output out (8, 16) f16, in a file [8, 16]\n"
                              "  program 0: all at 0x2000\n"
                              "program 0 on PE 0: 2 commands, "));
}

// 12 rows of 10 over 8 programs: the first four have 2, the others 1.
TEST(Info, OfAShardedTensor) {
  const TemporaryFolder folder;
  const std::string text =
      tlc({"info", compiled(folder, {"gqa_decode", "s_kv=512", "p=8", "--machine", "cube_8pe"})})
          .out;
  EXPECT_THAT(text, HasSubstr("\n  program 0: rows 0 to 63 at 0x"));
  EXPECT_THAT(text, HasSubstr("\n  program 7: rows 448 to 511 at 0x"));
}

TEST(Compile, GivesTheSameBytesAgain) {
  const TemporaryFolder folder;
  const std::string first = read_file(compiled(folder, kSmallGemm));
  EXPECT_EQ(read_file(compiled(folder, kSmallGemm)), first);
  std::vector<std::string> with_file = kSmallGemm;
  with_file.insert(with_file.end(), {"--topology", std::string(KERNBENCH_SOURCE_DIR) +
                                                       "/topologies/single_pe.yaml"});
  EXPECT_EQ(read_file(compiled(folder, with_file)), first);
}

TEST(Compile, ForTheTopologyThatIsAskedFor) {
  const TemporaryFolder folder;
  const std::vector<std::string> gather{"all_gather", "n=16"};
  EXPECT_THAT(tlc({"info", compiled(folder, gather)}).out, Not(HasSubstr("program 1 on PE 1")));
  EXPECT_THAT(tlc({"info", compiled(folder, {"all_gather", "n=16", "--set", "pes_per_cube=2",
                                             "--set", "noc.cols=2", "--set", "noc.rows=1"})})
                  .out,
              HasSubstr("program 1 on PE 1"));
}

TEST(Tlc, ListsTheKernelsOfTheBinaries) { EXPECT_EQ(tlc({"list"}).out, single_pe({"list"}).out); }

// Its code has no name of SystemC's in it, and it asks for no such library.
TEST(Tlc, LinksNoSystemC) {
  const std::string program = read_file(KERNBENCH_TLC);
  EXPECT_EQ(program.find("sc_core"), std::string::npos);
  EXPECT_EQ(program.find("libsystemc"), std::string::npos);
  EXPECT_NE(read_file(KERNBENCH_SINGLE_PE).find("sc_core"), std::string::npos);
}

// --- refused by tlc -------------------------------------------------------------------------

TEST(Tlc, RefusesIncompleteAndUnknownWords) {
  const TemporaryFolder folder;
  const std::string out = folder / "f.kbp";
  expect_refused(tlc({}), "tlc", {"no command given; commands are list, compile, info, disasm"});
  expect_refused(tlc({"dump", "f"}), "tlc", {"no command 'dump'"});
  expect_refused(tlc({"compile"}), "tlc", {"required", "see tlc compile --help"});
  expect_refused(tlc({"compile", "gemm"}), "tlc", {"--output is required"});
  expect_refused(tlc({"compile", "gemm", "-o", ""}), "tlc", {"--output is given an empty value"});
  expect_refused(tlc({"compile", "gem", "-o", out}), "tlc", {"did you mean 'gemm'"});
  expect_refused(tlc({"gemm", "m=8"}), "tlc", {"did you mean 'compile gemm'?"});
  expect_refused(tlc({"compile", "gemm", "-o"}), "tlc", {"--output is given no value; give one"});
  expect_refused(tlc({"compile", "gemm", "-o", "-"}), "tlc", {"cannot write '-'", "/dev/stdout"});
  expect_refused(tlc({"compile", "gemm", "mm=3", "-o", out}), "tlc", {"no parameter 'mm'"});
  expect_refused(tlc({"compile", "gemm", "-o", out, "--machine", "single"}), "tlc",
                 {"no machine 'single'; machines are single_pe, single_pe_ns, cube_8pe, "
                  "llama70b_4sip, or give --topology FILE.yaml"});
  expect_refused(tlc({"compile", "gemm", "-o", out, "--machine", "single_pe", "--topology", "x"}),
                 "tlc", {"--machine single_pe and --topology x", "drop one"});
  expect_refused(tlc({"compile", "gemm", "-o", out, "--topology", folder / "none.yaml"}), "tlc",
                 {"none.yaml"});
  expect_refused(tlc({"compile", "gemm", "-o", out, "--set", "pe.math.lane=3"}), "tlc",
                 {"pe.math.lane"});
  expect_refused(tlc({"compile", "gemm", "-o", out, "--data"}), "tlc",
                 {"compile: no option '--data'"});
  expect_refused(tlc({"compile", "gemm", "m=1000000", "k=1000000", "-o", out}), "tlc",
                 {"enlarge hbm.bytes"});
  expect_refused(tlc({"compile", "gemm", "m=4096", "k=4096", "-o", out}), "tlc",
                 {"TCM scratch is exhausted"});
  expect_refused(tlc({"compile", "gemm", "-o", folder / "none/f.kbp"}), "tlc", {"none/f.kbp"});
  expect_refused(tlc({"compile", "gemm", "-o", folder.path()}), "tlc", {folder.path()});
  expect_refused(tlc({"info"}), "tlc", {"file is required"});
  expect_refused(tlc({"disasm", "a", "b"}), "tlc", {"'b' is one argument too many"});
  EXPECT_THAT(folder.names(), IsEmpty());
  EXPECT_EQ(tlc({"compile", "--help"}).exit_code, 0);
  EXPECT_THAT(tlc({"help", "compile"}).out, HasSubstr("--output FILE REQUIRED"));
  EXPECT_THAT(tlc({"--version"}).out, MatchesRegex("tlc \\(KernBench [0-9.]+\\)\n"));
}

TEST(Tlc, DoesNotOverwriteItsTopology) {
  const TemporaryFolder folder;
  const std::string topology = folder / "t.yaml";
  write(topology, "name: t\n");
  expect_refused(tlc({"compile", "gemm", "--topology", topology, "-o", topology}), "tlc",
                 {"--topology and --output name the same file"});
  EXPECT_EQ(read_file(topology), "name: t\n");
}

TEST(Tlc, KeepsTheOldFileIfItCannotCompile) {
  const TemporaryFolder folder;
  const std::string path = compiled(folder, kSmallGemm);
  const std::string before = read_file(path);
  expect_refused(tlc({"compile", "gemm", "m=0", "-o", path}), "tlc", {"m=0"});
  EXPECT_EQ(read_file(path), before);
  EXPECT_THAT(folder.names(), ElementsAre("f.kbp"));
}

// --- program files that are not right -------------------------------------------------------

TEST(ProgramFile, IsRefusedByAllThatReadIt) {
  const TemporaryFolder folder;
  const std::string good = read_file(compiled(folder, kSmallGemm));
  const std::string path = folder / "bad.kbp";
  const auto expect_all_refuse = [&](const std::string& file, const std::string& part) {
    expect_refused(tlc({"info", file}), "tlc", {file + ": ", part});
    expect_refused(tlc({"disasm", file}), "tlc", {file + ": ", part});
    expect_refused(single_pe({"run", "--program", file}), "single_pe", {file + ": ", part});
  };
  expect_all_refuse(folder / "none.kbp", "no such file");
  expect_all_refuse(folder.path(), "is not a regular file");
  write(path, "");
  expect_all_refuse(path, "this is not a program file");
  write(path, "name: single_pe\n");
  expect_all_refuse(path, "this is not a program file");
  write(path, good.substr(0, good.size() / 2));
  expect_all_refuse(path, "is cut short");
  write(path, good + "\n");
  expect_all_refuse(path, "has something appended");
  std::string flipped = good;
  flipped[good.size() / 2] ^= 1;
  write(path, flipped);
  expect_all_refuse(path, "the file was changed");
  // Sparse files that no memory would hold: the header alone tells.
  constexpr std::uintmax_t kHuge = std::uintmax_t{1} << 38;
  write(path, "name: single_pe\n");
  std::filesystem::resize_file(path, kHuge);
  expect_all_refuse(path, "this is not a program file");
  write(path, good);
  std::filesystem::resize_file(path, kHuge);
  expect_all_refuse(path, "has something appended");
}

TEST(ProgramFile, IsRefusedByATopologyThatItDoesNotFit) {
  const TemporaryFolder folder;
  const std::string gemm = compiled(folder, kSmallGemm);
  const auto refuse = [&](const std::string& set, const std::string& part) {
    expect_refused(single_pe({"run", "--program", gemm, "--set", set}), "single_pe", {gemm, part});
  };
  refuse("hbm.bytes=8192", "it takes 8448 bytes of HBM and a PE of single_pe sees 8192");
  refuse("pe.tcm.scratch_bytes=128", "it takes 256 bytes of TCM scratch");
  const std::string gather = compiled(folder, {"all_gather", "n=16", "--machine", "cube_8pe"});
  expect_refused(single_pe({"run", "--program", gather}), "single_pe",
                 {"program 1 runs on PE 1 and single_pe has PE 0 alone"});
  EXPECT_EQ(cube_8pe({"run", "--program", gather}).exit_code, 0);
}

// --- running one ----------------------------------------------------------------------------

/// The summary without its last key, `host`, and another one.
std::string summary_of(const std::string& path, const std::string& without) {
  auto summary = nlohmann::ordered_json::parse(read_file(path));
  summary.erase("host");
  summary.erase(without);
  return summary.dump();
}

TEST(RunProgram, WritesTheFilesOfTheKernel) {
  const TemporaryFolder folder;
  const std::vector<std::string> names{"op_log", "vcd", "trace", "figure", "summary"};
  const auto outputs = [&](std::vector<std::string> arguments, const std::string& prefix) {
    for (const std::string& name : names) {
      std::string option = "--" + name;
      std::replace(option.begin(), option.end(), '_', '-');
      arguments.insert(arguments.end(), {option, folder / (prefix + name)});
    }
    arguments.emplace_back("--check-hazards");
    const Outcome outcome = single_pe(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.out.substr(0, outcome.out.find("\nhost: "));
  };
  // A list of one number stays a list.
  for (const std::string parameter : {"s_kv=100", "lengths=70"}) {
    SCOPED_TRACE(parameter);
    const std::string program = compiled(folder, {"gqa_decode", parameter});
    EXPECT_EQ(outputs({"run", "--program", program}, "replayed_"),
              outputs({"run", "gqa_decode", parameter}, "live_"));
    for (const std::string name : {"op_log", "vcd", "trace", "figure"}) {
      EXPECT_TRUE(read_file(folder / ("live_" + name)) == read_file(folder / ("replayed_" + name)))
          << name;
    }
    EXPECT_EQ(summary_of(folder / "live_summary", ""), summary_of(folder / "replayed_summary", ""));
  }
}

// For a smaller table entries are set again, which costs no dispatch: the run is the same.
TEST(RunProgram, IsTheSameForAnyHandleTable) {
  const TemporaryFolder folder;
  const std::string large = folder / "large.summary", small = folder / "small.summary";
  const auto run = [&](const std::vector<std::string>& words, const std::string& summary) {
    const Outcome outcome =
        single_pe({"run", "--program", compiled(folder, words), "--summary", summary});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return read_file(folder / "f.kbp").substr(48, 4);
  };
  EXPECT_EQ(run({"gqa_decode", "s_kv=300"}, large), std::string("\0\x10\0\0", 4));
  EXPECT_EQ(run({"gqa_decode", "s_kv=300", "--table-entries", "16"}, small),
            std::string("\x10\0\0\0", 4));
  EXPECT_EQ(summary_of(large, ""), summary_of(small, ""));
  for (const std::string entries : {"0", "65537", "-1", "many"}) {
    expect_refused(tlc({"compile", "gemm", "-o", folder / "no.kbp", "--table-entries=" + entries}),
                   "tlc",
                   {"--table-entries is " + entries + "; it must be a number in [1, 65536]"});
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "no.kbp"));
}

// The inputs of one run are the inputs of the other, and so are the numbers and their check.
TEST(RunProgram, ComputesTheNumbersOfTheKernel) {
  const TemporaryFolder folder;
  const std::string inputs = folder / "in.safetensors";
  // merge: m, l, O of two parts, which are its inputs and, merged, its outputs.
  const std::vector<std::string> merge{"state_merge", "parts=2", "rows=8", "d=16"};
  const std::string program = compiled(folder, merge);
  const auto floats = [](std::size_t count, const std::string& four_bytes) {
    std::string data;
    for (std::size_t i = 0; i < count; ++i) data += four_bytes;
    return data;
  };
  const std::string one("\x00\x00\x80\x3f", 4);
  const auto shapes = nlohmann::ordered_json::parse(
      R"({"m":{"dtype":"F32","shape":[2,8],"data_offsets":[0,64]},)"
      R"("l":{"dtype":"F32","shape":[2,8],"data_offsets":[64,128]},)"
      R"("O":{"dtype":"F32","shape":[2,8,16],"data_offsets":[128,1152]}})");
  const std::string header = shapes.dump();
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(header.size() >> (8 * i) & 0xff);
  write(inputs, bytes + header + floats(288, one));

  std::vector<std::string> live{"run"};
  live.insert(live.end(), merge.begin(), merge.end());
  live.insert(live.end(), {"--data", "--inputs", inputs, "--outputs", folder / "live"});
  ASSERT_EQ(single_pe(live).exit_code, 0) << single_pe(live).err;
  const Outcome replayed =
      single_pe({"run", "--program", program, "--data", "--inputs", inputs, "--outputs",
                 folder / "replayed", "--summary", folder / "summary"});
  ASSERT_EQ(replayed.exit_code, 0) << replayed.err;
  EXPECT_EQ(read_file(folder / "replayed"), read_file(folder / "live"));
  EXPECT_THAT(replayed.out, HasSubstr("error against float64"));
  EXPECT_EQ(nlohmann::json::parse(read_file(folder / "summary"))["numerics"]["pass"], true);
  EXPECT_EQ(nlohmann::json::parse(read_file(folder / "summary"))["kernel"], "state_merge");

  expect_refused(
      single_pe({"run", "--program", compiled(folder, kSmallGemm), "--data", "--inputs", inputs}),
      "single_pe", {"inputs are a, b"});
}

// Without --inputs they are those of the live run with the same seed. l of state_merge is at least
// 1, which the file does not say: another l would have other results.
TEST(RunProgram, TakesTheSyntheticInputsOfTheKernel) {
  const TemporaryFolder folder;
  const std::vector<std::string> merge{"state_merge", "parts=2", "rows=8", "d=16"};
  const std::string program = compiled(folder, merge);
  std::set<std::string> results;
  for (const std::vector<std::string>& seed :
       {std::vector<std::string>{}, {"--seed", "0"}, {"--seed", "3"}}) {
    const auto run = [&](std::vector<std::string> arguments, const std::string& outputs) {
      arguments.insert(arguments.begin(), "run");
      arguments.insert(arguments.end(), {"--data", "--outputs", outputs});
      arguments.insert(arguments.end(), seed.begin(), seed.end());
      const Outcome outcome = single_pe(arguments);
      EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
      EXPECT_THAT(outcome.out, HasSubstr(": pass"));
      return outcome.out.substr(0, outcome.out.find("host:"));
    };
    EXPECT_EQ(run({"--program", program}, folder / "replayed"), run(merge, folder / "live"));
    EXPECT_EQ(read_file(folder / "replayed"), read_file(folder / "live"));
    results.insert(read_file(folder / "live"));
  }
  EXPECT_EQ(results.size(), 2U);  // 0 is the default
}

TEST(RunProgram, TellsThatNumbersAreNotChecked) {
  const TemporaryFolder folder;
  const std::string program = compiled(folder, {"dispatch", "commands=3"});
  const std::string line = "checked  nothing: the kernel dispatch has no reference\n";
  const Outcome data = single_pe({"run", "--program", program, "--data"});
  EXPECT_EQ(data.exit_code, 0) << data.err;
  EXPECT_THAT(data.out, HasSubstr(line));
  EXPECT_THAT(single_pe({"run", "--program", program}).out, Not(HasSubstr(line)));
}

// m = 8, k = 256 and n = 512 are 1 x 2 x 4 tiles of 8 x 128 x 128, and 1 x 2 x 8 of 8 x 128 x 64:
// what is replayed is cut by the tile sizes of the machine that it runs on.
TEST(RunProgram, CountsTheTilesOfTheMachineThatItRunsOn) {
  const TemporaryFolder folder;
  const std::string program = compiled(folder, {"gemm", "n=512", "k=256"});
  const auto tiles = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "run");
    arguments.insert(arguments.end(), {"--summary", folder / "s"});
    const std::string out = single_pe(arguments).out;
    const std::size_t line = out.find("\ntiles ");
    const std::size_t end = out.find('\n', line + 1);
    const double cycles =
        nlohmann::json::parse(read_file(folder / "s"))["dispatch_cycles_per_tile"].get<double>();
    // One composite of 46 bytes in the loop: 40 + 46 / 16 cycles.
    EXPECT_EQ(cycles * std::stod(out.substr(line + 6, end - line - 6)), 42.875);
    return std::stoi(out.substr(line + 6, end - line - 6));
  };
  EXPECT_EQ(tiles({"--program", program}), 8);
  EXPECT_EQ(tiles({"--program", program, "--set", "pe.gemm.tile_n=64"}), 16);
  EXPECT_EQ(tiles({"gemm", "n=512", "k=256", "--set", "pe.gemm.tile_n=64"}), 16);
}

TEST(RunProgram, RefusesWhatDoesNotGoTogether) {
  const TemporaryFolder folder;
  const std::string program = compiled(folder, kSmallGemm);
  expect_refused(single_pe({"run", "gemm", "--program", program}), "single_pe",
                 {"the kernel gemm and --program " + program + " are both given; drop one"});
  expect_refused(single_pe({"run", "--program", program, "--seed", "3"}), "single_pe",
                 {"--seed 3 needs --data; add it"});
  expect_refused(single_pe({"run", "--program", program, "--op-log", program}), "single_pe",
                 {"--program and --op-log name the same file"});
  expect_refused(single_pe({"commands", "gemm", "--program", program}), "single_pe",
                 {"commands: no option '--program'"});
  expect_refused(single_pe({"compare", "gemm", "m=1,2", "--program", program}), "single_pe",
                 {"compare: no option '--program'"});
  EXPECT_THAT(single_pe({"run", "--help"}).out, HasSubstr("a file that tlc has written"));
  EXPECT_THAT(single_pe({"commands", "--help"}).out, HasSubstr("--program-id N"));
}

}  // namespace
}  // namespace kernbench::test
