// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "model/record/output_file.hpp"
#include "model/record/record.hpp"

namespace kernbench::record {

/// The op log (R10.2): CSV, one row a stage, in the order of op_log_order(); decimal numbers,
/// `addr` in hexadecimal (`0x2a`), columns that do not apply empty. Fields hold no comma and no
/// quote. docs/timing.md has the table of which stage fills which column with what.
///
/// A simple load or store has neither op_index nor tile, a math stage outside the tile loop no
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
