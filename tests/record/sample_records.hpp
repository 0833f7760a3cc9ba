// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "model/arch/config.hpp"
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

/// A slot of a message between PEs.
inline StageRecord message_row(Picoseconds start, Picoseconds end, StageKind stage,
                               std::int64_t cmd, std::int32_t slot, std::int32_t peer,
                               std::int32_t channel) {
  StageRecord record = row(start, end, Engine::ipcq, stage, cmd);
  record.op = to_string(stage);
  record.tile = {slot, peer, channel};
  record.operand = stage == StageKind::send ? "src" : "out";
  record.has_addr = true;
  record.addr = command::kTcmBase + 0x40;
  record.bytes = 8192;
  return record;
}

inline StageRecord on_pe(std::uint32_t pe, StageRecord record) {
  record.pe = pe;
  return record;
}

/// A design of `pes` PEs around one memory.
inline arch::TopologyConfig one_cube(std::uint32_t pes) {
  arch::TopologyConfig topology;
  topology.pes_per_cube = pes;
  return topology;
}

/// 2 SIPs of 3 cubes of 4 PEs: PE 11 is sip0.cube2.pe3, PE 12 is sip1.cube0.pe0.
inline arch::TopologyConfig two_sips() {
  arch::TopologyConfig topology;
  topology.sips = 2;
  topology.cubes_per_sip = 3;
  topology.pes_per_cube = 4;
  return topology;
}

/// Feeds `records`, already in op-log order, and ends the run.
inline void feed(record::OrderedSink& sink, const std::vector<StageRecord>& records,
                 Picoseconds end) {
  for (const StageRecord& record : records) sink.record(record);
  sink.finish(end);
}

}  // namespace kernbench::test
