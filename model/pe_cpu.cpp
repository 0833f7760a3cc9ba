// SPDX-License-Identifier: Apache-2.0
#include "model/pe_cpu.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "model/pe_watchdog.hpp"
#include "model/record/codes.hpp"
#include "tlm_if/command/error.hpp"

namespace kernbench {
namespace {

constexpr std::uint64_t kMinKernelStackBytes = 64u << 10;

/// The engine of a simple command; `none`, which equals no other, for a composite or work of
/// PE_CPU.
enum class SimpleEngine : std::uint8_t { none, dma_rd, dma_wr, math, gemm, ipcq };

SimpleEngine engine_of(const command::Command& command) {
  return std::visit(
      command::Overloaded{[](const command::CompositeCmd&) { return SimpleEngine::none; },
                          [](const command::DmaReadCmd&) { return SimpleEngine::dma_rd; },
                          [](const command::DmaWriteCmd&) { return SimpleEngine::dma_wr; },
                          [](const command::MathCmd&) { return SimpleEngine::math; },
                          [](const command::GemmCmd&) { return SimpleEngine::gemm; },
                          [](const command::PeCpuOverheadCmd&) { return SimpleEngine::none; },
                          [](const command::IpcqSendCmd&) { return SimpleEngine::ipcq; },
                          [](const command::IpcqRecvCmd&) { return SimpleEngine::ipcq; }},
      command);
}

std::string failure_text(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const InputError& error) {
    return error.what();
  }
}

}  // namespace

PeCpu::PeCpu(const sc_core::sc_module_name& name, PeContext& pe)
    : sc_module(name),
      Settling(pe.hub, SettlePhase::admission, pe.index,
               static_cast<std::uint32_t>(ComponentOrder::cpu)),
      pe_(pe) {
  if (pe.config.kernel_stack_bytes < kMinKernelStackBytes) {
    throw InputError(fmt::format("{}: kernel_stack_bytes is {}, and kernels need {} at least",
                                 this->name(), pe.config.kernel_stack_bytes, kMinKernelStackBytes));
  }
  KERNBENCH_HAS_PROCESS(PeCpu);
  SC_THREAD(run_kernels);
  // The default of 256 KiB per thread is small for kernels, and an overflow is just a segmentation
  // fault.
  set_stack_size(pe.config.kernel_stack_bytes);
  command_out.bind(*this);
}

void PeCpu::launch(KernelBody kernel) {
  if (sc_core::sc_get_status() >= sc_core::SC_STOPPED) {
    throw InputError(fmt::format(
        "{}: a kernel is launched after sc_stop, and SystemC runs nothing any more; to "
        "launch again, end the first part by Pe::idle() and sc_start(time), or sc_pause",
        name()));
  }
  launches_.push_back(std::move(kernel));
  if (simulates_) touch();
}

void PeCpu::run_kernels() {
  simulates_ = true;
  if (!launches_.empty()) kernel_ = Kernel::runs;
  for (;;) {
    while (kernel_ != Kernel::runs) sc_core::wait(launch_event_);
    body_ = std::move(launches_.front());
    launches_.pop_front();
    if (pe_.timing.launch() > 0) sc_core::wait(pe_.time.to_sc_time(pe_.timing.launch()));
    // An exception must not unwind through SystemC's thread; the host side asks for it.
    try {
      body_(*this);
    } catch (const InputError&) {
      failure_ = std::current_exception();
      return;
    }
    body_ = nullptr;
    kernel_ = Kernel::returned;
    last_done_ps_ = pe_.time.now();
    touch();
  }
}

void PeCpu::issue(command::Command command) {
  CommandTransaction& transaction = pool_.acquire();
  transaction.command = std::move(command);
  transaction.number = next_number_++;
  transaction.regions = regions_.open();
  command::access_set(transaction.command, transaction.accesses);
  ++totals_.commands;
  if (!transaction.composite()) lazy_await(transaction);
  dispatch(transaction);
  if (std::holds_alternative<command::PeCpuOverheadCmd>(transaction.command)) {
    // It is done when PE_CPU has finished it (R3.9).
    regions_.leave(transaction.regions, transaction.number, pe_.time.now());
    pool_.release(transaction);
    return;
  }
  offer(transaction);
}

