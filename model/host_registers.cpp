// SPDX-License-Identifier: Apache-2.0
#include "model/host_registers.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "tlm_if/command/encoding.hpp"
#include "tlm_if/command/little_endian.hpp"

namespace kernbench {
namespace {

constexpr std::uint64_t kWordBytes = 4;

static_assert(command::kMaxHandleTableEntries * KB_HOST_TABLE_STRIDE <=
              KB_HOST_RING - KB_HOST_TABLE);
static_assert(KB_HOST_TABLE_ENTRY_BYTES == command::kHandleEntryBytes);

/// True if [address, address + length) is in [base, base + size).
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

struct HostRegisters::Register {
  std::uint32_t offset;
  std::uint32_t (*read)(const HostRegisters& r);         // null: write-only
  void (*write)(HostRegisters& r, std::uint32_t value);  // null: read-only
};

const HostRegisters::Register* HostRegisters::find_register(std::uint64_t address) {
  using R = const HostRegisters;
  using W = HostRegisters;
  static constexpr Register kRegisters[] = {
      {KB_HOST_ID, [](R&) { return KB_HOST_ID_VALUE; }, nullptr},
      {KB_HOST_VERSION, [](R&) { return KB_HOST_VERSION_VALUE; }, nullptr},
      {KB_HOST_CAPABILITIES, [](R& r) { return r.capabilities(); }, nullptr},
      {KB_HOST_PE_INDEX, [](R& r) { return r.pe_index_; }, nullptr},
      {KB_HOST_RING_BYTES, [](R& r) { return low(r.ring_.size()); }, nullptr},
      {KB_HOST_TABLE_ENTRIES, [](R& r) { return r.table_entries_; }, nullptr},
      {KB_HOST_PES, [](R& r) { return r.limits_.pes; }, nullptr},
      {KB_HOST_IPCQ_CHANNELS, [](R& r) { return r.limits_.ipcq_channels; }, nullptr},
      {KB_HOST_HBM_BYTES_LO, [](R& r) { return low(r.limits_.hbm_bytes); }, nullptr},
      {KB_HOST_HBM_BYTES_HI, [](R& r) { return high(r.limits_.hbm_bytes); }, nullptr},
      {KB_HOST_SCRATCH_BASE_LO, [](R& r) { return low(r.limits_.scratch.begin); }, nullptr},
      {KB_HOST_SCRATCH_BASE_HI, [](R& r) { return high(r.limits_.scratch.begin); }, nullptr},
      {KB_HOST_SCRATCH_BYTES_LO, [](R& r) { return low(r.limits_.scratch.size()); }, nullptr},
      {KB_HOST_SCRATCH_BYTES_HI, [](R& r) { return high(r.limits_.scratch.size()); }, nullptr},
      {KB_HOST_CONTROL, nullptr, [](W& r, std::uint32_t value) { r.write_control(value); }},
      {KB_HOST_STATUS, [](R& r) { return r.client_.status(); }, nullptr},
      {KB_HOST_IRQ_STATUS, [](R& r) { return r.irq_status_; },
       [](W& r, std::uint32_t value) { r.irq_status_ &= ~value; }},
      {KB_HOST_IRQ_MASK, [](R& r) { return r.irq_mask_; },
       [](W& r, std::uint32_t value) { r.irq_mask_ = value & KB_HOST_IRQ_ALL; }},
      {KB_HOST_RING_HEAD, [](R& r) { return low(r.head_); }, nullptr},
      {KB_HOST_RING_TAIL, [](R& r) { return low(r.published_); }, nullptr},
      {KB_HOST_DOORBELL, nullptr, [](W& r, std::uint32_t value) { r.client_.publish(value); }},
      {KB_HOST_SPACE_THRESHOLD, [](R& r) { return r.space_threshold_; },
       [](W& r, std::uint32_t value) { r.write_space_threshold(value); }},
      {KB_HOST_PROGRAMS_DONE, [](R& r) { return r.programs_done_; }, nullptr},
      {KB_HOST_ERROR_CODE, [](R& r) { return r.error_.code; }, nullptr},
      {KB_HOST_ERROR_OFFSET_LO, [](R& r) { return low(r.error_.offset); }, nullptr},
      {KB_HOST_ERROR_OFFSET_HI, [](R& r) { return high(r.error_.offset); }, nullptr},
      {KB_HOST_ERROR_INFO, [](R& r) { return r.error_.info; }, nullptr},
      {KB_HOST_ERROR_ADDRESS_LO, [](R& r) { return low(r.error_.address); }, nullptr},
      {KB_HOST_ERROR_ADDRESS_HI, [](R& r) { return high(r.error_.address); }, nullptr},
  };
  const auto* const found =
      std::find_if(std::begin(kRegisters), std::end(kRegisters),
                   [&](const Register& entry) { return entry.offset == address; });
  return found == std::end(kRegisters) ? nullptr : found;
}

HostRegisters::HostRegisters(Client& client, const command::Limits& limits, std::uint32_t pe_index,
                             std::uint32_t ring_bytes, std::uint32_t table_entries)
    : client_(client),
      limits_(limits),
      pe_index_(pe_index),
      table_entries_(table_entries),
      ring_(ring_bytes),
      table_(std::size_t{table_entries} * command::kHandleEntryBytes) {}

// ---- the host's side ----------------------------------------------------------------------------

tlm::tlm_response_status HostRegisters::access(const tlm::tlm_generic_payload& payload) {
  const std::uint64_t length = payload.get_data_length();
  if (payload.get_byte_enable_ptr() != nullptr) return tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE;
  if (length == 0 || payload.get_streaming_width() < length) return tlm::TLM_BURST_ERROR_RESPONSE;
  return is_in_ring(payload.get_address(), length) ? access_ring(payload) : access_words(payload);
}

tlm::tlm_response_status HostRegisters::access_ring(const tlm::tlm_generic_payload& payload) {
  std::uint8_t* const bytes = ring_.data() + (payload.get_address() - KB_HOST_RING);
  if (payload.is_read()) std::copy_n(bytes, payload.get_data_length(), payload.get_data_ptr());
  if (payload.is_write()) std::copy_n(payload.get_data_ptr(), payload.get_data_length(), bytes);
  return tlm::TLM_OK_RESPONSE;
}

tlm::tlm_response_status HostRegisters::access_words(const tlm::tlm_generic_payload& payload) {
  const std::uint64_t address = payload.get_address();
  const std::uint64_t length = payload.get_data_length();
  if (!lies_in(address, length, 0, KB_HOST_RING)) return tlm::TLM_ADDRESS_ERROR_RESPONSE;
  bool allowed = true;
  for (std::uint64_t word = address - address % kWordBytes; word < address + length;
       word += kWordBytes) {
    const std::optional<Permission> permitted = permission(word);
    if (!permitted) return tlm::TLM_ADDRESS_ERROR_RESPONSE;
    allowed = allowed && (permitted->read || !payload.is_read()) &&
              (permitted->write || !payload.is_write());
  }
  if ((length != kWordBytes && length != 2 * kWordBytes) || address % length != 0) {
    return tlm::TLM_BURST_ERROR_RESPONSE;
  }
  if (!allowed) return tlm::TLM_COMMAND_ERROR_RESPONSE;
  std::uint8_t* const data = payload.get_data_ptr();
  for (std::uint64_t at = 0; at < length; at += kWordBytes) {
    if (payload.is_write()) find_register(address + at)->write(*this, word_of(data + at));
    if (!payload.is_read()) continue;
    const std::uint32_t word = read_word(address + at);
    for (std::uint64_t i = 0; i < kWordBytes; ++i) data[at + i] = byte_of(word, i);
  }
  return tlm::TLM_OK_RESPONSE;
}

std::uint64_t HostRegisters::debug_access(tlm::tlm_generic_payload& payload) {
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
    } else if (payload.is_read() && permission(address - address % kWordBytes)) {
      data[done] = byte_of(read_word(address - address % kWordBytes), address % kWordBytes);
    } else {
      break;
    }
  }
  return done;
}

