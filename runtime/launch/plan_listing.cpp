// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/plan_listing.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <optional>

#include "model/arch/bursts.hpp"
#include "model/arch/plan.hpp"
#include "model/arch/timing.hpp"
#include "runtime/launch/listing.hpp"
#include "tlm_if/command/error.hpp"
#include "tlm_if/command/null_sink.hpp"

namespace kernbench::runtime {
namespace {

using arch::nanoseconds;
using command::Command;

constexpr std::int64_t kListedTiles = 8;

/// Keeps one command.
class Picker : public command::NullSink {
 public:
  explicit Picker(std::uint64_t number) : number_(number) {}

  void issue(Command command) override {
    if (count_++ == number_) picked_ = std::move(command);
  }

  const std::optional<Command>& picked() const { return picked_; }
  std::uint64_t count() const { return count_; }

 private:
  std::uint64_t number_;
  std::uint64_t count_ = 0;
  std::optional<Command> picked_;
};

/// Counts the stages of commands.
class StageCounter : public command::NullSink {
 public:
  explicit StageCounter(const arch::GemmConfig& gemm) : gemm_(gemm) {}

  void issue(Command command) override {
    ++stages_;  // its dispatch
    if (std::holds_alternative<command::PeCpuOverheadCmd>(command)) return;
    const arch::Plan plan(command, gemm_);
    if (plan.is_transfer()) {
      ++stages_;
      return;
    }
    const int written = plan.writes_back() ? 1 : 0;
    std::int64_t of_tile = plan.head_reads() + 1 + written;
    std::int64_t of_output = 0;
    if (!plan.streams_head()) {
      of_tile = (plan.streams_a() ? 1 : 0) + (plan.streams_b() ? 1 : 0) + 2 + plan.k_tile_ops();
      of_output = plan.output_tile_ops() + 1 + written;
    }
    stages_ += static_cast<std::uint64_t>(plan.prologue_stages() + plan.epilogue_stages() +
                                          plan.tiles() * of_tile +
                                          plan.m_tiles() * plan.n_tiles() * of_output);
  }

  std::uint64_t stages() const { return stages_; }

 private:
  const arch::GemmConfig& gemm_;
  std::uint64_t stages_ = 0;
};

class PlanPrinter {
 public:
  PlanPrinter(std::ostream& out, const arch::TopologyConfig& topology)
      : out_(out), topology_(topology), timing_(topology.pe), hbm_(topology.pe_slice()) {}

  void print(const Command& command) {
    if (std::holds_alternative<command::PeCpuOverheadCmd>(command)) {
      fmt::print(out_, "no stages: it runs on PE_CPU alone\n");
      return;
    }
    const arch::Plan plan(command, topology_.pe.gemm);
    if (plan.is_transfer()) {
      row("", plan.transfer());
      return;
    }
    for (std::int32_t i = 0; i < plan.prologue_stages(); ++i) row("prologue", plan.prologue(i));
    print_tiles(plan);
    for (std::int32_t i = 0; i < plan.epilogue_stages(); ++i) row("epilogue", plan.epilogue(i));
  }

 private:
  void print_tiles(const arch::Plan& plan) {
    if (plan.tiles() == 0) return;
    if (plan.streams_head()) {
      fmt::print(out_, "chunks: {} (m {}, n {})\n", plan.tiles(), plan.m_tiles(), plan.n_tiles());
    } else {
      fmt::print(out_, "tiles: {} (m {}, n {}, k {})\n", plan.tiles(), plan.m_tiles(),
                 plan.n_tiles(), plan.k_tiles());
    }
    for (std::int64_t i = 0; i < std::min(plan.tiles(), kListedTiles); ++i) {
      print_tile(plan, plan.tile(i));
    }
    if (plan.tiles() > kListedTiles) {
      fmt::print(out_, "{} more {}\n", plan.tiles() - kListedTiles,
                 plan.streams_head() ? "chunks" : "tiles");
    }
  }

  void print_tile(const arch::Plan& plan, const arch::Tile& tile) {
    const command::Address buffer = command::kTcmBase + topology_.pe.tcm.scratch_bytes;
    const std::string place =
        plan.streams_head()
            ? fmt::format("chunk ({}, {})", tile.index.m, tile.index.n)
            : fmt::format("tile ({}, {}, {})", tile.index.m, tile.index.n, tile.index.k);
    if (plan.streams_head()) {
      for (std::int32_t i = 0; i < plan.head_reads(); ++i)
        row(place, plan.read_head(tile, i, buffer));
      row(place, plan.head(tile, buffer));
      if (plan.writes_back()) row(place, plan.write_out(tile));
      return;
    }
    if (plan.streams_a()) row(place, plan.read_a(tile, buffer));
    if (plan.streams_b()) row(place, plan.read_b(tile, buffer));
    row(place, plan.fetch(tile, buffer));
    row(place, plan.gemm(tile));
    for (std::int32_t i = 0; i < plan.k_tile_ops(); ++i) row(place, plan.k_tile_op(tile, i));
    if (!tile.last_k) return;
    for (std::int32_t i = 0; i < plan.output_tile_ops(); ++i) {
      row(place, plan.output_tile_op(tile, i));
    }
    row(place, plan.store(tile));
    if (plan.writes_back()) row(place, plan.write_out(tile));
  }

