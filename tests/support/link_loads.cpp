// SPDX-License-Identifier: Apache-2.0
#include "tests/support/link_loads.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>

#include "model/arch/bursts.hpp"
#include "model/arch/network.hpp"
#include "model/arch/plan.hpp"
#include "tests/support/network_way.hpp"
#include "tlm_if/command/program.hpp"

namespace kernbench::test {
namespace {

/// The part of a tensor in HBM that a DMA row moves.
class DmaSlices {
 public:
  DmaSlices(const arch::TopologyConfig& topology, const runtime::KernelLaunch& launch)
      : config_(topology.pe.gemm) {
    command::Index program = 0;
    for (const std::uint32_t pe : launch.pes()) {
      command::ProgramRecorder recorder;
      launch.issue(recorder, program++);
      commands_[pe] = recorder.program().commands();
    }
  }

  arch::Slice of(const OpLogRow& row) const {
    const arch::Plan plan(commands_.at(row.pe).at(static_cast<std::size_t>(row.cmd)), config_);
    const bool reads = row.stage == "dma_read";
    const arch::StageSpec stage = plan.is_transfer() ? plan.transfer() : stage_of(plan, row);
    const arch::Slice slice = reads ? stage.operands[0] : stage.out;
    if (slice.addr != row.addr || slice.bytes() != row.bytes) {
      throw std::runtime_error(fmt::format(
          "pe {} cmd {}: a {} of {} bytes at {:#x} is not that of "
          "the command's plan, {} bytes at {:#x}",
          row.pe, row.cmd, row.stage, row.bytes, row.addr.value_or(0), slice.bytes(), slice.addr));
    }
    return slice;
  }

 private:
  static arch::StageSpec stage_of(const arch::Plan& plan, const OpLogRow& row) {
    const std::int64_t k = std::max<std::int64_t>(row.tile_k, 0);
    const arch::Tile tile =
        plan.tile((row.tile_m * plan.n_tiles() + row.tile_n) * plan.k_tiles() + k);
    if (row.stage == "dma_write") return plan.write_out(tile);
    for (std::int32_t i = 0; i < plan.head_reads(); ++i) {
      const arch::StageSpec stage = plan.read_head(tile, i, command::kTcmBase);
      if (to_string(stage.operands[0].name) == row.operand) return stage;
    }
    return row.operand == "a" ? plan.read_a(tile, command::kTcmBase)
                              : plan.read_b(tile, command::kTcmBase);
  }

  arch::GemmConfig config_;
  std::map<std::uint32_t, std::vector<command::Command>> commands_;  // by PE
};

/// Every network of the machine, and what has gone over its links.
class Loads {
 public:
  explicit Loads(const arch::TopologyConfig& topology)
      : topology_(topology),
        ends_{topology.pes_per_cube,
              topology.hbm.map == arch::HbmMap::interleaved ? topology.hbm.channels : 0} {
    using arch::Network;
    if (topology.pes() == 1 && ends_.channels == 0) return;
    const Network noc =
        Network::mesh(topology.noc, topology.pe.clock_ghz, ends_.pes, ends_.channels);
    if (topology.cubes() == 1) {
      add("noc.", noc);
      return;
    }
    for (std::uint32_t sip = 0; sip < topology.sips; ++sip) {
      for (std::uint32_t cube = 0; cube < topology.cubes_per_sip; ++cube) {
        add(fmt::format("sip{}.cube{}.noc.", sip, cube), noc);
      }
      add(fmt::format("sip{}.d2d.", sip),
          Network::ring(topology.d2d, topology.cubes_per_sip, "c", true));
    }
    if (topology.sips > 1) {
      add("sip_link.", Network::ring(topology.sip_link, topology.sips, "s", false));
    }
  }