bool HostRegisters::is_in_ring(std::uint64_t address, std::uint64_t length) const {
  return lies_in(address, length, KB_HOST_RING, ring_.size());
}

bool HostRegisters::is_in_table(std::uint64_t address) const {
  const std::uint64_t bytes = std::uint64_t{table_entries_} * KB_HOST_TABLE_STRIDE;
  return lies_in(address, kWordBytes, KB_HOST_TABLE, bytes);
}

std::optional<HostRegisters::Permission> HostRegisters::permission(std::uint64_t address) const {
  if (is_in_table(address)) return Permission{true, false};
  const Register* const found = find_register(address);
  if (found == nullptr) return {};
  return Permission{found->read != nullptr, found->write != nullptr};
}

std::uint32_t HostRegisters::read_word(std::uint64_t address) const {
  if (is_in_table(address)) return read_table(address);
  const Register* const found = find_register(address);
  return found->read != nullptr ? found->read(*this) : 0;
}

std::uint32_t HostRegisters::read_table(std::uint64_t address) const {
  const std::uint64_t entry = (address - KB_HOST_TABLE) / KB_HOST_TABLE_STRIDE;
  const std::uint64_t offset = address % KB_HOST_TABLE_STRIDE;
  if (offset >= command::kHandleEntryBytes) return 0;
  return word_of(table_.data() + entry * command::kHandleEntryBytes + offset);
}

