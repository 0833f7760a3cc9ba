// SPDX-License-Identifier: Apache-2.0
#include "runtime/demo.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <array>
#include <deque>
#include <filesystem>
#include <system_error>

#include "runtime/launch/inputs.hpp"
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

}  // namespace

void PrologueOrder::record(const record::StageRecord& record) {
  // Rows come by start time: MATH outside the tile loop is ahead of it if no b has been read yet,
  // or by its place in the list of ops.
  if (record.stage == arch::StageKind::math && record.tile.m < 0) {
    Composite& composite = composites_[record.cmd];
    if (composite.reads_b && record.op_index > composite.gemm_index) return;
    composite.has_prologue = true;
    composite.prologue_end = std::max(composite.prologue_end, record.end);
  } else if (record.stage == arch::StageKind::dma_read && record.operand == "b") {
    Composite& composite = composites_[record.cmd];
    if (composite.reads_b) return;
    composite.reads_b = true;
    composite.gemm_index = record.op_index;
    composite.first_read = record.start;
  }
}

std::uint64_t PrologueOrder::composites() const {
  return static_cast<std::uint64_t>(
      std::count_if(composites_.begin(), composites_.end(),
                    [](const auto& entry) { return applies(entry.second); }));
}

std::uint64_t PrologueOrder::violations() const {
  return static_cast<std::uint64_t>(
      std::count_if(composites_.begin(), composites_.end(), [](const auto& entry) {
        return applies(entry.second) && entry.second.first_read < entry.second.prologue_end;
      }));
}

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
  std::deque<Launch> launches;  // requests point to them
  kernels::HostTensors inputs;  // and to these: the variants have the same
  std::array<PrologueOrder, kVariants.size()> orders;
  std::vector<RunRequest> requests;
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < kVariants.size(); ++i) {
    const Launch& launch = launches.emplace_back(
        decode,
        Settings{
            {"variant", kVariants[i]}, {"g", "8"}, {"d", "128"}, {"s_kv", "4096"}, {"tile", "64"}},
        topology);
    RunRequest request;
    request.launch = &launch;
    if (inputs.empty()) inputs = synthetic_inputs(launch.instance().tensors, kSeed);
    request.inputs = &inputs;
    request.seed = kSeed;
    request.paths = paths_in(folder, kVariants[i]);
    request.rows = &orders[i];
    requests.push_back(std::move(request));
    labels.emplace_back(kVariants[i]);
  }
  create(folder);  // not for a topology that the kernel does not fit
  const std::vector<RunResult> results = simulate(topology, memory, requests);

  fmt::print(
      out,
      "Decode attention on one PE beside HBM ({}): one KV head of Llama 70B, 8 query heads\n"
      "of 128 entries, 4096 tokens in the cache, in tiles of 64; data on, N(0,1) inputs.\n"
      "opt2 fuses softmax and P.V into one composite a tile; opt3 issues them one by one.\n\n",
      arch::title_of(topology));
  fmt::print(out, "{}\n", summary_table(results, labels));
  for (std::size_t i = 0; i < results.size(); ++i) {
    fmt::print(out, "{}: {}\n", labels[i], bound_by(results[i]));
  }
  const auto loop_ps = [](const RunResult& result) {
    return static_cast<double>(window_of(result).time_ps);
  };
  fmt::print(
      out,
      "\nopt3 / opt2\n"
      "  dispatch cycles a tile  {:.3f}  cost of issuing the commands on PE_CPU\n"
      "  total time of the loop  {:.3f}  what a user waits for; not the same as dispatch\n\n",
      ratio(results[1].dispatch_cycles_per_tile, results[0].dispatch_cycles_per_tile),
      ratio(loop_ps(results[1]), loop_ps(results[0])));
  const BitEquality equality = compare_results(results);
  fmt::print(out, "results of opt2 and opt3: {}\n", to_string(equality));
  bool passed = equality.different.empty();
  for (std::size_t i = 0; i < results.size(); ++i) {
    fmt::print(out, "K before V in {}: {}\n", labels[i], order_line(orders[i]));
    const bool numbers_right = results[i].numerics && results[i].numerics->pass;
    passed = passed && orders[i].violations() == 0 && numbers_right;
  }
  fmt::print(out, "\nfiles\n");
  for (std::size_t i = 0; i < results.size(); ++i) {
    const OutputPaths& paths = requests[i].paths;
    fmt::print(out,
               "  {}  op log   {}\n        waves    {}  (GTKWave)\n"
               "        trace    {}  (ui.perfetto.dev)\n        summary  {}\n",
               labels[i], paths.op_log, paths.vcd, paths.trace, paths.summary);
  }
  return passed;
}

}  // namespace kernbench::runtime
