// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <queue>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/record/output_file.hpp"
#include "model/record/pe_scope.hpp"
#include "model/record/record.hpp"

namespace kernbench::record {

/// A waveform of the stages (R10.3): changes only, in ps, without date and version.
///
/// The scopes are peN.cpu, peN.scheduler, peN.dma_rd (dma_rd1 ..), peN.dma_wr, peN.tcm, peN.gemm,
/// peN.math, peN.ipcq if the design has several PEs, and hbm, which counts the accesses of all PEs
/// of its cube. With several cubes these are inside scopes sipN.cubeN. PEs that are added one by
/// one have their own names. docs/timing.md has the table of variables.
///
/// `seq` counts the stages (stalls, waits) of its scope: if a stage starts at the instant at which
/// the previous one ends, seq changes while busy stays 1. If a value changes several times at one
/// instant, only the settled value is written. The other values stay as the last stage set them; x
/// means none yet, or does not apply. The last timestamp is the end of the run.
///
/// `op`, `operand` and `state` are codes; the file's comment lists them, as vcd_codes() does.
class Vcd : public OrderedSink {
 public:
  /// `topology`: of the design. `shown`: the numbers of the PEs that get a scope. A cube's hbm has
  /// a scope if one of its PEs has. Throws InputError if the file cannot be opened.
  Vcd(const std::string& path, const arch::TopologyConfig& topology,
      const std::vector<std::uint32_t>& shown);
  /// The same without PEs.
  explicit Vcd(const std::string& path);

  /// Adds a PE. Add every recorded PE before the first record, with the PEs of one parent scope in
  /// sequence.
  void add_pe(PeScope pe) { pes_.push_back(std::move(pe)); }

  void record(const StageRecord& record) override;
  void inflight(const InflightChange& change) override;
  /// The file appears under its name.
  void finish(Picoseconds end) override;

 private:
  using VariableIndex = std::size_t;
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  static constexpr std::int64_t kUnknown = -1;  // written as x

  struct Variable {
    std::string code;
    unsigned width = 1;
    std::int64_t value = 0;
    std::int64_t written = 0;
    bool touched = false;
  };

  /// The variables of one engine or channel; kNone for variables that it does not have.
  struct Lane {
    VariableIndex busy = kNone, state = kNone, blocked = kNone, inflight = kNone;
    VariableIndex cmd = kNone, op = kNone, operand = kNone, addr = kNone, bytes = kNone;
    VariableIndex tile_m = kNone, tile_n = kNone, tile_k = kNone;  ///< ipcq: slot, peer, channel
    VariableIndex seq = kNone;
    std::uint32_t running = 0;
  };

  /// An end at `time`: of a lane's stage, or of one access in an hbm counter.
  struct PendingEnd {
    Picoseconds time = 0;
    std::size_t lane = kNone;
    VariableIndex counter = kNone;
    friend bool operator>(const PendingEnd& x, const PendingEnd& y) { return x.time > y.time; }
  };

  /// Counters of running DMA stages of the PEs with this memory.
  struct Memory {
    VariableIndex reading = kNone, writing = kNone;
  };
  /// What has been declared for a PE.
  struct PeLanes {
    std::size_t first = kNone;  // its lanes are in the order of Engine; kNone: not shown
    std::size_t memory = kNone;
    std::uint32_t read_channels = 1, write_channels = 1;
  };

  /// Writes the definitions, at the first record.
  void declare_pes();
  void declare_pe(const PeScope& pe);
  Memory declare_memory(const PeScope& pe);
  PeLanes& lanes_of(const PeScope& pe);
  void declare_lane(arch::Engine engine, std::uint32_t channel);
  void declare_tile(Lane& lane);
  VariableIndex declare(std::string_view name, unsigned width, std::int64_t initial);
  /// Closes and opens scopes around a PE or a memory, up to that of `path`.
  void go_to_scope(std::string_view path);
  void open_scope(std::string_view name);
  void close_scope();
  Lane* find_lane(std::uint32_t pe, arch::Engine engine, std::uint32_t channel);

  void start_stage(Lane& lane, const StageRecord& record);
  void end_stage(Lane& lane);
  /// Applies all ends up to `time`, which then is the current instant.
  void advance(Picoseconds time);
  void move_to(Picoseconds time);
  /// Writes the settled values of the current instant that have changed.
  void write_instant();
  void set(VariableIndex variable, std::int64_t value);
  void add(VariableIndex variable, std::int64_t change);
  void write_time(Picoseconds time);
  void write_value(Variable& variable);

  OutputFile file_;
  std::vector<PeScope> pes_;
  std::map<std::string_view, std::int64_t> op_codes_, operand_codes_;
  std::vector<Variable> variables_;
  std::vector<std::string> scopes_;   // open: where declarations go
  std::vector<PeLanes> lanes_of_pe_;  // by number
  std::vector<Lane> lanes_;
  std::vector<Memory> memories_;

  std::priority_queue<PendingEnd, std::vector<PendingEnd>, std::greater<>> ends_;
  std::vector<VariableIndex> touched_;
  Picoseconds now_ = 0;
  Picoseconds written_time_ = 0;
  bool declared_ = false;
  bool initial_written_ = false;
};

/// The texts of the codes of `op`, `operand` and `cpu.state`; 0 means none or idle.
struct VcdCodes {
  std::vector<std::pair<int, std::string_view>> op, operand, state;
};
VcdCodes vcd_codes();

}  // namespace kernbench::record
