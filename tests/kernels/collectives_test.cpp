// SPDX-License-Identifier: Apache-2.0
// Collectives in program order: sums and their order, messages and commands, and what is refused;
// and that the executor notices programs that cannot end.

#include "kernels/collectives.hpp"

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
using testing::ElementsAre;

tl::Target machine(Index pes) {
  tl::Target target;
  target.pes_per_cube = pes;
  return target;
}

struct Case {
  Index programs, n;
};

Settings settings_of(const Case& c, const Settings& more = {}) {
  Settings settings{{"programs", std::to_string(c.programs)}, {"n", std::to_string(c.n)}};
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

std::vector<Compiled> all_reduce_of(const Case& c, const Settings& more = {}) {
  return compile_all("all_reduce", settings_of(c, more), machine(32));
}

/// How many commands have that label.
std::uint64_t count(const Compiled& compiled, std::string_view name) {
  const std::vector<Command> commands = compiled.program.commands();
  return static_cast<std::uint64_t>(std::count_if(
      commands.begin(), commands.end(), [&](const Command& c) { return label(c) == name; }));
}

std::uint64_t bytes_sent(const Compiled& compiled) {
  std::uint64_t sum = 0;
  for (const Command& command : compiled.program.commands()) {
    if (const auto* send = std::get_if<command::IpcqSendCmd>(&command)) sum += send->src.bytes();
  }
  return sum;
}

/// Row `row` of a matrix with rows of `n`.
std::vector<double> row_of(const std::vector<double>& values, Index row, Index n) {
  return {values.begin() + row * n, values.begin() + (row + 1) * n};
}

constexpr Case kCases[] = {{1, 5},  {2, 1},   {2, 9},    {3, 2},   {3, 1000}, {4, 64},
                           {5, 17}, {7, 100}, {8, 8192}, {13, 30}, {32, 100}};

// ---- all_reduce -------------------------------------------------------------------------------

TEST(AllReduce, EveryRowIsTheSumWithinTheBoundOfTheRoundings) {
  for (const Case& c : kCases) {
    for (const char* algorithm : {"ring", "tree"}) {
      for (const char* dtype : {"f32", "f16"}) {
        SCOPED_TRACE(testing::Message() << c.programs << " x " << c.n << algorithm << dtype);
        const auto programs = all_reduce_of(c, {{"algorithm", algorithm}, {"dtype", dtype}});
        const HostTensors inputs = test_inputs(programs[0].instance);
        const Reference reference = programs[0].instance.reference(inputs);
        const std::vector<double> out = run_in_program_order(programs, inputs).at("out");
        const Error error = error_against(reference.outputs.at("out"), out);
        EXPECT_LE(error.rms, reference.max_rms_rel);
        EXPECT_LE(error.max, reference.max_abs_rel);
        for (Index row = 1; row < c.programs; ++row) {
          ASSERT_EQ(row_of(out, row, c.n), row_of(out, 0, c.n)) << row;
        }
      }
    }
  }
}

// Sums of small integers are exact in any order. `message` cuts the chunks into up to 5 messages.
TEST(AllReduce, IntegersAreExact) {
  for (const Case& c : kCases) {
    for (const Settings& more : {Settings{{"algorithm", "tree"}}, Settings{{"message", "1"}},
                                 Settings{{"message", "3"}}, Settings{}}) {
      if (c.n > 1000 && !more.empty() && more[0].first == "message") continue;
      const auto programs = all_reduce_of(c, more);
      HostTensors inputs = test_inputs(programs[0].instance);
      std::vector<double>& x = inputs["x"];
      std::vector<double> sums(static_cast<std::size_t>(c.n), 0);
      for (std::size_t i = 0; i < x.size(); ++i) {
        x[i] = static_cast<double>(i * 7 % 31) - 15;
        sums[i % sums.size()] += x[i];
      }
      const std::vector<double> out = run_in_program_order(programs, inputs).at("out");
      for (Index row = 0; row < c.programs; ++row) {
        ASSERT_EQ(row_of(out, row, c.n), sums) << c.programs << " x " << c.n << " row " << row;
      }
    }
  }
}

// The order of the sum, in f32: chunk k starts at place k and goes round; a tree adds place i + s
// to i for s = 1, 2, 4.
TEST(AllReduce, TheOrderOfTheSum) {
  constexpr Index kPrograms = 6, kN = 13;
  const Case c{kPrograms, kN};
  const auto ring = all_reduce_of(c), tree = all_reduce_of(c, {{"algorithm", "tree"}});
  const HostTensors inputs = test_inputs(ring[0].instance);
  const auto x = [&](Index place, Index entry) {
    return static_cast<float>(
        inputs.at("x")[static_cast<std::size_t>(place % kPrograms * kN + entry)]);
  };
  std::vector<double> ring_sums, tree_sums;
  for (Index entry = 0; entry < kN; ++entry) {
    // Chunk k is the entries [13 k / 6, 13 (k + 1) / 6): 0 | 2 | 4 | 6 | 8 | 10 .. 12.
    Index chunk = 0;
    while ((chunk + 1) * kN / kPrograms <= entry) ++chunk;
    float sum = x(chunk, entry);
    for (Index i = 1; i < kPrograms; ++i) sum += x(chunk + i, entry);
    ring_sums.push_back(static_cast<double>(sum));
    const float left = (x(0, entry) + x(1, entry)) + (x(2, entry) + x(3, entry));
    tree_sums.push_back(static_cast<double>(left + (x(4, entry) + x(5, entry))));
  }
  EXPECT_EQ(row_of(run_in_program_order(ring, inputs).at("out"), 3, kN), ring_sums);
  EXPECT_EQ(row_of(run_in_program_order(tree, inputs).at("out"), 3, kN), tree_sums);
}

// N - 1 steps add and N - 1 hand out, each a message of n / N entries: 2 (N - 1) sends and receives
// of 17 bytes, N - 1 adds as composites of 6 + 28; load and store 21 each.
TEST(AllReduce, CommandsAndBytesOfTheRing) {
  for (const Compiled& compiled : all_reduce_of({8, 1024})) {
    EXPECT_EQ(count(compiled, "send"), 14U);
    EXPECT_EQ(count(compiled, "recv"), 14U);
    EXPECT_EQ(count(compiled, "composite"), 7U);
    EXPECT_EQ(bytes_of(compiled.program.commands()), 2U * 21 + 28 * 17 + 7 * 34);
    EXPECT_EQ(bytes_sent(compiled), 2U * 7 * 1024 * 4 / 8);
  }
  // Three messages a chunk of 128 entries: of 42, 43 and 43.
  for (const Compiled& compiled : all_reduce_of({8, 1024}, {{"message", "50"}})) {
    EXPECT_EQ(count(compiled, "send"), 42U);
    EXPECT_EQ(count(compiled, "recv"), 42U);
    EXPECT_EQ(count(compiled, "composite"), 21U);
    EXPECT_EQ(bytes_sent(compiled), 2U * 7 * 1024 * 4 / 8);
  }
  EXPECT_THAT(outline(all_reduce_of({3, 9})[0]),
              ElementsAre("load", "wait", "{", "send", "recv", "recv", "composite", "send", "recv",
                          "composite", "send", "recv", "send", "}", "store"));
}

// n = 3 over 5: the chunks [3 k / 5, 3 (k + 1) / 5) of k = 1, 3, 4 have one entry, 0 and 2 none.
TEST(AllReduce, EmptyChunksAreNotSent) {
  std::uint64_t sends = 0;
  for (const Compiled& compiled : all_reduce_of({5, 3})) {
    EXPECT_LE(count(compiled, "send"), 8U);
    sends += count(compiled, "send");
  }
  EXPECT_EQ(sends, 3U * 2 * 4);  // each chunk makes 2 (N - 1) hops
}

// Place i of 8 has as many children as i has trailing zeros, place 0 three. Up: a receive and an
// add a child, a send to the parent. Down: the reverse.
TEST(AllReduce, CommandsAndBytesOfTheTree) {
  const auto programs = all_reduce_of({8, 1000}, {{"algorithm", "tree"}});
  const std::uint64_t children[] = {3, 0, 1, 0, 2, 0, 1, 0};
  for (std::size_t i = 0; i < 8; ++i) {
    const std::uint64_t links = children[i] + (i == 0 ? 0 : 1);
    EXPECT_EQ(count(programs[i], "send"), links) << i;
    EXPECT_EQ(count(programs[i], "recv"), links) << i;
    EXPECT_EQ(count(programs[i], "composite"), children[i]) << i;
    EXPECT_EQ(bytes_of(programs[i].program.commands()), 2 * 21 + links * 2 * 17 + children[i] * 34);
    EXPECT_EQ(bytes_sent(programs[i]), links * 4000);
  }
  EXPECT_THAT(outline(programs[0]),
              ElementsAre("load", "wait", "{", "recv", "recv", "composite", "recv", "composite",
                          "composite", "send", "send", "send", "}", "store"));
}

// Rows (1, 2), (3, -4), (5, 6): sums 9 and 4, of sizes 9 and 12. A term goes through two additions
// at most, by either way, each off by 2^-24 of it, and in f16 by another 2^-11.
TEST(AllReduce, TheBoundIsThatOfItsAdditions) {
  for (const char* algorithm : {"ring", "tree"}) {
    for (const char* dtype : {"f32", "f16"}) {
      const auto programs = all_reduce_of({3, 2}, {{"algorithm", algorithm}, {"dtype", dtype}});
      const Reference reference =
          programs[0].instance.reference({{"x", std::vector<double>{1, 2, 3, -4, 5, 6}}});
      EXPECT_THAT(reference.outputs.at("out"), ElementsAre(9, 4, 9, 4, 9, 4));
      const double addition = 0x1p-24 + (std::string(dtype) == "f16" ? 0x1p-11 : 0);
      const double size = std::sqrt((81.0 + 16.0) / 2);
      EXPECT_DOUBLE_EQ(reference.max_abs_rel, 2 * addition * 12 / size);
      EXPECT_DOUBLE_EQ(reference.max_rms_rel, 2 * addition * std::sqrt((81.0 + 144.0) / 2) / size);
    }
  }
}

TEST(AllReduce, OneProgramKeepsItsRow) {
  for (const char* algorithm : {"ring", "tree"}) {
    const auto programs = all_reduce_of({1, 5}, {{"algorithm", algorithm}});
    EXPECT_THAT(outline(programs[0]), ElementsAre("load", "wait", "{", "}", "store"));
  }
  EXPECT_EQ(compile_all("all_reduce", {}, machine(4)).size(), 4U);  // all PEs
}

TEST(AllReduce, RefusesMoreProgramsThanPes) {
  EXPECT_EQ(error_of("all_reduce", {{"programs", "2"}}),
            "all_reduce: programs=2 are more than the one PE of the topology; give at most that "
            "many");
  try {
    compile_all("all_gather", {{"programs", "9"}}, machine(8));
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(),
                 "all_gather: programs=9 are more than the 8 PEs of the topology; give at most "
                 "that many");
  }
}

