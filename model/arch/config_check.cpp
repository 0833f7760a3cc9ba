// SPDX-License-Identifier: Apache-2.0
#include "model/arch/config_check.hpp"

#include <fmt/format.h>

#include "model/arch/topology_keys.hpp"
#include "tlm_if/command/error.hpp"

namespace kernbench::arch {
namespace {

/// A value is within the range of a key if the text of it is.
void check_key(const std::string& who, const std::string& path, const TopologyKey& key,
               TopologyConfig config) {
  const std::string value = key.print(config);
  const std::string problem = key.assign(config, value);
  if (problem.empty()) return;
  throw InputError(
      fmt::format("{}: {}: '{}' {}; allowed: {}", who, path, value, problem, key.allowed));
}

void check_section(const std::string& who, std::string_view prefix, const TopologyConfig& config) {
  for (const TopologyKey& key : topology_keys()) {
    if (key.path.compare(0, prefix.size(), prefix) == 0) check_key(who, key.path, key, config);
  }
}

Rational rounded_up(const Rational& x) { return x.num() / x.den() + (x.num() % x.den() != 0); }

}  // namespace

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
  check_section(who, "pe.", config);
  config.hbm.bytes = pe.hbm_bytes;
  check_key(who, "hbm_bytes", *find_topology_key("hbm.bytes"), config);
  const auto conflict = find_conflict(pe, [&](const char* path) {
    return fmt::format("{} {}", path, find_topology_key(path)->print(config));
  });
  if (conflict) throw InputError(fmt::format("{}: {}", who, conflict->message));
}

void check_config(const std::string& who, const HbmConfig& hbm) {
  TopologyConfig config;
  config.hbm = hbm;
  config.hbm.gbps = rounded_up(hbm.gbps);
  check_section(who, "hbm.", config);
}

void check_config(const std::string& who, const TopologyConfig& topology) {
  for (const TopologyKey& key : topology_keys()) {
    if (key.path != "name") check_key(who, key.path, key, topology);
  }
}

}  // namespace kernbench::arch
