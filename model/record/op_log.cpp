// SPDX-License-Identifier: Apache-2.0
#include "model/record/op_log.hpp"

namespace kernbench::record {
namespace {

// -1: does not apply.
void write_index(OutputFile& file, std::int64_t value) {
  file.put(',');
  if (value >= 0) file.write_decimal(static_cast<std::uint64_t>(value));
}

// 0: does not apply; no stage moves or computes nothing.
void write_amount(OutputFile& file, std::uint64_t value) {
  file.put(',');
  if (value != 0) file.write_decimal(value);
}

void write_text(OutputFile& file, std::string_view text) {
  file.put(',');
  file.write(text);
}

}  // namespace

OpLog::OpLog(const std::string& path) : file_(path) {
  file_.write(kHeader);
  file_.put('\n');
}

void OpLog::record(const StageRecord& record) {
  file_.write_decimal(record.start);
  file_.put(',');
  file_.write_decimal(record.end);
  file_.put(',');
  file_.write_decimal(record.done);
  file_.put(',');
  file_.write_decimal(record.pe);
  write_text(file_, to_string(record.engine));
  if (record.channel != 0) file_.write_decimal(record.channel);
  write_text(file_, to_string(record.stage));
  write_text(file_, record.op);
  write_index(file_, record.cmd);
  write_index(file_, record.op_index);
  write_index(file_, record.tile.m);
  write_index(file_, record.tile.n);
  write_index(file_, record.tile.k);
  write_text(file_, record.operand);
  file_.put(',');
  if (record.has_addr) file_.write_hex(record.addr);
  write_amount(file_, record.bytes);
  write_amount(file_, record.elements);
  file_.put('\n');
}

void OpLog::finish(Picoseconds /*end*/) { file_.commit(); }

}  // namespace kernbench::record