// ---- all_gather -------------------------------------------------------------------------------

TEST(AllGather, EveryRowIsAllRows) {
  for (const Case& c : {Case{1, 3}, Case{2, 1}, Case{3, 5}, Case{8, 100}, Case{32, 7}}) {
    for (const Settings& more :
         {Settings{}, Settings{{"message", "2"}}, Settings{{"dtype", "f16"}}}) {
      const auto programs = compile_all("all_gather", settings_of(c, more), machine(32));
      const HostTensors inputs = test_inputs(programs[0].instance);
      const std::vector<double> out = run_in_program_order(programs, inputs).at("out");
      const Reference reference = programs[0].instance.reference(inputs);
      EXPECT_EQ(out, reference.outputs.at("out"));
      EXPECT_EQ(reference.max_abs_rel, 0);
      for (Index row = 0; row < c.programs; ++row) {
        ASSERT_EQ(row_of(out, row, c.programs * c.n), inputs.at("x")) << row;
      }
    }
  }
}

// N - 1 steps of one message.
TEST(AllGather, CommandsAndBytes) {
  for (const Compiled& compiled : compile_all("all_gather", settings_of({8, 256}), machine(8))) {
    EXPECT_EQ(count(compiled, "send"), 7U);
    EXPECT_EQ(count(compiled, "recv"), 7U);
    EXPECT_EQ(bytes_of(compiled.program.commands()), 2U * 21 + 14 * 17);
    EXPECT_EQ(bytes_sent(compiled), 7U * 256 * 4);
  }
}

