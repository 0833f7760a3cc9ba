// SPDX-License-Identifier: Apache-2.0
#include "model/host_port.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "model/arch/limits.hpp"
#include "tlm_if/command/check.hpp"
#include "tlm_if/command/error.hpp"
#include "tlm_if/command/little_endian.hpp"

namespace kernbench {
namespace {

using command::Fault;

constexpr std::uint32_t kMinRingBytes = 128;  // room for a table entry
constexpr std::uint32_t kMaxRingBytes = KB_HOST_WINDOW_BYTES - KB_HOST_RING;
constexpr std::uint64_t kMaxAccessNs = 1'000'000'000;
constexpr std::size_t kMaxOpenRegions = 64;
// In a SET_HANDLE record framing and index precede the entry.
constexpr std::size_t kEntryOffset = command::kFramingBytes + 4;
constexpr std::uint64_t kPsPerNs = 1000;
// More register reads at one instant than a host can have reason for.
constexpr std::uint32_t kMaxPolls = 1'000'000;

static_assert(KB_HOST_ERROR_NONE == static_cast<unsigned>(Fault::none) &&
              KB_HOST_ERROR_BAD_SIZE == static_cast<unsigned>(Fault::bad_size) &&
              KB_HOST_ERROR_BAD_KIND == static_cast<unsigned>(Fault::bad_kind) &&
              KB_HOST_ERROR_BAD_FLAGS == static_cast<unsigned>(Fault::bad_flags) &&
              KB_HOST_ERROR_BAD_OPCODE == static_cast<unsigned>(Fault::bad_opcode) &&
              KB_HOST_ERROR_BAD_SCOPE == static_cast<unsigned>(Fault::bad_scope) &&
              KB_HOST_ERROR_BAD_COUNT == static_cast<unsigned>(Fault::bad_count) &&
              KB_HOST_ERROR_BAD_REFERENCE == static_cast<unsigned>(Fault::bad_reference) &&
              KB_HOST_ERROR_BAD_HANDLE == static_cast<unsigned>(Fault::bad_handle) &&
              KB_HOST_ERROR_BAD_TEXT == static_cast<unsigned>(Fault::bad_text) &&
              KB_HOST_ERROR_BAD_RANGE == static_cast<unsigned>(Fault::bad_range) &&
              KB_HOST_ERROR_REFUSED == static_cast<unsigned>(Fault::refused));

/// The first word of a record.
std::uint32_t framing_of(const std::uint8_t* record) {
  return command::LittleEndianReader(record, command::kFramingBytes).get<std::uint32_t>();
}

HostPortConfig checked(const sc_core::sc_module_name& name, const HostPortConfig& config) {
  const auto* const port = static_cast<const char*>(name);
  const std::uint32_t ring = config.ring_bytes;
  if (ring < kMinRingBytes || ring > kMaxRingBytes || (ring & (ring - 1)) != 0) {
    throw InputError(fmt::format("{}: ring_bytes is {}; it must be a power of two in [{}, {}]",
                                 port, ring, kMinRingBytes, kMaxRingBytes));
  }
  if (config.table_entries < 1 || config.table_entries > command::kMaxHandleTableEntries) {
    throw InputError(fmt::format("{}: table_entries is {}; it must be in [1, {}]", port,
                                 config.table_entries, command::kMaxHandleTableEntries));
  }
  if (arch::Rational(kMaxAccessNs) < config.access_ns) {
    throw InputError(fmt::format("{}: access_ns is {}; it must be in [0, {}]", port,
                                 config.access_ns.to_string(), kMaxAccessNs));
  }
  return config;
}

}  // namespace

HostPort::HostPort(const sc_core::sc_module_name& name, Pe& pe, const HostPortConfig& config)
    : sc_module(name),
      Settling(SettleHub::of_simulation(), SettlePhase::admission, pe.index(),
               static_cast<std::uint32_t>(ComponentOrder::host_port)),
      cpu_(pe.cpu),
      ipcq_(pe.ipcq),
      config_(checked(name, config)),
      limits_(arch::limits_of(pe.config(), pe.index())),
      registers_(*this, limits_, pe.index(), config_.ring_bytes, config_.table_entries),
      access_time_(TimeBase().to_sc_time(arch::ExactScale(config.access_ns).rounded(kPsPerNs))),
      decoder_(config.table_entries) {
  KERNBENCH_HAS_PROCESS(HostPort);
  SC_METHOD(drive_interrupt);
  sensitive << interrupt_event_;
  dont_initialize();
  host.register_b_transport(this, &HostPort::b_transport);
  host.register_transport_dbg(this, &HostPort::transport_dbg);
  host.register_get_direct_mem_ptr(this, &HostPort::get_direct_mem_ptr);
  cpu_.set_launch_done_handler([this] { launch_done(); });
  pe.set_fault_handler([this](const PeFault& fault) { return take_fault(fault); });
}

// sc_out must be bound, but a host that polls, or waits for a time, has nothing to bind.
void HostPort::before_end_of_elaboration() {
  if (interrupt.bind_count() != 0) return;
  unbound_ = std::make_unique<sc_core::sc_signal<bool>>("unbound");
  interrupt.bind(*unbound_);
}

// A PE that is not bound to a network cannot name other PEs, whatever pe.pes is.
void HostPort::end_of_elaboration() {
  if (!ipcq_.connected()) limits_.pes = 1;
}

// An access takes effect when the host's own delay has passed, so the launch begins at the time of
// the doorbell.
void HostPort::b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  if (delay != sc_core::SC_ZERO_TIME) sc_core::wait(delay);
  watch_polling(payload);
  payload.set_response_status(registers_.access(payload));
  update_interrupt();
  delay = access_time_;
}

