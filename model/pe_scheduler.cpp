// SPDX-License-Identifier: Apache-2.0
#include "model/pe_scheduler.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "model/arch/operand_check.hpp"

namespace kernbench {

using arch::StageKind;

namespace {

arch::Claim claim_of(const CommandTransaction& command) {
  const auto* composite = std::get_if<command::CompositeCmd>(&command.command);
  return {&command.accesses, composite != nullptr ? &composite->rw_handles : nullptr};
}

/// The tensor that an IPCQ command moves; null for other commands.
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
      pipeline_(pe, *this) {
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
  if (pe_.time.now() != head_since_) ++stalls_;
  if (pe_.recorder == nullptr) return;
  record::StageRecord row;
  row.start = head_since_;
  row.engine = arch::Engine::scheduler;
  row.stage = StageKind::admit_stall;
  row.cmd = static_cast<std::int64_t>(head.number);
  row.regions = head.regions;
  pe_.end_row(head_ticket_, row);
}

void PeScheduler::admit(CommandTransaction& command) {
  admission_.admit(command.number, claim_of(command));
  ++inflight_;
  if (pe_.recorder != nullptr) pe_.recorder->inflight({pe_.time.now(), pe_.index, +1});
  Flight& flight = flight_pool_.acquire();
  flights_.push_back(&flight);
  pipeline_.plan(flight, command);
  check_operands(flight);
  if (pe_.hazards != nullptr) {
    pe_.hazards->admit(command.number, command.command, pipeline_.tile_buffers_of(flight));
  }
  pipeline_.start(flight);
}

void PeScheduler::check_operands(const Flight& flight) const {
  const CommandTransaction& command = *flight.command;
  for (const arch::OperandProblem& problem :
       arch::operand_problems(command.command, command.accesses, flight.plan, pe_.config)) {
    SC_REPORT_ERROR("/kernbench/pe_scheduler/operand",
                    fmt::format("{}: command {} ({}): operand {} {}", name(), command.number,
                                command::label(command.command),
                                command::to_string(problem.operand), problem.what)
                        .c_str());
  }
}

void PeScheduler::command_done(Flight& flight) {
  CommandTransaction& command = *flight.command;
  admission_.retire(command.number);
  --inflight_;
  if (pe_.recorder != nullptr) pe_.recorder->inflight({pe_.time.now(), pe_.index, -1});
  if (pe_.hazards != nullptr) pe_.hazards->retire(command.number);
  flights_.erase(std::find(flights_.begin(), flights_.end(), &flight));
  flight_pool_.release(flight);
  // Admission is decided when everything of this instant has completed.
  if (!queue_.empty() || offered_ != nullptr) touch();
  send_backward(command_in, command, tlm::BEGIN_RESP);
}

// ---- stages -------------------------------------------------------------------------------------

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
    pipeline_.stage_done(stage);
    return tlm::TLM_COMPLETED;
  }
  return tlm::TLM_ACCEPTED;
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
