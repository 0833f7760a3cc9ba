// SPDX-License-Identifier: Apache-2.0
#include "model/pe_scheduler.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace kernbench {

using arch::StageKind;
using arch::Tile;
using Key = ServiceKey::Stage;

namespace {

arch::Claim claim_of(const CommandTransaction& command) {
  const auto* composite = std::get_if<command::CompositeCmd>(&command.command);
  return {&command.accesses, composite != nullptr ? &composite->rw_handles : nullptr};
}

/// What an IPCQ command moves; null: it is another command.
const command::TensorHandle* ipcq_tensor(const command::Command& command) {
  if (const auto* send = std::get_if<command::IpcqSendCmd>(&command)) return &send->src;
  if (const auto* recv = std::get_if<command::IpcqRecvCmd>(&command)) return &recv->dst;
  return nullptr;
}

}  // namespace

PeScheduler::PeScheduler(const sc_core::sc_module_name& name, PeContext& pe)
    : sc_module(name),
      Settling(pe.hub, SettlePhase::admission, pe.index,
               static_cast<std::uint32_t>(ComponentOrder::scheduler)),
      pe_(pe),
      admission_(pe.config.scheduler),
      slots_(pe.config.scheduler.max_inflight_composites, false) {
  command_in.bind(*this);
  dma_out.bind(*this);
  tcm_out.bind(*this);
  gemm_out.bind(*this);
  math_out.bind(*this);
  ipcq_out.bind(*this);
}

// ---- queue and admission ------------------------------------------------------------------------

tlm::tlm_sync_enum PeScheduler::nb_transport_fw(CommandTransaction& command, tlm::tlm_phase& phase,
                                                sc_core::sc_time&) {
  touch();
  if (offered_ == nullptr && queue_.size() < pe_.config.cpu.cmd_queue_depth) {
    queue_.push_back(&command);
    phase = tlm::END_REQ;
    return tlm::TLM_UPDATED;
  }
  offered_ = &command;  // stays with PE_CPU; settle() pulls it when there is room
  return tlm::TLM_ACCEPTED;
}

void PeScheduler::settle() {
  for (;;) {
    if (offered_ != nullptr && queue_.size() < pe_.config.cpu.cmd_queue_depth) {
      CommandTransaction& command = *offered_;
      offered_ = nullptr;
      queue_.push_back(&command);
      send_backward(command_in, command, tlm::END_REQ);
    }
    if (queue_.empty()) return;
    CommandTransaction& head = *queue_.front();
    if (!admission_.may_admit(claim_of(head))) {
      if (head_ != &head) {
        head_ = &head;
        head_since_ = pe_.time.now();
        if (pe_.recorder != nullptr) head_ticket_ = pe_.recorder->begin(head_since_);
        blocked_ = true;
        blocked_cmd_ = head.number;
      }
      return;  // nothing overtakes the head (R7.1), which keeps its place in the queue (R6.2)
    }
    if (head_ == &head) {
      head_ = nullptr;
      blocked_ = false;
      end_admit_stall(head);
    }
    queue_.pop_front();
    admit(head);
  }
}

void PeScheduler::end_admit_stall(const CommandTransaction& head) {
  const std::uint64_t now = pe_.time.now();
  if (now != head_since_) ++stalls_;
  if (pe_.recorder == nullptr) return;
  if (now == head_since_) {  // R10.2: no row
    pe_.recorder->drop(head_ticket_);
    return;
  }
  record::StageRecord record;
  record.start = head_since_;
  record.end = record.done = now;
  record.pe = pe_.index;
  record.engine = arch::Engine::scheduler;
  record.stage = StageKind::admit_stall;
  record.cmd = static_cast<std::int64_t>(head.number);
  record.regions = head.regions;
  pe_.recorder->end(head_ticket_, record);
}

void PeScheduler::admit(CommandTransaction& command) {
  admission_.admit(command.number, claim_of(command));
  ++inflight_;
  if (pe_.recorder != nullptr) pe_.recorder->inflight({pe_.time.now(), pe_.index, +1});
  Flight& flight = flight_pool_.acquire();
  flights_.push_back(&flight);
  flight.command = &command;
  flight.plan = arch::Plan(command.command, pe_.config.gemm);
  if (!operands_are_sound(command, flight.plan)) report_operands(command, flight.plan);
  flight.slot = -1;
  flight.compute = pe_.data;
  if (const auto* composite = std::get_if<command::CompositeCmd>(&command.command)) {
    flight.compute = pe_.data && composite->data_op;
    const auto free_slot = std::find(slots_.begin(), slots_.end(), false);
    *free_slot = true;
    flight.slot = static_cast<std::int32_t>(free_slot - slots_.begin());
  }
  if (pe_.hazards != nullptr) {
    pe_.hazards->admit(command.number, command.command, tile_buffers_of(flight));
  }
  if (flight.plan.is_transfer()) {
    const arch::StageSpec spec = flight.plan.transfer();
    offer(make_stage(flight, spec, -1,
                     spec.kind == StageKind::dma_read ? Key::dma_a : Key::dma_write));
  } else if (flight.plan.prologue_stages() > 0) {
    offer(make_stage(flight, flight.plan.prologue(0), -1, Key::output_tile));
  } else {
    start_tiles(flight);
  }
}