// Writes to the ring and doorbells do not count as polling, however many there are.
void HostPort::watch_polling(const tlm::tlm_generic_payload& payload) {
  const std::uint64_t address = payload.get_address();
  const bool starts =
      payload.is_write() && (address == KB_HOST_CONTROL || address == KB_HOST_DOORBELL);
  const bool polls = address < KB_HOST_TABLE && !starts;
  const sc_core::sc_time& now = sc_core::sc_time_stamp();
  if (!polls || now != poll_time_) polls_ = 0;
  poll_time_ = now;
  if (!polls || ++polls_ < kMaxPolls) return;
  polls_ = 0;
  SC_REPORT_ERROR(
      "/kernbench/host_port/polling",
      fmt::format("{}: the host has accessed registers {} times at {} and no time passes, so that "
                  "what it waits for cannot come; let it wait for the interrupt or for a time "
                  "between two accesses, or set access_ns of the port above 0",
                  name(), kMaxPolls, now.to_string())
          .c_str());
}

unsigned int HostPort::transport_dbg(tlm::tlm_generic_payload& payload) {
  return static_cast<unsigned int>(registers_.debug_access(payload));
}

bool HostPort::get_direct_mem_ptr(tlm::tlm_generic_payload&, tlm::tlm_dmi& dmi) {
  dmi.init();  // denied for all addresses: no access, null pointer, range 0 to the last
  return false;
}

// Published bytes are a program to be run, from the doorbell on.
std::uint32_t HostPort::status() const {
  const bool unfinished = registers_.published() != registers_.head();
  const bool running = launched_ || (!registers_.halted() && unfinished);
  return (running ? KB_HOST_STATUS_RUNNING : 0) | (waiting_ ? KB_HOST_STATUS_WAITING : 0) |
         (registers_.halted() ? KB_HOST_STATUS_HALTED : 0) | (cut_ ? KB_HOST_STATUS_DRAINING : 0);
}

// The host continues at once with all registers as at the start. When the instant settles, the
// kernel's thread stops and the stream begins again.
void HostPort::reset() {
  pe_fault_.reset();
  incoming_.clear();
  waiting_ = false;
  cut_ = launched_;
  reset_pending_ = true;
  touch();
}