  void message(std::uint32_t from, std::uint32_t to, std::uint64_t bytes) {
    const std::uint32_t pes = topology_.pes_per_cube, cubes = topology_.cubes_per_sip;
    const std::uint32_t from_cube = from / pes, to_cube = to / pes;
    const std::uint32_t from_pe = ends_.ipcq(from % pes), to_pe = ends_.ipcq(to % pes);
    if (from_cube == to_cube) {
      carry(noc(from_cube), from_pe, to_pe, bytes);
      return;
    }
    const std::uint32_t from_sip = from_cube / cubes, to_sip = to_cube / cubes;
    const std::uint32_t gateway = cubes;
    carry(noc(from_cube), from_pe, ends_.d2d(), bytes);
    if (from_sip == to_sip) {
      carry(d2d(from_sip), from_cube % cubes, to_cube % cubes, bytes);
    } else {
      carry(d2d(from_sip), from_cube % cubes, gateway, bytes);
      carry(networks_.back(), from_sip, to_sip, bytes);
      carry(d2d(to_sip), gateway, to_cube % cubes, bytes);
    }
    carry(noc(to_cube), ends_.d2d(), to_pe, bytes);
  }

  void dma(std::uint32_t pe, const arch::Slice& slice, bool reads) {
    const std::uint64_t flit = topology_.noc.bytes_per_cycle;
    const std::uint32_t port = ends_.memory(pe % topology_.pes_per_cube);
    Carried& mesh = noc(pe / topology_.pes_per_cube);
    for (arch::BurstCursor cursor(slice, topology_.pe.dma.burst_bytes); !cursor.done();) {
      const arch::Burst burst = cursor.peek();
      const std::uint32_t channel = ends_.channel(static_cast<std::uint32_t>(
          burst.addr / topology_.hbm.interleave_bytes % topology_.hbm.channels));
      carry(mesh, port, channel, reads ? flit : burst.bytes);
      carry(mesh, channel, port, reads ? burst.bytes : flit);
      cursor.advance(burst.bytes);
    }
  }

  std::vector<LinkStatistics> links() const {
    std::vector<LinkStatistics> all;
    for (const Carried& carried : networks_) {
      all.insert(all.end(), carried.links.begin(), carried.links.end());
    }
    return all;
  }

 private:
  struct Carried {
    arch::Network network;
    std::vector<LinkStatistics> links;
  };

  void add(const std::string& prefix, const arch::Network& network) {
    networks_.push_back({network, {}});
    for (const arch::NetworkLink& link : network.links()) {
      networks_.back().links.push_back({prefix + link.name});
    }
  }

  // Each SIP's cubes, then its ring.
  Carried& noc(std::uint32_t cube) { return networks_.at(cube + cube / topology_.cubes_per_sip); }
  Carried& d2d(std::uint32_t sip) {
    return networks_.at(sip * (topology_.cubes_per_sip + 1) + topology_.cubes_per_sip);
  }

  static void carry(Carried& carried, std::uint32_t from, std::uint32_t to, std::uint64_t bytes) {
    for (const std::uint32_t index : path(carried.network, from, to)) {
      LinkStatistics& link = carried.links[index];
      ++link.packets;
      link.bytes_in += bytes;
      link.bytes_out += bytes;
      link.busy_ps += carried.network.service(bytes);
    }
  }

  const arch::TopologyConfig& topology_;
  const arch::CubeEndpoints ends_;
  std::vector<Carried> networks_;
};

}  // namespace

std::vector<LinkStatistics> link_loads(const arch::TopologyConfig& topology,
                                       const std::vector<OpLogRow>& rows,
                                       const runtime::KernelLaunch* launch) {
  Loads loads(topology);
  for (const OpLogRow& row : rows) {
    if (row.stage == "send")
      loads.message(row.pe, static_cast<std::uint32_t>(row.tile_n), row.bytes);
  }
  if (topology.hbm.map != arch::HbmMap::interleaved) return loads.links();
  if (launch == nullptr) {
    throw std::runtime_error("an interleaved HBM without the launch that says where bytes lie");
  }
  const DmaSlices slices(topology, *launch);
  for (const OpLogRow& row : rows) {
    const bool reads = row.stage == "dma_read";
    if (reads || row.stage == "dma_write") loads.dma(row.pe, slices.of(row), reads);
  }
  return loads.links();
}

}  // namespace kernbench::test
