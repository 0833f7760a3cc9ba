// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/arch/config.hpp"
#include "model/embedded_hbm.hpp"
#include "model/pe.hpp"
#include "model/record/hazards.hpp"
#include "model/record/recorder.hpp"
#include "tests/support/op_log_reader.hpp"
#include "tests/support/scripted_memory.hpp"
#include "tlm_if/base_protocol_monitor.hpp"

namespace kernbench::test {

/// Of a PE and its memory, as BenchOptions::creation_order counts them.
inline constexpr int kModules = 8;

/// How a test runs a kernel on one PE and the embedded HBM.
struct BenchOptions {
  bool data = false;
  /// The test is about hazards and judges itself what the checker finds. Otherwise it must find no
  /// race, and with `inputs` no read of bytes that nothing has written.
  bool expects_hazards = false;
  /// HBM bytes that have a value from the start. No value: all of HBM, and reads are not judged:
  /// kernels of commands made by hand leave their tensors unfilled.
  std::optional<std::vector<command::ByteRange>> inputs;
  /// Order in which the modules are created: a permutation of kModules numbers from 0 (memory, cpu,
  /// scheduler, dma, tcm, gemm, math, ipcq). Empty: the order of Pe.
  std::vector<int> creation_order;
  /// Bytes of TCM and HBM that nobody wrote are NaNs of every dtype.
  bool poison = false;
  /// TestHooks::extra_delay.
  std::function<std::uint64_t()> extra_delay;
  /// A memory that answers so, in place of the embedded HBM: the bound on its bandwidth is not
  /// checked.
  ScriptedMemory::Script memory;
  /// Called before the simulation starts, not with a creation order.
  std::function<void(const Pe& pe)> elaborated;
  /// Called before the simulation starts, in data mode with the memory's bytes.
  std::function<void(arch::Storage& hbm)> load;
  /// Called when the run has ended.
  std::function<void(const arch::Storage& hbm)> inspect;
};

struct BenchResult {
  std::string op_log;  ///< the file's bytes, as of the next two
  std::string vcd;
  std::string trace;
  std::vector<OpLogRow> rows;
  std::uint64_t end_ps = 0;
  std::vector<Region> regions;
  DispatchTotals totals;
  record::Statistics statistics;
  bool idle = false;
  std::vector<std::string> waiting;
  std::map<std::string, std::vector<float>> observed;  ///< data mode, by name, appended
  record::HazardFindings hazards;
  std::vector<std::string> violations;  ///< of the protocol monitor on the HBM socket

  const Region& region(const std::string& name) const;
  std::uint64_t region_ps(const std::string& name) const {
    return region(name).end_ps - region(name).start_ps;
  }
};

/// Runs to the end. Once a process: SystemC's kernel is global. Checks the lower bounds of contract
/// 13 ("every run"), and that the protocol monitor on the HBM socket and the hazard checker found
/// nothing.
BenchResult run_kernel(const arch::TopologyConfig& topology, const KernelBody& kernel,
                       const BenchOptions& options = {});

/// The defaults of contract 9.
arch::TopologyConfig single_pe();

}  // namespace kernbench::test
