// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string_view>
#include <vector>

#include "model/record/record.hpp"
#include "model/record/statistics.hpp"

namespace kernbench::record {

/// Takes records when stages end and passes them to the sinks in op-log order, as soon as no open
/// stage can start earlier (R10.2). An open stage holds its place. Stages start in time order, so a
/// queue in that order suffices, and memory use depends on the longest stage, not on the run.
/// Without a sink only the statistics are kept.
///
/// A wait of one PE holds back all rows of the other PEs in that time. So a row is stored in 88
/// bytes, 94 including the queue's overhead: ten million rows per GB.
class Recorder {
 public:
  using Ticket = std::uint64_t;

  /// Not owned; must outlive the recorder. Before the first begin().
  void add_sink(OrderedSink& sink) { sinks_.push_back(&sink); }
  bool ordered() const { return !sinks_.empty(); }

  /// A stage starts now. `now` never decreases from call to call.
  Ticket begin(Picoseconds now) { return ordered() ? hold_place(now) : Ticket{0}; }
  /// The stage of `ticket` has ended; `record.start` is the time of its begin(). Every ticket is
  /// ended or dropped exactly once.
  void end(Ticket ticket, const StageRecord& record) {
    statistics_.add(record);
    if (ordered()) close(ticket, record);
  }
  /// The stage of `ticket` gives no row (a wait of zero length).
  void drop(Ticket ticket) {
    if (ordered()) slot(ticket).state = State::dropped;
  }
  /// Not before the latest begin().
  void inflight(const InflightChange& change) {
    if (ordered()) changes_.push_back(change);
  }
  /// End of the run; stages that are still open give no row.
  void finish(Picoseconds end);

  /// Stages that hold a place now; they determine the memory use.
  std::size_t pending() const { return slots_.size(); }

  const Statistics& statistics() const { return statistics_; }
  Statistics& statistics() { return statistics_; }

 private:
  enum class State : std::uint8_t { open, closed, dropped };
  /// A StageRecord in two thirds of its size: texts are indices into texts_.
  struct Slot {
    Picoseconds start = 0;  ///< while open, only this is set
    Picoseconds end = 0, done = 0;
    std::int64_t cmd = -1;
    command::Address addr = 0;
    std::uint64_t bytes = 0, elements = 0;
    std::int32_t op_index = -1;
    arch::TileIndex tile;
    std::uint32_t pe = 0;
    std::uint16_t channel = 0;
    arch::Engine engine = arch::Engine::cpu;
    arch::StageKind stage = arch::StageKind::dispatch;
    std::uint8_t op = 0, operand = 0;
    bool has_addr = false;
    State state = State::open;
  };
  static_assert(sizeof(Slot) == 88);

  Slot& slot(Ticket ticket) { return slots_[ticket - first_ticket_]; }
  StageRecord unpacked(const Slot& slot) const;
  /// The text's index in texts_.
  std::uint8_t text_number(std::string_view text);
  Ticket hold_place(Picoseconds now);
  void close(Ticket ticket, const StageRecord& record);
  /// Passes on the rows that start before `before`, up to the first open stage.
  void flush(Picoseconds before);
  /// Passes on the slots [first_ticket_, scanned_), which all start at one time.
  void hand_over();
  void hand_over_changes(Picoseconds until);

  std::vector<OrderedSink*> sinks_;
  std::deque<Slot> slots_;  // in order of begin()
  Ticket first_ticket_ = 0;
  Ticket scanned_ = 0;  // slots from the first up to here have ended and start at the same time
  std::deque<InflightChange> changes_;
  std::vector<std::string_view> texts_;  // ops and operands seen, a few dozen
  std::array<std::uint8_t, 251> text_guesses_{};
  std::vector<StageRecord> batch_;  // closed records with one start time, to be sorted
  Statistics statistics_;
};

/// The order of rows: (start, end, pe, engine, cmd, op_index, tile m, n, k, operand). Names compare
/// as text, the engine with its channel suffix; -1 (empty) comes first. Rows that are equal in all
/// of these compare by the other columns, so the order never depends on which stage was reported
/// first.
bool op_log_order(const StageRecord& x, const StageRecord& y);

}  // namespace kernbench::record