// The bytes belong to the PE from now on; overwriting them later has no effect.
void HostPort::publish(std::uint32_t tail) {
  if (registers_.halted()) return;
  const std::uint32_t published = static_cast<std::uint32_t>(registers_.published());
  const std::uint32_t count = tail - published;
  if (count > registers_.free_bytes()) {
    registers_.halt({KB_HOST_ERROR_DOORBELL, registers_.published(), tail,
                     fmt::format("doorbell {:#x} publishes {} bytes after the tail {:#x}; {} are "
                                 "free",
                                 tail, count, published, registers_.free_bytes()),
                     0});
  } else {
    const std::vector<std::uint8_t> bytes = registers_.take_from_ring(count);
    incoming_.insert(incoming_.end(), bytes.begin(), bytes.end());
  }
  touch();
}

void HostPort::run_program(command::CommandSink& sink) {
  while (!stop_ && !ended_ && fault_.code == KB_HOST_ERROR_NONE) {
    const std::size_t size = next_record_bytes();
    if (size > config_.ring_bytes) {
      fail(KB_HOST_ERROR_TOO_LARGE, 0,
           fmt::format("a record of {} bytes does not fit the ring of {}", size,
                       config_.ring_bytes));
    } else if (stream_.size() - position_ < size) {
      touch();
      cpu_.await_host();
    } else {
      take_record(sink, size);
    }
  }
  for (; !open_regions_.empty(); open_regions_.pop_back()) sink.end_region(open_regions_.back());
  returned_ = true;
}

std::size_t HostPort::next_record_bytes() const {
  if (stream_.size() - position_ < command::kFramingBytes) return command::kFramingBytes;
  return std::max(command::Decoder::record_size(stream_.data() + position_),
                  command::kFramingBytes);
}

void HostPort::take_record(command::CommandSink& sink, std::size_t size) {
  const std::uint8_t* const record = stream_.data() + position_;
  command::Decoder::Result result = decoder_.decode(record, size);
  if (const auto* error = std::get_if<command::DecodeError>(&result)) {
    fail(static_cast<std::uint32_t>(error->fault), error->offset, error->reason);
    return;
  }
  auto* const step = std::get_if<command::ProgramStep>(&result);
  try {
    if (step != nullptr) accept(*step, sink);
  } catch (const InputError& error) {
    fail(KB_HOST_ERROR_REFUSED, 0, error.what());
    return;
  }
  if (const auto* update = std::get_if<command::HandleTableUpdate>(&result)) {
    auto& entry = new_entries_.emplace_back();
    entry.first = update->index;
    std::copy_n(record + kEntryOffset, command::kHandleEntryBytes, entry.second.begin());
  }
  if (step != nullptr && std::holds_alternative<command::Command>(*step)) {
    while (!issued_.empty() && issued_.front().command < cpu_.first_outstanding()) {
      issued_.pop_front();
    }
    issued_.push_back({cpu_.totals().commands, consumed_, framing_of(record)});
  }
  ended_ = std::holds_alternative<command::EndOfProgram>(result);
  position_ += size;
  consumed_ += size;
  touch();  // the head has moved
  if (step != nullptr) perform(*step, sink);
}

// R4.9, whatever program the records come from. If PE_CPU has no room for another region name, the
// region is accepted without statistics, because names count over all programs and a driver runs
// for a long time.
void HostPort::accept(const command::ProgramStep& step, command::CommandSink& sink) {
  command::check_step(step, limits_);
  if (const auto* begin = std::get_if<command::BeginRegionStep>(&step)) {
    if (open_regions_.size() == kMaxOpenRegions) {
      throw InputError(fmt::format("region '{}' begins in {} others; end one first", begin->name,
                                   kMaxOpenRegions));
    }
    if (cpu_.takes_region(begin->name)) sink.begin_region(begin->name);
    open_regions_.push_back(begin->name);
  }
  if (const auto* end = std::get_if<command::EndRegionStep>(&step)) {
    const auto open = std::find(open_regions_.rbegin(), open_regions_.rend(), end->name);
    if (open == open_regions_.rend()) {
      throw InputError(fmt::format("region '{}' ends and is not open; begin it first", end->name));
    }
    open_regions_.erase(open.base() - 1);
    sink.end_region(end->name);
  }
}

