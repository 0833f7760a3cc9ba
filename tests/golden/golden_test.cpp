// SPDX-License-Identifier: Apache-2.0
// Op logs of small runs, byte by byte as in traces/golden/ (R10.2). They say that nothing has
// moved, not that it is right: that is for the closed forms. docs/golden.md tells how to write them
// anew.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <string>
#include <vector>

#include "tests/support/machine_bench.hpp"
#include "tests/support/op_log_diff.hpp"
#include "tests/support/temporary_folder.hpp"

namespace kernbench::test {
namespace {

const std::string kFolder = std::string(KERNBENCH_SOURCE_DIR) + "/traces/golden/";

/// A run of the catalogue: `TOPOLOGY run KERNEL PARAMETERS --set SETS`.
struct GoldenCase {
  std::string name;  ///< of its file, without .csv
  std::string kernel;
  Settings parameters;
  std::vector<std::string> sets;  ///< what differs from the topology
  std::string topology = "single_pe";
};

void PrintTo(const GoldenCase& golden, std::ostream* out) { *out << golden.name; }

// A line adds a case; ./kb golden then writes its file.
std::vector<GoldenCase> cases() {
  return {
      {"gemm_pinned", "gemm", {{"b", "tcm"}}, {}},
      {"gemm_streamed_scale", "gemm", {{"a", "hbm"}, {"out", "hbm"}, {"epilogue", "scale"}}, {}},
      // 2 x 2 x 2 tiles, each of them partial at the far edge.
      {"gemm_tiles_k_epilogue",
       "gemm",
       {{"m", "12"}, {"k", "150"}, {"n", "200"}, {"a", "hbm"}, {"k_epilogue", "scale"}},
       {}},
      {"gemm_systolic_ws", "gemm", {{"n", "200"}}, {"pe.gemm.model=systolic_ws"}},
      // Two tiles of 64 and one of 22.
      {"gqa_decode_opt1", "gqa_decode", {{"variant", "opt1"}, {"s_kv", "150"}}, {}},
      {"gqa_decode_opt2", "gqa_decode", {{"variant", "opt2"}, {"s_kv", "150"}}, {}},
      {"gqa_decode_opt3", "gqa_decode", {{"variant", "opt3"}, {"s_kv", "150"}}, {}},
      // Two blocks of two query tokens, with one tile and two, the last of them masked.
      {"gqa_prefill",
       "gqa_prefill",
       {{"g", "4"}, {"s_q", "4"}, {"tile_q", "2"}, {"prefix", "2"}, {"tile", "4"}},
       {}},
      {"softmax", "softmax", {{"rows", "12"}, {"cols", "100"}}, {}},
      // A block of 8 rows and one of 4, each in chunks of 128 columns and one of 72.
      {"softmax_streamed",
       "softmax",
       {{"rows", "12"}, {"cols", "200"}, {"variant", "streamed"}},
       {"pe.scheduler.math_head_from_hbm=true"}},
      {"rmsnorm_linear", "rmsnorm_linear", {{"n", "200"}}, {}},
      {"linear_gelu_norm", "linear_gelu_norm", {{"n", "200"}}, {}},
      {"state_merge", "state_merge", {{"parts", "3"}}, {}},
      {"mlp", "mlp", {{"f", "200"}}, {}},
      {"dispatch", "dispatch", {{"commands", "8"}}, {}},
      // A tile of 64 tokens and one of 36, each on a PE, and a merge.
      {"split_decode", "gqa_decode", {{"s_kv", "100"}, {"p", "2"}}, {}, "cube_8pe"},
      // Over the ring of SIPs: each PE is a SIP of its own.
      {"all_reduce_ring",
       "all_reduce",
       {{"n", "7"}, {"programs", "3"}},
       {"cubes_per_sip=1", "pes_per_cube=1", "hbm.gbps=128"},
       "llama70b_4sip"},
      {"gemm_interleaved",
       "gemm",
       {{"a", "hbm"}, {"n", "200"}, {"out", "hbm"}},
       {"hbm.map=interleaved"},
       "cube_8pe"},
  };
}

class GoldenTest : public testing::TestWithParam<GoldenCase> {};

TEST_P(GoldenTest, OpLogIsTheCommittedOne) {
  const GoldenCase& golden = GetParam();
  const arch::TopologyConfig topology = shipped(golden.topology, golden.sets);
  const MachineRun result =
      run_machine(topology, launch(topology, golden.kernel, golden.parameters));

  const std::string path = kFolder + golden.name + ".csv";
  if (std::getenv("KERNBENCH_WRITE_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary) << result.op_log;
  }
  const std::string expected = std::filesystem::exists(path) ? read_file(path) : std::string();
  const std::string difference = op_log_diff(expected, result.op_log);
  EXPECT_TRUE(difference.empty()) << difference
                                  << "\nif this is meant, `./kb golden` writes traces/golden/"
                                  << golden.name << ".csv anew";
  // Small enough to be read.
  EXPECT_LE(result.rows.size(), 110u);
}

INSTANTIATE_TEST_SUITE_P(Cases, GoldenTest, testing::ValuesIn(cases()),
                         [](const auto& test) { return test.param.name; });

// A file without a case would be compared with nothing.
TEST(GoldenFiles, EachIsACase) {
  std::vector<std::string> names, files;
  for (const GoldenCase& golden : cases()) names.push_back(golden.name + ".csv");
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    files.push_back(entry.path().filename().string());
  }
  EXPECT_THAT(files, testing::UnorderedElementsAreArray(names));
}

}  // namespace
}  // namespace kernbench::test
