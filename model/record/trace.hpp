// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>

#include "model/record/output_file.hpp"
#include "model/record/pe_scope.hpp"
#include "model/record/record.hpp"

namespace kernbench::record {

/// Chrome trace-event JSON for Perfetto (R10.4): one process per PE (pid = PE number + 1), one
/// track per engine or DMA channel. Events are complete events (`X`); `ts` and `dur` are in
/// microseconds with six decimals, which is exact, although Perfetto shows whole nanoseconds.
/// Stalls and waits are events of the category `stall`, all others of `stage`. A DMA event spans
/// the occupation of its channel; its data is complete at `args.done_ps`. `args` has the op log's
/// columns that apply; for a send or recv it has `slot`, `peer` (a PE number) and `channel` instead
/// of a tile.
class Trace : public OrderedSink {
 public:
  /// `topology`: of the design. Throws InputError if the file cannot be opened.
  Trace(const std::string& path, const arch::TopologyConfig& topology);
  /// The same without PEs.
  explicit Trace(const std::string& path);

  /// Names a PE, before its first record.
  void add_pe(const PeScope& pe) { names_[pe.number] = pe.name; }
  /// Sets `otherData.machine`, which names the machine; without a call the trace has none.
  void set_machine(std::string title) { machine_ = std::move(title); }

  void record(const StageRecord& record) override;
  /// The file appears under its name.
  void finish(Picoseconds end) override;

 private:
  std::string pe_name(std::uint32_t number) const;
  void write_event_name(const StageRecord& record);
  void begin_event();
  void name_track(const StageRecord& record);
  void write_metadata(std::string_view what, std::uint64_t pid, std::uint64_t tid,
                      const std::string& name, std::uint64_t sort_index);

  OutputFile file_;
  std::map<std::uint32_t, std::string> names_;  // of PEs
  std::string machine_;
  bool any_event_ = false;
  std::set<std::uint32_t> pes_;                               // named processes
  std::set<std::pair<std::uint32_t, std::uint64_t>> tracks_;  // named (pe, tid)
};

}  // namespace kernbench::record
