// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "model/record/recorder.hpp"

namespace kernbench::test {

using arch::Engine;
using arch::StageKind;
using record::InflightChange;
using record::Picoseconds;
using record::StageRecord;

inline StageRecord row(Picoseconds start, Picoseconds end, Engine engine, StageKind stage,
                       std::int64_t cmd) {
  StageRecord record;
  record.start = start;
  record.end = end;
  record.done = end;
  record.engine = engine;
  record.stage = stage;
  record.cmd = cmd;
  return record;
}

inline StageRecord math_row(Picoseconds start, Picoseconds end, std::int64_t cmd) {
  StageRecord record = row(start, end, Engine::math, StageKind::math, cmd);
  record.op = "rmax";
  record.op_index = 0;
  record.operand = "out";
  record.has_addr = true;
  record.addr = command::kTcmBase;
  record.elements = 512;
  return record;
}

inline StageRecord read_row(Picoseconds start, Picoseconds end, Picoseconds done, std::int64_t cmd,
                            std::uint32_t channel = 0) {
  StageRecord record = row(start, end, Engine::dma_rd, StageKind::dma_read, cmd);
  record.done = done;
  record.channel = channel;
  record.op = "gemm";
  record.op_index = 8;
  record.tile = {0, 1, 2};
  record.operand = "b";
  record.has_addr = true;
  record.addr = 0x1f000;
  record.bytes = 16384;
  return record;
}

inline StageRecord dispatch_row(Picoseconds start, Picoseconds end, std::int64_t cmd) {
  StageRecord record = row(start, end, Engine::cpu, StageKind::dispatch, cmd);
  record.op = "composite";
  record.bytes = 322;
  return record;
}

/// Feeds `records`, already in op-log order, and ends the run.
inline void feed(record::OrderedSink& sink, const std::vector<StageRecord>& records,
                 Picoseconds end) {
  for (const StageRecord& record : records) sink.record(record);
  sink.finish(end);
}

}  // namespace kernbench::test