// The gemm, and with math_head_from_hbm (R5.5) the op that drives the loop in its place.
bool PeScheduler::may_stream(const command::OpSpec& op, const arch::Plan& plan) const {
  return op.kind == command::OpKind::gemm ||
         (pe_.config.scheduler.math_head_from_hbm && plan.streams_head() && plan.is_loop_op(op));
}

bool PeScheduler::operands_are_sound(const CommandTransaction& command,
                                     const arch::Plan& plan) const {
  if (plan.streamed_tile_bytes() > pe_.config.tile_buffer_bytes()) return false;
  if (plan.splits_reduction()) return false;
  const command::TensorHandle* moved = ipcq_tensor(command.command);
  if (moved != nullptr && moved->addr < command::kTcmBase) return false;
  // Which side an operand is on, by its first byte; that it ends there, by the merged ranges.
  for (const command::OpSpec& op : command::ops_of(command.command)) {
    const bool streams = may_stream(op, plan);
    for (const command::Operand& operand : op.operands) {
      if (operand.handle.addr >= command::kTcmBase) continue;
      if (streams && !operand.handle.pinned()) continue;  // PE_DMA checks it
      if (!op.on_accumulator() || operand.name != command::OperandName::src) return false;
    }
    if (op.has_out && !op.on_accumulator() && op.out.addr < command::kTcmBase &&
        (!streams || op.out.pinned())) {
      return false;
    }
  }
  const auto ends_in_tcm = [&](const command::ByteRange& range) {
    return range.begin < command::kTcmBase || range.end <= pe_.tcm.range().end;
  };
  const command::AccessSet& accesses = command.accesses;
  return std::all_of(accesses.reads.begin(), accesses.reads.end(), ends_in_tcm) &&
         std::all_of(accesses.writes.begin(), accesses.writes.end(), ends_in_tcm);
}

void PeScheduler::report_operands(const CommandTransaction& command, const arch::Plan& plan) const {
  const auto report = [&](command::OperandName operand, const std::string& what) {
    SC_REPORT_ERROR("/kernbench/pe_scheduler/operand",
                    fmt::format("{}: command {} ({}): operand {} {}", name(), command.number,
                                command::label(command.command), command::to_string(operand), what)
                        .c_str());
  };
  const auto check_in_tcm = [&](command::OperandName operand, const command::TensorHandle& handle,
                                const char* remedy = "load it first") {
    const command::ByteRange range = handle.range();
    if (pe_.tcm.range().contains(range)) return;
    report(operand,
           fmt::format("at [{:#x}, {:#x}) lies outside TCM [{:#x}, {:#x}); {}", range.begin,
                       range.end, pe_.tcm.range().begin, pe_.tcm.range().end, remedy));
  };
  if (const command::TensorHandle* moved = ipcq_tensor(command.command)) {
    if (std::holds_alternative<command::IpcqSendCmd>(command.command)) {
      check_in_tcm(command::OperandName::src, *moved);
    } else {
      check_in_tcm(command::OperandName::out, *moved, "receive into TCM and store that");
    }
  }
  for (const command::OpSpec& op : command::ops_of(command.command)) {
    const bool streams = may_stream(op, plan);
    for (const command::Operand& operand : op.operands) {
      if (op.on_accumulator() && operand.name == command::OperandName::src) continue;
      // PE_DMA checks what streams.
      if (!streams || operand.handle.pinned()) check_in_tcm(operand.name, operand.handle);
    }
    if (op.has_out && !op.on_accumulator() && (!streams || op.out.pinned())) {
      check_in_tcm(command::OperandName::out, op.out);
    }
  }
  if (plan.splits_reduction()) {
    report(command::OperandName::src,
           fmt::format("reduces rows of {} entries and streams chunks of {} columns; load it "
                       "first, or enlarge pe.gemm.tile_n",
                       command::ops_of(command.command)[0].operands[0].handle.shape.cols(),
                       pe_.config.gemm.tile_n));
  }
  if (plan.streamed_tile_bytes() > pe_.config.tile_buffer_bytes()) {
    report(plan.streams_head() ? command::ops_of(command.command)[0].operands[0].name
           : plan.streams_b()  ? command::OperandName::b
                               : command::OperandName::a,
           fmt::format("needs tiles of {} bytes and a tile buffer has {}; use a 16-bit type or "
                       "smaller pe.gemm tiles",
                       plan.streamed_tile_bytes(), pe_.config.tile_buffer_bytes()));
  }
}