std::uint32_t HostRegisters::capabilities() const {
  return KB_HOST_CAP_COMPOSITE | KB_HOST_CAP_SIMPLE | (limits_.pes > 1 ? KB_HOST_CAP_IPCQ : 0) |
         (limits_.math_head_from_hbm ? KB_HOST_CAP_HBM_HEAD : 0);
}

void HostRegisters::write_control(std::uint32_t value) {
  if ((value & KB_HOST_CONTROL_RESET) == 0) return;
  reset();
  client_.reset();
}

void HostRegisters::write_space_threshold(std::uint32_t value) {
  space_threshold_ = std::min(value, low(ring_.size()));
  space_armed_ = true;
  client_.space_threshold_written();
}

// ---- the port's side ----------------------------------------------------------------------------

void HostRegisters::reset() {
  std::fill(table_.begin(), table_.end(), std::uint8_t{0});
  published_ = head_ = 0;
  irq_status_ = irq_mask_ = 0;
  space_threshold_ = 0;
  space_armed_ = false;
  programs_done_ = 0;
  error_ = {};
}

void HostRegisters::halt(const HostError& error) {
  error_ = error;
  raise(KB_HOST_IRQ_ERROR);
}

void HostRegisters::raise_space() {
  if (space_threshold_ == 0) return;
  const bool is_free = free_bytes() >= space_threshold_;
  if (is_free && space_armed_) raise(KB_HOST_IRQ_SPACE);
  space_armed_ = !is_free;
}

void HostRegisters::count_program() {
  ++programs_done_;
  raise(KB_HOST_IRQ_DONE);
}

std::vector<std::uint8_t> HostRegisters::take_from_ring(std::uint32_t count) {
  const std::size_t begin = low(published_) & (ring_.size() - 1);
  const std::size_t first = std::min<std::size_t>(count, ring_.size() - begin);
  std::vector<std::uint8_t> bytes(count);
  std::copy_n(ring_.data() + begin, first, bytes.data());
  std::copy_n(ring_.data(), count - first, bytes.data() + first);
  published_ += count;
  return bytes;
}

void HostRegisters::set_table_entry(std::uint32_t index, const std::uint8_t* bytes) {
  std::copy_n(bytes, command::kHandleEntryBytes,
              table_.data() + std::size_t{index} * command::kHandleEntryBytes);
}

}  // namespace kernbench