// ---- teams ------------------------------------------------------------------------------------

using Body = std::function<void(tl::Context&, const tl::Tensor& x)>;

/// A program holds an entry of x, as (1,); body works on it in TCM; it is stored in out.
Kernel one_entry_each(Index programs, Body body) {
  Kernel kernel;
  kernel.name = "one_entry_each";
  kernel.make = [=](const Parameters&, const tl::Target&) {
    Instance instance;
    instance.tensors = {{"x", {programs, 1}, {programs, 1}, DType::f32, Direction::in},
                        {"out", {programs, 1}, {programs, 1}, DType::f32, Direction::out}};
    for (TensorSpec& tensor : instance.tensors) {
      tensor.shard = [](Index program) { return Shard{{{program, 1}}}; };
    }
    instance.grid = {programs, 1, 1};
    instance.body = [body](tl::Context& tl, const std::vector<tl::Tensor>& bound) {
      const auto x = tl.load(bound[0]);
      body(tl, x);
      tl.store(bound[1], x);
    };
    return instance;
  };
  return kernel;
}

std::vector<double> results_of(const std::vector<double>& x, const Body& body) {
  const auto programs = compile_all(one_entry_each(static_cast<Index>(x.size()), body), {},
                                    machine(static_cast<Index>(x.size())));
  return run_in_program_order(programs, {{"x", x}}).at("out");
}

