// SPDX-License-Identifier: Apache-2.0
#include "model/record/recorder.hpp"

#include <algorithm>
#include <cassert>
#include <limits>
#include <stdexcept>
#include <tuple>

namespace kernbench::record {
namespace {

// Negative, 0 or positive, like std::string_view::compare on the whole names. No engine's name is
// the beginning of another's, so the suffix decides only within one engine.
int compare_engines(const StageRecord& x, const StageRecord& y) {
  if (x.engine != y.engine) return to_string(x.engine).compare(to_string(y.engine));
  if (x.channel == y.channel) return 0;
  return engine_name(x.engine, x.channel).compare(engine_name(y.engine, y.channel));
}

auto indices(const StageRecord& x) {
  return std::tie(x.cmd, x.op_index, x.tile.m, x.tile.n, x.tile.k, x.operand);
}

auto other_columns(const StageRecord& x) {
  return std::make_tuple(to_string(x.stage), x.op, x.done, x.has_addr, x.addr, x.bytes, x.elements);
}

}  // namespace

std::string engine_name(arch::Engine engine, std::uint32_t channel) {
  std::string name(to_string(engine));
  if (channel != 0) name += std::to_string(channel);
  return name;
}

bool is_stall(arch::StageKind stage) {
  return stage == arch::StageKind::queue_stall || stage == arch::StageKind::wait ||
         stage == arch::StageKind::admit_stall;
}

bool is_message(arch::StageKind stage) {
  return stage == arch::StageKind::send || stage == arch::StageKind::recv;
}

std::uint32_t peer_of(const StageRecord& record) {
  return static_cast<std::uint32_t>(record.tile.n);
}

bool op_log_order(const StageRecord& x, const StageRecord& y) {
  if (x.start != y.start) return x.start < y.start;
  if (x.end != y.end) return x.end < y.end;
  if (x.pe != y.pe) return x.pe < y.pe;
  if (const int order = compare_engines(x, y); order != 0) return order < 0;
  if (indices(x) != indices(y)) return indices(x) < indices(y);
  return other_columns(x) < other_columns(y);
}

Recorder::Ticket Recorder::hold_place(Picoseconds now) {
  assert(slots_.empty() || slots_.back().start <= now);
  flush(now);
  slots_.emplace_back().start = now;
  return first_ticket_ + slots_.size() - 1;
}

void Recorder::close(Ticket ticket, const StageRecord& record) {
  Slot& closed = slot(ticket);
  assert(closed.state == State::open && closed.start == record.start);
  assert(record.channel <= std::numeric_limits<std::uint16_t>::max());
  closed.end = record.end;
  closed.done = record.done;
  closed.cmd = record.cmd;
  closed.addr = record.addr;
  closed.bytes = record.bytes;
  closed.elements = record.elements;
  closed.op_index = record.op_index;
  closed.tile = record.tile;
  closed.pe = record.pe;
  closed.channel = static_cast<std::uint16_t>(record.channel);
  closed.engine = record.engine;
  closed.stage = record.stage;
  closed.op = text_number(record.op);
  closed.operand = text_number(record.operand);
  closed.has_addr = record.has_addr;
  closed.state = State::closed;
}

StageRecord Recorder::unpacked(const Slot& slot) const {
  StageRecord record;
  record.start = slot.start;
  record.end = slot.end;
  record.done = slot.done;
  record.pe = slot.pe;
  record.engine = slot.engine;
  record.channel = slot.channel;
  record.stage = slot.stage;
  record.op = texts_[slot.op];
  record.cmd = slot.cmd;
  record.op_index = slot.op_index;
  record.tile = slot.tile;
  record.operand = texts_[slot.operand];
  record.has_addr = slot.has_addr;
  record.addr = slot.addr;
  record.bytes = slot.bytes;
  record.elements = slot.elements;
  return record;
}

// The texts are static, so the same address is the same text, and there are only as many as
// literals.
std::uint8_t Recorder::text_number(std::string_view text) {
  const auto is_it = [&](std::size_t i) {
    return texts_[i].data() == text.data() && texts_[i].size() == text.size();
  };
  // The address only decides where to look first; no result depends on it.
  std::uint8_t& guess =
      text_guesses_[reinterpret_cast<std::uintptr_t>(text.data()) % text_guesses_.size()];
  if (guess < texts_.size() && is_it(guess)) return guess;
  std::size_t number = 0;
  while (number < texts_.size() && !is_it(number)) ++number;
  if (number > std::numeric_limits<std::uint8_t>::max()) {
    throw std::logic_error("the recorder has no number for a 257th op or operand");
  }
  if (number == texts_.size()) texts_.push_back(text);
  guess = static_cast<std::uint8_t>(number);
  return guess;
}

void Recorder::finish(Picoseconds end) {
  for (Slot& held : slots_) {
    if (held.state == State::open) held.state = State::dropped;
  }
  flush(std::numeric_limits<Picoseconds>::max());
  hand_over_changes(std::numeric_limits<Picoseconds>::max());
  for (OrderedSink* sink : sinks_) sink->finish(end);
}

void Recorder::flush(Picoseconds before) {
  while (!slots_.empty() && slots_.front().start < before) {
    const Picoseconds start = slots_.front().start;
    const Ticket next = first_ticket_ + slots_.size();
    for (; scanned_ < next && slot(scanned_).start == start; ++scanned_) {
      if (slot(scanned_).state == State::open) return;
    }
    hand_over();
  }
}

void Recorder::hand_over() {
  hand_over_changes(slots_.front().start);
  batch_.clear();
  for (; first_ticket_ < scanned_; ++first_ticket_) {
    if (slots_.front().state == State::closed) batch_.push_back(unpacked(slots_.front()));
    slots_.pop_front();
  }
  std::sort(batch_.begin(), batch_.end(), op_log_order);
  for (const StageRecord& record : batch_) {
    for (OrderedSink* sink : sinks_) sink->record(record);
  }
}

void Recorder::hand_over_changes(Picoseconds until) {
  for (; !changes_.empty() && changes_.front().time <= until; changes_.pop_front()) {
    for (OrderedSink* sink : sinks_) sink->inflight(changes_.front());
  }
}

}  // namespace kernbench::record
