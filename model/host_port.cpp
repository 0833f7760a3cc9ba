// SPDX-License-Identifier: Apache-2.0
#include "model/host_port.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "model/arch/limits.hpp"
#include "tlm_if/command/error.hpp"
#include "tlm_if/command/little_endian.hpp"

namespace kernbench {
namespace {

using command::Fault;

constexpr std::uint32_t kMinRingBytes = 128;  // room for a table entry
constexpr std::uint32_t kMaxRingBytes = KB_HOST_WINDOW_BYTES - KB_HOST_RING;
constexpr std::uint64_t kMaxAccessNs = 1'000'000'000;
constexpr std::size_t kMaxOpenRegions = 64;
constexpr std::uint64_t kWordBytes = 4;
// Of a SET_HANDLE record: framing and index precede the entry.
constexpr std::size_t kEntryOffset = command::kFramingBytes + 4;
constexpr std::uint64_t kPsPerNs = 1000;
// More than a host reads of the registers at one instant for good reason.
constexpr std::uint32_t kMaxPolls = 1'000'000;

static_assert(command::kMaxHandleTableEntries * KB_HOST_TABLE_STRIDE <=
              KB_HOST_RING - KB_HOST_TABLE);
static_assert(KB_HOST_TABLE_ENTRY_BYTES == command::kHandleEntryBytes);
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

/// [address, address + length) lies in [base, base + size).
bool lies_in(std::uint64_t address, std::uint64_t length, std::uint64_t base, std::uint64_t size) {
  return address >= base && length <= size && address - base <= size - length;
}

std::uint32_t word_of(const std::uint8_t* bytes) {
  return command::LittleEndianReader(bytes, kWordBytes).get<std::uint32_t>();
}

std::uint8_t byte_of(std::uint32_t word, std::uint64_t index) {
  return static_cast<std::uint8_t>(word >> 8 * index);
}

std::uint32_t low(std::uint64_t value) { return static_cast<std::uint32_t>(value); }
std::uint32_t high(std::uint64_t value) { return static_cast<std::uint32_t>(value >> 32); }

}  // namespace

HostPort::HostPort(const sc_core::sc_module_name& name, Pe& pe, const HostPortConfig& config)
    : sc_module(name),
      Settling(SettleHub::of_simulation(), SettlePhase::admission, pe.index(),
               static_cast<std::uint32_t>(ComponentOrder::host_port)),
      cpu_(pe.cpu),
      ipcq_(pe.ipcq),
      config_(checked(name, config)),
      limits_(arch::limits_of(pe.config(), pe.index())),
      pe_index_(pe.index()),
      access_time_(TimeBase().to_sc_time(arch::ExactScale(config.access_ns).rounded(kPsPerNs))),
      ring_(config.ring_bytes),
      table_(std::size_t{config.table_entries} * command::kHandleEntryBytes),
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

// sc_out must be bound; a host that polls, or waits for a time, has nothing to bind.
void HostPort::before_end_of_elaboration() {
  if (interrupt.bind_count() != 0) return;
  unbound_ = std::make_unique<sc_core::sc_signal<bool>>("unbound");
  interrupt.bind(*unbound_);
}

// A PE that is bound to no network has no other to name, whatever pe.pes says.
void HostPort::end_of_elaboration() {
  if (!ipcq_.connected()) limits_.pes = 1;
}

// An access takes effect when the host's own delay has passed: the doorbell's time is the launch's.
void HostPort::b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  if (delay != sc_core::SC_ZERO_TIME) sc_core::wait(delay);
  watch_polling(payload);
  payload.set_response_status(access(payload));
  delay = access_time_;
}

// What the host writes into the ring, and what it starts, is no poll however often.
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

// Whether it is taken is known before anything changes.
tlm::tlm_response_status HostPort::access(const tlm::tlm_generic_payload& payload) {
  const std::uint64_t length = payload.get_data_length();
  if (payload.get_byte_enable_ptr() != nullptr) return tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE;
  if (length == 0 || payload.get_streaming_width() < length) return tlm::TLM_BURST_ERROR_RESPONSE;
  return is_in_ring(payload.get_address(), length) ? access_ring(payload) : access_words(payload);
}