/// Programs of the same parity, the last one first.
Team same_parity(const tl::Context& tl) {
  Team team;
  for (Index program = tl.programs() - 1; program >= 0; --program) {
    if (program % 2 != tl.program() % 2) continue;
    if (program == tl.program()) team.place = team.size();
    team.programs.push_back(program);
  }
  return team;
}

TEST(Teams, WorkBesideEachOther) {
  const std::vector<double> x{1, 2, 4, 8, 16, 32, 64};
  EXPECT_THAT(results_of(x, [](tl::Context& tl,
                               const tl::Tensor& t) { all_reduce_ring(tl, same_parity(tl), t); }),
              ElementsAre(85, 42, 85, 42, 85, 42, 85));
  EXPECT_THAT(results_of(x, [](tl::Context& tl,
                               const tl::Tensor& t) { all_reduce_tree(tl, same_parity(tl), t); }),
              ElementsAre(85, 42, 85, 42, 85, 42, 85));
  // Place 0 is the last program of a parity.
  EXPECT_THAT(results_of(x, [](tl::Context& tl,
                               const tl::Tensor& t) { broadcast(tl, same_parity(tl), t); }),
              ElementsAre(64, 32, 64, 32, 64, 32, 64));
}

// Several collectives of one team share its channel: messages keep their order.
TEST(Teams, OneCollectiveAfterTheOther) {
  const std::vector<double> x{1, 2, 3, 4, 5};
  EXPECT_THAT(results_of(x,
                         [](tl::Context& tl, const tl::Tensor& t) {
                           const Team team = everyone(tl);
                           all_reduce_ring(tl, team, t);  // 15
                           all_reduce_tree(tl, team, t);  // 75
                           broadcast(tl, team, t);
                           all_reduce_ring(tl, team, t);  // 375
                         }),
              ElementsAre(375, 375, 375, 375, 375));
}

// Place i fills its chunk with i + 1; chunks are uneven, and some empty. Place 0 gets all of them
// and hands them out times ten; or it tells everyone all, and each takes that of the opposite
// place.
TEST(Teams, ChunksGoUpAndDownTheTree) {
  for (const Index n : {1, 2, 3, 5, 8, 13}) {
    for (const Index entries : {3, 8, 30}) {
      const auto begin = [&](Index place) { return place * entries / n; };
      const auto is_empty = [&](Index place) { return begin(place) == begin(place + 1); };
      const auto run = [&](bool scatters) {
        return results_of(std::vector<double>(static_cast<std::size_t>(n), 0),
                          [&](tl::Context& tl, const tl::Tensor& x) {
                            const Team team = everyone(tl);
                            const auto all = tl.zeros({1, entries}, tl::f32);
                            post_gather(tl, team, all);
                            for (Index i = begin(team.place); i < begin(team.place + 1); ++i) {
                              tl.fill(all.cols(i, 1), static_cast<double>(team.place) + 1);
                            }
                            gather(tl, team, all);
                            if (team.place == 0) tl.scale(all, 10, all);
                            if (scatters) {
                              scatter(tl, team, all);
                            } else {
                              broadcast(tl, team, all);
                            }
                            const Index from = scatters ? team.place : n - 1 - team.place;
                            if (!is_empty(from)) tl.copy(all.cols(begin(from), 1), x);
                          });
      };
      std::vector<double> own, opposite;
      for (Index i = 0; i < n; ++i) {
        own.push_back(is_empty(i) ? 0 : 10 * static_cast<double>(i + 1));
        opposite.push_back(is_empty(n - 1 - i) ? 0 : 10 * static_cast<double>(n - i));
      }
      EXPECT_EQ(run(true), own) << n << " " << entries;
      EXPECT_EQ(run(false), opposite) << n << " " << entries;
    }
  }
}

