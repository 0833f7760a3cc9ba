// SPDX-License-Identifier: Apache-2.0
// The hazard checker on commands and times made by hand; the stages are those of arch::Plan.
#include "model/record/hazards.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "model/arch/plan.hpp"

namespace kernbench::record {
namespace {

using arch::Plan;
using arch::StageKind;
using command::ByteRange;
using command::Command;
using command::DType;
using command::OpKind;
using command::OpSpec;
using command::Shape;
using command::TensorHandle;
using testing::ElementsAre;
using testing::IsEmpty;

TensorHandle tcm(command::Address offset, const Shape& shape, const char* name = "") {
  return command::make_handle(offset + 1, command::kTcmBase + offset, shape, DType::f16,
                              command::Space::tcm, name);
}
TensorHandle hbm(command::Address addr, const Shape& shape, const char* name = "") {
  return command::make_handle(addr + 1, addr, shape, DType::f16, command::Space::hbm, name);
}
OpSpec op(OpKind kind, std::initializer_list<TensorHandle> inputs, const TensorHandle& out) {
  OpSpec spec;
  spec.kind = kind;
  std::size_t i = 0;
  for (const TensorHandle& input : inputs) {
    spec.operands.push_back({command::op_info(kind).operands[i++], input});
  }
  spec.has_out = true;
  spec.out = out;
  return spec;
}
Command copy(const TensorHandle& src, const TensorHandle& out) {
  return command::MathCmd{op(OpKind::copy, {src}, out)};
}
Command fill(const TensorHandle& out) { return command::MathCmd{op(OpKind::fill, {}, out)}; }
OpSpec gemm(const TensorHandle& a, const TensorHandle& b, const TensorHandle& out) {
  OpSpec spec = op(OpKind::gemm, {a, b}, out);
  const auto extent = [](command::ExtraName name, command::Index value) {
    return command::Extra::u32(name, static_cast<std::uint32_t>(value));
  };
  spec.extras = {extent(command::ExtraName::m, a.shape.rows()),
                 extent(command::ExtraName::k, a.shape.cols()),
                 extent(command::ExtraName::n, b.shape.cols())};
  return spec;
}
Command composite(std::vector<OpSpec> ops) {
  return command::CompositeCmd{{0}, std::move(ops), {}};
}

/// Tiles of 8 x 32 x 32; tile buffers at [kTcmBase + 65536, + 8192).
arch::GemmConfig tiles() {
  arch::GemmConfig config;
  config.tile_m = 8;
  config.tile_k = config.tile_n = 32;
  return config;
}
constexpr command::Address kBuffers = command::kTcmBase + 65536;
constexpr ByteRange kSlot{kBuffers, kBuffers + 8192};

/// Commands numbered in the order in which they are given, and when their stages ran.
class Story {
 public:
  explicit Story(std::vector<Command> commands) : commands_(std::move(commands)) {
    for (std::size_t i = 0; i < commands_.size(); ++i) {
      plans_.emplace_back(commands_[i], tiles());
      const bool fused = std::holds_alternative<command::CompositeCmd>(commands_[i]);
      checker.admit(i, commands_[i], fused ? kSlot : ByteRange{});
    }
  }

  // Stages of command `number`; from `start` to `done`.
  void simple(std::uint64_t number, Picoseconds start, Picoseconds done) {
    const Plan& plan = plans_[number];
    add({number}, plan.is_transfer() ? plan.transfer() : plan.prologue(0), start, done);
  }
  void prologue(std::uint64_t number, std::int32_t i, Picoseconds start, Picoseconds done) {
    add({number, -1, 5, i}, plans_[number].prologue(i), start, done);
  }
  void tile(std::uint64_t number, std::int64_t tile, StageKind kind, Picoseconds start,
            Picoseconds done) {
    const Plan& plan = plans_[number];
    const arch::Tile t = plan.tile(tile);
    const auto place = [&](std::uint64_t stage) { return ProgramPlace{number, tile, stage, 0}; };
    switch (kind) {
      case StageKind::dma_read:
        return add(place(1), plan.read_b(t, kBuffers), start, done);
      case StageKind::fetch:
        return add(place(2), plan.fetch(t, kBuffers), start, done);
      case StageKind::gemm:
        return add(place(3), plan.gemm(t), start, done);
      case StageKind::math:
        return add(place(5), plan.output_tile_op(t, 0), start, done);
      case StageKind::store:
        return add(place(6), plan.store(t), start, done);
      default:
        return add(place(7), plan.write_out(t), start, done);
    }
  }