tlm::tlm_response_status HostPort::access_ring(const tlm::tlm_generic_payload& payload) {
  std::uint8_t* const bytes = ring_.data() + (payload.get_address() - KB_HOST_RING);
  if (payload.is_read()) std::copy_n(bytes, payload.get_data_length(), payload.get_data_ptr());
  if (payload.is_write()) std::copy_n(payload.get_data_ptr(), payload.get_data_length(), bytes);
  return tlm::TLM_OK_RESPONSE;
}

tlm::tlm_response_status HostPort::access_words(const tlm::tlm_generic_payload& payload) {
  const std::uint64_t address = payload.get_address();
  const std::uint64_t length = payload.get_data_length();
  if (!lies_in(address, length, 0, KB_HOST_RING)) return tlm::TLM_ADDRESS_ERROR_RESPONSE;
  bool allowed = true;
  for (std::uint64_t word = address - address % kWordBytes; word < address + length;
       word += kWordBytes) {
    const std::optional<Access> access = word_access(word);
    if (!access) return tlm::TLM_ADDRESS_ERROR_RESPONSE;
    allowed = allowed && !(payload.is_read() && *access == Access::write_only) &&
              !(payload.is_write() && *access == Access::read_only);
  }
  if ((length != kWordBytes && length != 2 * kWordBytes) || address % length != 0) {
    return tlm::TLM_BURST_ERROR_RESPONSE;
  }
  if (!allowed) return tlm::TLM_COMMAND_ERROR_RESPONSE;
  std::uint8_t* const data = payload.get_data_ptr();
  for (std::uint64_t at = 0; at < length; at += kWordBytes) {
    if (payload.is_write()) write_register(address + at, word_of(data + at));
    if (!payload.is_read()) continue;
    const std::uint32_t word = read_word(address + at);
    for (std::uint64_t i = 0; i < kWordBytes; ++i) data[at + i] = byte_of(word, i);
  }
  return tlm::TLM_OK_RESPONSE;
}

unsigned int HostPort::transport_dbg(tlm::tlm_generic_payload& payload) {
  std::uint8_t* const data = payload.get_data_ptr();
  const std::uint64_t length =
      payload.get_command() == tlm::TLM_IGNORE_COMMAND ? 0 : payload.get_data_length();
  std::uint64_t done = 0;
  for (; done < length; ++done) {
    const std::uint64_t address = payload.get_address() + done;
    if (address < done) break;
    if (is_in_ring(address, 1)) {
      std::uint8_t& byte = ring_[static_cast<std::size_t>(address - KB_HOST_RING)];
      if (payload.is_read()) data[done] = byte;
      if (payload.is_write()) byte = data[done];
    } else if (payload.is_read() && word_access(address - address % kWordBytes)) {
      data[done] = byte_of(read_word(address - address % kWordBytes), address % kWordBytes);
    } else {
      break;
    }
  }
  return static_cast<unsigned int>(done);
}

bool HostPort::get_direct_mem_ptr(tlm::tlm_generic_payload&, tlm::tlm_dmi& dmi) {
  dmi.init();  // denied for all addresses: no access, null pointer, range 0 to the last
  return false;
}

bool HostPort::is_in_ring(std::uint64_t address, std::uint64_t length) const {
  return lies_in(address, length, KB_HOST_RING, config_.ring_bytes);
}

