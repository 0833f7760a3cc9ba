// SPDX-License-Identifier: Apache-2.0
// gqa_decode with a batch of lengths and with a paged cache, on the model with numbers. The
// oracles: each sequence decoded by itself, and the contiguous cache.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/attention_run.hpp"

namespace kernbench::test {
namespace {

using namespace kernels;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Lengths 130, 0, 64, 77 of tiles of 64: 3 + 0 + 1 + 2 tiles, two KV heads, d 32.
const std::vector<Index> kLengths{130, 0, 64, 77};
constexpr Index kLongest = 130, kHeads = 2, kD = 32, kRows = 3;

Settings batch(const std::string& variant, Settings more = {}) {
  more.insert(more.end(), {{"variant", variant},
                           {"lengths", "130,0,64,77"},
                           {"kv_heads", "2"},
                           {"g", "3"},
                           {"d", "32"}});
  return more;
}

/// Rows of the contiguous k and v beyond a sequence's length.
bool is_beyond(const std::string& name, Index row) {
  const Index sequence = row / (kHeads * kLongest), token = row % kLongest;
  return name != "q" && token >= kLengths[static_cast<std::size_t>(sequence)];
}

/// Normal entries, with NaN in every row of the cache that is not to be read.
HostTensors contiguous_inputs() {
  const Instance instance = compile("gqa_decode", batch("opt2")).instance;
  const HostTensors normal = test_inputs(instance, "normal");
  return inputs_of(instance, [&](const std::string& name, Index row, Index col) {
    if (is_beyond(name, row)) return kNan;
    return normal.at(name)[static_cast<std::size_t>(row * kD + col)];
  });
}

/// The same cache in a pool of `blocks`, tile n of the batch in block table[n]; NaN elsewhere.
HostTensors paged_inputs(const HostTensors& contiguous, const std::vector<Index>& table,
                         Index blocks) {
  constexpr Index kTile = 64;
  HostTensors inputs{{"q", contiguous.at("q")}};
  for (const char* name : {"k", "v"}) {
    std::vector<double> pool(static_cast<std::size_t>(blocks * kHeads * kTile * kD), kNan);
    std::size_t n = 0;
    for (std::size_t sequence = 0; sequence < kLengths.size(); ++sequence) {
      for (Index begin = 0; begin < kLengths[sequence]; begin += kTile, ++n) {
        for (Index head = 0; head < kHeads; ++head) {
          for (Index t = begin; t < std::min(begin + kTile, kLengths[sequence]); ++t) {
            const Index from = (static_cast<Index>(sequence) * kHeads + head) * kLongest + t;
            const Index to = (table[n] * kHeads + head) * kTile + t - begin;
            std::copy_n(contiguous.at(name).begin() + from * kD, kD, pool.begin() + to * kD);
          }
        }
      }
    }
    inputs[name] = pool;
  }
  return inputs;
}

struct Layout {
  std::string table;
  std::vector<Index> blocks_of_tiles;
  Index blocks;
};
const std::vector<Layout> kLayouts{{"identity", {0, 1, 2, 3, 4, 5}, 6},
                                   {"reversed", {5, 4, 3, 2, 1, 0}, 6},
                                   {"8,0,3,1,6,4", {8, 0, 3, 1, 6, 4}, 9}};
Settings paged(const std::string& variant, const Layout& layout) {
  return batch(
      variant,
      {{"kv", "paged"}, {"block_table", layout.table}, {"blocks", std::to_string(layout.blocks)}});
}

TEST(BatchedDecode, EachSequenceIsItselfAlone) {
  const HostTensors inputs = contiguous_inputs();
  for (const char* variant : {"opt1", "opt2", "opt3"}) {
    SCOPED_TRACE(variant);
    const HostTensors results = run_on_pe("gqa_decode", batch(variant), inputs);
    HostTensors joined;
    for (std::size_t s = 0; s < kLengths.size(); ++s) {
      const auto sequence = static_cast<Index>(s);
      const Index rows = kHeads * kRows;
      if (kLengths[s] == 0) {  // field cases 36 and 42: zeros, the neighbours as ever
        joined["out"].insert(joined["out"].end(), static_cast<std::size_t>(rows * kD), 0);
        continue;
      }
      HostTensors alone{{"q", part_of(inputs.at("q"), sequence * rows * kD, rows * kD)}};
      for (const char* name : {"k", "v"}) {
        for (Index head = 0; head < kHeads; ++head) {
          const Index first = (sequence * kHeads + head) * kLongest;
          const auto tokens = part_of(inputs.at(name), first * kD, kLengths[s] * kD);
          alone[name].insert(alone[name].end(), tokens.begin(), tokens.end());
        }
      }
      Settings settings{{"variant", variant},
                        {"s_kv", std::to_string(kLengths[s])},
                        {"kv_heads", "2"},
                        {"g", "3"},
                        {"d", "32"}};
      const Compiled compiled = compile("gqa_decode", settings);
      for (const auto& [name, values] : run_in_program_order(compiled, alone)) {
        joined[name].insert(joined[name].end(), values.begin(), values.end());
      }
    }
    EXPECT_EQ(results, joined);
    for (const auto& [name, values] : results) {
      for (const double value : values) EXPECT_TRUE(std::isfinite(value)) << name;
    }
    expect_within_tolerance(compile("gqa_decode", batch(variant)).instance, inputs, results);
  }
}

TEST(BatchedDecode, ABatchOfOneIsTheSameRun) {
  const auto op_log = [](const Settings& settings) {
    return in_child([&] { return run_catalogue(single_pe(), "gqa_decode", settings).op_log; });
  };
  EXPECT_EQ(op_log({{"lengths", "200"}, {"kv_heads", "2"}}),
            op_log({{"s_kv", "200"}, {"kv_heads", "2"}}));
}

// Of 2, 1, 0 and 3 full tiles at the sizes of contract 13. Between the loops of two sequences:
// div_bcast 42.063 + 16, store 41.313, which div_bcast delays (lazy await), and what comes before a
// loop, 180.502; the store's DMA ends behind that. An empty sequence is a fill, 41.063 + 16, into
// the bytes that are q's later, so that the next load waits for the end of its store, 41.313 + 16 +
// 16 + 100.
TEST(BatchedDecode, TotalIsThatOfItsSequencesAndTheGapsBetween) {
  constexpr std::uint64_t kGap = 42063 + 16000 + 41313 + 180502;
  constexpr std::uint64_t kEmpty = 41063 + 16000 + 41313 + 132000;
  constexpr std::uint64_t kSequences = 3, kTiles = 2 + 1 + 3;
  const auto total = [](const char* variant) {
    return std::stoull(in_child([&] {
      const auto result = run_catalogue(single_pe(), "gqa_decode",
                                        {{"variant", variant}, {"lengths", "128,64,0,192"}});
      return std::to_string(result.region_ps("loop"));
    }));
  };
  const std::uint64_t gaps = 2 * kGap + kEmpty;
  EXPECT_EQ(total("opt1"), kSequences * 743375 + (kTiles - kSequences) * 510000 + gaps);
  EXPECT_EQ(total("opt2"), kSequences * 743375 + (kTiles - kSequences) * 478000 + gaps);
  EXPECT_EQ(total("opt3"), kSequences * 616503 + kTiles * 462501 + gaps);
}

TEST(PagedDecode, GivesTheBitsOfTheContiguousCache) {
  const HostTensors inputs = contiguous_inputs();
  for (const char* variant : {"opt1", "opt2", "opt3"}) {
    const HostTensors expected =
        run_in_program_order(compile("gqa_decode", batch(variant)), inputs);
    for (const Layout& layout : kLayouts) {
      SCOPED_TRACE(variant + (" " + layout.table));
      const HostTensors pool = paged_inputs(inputs, layout.blocks_of_tiles, layout.blocks);
      EXPECT_EQ(run_on_pe("gqa_decode", paged(variant, layout), pool), expected);
      const auto reference =
          compile("gqa_decode", paged(variant, layout)).instance.reference(pool).outputs;
      EXPECT_EQ(reference,
                compile("gqa_decode", batch(variant)).instance.reference(inputs).outputs);
    }
  }
}

// A wrong table must show: two tiles exchanged.
TEST(PagedDecode, AnotherTableGivesOtherNumbers) {
  const HostTensors inputs = contiguous_inputs();
  const HostTensors pool = paged_inputs(inputs, {0, 1, 2, 4, 3, 5}, 6);
  const HostTensors expected = run_in_program_order(compile("gqa_decode", batch("opt2")), inputs);
  const Layout right{"0,1,2,4,3,5", {}, 6};
  EXPECT_EQ(run_in_program_order(compile("gqa_decode", paged("opt2", right)), pool), expected);
  EXPECT_NE(run_in_program_order(compile("gqa_decode", paged("opt2", kLayouts[0])), pool),
            expected);
}

/// The op log without its column `addr`.
std::vector<std::string> timeline(const Settings& settings) {
  const std::string log =
      in_child([&] { return run_catalogue(single_pe(), "gqa_decode", settings).op_log; });
  constexpr std::size_t kAddr = 13;
  std::vector<std::string> rows(1);
  std::size_t column = 0;
  for (const char c : log) {
    if (c == ',') ++column;
    if (column != kAddr) rows.back() += c;
    if (c == '\n') {
      column = 0;
      rows.emplace_back();
    }
  }
  return rows;
}

// A tile has as many bytes in a block as in a contiguous cache. Its bursts take a whole number of
// ps wherever it starts: a row of 64 bytes takes 0.5 ns at 128 GB/s.
TEST(PagedDecode, TakesTheTimeOfTheContiguousCache) {
  for (const char* variant : {"opt1", "opt2", "opt3"}) {
    const auto expected = timeline(batch(variant));
    EXPECT_GT(expected.size(), 100U);
    for (const Layout& layout : kLayouts) {
      EXPECT_EQ(timeline(paged(variant, layout)), expected) << variant << " " << layout.table;
    }
  }
}

}  // namespace
}  // namespace kernbench::test
