// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kernels/kernel.hpp"
#include "runtime/host.hpp"
#include "runtime/run.hpp"
#include "tests/support/kernel_bench.hpp"
#include "tests/support/op_log_reader.hpp"

namespace kernbench::test {

/// `topologies/NAME.yaml` with overrides as of --set, and a monitor at every memory socket: a
/// violation fails the test.
arch::TopologyConfig shipped(const std::string& name, const std::vector<std::string>& sets = {});

/// A kernel without tensors in HBM: `body` runs on each of these PEs, as programs 0, 1, ..
kernels::Kernel by_hand(const std::vector<std::uint32_t>& pes,
                        const std::function<void(tl::Context&)>& body);

/// How a test runs a kernel on a machine.
struct MachineRunOptions {
  std::optional<kernels::HostTensors> inputs = {};  ///< none: timing only
  bool reverse_creation = false;
  bool check_hazards = true;
  std::optional<std::vector<std::uint32_t>> vcd_pes = {};  ///< none: no VCD; empty: all
};

struct MachineRun {
  std::string op_log;   ///< the file's bytes
  std::string vcd;      ///< likewise, if there is one
  std::string summary;  ///< JSON without what differs from run to run
  std::vector<OpLogRow> rows;
  runtime::RunResult result;
  kernels::HostTensors results;  ///< with numbers

  const runtime::Phase& phase(const std::string& name) const;
  std::uint64_t loop_ps() const { return phase("loop").end_ps - phase("loop").start_ps; }
};

/// Runs `launch` to its end, and checks the bounds of check_bounds() and that the hazard checker
/// finds nothing. Once a process: SystemC's kernel is global.
MachineRun run_machine(const arch::TopologyConfig& topology, const runtime::Launch& launch,
                       const MachineRunOptions& options = {});

/// What holds of every run, whatever ran: no engine, link or HBM is busy for more than the time
/// passed; the stages of an engine follow each other; the slots received are those sent, in their
/// order; each link has carried what link_loads() derives from the op log, no more and no less.
/// `launch`: as there.
void check_bounds(const arch::TopologyConfig& topology, const std::vector<OpLogRow>& rows,
                  const runtime::KernelLaunch* launch, const std::vector<LinkStatistics>& links,
                  std::uint64_t end_ps);

/// The rows of the op log of running the launches of `host`, which the test has made; bounds
/// checked. Not with an interleaved HBM: its rows do not say which launch they are of.
std::vector<OpLogRow> run_host(const arch::TopologyConfig& topology, runtime::Host& host);

}  // namespace kernbench::test
