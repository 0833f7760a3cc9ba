// SPDX-License-Identifier: Apache-2.0
// The binaries as their users see them: exit codes, messages, files, figures (contract 10 to 13).
#include "tests/runtime/command_line.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "kernels/catalogue.hpp"
#include "runtime/launch/inputs.hpp"
#include "runtime/launch/launch.hpp"
#include "tests/support/op_log_reader.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/vcd_reader.hpp"

namespace kernbench::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ContainerEq;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

Outcome single_pe(const std::vector<std::string>& arguments) {
  return run_program(KERNBENCH_SINGLE_PE, arguments);
}
Outcome single_pe_ns(const std::vector<std::string>& arguments) {
  return run_program(KERNBENCH_SINGLE_PE_NS, arguments);
}
Outcome odd_pe(const std::vector<std::string>& arguments) {
  // A run that fails leaves its kernel where it waits, with all that is on its stack.
  return run_program(KERNBENCH_ODD_PE, arguments, Leaks::ignored);
}

/// single_pe with these words, in a shell in that folder.
Outcome in_shell(const std::string& folder, const std::string& words) {
  return run_program("/bin/sh",
                     {"-c", "cd '" + folder + "' && '" + KERNBENCH_SINGLE_PE + "' " + words});
}

/// Refused with exit code 2 and this in the first line; stdout stays empty.
void expect_refused(const Outcome& outcome, const std::vector<std::string>& parts) {
  EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
  EXPECT_THAT(outcome.first_error(), StartsWith("single_pe: "));
  for (const std::string& part : parts) EXPECT_THAT(outcome.first_error(), HasSubstr(part));
  EXPECT_EQ(outcome.out, "");
}

json read_json(const std::string& path) { return json::parse(read_file(path)); }

/// The summary of a run without its last key, `host`, as text.
std::string without_host(const std::string& path) {
  nlohmann::ordered_json summary = nlohmann::ordered_json::parse(read_file(path));
  summary.erase("host");
  return summary.dump();
}

std::vector<std::string> keys(const nlohmann::ordered_json& object) {
  std::vector<std::string> names;
  for (const auto& [name, value] : object.items()) names.push_back(name);
  return names;
}

json summary_of(const Outcome& outcome, const std::string& path) {
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  return read_json(path);
}

// --- summary --------------------------------------------------------------------------------

// Contract 12.
TEST(Summary, HasTheKeysOfTheContractInOrder) {
  const TemporaryFolder folder;
  const std::string path = folder / "s.json";
  ASSERT_EQ(single_pe({"run", "gqa_decode", "s_kv=64", "--data", "--summary", path}).exit_code, 0);
  const auto summary = nlohmann::ordered_json::parse(read_file(path));
  EXPECT_THAT(keys(summary),
              ElementsAre("schema", "kernel", "params", "topology", "topology_overrides", "seed",
                          "kernbench_version", "sim_time_ps", "commands", "logical_bytes",
                          "dispatch_cycles", "dispatch_cycles_per_tile", "engines", "stalls",
                          "regions", "hbm", "dma_port", "numerics", "tcm", "host"));
  EXPECT_THAT(keys(summary["params"]),
              ElementsAre("variant", "g", "d", "s_kv", "tile", "t_q", "kv_heads", "dtype", "stats",
                          "kv", "c", "p", "merge"));
  EXPECT_THAT(keys(summary["engines"]),
              ElementsAre("cpu", "dma_rd", "dma_wr", "tcm", "gemm", "math"));
  for (const auto& engine : summary["engines"]) {
    EXPECT_THAT(keys(engine), ElementsAre("busy_ps", "stages", "bytes", "elements"));
  }
  EXPECT_THAT(keys(summary["stalls"]), ElementsAre("queue_ps", "admit_ps", "await_ps"));
  EXPECT_THAT(keys(summary["regions"]), ElementsAre("loop"));
  EXPECT_THAT(keys(summary["regions"]["loop"]), ElementsAre("start_ps", "end_ps"));
  EXPECT_THAT(keys(summary["hbm"]), ElementsAre("read_bytes", "write_bytes"));
  EXPECT_THAT(keys(summary["dma_port"]), ElementsAre("read", "write"));
  for (const auto& direction : summary["dma_port"]) {
    EXPECT_THAT(keys(direction), ElementsAre("bursts", "bytes", "bus_bytes",
                                             "max_outstanding_bytes", "accept_wait_ps"));
  }
  EXPECT_THAT(keys(summary["numerics"]),
              ElementsAre("compared_with", "max_abs_err", "rms_rel_err", "tolerance", "pass"));
  EXPECT_THAT(keys(summary["tcm"]), ElementsAre("scratch_peak_bytes"));
  EXPECT_THAT(keys(summary["host"]), ElementsAre("wall_s", "stages_per_s"));
  EXPECT_EQ(summary["schema"], 1);
  EXPECT_EQ(summary["numerics"]["compared_with"], "float64");
  EXPECT_EQ(summary["numerics"]["tolerance"], 2e-3);  // R13.4; scores of N(0,1) stay below 8
  EXPECT_EQ(summary["numerics"]["pass"], true);
  EXPECT_GT(summary["numerics"]["rms_rel_err"], 0.0);
  EXPECT_GT(summary["host"]["wall_s"], 0.0);
}

// Every output says on what hardware it ran, and with what.
TEST(Summary, TellsTheMachineTheSeedAndTheVersion) {
  const TemporaryFolder folder;
  const std::string path = folder / "s.json";
  const std::string machine = "single_pe with hbm.gbps=256 pe.gemm.tile_n=64";
  const Outcome outcome = single_pe({"run", "gemm", "--set", "hbm.gbps=256", "--set",
                                     "pe.gemm.tile_n=64", "--data", "--seed", "7", "--summary",
                                     path, "--figure", folder / "f.svg", "--trace", folder / "t"});
  const json s = summary_of(outcome, path);
  EXPECT_EQ(s["topology"], "single_pe");
  EXPECT_THAT(s["topology_overrides"], ElementsAre("hbm.gbps=256", "pe.gemm.tile_n=64"));
  EXPECT_EQ(s["seed"], 7);
  EXPECT_THAT(single_pe({"--version"}).out,
              StartsWith("single_pe (KernBench " + s["kernbench_version"].get<std::string>() +
                         "), SystemC "));
  EXPECT_THAT(outcome.out, ContainsRegex("^gemm m=8 [^\n]* on " + machine + "\n"));
  EXPECT_THAT(read_file(folder / "f.svg"), HasSubstr(" on " + machine + "</title>"));
  EXPECT_EQ(read_json(folder / "t")["otherData"]["machine"], machine);

  const json plain = summary_of(single_pe({"run", "gemm", "--summary", path}), path);
  EXPECT_EQ(plain["topology_overrides"], json::array());
  EXPECT_EQ(plain["seed"], nullptr);
  EXPECT_THAT(single_pe({"commands", "gemm", "--set", "hbm.gbps=256"}).out,
              HasSubstr(" on single_pe with hbm.gbps=256: "));
}

/// `a.{b,c}.d` as a.b.d and a.c.d.
std::set<std::string> expanded(const std::string& pattern) {
  const std::size_t open = pattern.find('{');
  if (open == std::string::npos) return {pattern};
  const std::size_t close = pattern.find('}', open);
  std::set<std::string> all;
  std::istringstream in(pattern.substr(open + 1, close - open - 1));
  for (std::string choice; std::getline(in, choice, ',');) {
    all.merge(expanded(pattern.substr(0, open) + choice + pattern.substr(close + 1)));
  }
  return all;
}

/// The keys of docs/timing.md: those of every design, and those that several PEs add.
std::array<std::set<std::string>, 2> keys_of_the_page() {
  std::array<std::set<std::string>, 2> tables;
  std::size_t table = 0;
  std::istringstream in(read_file(KERNBENCH_SOURCE_DIR "/docs/timing.md"));
  std::string line;
  while (std::getline(in, line) && line != "## Summary") {
  }
  while (std::getline(in, line) && line != "### Shares") {
    if (line.rfind("| `", 0) == 0) {
      static const std::regex kPattern("`([^`]*)`");
      const std::string cell = line.substr(0, line.find('|', 1));
      for (std::sregex_iterator match(cell.begin(), cell.end(), kPattern), end; match != end;
           ++match) {
        tables.at(table).merge(expanded((*match)[1]));
      }
    } else if (!tables[0].empty()) {
      table = 1;
    }
  }
  return tables;
}

/// The keys of a summary, NAME for names.
std::set<std::string> keys_of(const json& object, const std::string& prefix = "") {
  static const std::set<std::string> kNamed{"regions.", "per_pe.", "links.", "memories."};
  std::set<std::string> all;
  for (const auto& [key, value] : object.items()) {
    const std::string path = prefix + (kNamed.count(prefix) == 0 ? key : "NAME");
    if (value.is_object() && path != "params") {
      all.merge(keys_of(value, path + '.'));
    } else {
      all.insert(path);
    }
  }
  return all;
}

TEST(Summary, HasTheKeysOfThePage) {
  const TemporaryFolder folder;
  const std::string path = folder / "s.json";
  const auto written = [&](const char* binary, std::vector<std::string> run) {
    for (const char* word : {"--data", "--check-hazards", "--summary"}) run.emplace_back(word);
    run.push_back(path);
    return keys_of(summary_of(run_program(binary, run), path));
  };
  const std::vector<std::string> one{"run", "gqa_decode", "s_kv=64"};
  std::array<std::set<std::string>, 2> page = keys_of_the_page();
  EXPECT_THAT(written(KERNBENCH_SINGLE_PE, one), ContainerEq(page[0]));
  page[1].insert(page[0].begin(), page[0].end());
  EXPECT_THAT(written(KERNBENCH_CUBE_8PE, {"run", "gqa_decode", "s_kv=128", "p=2"}),
              ContainerEq(page[1]));
  // Whatever the run does: here there is one program, and no packet.
  EXPECT_THAT(written(KERNBENCH_CUBE_8PE, one), ContainerEq(page[1]));
}

