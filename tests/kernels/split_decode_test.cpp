// SPDX-License-Identifier: Apache-2.0
// gqa_decode over several programs: who holds and computes what, the messages of the merge, and the
// results, all in program order (run_in_program_order).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/support/program_order.hpp"
#include "tests/support/program_outline.hpp"
#include "tests/support/test_inputs.hpp"

namespace kernbench::kernels {
namespace {

using namespace test;
using command::Command;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::IsEmpty;
using testing::Not;

Settings with(Settings settings, const Settings& more) {
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

Settings cubes_and_pes(Index c, Index p, const char* merge = "tree") {
  return {{"c", std::to_string(c)}, {"p", std::to_string(p)}, {"merge", merge}};
}

std::vector<Compiled> split(const Settings& settings, Index c, Index p, const char* merge = "tree",
                            const tl::Target& target = machine(1, 4, 8)) {
  return compile_all("gqa_decode", with(settings, cubes_and_pes(c, p, merge)), target);
}

/// One program on a machine of one PE.
std::vector<Compiled> whole(const Settings& settings) {
  return compile_all("gqa_decode", settings, machine(1, 1, 1));
}

double f16_ulp(double value) {
  const double size = std::max(std::abs(value), 0x1p-14);  // below, the steps are those of 2^-14
  return std::ldexp(1, std::ilogb(size) - 10);
}

/// Of each row, the largest entry.
std::vector<double> largest_of_rows(const std::vector<double>& out, std::size_t cols) {
  std::vector<double> largest(out.size() / cols, 0);
  for (std::size_t i = 0; i < out.size(); ++i) {
    largest[i / cols] = std::max(largest[i / cols], std::abs(out[i]));
  }
  return largest;
}

/// `out` of both differs by at most one unit in the last place of f16, and the split one is as near
/// to the reference as it must be. The unit is that of the largest entry of the row: P is rounded
/// relative to the largest score so far, which a share may not have seen, so that each weight is
/// off by 2^-11 of itself in another way; where the weighted values cancel, that is more than a
/// unit of the small entry.
void expect_within_an_ulp(const std::vector<Compiled>& programs, const Settings& settings) {
  const std::vector<Compiled> one = whole(settings);
  const HostTensors inputs = test_inputs(one[0].instance);
  const HostTensors expected = run_in_program_order(one, inputs);
  const HostTensors found = run_in_program_order(programs, inputs);
  const std::vector<double>&x = expected.at("out"), &y = found.at("out");
  ASSERT_EQ(x.size(), y.size());
  const auto d = static_cast<std::size_t>(one[0].instance.tensors[0].shape.cols());
  const std::vector<double> largest = largest_of_rows(x, d);
  for (std::size_t i = 0; i < x.size(); ++i) {
    ASSERT_LE(std::abs(x[i] - y[i]), f16_ulp(largest[i / d])) << i;
  }
  const Reference reference = programs[0].instance.reference(inputs);
  const Error error = error_against(reference.outputs.at("out"), y);
  EXPECT_LE(error.rms, reference.max_rms_rel);
  EXPECT_LE(error.max, reference.max_abs_rel);
  // The order of the reference is that of the observed values.
  for (const char* name : {"m", "l", "O"}) {
    const std::vector<double>& exact = reference.outputs.at(name);
    ASSERT_EQ(exact.size(), found.at(name).size()) << name;
    EXPECT_LE(error_against(exact, found.at(name)).max, 1e-2) << name;
  }
}

struct Size {
  Index c, p;
};
constexpr Size kSizes[] = {{1, 1}, {1, 2}, {1, 8}, {2, 8}, {4, 8}};

// ---- results ----------------------------------------------------------------------------------

TEST(SplitDecode, EqualsOneProgramWithinAnUlpOfOut) {
  for (const char* s_kv : {"1", "5", "64", "65", "1000", "4096"}) {
    for (const Size& size : kSizes) {
      for (const char* merge : {"tree", "chain"}) {
        SCOPED_TRACE(testing::Message() << s_kv << " c " << size.c << " p " << size.p << merge);
        const Settings settings{{"s_kv", s_kv}};
        expect_within_an_ulp(split(settings, size.c, size.p, merge), settings);
      }
    }
  }
}

// One tile: every other share is empty, and the result is that of one program, bit by bit.
TEST(SplitDecode, AnEmptyShareChangesNothing) {
  for (const char* s_kv : {"1", "5", "64"}) {
    const Settings settings{{"s_kv", s_kv}};
    const std::vector<Compiled> one = whole(settings);
    const HostTensors inputs = test_inputs(one[0].instance);
    const HostTensors expected = run_in_program_order(one, inputs);
    for (const Size& size : kSizes) {
      for (const char* merge : {"tree", "chain"}) {
        EXPECT_EQ(run_in_program_order(split(settings, size.c, size.p, merge), inputs), expected)
            << s_kv << " c " << size.c << " p " << size.p << " " << merge;
      }
    }
  }
}

// q k / sqrt(2) = -84853 is -inf in f16. A row that sees only such scores is 0 however it is split;
// those of one share weigh nothing.
TEST(SplitDecode, FullyMaskedRowsAreZero) {
  const Settings settings{{"g", "1"}, {"d", "2"}, {"s_kv", "8"}, {"tile", "1"}};
  HostTensors inputs{{"q", {300, 0}},
                     {"k", std::vector<double>(16, -400)},
                     {"v", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}}};
  for (const char* merge : {"tree", "chain"}) {
    const auto programs = split(settings, 1, 8, merge);
    EXPECT_THAT(run_in_program_order(programs, inputs).at("out"), ElementsAre(0, 0));
    HostTensors one_seen = inputs;
    one_seen["k"][2 * 5] = 0.5;
    EXPECT_THAT(run_in_program_order(programs, one_seen).at("out"), ElementsAre(11, 12));
  }
}

TEST(SplitDecode, VariantsAreBitEqual) {
  const Settings settings{{"s_kv", "777"}, {"t_q", "2"}};
  HostTensors first;
  for (const char* variant : {"opt1", "opt2", "opt3"}) {
    const auto programs = split(with(settings, {{"variant", variant}}), 2, 2);
    const HostTensors results = run_in_program_order(programs, test_inputs(programs[0].instance));
    if (first.empty()) first = results;
    EXPECT_EQ(results, first) << variant;
  }
}

TEST(SplitDecode, BatchesAndSeveralHeadsOverGroups) {
  // Lengths 0 and 1 leave most shares empty. Heads 5 over 1, 2, 4, 8 groups and more than heads.
  for (const char* kv_heads : {"1", "5"}) {
    const Settings settings{
        {"lengths", "130,0,64,1"}, {"kv_heads", kv_heads}, {"g", "3"}, {"d", "32"}};
    for (const Size& size : {Size{4, 8}, Size{2, 8}, Size{2, 4}, Size{1, 4}, Size{1, 3}}) {
      for (const char* merge : {"tree", "chain"}) {
        SCOPED_TRACE(testing::Message() << kv_heads << " c " << size.c << " p " << size.p << merge);
        const auto programs = split(settings, size.c, size.p, merge);
        expect_within_an_ulp(programs, settings);
        const HostTensors inputs = test_inputs(programs[0].instance);
        const std::vector<double> out = run_in_program_order(programs, inputs).at("out");
        const std::size_t sequence = out.size() / 4;
        for (std::size_t i = sequence; i < 2 * sequence; ++i) ASSERT_EQ(out[i], 0) << i;
      }
    }
  }
}

// Without a split the heads go over all PEs, and each is computed as it would be by itself.
TEST(SplitDecode, HeadsOverPesAreThoseOfOnePe) {
  const Settings settings{{"kv_heads", "11"}, {"s_kv", "100"}, {"g", "2"}, {"d", "16"}};
  const auto programs = split(settings, 1, 1, "tree", machine(2, 2, 2));
  ASSERT_EQ(programs.size(), 8U);
  const auto one = whole(settings);
  const HostTensors inputs = test_inputs(one[0].instance);
  EXPECT_EQ(run_in_program_order(programs, inputs).at("out"),
            run_in_program_order(one, inputs).at("out"));
}

// V of KV head h is h + 1 throughout: query head i gives i / g + 1.
TEST(SplitDecode, QueryHeadsUseTheirKvHead) {
  const auto programs =
      split({{"kv_heads", "9"}, {"g", "2"}, {"d", "8"}, {"s_kv", "70"}, {"tile", "16"}}, 1, 4);
  ASSERT_EQ(programs.size(), 8U * 4);
  HostTensors inputs = test_inputs(programs[0].instance);
  std::vector<double>& v = inputs["v"];
  for (std::size_t i = 0; i < v.size(); ++i) {
    const std::size_t head = i / (70 * 8);
    v[i] = static_cast<double>(head + 1);
  }
  const std::vector<double> out = run_in_program_order(programs, inputs).at("out");
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t head = i / 16;  // two query heads of 8 entries
    EXPECT_NEAR(out[i], static_cast<double>(head + 1), 1e-2);
  }
}

TEST(SplitDecode, DTypesAndStatistics) {
  for (const Settings& more : {Settings{{"dtype", "bf16"}}, Settings{{"stats", "f16"}}}) {
    const auto programs = split(with({{"s_kv", "700"}}, more), 1, 4);
    const HostTensors inputs = test_inputs(programs[0].instance);
    const Reference reference = programs[0].instance.reference(inputs);
    const Error error = error_against(reference.outputs.at("out"),
                                      run_in_program_order(programs, inputs).at("out"));
    EXPECT_LE(error.rms, reference.max_rms_rel);
    EXPECT_LE(error.max, reference.max_abs_rel);
  }
}

/// K or V of a batch of 3 KV heads, 16 entries a row and tiles of 32 tokens: tile n of it goes to
/// block blocks[n] of a pool. What no tile holds is 7.
std::vector<double> pool_of(const std::vector<double>& cache, const std::vector<Index>& lengths,
                            const std::vector<Index>& blocks, Index pool_blocks) {
  constexpr Index kHeads = 3, kCols = 16, kTile = 32;
  const Index longest = *std::max_element(lengths.begin(), lengths.end());
  std::vector<double> pool(static_cast<std::size_t>(pool_blocks * kHeads * kTile * kCols), 7);
  Index first_tile = 0, sequence = 0;
  for (const Index length : lengths) {
    for (Index head = 0; head < kHeads; ++head) {
      for (Index token = 0; token < length; ++token) {
        const Index block = blocks[static_cast<std::size_t>(first_tile + token / kTile)];
        const Index row = (block * kHeads + head) * kTile + token % kTile;
        std::copy_n(cache.begin() + ((sequence * kHeads + head) * longest + token) * kCols, kCols,
                    pool.begin() + row * kCols);
      }
    }
    first_tile += (length + kTile - 1) / kTile;
    ++sequence;
  }
  return pool;
}

// A share's blocks lie in its own pool in the order of the whole one: same tiles, same bits.
TEST(SplitDecode, PagedGivesTheBitsOfContiguous) {
  const std::vector<Index> lengths{130, 0, 64, 300};  // 5 + 0 + 2 + 10 tiles
  const Settings batch{
      {"lengths", "130,0,64,300"}, {"kv_heads", "3"}, {"g", "2"}, {"d", "16"}, {"tile", "32"}};
  const auto contiguous = split(batch, 1, 4);
  const HostTensors inputs = test_inputs(contiguous[0].instance);
  const HostTensors expected = run_in_program_order(contiguous, inputs);
  const auto expect_same = [&](const Settings& table, const std::vector<Index>& blocks,
                               Index pool_blocks) {
    const auto paged = split(with(with(batch, {{"kv", "paged"}}), table), 1, 4);
    const HostTensors pool{{"q", inputs.at("q")},
                           {"k", pool_of(inputs.at("k"), lengths, blocks, pool_blocks)},
                           {"v", pool_of(inputs.at("v"), lengths, blocks, pool_blocks)}};
    EXPECT_EQ(run_in_program_order(paged, pool), expected) << testing::PrintToString(blocks);
  };
  std::vector<Index> blocks(17);
  std::iota(blocks.begin(), blocks.end(), 0);
  expect_same({}, blocks, 17);
  for (Index& block : blocks) block = 19 - block;
  expect_same({{"block_table", "reversed"}, {"blocks", "20"}}, blocks, 20);
  expect_same({{"block_table", "3,0,16,7,1,9,10,2,4,5,6,8,11,12,13,15,14"}},
              {3, 0, 16, 7, 1, 9, 10, 2, 4, 5, 6, 8, 11, 12, 13, 15, 14}, 17);
}

// ---- who holds what ---------------------------------------------------------------------------

std::vector<std::uint32_t> pes(const std::vector<Compiled>& programs) {
  return programs[0].instance.pes;
}

// 2 SIPs of 4 cubes of 8 PEs. Groups of 2 cubes with 3 PEs: 2 * (4 / 2) * (8 / 3) = 8 fit. Group g
// is in SIP g % 2; the next ones take the other cubes, then PEs 3 to 5. A SIP is 32 PEs, a cube 8.
TEST(SplitDecode, GroupsFillSipsThenCubesThenPes) {
  const auto programs =
      split({{"kv_heads", "9"}, {"s_kv", "64"}, {"d", "8"}}, 2, 3, "tree", machine(2, 4, 8));
  EXPECT_EQ(programs[0].instance.grid, (std::array<Index, 3>{8, 2, 3}));
  std::vector<std::uint32_t> expected;
  for (const std::uint32_t first : {0U, 32U, 16U, 48U, 3U, 35U, 19U, 51U}) {
    for (const std::uint32_t offset : {0U, 1U, 2U, 8U, 9U, 10U}) expected.push_back(first + offset);
  }
  EXPECT_THAT(pes(programs), ElementsAreArray(expected));

  // No more groups than heads; the others stand idle.
  const auto two =
      split({{"kv_heads", "2"}, {"s_kv", "64"}, {"d", "8"}}, 1, 2, "tree", machine(2, 4, 8));
  EXPECT_THAT(pes(two), ElementsAre(0, 1, 32, 33));
  EXPECT_EQ(two[0].instance.grid, (std::array<Index, 3>{2, 1, 2}));
  const auto one = whole({{"kv_heads", "2"}, {"s_kv", "64"}, {"d", "8"}});
  EXPECT_THAT(pes(one), ElementsAre(0));
  EXPECT_EQ(one[0].instance.grid, (std::array<Index, 3>{1, 1, 1}));
  EXPECT_FALSE(one[0].instance.tensors[1].shard);
}

/// Rows of a tensor that the programs hold, each program's in order.
std::vector<std::vector<Index>> rows_held(const std::vector<Compiled>& programs,
                                          std::size_t tensor) {
  std::vector<std::vector<Index>> held;
  for (const Compiled& compiled : programs) {
    std::vector<Index>& rows = held.emplace_back();
    for (const Shard::Rows& block : compiled.instance.tensors[tensor].shard(compiled.number).rows) {
      for (Index row = block.begin; row < block.begin + block.count; ++row) rows.push_back(row);
    }
  }
  return held;
}

// 9 tiles of 4 tokens, the last of 3, over 4 programs: 3 each. Two groups of heads 0, 2 and 1.
TEST(SplitDecode, AProgramHoldsItsTokensOfItsHeads) {
  const Settings settings{{"kv_heads", "3"}, {"g", "2"}, {"d", "4"}, {"s_kv", "35"}, {"tile", "4"}};
  const auto programs = split(settings, 1, 4, "tree", machine(1, 1, 8));
  ASSERT_EQ(programs.size(), 8U);
  const auto range = [](Index begin, Index count) {
    std::vector<Index> rows;
    for (Index i = 0; i < count; ++i) rows.push_back(begin + i);
    return rows;
  };
  const auto joined = [](std::vector<Index> x, const std::vector<Index>& y) {
    x.insert(x.end(), y.begin(), y.end());
    return x;
  };
  for (const std::size_t tensor : {1U, 2U}) {
    const auto held = rows_held(programs, tensor);
    EXPECT_EQ(held[0], joined(range(0, 12), range(70, 12)));
    EXPECT_EQ(held[2], joined(range(24, 11), range(94, 11)));
    EXPECT_TRUE(held[3].empty());
    EXPECT_EQ(held[4], range(35, 12));
    EXPECT_EQ(held[6], range(59, 11));
    EXPECT_TRUE(held[7].empty());
  }
  for (std::size_t program = 0; program < 8; ++program) {
    const std::vector<Index> queries =
        program < 4 ? std::vector<Index>{0, 1, 4, 5} : std::vector<Index>{2, 3};
    EXPECT_EQ(rows_held(programs, 0)[program], queries);
    EXPECT_EQ(rows_held(programs, 3)[program], program % 4 == 0 ? queries : std::vector<Index>{});
  }
}

// Every block that a tile lies in belongs to one program a head, and no other is held.
TEST(SplitDecode, APagedCacheIsHeldInBlocks) {
  // Tiles 0 .. 4 in blocks 5, 0, 7, 2, 3; two each for 3 programs; 2 heads in one group.
  const auto programs = split({{"kv_heads", "2"},
                               {"d", "4"},
                               {"s_kv", "9"},
                               {"tile", "2"},
                               {"kv", "paged"},
                               {"block_table", "5,0,7,2,3"},
                               {"blocks", "8"}},
                              1, 3, "tree", machine(1, 1, 4));
  // Rows of block b, head h: (2 b + h) 2 and the next. Both heads of a block lie together.
  const auto held = rows_held(programs, 1);
  ASSERT_EQ(held.size(), 3U);
  EXPECT_THAT(held[0], ElementsAre(0, 1, 2, 3, 20, 21, 22, 23));    // 5, 0
  EXPECT_THAT(held[1], ElementsAre(8, 9, 10, 11, 28, 29, 30, 31));  // 7, 2
  EXPECT_THAT(held[2], ElementsAre(12, 13, 14, 15));                // 3
}

// ---- commands ---------------------------------------------------------------------------------

std::uint64_t total_bytes(const Compiled& compiled) {
  return bytes_of(compiled.program.commands());
}

// opt2, 16 tiles over 8 programs. A tile is 54 + 322 bytes; load of q 21, three fills 17 each. A
// child costs three receives (17 each) and a merge (290), a parent three sends (17 each), the end
// of the root div_bcast 33 and store 21.
TEST(SplitDecode, CommandsAndBytesOfTheTree) {
  const auto programs = split({{"s_kv", "1024"}}, 1, 8);
  const std::uint64_t children[] = {3, 0, 1, 0, 2, 0, 1, 0};
  for (std::size_t i = 0; i < 8; ++i) {
    const std::uint64_t last = i == 0 ? 2 : 3, last_bytes = i == 0 ? 33 + 21 : 3 * 17;
    EXPECT_EQ(programs[i].program.commands().size(), 1 + 3 + 2 * 2 + 4 * children[i] + last) << i;
    EXPECT_EQ(total_bytes(programs[i]),
              21 + 3 * 17 + 2 * (54 + 322) + children[i] * (3 * 17 + 290) + last_bytes)
        << i;
  }
  EXPECT_THAT(outline(programs[4]),
              ElementsAre("load", "fill", "fill", "fill", "wait", "{", "composite", "composite",
                          "composite", "composite", "}", "{", "recv", "recv", "recv", "recv",
                          "recv", "recv", "composite", "composite", "send", "send", "send", "}"));
}

TEST(SplitDecode, CommandsAndBytesOfTheChain) {
  const auto programs = split({{"s_kv", "1024"}}, 1, 8, "chain");
  for (std::size_t i = 0; i < 8; ++i) {
    const std::uint64_t children = i < 7 ? 1 : 0;
    const std::uint64_t last = i == 0 ? 33 + 21 : 3 * 17;
    EXPECT_EQ(total_bytes(programs[i]),
              21 + 3 * 17 + 2 * (54 + 322) + children * (3 * 17 + 290) + last)
        << i;
  }
}

struct Message {
  std::uint32_t from, to;
  std::uint64_t bytes;
};
std::vector<Message> messages(const std::vector<Compiled>& programs) {
  std::vector<Message> sent;
  for (const Compiled& compiled : programs) {
    for (const Command& command : compiled.program.commands()) {
      if (const auto* send = std::get_if<command::IpcqSendCmd>(&command)) {
        EXPECT_EQ(send->src.dtype, DType::f32);
        sent.push_back({compiled.pe, send->to.peer, send->src.bytes()});
      }
    }
  }
  return sent;
}

// R4.9. Three tiles over four programs: a tree of three.
TEST(SplitDecode, NothingIsIssuedForAnEmptyShare) {
  const auto programs = split({{"s_kv", "130"}}, 1, 4);
  EXPECT_EQ(messages(programs).size(), 3U * 2);
  EXPECT_THAT(outline(programs[3]), IsEmpty());
  EXPECT_THAT(outline(programs[2]), AllOf(Contains("send").Times(3), Not(Contains("recv"))));
  // Of a sequence without tokens nobody but the root says anything, of one tile nobody else either.
  const auto batch = split({{"lengths", "0,64"}}, 1, 2);
  EXPECT_THAT(outline(batch[1]), IsEmpty());
  EXPECT_THAT(outline(batch[0]), Not(Contains("recv")));
}

// A state of 8 rows is O 8 x 128 x 4, then m and l 8 x 4 each: 4160 bytes, whatever `stats` says.
TEST(SplitDecode, MessagesOfTheMerge) {
  for (const char* stats : {"f32", "f16"}) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> links;
    const auto sent = messages(split({{"s_kv", "700"}, {"stats", stats}}, 1, 6));
    ASSERT_EQ(sent.size(), 3U * 5);
    for (std::size_t i = 0; i < sent.size(); i += 3) {
      links.emplace_back(sent[i].from, sent[i].to);
      EXPECT_EQ(sent[i].bytes, 4096U);
      EXPECT_EQ(sent[i + 1].bytes, 32U);
      EXPECT_EQ(sent[i + 2].bytes, 32U);
    }
    using Pair = std::pair<std::uint32_t, std::uint32_t>;
    EXPECT_THAT(links, ElementsAre(Pair{1, 0}, Pair{2, 0}, Pair{3, 2}, Pair{4, 0}, Pair{5, 4}));
  }
  // PEs 0, 1 of cubes 0 and 1 (8 PEs each).
  std::vector<std::uint32_t> receivers;
  for (const Message& message : messages(split({{"s_kv", "700"}}, 2, 2, "chain"))) {
    if (message.bytes == 4096) receivers.push_back(message.to);
  }
  EXPECT_THAT(receivers, ElementsAre(0, 1, 8));
}

