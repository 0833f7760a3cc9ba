// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "model/record/output_file.hpp"
#include "model/record/record.hpp"

namespace kernbench::record {

/// The op log (R10.2): a CSV file with one row per stage, in the order of op_log_order(). Numbers
/// are decimal, but `addr` is hexadecimal (`0x2a`). Columns that do not apply are empty. Fields
/// contain no comma or quote. docs/timing.md says how each stage fills the columns.
///
/// A simple load or store has neither op_index nor tile. A math stage outside the tile loop has no
/// tile. `other` is the memory operand of an op on the accumulator (R4.6).
class OpLog : public OrderedSink {
 public:
  static constexpr std::string_view kHeader =
      "start_ps,end_ps,done_ps,pe,engine,stage,op,cmd,op_index,tile_m,tile_n,tile_k,operand,addr,"
      "bytes,elements";

  /// Throws InputError if the file cannot be opened.
  explicit OpLog(const std::string& path);

  void record(const StageRecord& record) override;
  /// The file appears under its name.
  void finish(Picoseconds end) override;

 private:
  OutputFile file_;
};

}  // namespace kernbench::record