// opt2 with 4 tiles, all derived by hand from contract 3, 6 and 13.
TEST(Summary, FiguresOfDecodeOpt2) {
  const TemporaryFolder folder;
  const std::string path = folder / "s.json";
  const Outcome outcome =
      single_pe({"run", "gqa_decode", "variant=opt2", "s_kv=256", "--summary", path});
  const json s = summary_of(outcome, path);
  EXPECT_EQ(s["kernel"], "gqa_decode");
  EXPECT_EQ(s["params"]["variant"], "opt2");
  EXPECT_EQ(s["params"]["s_kv"], 256);
  EXPECT_EQ(s["topology"], "single_pe");
  EXPECT_FALSE(s.contains("numerics"));
  // load, 3 fills, 4 x (#1, #2), div_bcast, store.
  EXPECT_EQ(s["commands"], 14);
  EXPECT_EQ(s["logical_bytes"], 21 + 3 * 17 + 4 * (54 + 322) + 33 + 21);
  EXPECT_EQ(s["dispatch_cycles"], 14 * 40 + 1630 / 16.0);
  EXPECT_EQ(s["dispatch_cycles_per_tile"], 103.5);
  // R13.1, and 365.375 + 478 (n - 1) + 378 ns.
  EXPECT_EQ(s["regions"]["loop"]["start_ps"], 180502);
  EXPECT_EQ(s["regions"]["loop"]["end_ps"], 180502 + 365375 + 3 * 478000 + 378000);
  // Each dispatch rounds by itself, half up (R6.1): 41312.5, 41062.5 and 42062.5 ps.
  const json& engines = s["engines"];
  EXPECT_EQ(engines["cpu"]["busy_ps"], 2 * 41313 + 3 * 41063 + 42063 + 4 * (43375 + 60125));
  EXPECT_EQ(engines["cpu"]["stages"], 14);
  EXPECT_EQ(engines["cpu"]["bytes"], 1630);
  // q: 16 + 2048 / 128; a K or V tile: 16 + 16384 / 128.
  EXPECT_EQ(engines["dma_rd"]["busy_ps"], 32000 + 8 * 144000);
  EXPECT_EQ(engines["dma_rd"]["stages"], 9);
  EXPECT_EQ(engines["dma_rd"]["bytes"], 2048 + 8 * 16384);
  EXPECT_EQ(engines["dma_wr"]["busy_ps"], 32000);
  EXPECT_EQ(engines["dma_wr"]["stages"], 1);
  EXPECT_EQ(engines["dma_wr"]["bytes"], 2048);
  // FETCH 2048 + 16384 and 1024 + 16384 bytes, STORE of S 1024 and of O 4096: 36, 34, 2, 8 cycles.
  EXPECT_EQ(engines["tcm"]["busy_ps"], 4 * 80000);
  EXPECT_EQ(engines["tcm"]["stages"], 16);
  EXPECT_EQ(engines["tcm"]["bytes"], 4 * (18432 + 17408 + 1024 + 4096));
  EXPECT_EQ(engines["gemm"]["busy_ps"], 8 * 32000);
  EXPECT_EQ(engines["gemm"]["stages"], 8);
  EXPECT_EQ(engines["gemm"]["elements"], 8 * 8 * 128 * 64);
  // Fills 1, 1, 16; per tile the prologue 44, scale 8, add 16; div_bcast 16 cycles.
  EXPECT_EQ(engines["math"]["busy_ps"], 18000 + 4 * 68000 + 16000);
  EXPECT_EQ(engines["math"]["stages"], 3 + 4 * 10 + 1);
  EXPECT_EQ(engines["math"]["elements"],
            8 + 8 + 1024 + 4 * (4 * 8 + 3 * 512 + 1024 + 512 + 1024) + 1024);
  EXPECT_EQ(s["stalls"]["queue_ps"], 0);
  EXPECT_EQ(s["hbm"]["read_bytes"], 2048 + 8 * 16384);
  EXPECT_EQ(s["hbm"]["write_bytes"], 2048);
  // In bursts of 4096: each is accepted at the end of its service of 32 ns and answered 100 ns
  // later, so that four are outstanding.
  const json &reads = s["dma_port"]["read"], &writes = s["dma_port"]["write"];
  EXPECT_EQ(reads["bursts"], 1 + 8 * 4);
  EXPECT_EQ(reads["bytes"], 2048 + 8 * 16384);
  EXPECT_EQ(reads["bus_bytes"], 2048 + 8 * 16384);
  EXPECT_EQ(reads["max_outstanding_bytes"], 4 * 4096);
  EXPECT_EQ(reads["accept_wait_ps"], 16000 + 8 * 128000);
  EXPECT_EQ(writes["bursts"], 1);
  EXPECT_EQ(writes["bytes"], 2048);
  EXPECT_EQ(writes["max_outstanding_bytes"], 2048);
  EXPECT_EQ(writes["accept_wait_ps"], 16000);
  EXPECT_EQ(s["tcm"]["scratch_peak_bytes"], 10368);

  // The table is about the loop: without q, fills, div_bcast and store. 1152 of 2177.375 ns.
  EXPECT_THAT(outcome.out, ContainsRegex("loop time, ns +2177\\.375"));
  EXPECT_THAT(outcome.out, ContainsRegex("dma_rd +52\\.9 %; 1152\\.000"));
  EXPECT_THAT(outcome.out, ContainsRegex("dma_wr +0\\.0 %; 0\\.000"));
  EXPECT_THAT(outcome.out, ContainsRegex("cpu +19\\.0 %; 414\\.000"));
  EXPECT_THAT(outcome.out, ContainsRegex("math +12\\.5 %; 272\\.000"));
  EXPECT_THAT(outcome.out, HasSubstr("\nbound by serial dependencies (busiest in the loop: dma_rd, "
                                     "53 %; stalls: await "));
}

// A re-entered region spans first start to last end (R13.3): q of the second head is inside.
TEST(Summary, LoopOfTwoHeadsHoldsTheLoadBetweenThem) {
  const Outcome outcome = single_pe({"run", "gqa_decode", "s_kv=256", "kv_heads=2"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, ContainsRegex("dma_rd +[0-9.]+ %; 2336\\.000"));  // 2 x 1152 + 32
  EXPECT_THAT(outcome.out, ContainsRegex("dma_wr +[0-9.]+ %; 32\\.000"));    // out of the first
}

// Contract 13: 356.875 ns, nothing else in the loop; a and b: 2048 and 16384 bytes.
TEST(Summary, FiguresOfOneGemm) {
  const TemporaryFolder folder;
  const std::string path = folder / "s.json";
  const json s = summary_of(single_pe({"run", "gemm", "--summary", path}), path);
  const json& loop = s["regions"]["loop"];
  EXPECT_EQ(loop["end_ps"].get<int>() - loop["start_ps"].get<int>(), 356875);
  EXPECT_EQ(s["dispatch_cycles_per_tile"], 42.875);
  EXPECT_EQ(s["hbm"]["read_bytes"], 2048 + 16384);
}

TEST(BoundBy, DispatchOfNothingElse) {
  const Outcome outcome = single_pe({"run", "dispatch", "commands=50"});
  EXPECT_THAT(outcome.out, HasSubstr("\nbound by cpu dispatch (busy 100 % of the loop)\n"));
}

/// Shares of `engine`, by the row in the loop and by the row of the phase.
std::pair<std::string, std::string> shares_of(const std::string& out, const std::string& engine) {
  std::istringstream in(out);
  std::pair<std::string, std::string> shares;
  std::size_t column = 0;
  for (std::string line; std::getline(in, line);) {
    static const std::regex kCell("  +([^ ]+( [^ ]+)*)");
    std::vector<std::string> cells;
    for (std::sregex_iterator match(line.begin(), line.end(), kCell), end; match != end; ++match) {
      cells.push_back((*match)[1]);
    }
    if (line.rfind("  " + engine + " ", 0) == 0) {
      shares.first = cells.back().substr(0, cells.back().find(';'));
    } else if (line.rfind("phase ", 0) == 0) {
      column =
          static_cast<std::size_t>(std::find(cells.begin(), cells.end(), engine) - cells.begin());
    } else if (line.rfind("loop ", 0) == 0 && column > 0) {
      shares.second = cells.at(column);
    }
  }
  return shares;
}

// Nine heads on eight PEs: pe0 has two of them, the others one, 2 / (9 / 8) of the mean. A head is
// bound by dispatch as on one PE (docs/timing.md: 423 of 462.501 ns a tile).
TEST(BoundBy, ThePeWithTwoHeads) {
  const Outcome outcome = run_program(
      KERNBENCH_CUBE_8PE, {"run", "gqa_decode", "variant=opt3", "s_kv=4096", "kv_heads=9"});
  EXPECT_THAT(outcome.out, ContainsRegex("\nbound by cpu dispatch of pe0 \\(busy 90 % of the "
                                         "loop\\); load imbalance: pe0 is 1\\.8 x the mean\n"));
  const auto [row, phase] = shares_of(outcome.out, "cpu");
  EXPECT_EQ(row, phase);
  EXPECT_THAT(row, StartsWith("89."));
}

// Programs that end up waiting for each other: the two tables of one output agree.
TEST(BoundBy, RowsOfTheLoopAreThoseOfThePhase) {
  const Outcome outcome =
      run_program(KERNBENCH_CUBE_8PE, {"run", "gqa_decode", "p=8", "s_kv=4096"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* name : {"cpu", "dma_rd", "dma_wr", "tcm", "gemm", "math", "ipcq"}) {
    const auto [row, phase] = shares_of(outcome.out, name);
    EXPECT_NE(row, "") << name;
    EXPECT_EQ(row, phase) << name;
  }
}

// b comes over one link out of the mesh, at 64 GB/s, for 4096 * 4096 * 2 bytes: the DMA channel is
// occupied as long, but what it waits for is the link.
TEST(BoundBy, TheLinkThatADmaWaitsFor) {
  const Outcome outcome = run_program(KERNBENCH_CUBE_8PE, {"run", "gemm", "m=8", "k=4096", "n=4096",
                                                           "--set", "hbm.map=interleaved"});
  EXPECT_THAT(outcome.out, ContainsRegex("\nbound by noc\\.[a-z0-9_]+ \\(busy (99|100) % of the "
                                         "run\\)\n"));
}

// 128 tiles of b, 272 ns each on the channel, against 66 of FETCH and 64 of GEMM: the channel is
// busy but for the first dispatch and the way of the last tile, some 400 of 35000 ns.
TEST(BoundBy, StreamedOperand) {
  const Outcome outcome = single_pe({"run", "gemm", "n=16384", "out=hbm"});
  EXPECT_THAT(outcome.out, ContainsRegex("\nbound by dma_rd \\(busy 9[89] % of the loop\\)\n"));
}

// --- compare --------------------------------------------------------------------------------

// Contract 13: 423.0 / 103.5, and loops of 365.375 + 478 (n - 1) + 378 and 462.501 n + 616.503 ns.
TEST(Compare, DispatchAndTotalOfOpt3OverOpt2) {
  const TemporaryFolder folder;
  const std::string path = folder / "c.json";
  const Outcome outcome =
      single_pe({"compare", "gqa_decode", "variant=opt2,opt3", "s_kv=1024", "--summary", path});
  const json c = summary_of(outcome, path);
  ASSERT_EQ(c["runs"].size(), 2u);
  const json &opt2 = c["runs"][0], &opt3 = c["runs"][1];
  EXPECT_EQ(opt2["params"]["variant"], "opt2");
  EXPECT_EQ(opt3["params"]["variant"], "opt3");
  EXPECT_EQ(opt2["dispatch_cycles_per_tile"], 103.5);
  EXPECT_EQ(opt3["dispatch_cycles_per_tile"], 423.0);
  EXPECT_NEAR(c["ratios"]["dispatch_cycles_per_tile"].get<double>(), 423.0 / 103.5, 1e-12);
  const auto loop = [](const json& run) {
    return run["regions"]["loop"]["end_ps"].get<int>() -
           run["regions"]["loop"]["start_ps"].get<int>();
  };
  EXPECT_EQ(loop(opt2), 365375 + 478000 * 15 + 378000);
  EXPECT_EQ(loop(opt3), 462501 * 16 + 616503);
  EXPECT_EQ(c["ratios"]["sim_time_ps"].get<double>(),
            opt3["sim_time_ps"].get<double>() / opt2["sim_time_ps"].get<double>());
  EXPECT_THAT(outcome.out,
              HasSubstr("variant=opt3 / variant=opt2: dispatch cycles per tile 4.087, simulated "));
}

// 412 / 158.
TEST(Compare, TheOtherCalibration) {
  const TemporaryFolder folder;
  const std::string path = folder / "c.json";
  const json c = summary_of(
      single_pe_ns({"compare", "gqa_decode", "variant=opt2,opt3", "s_kv=256", "--summary", path}),
      path);
  EXPECT_EQ(c["runs"][0]["dispatch_cycles_per_tile"], 158.0);
  EXPECT_EQ(c["runs"][1]["dispatch_cycles_per_tile"], 412.0);
  EXPECT_EQ(c["runs"][0]["topology"], "single_pe_ns");
}

// Runs side by side in one simulation are the runs that they are alone.
TEST(Compare, RunsAreThoseOfSingleRuns) {
  const TemporaryFolder folder;
  const std::string both = folder / "c.json";
  ASSERT_EQ(single_pe({"compare", "gqa_decode", "variant=opt1,opt2,opt3", "s_kv=200", "--data",
                       "--summary", both})
                .exit_code,
            0);
  json c = read_json(both);
  ASSERT_EQ(c["runs"].size(), 3u);
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}, std::size_t{2}}) {
    const std::string path = folder / ("s" + std::to_string(i) + ".json");
    ASSERT_EQ(single_pe({"run", "gqa_decode", "variant=opt" + std::to_string(i + 1), "s_kv=200",
                         "--data", "--summary", path})
                  .exit_code,
              0);
    json s = read_json(path);
    s.erase("host");
    c["runs"][i].erase("host");
    EXPECT_EQ(c["runs"][i], s);
  }
}