  /// Tells the checker in time order, ends first.
  HazardFindings findings() {
    std::vector<std::tuple<Picoseconds, bool, std::size_t>> events;
    for (std::size_t i = 0; i < stages_.size(); ++i) {
      events.emplace_back(stages_[i].start, true, i);
      events.emplace_back(stages_[i].done, false, i);
    }
    std::sort(events.begin(), events.end());
    for (const auto& [time, begins, i] : events) {
      Executed& stage = stages_[i];
      if (begins) {
        stage.ticket = checker.begin(stage.place, stage.spec, time);
      } else {
        checker.end(stage.ticket, time);
      }
    }
    return checker.findings();
  }

  HazardChecker checker{tiles()};

 private:
  struct Executed {
    ProgramPlace place;
    arch::StageSpec spec;
    Picoseconds start, done;
    HazardChecker::Ticket ticket;
  };
  void add(const ProgramPlace& place, const arch::StageSpec& spec, Picoseconds start,
           Picoseconds done) {
    stages_.push_back({place, spec, start, done, 0});
  }

  const std::vector<Command> commands_;
  std::vector<Plan> plans_;
  std::vector<Executed> stages_;
};

const TensorHandle kX = tcm(0, {8, 32}, "x"), kY = tcm(4096, {8, 32}, "y"),
                   kZ = tcm(8192, {8, 32}, "z");  // 512 bytes each

/// Two simple commands after x has been filled at [0, 10).
HazardFindings after_fill(const Command& first, Picoseconds first_start, Picoseconds first_done,
                          const Command& second, Picoseconds start, Picoseconds done) {
  Story story({fill(kX), first, second});
  story.simple(0, 0, 10);
  story.simple(1, first_start, first_done);
  story.simple(2, start, done);
  return story.findings();
}

TEST(Hazards, AReadMayStartWhenTheWriteIsDone) {
  EXPECT_EQ(after_fill(copy(kX, kY), 10, 20, copy(kY, kZ), 20, 30).size(), 0U);
}

TEST(Hazards, AReadOnePsEarlierIsARace) {
  const HazardFindings found = after_fill(copy(kX, kY), 10, 20, copy(kY, kZ), 19, 30);
  ASSERT_EQ(found.races.size(), 1U);
  const Race& race = found.races[0];
  EXPECT_EQ(race.earlier.command, 1U);
  EXPECT_EQ(race.earlier.label, "copy");
  EXPECT_EQ(race.earlier.operand, "out y");
  EXPECT_TRUE(race.earlier.write);
  EXPECT_EQ(race.earlier.start, 10U);
  EXPECT_EQ(race.earlier.done, 20U);
  EXPECT_EQ(race.later.command, 2U);
  EXPECT_EQ(race.later.operand, "src y");
  EXPECT_FALSE(race.later.write);
  EXPECT_EQ(race.later.start, 19U);
  EXPECT_EQ(race.later.done, 30U);
  EXPECT_EQ(race.bytes, (ByteRange{command::kTcmBase + 4096, command::kTcmBase + 4608}));
  EXPECT_EQ(race.shared_bytes, 512U);
  EXPECT_EQ(race.stage_pairs, 1U);
}

TEST(Hazards, AWriteAfterAReadMayNotStartBeforeItIsDone) {
  EXPECT_EQ(after_fill(copy(kX, kY), 10, 20, fill(kX), 20, 30).races.size(), 0U);
  const HazardFindings found = after_fill(copy(kX, kY), 10, 20, fill(kX), 19, 30);
  ASSERT_EQ(found.races.size(), 1U);
  EXPECT_EQ(found.races[0].earlier.operand, "src x");
  EXPECT_EQ(found.races[0].later.operand, "out x");
}

TEST(Hazards, AWriteAfterAWriteMayNotStartBeforeItIsDone) {
  EXPECT_EQ(after_fill(copy(kX, kY), 10, 20, fill(kY), 20, 30).races.size(), 0U);
  EXPECT_EQ(after_fill(copy(kX, kY), 10, 20, fill(kY), 19, 30).races.size(), 1U);
}

TEST(Hazards, ReadsMayOverlap) {
  EXPECT_EQ(after_fill(copy(kX, kY), 10, 20, copy(kX, kZ), 10, 20).size(), 0U);
}

TEST(Hazards, AStageMayWorkInPlace) {
  EXPECT_EQ(after_fill(copy(kX, kX), 10, 20, copy(kX, kY), 20, 30).size(), 0U);
}

// The later command is long done when the earlier starts: their times do not overlap.
TEST(Hazards, TheWrongOrderIsARaceWithoutOverlapInTime) {
  const HazardFindings found = after_fill(fill(kX), 90, 99, copy(kX, kY), 20, 30);
  ASSERT_EQ(found.races.size(), 1U);
  EXPECT_EQ(found.races[0].earlier.command, 1U);
  EXPECT_EQ(found.races[0].earlier.start, 90U);
  EXPECT_EQ(found.races[0].later.done, 30U);
}

// Columns [0, 16) and [16, 32) of x share no byte, although their hulls do; [15, 31) shares column
// 15 with the first: 8 rows of 2 bytes, the first of them 30 bytes into x.
TEST(Hazards, ColumnsOfOneMatrixShareNothing) {
  const TensorHandle left = command::view_cols(kX, 0, 16, 100);
  EXPECT_EQ(
      after_fill(fill(left), 10, 20, fill(command::view_cols(kX, 16, 16, 101)), 10, 20).size(), 0U);
  const HazardFindings found =
      after_fill(fill(left), 10, 20, fill(command::view_cols(kX, 15, 16, 101)), 10, 20);
  ASSERT_EQ(found.races.size(), 1U);
  EXPECT_EQ(found.races[0].bytes, (ByteRange{command::kTcmBase + 30, command::kTcmBase + 32}));
  EXPECT_EQ(found.races[0].shared_bytes, 16U);
}

// A foreign memory may answer after the starts of the same instant.
TEST(Hazards, AnEndToldAfterAStartOfTheSameInstantIsInTime) {
  const Command first = fill(kX), second = fill(kX);
  HazardChecker checker(tiles());
  checker.admit(0, first, {});
  checker.admit(1, second, {});
  const auto one = checker.begin({0}, Plan(first, tiles()).prologue(0), 0);
  const auto two = checker.begin({1}, Plan(second, tiles()).prologue(0), 10);
  checker.end(one, 10);
  checker.end(two, 20);
  EXPECT_EQ(checker.findings().size(), 0U);
}

// ---- composites ---------------------------------------------------------------------------------

const TensorHandle kB = tcm(16384, {32, 96}, "b"), kOut = tcm(24576, {8, 96}, "out");

/// fills of x and b, then a gemm x b of three tiles (n) with a prologue copy x -> y, y as a.
std::vector<Command> fused() {
  return {fill(kX), fill(kB), composite({op(OpKind::copy, {kX}, kY), gemm(kY, kB, kOut)})};
}
void filled(Story& story) {
  story.simple(0, 0, 1);
  story.simple(1, 1, 2);
}

TEST(Hazards, StagesOfOneCompositeKeepItsOrder) {
  Story story(fused());
  filled(story);
  story.prologue(2, 0, 10, 20);
  for (std::uint64_t i = 0; i < 3; ++i) {  // a pipeline: FETCH of a tile beside STORE of another
    story.tile(2, static_cast<std::int64_t>(i), StageKind::fetch, 20 + 10 * i, 30 + 10 * i);
    story.tile(2, static_cast<std::int64_t>(i), StageKind::gemm, 30 + 10 * i, 35 + 10 * i);
    story.tile(2, static_cast<std::int64_t>(i), StageKind::store, 35 + 10 * i, 45 + 10 * i);
  }
  EXPECT_EQ(story.findings().size(), 0U);
}

// FETCH of y before the prologue has made it, in tiles 1 and 2 of 3: one line, two pairs of stages,
// of which the first in time is shown.
TEST(Hazards, PairsOfOneOperandAreOneLine) {
  Story story(fused());
  filled(story);
  story.prologue(2, 0, 50, 60);
  story.tile(2, 0, StageKind::fetch, 60, 70);
  story.tile(2, 1, StageKind::fetch, 52, 58);
  story.tile(2, 2, StageKind::fetch, 44, 48);
  const HazardFindings found = story.findings();
  ASSERT_EQ(found.races.size(), 1U);
  const Race& race = found.races[0];
  EXPECT_EQ(race.stage_pairs, 2U);
  EXPECT_EQ(race.earlier.op_index, 0);
  EXPECT_EQ(race.earlier.op, "copy");
  EXPECT_EQ(race.later.op_index, 1);
  EXPECT_EQ(race.later.stage, StageKind::fetch);
  EXPECT_EQ(race.later.operand, "a y");
  EXPECT_EQ(race.later.start, 44U);
  EXPECT_EQ(race.later.done, 48U);
}

// Tile 1 before tile 0 is no matter of memory unless they share bytes: here out is b, so that STORE
// of tile 0 writes what FETCH of tile 1 has read too early. (`tl` refuses such a command.)
TEST(Hazards, TilesAreInProgramOrder) {
  const TensorHandle b = tcm(16384, {32, 64}, "b");
  // Rows 0 .. 7 of b, all 64 columns: tile 1 reads columns 32 .. 63 of rows 0 .. 31.
  const TensorHandle out = command::view_cols(command::view_rows(b, 0, 8, 100), 0, 64, 101);
  for (const bool shifted : {false, true}) {
    // With `shifted` the output's tile 0 lies on columns 32 .. 63.
    TensorHandle target = out;
    if (shifted) target.addr += 64;
    Story story({fill(kX), fill(b), composite({gemm(kX, b, target)})});
    filled(story);
    story.tile(2, 0, StageKind::fetch, 10, 20);
    story.tile(2, 1, StageKind::fetch, 20, 30);
    story.tile(2, 0, StageKind::store, 30, 40);
    EXPECT_EQ(story.findings().races.size(), shifted ? 1U : 0U);
  }
}

// R4.6: GEMM and the op on the accumulator touch no memory but `other`; STORE for HBM neither.
TEST(Hazards, AccumulatorsAndTilesOnTheirWayToHbmAreNoMemory) {
  OpSpec add = op(OpKind::add, {}, hbm(0, {8, 32}));
  add.scope = command::Scope::output_tile;
  add.operands = {{command::OperandName::src, hbm(0, {8, 32})}, {command::OperandName::other, kY}};
  const TensorHandle b = tcm(16384, {32, 32}, "b"), out = hbm(0, {8, 32}, "out");
  const auto run = [&](Picoseconds load_start) {
    Story story({fill(kX), fill(b), fill(kY), composite({gemm(kX, b, out), add}),
                 command::DmaReadCmd{out, kZ}});
    filled(story);
    story.simple(2, 2, 3);
    story.tile(3, 0, StageKind::fetch, 10, 20);
    story.tile(3, 0, StageKind::gemm, 20, 30);
    story.tile(3, 0, StageKind::math, 30, 40);
    story.tile(3, 0, StageKind::store, 40, 50);
    story.tile(3, 0, StageKind::dma_write, 50, 60);
    story.simple(4, load_start, 70);
    return story.findings();
  };
  EXPECT_EQ(run(60).size(), 0U);
  const HazardFindings found = run(59);
  ASSERT_EQ(found.races.size(), 1U);  // and none with STORE
  EXPECT_EQ(found.races[0].earlier.stage, StageKind::dma_write);
  EXPECT_EQ(found.races[0].bytes, (ByteRange{0, 512}));
}

// Two tiles in one buffer: DMA_READ of tile 1 while FETCH of tile 0 reads it.
TEST(Hazards, TileBuffersAreMemory) {
  const TensorHandle b = hbm(0, {32, 64}, "K");
  Story story({fill(kX), composite({gemm(kX, b, kOut)})});
  story.simple(0, 0, 1);
  story.tile(1, 0, StageKind::dma_read, 10, 20);
  story.tile(1, 0, StageKind::fetch, 20, 30);
  story.tile(1, 1, StageKind::dma_read, 29, 40);
  const HazardFindings found = story.findings();
  ASSERT_EQ(found.races.size(), 1U);
  EXPECT_EQ(found.races[0].earlier.operand, "b K in its tile buffer");
  EXPECT_EQ(found.races[0].later.operand, "b K in its tile buffer");
  EXPECT_TRUE(found.races[0].later.write);
}

// The same without an overlap in time: FETCH of tile 0 finds what DMA_READ of tile 1 has put there.
TEST(Hazards, ATileBufferFilledTooEarlyIsARace) {
  const TensorHandle b = hbm(0, {32, 64}, "K");
  Story story({fill(kX), composite({gemm(kX, b, kOut)})});
  story.simple(0, 0, 1);
  story.tile(1, 0, StageKind::dma_read, 10, 20);
  story.tile(1, 1, StageKind::dma_read, 20, 30);
  story.tile(1, 0, StageKind::fetch, 30, 40);
  const HazardFindings found = story.findings();
  ASSERT_EQ(found.races.size(), 1U);
  EXPECT_EQ(found.races[0].earlier.stage, StageKind::fetch);
  EXPECT_EQ(found.races[0].later.stage, StageKind::dma_read);
  EXPECT_EQ(found.races[0].later.done, 30U);
}

// ---- reads of bytes that nothing has written ----------------------------------------------------

TEST(Hazards, TcmHasNoValueAtFirst) {
  Story story({copy(kX, kY)});
  story.simple(0, 5, 9);
  const HazardFindings found = story.findings();
  EXPECT_THAT(found.races, IsEmpty());
  ASSERT_EQ(found.uninitialized_reads.size(), 1U);
  const UninitializedRead& read = found.uninitialized_reads[0];
  EXPECT_EQ(read.access.command, 0U);
  EXPECT_EQ(read.access.operand, "src x");
  EXPECT_EQ(read.access.start, 5U);
  EXPECT_EQ(read.access.done, 9U);
  EXPECT_EQ(read.bytes, (ByteRange{command::kTcmBase, command::kTcmBase + 512}));
  EXPECT_EQ(read.missing_bytes, 512U);
  EXPECT_EQ(read.stages, 1U);
}

// Columns 0 .. 15 of each row of 64 bytes are filled: the second halves are missing.
TEST(Hazards, OnlyTheBytesThatWereWrittenHaveAValue) {
  Story story({fill(command::view_cols(kX, 0, 16, 100)), copy(kX, kY), copy(kY, kZ)});
  story.simple(0, 0, 10);
  story.simple(1, 10, 20);
  story.simple(2, 20, 30);  // y has been written, whatever with
  const HazardFindings found = story.findings();
  ASSERT_EQ(found.uninitialized_reads.size(), 1U);
  EXPECT_EQ(found.uninitialized_reads[0].bytes,
            (ByteRange{command::kTcmBase + 32, command::kTcmBase + 64}));
  EXPECT_EQ(found.uninitialized_reads[0].missing_bytes, 256U);
}

TEST(Hazards, AWriteUnderWayHasWrittenNothing) {
  Story story({fill(kX), copy(kX, kY)});
  story.simple(0, 0, 10);
  story.simple(1, 9, 20);
  const HazardFindings found = story.findings();
  EXPECT_EQ(found.races.size(), 1U);
  EXPECT_EQ(found.uninitialized_reads.size(), 1U);
}

TEST(Hazards, HbmHasTheInputs) {
  const auto load = [](bool declare) {
    Story story({command::DmaReadCmd{hbm(4096, {8, 32}), kX}});
    if (declare) story.checker.set_inputs({{0, 4096 + 500}});
    story.simple(0, 0, 10);
    return story.findings();
  };
  EXPECT_EQ(load(false).size(), 0U);  // nothing is known of HBM: all of it
  const HazardFindings found = load(true);
  ASSERT_EQ(found.uninitialized_reads.size(), 1U);
  EXPECT_EQ(found.uninitialized_reads[0].bytes, (ByteRange{4096 + 500, 4096 + 512}));
}

TEST(Hazards, AStoreGivesHbmAValue) {
  Story story({fill(kX), command::DmaWriteCmd{kX, hbm(4096, {8, 32})},
               command::DmaReadCmd{hbm(4096, {8, 32}), kY}});
  story.checker.set_inputs({});
  for (std::uint64_t i = 0; i < 3; ++i) story.simple(i, 10 * i, 10 * i + 10);
  EXPECT_EQ(story.findings().size(), 0U);
}

// Three FETCHes of an operand that nothing has filled are one line.
TEST(Hazards, ReadsOfOneOperandAreOneLine) {
  Story story(fused());
  story.simple(0, 0, 1);
  story.prologue(2, 0, 10, 20);
  for (std::uint64_t i = 0; i < 3; ++i) {
    story.tile(2, static_cast<std::int64_t>(i), StageKind::fetch, 20 + i, 21 + i);
  }
  const HazardFindings found = story.findings();
  ASSERT_EQ(found.uninitialized_reads.size(), 1U);
  EXPECT_EQ(found.uninitialized_reads[0].access.operand, "b b");
  EXPECT_EQ(found.uninitialized_reads[0].stages, 3U);
  EXPECT_EQ(found.uninitialized_reads[0].missing_bytes, 32U * 64);  // of the first: 32 rows
}

// ---- the report ---------------------------------------------------------------------------------

// Found in the order 4, 2; told in the order of commands, races first.
TEST(Hazards, LinesAreInTheOrderOfCommands) {
  Story story({fill(kX), fill(kY), copy(kX, kZ), copy(kZ, kY), copy(kY, kX)});
  story.simple(4, 0, 10);
  story.simple(2, 20, 30);
  story.simple(0, 40, 50);
  EXPECT_THAT(
      lines_of(story.findings()),
      ElementsAre(
          "command 0 (fill) op 0 (fill): math writes out x in [40, 50) ps, and command 2 (copy) op "
          "0 (copy): math reads src x in [20, 30) ps without waiting for it; they share 512 bytes, "
          "first [0x10000000000, 0x10000000200); 1 stage pair",
          "command 0 (fill) op 0 (fill): math writes out x in [40, 50) ps, and command 4 (copy) op "
          "0 (copy): math writes out x in [0, 10) ps without waiting for it; they share 512 bytes, "
          "first [0x10000000000, 0x10000000200); 1 stage pair",
          "command 2 (copy) op 0 (copy): math reads src x in [20, 30) ps, and command 4 (copy) op "
          "0 (copy): math writes out x in [0, 10) ps without waiting for it; they share 512 bytes, "
          "first [0x10000000000, 0x10000000200); 1 stage pair",
          "command 4 (copy) op 0 (copy): math reads src y in [0, 10) ps, of which nothing has "
          "written 512 bytes, first [0x10000001000, 0x10000001200); 1 stage"));
}

// ---- memory -------------------------------------------------------------------------------------

/// 4000 tiles of a gemm, one after the other, behind command 0. Returns the most that was
/// remembered.
std::size_t most_remembered(Story& story, const Command& command) {
  HazardChecker& checker = story.checker;
  const Plan plan(command, tiles());
  EXPECT_EQ(plan.tiles(), 4000);
  std::size_t most = 0;
  Picoseconds now = 100;
  const auto run = [&](std::int64_t tile, std::uint64_t stage, const arch::StageSpec& spec) {
    const auto ticket = checker.begin({1, tile, stage, 0}, spec, now);
    checker.end(ticket, now += 10);
    most = std::max(most, checker.remembered());
  };
  for (std::int64_t i = 0; i < plan.tiles(); ++i) {
    const arch::Tile tile = plan.tile(i);
    run(i, 1, plan.read_b(tile, kBuffers + static_cast<std::uint64_t>(i) % 2 * 4096));
    run(i, 2, plan.fetch(tile, kBuffers + static_cast<std::uint64_t>(i) % 2 * 4096));
    run(i, 3, plan.gemm(tile));
    run(i, 6, plan.store(tile));
    run(i, 7, plan.write_out(tile));
  }
  EXPECT_EQ(checker.findings().size(), 0U);
  return most;
}

const Command kLongGemm =
    composite({gemm(kX, hbm(0, {32, 128000}, "b"), hbm(1u << 24, {8, 128000}, "out"))});

// Command 0 is done: what a tile has touched is forgotten with it.
TEST(Hazards, MemoryDoesNotGrowWithTheTiles) {
  Story story({fill(kX), kLongGemm});
  const auto ticket = story.checker.begin({0}, Plan(fill(kX), tiles()).prologue(0), 0);
  story.checker.end(ticket, 1);
  story.checker.retire(0);
  EXPECT_LT(most_remembered(story, kLongGemm), 50U);
  story.checker.retire(1);
  EXPECT_EQ(story.checker.remembered(), 0U);
}

// K tiles end with GEMM or with their k_tile op; only the last is stored.
TEST(Hazards, MemoryDoesNotGrowWithTheKTiles) {
  OpSpec scale;
  scale.kind = OpKind::scale;
  scale.scope = command::Scope::k_tile;
  for (const bool with_op : {false, true}) {
    std::vector<OpSpec> ops{gemm(hbm(0, {8, 128000}), hbm(1u << 24, {128000, 32}), kY)};
    if (with_op) ops.push_back(scale);
    const Command command = composite(ops);
    const Plan plan(command, tiles());
    ASSERT_EQ(plan.k_tiles(), 4000);
    HazardChecker checker(tiles());
    checker.admit(0, command, kSlot);
    std::size_t most = 0;
    Picoseconds now = 0;
    for (std::int64_t i = 0; i < plan.tiles(); ++i) {
      const arch::Tile tile = plan.tile(i);
      std::vector<std::pair<std::uint64_t, arch::StageSpec>> stages{
          {0, plan.read_a(tile, kBuffers)},
          {1, plan.read_b(tile, kBuffers)},
          {2, plan.fetch(tile, kBuffers)},
          {3, plan.gemm(tile)}};
      if (with_op) stages.emplace_back(4, plan.k_tile_op(tile, 0));
      for (const auto& [stage, spec] : stages) {
        const auto ticket = checker.begin({0, i, stage, 0}, spec, now);
        checker.end(ticket, now += 10);
        most = std::max(most, checker.remembered());
      }
    }
    EXPECT_LT(most, 50U) << with_op;
    EXPECT_EQ(checker.findings().size(), 0U);
  }
}

// Command 0 does not start, but it cannot touch what the gemm touches.
TEST(Hazards, MemoryDoesNotGrowBesideACommandThatSharesNothing) {
  Story story({fill(kY), kLongGemm});
  story.checker.set_inputs({{0, 1u << 24}, kX.range()});
  EXPECT_LT(most_remembered(story, kLongGemm), 50U);
}

// It may write b: every read of b is remembered, for it would come too late for all of them.
TEST(Hazards, WhatAnEarlierCommandMayTouchIsRemembered) {
  const TensorHandle b = tcm(16384, {32, 96}, "b");
  Story story({fill(kX), fill(b), composite({gemm(kX, b, kOut)}), fill(kY)});
  story.simple(0, 0, 1);
  for (std::uint64_t i = 0; i < 3; ++i) {
    story.tile(2, static_cast<std::int64_t>(i), StageKind::fetch, 10 * i + 10, 10 * i + 20);
    story.tile(2, static_cast<std::int64_t>(i), StageKind::store, 10 * i + 20, 10 * i + 30);
  }
  story.simple(1, 1000, 1001);
  const HazardFindings found = story.findings();
  ASSERT_EQ(found.races.size(), 1U);
  EXPECT_EQ(found.races[0].stage_pairs, 3U);
}

}  // namespace
}  // namespace kernbench::record