// Heads of a group use the same scratch one after the other.
TEST(SplitDecode, HeadsReuseTheScratch) {
  const auto one = split({{"s_kv", "300"}}, 1, 4, "tree", machine(1, 1, 4));
  const auto three = split({{"s_kv", "300"}, {"kv_heads", "3"}}, 1, 4, "tree", machine(1, 1, 4));
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(three[i].scratch_peak_bytes, one[i].scratch_peak_bytes);
    const Strings head = outline(one[i]);
    Strings expected = head;
    expected.insert(expected.end(), head.begin(), head.end());
    expected.insert(expected.end(), head.begin(), head.end());
    EXPECT_EQ(outline(three[i]), expected);
  }
}

// ---- refusals ---------------------------------------------------------------------------------

std::string refused(const Settings& settings, const tl::Target& target) {
  try {
    compile_all("gqa_decode", settings, target);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(SplitDecode, RefusesWhatDoesNotFitTheTopology) {
  EXPECT_EQ(refused(cubes_and_pes(5, 1), machine(4, 4, 8)),
            "gqa_decode: c=5 exceeds cubes_per_sip=4 of the topology; give at most c=4");
  EXPECT_EQ(refused(cubes_and_pes(1, 9), machine(4, 4, 8)),
            "gqa_decode: p=9 exceeds pes_per_cube=8 of the topology; give at most p=8");
  EXPECT_EQ(refused(cubes_and_pes(1, 2), machine(1, 1, 1)),
            "gqa_decode: p=2 exceeds pes_per_cube=1 of the topology; give at most p=1");
  EXPECT_EQ(refused(with(cubes_and_pes(4, 8), {{"s_kv", "5"}}), machine(4, 4, 8)), "no error");
}

}  // namespace
}  // namespace kernbench::kernels
