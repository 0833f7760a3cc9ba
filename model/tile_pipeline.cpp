// SPDX-License-Identifier: Apache-2.0
#include "model/tile_pipeline.hpp"

#include <algorithm>

namespace kernbench {

using arch::StageKind;
using arch::Tile;
using Key = ServiceKey::Stage;

namespace {

constexpr std::int64_t kPrologue = -1;  // number of the tile of a stage before the loop

}  // namespace

TilePipeline::TilePipeline(const PeContext& pe, Client& client)
    : pe_(pe), client_(client), slots_(pe.config.scheduler.max_inflight_composites, false) {}

// ---- commands -----------------------------------------------------------------------------------

void TilePipeline::plan(Flight& flight, CommandTransaction& command) {
  flight.command = &command;
  flight.plan = arch::Plan(command.command, pe_.config.gemm);
  flight.slot = -1;
  flight.compute = pe_.data;
  if (const auto* composite = std::get_if<command::CompositeCmd>(&command.command)) {
    flight.compute = pe_.data && composite->data_op;
    const auto free_slot = std::find(slots_.begin(), slots_.end(), false);
    *free_slot = true;
    flight.slot = static_cast<std::int32_t>(free_slot - slots_.begin());
  }
}

void TilePipeline::start(Flight& flight) {
  if (flight.plan.is_transfer()) {
    const arch::StageSpec spec = flight.plan.transfer();
    client_.offer(make_stage(flight, spec, kPrologue,
                             spec.kind == StageKind::dma_read ? Key::dma_a : Key::dma_write));
  } else if (flight.plan.prologue_stages() > 0) {
    client_.offer(make_stage(flight, flight.plan.prologue(0), kPrologue, Key::output_tile));
  } else {
    start_tiles(flight);
  }
}

void TilePipeline::end_command(Flight& flight) {
  if (flight.slot >= 0) slots_[static_cast<std::size_t>(flight.slot)] = false;
  client_.command_done(flight);
}

void TilePipeline::stage_done(StageTransaction& stage) {
  Flight& flight = *static_cast<Flight*>(stage.owner);
  if (stage.tile == kPrologue) {
    advance_prologue(stage, flight);
  } else if (stage.tile == flight.plan.tiles()) {
    advance_postloop(stage, flight);
  } else {
    advance_tile(stage, flight);
  }
  stage_pool_.release(stage);
}

void TilePipeline::advance_prologue(const StageTransaction& stage, Flight& flight) {
  const std::int32_t next = stage.position + 1;
  if (next >= flight.plan.prologue_stages()) {  // and so after a transfer
    start_tiles(flight);
    return;
  }
  StageTransaction& op =
      make_stage(flight, flight.plan.prologue(next), kPrologue, Key::output_tile);
  op.position = next;
  client_.offer(op);
}

void TilePipeline::advance_postloop(const StageTransaction& stage, Flight& flight) {
  const std::int32_t next = stage.position + 1;
  if (next >= flight.plan.epilogue_stages()) {
    end_command(flight);
    return;
  }
  StageTransaction& op =
      make_stage(flight, flight.plan.epilogue(next), stage.tile, Key::output_tile);
  op.position = next;
  client_.offer(op);
}

// ---- the tile loop ------------------------------------------------------------------------------

void TilePipeline::start_tiles(Flight& flight) {
  if (flight.plan.tiles() == 0) {
    end_command(flight);
    return;
  }
  flight.next_credit = flight.next_fetch = flight.fetched = 0;
  flight.next_compute = flight.computed = flight.added = flight.stored = 0;
  flight.reads_open.assign(pe_.config.scheduler.tile_buffers, 0);
  if (flight.compute) flight.operands.resize(pe_.config.scheduler.tile_buffers);
  flight.accumulator = nullptr;
  pump(flight);
}

void TilePipeline::advance_tile(StageTransaction& stage, Flight& flight) {
  switch (stage.spec.kind) {
    case StageKind::dma_read:
      --flight.reads_open[credit_of(stage.tile)];
      pump(flight);
      break;
    case StageKind::fetch:
      ++flight.fetched;  // one TCM server, offered in order: done in order
      pump_tiles(flight);
      break;
    case StageKind::gemm:
      gemm_done(stage, flight);
      break;
    case StageKind::math:
      if (!flight.plan.streams_head()) {
        accumulator_op_done(stage, flight);
        break;
      }
      ++flight.computed;
      pump_chunks(flight);
      write_back(stage, flight);
      break;
    case StageKind::store:
      if (flight.compute) accumulator_pool_.release(*stage.accumulator);
      write_back(stage, flight);
      break;
    case StageKind::dma_write:
      output_tile_left(flight);
      break;
    default:
      SC_REPORT_ERROR("/kernbench/pe_scheduler/stage", "an engine returned a stage of no engine");
      break;
  }
}

void TilePipeline::pump(Flight& flight) {
  if (flight.plan.streams_head()) {
    pump_chunks(flight);
  } else {
    pump_tiles(flight);
  }
}

void TilePipeline::pump_tiles(Flight& flight) {
  const arch::Plan& plan = flight.plan;
  const std::int64_t tiles = plan.tiles();
  const std::int64_t buffers = pe_.config.scheduler.tile_buffers;

  // Every tile that holds a credit offers its DMAs at once, a first (R6.3).
  while (flight.next_credit < tiles && flight.next_credit - flight.computed < buffers) {
    const Tile tile = plan.tile(flight.next_credit++);
    std::int32_t& reads = flight.reads_open[credit_of(tile.number)];
    reads = (plan.streams_a() ? 1 : 0) + (plan.streams_b() ? 1 : 0);
    if (reads == 0) continue;
    const command::Address buffer = buffer_of(flight, tile.number);
    if (plan.streams_a()) {
      client_.offer(make_stage(flight, plan.read_a(tile, buffer), tile.number, Key::dma_a));
    }
    if (plan.streams_b()) {
      client_.offer(make_stage(flight, plan.read_b(tile, buffer), tile.number, Key::dma_b));
    }
  }
  // FETCH in tile order, when both operands have arrived (R6.4).
  while (flight.next_fetch < flight.next_credit &&
         flight.reads_open[credit_of(flight.next_fetch)] == 0) {
    const Tile tile = plan.tile(flight.next_fetch++);
    StageTransaction& fetch = make_stage(flight, plan.fetch(tile, buffer_of(flight, tile.number)),
                                         tile.number, Key::fetch);
    if (flight.compute) fetch.operands = &flight.operands[credit_of(tile.number)];
    client_.offer(fetch);
  }
  // GEMM in tile order; a further K tile waits for the k_tile ops of the previous one (R6.6).
  while (flight.next_compute < flight.fetched) {
    const Tile tile = plan.tile(flight.next_compute);
    if (!tile.first_k && plan.k_tile_ops() > 0 && flight.added < flight.next_compute) break;
    ++flight.next_compute;
    StageTransaction& gemm = make_stage(flight, plan.gemm(tile), tile.number, Key::gemm);
    if (flight.compute) {
      if (tile.first_k) {
        flight.accumulator = &accumulator_pool_.acquire();
        flight.accumulator->assign(static_cast<std::size_t>(tile.m * tile.n), 0.0F);
      }
      gemm.operands = &flight.operands[credit_of(tile.number)];
      gemm.accumulator = flight.accumulator;
    }
    client_.offer(gemm);
  }
}

// R5.5: DMA_READ of each operand in HBM, then the op, chunk by chunk; credits as for a gemm's
// tiles.
void TilePipeline::pump_chunks(Flight& flight) {
  const arch::Plan& plan = flight.plan;
  const std::int64_t buffers = pe_.config.scheduler.tile_buffers;
  while (flight.next_credit < plan.tiles() && flight.next_credit - flight.computed < buffers) {
    const Tile chunk = plan.tile(flight.next_credit++);
    flight.reads_open[credit_of(chunk.number)] = plan.head_reads();
    for (std::int32_t i = 0; i < plan.head_reads(); ++i) {
      // A third read has the key of the second and was offered after it.
      client_.offer(make_stage(flight, plan.read_head(chunk, i, buffer_of(flight, chunk.number)),
                               chunk.number, i == 0 ? Key::dma_a : Key::dma_b));
    }
  }
  while (flight.next_compute < flight.next_credit &&
         flight.reads_open[credit_of(flight.next_compute)] == 0) {
    const Tile chunk = plan.tile(flight.next_compute++);
    client_.offer(make_stage(flight, plan.head(chunk, buffer_of(flight, chunk.number)),
                             chunk.number, Key::output_tile));
  }
}

void TilePipeline::gemm_done(const StageTransaction& stage, Flight& flight) {
  ++flight.computed;
  const Tile tile = flight.plan.tile(stage.tile);
  if (flight.plan.k_tile_ops() > 0) {
    StageTransaction& op =
        make_stage(flight, flight.plan.k_tile_op(tile, 0), stage.tile, Key::k_tile);
    op.accumulator = stage.accumulator;
    client_.offer(op);
  } else {
    ++flight.added;
    if (tile.last_k) after_last_k(flight, tile, stage.accumulator);
  }
  pump_tiles(flight);
}

void TilePipeline::accumulator_op_done(const StageTransaction& stage, Flight& flight) {
  const arch::Plan& plan = flight.plan;
  const Tile tile = plan.tile(stage.tile);
  const std::int32_t next = stage.position + 1;
  const bool in_k = stage.spec.scope == command::Scope::k_tile;
  if (next < (in_k ? plan.k_tile_ops() : plan.output_tile_ops())) {
    StageTransaction& op =
        make_stage(flight, in_k ? plan.k_tile_op(tile, next) : plan.output_tile_op(tile, next),
                   tile.number, in_k ? Key::k_tile : Key::output_tile);
    op.position = next;
    op.accumulator = stage.accumulator;
    client_.offer(op);
    return;
  }
  if (in_k) {
    ++flight.added;
    if (tile.last_k) after_last_k(flight, tile, stage.accumulator);
    pump_tiles(flight);
    return;
  }
  StageTransaction& store = make_stage(flight, plan.store(tile), tile.number, Key::store);
  store.accumulator = stage.accumulator;
  client_.offer(store);
}

void TilePipeline::after_last_k(Flight& flight, const Tile& tile, arch::Values* accumulator) {
  const arch::Plan& plan = flight.plan;
  const bool ops = plan.output_tile_ops() > 0;
  StageTransaction& stage =
      make_stage(flight, ops ? plan.output_tile_op(tile, 0) : plan.store(tile), tile.number,
                 ops ? Key::output_tile : Key::store);
  stage.accumulator = accumulator;
  client_.offer(stage);
}

void TilePipeline::write_back(StageTransaction& stage, Flight& flight) {
  const arch::Plan& plan = flight.plan;
  if (!plan.writes_back()) {
    output_tile_left(flight);
    return;
  }
  StageTransaction& write =
      make_stage(flight, plan.write_out(plan.tile(stage.tile)), stage.tile, Key::dma_write);
  write.bytes.swap(stage.bytes);
  client_.offer(write);
}

void TilePipeline::output_tile_left(Flight& flight) {
  const arch::Plan& plan = flight.plan;
  if (++flight.stored < plan.m_tiles() * plan.n_tiles()) return;
  if (plan.epilogue_stages() > 0) {
    client_.offer(make_stage(flight, plan.epilogue(0), plan.tiles(), Key::output_tile));  // R6.9
  } else {
    end_command(flight);
  }
}

// ---- stages and tile buffers --------------------------------------------------------------------

StageTransaction& TilePipeline::make_stage(Flight& flight, const arch::StageSpec& spec,
                                           std::int64_t tile, Key key) {
  StageTransaction& stage = stage_pool_.acquire();
  stage.spec = spec;
  stage.command = flight.command->number;
  stage.regions = flight.command->regions;
  stage.key = ServiceKey::make(flight.command->number, tile, key);
  stage.owner = &flight;
  stage.tile = tile;
  stage.position = 0;
  stage.compute = flight.compute;
  stage.operands = nullptr;
  stage.accumulator = nullptr;
  return stage;
}

std::size_t TilePipeline::credit_of(std::int64_t tile) const {
  return static_cast<std::size_t>(tile % pe_.config.scheduler.tile_buffers);
}

command::Address TilePipeline::buffer_of(const Flight& flight, std::int64_t tile) const {
  if (flight.slot < 0) return 0;  // a GemmCmd streams nothing
  const std::uint32_t buffers = pe_.config.scheduler.tile_buffers;
  const std::uint64_t buffer = static_cast<std::uint64_t>(flight.slot) * buffers + credit_of(tile);
  return command::kTcmBase + pe_.config.tcm.scratch_bytes + buffer * pe_.config.tile_buffer_bytes();
}

command::ByteRange TilePipeline::tile_buffers_of(const Flight& flight) const {
  if (flight.slot < 0) return {};
  const command::Address begin = buffer_of(flight, 0);
  return {begin, begin + pe_.config.scheduler.tile_buffers * pe_.config.tile_buffer_bytes()};
}

}  // namespace kernbench