// The largest subtree has the longest way to go: place 0 of 8 sends to 4, 2, 1.
TEST(Teams, TreesHandOutToTheLargestSubtreeFirst) {
  const auto peers = [](void (*collective)(tl::Context&, const Team&, const tl::Tensor&)) {
    const auto programs =
        compile_all(one_entry_each(8,
                                   [collective](tl::Context& tl, const tl::Tensor&) {
                                     collective(tl, everyone(tl), tl.zeros({1, 8}, tl::f32));
                                   }),
                    {}, machine(8));
    std::vector<std::uint32_t> found;
    for (const Command& command : programs[0].program.commands()) {
      if (const auto* send = std::get_if<command::IpcqSendCmd>(&command)) {
        found.push_back(send->to.peer);
      }
    }
    return found;
  };
  EXPECT_THAT(peers(broadcast), ElementsAre(4, 2, 1));
  EXPECT_THAT(peers(scatter), ElementsAre(4, 2, 1));
}

TEST(Teams, TreesConnectEveryPlaceOnce) {
  for (Index size = 1; size <= 33; ++size) {
    for (const auto links_of : {binomial_tree, chain}) {
      std::vector<Index> parents(static_cast<std::size_t>(size), -1);
      Team team;
      team.programs.resize(static_cast<std::size_t>(size));
      for (team.place = 0; team.place < size; ++team.place) {
        for (const Index child : links_of(team).children) {
          ASSERT_LT(child, size);
          EXPECT_EQ(parents[static_cast<std::size_t>(child)], -1);
          parents[static_cast<std::size_t>(child)] = team.place;
        }
      }
      for (team.place = 0; team.place < size; ++team.place) {
        const Index parent = parents[static_cast<std::size_t>(team.place)];
        EXPECT_EQ(links_of(team).parent.value_or(-1), parent);
        EXPECT_LT(parent, team.place);  // a child's parent comes before it: no cycle
      }
    }
  }
}

TEST(Teams, RefuseSeveralRows) {
  const auto refused = [](auto collective) {
    try {
      compile_all(one_entry_each(2,
                                 [&](tl::Context& tl, const tl::Tensor&) {
                                   const auto x = tl.zeros({2, 3}, tl::f32).named("X");
                                   collective(tl, everyone(tl), x);
                                 }),
                  {}, machine(2));
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  const std::string rest = ": X (2, 3) f32 tcm has 2 rows; give a tensor (n,) or (1, n)";
  EXPECT_EQ(refused([](auto& tl, auto team, auto x) { all_reduce_ring(tl, team, x); }),
            "all_reduce_ring" + rest);
  EXPECT_EQ(refused([](auto& tl, auto team, auto x) { all_reduce_tree(tl, team, x); }),
            "all_reduce_tree" + rest);
  EXPECT_EQ(refused([](auto& tl, auto team, auto x) { all_gather_ring(tl, team, x); }),
            "all_gather_ring" + rest);
  EXPECT_EQ(refused([](auto& tl, auto team, auto x) { broadcast(tl, team, x); }),
            "broadcast" + rest);
  EXPECT_EQ(refused([](auto& tl, auto team, auto x) { post_gather(tl, team, x); }),
            "gather" + rest);
  EXPECT_EQ(refused([](auto& tl, auto team, auto x) { scatter(tl, team, x); }), "scatter" + rest);
}

// ---- the executor -----------------------------------------------------------------------------

std::string failure_of(const Body& body) {
  try {
    results_of({1, 2}, body);
  } catch (const std::logic_error& error) {
    return error.what();
  }
  return "no failure";
}

TEST(ProgramOrder, FindsProgramsThatCannotEnd) {
  const auto other = [](const tl::Context& tl) { return 1 - tl.program(); };
  EXPECT_EQ(failure_of([&](tl::Context& tl, const tl::Tensor& x) {
              tl.recv(other(tl), x, 3);
              tl.send(other(tl), x, 3);
            }),
            "programs wait for ever; PE 0 for PE 1 channel 3; PE 1 for PE 0 channel 3");
  EXPECT_EQ(failure_of([&](tl::Context& tl, const tl::Tensor& x) {
              tl.send(other(tl), x, 2);
              tl.recv(other(tl), x, 1);
            }),
            "programs wait for ever; PE 0 for PE 1 channel 1; PE 1 for PE 0 channel 1");
  EXPECT_EQ(failure_of([&](tl::Context& tl, const tl::Tensor& x) {
              if (tl.program() == 0) tl.send(1, x);
            }),
            "1 messages from PE 0 to PE 1 are left over");
  EXPECT_EQ(failure_of([&](tl::Context& tl, const tl::Tensor& x) {
              const auto two = tl.zeros({2}, tl::f32);
              tl.send(other(tl), two);
              tl.recv(other(tl), x);
            }),
            "PE 1 receives 4 bytes from PE 0, which sent 8");
}

}  // namespace
}  // namespace kernbench::kernels
