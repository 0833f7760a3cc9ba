// SPDX-License-Identifier: Apache-2.0
#include "model/arch/config_check.hpp"

#include <fmt/format.h>

#include "model/arch/topology_keys.hpp"
#include "tlm_if/command/error.hpp"

namespace kernbench::arch {
namespace {

/// A value is in the range of a key if its text is.
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

using Described = std::function<std::string(const char* path)>;

constexpr std::uint32_t kMaxPes = 4096;

std::optional<Conflict> conflict_of_counts(const TopologyConfig& topology,
                                           const Described& described) {
  if (topology.pes() > kMaxPes) {
    return Conflict{{"sips", "cubes_per_sip", "pes_per_cube"},
                    fmt::format("{} x {} x {} are {} PEs, more than the {} that are allowed; lower "
                                "one of them",
                                described("sips"), described("cubes_per_sip"),
                                described("pes_per_cube"), topology.pes(), kMaxPes)};
  }
  const std::uint32_t routers = topology.noc.cols * topology.noc.rows;
  if (topology.pes_per_cube > 1 && routers < topology.pes_per_cube) {
    return Conflict{
        {"noc.cols", "noc.rows", "pes_per_cube"},
        fmt::format("{} x {} are {} routers, fewer than {}, and each PE of a cube has one; raise "
                    "one of the first two or lower the last",
                    described("noc.cols"), described("noc.rows"), routers,
                    described("pes_per_cube"))};
  }
  return std::nullopt;
}

std::optional<Conflict> conflict_of_pe(const PeConfig& pe, const Described& described) {
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

std::optional<Conflict> conflict_of_hbm(const TopologyConfig& topology,
                                        const Described& described) {
  const HbmConfig& hbm = topology.hbm;
  if (hbm.map == HbmMap::pe_local) {
    if (hbm.bytes >= topology.pes_per_cube) return std::nullopt;
    return Conflict{
        {"hbm.bytes", "pes_per_cube"},
        fmt::format("{} are not a byte for each PE of {}; raise the first or lower the second",
                    described("hbm.bytes"), described("pes_per_cube"))};
  }
  if (hbm.interleave_bytes < topology.pe.dma.burst_bytes) {
    return Conflict{{"hbm.interleave_bytes", "pe.dma.burst_bytes", "hbm.map"},
                    fmt::format("{} is less than {}, so that a burst would touch several channels "
                                "of {}; raise the first or lower the second",
                                described("hbm.interleave_bytes"), described("pe.dma.burst_bytes"),
                                described("hbm.map"))};
  }
  if (hbm.bytes % (hbm.channels * hbm.interleave_bytes) != 0) {
    return Conflict{
        {"hbm.bytes", "hbm.channels", "hbm.interleave_bytes", "hbm.map"},
        fmt::format("{} is not a multiple of {} x {} = {}, so that channels of {} would differ in "
                    "size; change one of them",
                    described("hbm.bytes"), described("hbm.channels"),
                    described("hbm.interleave_bytes"), hbm.channels * hbm.interleave_bytes,
                    described("hbm.map"))};
  }
  return std::nullopt;
}

/// Messages have only the values, since their source is not known.
Described described_in(const TopologyConfig& config) {
  return [&config](const char* path) {
    return fmt::format("{} {}", path, find_topology_key(path)->print(config));
  };
}

void refuse_conflict(const std::string& who, const std::optional<Conflict>& conflict) {
  if (conflict) throw InputError(fmt::format("{}: {}", who, conflict->message));
}

}  // namespace

std::optional<Conflict> find_conflict(
    const TopologyConfig& topology, const std::function<std::string(const char* path)>& described) {
  std::optional<Conflict> conflict = conflict_of_counts(topology, described);
  if (!conflict) conflict = conflict_of_pe(topology.pe, described);
  if (!conflict) conflict = conflict_of_hbm(topology, described);
  return conflict;
}

void check_config(const std::string& who, const PeConfig& pe) {
  TopologyConfig config;
  config.pe = pe;
  check_section(who, "pe.", config);
  config.hbm.bytes = pe.hbm_bytes;
  check_key(who, "hbm_bytes", *find_topology_key("hbm.bytes"), config);
  refuse_conflict(who, conflict_of_pe(pe, described_in(config)));
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
  refuse_conflict(who, find_conflict(topology, described_in(topology)));
}

}  // namespace kernbench::arch
