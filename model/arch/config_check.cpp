// SPDX-License-Identifier: Apache-2.0
#include "model/arch/config_check.hpp"

#include <fmt/format.h>

#include "model/arch/topology_keys.hpp"
#include "tlm_if/command/error.hpp"

namespace kernbench::arch {

std::optional<Conflict> find_conflict(
    const PeConfig& pe, const std::function<std::string(const char* path)>& described) {
  if (pe.dma.burst_bytes > pe.dma.max_outstanding_bytes) {  // R6.8
    return Conflict{
        {"pe.dma.burst_bytes", "pe.dma.max_outstanding_bytes"},
        fmt::format("{} is larger than {}, so that no burst could be sent; lower the first or "
                    "raise the second",
                    described("pe.dma.burst_bytes"), described("pe.dma.max_outstanding_bytes"))};
  }
  const std::uint64_t buffers = std::uint64_t{pe.scheduler.tile_buffers} *
                                pe.scheduler.max_inflight_composites * pe.tile_buffer_bytes();
  if (pe.tcm.scratch_bytes + buffers > pe.tcm.bytes) {  // R3.4
    return Conflict{
        {"pe.tcm.scratch_bytes", "pe.tcm.bytes", "pe.scheduler.tile_buffers",
         "pe.scheduler.max_inflight_composites", "pe.gemm.tile_m", "pe.gemm.tile_k",
         "pe.gemm.tile_n"},
        fmt::format(
            "{} plus {} bytes of tile buffers are {} bytes, more than {}; the buffers are {} x {} "
            "x (tile_m tile_k + tile_k tile_n) x 2 bytes with {}, {}, {}; lower one of them or "
            "raise pe.tcm.bytes",
            described("pe.tcm.scratch_bytes"), buffers, pe.tcm.scratch_bytes + buffers,
            described("pe.tcm.bytes"), described("pe.scheduler.tile_buffers"),
            described("pe.scheduler.max_inflight_composites"), described("pe.gemm.tile_m"),
            described("pe.gemm.tile_k"), described("pe.gemm.tile_n"))};
  }
  return std::nullopt;
}

void check_config(const std::string& who, const PeConfig& pe) {
  TopologyConfig config;
  config.pe = pe;
  for (const TopologyKey& key : topology_keys()) {
    if (key.path.rfind("pe.", 0) != 0 || key.type != "whole number") continue;
    const std::string value = key.print(config);
    const std::string problem = key.assign(config, value);
    if (problem.empty()) continue;
    throw InputError(
        fmt::format("{}: {}: '{}' {}; allowed: {}", who, key.path, value, problem, key.allowed));
  }
  const auto conflict = find_conflict(pe, [&](const char* path) {
    return fmt::format("{} {}", path, find_topology_key(path)->print(config));
  });
  if (conflict) throw InputError(fmt::format("{}: {}", who, conflict->message));
}

}  // namespace kernbench::arch
