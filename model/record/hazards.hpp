// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "model/arch/config.hpp"
#include "model/arch/stage.hpp"
#include "model/record/record.hpp"
#include "tlm_if/command/commands.hpp"

namespace kernbench::record {

/// The position of a stage in program order: by command, then by tile (-1 for the prologue, n_tiles
/// for post-loop ops), then by the stage order of contract 6, then by position among MATH ops.
struct ProgramPlace {
  std::uint64_t command = 0;
  std::int64_t tile = -1;
  std::uint64_t stage = 0;
  std::int32_t position = 0;

  friend bool operator<(const ProgramPlace& x, const ProgramPlace& y) {
    return std::tie(x.command, x.tile, x.stage, x.position) <
           std::tie(y.command, y.tile, y.stage, y.position);
  }
};

/// One side of a finding: an operand of a command, and the first stage that accessed it.
struct HazardAccess {
  std::uint64_t command = 0;
  std::string label;           ///< of the command: `composite`, `load`, `rmax`, ..
  std::int32_t op_index = -1;  ///< -1: a load or store
  std::string op;              ///< the op at that index, or empty
  arch::StageKind stage = arch::StageKind::math;
  std::string operand;  ///< its name and its tensor: `src_a S0`
  bool write = false;
  Picoseconds start = 0;
  Picoseconds done = 0;
};

/// Two operands, at least one of them written, whose stages did not keep program order on shared
/// bytes.
struct Race {
  HazardAccess earlier;  ///< in program order; was not done when `later` started
  HazardAccess later;
  command::ByteRange bytes;        ///< the first bytes that the two stages share
  std::uint64_t shared_bytes = 0;  ///< total number of shared bytes
  std::uint64_t stage_pairs = 0;   ///< pairs of stages of these two operands
};

/// An operand that was read although nothing had written some of its bytes.
struct UninitializedRead {
  HazardAccess access;
  command::ByteRange bytes;         ///< the first missing bytes
  std::uint64_t missing_bytes = 0;  ///< total number of missing bytes
  std::uint64_t stages = 0;         ///< stages of this operand with missing bytes
};

struct HazardFindings {
  std::vector<Race> races;
  std::vector<UninitializedRead> uninitialized_reads;

  std::size_t size() const { return races.size() + uninitialized_reads.size(); }
};

/// One line each, with times in ps as in the op log.
std::string to_string(const Race& race);
std::string to_string(const UninitializedRead& read);
/// One line per finding.
std::vector<std::string> lines_of(const HazardFindings& findings);

/// Checks from the executed stages of one PE that every two accesses to the same bytes, at least
/// one of them a write, kept program order: the earlier access was done when the later one started.
/// The checker does not know the admission rules or the waits of the kernel.
///
/// An access is an operand or the output of a stage with the exact bytes of its slice, from start
/// to done. Accumulators and operand registers are not memory (R4.6); nor is a tile that STORE
/// prepares for HBM. The accesses of one stage do not conflict: it reads before it writes.
///
/// Memory use depends on what is in flight. A finished access is forgotten when no unfinished
/// earlier command, and no earlier stage of its own tile loop, can still access its bytes.
///
/// Not modelled: accesses of other PEs to a shared memory.
class HazardChecker {
 public:
  using Ticket = std::uint64_t;

  explicit HazardChecker(const arch::GemmConfig& gemm) : gemm_(gemm) {}
  ~HazardChecker();
  HazardChecker(const HazardChecker&) = delete;
  HazardChecker& operator=(const HazardChecker&) = delete;

  /// Sets the bytes of HBM that have a value from the start (default: all of HBM). TCM has none.
  void set_inputs(const std::vector<command::ByteRange>& inputs) { initialized_ = inputs; }

  /// A command enters flight. Call it in the order of command numbers. `tile_buffers`: the TCM
  /// bytes of its slot, or empty.
  void admit(std::uint64_t number, const command::Command& command,
             command::ByteRange tile_buffers);
  /// A stage of a command in flight starts; throws std::logic_error for any other command. Report
  /// the completions of an instant before its starts.
  Ticket begin(const ProgramPlace& place, const arch::StageSpec& spec, Picoseconds start);
  /// The stage's data is complete.
  void end(Ticket ticket, Picoseconds done);
  /// Every stage of the command is done.
  void retire(std::uint64_t number);

  /// The findings so far: one race per pair of operands and one uninitialized read per operand, in
  /// the order of (command, op_index, operand).
  HazardFindings findings() const;

  /// The number of stages in memory now.
  std::size_t remembered() const { return open_.size() + finished_.size(); }

 private:
  struct Flight;
  struct Access;
  struct Stage;
  /// An access of a stage. Shared: a finding outlives the stage and its command.
  struct Side {
    std::shared_ptr<const Stage> stage;
    std::size_t access = 0;
  };
  struct Found {
    Side earlier;  ///< the only side of an uninitialized read
    Side later;
    std::vector<command::ByteRange> bytes;
    std::uint64_t count = 0;
  };
  /// (command, op_index, operand, write, stage kind): sides with the same key form one line.
  using Operand =
      std::tuple<std::uint64_t, std::int32_t, command::OperandName, bool, arch::StageKind>;

  static Operand operand_of(const Side& side);
  static HazardAccess describe(const Side& side);
  static bool is_before(const Found& x, const Found& y);

  void compare(const std::shared_ptr<Stage>& stage, const std::shared_ptr<Stage>& other);
  void check_initialized(const std::shared_ptr<Stage>& stage);
  void add_race(const Found& found);
  bool can_be_inverted(const Stage& stage) const;
  void forget();

  const arch::GemmConfig gemm_;
  std::vector<command::ByteRange> initialized_{{0, command::kTcmBase}};
  std::map<std::uint64_t, std::shared_ptr<Flight>> flights_;
  std::vector<std::shared_ptr<Stage>> open_;      // started and not done
  std::vector<std::shared_ptr<Stage>> finished_;  // may still conflict with an earlier one
  std::size_t forget_at_ = 0;                     // size of finished_ at which to search it
  Ticket next_ticket_ = 0;
  std::map<std::pair<Operand, Operand>, Found> races_;
  std::map<Operand, Found> uninitialized_;
};

}  // namespace kernbench::record