// R6.11: commands of the command's own engine need no await, since admission orders them (R6.12).
void PeCpu::lazy_await(const CommandTransaction& command) {
  const SimpleEngine engine = engine_of(command.command);
  for (;;) {
    const auto conflict = std::find_if(outstanding_.begin(), outstanding_.end(),
                                       [&](const CommandTransaction* earlier) {
                                         return engine_of(earlier->command) != engine &&
                                                earlier->accesses.conflicts_with(command.accesses);
                                       });
    if (conflict == outstanding_.end()) return;
    await(**conflict, command.number);
  }
}

void PeCpu::wait(const std::vector<command::ByteRange>& ranges) {
  for (;;) {
    const auto writer = std::find_if(
        outstanding_.begin(), outstanding_.end(),
        [&](const CommandTransaction* earlier) { return earlier->accesses.writes_any_of(ranges); });
    if (writer == outstanding_.end()) return;
    await(**writer, (*writer)->number);
  }
}

void PeCpu::await(const CommandTransaction& command, std::uint64_t row_number) {
  const std::uint64_t start = pe_.time.now();
  const std::uint64_t ticket = pe_.recorder != nullptr ? pe_.recorder->begin(start) : 0;
  awaited_ = &command;
  show(arch::StageKind::wait, row_number, 0);
  block();
  record(arch::StageKind::wait, ticket, start, nullptr, row_number, 0);
}

void PeCpu::block() {
  resumable_ = false;
  blocked_ = true;
  while (!resumable_) sc_core::wait(resume_event_);
  blocked_ = false;
  state_ = 0;
}

// No row: R10.2 has none for waits outside the PE.
void PeCpu::await_host() {
  awaits_host_ = true;
  block();
  awaits_host_ = false;
}

void PeCpu::host_ready() {
  if (!awaits_host_) return;
  resumable_ = true;
  touch();
}

void PeCpu::show(arch::StageKind kind, std::uint64_t number, std::uint32_t op) {
  busy_ = kind == arch::StageKind::dispatch;
  state_ = record::state_code(kind);
  cmd_ = number;
  op_ = op;
}

void PeCpu::dispatch(const CommandTransaction& command) {
  const auto* overhead = std::get_if<command::PeCpuOverheadCmd>(&command.command);
  const std::uint64_t bytes = command::logical_bytes(command.command);
  const std::uint64_t segments =
      overhead != nullptr ? 0 : arch::dispatch_segments(pe_.config.pe_cost_model, bytes);
  totals_.segments += segments;
  totals_.logical_bytes += bytes;
  pe_.progress();
  const std::uint64_t start = pe_.time.now();
  const std::uint64_t time =
      (overhead != nullptr ? pe_.timing.cycles(overhead->cycles) : pe_.timing.dispatch(bytes)) +
      pe_.extra_delay();
  regions_.enter(command.regions, {command.number, start, start + time, segments, bytes});
  const std::uint64_t ticket = pe_.recorder != nullptr ? pe_.recorder->begin(start) : 0;
  show(arch::StageKind::dispatch, command.number, record::op_code(command.command));
  sc_core::wait(pe_.time.to_sc_time(time));
  pe_.progress();
  busy_ = false;
  state_ = 0;
  record(arch::StageKind::dispatch, ticket, start, &command, command.number, bytes);
}

void PeCpu::offer(CommandTransaction& command) {
  outstanding_.push_back(&command);
  if (pe_.watchdog != nullptr && outstanding_.size() == 1) pe_.watchdog->start();
  const std::uint64_t start = pe_.time.now();
  // The command may be done and recycled when a stall ends, so its number is kept.
  const std::uint64_t number = command.number;
  if (send_forward(command_out, command, tlm::BEGIN_REQ) == tlm::TLM_UPDATED) return;
  const std::uint64_t ticket = pe_.recorder != nullptr ? pe_.recorder->begin(start) : 0;
  show(arch::StageKind::queue_stall, number, 0);
  block();  // END_REQ resumes
  record(arch::StageKind::queue_stall, ticket, start, nullptr, number, 0);
}