// R13.4.
TEST(Compare, SaysWhetherResultsAreBitEqual) {
  const Outcome outcome =
      single_pe({"compare", "gqa_decode", "variant=opt1,opt2,opt3", "s_kv=200", "--data"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("results of all runs: bit-equal: O, l, m, out\n"));
}

// tile= leaves the inputs as they are, s_kv= does not.
TEST(Compare, TellsNoEqualityOfDifferentProblems) {
  const Outcome same = single_pe({"compare", "gqa_decode", "tile=32,64", "s_kv=64", "--data"});
  EXPECT_THAT(same.out, HasSubstr("results of all runs: "));
  const Outcome different = single_pe({"compare", "gqa_decode", "s_kv=64,128", "--data"});
  EXPECT_EQ(different.exit_code, 0) << different.err;
  EXPECT_THAT(different.out, Not(HasSubstr("results of all runs")));
}

TEST(Compare, RatiosOfFreeDispatchAreNumbers) {
  const Outcome outcome =
      single_pe({"compare", "gqa_decode", "variant=opt2,opt3", "s_kv=64", "--set",
                 "pe.pe_cost_model.fixed_cycles=0", "--set", "pe.pe_cost_model.cycles_per_byte=0"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("dispatch cycles per tile 0.000, simulated time "));
}

// The loop of one gemm of one tile (contract 13): 42.875 + Kd + 100 + 36 + 32 + 2 ns, Kd = 16 +
// 16384 / gbps.
TEST(Compare, AKeyOfTheTopologyIsAnAxis) {
  const TemporaryFolder folder;
  const std::string path = folder / "c.json";
  const Outcome outcome =
      single_pe({"compare", "gemm", "--set", "hbm.gbps=128,256", "--summary", path});
  const json runs = summary_of(outcome, path)["runs"];
  ASSERT_EQ(runs.size(), 2u);
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    const json& loop = runs[i]["regions"]["loop"];
    const int gbps = i == 0 ? 128 : 256;
    EXPECT_EQ(loop["end_ps"].get<int>() - loop["start_ps"].get<int>(),
              42875 + 16000 + 16384000 / gbps + 170000);
    EXPECT_THAT(runs[i]["topology_overrides"], ElementsAre("hbm.gbps=" + std::to_string(gbps)));
  }
  EXPECT_THAT(outcome.out, ContainsRegex("^gemm m=8 [^\n]* on single_pe, by hbm\\.gbps\n"));
  EXPECT_THAT(outcome.out, ContainsRegex("\n +hbm\\.gbps=128 +hbm\\.gbps=256\n"));
  EXPECT_THAT(outcome.out,
              HasSubstr("\nhbm.gbps=256 / hbm.gbps=128: dispatch cycles per tile 1.000, "
                        "simulated time 0."));
}

// Each value of the parameter with each of the key; each run is the one that it is alone.
TEST(Compare, AParameterAndAKeyAreCrossed) {
  const TemporaryFolder folder;
  const std::string all = folder / "c.json", one = folder / "s.json";
  const Outcome outcome =
      single_pe({"compare", "gqa_decode", "variant=opt2,opt3", "s_kv=200", "--data", "--set",
                 "pe.math.lanes=32", "--set", "hbm.gbps=64,256", "--summary", all});
  json c = summary_of(outcome, all);
  ASSERT_EQ(c["runs"].size(), 4u);
  std::size_t i = 0;
  for (const std::string variant : {"opt2", "opt3"}) {
    for (const std::string gbps : {"64", "256"}) {
      json s = summary_of(
          single_pe({"run", "gqa_decode", "variant=" + variant, "s_kv=200", "--data", "--set",
                     "pe.math.lanes=32", "--set", "hbm.gbps=" + gbps, "--summary", one}),
          one);
      EXPECT_THAT(outcome.out, HasSubstr("\nvariant=" + variant + " hbm.gbps=" + gbps + ": bound"));
      s.erase("host");
      c["runs"][i].erase("host");
      EXPECT_EQ(c["runs"][i++], s);
    }
  }
  EXPECT_THAT(outcome.out,
              HasSubstr(" on single_pe with pe.math.lanes=32, by variant and hbm.gbps"));
  EXPECT_THAT(outcome.out, HasSubstr("results of all runs: bit-equal: O, l, m, out\n"));
}

TEST(Compare, NeedsAListAndTakesOneOfAKind) {
  expect_refused(
      single_pe({"compare", "gqa_decode", "variant=opt2", "--set", "hbm.gbps=64"}),
      {"nothing has several values to compare", "variant=opt2,opt3", "--set hbm.gbps=128,256"});
  expect_refused(single_pe({"compare", "gqa_decode", "variant=opt2,opt3", "tile=32,64"}),
                 {"variant and tile both have several values; give several to one parameter"});
  expect_refused(
      single_pe({"compare", "gemm", "--set", "hbm.gbps=1,2", "--set", "hbm.latency_ns=3,4"}),
      {"hbm.gbps and hbm.latency_ns both have several values; give several to one key "
       "of --set"});
  expect_refused(single_pe({"compare", "gemm", "--set", "hbm.gbps=1,"}), {"hbm.gbps: '' "});
  expect_refused(single_pe({"compare", "gemm", "--set", "1,2"}), {"nothing has several values"});
  expect_refused(single_pe({"compare", "gqa_decode", "tile=32,"}), {"tile= is empty"});
}

// `lengths` takes a list: it is one value, and no sweep.
TEST(Compare, AListParameterIsOneValue) {
  const TemporaryFolder folder;
  const std::string path = folder / "s.json";
  const Outcome outcome = single_pe({"compare", "gqa_decode", "variant=opt2,opt3", "lengths=5,0,64",
                                     "d=16", "--data", "--summary", path});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("variant=opt3"));
  const json runs = read_json(path)["runs"];
  ASSERT_EQ(runs.size(), 2U);
  for (const json& run : runs) {
    EXPECT_EQ(run["params"]["lengths"], "5,0,64");
    EXPECT_FALSE(run["params"].contains("s_kv"));  // lengths says it
  }
  expect_refused(single_pe({"compare", "gqa_decode", "lengths=5,64"}),
                 {"a list such as lengths=5,64 is one value"});
}

// --- files ----------------------------------------------------------------------------------

