// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/summary.hpp"

// The share of a run's time that engines, links and memories were busy: for the table, the JSON and
// bound_by().

namespace kernbench::runtime {

/// The engines that do work, in the order of the data flow; ipcq only with several PEs.
std::vector<arch::Engine> workers(bool several_pes);

/// The number of channels of a DMA direction; 1 for other engines.
std::uint32_t servers(const RunResult& result, arch::Engine engine);

/// `part / whole`; 0 if there is nothing to divide by.
double share_of(std::uint64_t part, std::uint64_t whole);
/// The busy share of an engine that was busy for `busy_ps`, summed over its channels, of
/// `whole_ps`.
double busy_share(const RunResult& result, arch::Engine engine, std::uint64_t busy_ps,
                  std::uint64_t whole_ps);

/// The PE with the longest window.
const PeResult& longest_pe(const RunResult& result);

/// True if PEs share links.
bool has_network(const RunResult& result);

/// A link or an HBM, and the share of the run for which it was busy; the name is empty if none was.
struct BusyShare {
  std::string name;
  double share = 0;
};
BusyShare busiest_link(const RunResult& result);
/// A channel, or a PE's slice.
BusyShare busiest_memory(const RunResult& result);

}  // namespace kernbench::runtime