tlm::tlm_sync_enum PeCpu::nb_transport_bw(CommandTransaction& command, tlm::tlm_phase& phase,
                                          sc_core::sc_time&) {
  if (phase == tlm::END_REQ) {
    resumable_ = true;
    touch();
    return tlm::TLM_ACCEPTED;
  }
  last_done_ps_ = pe_.time.now();
  regions_.leave(command.regions, command.number, last_done_ps_);
  for (std::size_t i = 0; i < observations_.size();) {
    Observation& observation = observations_[i];
    auto& writers = observation.writers;
    writers.erase(std::remove(writers.begin(), writers.end(), &command), writers.end());
    if (!writers.empty()) {
      ++i;
      continue;
    }
    observe_handler_(observation.name, observation.handle);
    observations_.erase(observations_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  if (awaited_ == &command) {
    awaited_ = nullptr;
    resumable_ = true;
    touch();
  }
  outstanding_.erase(std::find(outstanding_.begin(), outstanding_.end(), &command));
  if (outstanding_.empty()) {
    if (pe_.watchdog != nullptr) pe_.watchdog->stop();
    if (kernel_ == Kernel::returned) touch();
  }
  pool_.release(command);
  return tlm::TLM_COMPLETED;
}

// Called after the scheduler's turn: a stalled command has been taken, then the kernel continues.
void PeCpu::settle() {
  if (resumable_) resume_event_.notify();
  if (kernel_ == Kernel::returned && outstanding_.empty()) {
    kernel_ = Kernel::none;
    if (launch_done_handler_) launch_done_handler_();
  }
  if (kernel_ == Kernel::none && !launches_.empty()) {
    kernel_ = Kernel::runs;
    launch_event_.notify();
  }
}

void PeCpu::record(arch::StageKind kind, std::uint64_t ticket, std::uint64_t start,
                   const CommandTransaction* command, std::uint64_t number, std::uint64_t bytes) {
  if (pe_.time.now() != start) ++seq_;
  if (pe_.recorder == nullptr) return;
  record::StageRecord row;
  row.start = start;
  row.engine = arch::Engine::cpu;
  row.stage = kind;
  row.cmd = static_cast<std::int64_t>(number);
  // A region begins with its first dispatch (R13.1), not with the waits before it.
  row.regions = regions_.entered();
  if (command != nullptr) row.op = command::label(command->command);
  row.bytes = bytes;
  pe_.end_row(ticket, row);
}

void PeCpu::observe(std::string_view name, const command::TensorHandle& handle) {
  if (!observe_handler_) return;
  const std::vector<command::ByteRange> range{handle.range()};
  Observation observation{{}, std::string(name), handle};
  for (const CommandTransaction* earlier : outstanding_) {
    if (earlier->accesses.writes_any_of(range)) observation.writers.push_back(earlier);
  }
  if (observation.writers.empty()) {
    observe_handler_(name, handle);
  } else {
    observations_.push_back(std::move(observation));
  }
}

void PeCpu::waits(arch::WaitGraph& graph, const std::string& pe_name) const {
  using Node = arch::WaitNode;
  const Node kernel = Node::kernel(pe_.index);
  graph.add_pe(pe_.index, pe_name, kernel_ != Kernel::runs && launches_.empty());
  if (awaited_ != nullptr) graph.add(kernel, Node::command(pe_.index, awaited_->number));
  if (kernel_ == Kernel::returned && !launches_.empty()) {
    for (const CommandTransaction* command : outstanding_) {
      graph.add(kernel, Node::command(pe_.index, command->number),
                "waits, before the next launch, for");
    }
  }
  if (awaits_host_) graph.note(kernel, "waits for its host port");
  if (running()) graph.note(kernel, "runs and has not returned");
  if (failure_ != nullptr) graph.note(kernel, "has thrown: " + failure_text(failure_));
}

void PeCpu::trace(sc_core::sc_trace_file* file) const {
  const std::string scope = name();
  sc_core::sc_trace(file, busy_, scope + ".busy");
  sc_core::sc_trace(file, state_, scope + ".state");
  sc_core::sc_trace(file, cmd_, scope + ".cmd");
  sc_core::sc_trace(file, op_, scope + ".op");
  sc_core::sc_trace(file, seq_, scope + ".seq");
}

}  // namespace kernbench