void HostPort::perform(command::ProgramStep& step, command::CommandSink& sink) {
  if (auto* command = std::get_if<command::Command>(&step)) sink.issue(std::move(*command));
  if (const auto* wait = std::get_if<command::WaitStep>(&step)) sink.wait(wait->ranges);
  if (const auto* observe = std::get_if<command::ObserveStep>(&step)) {
    sink.observe(observe->name, observe->handle);
  }
}

void HostPort::fail(std::uint32_t code, std::size_t offset, std::string reason) {
  fault_ = {code, consumed_ + offset, framing_of(stream_.data() + position_), std::move(reason), 0};
  touch();
}

// If several faults are found at one instant, in any order, the earliest command's is kept. Faults
// of a program that reset has cut are ignored.
bool HostPort::take_fault(const PeFault& fault) {
  const auto record = std::find_if(issued_.begin(), issued_.end(), [&](const Issued& issued) {
    return issued.command == fault.command;
  });
  if (record == issued_.end()) return false;  // somebody else's launch
  if (cut_) return true;
  HostError error{KB_HOST_ERROR_MEMORY, record->offset, record->framing, fault.reason,
                  fault.address};
  if (fault.kind == PeFault::Kind::address) error.code = KB_HOST_ERROR_ADDRESS;
  if (fault.kind == PeFault::Kind::message_size) error.code = KB_HOST_ERROR_MESSAGE_SIZE;
  const auto key = [](const HostError& of) {
    return std::tie(of.offset, of.address, of.code, of.reason);
  };
  if (!pe_fault_ || key(error) < key(*pe_fault_)) pe_fault_ = std::move(error);
  touch();
  return true;
}

// So registers, and the stream that the kernel's thread sees, do not depend on the order of the
// processes of an instant.
void HostPort::settle() {
  if (reset_pending_) {
    reset_pending_ = false;
    decoder_.reset();
    stream_.clear();
    position_ = 0;
    consumed_ = 0;
    new_entries_.clear();
    fault_ = {};
  }
  registers_.set_head(consumed_);
  for (const auto& [index, bytes] : new_entries_) registers_.set_table_entry(index, bytes.data());
  new_entries_.clear();
  // If both exist, the command's fault counts, because its record comes before the invalid record.
  if ((pe_fault_ || fault_.code != KB_HOST_ERROR_NONE) && !registers_.halted()) {
    registers_.halt(pe_fault_ ? *pe_fault_ : fault_);
  }
  const bool more = !incoming_.empty();
  if (position_ > stream_.size() / 2) {  // this is rare, so each byte moves at most once or twice
    stream_.erase(stream_.begin(), stream_.begin() + static_cast<std::ptrdiff_t>(position_));
    position_ = 0;
  }
  stream_.insert(stream_.end(), incoming_.begin(), incoming_.end());
  incoming_.clear();
  stop_ = registers_.halted() || cut_;
  if (!launched_ && !stop_ && position_ < stream_.size()) {
    launched_ = true;
    ended_ = returned_ = false;
    cpu_.launch([this](command::CommandSink& sink) { run_program(sink); });
  } else if (stop_ || more) {
    cpu_.host_ready();
  }
  waiting_ = launched_ && !stop_ && !more && cpu_.waits_for_host();
  registers_.raise_space();
  update_interrupt();
}

// Called while PE_CPU settles.
void HostPort::launch_done() {
  if (!launched_ || !returned_) return;  // a launch of somebody else
  launched_ = false;
  if (ended_ && !cut_ && !pe_fault_) registers_.count_program();
  cut_ = false;
  touch();
}

void HostPort::update_interrupt() {
  const bool level = registers_.interrupt_pending();
  if (level == level_) return;
  level_ = level;
  interrupt_event_.notify();
}

// The only writer of the signal, which changes in the next delta cycle.
void HostPort::drive_interrupt() { interrupt.write(level_); }

}  // namespace kernbench
