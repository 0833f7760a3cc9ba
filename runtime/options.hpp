// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/record/figure.hpp"
#include "runtime/main.hpp"
#include "runtime/run.hpp"

// The options of a binary's command line and their evaluation. All functions throw InputError for
// an invalid option.

namespace kernbench::runtime {

/// As written; empty: not given.
struct Options {
  std::string kernel;
  std::vector<std::string> parameters;
  std::string topology;
  std::vector<std::string> sets;
  bool data = false;
  bool check_hazards = false;
  std::string seed, inputs;
  OutputPaths paths;
  std::string vcd_pes, figure_window;
  std::string plan, program_id;
  std::string program_file;
  std::string folder;
};

arch::TopologyConfig topology_of(const Binary& binary, const Options& options);
/// The same with `sets` in place of the options' sets.
arch::TopologyConfig topology_of(const Binary& binary, const Options& options,
                                 const std::vector<std::string>& sets);

/// The PEs of --vcd-pe, such as `0,pe1`, as numbers; names are those of the VCD.
std::vector<std::uint32_t> pes_of(const std::string& list, const arch::TopologyConfig& topology);

/// --figure-window, `1000:1500` in ns.
record::Figure::Window window_of(const std::string& text);

/// For `run`: either a kernel or a program file (--program), not both.
void check_program_options(const Binary& binary, const Options& options);
/// Checks options that need another option, or exclude it.
void check_data_options(const Options& options);
/// Checks what is known about a figure before the run; the number of stages in a window is not
/// known.
void check_figure(const Options& options, const Launch& launch,
                  const arch::TopologyConfig& topology);
/// No file may be written twice, or over what is read.
void check_outputs(const Options& options);

/// The launch of the kernel, or of the program file of --program.
Launch launch_of(const Binary& binary, const Options& options,
                 const arch::TopologyConfig& topology);

/// The seed of synthetic inputs; none without data, or if the inputs come from a file.
std::optional<std::uint64_t> seed_of(const Options& options);
/// None without data.
std::optional<kernels::HostTensors> inputs_of(const Options& options, const Launch& launch);

}  // namespace kernbench::runtime