std::optional<HostPort::Access> HostPort::word_access(std::uint64_t address) const {
  switch (address) {
    case KB_HOST_ID:
    case KB_HOST_VERSION:
    case KB_HOST_CAPABILITIES:
    case KB_HOST_PE_INDEX:
    case KB_HOST_RING_BYTES:
    case KB_HOST_TABLE_ENTRIES:
    case KB_HOST_PES:
    case KB_HOST_IPCQ_CHANNELS:
    case KB_HOST_HBM_BYTES_LO:
    case KB_HOST_HBM_BYTES_HI:
    case KB_HOST_SCRATCH_BASE_LO:
    case KB_HOST_SCRATCH_BASE_HI:
    case KB_HOST_SCRATCH_BYTES_LO:
    case KB_HOST_SCRATCH_BYTES_HI:
    case KB_HOST_STATUS:
    case KB_HOST_RING_HEAD:
    case KB_HOST_RING_TAIL:
    case KB_HOST_PROGRAMS_DONE:
    case KB_HOST_ERROR_CODE:
    case KB_HOST_ERROR_OFFSET_LO:
    case KB_HOST_ERROR_OFFSET_HI:
    case KB_HOST_ERROR_INFO:
    case KB_HOST_ERROR_ADDRESS_LO:
    case KB_HOST_ERROR_ADDRESS_HI:
      return Access::read_only;
    case KB_HOST_CONTROL:
    case KB_HOST_DOORBELL:
      return Access::write_only;
    case KB_HOST_IRQ_STATUS:
    case KB_HOST_IRQ_MASK:
    case KB_HOST_SPACE_THRESHOLD:
      return Access::read_write;
    default:
      break;
  }
  const std::uint64_t table_bytes = std::uint64_t{config_.table_entries} * KB_HOST_TABLE_STRIDE;
  if (lies_in(address, kWordBytes, KB_HOST_TABLE, table_bytes)) return Access::read_only;
  return {};
}

std::uint32_t HostPort::read_word(std::uint64_t address) const {
  if (address < KB_HOST_TABLE) return read_register(address);
  const std::uint64_t entry = (address - KB_HOST_TABLE) / KB_HOST_TABLE_STRIDE;
  const std::uint64_t offset = address % KB_HOST_TABLE_STRIDE;
  if (offset >= command::kHandleEntryBytes) return 0;
  return word_of(table_.data() + entry * command::kHandleEntryBytes + offset);
}

std::uint32_t HostPort::read_register(std::uint64_t offset) const {
  switch (offset) {
    case KB_HOST_ID:
      return KB_HOST_ID_VALUE;
    case KB_HOST_VERSION:
      return KB_HOST_VERSION_VALUE;
    case KB_HOST_CAPABILITIES:
      return KB_HOST_CAP_COMPOSITE | KB_HOST_CAP_SIMPLE | (limits_.pes > 1 ? KB_HOST_CAP_IPCQ : 0) |
             (limits_.math_head_from_hbm ? KB_HOST_CAP_HBM_HEAD : 0);
    case KB_HOST_PE_INDEX:
      return pe_index_;
    case KB_HOST_RING_BYTES:
      return config_.ring_bytes;
    case KB_HOST_TABLE_ENTRIES:
      return config_.table_entries;
    case KB_HOST_PES:
      return limits_.pes;
    case KB_HOST_IPCQ_CHANNELS:
      return limits_.ipcq_channels;
    case KB_HOST_HBM_BYTES_LO:
      return low(limits_.hbm_bytes);
    case KB_HOST_HBM_BYTES_HI:
      return high(limits_.hbm_bytes);
    case KB_HOST_SCRATCH_BASE_LO:
      return low(limits_.scratch.begin);
    case KB_HOST_SCRATCH_BASE_HI:
      return high(limits_.scratch.begin);
    case KB_HOST_SCRATCH_BYTES_LO:
      return low(limits_.scratch.end - limits_.scratch.begin);
    case KB_HOST_SCRATCH_BYTES_HI:
      return high(limits_.scratch.end - limits_.scratch.begin);
    case KB_HOST_STATUS:
      return status();
    case KB_HOST_IRQ_STATUS:
      return irq_status_;
    case KB_HOST_IRQ_MASK:
      return irq_mask_;
    case KB_HOST_RING_HEAD:
      return low(head_);
    case KB_HOST_RING_TAIL:
      return low(published_);
    case KB_HOST_SPACE_THRESHOLD:
      return space_threshold_;
    case KB_HOST_PROGRAMS_DONE:
      return programs_done_;
    case KB_HOST_ERROR_CODE:
      return error_.code;
    case KB_HOST_ERROR_OFFSET_LO:
      return low(error_.offset);
    case KB_HOST_ERROR_OFFSET_HI:
      return high(error_.offset);
    case KB_HOST_ERROR_INFO:
      return error_.info;
    case KB_HOST_ERROR_ADDRESS_LO:
      return low(error_.address);
    case KB_HOST_ERROR_ADDRESS_HI:
      return high(error_.address);
    default:
      return 0;  // write-only
  }
}