TEST(Files, TwoRunsGiveTheSameBytes) {
  const TemporaryFolder folder;
  for (const std::string run : {"x", "y"}) {
    ASSERT_EQ(single_pe({"run", "gqa_decode", "s_kv=200", "--data", "--op-log",
                         folder / (run + ".csv"), "--vcd", folder / (run + ".vcd"), "--trace",
                         folder / (run + ".json"), "--summary", folder / (run + "_summary.json"),
                         "--outputs", folder / (run + ".safetensors")})
                  .exit_code,
              0);
  }
  for (const std::string kind : {".csv", ".vcd", ".json", ".safetensors"}) {
    EXPECT_EQ(read_file(folder / ("x" + kind)), read_file(folder / ("y" + kind))) << kind;
    EXPECT_FALSE(read_file(folder / ("x" + kind)).empty()) << kind;
  }
  EXPECT_EQ(without_host(folder / "x_summary.json"), without_host(folder / "y_summary.json"));
}

// Nor does the order of keys in the file, or its style. Each run is a process of its own, at other
// addresses.
TEST(Files, TheOrderOfTopologyKeysChangesNothing) {
  const TemporaryFolder folder;
  std::ofstream(folder / "up.yaml") << R"(name: mine
pe:
  clock_ghz: 1.3
  scheduler: {tile_buffers: 2, max_inflight_composites: 3}
  dma: {read_channels: 2, setup_cycles: 5, burst_bytes: 1024}
  math: {lanes: 48, op_rate: {exp_diff: 0.25, gelu: 0.5}}
hbm: {gbps: 97, latency_ns: 33}
)";
  std::ofstream(folder / "down.yaml") << R"(# the same
hbm:
  latency_ns: 33.0
  gbps: 97
pe:
  math:
    op_rate:
      gelu: 0.5
      exp_diff: 0.25
    lanes: 48
  dma:
    burst_bytes: 1024
    setup_cycles: 5
    read_channels: 2
  scheduler:
    max_inflight_composites: 3
    tile_buffers: 2
  clock_ghz: 1.3
name: mine
)";
  const std::vector<std::string> kinds{".csv", ".vcd", ".json", ".safetensors"};
  for (const std::string run : {"up", "down", "up", "down", "up"}) {
    const Outcome outcome =
        single_pe({"run", "gqa_decode", "s_kv=200", "kv_heads=2", "--data", "--topology",
                   folder / (run + ".yaml"), "--op-log", folder / (run + ".csv"), "--vcd",
                   folder / (run + ".vcd"), "--trace", folder / (run + ".json"), "--summary",
                   folder / (run + "_summary.json"), "--outputs", folder / (run + ".safetensors")});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    for (const std::string& kind : kinds) {
      const std::string bytes = read_file(folder / (run + kind));
      if (!std::filesystem::exists(folder / ("first" + kind))) {
        std::ofstream(folder / ("first" + kind), std::ios::binary) << bytes;
      }
      EXPECT_EQ(bytes, read_file(folder / ("first" + kind))) << run << kind;
    }
  }
  EXPECT_EQ(without_host(folder / "up_summary.json"), without_host(folder / "down_summary.json"));
}

// R8.3: data on or off, the times are the same.
TEST(Files, OpLogIsTheSameWithDataAndWithout) {
  const TemporaryFolder folder;
  ASSERT_EQ(single_pe({"run", "gqa_decode", "s_kv=200", "--op-log", folder / "off"}).exit_code, 0);
  ASSERT_EQ(
      single_pe({"run", "gqa_decode", "s_kv=200", "--data", "--op-log", folder / "on"}).exit_code,
      0);
  EXPECT_EQ(read_file(folder / "off"), read_file(folder / "on"));
}

// The summary, the op log and the waveform tell of one run: dispatches are rows of the cpu.
TEST(Files, AgreeWithEachOther) {
  const TemporaryFolder folder;
  ASSERT_EQ(single_pe({"run", "gqa_decode", "s_kv=200", "--op-log", folder / "log", "--vcd",
                       folder / "vcd", "--vcd-pe", "pe0", "--summary", folder / "s.json"})
                .exit_code,
            0);
  const json s = read_json(folder / "s.json");
  const auto rows = read_op_log(folder / "log");
  const auto dispatches = select(rows, [](const OpLogRow& row) { return row.stage == "dispatch"; });
  EXPECT_EQ(dispatches.size(), s["commands"].get<std::size_t>());
  std::uint64_t end = 0;
  for (const OpLogRow& row : rows) end = std::max(end, row.done);
  EXPECT_EQ(end, s["sim_time_ps"].get<std::uint64_t>());
  const VcdFile vcd = read_vcd(folder / "vcd");
  EXPECT_EQ(vcd.end, end);
  EXPECT_EQ(vcd.stages("pe0.gemm").size(), s["engines"]["gemm"]["stages"].get<std::size_t>());
}

// PEs by number and by name, which is that of their scope.
TEST(Files, TheWaveformIsThatOfTheChosenPes) {
  const TemporaryFolder folder;
  const auto scopes = [&](const std::string& pes) {
    const Outcome outcome = run_program(
        KERNBENCH_LLAMA70B_4SIP,
        {"run", "gqa_decode", "s_kv=200", "c=2", "p=8", "--vcd", folder / "vcd", "--vcd-pe", pes});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    std::set<std::string> names;
    for (const auto& [path, variable] : read_vcd(folder / "vcd").variables) {
      const std::size_t end = path.find(".cpu.");
      if (end != std::string::npos) names.insert(path.substr(0, end));
    }
    return names;
  };
  EXPECT_THAT(scopes("0,5"), ElementsAre("sip0.cube0.pe0", "sip0.cube0.pe5"));
  EXPECT_THAT(scopes("sip0.cube1.pe3,2"), ElementsAre("sip0.cube0.pe2", "sip0.cube1.pe3"));
  for (const char* unknown : {"128", "pe0", "sip0.cube4.pe0", "sip0.cube1.pe3.cpu"}) {
    const Outcome outcome =
        run_program(KERNBENCH_LLAMA70B_4SIP,
                    {"run", "gqa_decode", "--vcd", folder / "other", "--vcd-pe", unknown});
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_THAT(outcome.first_error(),
                AllOf(HasSubstr("there is no PE '" + std::string(unknown) + "'"),
                      HasSubstr("from 0 to 127"), HasSubstr("sip0.cube0.pe0"),
                      HasSubstr("sip3.cube3.pe7")));
  }
}

// R11.1: the second file cannot be opened, so there is no first one either.
TEST(Files, NoneIsLeftByARefusedRun) {
  const TemporaryFolder folder;
  expect_refused(single_pe({"run", "gemm", "--op-log", folder / "log", "--summary",
                            folder / "missing/s.json"}),
                 {"cannot write", "missing/s.json", "No such file or directory"});
  expect_refused(single_pe({"run", "gemm", "--op-log", folder / "log", "--data", "--outputs",
                            folder / "missing/o"}),
                 {"cannot write", "missing/o"});
  expect_refused(single_pe({"run", "gqa_decode", "tile=8192", "--op-log", folder / "log"}),
                 {"TCM scratch is exhausted", "choose other parameters"});
  EXPECT_THAT(folder.names(), IsEmpty());
}

TEST(Files, OneNameIsNotTakenTwice) {
  const TemporaryFolder folder;
  expect_refused(
      single_pe({"run", "gemm", "--op-log", folder / "x", "--trace", folder.path() + "/./x"}),
      {"--op-log and --trace name the same file"});
  EXPECT_THAT(folder.names(), IsEmpty());
  EXPECT_EQ(single_pe({"run", "gemm", "--op-log", "/dev/null", "--trace", "/dev/null"}).exit_code,
            0);
}

TEST(Files, OneNameIsNotTakenTwiceHoweverItIsSpelt) {
  const TemporaryFolder folder;
  const std::string message = "single_pe: --op-log and --trace name the same file './x.csv'";
  EXPECT_THAT(in_shell(folder.path(), "run gemm --op-log x.csv --trace ./x.csv").first_error(),
              StartsWith(message));
  EXPECT_THAT(folder.names(), IsEmpty());
  std::filesystem::create_symlink("x.csv", folder / "link");  // to nothing yet
  EXPECT_THAT(in_shell(folder.path(), "run gemm --op-log link --trace ./x.csv").first_error(),
              StartsWith(message));
}

TEST(Files, TheTopologyIsNotOverwritten) {
  const TemporaryFolder folder;
  const std::string yaml = "name: mine\n";
  std::ofstream(folder / "opt2.vcd") << yaml;
  const std::string topology = folder / "opt2.vcd";
  expect_refused(single_pe({"run", "gemm", "--topology", topology, "--summary", topology}),
                 {"--topology and --summary name the same file"});
  expect_refused(
      single_pe({"compare", "gemm", "m=8,16", "--topology", topology, "--summary", topology}),
      {"--topology and --summary name the same file"});
  expect_refused(single_pe({"demo", "--topology", topology, "--out", folder.path()}),
                 {"--topology and --out name the same file"});
  EXPECT_EQ(read_file(topology), yaml);
  EXPECT_THAT(folder.names(), ElementsAre("opt2.vcd"));
}