  /// The time for which the engine is busy, without waits.
  arch::Picoseconds busy(const arch::StageSpec& stage) const {
    switch (stage.kind) {
      case arch::StageKind::dma_read:
        return transfer(stage.operands[0]);
      case arch::StageKind::dma_write:
        return transfer(stage.out);
      case arch::StageKind::gemm:
        return timing_.gemm(static_cast<std::uint64_t>(stage.m),
                            static_cast<std::uint64_t>(stage.k),
                            static_cast<std::uint64_t>(stage.n));
      case arch::StageKind::math:
        return timing_.math(stage.op, stage.elements);
      case arch::StageKind::send:
        return slots(stage) * timing_.cycles(topology_.pe.ipcq.send_cycles);
      case arch::StageKind::recv:
        return slots(stage) * timing_.cycles(topology_.pe.ipcq.recv_cycles);
      default:
        return timing_.tcm(stage.bytes);
    }
  }

  std::uint64_t slots(const arch::StageSpec& stage) const {
    return topology_.pe.ipcq.slots(stage.bytes);
  }

  arch::Picoseconds transfer(const arch::Slice& hbm_side) const {
    arch::Picoseconds time = timing_.dma_setup();
    for (arch::BurstCursor cursor(hbm_side, topology_.pe.dma.burst_bytes); !cursor.done();) {
      const std::uint32_t bytes = cursor.peek().bytes;
      time += hbm_.service(bytes);
      cursor.advance(bytes);
    }
    return time;
  }

  void row(std::string_view place, const arch::StageSpec& stage) {
    std::string text = fmt::format("{:<18}  {:<9}", place, to_string(stage.kind));
    if (stage.op_index >= 0) text += fmt::format("  op {} {}", stage.op_index, to_string(stage.op));
    for (const arch::Slice& slice : stage.operands) text += slice_text(slice);
    // A streamed tile goes to any free tile buffer.
    const bool streamed = stage.kind == arch::StageKind::dma_read && stage.tile.m >= 0;
    if (stage.has_out && !streamed) text += slice_text(stage.out);
    if (stage.on_accumulator() || stage.kind == arch::StageKind::gemm)
      text += "  on the accumulator";
    if (stage.bytes != 0) text += fmt::format("  {} bytes", stage.bytes);
    if (stage.elements != 0) text += fmt::format("  {} elements", stage.elements);
    text += fmt::format("  busy {} ns", nanoseconds(busy(stage)));
    if (stage.kind == arch::StageKind::dma_read || stage.kind == arch::StageKind::dma_write) {
      text += fmt::format(", done {} ns later", nanoseconds(hbm_.latency()));
    }
    fmt::print(out_, "{}\n", text);
  }

  static std::string slice_text(const arch::Slice& slice) {
    return fmt::format("  {} {}x{} at {:#x}", to_string(slice.name), slice.rows, slice.cols,
                       slice.addr);
  }

  std::ostream& out_;
  const arch::TopologyConfig& topology_;
  arch::PeTiming timing_;
  arch::HbmTiming hbm_;
};

}  // namespace

std::uint64_t stages_without_waits(const Launch& launch, const arch::TopologyConfig& topology) {
  StageCounter counter(topology.pe.gemm);
  for (command::Index program = 0; program < launch.programs(); ++program) {
    launch.issue(counter, program);
  }
  return counter.stages();
}

void list_plan(std::ostream& out, const Launch& launch, const arch::TopologyConfig& topology,
               std::uint64_t number, command::Index program) {
  Picker picker(number);
  launch.issue(picker, program);
  if (!picker.picked()) {
    throw InputError(fmt::format("--plan {}: {} has {} commands{}; give a number from 0 to {}",
                                 number, launch.kernel(), picker.count(),
                                 launch.programs() == 1 ? "" : " in that program",
                                 picker.count() == 0 ? 0 : picker.count() - 1));
  }
  fmt::print(out, "{} on {}{}\n", launch.title(), arch::title_of(topology),
             of_program(launch, topology, program));
  print_command(out, number, *picker.picked(), &topology.pe.pe_cost_model);
  fmt::print(out, "\nstages, in the order in which they are offered for each tile:\n");
  PlanPrinter(out, topology).print(*picker.picked());
}

}  // namespace kernbench::runtime
