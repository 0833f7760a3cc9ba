// SPDX-License-Identifier: Apache-2.0
// What attention kernels get wrong in the field: empty sequences, long sums, far scores, head
// sizes, head groups, odd lengths. On the model, in all three variants where they could differ.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "kernels/flash_attention.hpp"
#include "tests/support/attention_run.hpp"
#include "tlm_if/command/error.hpp"

namespace kernbench::test {
namespace {

using namespace kernels;

using testing::Each;
using testing::HasSubstr;

constexpr double kTolerance = 2e-3;  // absolute
const std::vector<std::string> kVariants{"opt1", "opt2", "opt3"};

Settings with(Settings settings, const Settings& more) {
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

// ---- empty shares: -inf - -inf, 0 / 0 ---------------------------------------------------------

/// One tile of scores (2, 3) of which the first row is masked whole, in one of two orders.
Kernel masked_row() {
  Kernel kernel;
  kernel.name = "masked_row";
  kernel.make = [](const Parameters&, const tl::Target&) {
    Instance instance;
    instance.tensors = {{"s", {2, 3}, {2, 3}, tl::f16, Direction::in},
                        {"v", {3, 4}, {3, 4}, tl::f16, Direction::in},
                        {"out", {2, 4}, {2, 4}, tl::f16, Direction::out}};
    instance.body = [](tl::Context& tl, const std::vector<tl::Tensor>& bound) {
      const auto s = tl.load(bound[0]);
      const auto m = tl.full({2}, tl::kMinusInf, tl::f32), l = tl.zeros({2}, tl::f32);
      const auto O = tl.zeros({2, 4}, tl::f32);
      const auto row = s.rows(0, 1);
      tl.mask_cols(row, tl::kMinusInf, 0, 0, row);
      tl.composite(tl::gemm()
                       .b(bound[1])
                       .out(O)
                       .prologue(tl::softmax_merge(s, m, l, O))
                       .epilogue(tl::add(O)));
      tl.store(bound[2], tl.div_bcast(O, l, tl::f16));
      tl.observe("m", m);
      tl.observe("l", l);
    };
    return instance;
  };
  return kernel;
}

TEST(EmptyShare, AFullyMaskedRowIsZero) {
  const Kernel kernel = masked_row();
  const HostTensors inputs{{"s", {1, 2, 3, 1, 1, 1}}, {"v", {1, 2, 3, 4, 3, 2, 1, 0, 2, 2, 2, 2}}};
  const HostTensors results = run_on_pe(kernel, {}, inputs);
  EXPECT_EQ(results.at("out"), (std::vector<double>{0, 0, 0, 0, 2, 2, 2, 2}));
  EXPECT_EQ(results.at("m"), (std::vector<double>{-std::numeric_limits<double>::infinity(), 1}));
  EXPECT_EQ(results.at("l"), (std::vector<double>{0, 3}));
}

/// Query rows, entries of a head, and tokens of a tile, of a decode that is split.
constexpr Index kSplitRows = 3, kSplitD = 16, kSplitTile = 64;

/// Decode over a cache of `sum of lengths` tokens in one share for each length. Every share's m, l
/// and O go to HBM (m, l, O); an empty one has -inf, 0 and 0. Then they are merged one after the
/// other.
Kernel split_decode(const std::vector<Index>& lengths, const std::string& variant) {
  Kernel kernel;
  kernel.name = "split_decode";
  kernel.make = [lengths, variant](const Parameters&, const tl::Target&) {
    const auto shares = static_cast<Index>(lengths.size());
    const Index tokens = std::accumulate(lengths.begin(), lengths.end(), Index{0});
    const auto tensor = [](const char* name, const command::Shape& shape, DType dtype,
                           Direction direction) {
      return TensorSpec{name, {shape.rows(), shape.cols()}, shape, dtype, direction};
    };
    const command::Shape cache_shape{std::max<Index>(tokens, 1), kSplitD};
    const Index rows = shares * kSplitRows;
    Instance instance;
    instance.tensors = {tensor("q", {kSplitRows, kSplitD}, tl::f16, Direction::in),
                        tensor("k", cache_shape, tl::f16, Direction::in),
                        tensor("v", cache_shape, tl::f16, Direction::in),
                        tensor("m", {rows}, tl::f32, Direction::out),
                        tensor("l", {rows}, tl::f32, Direction::out),
                        tensor("O", {rows, kSplitD}, tl::f32, Direction::out),
                        tensor("out", {kSplitRows, kSplitD}, tl::f16, Direction::out)};
    instance.body = [lengths, variant](tl::Context& tl, const std::vector<tl::Tensor>& bound) {
      const auto part = [&](std::size_t index, Index share) {
        const tl::Tensor& all = bound[index];
        return all.shape().rank() == 1 ? all.cols(share * kSplitRows, kSplitRows)
                                       : all.rows(share * kSplitRows, kSplitRows);
      };
      const Flash flash{variant, kSplitD, kSplitTile, tl::f16, tl::f32};
      Index share = 0, first = 0;
      for (const Index length : lengths) {
        auto scope = tl.scratch_scope();
        FlashState state;
        if (length == 0) {
          state = {tl.full({kSplitRows}, tl::kMinusInf, tl::f32), tl.zeros({kSplitRows}, tl::f32),
                   tl.zeros({kSplitRows, kSplitD}, tl::f32)};
        } else {
          const FlashCache cache{bound[1].rows(first, length), bound[2].rows(first, length), length,
                                 (length + kSplitTile - 1) / kSplitTile};
          state = flash_attend(tl, flash, cache, bound[0]);
        }
        tl.store(part(3, share), state.m);
        tl.store(part(4, share), state.l);
        tl.store(part(5, share), state.O);
        first += length;
        ++share;
      }
      const auto m = tl.load(part(3, 0)), l = tl.load(part(4, 0)), O = tl.load(part(5, 0));
      for (Index other = 1; other < share; ++other) {
        auto scope = tl.scratch_scope();
        tl.composite(tl::recipe(tl::state_merge(m, l, O, tl.load(part(3, other)),
                                                tl.load(part(4, other)), tl.load(part(5, other)))));
      }
      tl.store(bound[6], tl.div_bcast(O, l, tl::f16));
    };
    return instance;
  };
  return kernel;
}

HostTensors run_split(const std::vector<Index>& lengths, const std::string& variant) {
  const Kernel kernel = split_decode(lengths, variant);
  return run_on_pe(kernel, {}, test_inputs(compile(kernel, {}).instance));
}

// Merging with an empty share multiplies by exp(0) = 1 and adds 0: the result has the bits of the
// one share, wherever among four it is. A share without tokens is -inf, 0, 0.
TEST(EmptyShare, SharesOfASplitThatAreEmptyChangeNothing) {
  const double minus_inf = -std::numeric_limits<double>::infinity();
  for (const Index length : {1, 5, 64}) {
    for (const std::string& variant : kVariants) {
      const HostTensors whole = run_split({length}, variant);
      for (Index full = 0; full < 4; ++full) {
        SCOPED_TRACE(testing::Message() << length << " " << variant << " share " << full);
        std::vector<Index> lengths(4, 0);
        lengths[static_cast<std::size_t>(full)] = length;
        const HostTensors split = run_split(lengths, variant);
        EXPECT_EQ(split.at("out"), whole.at("out"));
        for (Index share = 0; share < 4; ++share) {
          const auto m = part_of(split.at("m"), share * kSplitRows, kSplitRows);
          const auto l = part_of(split.at("l"), share * kSplitRows, kSplitRows);
          const auto O = part_of(split.at("O"), share * kSplitRows * kSplitD, kSplitRows * kSplitD);
          if (share == full) {
            EXPECT_EQ(m, whole.at("m"));
            EXPECT_EQ(l, whole.at("l"));
            EXPECT_EQ(O, whole.at("O"));
          } else {
            EXPECT_THAT(m, Each(minus_inf));
            EXPECT_THAT(l, Each(0));
            EXPECT_THAT(O, Each(0));
          }
        }
      }
    }
  }
}
TEST(EmptyShare, ASplitWithoutAnyTokenIsZero) {
  for (const std::string& variant : kVariants) {
    EXPECT_THAT(run_split({0, 0, 0, 0}, variant).at("out"), Each(0)) << variant;
  }
}
// Shares of several tiles and of less than one, one of them empty: each rounds its own weights to
// f16, relative to its own largest score, so only the tolerance of R13.4 holds.
TEST(EmptyShare, SharesOfDifferentLengthsMergeToTheWhole) {
  const std::vector<Index> lengths{100, 0, 1, 64};
  for (const std::string& variant : kVariants) {
    const Kernel kernel = split_decode(lengths, variant);
    const HostTensors inputs = test_inputs(compile(kernel, {}).instance);
    FlashReference reference(inputs, {variant, kSplitD, kSplitTile, tl::f16, tl::f32});
    for (Index row = 0; row < kSplitRows; ++row) {
      reference.add_row(row, 165, [](Index token) { return token; });
    }
    const HostTensors results = run_on_pe(kernel, {}, inputs);
    const Reference expected = reference.result();
    const Error error = error_against(expected.outputs.at("out"), results.at("out"));
    EXPECT_LE(error.rms, expected.max_rms_rel) << variant;
    EXPECT_LE(error.max, expected.max_abs_rel) << variant;
  }
}

// An empty sequence first, last, alone among others, and twice in a row.
TEST(EmptyShare, AnEmptySequenceIsZeroAndLeavesItsNeighbours) {
  for (const auto& [lengths, empty] : std::vector<std::pair<std::string, std::vector<bool>>>{
           {"0,5,64", {true, false, false}},
           {"5,64,0", {false, false, true}},
           {"1,0,0,65", {false, true, true, false}}}) {
    for (const std::string& variant : kVariants) {
      SCOPED_TRACE(lengths + " " + variant);
      const Settings settings{
          {"lengths", lengths}, {"variant", variant}, {"g", "2"}, {"d", "16"}, {"kv_heads", "2"}};
      const Instance instance = compile("gqa_decode", settings).instance;
      // V of sequence b is b + 1: a neighbour's value would show.
      const Index rows_of_sequence =
          instance.tensors[2].shape.rows() / static_cast<Index>(empty.size());
      const HostTensors normal = test_inputs(instance, "normal");
      const HostTensors inputs =
          inputs_of(instance, [&](const std::string& name, Index row, Index col) {
            const Index sequence = row / rows_of_sequence;
            if (name == "v") return static_cast<double>(sequence + 1);
            return normal.at(name)[static_cast<std::size_t>(row * 16 + col)];
          });
      const std::vector<double> out = run_on_pe("gqa_decode", settings, inputs).at("out");
      const Index entries = 2 * 2 * 16;
      for (std::size_t b = 0; b < empty.size(); ++b) {
        EXPECT_THAT(part_of(out, static_cast<Index>(b) * entries, entries),
                    Each(empty[b] ? 0.0 : static_cast<double>(b + 1)));
      }
    }
  }
}

// ---- running sums over long sequences ---------------------------------------------------------

/// Equal scores; V is 1 in the first half of the tokens, 0 in the second.
Settings long_sum(const std::string& length, const std::string& variant, const std::string& stats) {
  return {{"s_kv", length}, {"variant", variant}, {"stats", stats},
          {"tile", "128"},  {"g", "1"},           {"d", "8"}};
}
HostTensors half_ones(const Instance& instance) {
  const Index tokens = instance.tensors[2].shape.rows();
  return inputs_of(instance, [&](const std::string& name, Index row, Index) {
    return name == "v" && row < tokens / 2 ? 1.0 : 0.0;
  });
}

void expect_half(const std::string& length) {
  for (const std::string& variant : kVariants) {
    const Settings settings = long_sum(length, variant, "f32");
    const HostTensors inputs = half_ones(compile("gqa_decode", settings).instance);
    EXPECT_THAT(run_on_pe("gqa_decode", settings, inputs).at("out"), Each(0.5)) << variant;
  }
}
TEST(RunningSum, Is05Over4096Tokens) { expect_half("4096"); }
TEST(RunningSum, Is05Over65408Tokens) { expect_half("65408"); }
TEST(RunningSum, Is05Over65536Tokens) { expect_half("65536"); }
TEST(RunningSum, Is05Over131072Tokens) { expect_half("131072"); }

// f16 holds the tile sums up to 511 * 128 = 65408; 65536 is beyond its range, so l is infinite and
// the result 0, or not a number once O is infinite too.
TEST(RunningSum, HalfPrecisionStatisticsFailFrom65536Tokens) {
  const auto out = [](const std::string& length) {
    const Compiled compiled = compile("gqa_decode", long_sum(length, "opt2", "f16"));
    return run_in_program_order(compiled, half_ones(compiled.instance)).at("out");
  };
  EXPECT_THAT(out("4096"), Each(0.5));
  EXPECT_THAT(out("65408"), Each(0.5));
  EXPECT_THAT(out("65536"), Each(0.0));
  for (const double entry : out("131072")) EXPECT_TRUE(std::isnan(entry)) << entry;
}

// ---- score overflow and far-negative scores ---------------------------------------------------

/// q is 30 throughout, K the given value of each token; results for d = 128. Raw dot products are
/// +-115,200, beyond f16; scaled they are +-10,182.
void expect_far_scores(const std::vector<double>& keys,
                       const std::function<double(const std::vector<double>& column)>& expected) {
  for (const std::string& variant : kVariants) {
    const Settings settings{
        {"s_kv", std::to_string(keys.size())}, {"variant", variant}, {"g", "2"}};
    const auto value = [](Index token, Index col) {  // multiples of 1/32: sums of 8 are exact
      return static_cast<double>((token * 37 + col * 11) % 64 - 32) / 32;
    };
    const HostTensors inputs =
        inputs_of(compile("gqa_decode", settings).instance,
                  [&](const std::string& name, Index row, Index col) {
                    if (name == "q") return 30.0;
                    return name == "k" ? keys[static_cast<std::size_t>(row)] : value(row, col);
                  });
    const std::vector<double> out = run_on_pe("gqa_decode", settings, inputs).at("out");
    for (std::size_t i = 0; i < out.size(); ++i) {
      std::vector<double> column;
      for (Index token = 0; token < static_cast<Index>(keys.size()); ++token) {
        column.push_back(value(token, static_cast<Index>(i % 128)));
      }
      EXPECT_EQ(out[i], expected(column)) << variant << " " << i;
    }
  }
}
TEST(FarScores, TheLargerOneWins) {
  const auto first = [](const std::vector<double>& column) { return column[0]; };
  const auto second = [](const std::vector<double>& column) { return column[1]; };
  expect_far_scores({30, -30}, first);
  expect_far_scores({-30, 30}, second);
}
TEST(FarScores, OneFarNegativeTokenGivesItsValue) {
  expect_far_scores({-30}, [](const std::vector<double>& column) { return column[0]; });
}
TEST(FarScores, EqualFarNegativeTokensGiveTheMean) {
  expect_far_scores(std::vector<double>(8, -30), [](const std::vector<double>& column) {
    double sum = 0;
    for (const double value : column) sum += value;
    return sum / 8;  // a multiple of 1/256 below 1, exact in f16
  });
}
// The far tokens of a long sequence lie in another tile than the winner.
TEST(FarScores, AcrossTiles) {
  for (const Index winner : {0, 70, 129}) {
    std::vector<double> keys(130, -30);
    keys[static_cast<std::size_t>(winner)] = 30;
    expect_far_scores(keys, [winner](const std::vector<double>& column) {
      return column[static_cast<std::size_t>(winner)];
    });
  }
}
// A masked score must be less than any score that is not.
TEST(FarScores, MaskedOnesAreFarther) {
  for (const std::string& variant : kVariants) {
    const Settings settings{{"s_q", "8"}, {"tile_q", "4"}, {"tile", "8"},
                            {"g", "2"},   {"d", "128"},    {"variant", variant}};
    const HostTensors inputs = inputs_of(compile("gqa_prefill", settings).instance,
                                         [](const std::string& name, Index row, Index) {
                                           if (name == "v") return static_cast<double>(row) / 8;
                                           return name == "q" ? 30.0 : -30.0;
                                         });
    const std::vector<double> out = run_on_pe("gqa_prefill", settings, inputs).at("out");
    for (Index token = 0; token < 8; ++token) {  // the mean of 0 .. token, in eighths
      EXPECT_THAT(part_of(out, token * 2 * 128, 2 * 128),
                  Each(testing::DoubleNear(static_cast<double>(token) / 16, kTolerance)))
          << variant << " " << token;
    }
  }
}

// ---- head sizes -------------------------------------------------------------------------------

// (a) Columns 0 to 63 of q and K are zero, 64 to 127 decide.
TEST(HeadSize, ColumnsBeyond64Count) {
  for (const std::string& variant : kVariants) {
    const Settings settings{{"s_kv", "2"}, {"variant", variant}, {"g", "1"}};
    const HostTensors inputs = inputs_of(compile("gqa_decode", settings).instance,
                                         [](const std::string& name, Index row, Index col) {
                                           if (name == "v") return row == 0 ? 1.0 : -1.0;
                                           if (col < 64) return 0.0;
                                           return name == "k" && row == 1 ? -4.0 : 4.0;
                                         });
    EXPECT_THAT(run_on_pe("gqa_decode", settings, inputs).at("out"), Each(1.0)) << variant;
  }
}

// (b) d = 80: the score is 9.828125 / sqrt(80) = 1.09882, the weight 1 / (1 + exp(-1.09882)) =
// 0.7500. A scale from 96 or 128 would give 0.7317 or 0.7045.
TEST(HeadSize, TheScaleIsThatOfTheTrueSize) {
  for (const std::string& variant : kVariants) {
    const Settings settings{{"s_kv", "2"}, {"variant", variant}, {"g", "1"}, {"d", "80"}};
    const HostTensors inputs = inputs_of(compile("gqa_decode", settings).instance,
                                         [](const std::string& name, Index row, Index col) {
                                           if (name == "v") return row == 0 ? 1.0 : 0.0;
                                           if (col > 0) return 0.0;
                                           return name == "q" ? 1.0 : row == 0 ? 9.828125 : 0.0;
                                         });
    EXPECT_THAT(run_on_pe("gqa_decode", settings, inputs).at("out"),
                Each(testing::DoubleNear(0.7500, kTolerance)))
        << variant;
  }
}

// (c) and prefill in the same sizes.
TEST(HeadSize, UnusualSizesAreRight) {
  for (const char* d : {"96", "256", "63", "80", "1"}) {
    SCOPED_TRACE(d);
    for (const std::string& variant : kVariants) {
      const Settings settings{{"s_kv", "100"}, {"variant", variant}, {"g", "3"}, {"d", d}};
      const Instance instance = compile("gqa_decode", settings).instance;
      const HostTensors inputs = test_inputs(instance, "normal");
      expect_within_tolerance(instance, inputs, run_on_pe("gqa_decode", settings, inputs));
    }
    const Settings chunk{{"s_q", "9"}, {"prefix", "60"}, {"g", "2"}, {"d", d}};
    const Instance instance = compile("gqa_prefill", chunk).instance;
    const HostTensors inputs = test_inputs(instance, "normal");
    expect_within_tolerance(instance, inputs, run_on_pe("gqa_prefill", chunk, inputs));
  }
}

// ---- head grouping ----------------------------------------------------------------------------

// V of KV head h is h + 1 throughout, so query head i gives floor(i HKV / HQ) + 1 whatever the
// scores.
void expect_grouping(Index query_heads, Index kv_heads, const std::string& variant) {
  SCOPED_TRACE(testing::Message() << query_heads << ", " << kv_heads << " " << variant);
  constexpr Index kTokens = 70, kD = 16;
  const Settings settings{{"heads", std::to_string(query_heads)},
                          {"kv_heads", std::to_string(kv_heads)},
                          {"variant", variant},
                          {"s_kv", std::to_string(kTokens)},
                          {"d", std::to_string(kD)}};
  const Instance instance = compile("gqa_decode", settings).instance;
  const HostTensors normal = test_inputs(instance, "normal");
  const HostTensors inputs =
      inputs_of(instance, [&](const std::string& name, Index row, Index col) {
        const Index kv_head = row / kTokens;
        if (name == "v") return static_cast<double>(kv_head + 1);
        return normal.at(name)[static_cast<std::size_t>(row * kD + col)];
      });
  const std::vector<double> out = run_on_pe("gqa_decode", settings, inputs).at("out");
  ASSERT_EQ(static_cast<Index>(out.size()), query_heads * kD);
  for (Index i = 0; i < query_heads; ++i) {
    const Index kv_head = i * kv_heads / query_heads;
    EXPECT_THAT(part_of(out, i * kD, kD), Each(static_cast<double>(kv_head + 1))) << i;
  }
}
TEST(HeadGrouping, QueryHeadsUseTheirKvHead) {
  const std::vector<std::pair<Index, Index>> counts{{8, 8},  {16, 2}, {12, 2},
                                                    {48, 2}, {71, 1}, {64, 8}};
  for (const auto& [query_heads, kv_heads] : counts) {
    for (const std::string& variant : kVariants) expect_grouping(query_heads, kv_heads, variant);
  }
}
TEST(HeadGrouping, IllegalCountsAreRefusedBeforeLaunch) {
  for (const auto& [query_heads, kv_heads] : std::vector<std::pair<std::string, std::string>>{
           {"3", "2"}, {"33", "2"}, {"2", "4"}, {"4", "0"}}) {
    try {
      launch(single_pe(), "gqa_decode", {{"heads", query_heads}, {"kv_heads", kv_heads}});
      FAIL() << query_heads << ", " << kv_heads;
    } catch (const InputError& e) {
      EXPECT_THAT(e.what(), HasSubstr("kv_heads=" + kv_heads));
      if (kv_heads != "0") {
        EXPECT_THAT(e.what(), HasSubstr("heads=" + query_heads + " "));
      }
    }
  }
}

// ---- lengths that are no multiple of the tile -------------------------------------------------

/// V between -1 and 1, so that the absolute tolerance means something.
HostTensors bounded_inputs(const Instance& instance) {
  HostTensors inputs = test_inputs(instance, "normal");
  for (double& value : inputs["v"]) value = std::tanh(value);
  inputs["v"] = rounded(tl::f16, inputs["v"]);
  return inputs;
}

void expect_any_tile(const std::string& length) {
  SCOPED_TRACE(length);
  const Settings shape{{"s_kv", length}, {"g", "2"}, {"d", "16"}};
  const Instance instance = compile("gqa_decode", shape).instance;
  const HostTensors inputs = bounded_inputs(instance);
  const std::vector<double> reference = instance.reference(inputs).outputs.at("out");
  for (const char* tile : {"32", "64", "128"}) {
    std::vector<double> first;
    for (const std::string& variant : kVariants) {
      const std::vector<double> out =
          run_on_pe("gqa_decode", with(shape, {{"tile", tile}, {"variant", variant}}), inputs)
              .at("out");
      if (first.empty()) first = out;
      EXPECT_EQ(out, first) << variant;
    }
    for (std::size_t i = 0; i < first.size(); ++i) {
      // Half of it each, so that the tile sizes agree with each other within the whole.
      EXPECT_NEAR(first[i], reference[i], kTolerance / 2) << "tile " << tile;
      if (length == "1") {
        EXPECT_EQ(first[i], inputs.at("v")[i % 16]);
      }
    }
  }
}
TEST(OddLengths, ShortOnes) {
  for (const char* length : {"1", "2", "15", "16", "17"}) expect_any_tile(length);
}
TEST(OddLengths, AroundATile) {
  for (const char* length : {"63", "64", "65", "192"}) expect_any_tile(length);
}
TEST(OddLengths, LongOnes) {
  for (const char* length : {"4095", "4097"}) expect_any_tile(length);
}
TEST(OddLengths, ZeroByItselfIsRefused) {
  for (const char* name : {"s_kv", "lengths"}) {
    try {
      launch(single_pe(), "gqa_decode", {{name, "0"}});
      FAIL() << name;
    } catch (const InputError& e) {
      EXPECT_THAT(e.what(), HasSubstr(name + std::string("=0 ")));
    }
  }
}

}  // namespace
}  // namespace kernbench::test
