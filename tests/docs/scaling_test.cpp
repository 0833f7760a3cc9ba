// SPDX-License-Identifier: Apache-2.0
// The tables of docs/scaling.md: those of a run, and every figure in them the closed form of that
// page.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/runtime/command_line.hpp"
#include "tests/support/temporary_folder.hpp"

namespace kernbench::test {
namespace {

using Cells = std::vector<std::string>;
using Ps = std::int64_t;

/// Of `| a | b |`.
Cells cells_of(const std::string& line) {
  Cells cells;
  for (std::size_t begin = 2, end = 0; (end = line.find(" |", begin)) != std::string::npos;
       begin = end + 3) {
    cells.push_back(line.substr(begin, end - begin));
  }
  return cells;
}

/// The rows of figures of Markdown tables.
std::vector<Cells> rows_of(const std::string& text) {
  std::vector<Cells> rows;
  for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end + 1) {
    end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    if (line.rfind("| ", 0) == 0 && std::isdigit(static_cast<unsigned char>(line[2])) != 0) {
      rows.push_back(cells_of(line));
    }
  }
  return rows;
}

std::vector<Cells> rows_of_page() {
  const std::string page = read_file(KERNBENCH_SOURCE_DIR "/docs/scaling.md");
  const std::size_t begin = page.find("<!-- scaling tables -->");
  const std::size_t end = page.find("<!-- end of scaling tables -->");
  EXPECT_TRUE(begin < end && end != std::string::npos);
  return rows_of(page.substr(begin, end - begin));
}

constexpr std::size_t kStrongCells = 12, kWeakCells = 7;

// Long lengths are left out: the closed form below has them too.
TEST(Scaling, TablesAreThoseOfARun) {
  const Cells lengths{"4096", "16384"};
  const Outcome outcome = run_program(KERNBENCH_SCALING, lengths);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  std::vector<Cells> expected = rows_of_page();
  expected.erase(std::remove_if(expected.begin(), expected.end(),
                                [&](const Cells& row) {
                                  return row.size() == kStrongCells && row[0] != lengths[0] &&
                                         row[0] != lengths[1];
                                }),
                 expected.end());
  EXPECT_EQ(rows_of(outcome.out), expected)
      << "docs/scaling.md is not current: KERNBENCH_WRITE_DOCS=1 ./kb scaling writes it";
}

// ---- the closed form --------------------------------------------------------------------------
// ps, and cycles of 1000 ps; contract 6, 13 and docs/timing.md.

constexpr Ps kNs = 1000;
constexpr Ps kTile = 64, kCubesPerSip = 4, kMeshCols = 4;

/// R3.8: 40 cycles and 1/16 a byte, rounded half up.
constexpr Ps dispatch(Ps bytes) { return 40 * kNs + (bytes * kNs + 8) / 16; }

/// A DMA of some rows of 128 f16, from setup to the last response: 16 + 2048 / 128 + 100.
constexpr Ps kSmallDma = (16 + 16 + 100) * kNs;

/// For how long its channel is busy with it: all but the latency.
constexpr Ps kSmallDmaBusy = (16 + 16) * kNs;

/// Until the loop starts: load, three fills, and the fill of O, (8, 128) on 64 lanes.
constexpr Ps kBeforeLoop = dispatch(21) + 3 * dispatch(17) + 16 * kNs;

/// docs/timing.md: opt2 over n tiles.
constexpr Ps loop(Ps tiles) { return 365375 + 478 * kNs * (tiles - 1) + 378 * kNs; }

/// One KV head over c cubes of p PEs.
struct Team {
  Ps c, p;
  bool chain;

  Ps size() const { return c * p; }

  /// O, 4096 bytes, from place to place. Within a cube: NIU, hops, NIU, 64 bytes a cycle. Between
  /// cubes: to the router of the UCIe link, the shorter way round at 256 GB/s, and on from that
  /// router, each network store and forward.
  Ps way(Ps from, Ps to) const {
    const auto column = [&](Ps place) { return place % p % kMeshCols; };
    const auto row = [&](Ps place) { return place % p / kMeshCols; };
    const auto mesh = [](Ps columns, Ps rows) {
      return (5 + 8 * (std::abs(columns) + std::abs(rows)) + 5 + 4096 / 64) * kNs;
    };
    const Ps cubes = std::abs(from / p - to / p);
    if (cubes == 0) return mesh(column(from) - column(to), row(from) - row(to));
    const Ps links = std::min(cubes, kCubesPerSip - cubes);
    return mesh(column(from), row(from)) + (20 * links + 4096 / 256) * kNs +
           mesh(column(to), row(to));
  }

  /// From the end of a member's state until it has come whole: dispatch and send of O; then m and
  /// l, which follow O on every link and are received right behind it, 10 cycles each.
  Ps arrival(Ps from, Ps to) const {
    return dispatch(17) + 10 * kNs + way(from, to) + 3 * 10 * kNs;
  }

  /// Nine MATH ops, six of 8 entries and three of 1024.
  static constexpr Ps kMerge = (6 * 1 + 3 * 16) * kNs;

