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

/// Chrome trace-event JSON for Perfetto (R10.4): a process a PE (pid = PE number + 1), a track an
/// engine or DMA channel. Complete events (`X`), `ts` and `dur` in microseconds with six decimals,
/// which is exact; Perfetto itself shows whole nanoseconds. Stalls and waits are events of the
/// category `stall`, all else of `stage`. A DMA event spans the occupation of its channel; its data
/// is complete at `args.done_ps`. `args` has the op log's columns, those that apply; of a send or
/// recv `slot`, `peer` (its number) and `channel` instead of a tile.
class Trace : public OrderedSink {
 public:
  /// `topology`: of the design. Throws InputError if the file cannot be opened.
  Trace(const std::string& path, const arch::TopologyConfig& topology);
  /// Without a PE; throws as the other.
  explicit Trace(const std::string& path);

  /// Names a PE, before its first record.
  void add_pe(const PeScope& pe) { names_[pe.number] = pe.name; }
  /// What the run was on, for `otherData.machine`; without it there is none.
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
