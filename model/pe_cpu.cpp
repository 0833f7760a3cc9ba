// SPDX-License-Identifier: Apache-2.0
#include "model/pe_cpu.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "model/record/codes.hpp"
#include "tlm_if/command/error.hpp"

namespace kernbench {
namespace {

// Room for kernels with large locals; a thread's default of 256 KiB ends in a bare segfault.
constexpr std::size_t kKernelStackBytes = 4u << 20;
constexpr std::size_t kMaxRegions = 64;

/// What serves a simple command; a composite is `none` and equal to nothing.
enum class SimpleEngine : std::uint8_t { none, dma_rd, dma_wr, math, gemm };

SimpleEngine engine_of(const command::Command& command) {
  if (std::holds_alternative<command::DmaReadCmd>(command)) return SimpleEngine::dma_rd;
  if (std::holds_alternative<command::DmaWriteCmd>(command)) return SimpleEngine::dma_wr;
  if (std::holds_alternative<command::MathCmd>(command)) return SimpleEngine::math;
  if (std::holds_alternative<command::GemmCmd>(command)) return SimpleEngine::gemm;
  return SimpleEngine::none;
}

}  // namespace

PeCpu::PeCpu(const sc_core::sc_module_name& name, PeContext& pe)
    : sc_module(name),
      Settling(pe.hub, SettlePhase::admission, pe.index,
               static_cast<std::uint32_t>(ComponentOrder::cpu)),
      pe_(pe) {
  KERNBENCH_HAS_PROCESS(PeCpu);
  SC_THREAD(run_kernel);
  set_stack_size(kKernelStackBytes);
  command_out.bind(*this);
}

void PeCpu::run_kernel() {
  if (kernel_) {
    // An exception must not unwind through SystemC's thread: the host side asks for it.
    try {
      kernel_(*this);
    } catch (const InputError&) {
      failure_ = std::current_exception();
      return;
    }
  }
  kernel_done_ = true;
  last_done_ps_ = pe_.time.now();
}

void PeCpu::issue(command::Command command) {
  CommandTransaction& transaction = pool_.acquire();
  transaction.command = std::move(command);
  transaction.number = next_number_++;
  transaction.regions = open_regions_;
  command::access_set(transaction.command, transaction.accesses);
  ++totals_.commands;
  if (!transaction.composite()) lazy_await(transaction);
  dispatch(transaction);
  if (std::holds_alternative<command::PeCpuOverheadCmd>(transaction.command)) {
    pool_.release(transaction);  // it is done when PE_CPU is (R3.9)
    return;
  }
  offer(transaction);
}

// R6.11: the engine of the command itself needs no await, admission orders it (R6.12).
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
  while (!resumable_) sc_core::wait(resume_event_);
  state_ = 0;
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
  const std::uint64_t start = pe_.time.now();
  const std::uint64_t time =
      (overhead != nullptr ? pe_.timing.cycles(overhead->cycles) : pe_.timing.dispatch(bytes)) +
      pe_.extra_delay();
  for (std::size_t i = 0; i < regions_.size(); ++i) {
    if ((command.regions >> i & 1) == 0) continue;
    Region& region = regions_[i];
    if (!region.entered) region.start_ps = start;
    region.entered = true;
    region.end_ps = std::max(region.end_ps, start + time);
    ++region.commands;
    region.segments += segments;
    region.logical_bytes += bytes;
  }
  const std::uint64_t ticket = pe_.recorder != nullptr ? pe_.recorder->begin(start) : 0;
  show(arch::StageKind::dispatch, command.number, record::op_code(command.command));
  sc_core::wait(pe_.time.to_sc_time(time));
  busy_ = false;
  state_ = 0;
  record(arch::StageKind::dispatch, ticket, start, &command, command.number, bytes);
}

void PeCpu::offer(CommandTransaction& command) {
  outstanding_.push_back(&command);
  const std::uint64_t start = pe_.time.now();
  // The command may be done and recycled when a stall ends: keep its number.
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
  const std::uint64_t now = pe_.time.now();
  last_done_ps_ = now;
  for (std::size_t i = 0; i < regions_.size(); ++i) {
    if ((command.regions >> i & 1) != 0) {
      regions_[i].end_ps = std::max(regions_[i].end_ps, now);
    }
  }
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
  pool_.release(command);
  return tlm::TLM_COMPLETED;
}

// After the scheduler's turn: a stalled command has been pulled, then the kernel goes on.
void PeCpu::settle() {
  if (resumable_) resume_event_.notify();
}

void PeCpu::record(arch::StageKind kind, std::uint64_t ticket, std::uint64_t start,
                   const CommandTransaction* command, std::uint64_t number, std::uint64_t bytes) {
  const std::uint64_t now = pe_.time.now();
  if (now != start) ++seq_;
  if (pe_.recorder == nullptr) return;
  if (now == start) {  // R10.2: no row
    pe_.recorder->drop(ticket);
    return;
  }
  record::StageRecord record;
  record.start = start;
  record.end = record.done = now;
  record.pe = pe_.index;
  record.engine = arch::Engine::cpu;
  record.stage = kind;
  record.cmd = static_cast<std::int64_t>(number);
  if (command != nullptr) record.op = command::label(command->command);
  record.bytes = bytes;
  pe_.recorder->end(ticket, record);
}

void PeCpu::begin_region(std::string_view name) {
  auto region = std::find_if(regions_.begin(), regions_.end(),
                             [&](const Region& r) { return r.name == name; });
  if (region == regions_.end()) {
    if (regions_.size() == kMaxRegions) {
      throw InputError(
          fmt::format("region '{}' is one more than the {} that a kernel may name; "
                      "reuse names for repeated phases",
                      name, kMaxRegions));
    }
    region = regions_.insert(regions_.end(), Region{});
    region->name = name;
    region_depth_.push_back(0);
  }
  const auto index = static_cast<std::size_t>(region - regions_.begin());
  ++region_depth_[index];
  open_regions_ |= std::uint64_t{1} << index;
}

void PeCpu::end_region(std::string_view name) {
  const auto region = std::find_if(regions_.begin(), regions_.end(),
                                   [&](const Region& r) { return r.name == name; });
  if (region == regions_.end()) return;
  const auto index = static_cast<std::size_t>(region - regions_.begin());
  if (region_depth_[index] > 0 && --region_depth_[index] == 0) {
    open_regions_ &= ~(std::uint64_t{1} << index);
  }
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

std::vector<std::string> PeCpu::waiting() const {
  if (kernel_done_) return {};
  if (awaited_ != nullptr) {
    return {fmt::format("{}: the kernel waits for command {} ({})", name(), awaited_->number,
                        command::label(awaited_->command))};
  }
  return {fmt::format("{}: the kernel has not returned", name())};
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
