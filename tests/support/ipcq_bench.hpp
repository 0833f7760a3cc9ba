// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "model/arch/config.hpp"
#include "model/pe.hpp"
#include "model/record/hazards.hpp"
#include "tests/support/op_log_reader.hpp"

namespace kernbench::test {

/// How a test runs kernels on several PEs, each with an embedded HBM of its own, between which
/// every packet takes the same time and none holds up another.
struct IpcqOptions {
  std::uint64_t latency_ps = 100'000;
  bool data = false;
  /// Where the test judges itself what the hazard checkers find: otherwise they must find no race.
  bool expects_hazards = false;
  /// Otherwise the simulation must not end with an error.
  bool expects_report = false;
  /// False: the sockets to the network stay unbound.
  bool connected = true;
  /// PEs are created in the reverse order, and packets of one instant delivered so.
  bool reversed = false;
  /// Makes TestHooks::extra_delay of a PE.
  std::function<std::function<std::uint64_t()>(std::uint32_t pe)> extra_delay;
  /// The bytes of the HBM of a PE, in data mode before the simulation starts.
  std::function<void(std::uint32_t pe, arch::Storage& hbm)> load;
  /// Called before the simulation starts.
  std::function<void(const std::vector<Pe*>& pes)> elaborated;
  /// In place of one sc_start() to the end.
  std::function<void(const std::vector<Pe*>& pes)> simulate;
};

struct IpcqResult {
  std::string op_log;
  std::vector<OpLogRow> rows;
  bool idle = false;                 ///< all PEs
  std::vector<std::string> waiting;  ///< lines of the wait graph of all PEs
  std::string cycle;
  std::string report;  ///< the error that ended the simulation, if options.expects_report
  // By PE:
  std::vector<record::HazardFindings> hazards;
  std::vector<std::map<std::string, std::vector<float>>> observed;  ///< data mode, by name
  std::vector<std::vector<Region>> regions;
};

/// The first error that the model reports in `simulate`, which ends there: `id: text`. Not thrown:
/// an exception through libsystemc and its coroutines is nothing that ASan can follow.
std::string first_report(const std::function<void()>& simulate);

/// A kernel a PE, whatever number of PEs `topology` gives. Once a process.
IpcqResult run_pes(const arch::TopologyConfig& topology, const std::vector<KernelBody>& kernels,
                   const IpcqOptions& options = {});

}  // namespace kernbench::test