void PeScheduler::retire(Flight& flight) {
  CommandTransaction& command = *flight.command;
  admission_.retire(command.number);
  --inflight_;
  if (pe_.recorder != nullptr) pe_.recorder->inflight({pe_.time.now(), pe_.index, -1});
  if (pe_.hazards != nullptr) pe_.hazards->retire(command.number);
  if (flight.slot >= 0) slots_[static_cast<std::size_t>(flight.slot)] = false;
  flights_.erase(std::find(flights_.begin(), flights_.end(), &flight));
  flight_pool_.release(flight);
  // Admission is judged when everything of this instant has completed.
  if (!queue_.empty() || offered_ != nullptr) touch();
  send_backward(command_in, command, tlm::BEGIN_RESP);
}

// ---- stages -------------------------------------------------------------------------------------

StageTransaction& PeScheduler::make_stage(Flight& flight, const arch::StageSpec& spec,
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

void PeScheduler::offer(StageTransaction& stage) {
  switch (stage.spec.kind) {
    case StageKind::dma_read:
    case StageKind::dma_write:
      send_forward(dma_out, stage, tlm::BEGIN_REQ);
      break;
    case StageKind::fetch:
    case StageKind::store:
      send_forward(tcm_out, stage, tlm::BEGIN_REQ);
      break;
    case StageKind::gemm:
      send_forward(gemm_out, stage, tlm::BEGIN_REQ);
      break;
    case StageKind::send:
    case StageKind::recv:
      send_forward(ipcq_out, stage, tlm::BEGIN_REQ);
      break;
    default:
      send_forward(math_out, stage, tlm::BEGIN_REQ);
      break;
  }
}

tlm::tlm_sync_enum PeScheduler::nb_transport_bw(StageTransaction& stage, tlm::tlm_phase& phase,
                                                sc_core::sc_time&) {
  if (phase == tlm::BEGIN_RESP) {
    advance(stage);
    stage_pool_.release(stage);
    return tlm::TLM_COMPLETED;
  }
  return tlm::TLM_ACCEPTED;
}

void PeScheduler::advance(StageTransaction& stage) {
  Flight& flight = *static_cast<Flight*>(stage.owner);
  const arch::Plan& plan = flight.plan;
  if (stage.tile < 0) {  // a transfer, or the prologue
    const std::int32_t next = stage.position + 1;
    if (next < plan.prologue_stages()) {
      StageTransaction& op = make_stage(flight, plan.prologue(next), -1, Key::output_tile);
      op.position = next;
      offer(op);
    } else {
      start_tiles(flight);
    }
    return;
  }
  if (stage.tile == plan.tiles()) {  // post-loop
    const std::int32_t next = stage.position + 1;
    if (next < plan.epilogue_stages()) {
      StageTransaction& op = make_stage(flight, plan.epilogue(next), stage.tile, Key::output_tile);
      op.position = next;
      offer(op);
    } else {
      retire(flight);
    }
    return;
  }
  const auto credit = static_cast<std::size_t>(stage.tile % pe_.config.scheduler.tile_buffers);
  switch (stage.spec.kind) {
    case StageKind::dma_read:
      --flight.reads_open[credit];
      plan.streams_head() ? pump_chunks(flight) : pump_tiles(flight);
      break;
    case StageKind::fetch:
      ++flight.fetched;  // one TCM server, offered in order: done in order
      pump_tiles(flight);
      break;
    case StageKind::gemm: {
      ++flight.computed;
      const Tile tile = plan.tile(stage.tile);
      if (plan.k_tile_ops() > 0) {
        StageTransaction& op = make_stage(flight, plan.k_tile_op(tile, 0), stage.tile, Key::k_tile);
        op.accumulator = stage.accumulator;
        offer(op);
      } else {
        ++flight.added;
        if (tile.last_k) after_last_k(flight, tile, stage.accumulator);
      }
      pump_tiles(flight);
      break;
    }
    case StageKind::math:
      if (!plan.streams_head()) {
        after_accumulator_op(stage, flight, plan.tile(stage.tile));
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

void PeScheduler::start_tiles(Flight& flight) {
  if (flight.plan.tiles() == 0) {
    retire(flight);
    return;
  }
  flight.next_credit = flight.next_fetch = flight.fetched = 0;
  flight.next_compute = flight.computed = flight.added = flight.stored = 0;
  flight.reads_open.assign(pe_.config.scheduler.tile_buffers, 0);
  if (flight.compute) flight.operands.resize(pe_.config.scheduler.tile_buffers);
  flight.accumulator = nullptr;
  flight.plan.streams_head() ? pump_chunks(flight) : pump_tiles(flight);
}

void PeScheduler::pump_tiles(Flight& flight) {
  const arch::Plan& plan = flight.plan;
  const std::int64_t tiles = plan.tiles();
  const std::int64_t buffers = pe_.config.scheduler.tile_buffers;
  const auto credit_of = [&](std::int64_t tile) {
    return static_cast<std::size_t>(tile % buffers);
  };

  // Every tile that holds a credit offers its DMAs at once, a first (R6.3).
  while (flight.next_credit < tiles && flight.next_credit - flight.computed < buffers) {
    const Tile tile = plan.tile(flight.next_credit++);
    std::int32_t& reads = flight.reads_open[credit_of(tile.number)];
    reads = (plan.streams_a() ? 1 : 0) + (plan.streams_b() ? 1 : 0);
    if (reads == 0) continue;
    const command::Address buffer = buffer_of(flight, tile.number);
    if (plan.streams_a()) {
      offer(make_stage(flight, plan.read_a(tile, buffer), tile.number, Key::dma_a));
    }
    if (plan.streams_b()) {
      offer(make_stage(flight, plan.read_b(tile, buffer), tile.number, Key::dma_b));
    }
  }
  // FETCH in tile order, when both operands are there (R6.4).
  while (flight.next_fetch < flight.next_credit &&
         flight.reads_open[credit_of(flight.next_fetch)] == 0) {
    const Tile tile = plan.tile(flight.next_fetch++);
    StageTransaction& fetch = make_stage(flight, plan.fetch(tile, buffer_of(flight, tile.number)),
                                         tile.number, Key::fetch);
    if (flight.compute) fetch.operands = &flight.operands[credit_of(tile.number)];
    offer(fetch);
  }
  // GEMM in tile order; a further K tile waits for the k_tile ops of the one before (R6.6).
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
    offer(gemm);
  }
}

// R5.5: DMA_READ of each operand in HBM, then the op, chunk by chunk; credits as for a gemm's
// tiles.
void PeScheduler::pump_chunks(Flight& flight) {
  const arch::Plan& plan = flight.plan;
  const std::int64_t buffers = pe_.config.scheduler.tile_buffers;
  while (flight.next_credit < plan.tiles() && flight.next_credit - flight.computed < buffers) {
    const Tile chunk = plan.tile(flight.next_credit++);
    flight.reads_open[static_cast<std::size_t>(chunk.number % buffers)] = plan.head_reads();
    for (std::int32_t i = 0; i < plan.head_reads(); ++i) {
      // A third read has the key of the second and was offered after it.
      offer(make_stage(flight, plan.read_head(chunk, i, buffer_of(flight, chunk.number)),
                       chunk.number, i == 0 ? Key::dma_a : Key::dma_b));
    }
  }
  while (flight.next_compute < flight.next_credit &&
         flight.reads_open[static_cast<std::size_t>(flight.next_compute % buffers)] == 0) {
    const Tile chunk = plan.tile(flight.next_compute++);
    offer(make_stage(flight, plan.head(chunk, buffer_of(flight, chunk.number)), chunk.number,
                     Key::output_tile));
  }
}

void PeScheduler::write_back(StageTransaction& stage, Flight& flight) {
  const arch::Plan& plan = flight.plan;
  if (!plan.writes_back()) {
    output_tile_left(flight);
    return;
  }
  StageTransaction& write =
      make_stage(flight, plan.write_out(plan.tile(stage.tile)), stage.tile, Key::dma_write);
  write.bytes.swap(stage.bytes);
  offer(write);
}

void PeScheduler::after_accumulator_op(StageTransaction& stage, Flight& flight, const Tile& tile) {
  const arch::Plan& plan = flight.plan;
  const std::int32_t next = stage.position + 1;
  const bool in_k = stage.spec.scope == command::Scope::k_tile;
  if (next < (in_k ? plan.k_tile_ops() : plan.output_tile_ops())) {
    StageTransaction& op =
        make_stage(flight, in_k ? plan.k_tile_op(tile, next) : plan.output_tile_op(tile, next),
                   tile.number, in_k ? Key::k_tile : Key::output_tile);
    op.position = next;
    op.accumulator = stage.accumulator;
    offer(op);
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
  offer(store);
}

void PeScheduler::after_last_k(Flight& flight, const Tile& tile, arch::Values* accumulator) {
  const arch::Plan& plan = flight.plan;
  const bool ops = plan.output_tile_ops() > 0;
  StageTransaction& stage =
      make_stage(flight, ops ? plan.output_tile_op(tile, 0) : plan.store(tile), tile.number,
                 ops ? Key::output_tile : Key::store);
  stage.accumulator = accumulator;
  offer(stage);
}

void PeScheduler::output_tile_left(Flight& flight) {
  const arch::Plan& plan = flight.plan;
  if (++flight.stored < plan.m_tiles() * plan.n_tiles()) return;
  if (plan.epilogue_stages() > 0) {
    offer(make_stage(flight, plan.epilogue(0), plan.tiles(), Key::output_tile));  // R6.9
  } else {
    retire(flight);
  }
}

command::Address PeScheduler::buffer_of(const Flight& flight, std::int64_t tile) const {
  if (flight.slot < 0) return 0;  // a GemmCmd streams nothing
  const std::uint32_t buffers = pe_.config.scheduler.tile_buffers;
  const std::uint64_t buffer = static_cast<std::uint64_t>(flight.slot) * buffers +
                               static_cast<std::uint64_t>(tile) % buffers;
  return command::kTcmBase + pe_.config.tcm.scratch_bytes + buffer * pe_.config.tile_buffer_bytes();
}

command::ByteRange PeScheduler::tile_buffers_of(const Flight& flight) const {
  if (flight.slot < 0) return {};
  const command::Address begin = buffer_of(flight, 0);
  return {begin, begin + pe_.config.scheduler.tile_buffers * pe_.config.tile_buffer_bytes()};
}

// ---- reports ------------------------------------------------------------------------------------

void PeScheduler::waits(arch::WaitGraph& graph) const {
  using Node = arch::WaitNode;
  const auto node_of = [&](const CommandTransaction& command) {
    return Node::command(pe_.index, command.number);
  };
  const auto introduce = [&](const CommandTransaction& command) {
    graph.add_command(pe_.index, command.number, command::label(command.command));
    if (const auto* send = std::get_if<command::IpcqSendCmd>(&command.command)) {
      graph.provide(Node::message(pe_.index, send->to.peer, send->to.channel), node_of(command));
    } else if (const auto* recv = std::get_if<command::IpcqRecvCmd>(&command.command)) {
      graph.provide(Node::room(recv->from.peer, pe_.index, recv->from.channel), node_of(command));
    }
  };
  for (const Flight* flight : flights_) {
    introduce(*flight->command);
    const arch::Plan& plan = flight->plan;
    if (ipcq_tensor(flight->command->command) != nullptr) continue;  // PE_IPCQ knows
    graph.note(node_of(*flight->command),
               plan.tiles() == 0
                   ? "is in flight: its stage has not finished"
                   : fmt::format("is in flight: {} of {} tiles have passed gemm, {} of {} output "
                                 "tiles have been stored",
                                 flight->computed, plan.tiles(), flight->stored,
                                 plan.m_tiles() * plan.n_tiles()));
  }
  for (const CommandTransaction* command : queue_) {
    introduce(*command);
    if (command != queue_.front()) {
      graph.add(node_of(*command), node_of(*queue_.front()), "is queued behind");
      continue;
    }
    for (const std::uint64_t blocker : admission_.blockers(claim_of(*command))) {
      graph.add(node_of(*command), Node::command(pe_.index, blocker), "is queued and waits for");
    }
  }
  if (offered_ != nullptr) {
    introduce(*offered_);
    graph.add(node_of(*offered_), node_of(*queue_.front()), "has no place in the queue behind");
    graph.add(Node::kernel(pe_.index), node_of(*queue_.front()),
              "waits for a place in the queue behind");
  }
}

void PeScheduler::trace(sc_core::sc_trace_file* file) const {
  sc_core::sc_trace(file, inflight_, std::string(name()) + ".inflight");
  sc_core::sc_trace(file, blocked_, std::string(name()) + ".blocked");
  sc_core::sc_trace(file, blocked_cmd_, std::string(name()) + ".cmd");
  sc_core::sc_trace(file, stalls_, std::string(name()) + ".seq");
}

}  // namespace kernbench