// The op log comes first: the report does not overwrite it.
TEST(Files, AnOutputMayGoToStdout) {
  const Outcome outcome = single_pe({"run", "gemm", "--op-log", "/dev/stdout"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, StartsWith("start_ps,end_ps,done_ps,pe,engine"));
  EXPECT_THAT(outcome.out, HasSubstr("\ngemm"));
  EXPECT_THAT(outcome.out, HasSubstr("\nbound by "));
}

// The figure draws what the op log tells: a bar a row, and one more for each DMA.
TEST(Files, TheFigureHasABarForEachRow) {
  const TemporaryFolder folder;
  ASSERT_EQ(single_pe({"run", "gqa_decode", "s_kv=200", "--op-log", folder / "log", "--figure",
                       folder / "figure.svg"})
                .exit_code,
            0);
  const std::string figure = read_file(folder / "figure.svg");
  EXPECT_THAT(figure, HasSubstr("<title>gqa_decode variant=opt2 g=8 d=128 s_kv=200 "));
  EXPECT_THAT(figure, HasSubstr(" on single_pe</title>"));
  std::size_t bars = 0;
  for (std::size_t at = 0; (at = figure.find("</title></rect>", at)) != std::string::npos; ++at) {
    ++bars;
  }
  const auto rows = read_op_log(folder / "log");
  const auto dmas = select(rows, [](const OpLogRow& row) { return row.done != row.end; });
  EXPECT_EQ(bars, rows.size() + dmas.size());
}

// 128 tiles of opt3 are more stages than a figure can show, about 30 a tile; a part is not.
TEST(Files, AFigureOfALongRunNeedsAWindow) {
  const TemporaryFolder folder;
  const std::vector<std::string> run{"run",       "gqa_decode",         "variant=opt3",
                                     "s_kv=8192", "--op-log",           folder / "log",
                                     "--figure",  folder / "figure.svg"};
  // Before the run. A tile has ten dispatches, eight MATH and two gemms of DMA, FETCH, GEMM, a MATH
  // and STORE; the rest are 3 fills and div_bcast, load and store.
  const int stages = 128 * (10 + 8 + 2 * 5) + 2 * 6;
  expect_refused(single_pe(run), {"has " + std::to_string(stages) +
                                      " stages without its waits, of which at most 2000",
                                  "--figure-window FROM:TO"});
  EXPECT_THAT(folder.names(), IsEmpty());
  // How many are in a window is known only afterwards; the other outputs are not lost for it.
  std::vector<std::string> most = run;
  most.insert(most.end(), {"--figure-window", "0:1000000"});
  const Outcome too_much = single_pe(most);
  EXPECT_EQ(too_much.exit_code, 1);
  EXPECT_THAT(too_much.first_error(), AllOf(HasSubstr("stages, of which at most 2000"),
                                            HasSubstr("--figure-window FROM:TO")));
  EXPECT_THAT(folder.names(), ElementsAre("log"));
  EXPECT_THAT(too_much.out, HasSubstr("simulated time"));
  const auto rows = select(read_op_log(folder / "log"), [](const OpLogRow& row) {
    return row.stage != "wait" && row.stage != "queue_stall" && row.stage != "admit_stall";
  });
  EXPECT_EQ(rows.size(), static_cast<std::size_t>(stages));
  std::vector<std::string> part = run;
  part.insert(part.end(), {"--figure-window", "1000:2000"});
  EXPECT_EQ(single_pe(part).exit_code, 0);
  EXPECT_THAT(folder.names(), ElementsAre("figure.svg", "log"));
}

TEST(Files, AFigureWindowIsTwoNumbers) {
  for (const char* window :
       {"5", "5:", ":5", "7:7", "8:7", "a:9", "1:2:3", "1:20000000000000000"}) {
    expect_refused(
        single_pe({"run", "gemm", "--figure", "/dev/null", "--figure-window", window}),
        {std::string("--figure-window ") + window + " is not a window", "as in 1000:1500"});
  }
  expect_refused(single_pe({"run", "gemm", "--figure-window", "5:6"}), {"add --figure FILE"});
  const Outcome late =
      single_pe({"run", "gemm", "--figure", "/dev/null", "--figure-window", "900000:900001"});
  EXPECT_EQ(late.exit_code, 1);
  EXPECT_THAT(late.first_error(), HasSubstr("would begin at 900000.000 ns, but the run ends at"));
}

TEST(Files, AFigureIsSvg) {
  const TemporaryFolder folder;
  expect_refused(single_pe({"run", "gemm", "--figure", folder / "f.png"}),
                 {"f.png: a figure is SVG; give a name that ends in .svg"});
  EXPECT_THAT(folder.names(), IsEmpty());
}

TEST(Files, ADashIsNoFile) {
  expect_refused(single_pe({"run", "gemm", "--op-log", "-"}), {"cannot write '-'", "/dev/stdout"});
}

TEST(Files, AnExistingFileSurvivesARefusedRun) {
  const TemporaryFolder folder;
  std::ofstream(folder / "log") << "old\n";
  expect_refused(single_pe({"run", "gqa_decode", "tile=8192", "--op-log", folder / "log"}), {});
  EXPECT_EQ(read_file(folder / "log"), "old\n");
}

// --- data -----------------------------------------------------------------------------------

TEST(Data, OutputsHaveTheShapesOfTheKernel) {
  const TemporaryFolder folder;
  ASSERT_EQ(single_pe({"run", "gqa_decode", "s_kv=64", "g=2", "t_q=3", "kv_heads=2", "--data",
                       "--outputs", folder / "o"})
                .exit_code,
            0);
  const auto outputs = runtime::read_safetensors(folder / "o");
  ASSERT_EQ(outputs.size(), 4u);
  // R8.4: out [kv_heads * g, t_q, d] f16; m, l, O f32, a row per head and query token.
  EXPECT_THAT(outputs.at("out").shape, ElementsAre(4, 3, 128));
  EXPECT_EQ(outputs.at("out").dtype, runtime::FileDType::f16);
  EXPECT_THAT(outputs.at("m").shape, ElementsAre(12));
  EXPECT_THAT(outputs.at("l").shape, ElementsAre(12));
  EXPECT_THAT(outputs.at("O").shape, ElementsAre(12, 128));
  EXPECT_EQ(outputs.at("O").dtype, runtime::FileDType::f32);
}

// Synthetic inputs of seed 3, written to a file and fed back, are the run with --seed 3.
TEST(Data, InputsFromAFileAreTheSameRun) {
  const TemporaryFolder folder;
  arch::TopologyConfig topology;
  const auto kernels = kernels::catalogue();
  const auto decode = std::find_if(kernels.begin(), kernels.end(),
                                   [](const auto& kernel) { return kernel.name == "gqa_decode"; });
  ASSERT_NE(decode, kernels.end());
  const runtime::Launch launch(*decode, {{"s_kv", "100"}}, topology);
  const auto values = runtime::synthetic_inputs(launch.instance().tensors, 3);
  runtime::FileTensors inputs;
  for (const kernels::TensorSpec& tensor : launch.instance().tensors) {
    if (tensor.direction == kernels::Direction::out) continue;
    inputs[tensor.name] = {runtime::file_dtype(tensor.dtype), tensor.file_shape,
                           values.at(tensor.name)};
  }
  runtime::write_safetensors(folder / "inputs", inputs);

  const auto run = [&](const std::string& option, const std::string& value, const char* outputs) {
    return single_pe(
        {"run", "gqa_decode", "s_kv=100", "--data", option, value, "--outputs", folder / outputs});
  };
  ASSERT_EQ(run("--inputs", folder / "inputs", "from_file").exit_code, 0);
  ASSERT_EQ(run("--seed", "3", "seed_3").exit_code, 0);
  ASSERT_EQ(run("--seed", "4", "seed_4").exit_code, 0);
  EXPECT_EQ(read_file(folder / "from_file"), read_file(folder / "seed_3"));
  EXPECT_NE(read_file(folder / "seed_4"), read_file(folder / "seed_3"));

  expect_refused(
      single_pe({"run", "gqa_decode", "s_kv=64", "--data", "--inputs", folder / "inputs"}),
      {"tensor 'k' has shape [1, 100, 128]", "[1, 64, 128]"});
  expect_refused(run("--inputs", folder / "inputs", "inputs"),
                 {"--inputs and --outputs name the same file"});
}

// R8.2 and field case 36: masked entries and empty parts come from files as they come from kernels.
TEST(Data, InputsMayBeMasked) {
  const TemporaryFolder folder;
  const double inf = std::numeric_limits<double>::infinity();
  using runtime::FileDType;
  runtime::write_safetensors(folder / "x",
                             {{"x", {FileDType::f16, {3, 2}, {0, -inf, -inf, -inf, 1, 1}}}});
  const auto softmax = [&](const char* inputs, const char* outputs) {
    return single_pe({"run", "softmax", "rows=3", "cols=2", "--data", "--inputs", folder / inputs,
                      "--outputs", folder / outputs});
  };
  const Outcome masked = softmax("x", "y");
  EXPECT_EQ(masked.exit_code, 0) << masked.err;
  EXPECT_THAT(runtime::read_safetensors(folder / "y").at("out").values,
              ElementsAre(1, 0, 0, 0, 0.5, 0.5));
  runtime::write_safetensors(folder / "bad",
                             {{"x", {FileDType::f16, {3, 2}, {0, inf, 0, 0, 0, 0}}}});
  expect_refused(softmax("bad", "z"), {"tensor 'x' has inf at [0, 1]", "finite numbers or -inf"});

  // Row 0: part 0 is empty. Row 1: both are. Row 2: a weight of 0, though not empty.
  runtime::write_safetensors(folder / "parts",
                             {{"m", {FileDType::f32, {2, 3}, {-inf, -inf, 1, 2, -inf, 1}}},
                              {"l", {FileDType::f32, {2, 3}, {0, 0, 0, 4, 0, 0}}},
                              {"O", {FileDType::f32, {2, 3, 1}, {0, 0, 7, 6, 0, 7}}}});
  const Outcome merged = single_pe({"run", "state_merge", "parts=2", "rows=3", "d=1", "--data",
                                    "--inputs", folder / "parts", "--outputs", folder / "merged"});
  EXPECT_EQ(merged.exit_code, 0) << merged.err;
  EXPECT_THAT(merged.out,
              HasSubstr("merged_m against float64: rms(err) / rms(ref) 0, max |err| 0"));
  const auto outputs = runtime::read_safetensors(folder / "merged");
  EXPECT_THAT(outputs.at("out").values, ElementsAre(1.5, 0, 0));
  EXPECT_THAT(outputs.at("merged_m").values, ElementsAre(2, -inf, 1));
  EXPECT_THAT(outputs.at("merged_l").values, ElementsAre(4, 0, 0));
}

TEST(Data, ARunThatChecksNothingSaysSo) {
  EXPECT_THAT(single_pe({"run", "dispatch", "--data"}).out,
              HasSubstr("\nchecked  nothing: the kernel dispatch has no reference\n"));
  EXPECT_THAT(single_pe({"compare", "dispatch", "commands=1,2", "--data"}).out,
              HasSubstr("\ncommands=2: checked nothing: the kernel dispatch has no reference\n"));
  EXPECT_THAT(single_pe({"run", "dispatch"}).out, Not(HasSubstr("checked")));
  EXPECT_THAT(single_pe({"run", "gemm", "--data"}).out, Not(HasSubstr("nothing")));
}

TEST(Data, OptionsThatNeedItAreRefusedWithoutIt) {
  expect_refused(single_pe({"run", "gemm", "--seed", "3"}), {"--seed 3", "--data"});
  expect_refused(single_pe({"run", "gemm", "--inputs", "x"}), {"--inputs x", "--data"});
  expect_refused(single_pe({"run", "gemm", "--outputs", "x"}), {"--outputs x", "--data"});
  expect_refused(single_pe({"run", "gemm", "--data", "--seed", "1", "--inputs", "x"}),
                 {"--seed is for synthetic inputs"});
  expect_refused(single_pe({"run", "gemm", "--data", "--seed", "1.5"}),
                 {"--seed 1.5 is not a whole number"});
}

// --- exit codes and messages ----------------------------------------------------------------

TEST(Usage, UnknownNamesGetTheNearest) {
  expect_refused(single_pe({"rnu", "gemm"}), {"no command 'rnu'", "run", "compare", "demo"});
  expect_refused(single_pe({"run", "gem"}), {"no kernel 'gem'", "did you mean 'gemm'"});
  expect_refused(single_pe({"run", "gqa_decode", "tiel=64"}),
                 {"no parameter 'tiel'", "did you mean 'tile'"});
  expect_refused(single_pe({"run", "gemm", "--op_log", "x"}),
                 {"run: no option '--op_log'", "did you mean '--op-log'"});
  expect_refused(single_pe({"show", "--sett", "x"}), {"show: no option '--sett'", "'--set'"});
  expect_refused(single_pe({"--data", "run", "gemm"}), {"no option '--data' before the command"});
  const Outcome far = single_pe({"compare", "gemm", "--op-log", "x"});
  expect_refused(far, {"compare: no option '--op-log'; options are"});
  EXPECT_THAT(far.err, Not(HasSubstr("did you mean")));
}

TEST(Usage, UnknownNamesMayBeWrittenInCapitals) {
  expect_refused(single_pe({"RUN", "gemm"}), {"did you mean 'run'"});
  expect_refused(single_pe({"run", "GEMM"}), {"did you mean 'gemm'"});
  expect_refused(single_pe({"run", "gqa_decode", "S_KV=64"}), {"did you mean 's_kv'"});
  expect_refused(single_pe({"run", "gqa_decode", "variant=OPT2"}), {"did you mean 'opt2'"});
  const auto set = [](const char* setting) { return single_pe({"run", "gemm", "--set", setting}); };
  expect_refused(set("HBM.GBPS=256"), {"did you mean 'hbm.gbps'"});
  expect_refused(set("pe.dma.port=LT"), {"did you mean 'lt'"});
  expect_refused(set("check_protocol=TRUE"), {"did you mean 'true'"});
}

TEST(Usage, WordsInTheWrongPlace) {
  expect_refused(single_pe({"gqa_decode", "s_kv=64"}),
                 {"no command 'gqa_decode'", "did you mean 'run gqa_decode'?"});
  for (const char* command : {"commands", "run"}) {
    expect_refused(single_pe({command, "x.kbp"}), {"'x.kbp' is not a kernel but looks like a file",
                                                   "tlc disasm x.kbp", "run --program x.kbp"});
  }
}

TEST(Usage, IncompleteCommandLines) {
  expect_refused(single_pe({}), {"no command given", "list, show"});
  expect_refused(single_pe({"run"}), {"kernel is required", "see single_pe run --help"});
  expect_refused(single_pe({"run", "gemm", "m"}), {"'m' is not a kernel parameter", "name=value"});
  expect_refused(single_pe({"run", "gemm", "m=0"}), {"gemm: m=0 is out of range"});
  expect_refused(single_pe({"run", "gemm", "--op-log"}),
                 {"--op-log is given no value; give one, or leave the option out; see single_pe "
                  "run --help"});
  expect_refused(single_pe({"run", "gemm", "--op-log", "--data"}),
                 {"run: --op-log is given no value but the option --data; give it one"});
  expect_refused(single_pe({"run", "gemm", "--summary", "a", "--summary", "b"}),
                 {"--summary is given more than once; give it once"});
  expect_refused(single_pe({"run", "gqa_decode", "s_kv=064"}),
                 {"s_kv=064 is written with a leading zero; give an integer from 1"});
  expect_refused(single_pe({"run", "gqa_decode", "s_kv=64 "}), {"s_kv='64 ' is not an integer"});
  expect_refused(single_pe({"list", "gemm"}), {"'gemm' is one argument too many"});
  expect_refused(single_pe({"run", "gemm", "--vcd-pe", "0"}), {"add --vcd FILE"});
  expect_refused(single_pe({"run", "gemm", "--vcd", "x", "--vcd-pe", "pe1"}),
                 {"--vcd-pe pe1: there is no PE 'pe1'; the only PE is 0 (pe0)"});
  expect_refused(single_pe({"run", "gemm", "--vcd", "x", "--vcd-pe", "0,"}), {"no PE ''"});
  expect_refused(single_pe({"run", "gemm", "--summary", ""}),
                 {"run: --summary is given an empty value"});
  for (const std::string flag : {"--data", "--check-hazards"}) {
    expect_refused(single_pe({"run", "gemm", flag + "=3"}),
                   {flag + " takes no value, and '3' is given; write " + flag + " to turn it on"});
  }
  expect_refused(single_pe({"run", "gemm", "--vcd", "x", "--vcd-pe", "0,pe0"}), {"twice"});
}

TEST(Usage, HelpIsNoError) {
  EXPECT_EQ(single_pe({"--help"}).exit_code, 0);
  const Outcome outcome = single_pe({"run", "--help"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("--op-log FILE "));
  EXPECT_THAT(outcome.out, HasSubstr("--set KEY=VALUE "));
  EXPECT_THAT(outcome.out, Not(HasSubstr("TEXT")));
  EXPECT_EQ(single_pe({"help"}).out, single_pe({"--help"}).out);
  EXPECT_EQ(single_pe({"help", "run"}).out, outcome.out);
}

TEST(Usage, BadTopologies) {
  const TemporaryFolder folder;
  expect_refused(single_pe({"show", "--topology", folder / "none.yaml"}), {"none.yaml"});
  expect_refused(single_pe({"run", "gemm", "--set", "pe.math.lane=3"}),
                 {"pe.math.lane", "pe.math.lanes"});
  std::ofstream(folder / "bad.yaml") << "name: x\nhbm: {gbps: fast}\n";
  expect_refused(single_pe({"run", "gemm", "--topology", folder / "bad.yaml"}),
                 {"bad.yaml:2", "hbm.gbps"});
}

// Nothing to divide by zero, no negative time; where two keys disagree, both are named.
TEST(Usage, TopologiesThatCannotBe) {
  for (const char* key : {"pes_per_cube",
                          "pe.clock_ghz",
                          "pe.cpu.cmd_queue_depth",
                          "pe.scheduler.tile_buffers",
                          "pe.scheduler.max_inflight_composites",
                          "pe.dma.read_channels",
                          "pe.dma.write_channels",
                          "pe.dma.burst_bytes",
                          "pe.tcm.bytes",
                          "pe.tcm.bytes_per_cycle",
                          "pe.gemm.rows",
                          "pe.gemm.cols",
                          "pe.gemm.block_m",
                          "pe.gemm.tile_m",
                          "pe.gemm.tile_k",
                          "pe.gemm.tile_n",
                          "pe.math.lanes",
                          "pe.math.op_rate.gelu",
                          "hbm.gbps",
                          "hbm.efficiency",
                          "hbm.bytes"}) {
    expect_refused(single_pe({"run", "gemm", "--set", std::string(key) + "=0"}),
                   {std::string(key) + ": '0' is out of range; allowed: "});
  }
  expect_refused(single_pe({"run", "gemm", "--set", "hbm.latency_ns=-100"}),
                 {"hbm.latency_ns: '-100' is out of range; allowed: a decimal number in [0, "});
  expect_refused(single_pe({"run", "gemm", "--set", "pes_per_cube=16"}),
                 {"noc.cols 4", "noc.rows 2", "pes_per_cube 16"});
  expect_refused(single_pe({"run", "gemm", "--set", "pe.dma.burst_bytes=65536"}),
                 {"pe.dma.burst_bytes 65536", "pe.dma.max_outstanding_bytes 32768"});
  expect_refused(single_pe({"run", "gemm", "--set", "pe.gemm.tile_k=4096"}),
                 {"single_pe: --set pe.gemm.tile_k=4096: ", "pe.tcm.bytes 1048576",
                  "pe.gemm.tile_k 4096", "pe.tcm.scratch_bytes 131072"});
}

// R3.4: K and V of 2^24 tokens are 4 GiB each.
TEST(Usage, TensorsThatDoNotFit) {
  expect_refused(single_pe({"run", "gqa_decode", "s_kv=16777216"}),
                 {"q 2048 bytes at 0x0, k 4294967296 bytes at 0x1000", "hbm.bytes"});
}

// 16384 bytes at 1 MB/s: the bursts of 4096 bytes end 4.096 ms apart, and nothing happens between.
TEST(Run, GoesOnOverLongGaps) {
  const Outcome outcome = single_pe({"run", "gemm", "--set", "hbm.gbps=0.001"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "");
  // With a, 18432 bytes at 1 us each; the rest of the run takes less than a us.
  EXPECT_THAT(outcome.out, HasSubstr(" 18432"));
}

// A command is dispatched for a millisecond. The second run takes 200 of them, long after the first
// is over.
TEST(Run, AFinishedOneDoesNotEndAnother) {
  const Outcome outcome = odd_pe({"loose", "compare", "dispatch", "commands=1,200", "--set",
                                  "pe.pe_cost_model.fixed_cycles=1000000"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
}

TEST(Failures, AStarvedRunListsWhoWaitsForWhat) {
  const TemporaryFolder folder;
  const Outcome outcome =
      odd_pe({"silent", "run", "right", "--op-log", folder / "log", "--vcd", folder / "vcd",
              "--trace", folder / "trace", "--summary", folder / "summary"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.first_error(),
              AllOf(StartsWith("odd_pe: right stopped at "), HasSubstr("work in flight")));
  EXPECT_THAT(outcome.err, HasSubstr("pe0: kernel waits for command 0 (load)"));
  EXPECT_THAT(folder.names(), IsEmpty());
}

// R11.1: also beside a memory with a clock, which always has something to do.
TEST(Failures, ProgramsThatWaitForEachOtherEndWithTheCircle) {
  for (const char* mode : {"loose", "clocked"}) {
    const TemporaryFolder folder;
    const Outcome outcome = odd_pe({mode, "run", "circular", "--set", "pes_per_cube=2", "--op-log",
                                    folder / "log", "--summary", folder / "s.json"});
    EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
    EXPECT_THAT(outcome.first_error(),
                AllOf(StartsWith("odd_pe: circular stopped at "),
                      HasSubstr("deadlock: pe0 command 0 (recv) -> pe1 kernel -> pe1 command 0 "
                                "(recv) -> pe0 kernel -> pe0 command 0; let one of them go on")));
    EXPECT_THAT(outcome.err,
                HasSubstr("\n  pe1: command 0 (recv) waits for a message from pe0 on channel 0\n"));
    EXPECT_THAT(folder.names(), IsEmpty());
  }
}

// The send of two slots is done at 166.126: fill 41.063 + 64, send 41.063 + 2 * 10.
TEST(Failures, AMessageThatNobodyReceivesIsAFailure) {
  const TemporaryFolder folder;
  const Outcome outcome = odd_pe({"loose", "run", "lost", "--set", "pes_per_cube=2", "--op-log",
                                  folder / "log", "--summary", folder / "s.json"});
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_EQ(outcome.first_error(),
            "odd_pe: lost: pe1 has not received 1 message (2 slots) of pe0 on channel 0 when "
            "launch 1 ended at 166.126 ns; receive all that is sent, or do not send it");
  EXPECT_THAT(folder.names(), IsEmpty());
}

// R11.1.
TEST(Failures, AReportThatIsLostIsAFailure) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "this system has no /dev/full";
  const TemporaryFolder folder;
  for (const char* words : {"show", "list", "run gemm", "--help"}) {
    const Outcome outcome = in_shell(folder.path(), std::string(words) + " > /dev/full");
    EXPECT_EQ(outcome.exit_code, 1) << words;
    EXPECT_EQ(outcome.err,
              "single_pe: the report could not be written to stdout; free some space or send it "
              "elsewhere\n")
        << words;
  }
}

// Its events never end; times are those without the clock.
TEST(Failures, AMemoryWithAClockEndsAsWell) {
  const TemporaryFolder folder;
  for (const char* mode : {"clocked", "loose"}) {
    const Outcome outcome = odd_pe({mode, "run", "gqa_decode", "s_kv=200", "--data", "--op-log",
                                    folder / mode, "--summary", folder / "s.json"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  }
  EXPECT_EQ(read_file(folder / "clocked"), read_file(folder / "loose"));
  EXPECT_EQ(odd_pe({"clocked", "run", "clash"}).exit_code, 2);
}

TEST(Failures, AReportOfTheModelIsOneLine) {
  const TemporaryFolder folder;
  const Outcome outcome = odd_pe({"refusing", "run", "right", "--op-log", folder / "log"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.first_error(), StartsWith("odd_pe: the simulation failed at "));
  EXPECT_THAT(outcome.first_error(), HasSubstr("/kernbench/"));
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  EXPECT_THAT(folder.names(), IsEmpty());
}

// With check_protocol a memory that the port can live with fails the run as well.
TEST(Failures, AViolationOfTheProtocolIsOneLine) {
  EXPECT_EQ(odd_pe({"hasty", "run", "right"}).exit_code, 0);
  const Outcome outcome = odd_pe({"hasty", "run", "right", "--set", "check_protocol=true"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.first_error(),
              AllOf(StartsWith("odd_pe: the simulation failed at "),
                    HasSubstr("/kernbench/monitor/violation: odd_pe.monitor: 15.2.4: END_REQ of a "
                              "request that has been accepted: read of 16 bytes at 0x0")));
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
}

// `lt` is what a loosely timed memory is called by without an adapter; a silent one is found out.
TEST(Failures, APortThatBlocksAndAWatchdog) {
  EXPECT_EQ(odd_pe({"loose", "run", "gqa_decode", "s_kv=200", "--data", "--set", "pe.dma.port=lt"})
                .exit_code,
            0);
  const Outcome outcome = odd_pe({"silent", "run", "right", "--set", "pe.watchdog_ns=1000"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.first_error(), HasSubstr("/kernbench/pe/watchdog: odd_pe.pe0: nothing has "
                                               "gone on for 1000.001 ns"));
  // After the dispatch of the load, 40 + 21 / 16 ns.
  EXPECT_THAT(outcome.first_error(),
              AllOf(HasSubstr("failed at 1041.314 ns: "), EndsWith("or raise pe.watchdog_ns")));
  EXPECT_THAT(outcome.err, ContainsRegex("\n  [^ \n][^\n]* has been sent and not accepted"));
}

// The run itself is done: its files are complete.
TEST(Failures, WrongNumbersKeepTheFiles) {
  const TemporaryFolder folder;
  const Outcome outcome = odd_pe({"loose", "run", "wrong", "--data", "--summary", folder / "s.json",
                                  "--outputs", folder / "o"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.first_error(),
              HasSubstr("numbers are out of tolerance against float64: out"));
  EXPECT_EQ(read_json(folder / "s.json")["numerics"]["pass"], false);
  EXPECT_EQ(read_json(folder / "s.json")["numerics"]["max_abs_err"], 1.0);
  EXPECT_THAT(folder.names(), ElementsAre("o", "s.json"));
}

TEST(Failures, AnotherMemoryHoldsTheData) {
  const Outcome outcome = odd_pe({"loose", "run", "gqa_decode", "s_kv=200", "--data"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("out: pass"));
}

TEST(Failures, FaultsOfAKernelAreOneLine) {
  const Outcome clash = odd_pe({"loose", "run", "clash"});
  EXPECT_EQ(clash.exit_code, 2);
  EXPECT_THAT(clash.first_error(), HasSubstr("observes 'out', which is the name of one of its"));
  const Outcome throwing = odd_pe({"loose", "run", "throwing"});
  EXPECT_EQ(throwing.exit_code, 1);
  EXPECT_EQ(throwing.err,
            "odd_pe: throwing: the kernel's make failed: the kernel author's own mistake\n");
  const Outcome in_simulation = odd_pe({"loose", "run", "thrower"});
  EXPECT_EQ(in_simulation.exit_code, 1);
  EXPECT_EQ(in_simulation.err, "odd_pe: the kernel author's own mistake\n");
}

TEST(Failures, MistakesInAKernelNameItAndWhatItMayUse) {
  const auto expect = [](const char* kernel, const std::string& line) {
    const Outcome outcome = odd_pe({"loose", "run", kernel, "--data"});
    EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
    EXPECT_EQ(outcome.err, "odd_pe: " + line + "\n");
  };
  expect("fragile", "fragile: the kernel's body failed: the kernel author's own mistake");
  const std::string compared = ": the comparison with the reference failed: ";
  expect("misread", "misread" + compared + "no tensor 'xx'; there are x; did you mean 'x'?");
  expect(
      "misspelt",
      "misspelt" + compared +
          "the kernel's reference has 'oot', which is neither an output nor an observed value of "
          "the kernel; those are out; did you mean 'out'?");
}

// --- hazards --------------------------------------------------------------------------------

TEST(CheckHazards, ACleanRunSaysSo) {
  const TemporaryFolder folder;
  const std::string path = folder / "s.json";
  const Outcome outcome =
      single_pe({"run", "gqa_decode", "s_kv=200", "--check-hazards", "--summary", path});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, ContainsRegex("\nhazards: races; reads of unwritten bytes +0; 0\n"));
  const auto summary = nlohmann::ordered_json::parse(read_file(path));
  EXPECT_EQ(summary["hazards"].dump(), R"({"races":0,"uninitialized_reads":0})");
  EXPECT_THAT(keys(summary), testing::Contains("hazards"));
}

TEST(CheckHazards, OnlyLooks) {
  const TemporaryFolder folder;
  ASSERT_EQ(
      single_pe({"run", "gqa_decode", "s_kv=200", "--data", "--op-log", folder / "off"}).exit_code,
      0);
  ASSERT_EQ(single_pe({"run", "gqa_decode", "s_kv=200", "--data", "--check-hazards", "--op-log",
                       folder / "on"})
                .exit_code,
            0);
  EXPECT_EQ(read_file(folder / "off"), read_file(folder / "on"));
}

// R7.3: by handle ids #2(0) does not wait for the scores of #1(0). Of the eight MATH of its
// prologue two read S0, before its STORE (times: tests/model/hazards_test.cpp) and before anything
// else has written it.
TEST(CheckHazards, FindingsAreAFailure) {
  const TemporaryFolder folder;
  const std::string path = folder / "s.json";
  const Outcome outcome =
      single_pe({"run", "gqa_decode", "s_kv=64", "--set", "pe.scheduler.rw_match=handle_id",
                 "--check-hazards", "--summary", path});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.first_error(),
              AllOf(StartsWith("single_pe: gqa_decode variant=opt2"),
                    HasSubstr(": 4 hazards: command 4 (composite) op 0 (gemm): store writes out S0 "
                              "in [543877, 545877) ps, and command 5 (composite) op 0 (rmax): math "
                              "reads src S0 in [284002, 292002) ps without waiting for it;"),
                    HasSubstr("let the later wait for the earlier")));
  EXPECT_THAT(outcome.err, HasSubstr("\n  command 4 (composite) op 0 (gemm): store writes out S0"));
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 4);
  EXPECT_EQ(read_json(path)["hazards"].dump(), R"({"races":2,"uninitialized_reads":2})");
}

// opt3 has its kernel wait for #1 (R6.11), whatever admission does.
TEST(CheckHazards, CompareTellsOfEachRun) {
  const TemporaryFolder folder;
  const std::string path = folder / "s.json";
  const Outcome outcome =
      single_pe({"compare", "gqa_decode", "variant=opt2,opt3", "s_kv=64", "--set",
                 "pe.scheduler.rw_match=handle_id", "--check-hazards", "--summary", path});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.out, ContainsRegex("reads of unwritten bytes +2; 2 +0; 0\n"));
  EXPECT_THAT(outcome.first_error(), HasSubstr("variant=opt2"));
  EXPECT_THAT(outcome.err, Not(HasSubstr("variant=opt3")));
  EXPECT_EQ(read_json(path)["runs"][1]["hazards"]["races"], 0);
}

// --- listings -------------------------------------------------------------------------------

TEST(Listing, ListNamesKernelsAndParameters) {
  const Outcome outcome = single_pe({"list"});
  EXPECT_EQ(outcome.exit_code, 0);
  for (const char* text : {"gqa_decode: ", "gemm: ", "dispatch: ", "variant=opt2", "opt1|opt2|opt3",
                           "tile=64", "tokens of a tile", "(1..65536)",
                           "lengths=", "(a list of 0..", "(identity|reversed, or a list of 0.."}) {
    EXPECT_THAT(outcome.out, HasSubstr(text));
  }
}

TEST(Listing, ShowIsATopologyFile) {
  const TemporaryFolder folder;
  const Outcome first = single_pe({"show", "--set", "pe.math.lanes=128", "--set", "hbm.gbps=1.5"});
  EXPECT_EQ(first.exit_code, 0) << first.err;
  EXPECT_THAT(first.out, AllOf(HasSubstr("128"), HasSubstr("1.5")));
  std::ofstream(folder / "t.yaml") << first.out;
  const Outcome second = single_pe({"show", "--topology", folder / "t.yaml"});
  EXPECT_EQ(second.exit_code, 0) << second.err;
  EXPECT_EQ(second.out, first.out);
  EXPECT_NE(single_pe({"show"}).out, first.out);
}

// One tile of opt2. HBM (R3.4): q 2048 bytes at 0, k and v 16384 each from 4096 on, out after them.
// Scratch from 1 << 40: q 2048, m 32, l 32 (each at a multiple of 64), O 4096, two slots of 1024.
// llama70b_4sip.yaml includes cube_8pe.yaml, which includes pe_defaults.yaml; none of them is in
// the folder where the binary runs.
TEST(Listing, ShowOfABinaryHasWhatItsTopologyIncludes) {
  const TemporaryFolder folder;
  const auto show = [&](const std::string& binary) {
    return run_program("/bin/sh", {"-c", "cd '" + folder.path() + "' && '" + binary + "' show"});
  };
  const Outcome cube = show(KERNBENCH_CUBE_8PE);
  EXPECT_EQ(cube.exit_code, 0) << cube.err;
  EXPECT_THAT(cube.out, AllOf(HasSubstr("name: cube_8pe\nsips: 1\ncubes_per_sip: 1\n"),
                              HasSubstr("\npes_per_cube: 8\n"), HasSubstr("launch_ns: 500\n")));
  const Outcome machine = show(KERNBENCH_LLAMA70B_4SIP);
  EXPECT_EQ(machine.exit_code, 0) << machine.err;
  EXPECT_THAT(machine.out, AllOf(HasSubstr("name: llama70b_4sip\nsips: 4\ncubes_per_sip: 4\n"),
                                 HasSubstr("\npes_per_cube: 8\n"), HasSubstr("launch_ns: 500\n")));
}

TEST(Listing, CommandsOfDecodeOpt2) {
  const Outcome outcome = single_pe({"commands", "gqa_decode", "variant=opt2", "s_kv=64"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("8 commands\n"),
                    HasSubstr("\n#0 load: 21 bytes, 1 segment, 41.3125 cycles\n"
                              "      src: q (8, 128) f16 hbm at 0x0\n"
                              "      out: q (8, 128) f16 tcm at 0x10000000000\n"
                              "#1 fill: 17 bytes, 1 segment, 41.0625 cycles\n"
                              "  0 fill value=-inf\n"
                              "      out: "),
                    HasSubstr("\nregion loop begins\n"
                              "#4 composite: 54 bytes, 1 segment, 43.375 cycles\n"),
                    HasSubstr("#5 composite: 322 bytes, 1 segment, 60.125 cycles, rw=(m, l, O)\n"
                              "  0 rmax reduce_axis=-1\n"),
                    HasSubstr("  9 add per output_tile\n"
                              "      src: accumulator\n"
                              "      other: O (8, 128) f32 tcm at 0x10000000880\n"
                              "      out: accumulator\n"
                              "region loop ends\n"
                              "#6 div_bcast: 33 bytes, 1 segment, 42.0625 cycles\n"),
                    HasSubstr("#7 store: 21 bytes, 1 segment, 41.3125 cycles\n"),
                    HasSubstr("\nobserve O: O (8, 128) f32 tcm at 0x10000000880\n")));
}

// #2: eight MATH stages of 8, 1, 1, 8, 8, 1, 16, 1 ns, then one tile: V from 4096 + 16384 on.
TEST(Listing, PlanOfDecodeOpt2) {
  const Outcome outcome =
      single_pe({"commands", "gqa_decode", "variant=opt2", "s_kv=64", "--plan", "5"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  std::size_t prologue = 0;
  for (std::size_t at = outcome.out.find("\nprologue"); at != std::string::npos;
       at = outcome.out.find("\nprologue", at + 1)) {
    ++prologue;
  }
  EXPECT_EQ(prologue, 8u);
  EXPECT_THAT(outcome.out, Not(HasSubstr("\nepilogue")));
  EXPECT_THAT(outcome.out, HasSubstr("tiles: 1 (m 1, n 1, k 1)\n"));
  EXPECT_THAT(outcome.out, ContainsRegex("prologue +math +op 6 mul_bcast .*1024 elements  busy "
                                         "16\\.000 ns\n"));
  EXPECT_THAT(outcome.out, ContainsRegex("tile \\(0, 0, 0\\) +dma_read +op 8 gemm  b 64x128 at "
                                         "0x5000 .*16384 bytes  busy 144\\.000 ns, done 100\\.000 "
                                         "ns later\n"));
  EXPECT_THAT(outcome.out, ContainsRegex("fetch .*17408 bytes  busy 34\\.000 ns\n"));
  EXPECT_THAT(outcome.out, ContainsRegex("gemm .*65536 elements  busy 32\\.000 ns\n"));
  EXPECT_THAT(outcome.out, ContainsRegex("math +op 9 add  other 8x128 at 0x10000000880"));
  EXPECT_THAT(outcome.out, ContainsRegex("store .*4096 bytes  busy 8\\.000 ns\n"));
}

TEST(Listing, LongPlansAreCutShort) {
  const Outcome outcome = single_pe({"commands", "gemm", "n=16384", "out=hbm", "--plan", "1"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("tiles: 128 (m 1, n 128, k 1)\n"));
  EXPECT_THAT(outcome.out, HasSubstr("\n120 more tiles\n"));
  for (const std::string program : {"1", "99999999999999999999"}) {  // the second: above 2^64
    const Outcome refused = single_pe({"commands", "dispatch", "--program-id", program});
    expect_refused(refused, {"--program-id " + program + ": dispatch", "has one program; give 0"});
  }
  expect_refused(single_pe({"commands", "gemm", "--plan", "2"}),
                 {"--plan 2: gemm has 2 commands; give a number from 0 to 1"});
}

// --- demo -----------------------------------------------------------------------------------

TEST(Demo, LeavesNoFolderIfTheKernelDoesNotFit) {
  const TemporaryFolder folder;
  expect_refused(single_pe({"demo", "--out", folder / "a", "--set", "pe.tcm.scratch_bytes=1024"}),
                 {"TCM scratch is exhausted"});
  EXPECT_THAT(folder.names(), IsEmpty());
}

TEST(Demo, ReportsAndLeavesTheFilesOfBothRuns) {
  const TemporaryFolder folder;
  const std::string out = folder / "a/b";
  const Outcome outcome = single_pe({"demo", "--out", out});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  // Contract 13, 64 tiles: 365.375 + 478 * 63 + 378 and 30216.567 ns; 4.087 and 0.979.
  EXPECT_THAT(outcome.out, ContainsRegex("loop time, ns +30857\\.375 +30216\\.567\n"));
  EXPECT_THAT(outcome.out,
              ContainsRegex("dispatch cycles per tile in the loop +103\\.500 +423\\.000\n"));
  EXPECT_THAT(outcome.out, ContainsRegex("dispatch cycles per tile +4\\.087 "));
  EXPECT_THAT(outcome.out, ContainsRegex("total time of the loop +0\\.979 "));
  EXPECT_THAT(outcome.out, ContainsRegex("checked +out: pass +out: pass\n"));
  EXPECT_THAT(outcome.out, HasSubstr("bit-equal: O, l, m, out\n"));
  EXPECT_THAT(outcome.out, HasSubstr("K before V in opt2: held in all 64 composites"));
  EXPECT_THAT(outcome.out, HasSubstr("opt2: bound by "));
  EXPECT_THAT(outcome.out, HasSubstr(out + "/opt3_op_log.csv"));
  for (const char* variant : {"opt2", "opt3"}) {
    for (const char* kind : {"_op_log.csv", ".vcd", "_trace.json", "_summary.json"}) {
      EXPECT_TRUE(std::filesystem::exists(out + "/" + variant + kind)) << variant << kind;
    }
    // Two runs in one simulation: each is what it is alone.
    const std::string log = folder / "log";
    ASSERT_EQ(single_pe({"run", "gqa_decode", std::string("variant=") + variant, "--data",
                         "--op-log", log})
                  .exit_code,
              0);
    EXPECT_EQ(read_file(out + "/" + variant + "_op_log.csv"), read_file(log)) << variant;
  }
}

}  // namespace
}  // namespace kernbench::test
