// SPDX-License-Identifier: Apache-2.0
// What gqa_decode issues for a batch and for a paged cache, what gqa_prefill issues, and what they
// refuse.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/catalogue.hpp"
#include "tests/support/program_order.hpp"
#include "tests/support/program_outline.hpp"

namespace kernbench::kernels {
namespace {

using namespace test;
using command::Command;
using testing::ElementsAre;
using testing::HasSubstr;

// ---- parameters that are lists, or have no value ----------------------------------------------

const std::vector<Parameter> kDeclared{
    integer("size", 7, "a size", 1, 9).gives_way_to("sizes"),
    list("sizes", "several sizes", 0, 100),
    list("order", "an order", 0, 3, {"up", "down"}),
};

std::string refusal(const Settings& settings) {
  try {
    const Parameters parameters("k", kDeclared, settings);
  } catch (const InputError& e) {
    return e.what();
  }
  return "not refused";
}

TEST(ListParameter, KeepsItsIntegers) {
  const Parameters parameters("k", kDeclared, {{"sizes", "0,5,100"}, {"order", "3,1"}});
  EXPECT_THAT(parameters.list("sizes"), ElementsAre(0, 5, 100));
  EXPECT_EQ(parameters.choice("sizes"), "0,5,100");
  EXPECT_THAT(parameters.list("order"), ElementsAre(3, 1));
  EXPECT_EQ(Parameters("k", kDeclared, {{"order", "down"}}).choice("order"), "down");
  EXPECT_THAT(Parameters("k", kDeclared, {{"sizes", "8"}}).list("sizes"), ElementsAre(8));
}

TEST(ListParameter, WithoutAValueItIsEmpty) {
  const Parameters parameters("k", kDeclared, {});
  EXPECT_FALSE(parameters.has_value("sizes"));
  EXPECT_FALSE(parameters.has_value("order"));
  EXPECT_TRUE(parameters.list("sizes").empty());
}

TEST(ListParameter, ADefaultGivesWayToTheOtherSpelling) {
  EXPECT_EQ(Parameters("k", kDeclared, {}).integer("size"), 7);
  EXPECT_FALSE(Parameters("k", kDeclared, {{"sizes", "1,2"}}).has_value("size"));
  const Parameters both("k", kDeclared, {{"sizes", "1,2"}, {"size", "7"}});
  EXPECT_EQ(both.integer("size"), 7);
}

TEST(ListParameter, RefusesWhatIsNoListInItsRange) {
  EXPECT_EQ(refusal({{"sizes", "1,x"}}),
            "k: sizes=1,x: 'x' is not an integer; give integers from 0 to 100 separated by commas");
  EXPECT_EQ(refusal({{"sizes", "1,101"}}),
            "k: sizes=1,101: '101' is out of range; give integers from 0 to 100 separated by "
            "commas");
  for (const char* text : {",", "1,", ",1", "1,,2", "1, 2", "1;2", "-1"}) {
    EXPECT_THAT(refusal({{"sizes", text}}), HasSubstr("give integers from 0 to 100")) << text;
  }
  EXPECT_EQ(
      refusal({{"order", "dwn"}}),
      "k: order=dwn: 'dwn' is not an integer; give up, down, or integers from 0 to 3 separated by "
      "commas; did you mean 'down'?");
  // A choice is no entry: none is suggested.
  EXPECT_EQ(
      refusal({{"order", "up,0"}}),
      "k: order=up,0: 'up' is not an integer; give up, down, or integers from 0 to 3 separated "
      "by commas");
}

// An empty value is not the absence of one.
TEST(ListParameter, RefusesAnEmptyValue) {
  EXPECT_EQ(refusal({{"sizes", ""}}),
            "k: sizes= is empty; give integers from 0 to 100 separated by commas, or leave it "
            "away");
  EXPECT_EQ(refusal({{"order", ""}}),
            "k: order= is empty; give up, down, or integers from 0 to 3 separated by commas, or "
            "leave it away");
  EXPECT_EQ(refusal({{"size", ""}}),
            "k: size= is empty; give an integer from 1 to 9, or leave it away");
  EXPECT_EQ(error_of("gqa_decode", {{"variant", ""}}),
            "gqa_decode: variant= is empty; give one of opt1, opt2, opt3, or leave it away");
  for (const char* name : {"lengths", "heads", "block_table", "blocks"}) {
    EXPECT_THAT(error_of("gqa_decode", {{name, ""}}),
                HasSubstr(std::string("gqa_decode: ") + name + "= is empty; give "));
  }
}

// 2^63 is one more than an integer holds.
TEST(ListParameter, ANumberTooLargeIsOutOfRange) {
  EXPECT_EQ(refusal({{"size", "9223372036854775808"}}),
            "k: size=9223372036854775808 is out of range; give an integer from 1 to 9");
  EXPECT_EQ(refusal({{"size", "-9223372036854775809"}}),
            "k: size=-9223372036854775809 is out of range; give an integer from 1 to 9");
  EXPECT_EQ(refusal({{"sizes", "1,99999999999999999999"}}),
            "k: sizes=1,99999999999999999999: '99999999999999999999' is out of range; give "
            "integers from 0 to 100 separated by commas");
  EXPECT_EQ(refusal({{"size", "99999999999999999999x"}}),
            "k: size=99999999999999999999x is not an integer; give an integer from 1 to 9");
}

// ---- gqa_decode: batch ------------------------------------------------------------------------

TEST(BatchedDecode, SequencesRunOneAfterTheOtherAndAnEmptyOneIsAFillAndAStore) {
  const Strings five = outline(compile("gqa_decode", {{"s_kv", "5"}, {"kv_heads", "2"}}));
  const Strings hundred = outline(compile("gqa_decode", {{"s_kv", "100"}, {"kv_heads", "2"}}));
  Strings expected = five;
  for (int head = 0; head < 2; ++head) expected.insert(expected.end(), {"fill", "store"});
  expected.insert(expected.end(), hundred.begin(), hundred.end());
  const Compiled batch = compile("gqa_decode", {{"lengths", "5,0,100"}, {"kv_heads", "2"}});
  EXPECT_EQ(outline(batch), expected);
  EXPECT_EQ(batch.instance.tiles, 2U * (1 + 2));

  // [batch, kv_heads * g, t_q, d], and [batch, kv_heads, longest, d].
  EXPECT_THAT(batch.instance.tensors[0].file_shape, ElementsAre(3, 16, 1, 128));
  EXPECT_THAT(batch.instance.tensors[1].file_shape, ElementsAre(3, 2, 100, 128));
  std::vector<command::Address> stored;  // each row is 256 bytes, each KV head 8 rows
  for (const Command& command : batch.program.commands()) {
    if (const auto* store = std::get_if<command::DmaWriteCmd>(&command)) {
      stored.push_back((store->dst.addr - batch.bound[3].addr) / 2048);
    }
  }
  EXPECT_THAT(stored, ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(BatchedDecode, ABatchOfOneIsTheSingleSequence) {
  const auto one = compile("gqa_decode", {{"lengths", "200"}, {"kv_heads", "2"}});
  const auto single = compile("gqa_decode", {{"s_kv", "200"}, {"kv_heads", "2"}});
  ASSERT_EQ(outline(one), outline(single));
  for (std::size_t i = 0; i < one.program.commands().size(); ++i) {
    EXPECT_EQ(logical_bytes(one.program.commands()[i]),
              logical_bytes(single.program.commands()[i]));
  }
}

// R4.9 and field case 42: a sequence of length 0 by itself is refused.
TEST(BatchedDecode, Refusals) {
  EXPECT_EQ(error_of("gqa_decode", {{"s_kv", "0"}}),
            "gqa_decode: s_kv=0 is out of range; give an integer from 1 to 1099511627776");
  EXPECT_EQ(error_of("gqa_decode", {{"lengths", "0,0"}}),
            "gqa_decode: lengths=0,0 has no token to attend to; give at least one length that is "
            "not 0");
  EXPECT_EQ(error_of("gqa_decode", {{"lengths", "5,64"}, {"s_kv", "64"}}),
            "gqa_decode: s_kv=64 and lengths=5,64 are both given; give s_kv for one sequence, or "
            "lengths for a batch");
}

// ---- gqa_decode: paged ------------------------------------------------------------------------

/// Blocks of the pool that K is read from, in order; tile 64, d 128, kv_heads as given.
std::vector<Index> blocks_read(const Settings& settings, Index kv_heads) {
  const Compiled compiled = compile("gqa_decode", settings);
  std::vector<Index> blocks;
  for (const Command& command : loop_of(compiled)) {
    if (logical_bytes(command) != 54) continue;  // #1
    const auto offset = static_cast<Index>(command::ops_of(command)[0].operands[1].handle.addr -
                                           compiled.bound[1].addr);
    const Index tile_bytes = 64 * 128 * 2;
    EXPECT_EQ(offset % tile_bytes, 0);
    blocks.push_back(offset / tile_bytes / kv_heads);
  }
  return blocks;
}

TEST(PagedDecode, TilesLieWhereTheTableSays) {
  // 3 + 1 tiles. Every KV head of a block lies in it, so each head visits the same blocks.
  const Settings batch{{"lengths", "130,0,64"}, {"kv_heads", "2"}, {"kv", "paged"}};
  const auto with = [&](Settings more) {
    more.insert(more.end(), batch.begin(), batch.end());
    return blocks_read(more, 2);
  };
  EXPECT_THAT(with({}), ElementsAre(0, 1, 2, 0, 1, 2, 3, 3));
  EXPECT_THAT(with({{"block_table", "identity"}}), ElementsAre(0, 1, 2, 0, 1, 2, 3, 3));
  EXPECT_THAT(with({{"block_table", "reversed"}}), ElementsAre(3, 2, 1, 3, 2, 1, 0, 0));
  EXPECT_THAT(with({{"block_table", "reversed"}, {"blocks", "10"}}),
              ElementsAre(9, 8, 7, 9, 8, 7, 6, 6));
  EXPECT_THAT(with({{"block_table", "5,0,7,2"}, {"blocks", "8"}}),
              ElementsAre(5, 0, 7, 5, 0, 7, 2, 2));
  const Compiled compiled =
      compile("gqa_decode", {{"lengths", "130,64"}, {"kv", "paged"}, {"blocks", "9"}});
  EXPECT_THAT(compiled.instance.tensors[1].file_shape, ElementsAre(9, 1, 64, 128));
  EXPECT_THAT(compiled.instance.tensors[2].file_shape, ElementsAre(9, 1, 64, 128));
}

TEST(PagedDecode, Refusals) {
  const auto refused = [](Settings settings) {
    settings.emplace_back("s_kv", "130");  // three tiles
    settings.emplace_back("kv", "paged");
    return error_of("gqa_decode", settings);
  };
  EXPECT_EQ(refused({{"block_table", "0,3,1"}}),
            "gqa_decode: block_table: entry 1 is block 3, and the pool has 3; give one in [0, 2], "
            "or more blocks");
  EXPECT_EQ(refused({{"block_table", "0,3,1"}, {"blocks", "4"}}), "no error");
  EXPECT_EQ(
      refused({{"block_table", "0,2,0"}}),
      "gqa_decode: block_table: entry 2 is block 0, which an earlier tile has; give each tile "
      "its own");
  EXPECT_EQ(
      refused({{"block_table", "0,1"}}),
      "gqa_decode: block_table has 2 entries and the batch 3 tiles; give one per tile, sequence "
      "after sequence");
  EXPECT_EQ(refused({{"blocks", "2"}}),
            "gqa_decode: blocks=2 are too few for the 3 tiles of the batch; give at least that "
            "many");
  EXPECT_EQ(
      error_of("gqa_decode", {{"block_table", "1,0"}}),
      "gqa_decode: block_table=1,0 is for a paged cache; give kv=paged too, or leave it away");
  EXPECT_EQ(error_of("gqa_decode", {{"blocks", "7"}}),
            "gqa_decode: blocks=7 is for a paged cache; give kv=paged too, or leave it away");
}

// ---- gqa_decode: head grouping (field case 41) ------------------------------------------------

Settings heads(const char* query, const char* kv) {
  return {{"heads", query}, {"kv_heads", kv}, {"s_kv", "4"}, {"d", "8"}};
}

TEST(HeadGrouping, IllegalCountsAreRefusedByValue) {
  EXPECT_EQ(
      error_of("gqa_decode", heads("3", "2")),
      "gqa_decode: heads=3 is not a multiple of kv_heads=2, and every KV head serves the same "
      "number of query heads; give 2 or 4");
  EXPECT_THAT(error_of("gqa_decode", heads("33", "2")),
              HasSubstr("heads=33 is not a multiple of kv_heads=2, and"));
  EXPECT_THAT(error_of("gqa_decode", heads("2", "4")),
              testing::AllOf(HasSubstr("heads=2 is not a multiple of kv_heads=4, and"),
                             testing::EndsWith("; give 4")));
  EXPECT_EQ(error_of("gqa_decode", heads("4", "0")),
            "gqa_decode: kv_heads=0 is out of range; give an integer from 1 to 65536");
  Settings with_g = heads("16", "2");
  with_g.emplace_back("g", "4");
  EXPECT_EQ(error_of("gqa_decode", with_g),
            "gqa_decode: g=4 and heads=16 disagree: heads / kv_heads is 8; give one of the two");
}

TEST(HeadGrouping, HeadsIsAnotherSpellingOfG) {
  Settings with_g = heads("12", "2");
  EXPECT_THAT(compile("gqa_decode", with_g).instance.tensors[0].file_shape, ElementsAre(12, 1, 8));
  with_g.emplace_back("g", "6");
  EXPECT_THAT(compile("gqa_decode", with_g).instance.tensors[0].file_shape, ElementsAre(12, 1, 8));
}

// ---- gqa_prefill ------------------------------------------------------------------------------

struct Chunk {
  Index s_q, prefix, tile_q, tile;
};

/// A pair of a block of query tokens and a tile of the cache, as the causal rule has it.
struct Pairs {
  std::uint64_t visited = 0, masks = 0;
};
Pairs count_pairs(const Chunk& chunk) {
  Pairs pairs;
  const Index s_kv = chunk.prefix + chunk.s_q;
  for (Index block = 0; block < chunk.s_q; block += chunk.tile_q) {
    for (Index tile = 0; tile < s_kv; tile += chunk.tile) {
      Index seen = 0, unseen = 0;
      for (Index t = block; t < std::min(block + chunk.tile_q, chunk.s_q); ++t) {
        Index seen_by_token = 0;
        for (Index k = tile; k < std::min(tile + chunk.tile, s_kv); ++k) {
          ++(k <= chunk.prefix + t ? seen_by_token : unseen);
        }
        seen += seen_by_token;
      }
      if (seen == 0) continue;
      ++pairs.visited;
      if (unseen > 0) ++pairs.masks;
    }
  }
  return pairs;
}

TEST(GqaPrefill, VisitsTheTilesThatATokenSeesAndMasksThoseThatOneDoesNotSeeWhole) {
  for (const Chunk& c : std::vector<Chunk>{{1, 0, 1, 1},
                                           {8, 0, 8, 64},
                                           {64, 0, 8, 16},
                                           {64, 0, 16, 8},
                                           {70, 0, 16, 32},
                                           {70, 61, 16, 32},
                                           {33, 64, 8, 64},
                                           {5, 1000, 2, 64},
                                           {17, 3, 5, 7},
                                           {40, 10, 40, 3}}) {
    const Pairs expected = count_pairs(c);
    for (const char* variant : {"opt1", "opt2", "opt3"}) {
      const Compiled compiled = compile("gqa_prefill", {{"variant", variant},
                                                        {"s_q", std::to_string(c.s_q)},
                                                        {"prefix", std::to_string(c.prefix)},
                                                        {"tile_q", std::to_string(c.tile_q)},
                                                        {"tile", std::to_string(c.tile)},
                                                        {"kv_heads", "2"},
                                                        {"g", "3"},
                                                        {"d", "8"}});
      std::uint64_t scores = 0, masks = 0;
      for (const Command& command : loop_of(compiled)) {
        if (logical_bytes(command) == 54) ++scores;  // #1
        if (label(command) == "mask_cols") ++masks;
      }
      SCOPED_TRACE(testing::Message() << variant << " s_q " << c.s_q << " prefix " << c.prefix
                                      << " tile_q " << c.tile_q << " tile " << c.tile);
      EXPECT_EQ(scores, 2 * expected.visited);
      EXPECT_EQ(compiled.instance.tiles, 2 * expected.visited);
      EXPECT_EQ(masks, 2 * expected.masks);
    }
  }
}

// s_q = n tile_q, prefix = 0, tile = tile_q: block b visits b + 1 tiles and masks the last one.
TEST(GqaPrefill, SquareTilesAreATriangle) {
  const Compiled compiled = compile(
      "gqa_prefill", {{"s_q", "160"}, {"tile_q", "16"}, {"tile", "16"}, {"g", "2"}, {"d", "16"}});
  EXPECT_EQ(compiled.instance.tiles, 10U * 11 / 2);
  const Strings commands = outline(compiled);
  EXPECT_EQ(std::count(commands.begin(), commands.end(), "mask_cols"), 10);
  EXPECT_EQ(std::count(commands.begin(), commands.end(), "store"), 10);
}

TEST(GqaPrefill, ABlockIsAHeadOfDecodeWithAMask) {
  // Two tokens at positions 62 and 63: the first does not see the last column of the tile.
  EXPECT_THAT(outline(compile("gqa_prefill", {{"s_q", "2"}, {"prefix", "62"}})),
              ElementsAre("load", "fill", "fill", "fill", "wait", "{", "composite", "mask_cols",
                          "composite", "}", "div_bcast", "store"));
  // At positions 63 and 64 the tile of 1 token is hidden from the first.
  EXPECT_THAT(
      outline(compile("gqa_prefill", {{"s_q", "2"}, {"prefix", "63"}, {"variant", "opt3"}})),
      ElementsAre("load", "fill", "fill", "fill", "wait", "{", "composite", "composite", "rmax",
                  "max_elem", "exp_diff", "exp_diff", "rsum", "fma", "mul_bcast", "copy",
                  "composite", "mask_cols", "rmax", "max_elem", "exp_diff", "exp_diff", "rsum",
                  "fma", "mul_bcast", "copy", "composite", "}", "div_bcast", "store"));
}

TEST(GqaPrefill, FilesAreTokenMajor) {
  const Compiled compiled = compile(
      "gqa_prefill", {{"s_q", "10"}, {"prefix", "6"}, {"kv_heads", "3"}, {"g", "4"}, {"d", "32"}});
  const std::vector<TensorSpec>& tensors = compiled.instance.tensors;
  EXPECT_THAT(tensors[0].file_shape, ElementsAre(3, 10, 4, 32));
  EXPECT_THAT(tensors[1].file_shape, ElementsAre(3, 16, 32));
  EXPECT_THAT(tensors[3].file_shape, ElementsAre(3, 10, 4, 32));
  EXPECT_EQ(tensors[3].direction, Direction::out);
}

TEST(GqaPrefill, Refusals) {
  for (const char* name : {"s_q", "tile_q", "tile", "g", "kv_heads"}) {
    EXPECT_THAT(error_of("gqa_prefill", {{name, "0"}}), HasSubstr("=0 is out of range"));
  }
  EXPECT_THAT(error_of("gqa_prefill", {{"prefix", "-1"}}), HasSubstr("give an integer from 0"));
  // 512 rows of O alone are 262144 bytes of 131072.
  EXPECT_THAT(error_of("gqa_prefill", {{"s_q", "64"}, {"tile_q", "64"}}),
              HasSubstr("scratch is exhausted"));
}

}  // namespace
}  // namespace kernbench::kernels