  /// From the end of all loops, which is one instant, to the whole state in place 0. The longest
  /// path starts at a member without children, in the first step. Its parent dispatches three
  /// receives, which await the loop, as the parts lie on bytes of its scratch, and the merge; in
  /// later steps that is over when the parts come.
  Ps merge() const {
    Ps sum = 0;
    const auto step = [&](Ps from, Ps to) {
      const Ps dispatched = sum == 0 ? 3 * dispatch(17) + dispatch(290) : 0;
      sum += std::max(arrival(from, to), dispatched) + kMerge;
    };
    if (chain) {
      for (Ps place = size() - 1; place > 0; --place) step(place, place - 1);
    } else {
      for (Ps distance = 1; distance < size(); distance *= 2) step(distance, 0);
    }
    return sum;
  }
};

/// `heads` one after the other: launch; each its loads, loop, merge, division, and dispatch of the
/// store, behind which the next head starts; the last store.
Ps predicted(Ps heads, Ps tiles, const Team& team) {
  return 500 * kNs +
         heads *
             (kBeforeLoop + loop(tiles) + team.merge() + dispatch(33) + 16 * kNs + dispatch(21)) +
         kSmallDma;
}

/// For how long the engines of all PEs are busy, summed.
struct Busy {
  Ps compute, dma, dispatch;
};

/// Of all heads, each by a team that has n tiles a member.
Busy busy(Ps heads, Ps n, const Team& team) {
  const Ps members = team.size(), children = members - 1;  // every member but place 0 is one
  Busy sum{};
  // Fills of m, l (8 entries) and O; the scores, 8x128x64 in blocks of 8x16x16, and their scale;
  // the eight ops of softmax_merge; P.V, 8x64x128, and the add; of place 0 the division.
  sum.compute = (members * (1 + 1 + 16 + n * (8 * 4 + 8 + 44 + 4 * 8 + 16)) + 16) * kNs +
                children * Team::kMerge;
  // q; K and V of a tile, 16 of setup and 16 KiB at 128 GB/s each; of place 0 the store.
  sum.dma = members * (kSmallDmaBusy + n * 2 * (16 + 128) * kNs) + kSmallDmaBusy;
  // Load and fills; #1 and #2 of a tile; of a child three sends, and of its parent three receives
  // and a merge; of place 0 division and store.
  sum.dispatch = members * (dispatch(21) + 3 * dispatch(17) + n * (dispatch(54) + dispatch(322))) +
                 children * (3 * dispatch(17) + 3 * dispatch(17) + dispatch(290)) + dispatch(33) +
                 dispatch(21);
  return {heads * sum.compute, heads * sum.dma, heads * sum.dispatch};
}

/// One as in the table.
std::string percent(double part, double whole) { return fmt::format("{:.1f}", 100 * part / whole); }
std::string percent(Ps part, Ps whole) {
  return percent(static_cast<double>(part), static_cast<double>(whole));
}

struct Row {
  Ps kv_heads, s_kv, pes, c, p;
  bool chain;
  Cells figures;  ///< from the time on

  Team team() const { return {c, p, chain}; }
  Ps tiles() const { return s_kv / kTile / team().size(); }
  Ps predicted_ps() const { return predicted(kv_heads / (pes / team().size()), tiles(), team()); }
  /// Whole ns, written as microseconds with three decimals.
  std::string us() const {
    const std::string ns = std::to_string((predicted_ps() + kNs / 2) / kNs);
    return ns.substr(0, ns.size() - 3) + "." + ns.substr(ns.size() - 3);
  }

  /// At a fixed length; the first PE has all tiles of all heads.
  Cells strong() const {
    const auto speed_up = static_cast<double>(predicted(kv_heads, s_kv / kTile, {1, 1, false})) /
                          static_cast<double>(predicted_ps());
    const Busy sum = busy(kv_heads, tiles(), team());
    const Ps all = predicted_ps() * pes;
    return {us(),
            fmt::format("{:.2f}", speed_up),
            percent(speed_up, static_cast<double>(pes)),
            percent(sum.compute, all),
            percent(sum.dma, all),
            percent(sum.dispatch, all),
            percent(team().merge(), predicted_ps())};
  }
  /// At a fixed number of tokens a PE.
  Cells weak() const {
    return {us(), percent(predicted(kv_heads, s_kv / pes / kTile, {1, 1, false}), predicted_ps())};
  }
};

/// The first table is that of 8 heads, the second of one; the third names them.
std::vector<Row> read_rows() {
  std::vector<Row> rows;
  Ps kv_heads = 8, longest = 0;
  for (const Cells& row : rows_of_page()) {
    const auto number = [&](std::size_t cell) { return Ps{std::stoll(row.at(cell))}; };
    if (row.size() == kStrongCells) {
      if (number(0) < longest) kv_heads = 1;
      longest = number(0);
      rows.push_back({kv_heads, number(0), number(1), number(2), number(3), row[4] == "chain",
                      Cells(row.begin() + 5, row.end())});
    } else {
      EXPECT_EQ(row.size(), kWeakCells);
      rows.push_back({number(0), number(1), number(2), number(3), number(4), false,
                      Cells(row.begin() + 5, row.end())});
    }
  }
  return rows;
}

TEST(Scaling, TimesAreTheClosedForm) {
  const std::vector<Row> rows = read_rows();
  EXPECT_EQ(rows.size(), 5U * (8 + 7) + 8 + 6);
  for (const Row& row : rows) {
    EXPECT_EQ(row.figures, row.figures.size() == 2 ? row.weak() : row.strong())
        << row.kv_heads << " heads, S_kv " << row.s_kv << ", " << row.pes << " PEs";
  }
}

}  // namespace
}  // namespace kernbench::test
