// SPDX-License-Identifier: Apache-2.0
#include "runtime/demo.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <array>
#include <deque>
#include <filesystem>
#include <system_error>

#include "runtime/bound_by.hpp"
#include "runtime/launch/inputs.hpp"
#include "runtime/prologue_order.hpp"
#include "runtime/summary_table.hpp"
#include "tlm_if/command/error.hpp"

namespace kernbench::runtime {
namespace {

constexpr std::array<const char*, 2> kVariants{"opt2", "opt3"};
constexpr std::uint64_t kSeed = 0;

const kernels::Kernel& decode_of(const std::vector<kernels::Kernel>& kernels) {
  for (const kernels::Kernel& kernel : kernels) {
    if (kernel.name == "gqa_decode") return kernel;
  }
  throw InputError(
      "the demo runs the kernel gqa_decode, which this binary does not have; use one "
      "that has it, such as single_pe");
}

void create(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    throw InputError(fmt::format("--out {}: the folder cannot be created: {}; name another one",
                                 folder, error.message()));
  }
}

OutputPaths paths_in(const std::string& folder, const std::string& variant) {
  const std::string begin = (std::filesystem::path(folder) / variant).string();
  return {{begin + "_op_log.csv", begin + ".vcd", begin + "_trace.json", begin + "_summary.json"},
          {},
          {}};
}

std::string order_line(const PrologueOrder& order) {
  if (order.composites() == 0) {
    return "does not apply: no composite has MATH ahead of its gemm";
  }
  if (order.violations() == 0) {
    return fmt::format("held in all {} composites with MATH ahead of their gemm",
                       order.composites());
  }
  return fmt::format("BROKEN in {} of {} composites", order.violations(), order.composites());
}

/// The two runs, and what their requests point to.
struct Runs {
  std::deque<Launch> launches;
  kernels::HostTensors inputs;  ///< of both variants
  std::array<PrologueOrder, kVariants.size()> orders;
  std::vector<RunRequest> requests;
  std::vector<std::string> labels;
};

void add_run(Runs& runs, std::size_t i, const kernels::Kernel& decode,
             const arch::TopologyConfig& topology, const std::string& folder) {
  const Launch& launch = runs.launches.emplace_back(
      decode,
      Settings{
          {"variant", kVariants[i]}, {"g", "8"}, {"d", "128"}, {"s_kv", "4096"}, {"tile", "64"}},
      topology);
  RunRequest request;
  request.launch = &launch;
  if (runs.inputs.empty()) runs.inputs = synthetic_inputs(launch.instance().tensors, kSeed);
  request.inputs = &runs.inputs;
  request.seed = kSeed;
  request.paths = paths_in(folder, kVariants[i]);
  request.rows = &runs.orders[i];
  runs.requests.push_back(std::move(request));
  runs.labels.emplace_back(kVariants[i]);
}

void print_times(std::ostream& out, const Runs& runs, const std::vector<RunResult>& results) {
  fmt::print(out, "{}\n", summary_table(results, runs.labels));
  for (std::size_t i = 0; i < results.size(); ++i) {
    fmt::print(out, "{}: {}\n", runs.labels[i], bound_by(results[i]));
  }
  const auto loop_ps = [](const RunResult& result) {
    return static_cast<double>(window_of(result).time_ps);
  };
  fmt::print(
      out,
      "\nopt3 / opt2\n"
      "  dispatch cycles per tile  {:.3f}  cost of issuing the commands on PE_CPU\n"
      "  total time of the loop    {:.3f}  what a user waits for; not the same as dispatch\n\n",
      ratio(results[1].dispatch_cycles_per_tile, results[0].dispatch_cycles_per_tile),
      ratio(loop_ps(results[1]), loop_ps(results[0])));
}

/// Prints the checks and returns whether they passed; those of the numbers are in the table.
bool print_checks(std::ostream& out, const Runs& runs, const std::vector<RunResult>& results) {
  const BitEquality equality = compare_results(results);
  fmt::print(out, "results of opt2 and opt3: {}\n", to_string(equality));
  bool passed = equality.different.empty();
  for (std::size_t i = 0; i < results.size(); ++i) {
    fmt::print(out, "K before V in {}: {}\n", runs.labels[i], order_line(runs.orders[i]));
    const bool numbers_right = results[i].numerics && results[i].numerics->pass;
    passed = passed && runs.orders[i].violations() == 0 && numbers_right;
  }
  return passed;
}

void print_files(std::ostream& out, const Runs& runs) {
  fmt::print(out, "\nfiles\n");
  for (std::size_t i = 0; i < runs.requests.size(); ++i) {
    const OutputPaths& paths = runs.requests[i].paths;
    fmt::print(out,
               "  {}  op log   {}\n        waves    {}  (GTKWave)\n"
               "        trace    {}  (ui.perfetto.dev)\n        summary  {}\n",
               runs.labels[i], paths.op_log, paths.vcd, paths.trace, paths.summary);
  }
}

}  // namespace

std::vector<std::string> demo_files(const std::string& folder) {
  std::vector<std::string> files;
  for (const char* variant : kVariants) {
    const OutputPaths paths = paths_in(folder, variant);
    files.insert(files.end(), {paths.op_log, paths.vcd, paths.trace, paths.summary});
  }
  return files;
}

bool run_demo(std::ostream& out, const std::vector<kernels::Kernel>& kernels,
              const arch::TopologyConfig& topology, const MemoryFactory& memory,
              const std::string& folder) {
  const kernels::Kernel& decode = decode_of(kernels);
  Runs runs;
  for (std::size_t i = 0; i < kVariants.size(); ++i) add_run(runs, i, decode, topology, folder);
  create(folder);  // not for a topology that the kernel does not fit
  const std::vector<RunResult> results = simulate(topology, memory, runs.requests);

  fmt::print(
      out,
      "Decode attention on one PE beside HBM ({}): one KV head of Llama 70B, 8 query heads\n"
      "of 128 entries, 4096 tokens in the cache, in tiles of 64; data on, N(0,1) inputs.\n"
      "opt2 fuses softmax and P.V into one composite per tile; opt3 issues them one by one.\n\n",
      arch::title_of(topology));
  print_times(out, runs, results);
  const bool passed = print_checks(out, runs, results);
  print_files(out, runs);
  return passed;
}

}  // namespace kernbench::runtime
