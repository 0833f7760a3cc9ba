// SPDX-License-Identifier: Apache-2.0
// What of a run's time engines, links and memories were busy: for the table, the JSON and the
// verdict.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/summary.hpp"

namespace kernbench::runtime {

/// The engines that work, in the order of the data flow; ipcq only among several PEs.
std::vector<arch::Engine> workers(bool several_pes);

/// Channels of a DMA direction; else 1.
std::uint32_t servers(const RunResult& result, arch::Engine engine);

/// `part / whole`; 0 if there is nothing to divide by.
double share_of(std::uint64_t part, std::uint64_t whole);
/// Of `whole_ps`, in which the engine, channels added up, was busy for `busy_ps`.
double busy_share(const RunResult& result, arch::Engine engine, std::uint64_t busy_ps,
                  std::uint64_t whole_ps);

/// The one with the longest window.
const PeResult& longest_pe(const RunResult& result);

/// PEs share links.
bool has_network(const RunResult& result);

/// A link or an HBM, and the share of the run that it was busy; no name: none was.
struct BusyShare {
  std::string name;
  double share = 0;
};
BusyShare busiest_link(const RunResult& result);
/// A channel, or a PE's slice.
BusyShare busiest_memory(const RunResult& result);

}  // namespace kernbench::runtime
