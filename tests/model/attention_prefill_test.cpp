// SPDX-License-Identifier: Apache-2.0
// gqa_prefill on the model. A token's row must have the bits of that token decoded alone: a masked
// score gives the weight 0, a tile that a row does not see leaves its m, l and O as they are.

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/attention_run.hpp"

namespace kernbench::test {
namespace {

using namespace kernels;

struct Chunk {
  Index s_q, prefix, tile_q, tile, g, d, kv_heads;
};

Settings settings_of(const Chunk& c, const std::string& variant, Settings more = {}) {
  for (const auto& [name, value] :
       std::vector<std::pair<const char*, Index>>{{"s_q", c.s_q},
                                                  {"prefix", c.prefix},
                                                  {"tile_q", c.tile_q},
                                                  {"tile", c.tile},
                                                  {"g", c.g},
                                                  {"d", c.d},
                                                  {"kv_heads", c.kv_heads}}) {
    more.emplace_back(name, std::to_string(value));
  }
  more.emplace_back("variant", variant);
  return more;
}

/// `out` of each query token by gqa_decode over the tokens up to it.
std::vector<double> decoded_alone(const Chunk& c, const Settings& dtype,
                                  const HostTensors& inputs) {
  const Index s_kv = c.prefix + c.s_q;
  std::vector<double> out;
  for (Index head = 0; head < c.kv_heads; ++head) {
    for (Index token = 0; token < c.s_q; ++token) {
      const Index length = c.prefix + token + 1;
      Settings settings = dtype;
      settings.insert(settings.end(), {{"s_kv", std::to_string(length)},
                                       {"tile", std::to_string(c.tile)},
                                       {"g", std::to_string(c.g)},
                                       {"d", std::to_string(c.d)}});
      const Index rows = c.g * c.d;
      const HostTensors alone{{"q", part_of(inputs.at("q"), (head * c.s_q + token) * rows, rows)},
                              {"k", part_of(inputs.at("k"), head * s_kv * c.d, length * c.d)},
                              {"v", part_of(inputs.at("v"), head * s_kv * c.d, length * c.d)}};
      const auto one = run_in_program_order(compile("gqa_decode", settings), alone).at("out");
      out.insert(out.end(), one.begin(), one.end());
    }
  }
  return out;
}

void check(const Chunk& c, const Settings& dtype = {}, const std::string& kind = "normal") {
  const Instance instance = compile("gqa_prefill", settings_of(c, "opt2", dtype)).instance;
  const HostTensors inputs = test_inputs(instance, kind);
  const std::vector<double> expected = decoded_alone(c, dtype, inputs);
  for (const char* variant : {"opt1", "opt2", "opt3"}) {
    SCOPED_TRACE(testing::Message() << variant << " " << kind << " s_q " << c.s_q << " prefix "
                                    << c.prefix << " tile_q " << c.tile_q << " tile " << c.tile);
    const HostTensors results = run_on_pe("gqa_prefill", settings_of(c, variant, dtype), inputs);
    EXPECT_EQ(results.at("out"), expected);
    expect_within_tolerance(instance, inputs, results);
  }
}

TEST(GqaPrefill, OneToken) { check({1, 0, 8, 64, 8, 128, 1}); }
TEST(GqaPrefill, FromAnEmptyCache) { check({24, 0, 8, 16, 2, 16, 1}); }
TEST(GqaPrefill, PartialLastBlockAndTile) { check({21, 14, 8, 16, 2, 16, 2}); }
TEST(GqaPrefill, BlocksOfSeveralTiles) { check({20, 3, 20, 6, 3, 16, 1}); }
TEST(GqaPrefill, TilesOfSeveralBlocks) { check({20, 3, 2, 64, 3, 16, 2}); }
TEST(GqaPrefill, OddSizes) { check({13, 5, 5, 7, 1, 11, 3}); }
TEST(GqaPrefill, Bf16) { check({12, 9, 4, 8, 4, 16, 1}, {{"dtype", "bf16"}}); }
TEST(GqaPrefill, PeakedScores) { check({20, 10, 8, 8, 2, 16, 1}, {}, "peaked"); }
TEST(GqaPrefill, RisingScores) { check({20, 10, 8, 8, 2, 16, 1}, {}, "rising"); }

// What a token does not see must not matter.
TEST(GqaPrefill, ATokenDoesNotSeeLaterOnes) {
  const Chunk c{16, 5, 8, 8, 2, 16, 1};
  const Compiled compiled = compile("gqa_prefill", settings_of(c, "opt2"));
  HostTensors inputs = test_inputs(compiled.instance, "normal");
  const std::vector<double> before = run_in_program_order(compiled, inputs).at("out");
  const Index changed = 9;  // query token; its position is 14
  for (const char* name : {"k", "v"}) {
    for (Index i = (c.prefix + changed) * c.d; i < (c.prefix + c.s_q) * c.d; ++i) {
      inputs[name][static_cast<std::size_t>(i)] = 3;
    }
  }
  const std::vector<double> after = run_in_program_order(compiled, inputs).at("out");
  const Index token = c.g * c.d;
  EXPECT_EQ(part_of(after, 0, changed * token), part_of(before, 0, changed * token));
  for (Index t = changed; t < c.s_q; ++t) {
    EXPECT_NE(part_of(after, t * token, token), part_of(before, t * token, token)) << t;
  }
}

std::string op_log(const std::string& kernel, const Settings& settings) {
  return in_child([&] { return run_catalogue(single_pe(), kernel, settings).op_log; });
}

// One query token sees the whole cache: no mask, and M = g rows as in decode.
TEST(GqaPrefill, OneTokenIsTheRunOfDecode) {
  for (const char* variant : {"opt1", "opt2", "opt3"}) {
    EXPECT_EQ(op_log("gqa_prefill", settings_of({1, 199, 8, 64, 8, 128, 1}, variant)),
              op_log("gqa_decode", {{"variant", variant}, {"s_kv", "200"}}));
  }
}

std::uint64_t loop_ps(const Chunk& chunk, const std::string& variant) {
  return std::stoull(in_child([&] {
    const auto result = run_catalogue(single_pe(), "gqa_prefill", settings_of(chunk, variant));
    return std::to_string(result.region_ps("loop"));
  }));
}

// Two tokens of four heads are 8 rows, as in contract 13; of n full tiles the first token does not
// see the last column, so the last tile has a mask: 33 bytes, a dispatch of 40 + 33/16 = 42.0625,
// rounded to 42.063 ns. It waits for #1 of its tile (lazy await), and #2 is dispatched after it.
Chunk two_tokens(Index tiles) { return {2, 64 * tiles - 2, 2, 64, 4, 128, 1}; }

// One tile: #1 is done at 365.375; the mask's dispatch, then #2's (60.125), during which the mask
// itself (8 ns) ends; then 378 for #2 as in decode.
TEST(PrefillTiming, Opt2OneTile) {
  EXPECT_EQ(loop_ps(two_tokens(1), "opt2"), 365375U + 42063 + 60125 + 378000);
}
// More tiles: #1(n-1) is done 144 + 100 + 36 + 32 + 8 + 2 = 322 after #2(n-2) has been admitted,
// and 478 pass until #2(n-1) can be: mask and dispatch, 102.188, fit into the 156 between. So the
// total is that of decode.
TEST(PrefillTiming, Opt2HidesTheMaskBehindTheTileBefore) {
  for (const Index n : {2, 3, 16}) {
    EXPECT_EQ(loop_ps(two_tokens(n), "opt2"),
              365375U + 478000U * static_cast<std::uint64_t>(n - 1) + 378000U);
  }
}
// opt1: PE_CPU waits for #1 of the last tile to dispatch the mask, and has then softmax_merge (254
// bytes, 55.875) and P.V (45.125) to dispatch too. In that time both MATH commands end (8 during
// the 55.875; 44 during the 45.125), so P.V, 334, follows its dispatch. In decode, 743.375 + 510
// (n-1), it follows #1 and the 44.
TEST(PrefillTiming, Opt1PaysForTheDispatchAfterTheMask) {
  for (const Index n : {1, 2, 3, 16}) {
    EXPECT_EQ(
        loop_ps(two_tokens(n), "opt1"),
        365375U + 510000U * static_cast<std::uint64_t>(n - 1) + 42063 + 55875 + 45125 + 334000);
  }
}
// One tile of opt3 is a chain of dispatches after #1, so the mask's adds to it (contract 13:
// 462.501 + 616.503 without).
TEST(PrefillTiming, Opt3OneTile) { EXPECT_EQ(loop_ps(two_tokens(1), "opt3"), 1079004U + 42063); }
// More tiles: the mask and the seven dispatches up to mul_bcast, 293.2, fit into the 334 that
// mul_bcast waits for P.V of the tile before.
TEST(PrefillTiming, Opt3HidesTheMaskBehindTheTileBefore) {
  for (const Index n : {2, 3, 16}) {
    EXPECT_EQ(loop_ps(two_tokens(n), "opt3"), 462501U * static_cast<std::uint64_t>(n) + 616503U);
  }
}

// Longer ones by bounds that run_kernel checks on every run (contract 13, last row), and by the
// bytes that must move: K and V of every visited tile, once for each m tile of 8 rows (R6.5).
TEST(PrefillTiming, MovesKAndVOfTheVisitedTilesOnly) {
  const Chunk c{64, 32, 4, 32, 4, 64, 2};
  const auto result = run_catalogue(single_pe(), "gqa_prefill", settings_of(c, "opt2"));
  std::uint64_t tiles = 0;
  for (Index last = c.prefix + c.tile_q - 1; last < c.prefix + c.s_q; last += c.tile_q) {
    tiles += static_cast<std::uint64_t>(last / c.tile + 1);
  }
  const std::uint64_t heads = 2, m_tiles = 16 / 8, tile_bytes = 32 * 64 * 2;
  const std::uint64_t q_bytes = heads * 64 * 4 * 64 * 2;
  const auto& pe = result.statistics.pes().at(0);
  EXPECT_EQ(pe.hbm_read_bytes, q_bytes + heads * tiles * m_tiles * 2 * tile_bytes);
  EXPECT_EQ(pe.hbm_write_bytes, q_bytes);
}

}  // namespace
}  // namespace kernbench::test