void HostPort::write_register(std::uint64_t offset, std::uint32_t value) {
  switch (offset) {
    case KB_HOST_CONTROL:
      if ((value & KB_HOST_CONTROL_RESET) != 0) reset();
      break;
    case KB_HOST_IRQ_STATUS:
      irq_status_ &= ~value;
      break;
    case KB_HOST_IRQ_MASK:
      irq_mask_ = value & KB_HOST_IRQ_ALL;
      break;
    case KB_HOST_DOORBELL:
      publish(value);
      break;
    case KB_HOST_SPACE_THRESHOLD:
      space_threshold_ = std::min(value, config_.ring_bytes);
      space_armed_ = true;
      touch();
      break;
    default:
      break;
  }
  update_interrupt();
}

// Bytes that are published are a program to be run, from the doorbell on.
std::uint32_t HostPort::status() const {
  const bool running = launched_ || (!halted() && published_ != head_);
  return (running ? KB_HOST_STATUS_RUNNING : 0) | (waiting_ ? KB_HOST_STATUS_WAITING : 0) |
         (halted() ? KB_HOST_STATUS_HALTED : 0) | (cut_ ? KB_HOST_STATUS_DRAINING : 0);
}

// The host goes on at once with all registers as at the start. The kernel's thread stops, and the
// stream begins anew, when the instant settles.
void HostPort::reset() {
  std::fill(table_.begin(), table_.end(), std::uint8_t{0});
  published_ = head_ = 0;
  irq_status_ = irq_mask_ = 0;
  space_threshold_ = 0;
  space_armed_ = false;
  programs_done_ = 0;
  error_ = {};
  pe_fault_.reset();
  incoming_.clear();
  waiting_ = false;
  cut_ = launched_;
  reset_pending_ = true;
  touch();
}

// The bytes are the PE's from now on: what the host writes over them later has no effect.
void HostPort::publish(std::uint32_t tail) {
  if (halted()) return;
  const std::uint32_t count = tail - low(published_);
  if (count > free_bytes()) {
    error_ = {KB_HOST_ERROR_DOORBELL, published_, tail,
              fmt::format("doorbell {:#x} publishes {} bytes after the tail {:#x}; {} are free",
                          tail, count, low(published_), free_bytes()),
              0};
    irq_status_ |= KB_HOST_IRQ_ERROR;
  } else {
    const std::size_t begin = low(published_) & (config_.ring_bytes - 1);
    const std::size_t first = std::min<std::size_t>(count, config_.ring_bytes - begin);
    const auto ring_begin = ring_.begin();
    incoming_.insert(incoming_.end(), ring_begin + static_cast<std::ptrdiff_t>(begin),
                     ring_begin + static_cast<std::ptrdiff_t>(begin + first));
    incoming_.insert(incoming_.end(), ring_begin,
                     ring_begin + static_cast<std::ptrdiff_t>(count - first));
    published_ += count;
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
    issued_.push_back({cpu_.totals().commands, consumed_, word_of(record)});
  }
  ended_ = std::holds_alternative<command::EndOfProgram>(result);
  position_ += size;
  consumed_ += size;
  touch();  // the head has moved
  if (step != nullptr) perform(*step, sink);
}

// R4.9, for whatever program the records come from. A name of a region beyond those that PE_CPU has
// room for is taken without statistics: names are of all programs, and a driver runs for long.
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
  fault_ = {code, consumed_ + offset, word_of(stream_.data() + position_), std::move(reason), 0};
  touch();
}

// The earliest command's if there are several at one instant, in whatever order they are found. Of
// a program that reset has cut nobody wants to know.
bool HostPort::take_fault(const PeFault& fault) {
  const auto record = std::find_if(issued_.begin(), issued_.end(), [&](const Issued& issued) {
    return issued.command == fault.command;
  });
  if (record == issued_.end()) return false;  // of a launch of somebody else
  if (cut_) return true;
  Error error{KB_HOST_ERROR_MEMORY, record->offset, record->framing, fault.reason, fault.address};
  if (fault.kind == PeFault::Kind::address) error.code = KB_HOST_ERROR_ADDRESS;
  if (fault.kind == PeFault::Kind::message_size) error.code = KB_HOST_ERROR_MESSAGE_SIZE;
  const auto key = [](const Error& of) {
    return std::tie(of.offset, of.address, of.code, of.reason);
  };
  if (!pe_fault_ || key(error) < key(*pe_fault_)) pe_fault_ = std::move(error);
  touch();
  return true;
}

// So registers, and what the kernel's thread finds in the stream, depend neither on the order of
// the processes of an instant nor on who was first.
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
  head_ = consumed_;
  for (const auto& [index, bytes] : new_entries_) {
    std::copy(bytes.begin(), bytes.end(),
              table_.begin() + std::ptrdiff_t{index} * std::ptrdiff_t{KB_HOST_TABLE_ENTRY_BYTES});
  }
  new_entries_.clear();
  // A command's fault is of a record before that which is wrong itself.
  if ((pe_fault_ || fault_.code != KB_HOST_ERROR_NONE) && !halted()) {
    error_ = pe_fault_ ? *pe_fault_ : fault_;
    irq_status_ |= KB_HOST_IRQ_ERROR;
  }
  const bool more = !incoming_.empty();
  if (position_ > stream_.size() / 2) {  // seldom: each byte moves at most once or twice
    stream_.erase(stream_.begin(), stream_.begin() + static_cast<std::ptrdiff_t>(position_));
    position_ = 0;
  }
  stream_.insert(stream_.end(), incoming_.begin(), incoming_.end());
  incoming_.clear();
  stop_ = halted() || cut_;
  if (!launched_ && !stop_ && position_ < stream_.size()) {
    launched_ = true;
    ended_ = returned_ = false;
    cpu_.launch([this](command::CommandSink& sink) { run_program(sink); });
  } else if (stop_ || more) {
    cpu_.host_ready();
  }
  waiting_ = launched_ && !stop_ && !more && cpu_.waits_for_host();
  raise_space();
  update_interrupt();
}

// Within PE_CPU's settling.
void HostPort::launch_done() {
  if (!launched_ || !returned_) return;  // a launch of somebody else
  launched_ = false;
  if (ended_ && !cut_ && !pe_fault_) {
    ++programs_done_;
    irq_status_ |= KB_HOST_IRQ_DONE;
  }
  cut_ = false;
  touch();
}

// Once each time that the free bytes come to the threshold, or that it is written.
void HostPort::raise_space() {
  if (space_threshold_ == 0) return;
  const bool is_free = free_bytes() >= space_threshold_;
  if (is_free && space_armed_) irq_status_ |= KB_HOST_IRQ_SPACE;
  space_armed_ = !is_free;
}

void HostPort::update_interrupt() {
  const bool level = (irq_status_ & irq_mask_) != 0;
  if (level == level_) return;
  level_ = level;
  interrupt_event_.notify();
}

// The signal's one writer, whoever calls; the signal changes in the delta after.
void HostPort::drive_interrupt() { interrupt.write(level_); }

}  // namespace kernbench
