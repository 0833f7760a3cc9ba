// SPDX-License-Identifier: Apache-2.0
// The numbers of contract 13 as a table: expected, measured, deviation. `./kb numbers` prints it.
// Times are in ns, to the ps; a figure that the contract gives with two or three digits behind the
// point is compared to half of the last one.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

#include "model/arch/topology_file.hpp"
#include "tests/support/data_run.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/legal_run.hpp"
#include "tests/support/scale_sim.hpp"
#include "tests/support/test_inputs.hpp"
#include "tl/tl.hpp"
#include "tlm_if/command/program.hpp"

namespace kernbench::test {
namespace {

/// What rows of the table need of a run, by name; crosses from the child as text. In ns, or cycles
/// of 1 ns, unless said.
///   loop_start, loop      of the region
///   dispatch_per_tile     inside the loop, not rounded
///   dispatch N            of the first command of N bytes
///   eight simple          dispatch of the first eight simple commands in the loop
///   first_prologue        MATH of the first composite that starts with rmax
///   last_gemm             its end, from the end of the loop's first dispatch
///   end, bound            of the whole run, and what contract 13 says it cannot be below
using Figures = std::map<std::string, double>;

double nanoseconds(std::uint64_t ps) { return static_cast<double>(ps) / 1000; }

/// "Every run": HBM bytes / bandwidth, GEMM busy, MATH busy, dispatch.
double lower_bound(const BenchResult& result, const arch::TopologyConfig& topology) {
  const auto& pe = result.statistics.pes().at(0);
  const auto busy = [&](arch::Engine engine) {
    return nanoseconds(pe.engines[static_cast<std::size_t>(engine)].busy_ps);
  };
  return std::max({static_cast<double>(pe.hbm_read_bytes + pe.hbm_write_bytes) /
                       (topology.hbm.gbps.to_double() * topology.hbm.efficiency.to_double()),
                   busy(arch::Engine::gemm), busy(arch::Engine::math), busy(arch::Engine::cpu)});
}

Figures read(const BenchResult& result, const arch::TopologyConfig& topology, std::uint64_t tiles) {
  Figures run;
  const Region& loop = result.region("loop");
  run["loop_start"] = nanoseconds(loop.start_ps);
  run["loop"] = nanoseconds(loop.end_ps - loop.start_ps);
  run["dispatch_per_tile"] =
      arch::dispatch_cycles(topology.pe.pe_cost_model, loop.segments, loop.logical_bytes)
          .to_double() /
      static_cast<double>(tiles);
  run["end"] = nanoseconds(result.end_ps);
  run["bound"] = lower_bound(result, topology);
  std::uint64_t dispatched = 0;
  std::int64_t fused = -1;
  int simple = 0;
  for (const OpLogRow& row : result.rows) {
    const double time = nanoseconds(row.end - row.start);
    if (row.stage == "dispatch") {
      run.emplace(fmt::format("dispatch {}", row.bytes), time);
      if (row.start == loop.start_ps) dispatched = row.end;
      if (row.start >= loop.start_ps && row.op != "composite" && simple++ < 8) {
        run["eight simple"] += time;
      }
    }
    if (row.stage == "gemm") run["last_gemm"] = nanoseconds(row.end - dispatched);
    const bool prologue = row.stage == "math" && row.tile_m < 0 && row.op_index >= 0;
    if (prologue && row.op == "rmax" && fused < 0) fused = row.cmd;
    if (prologue && row.cmd == fused) run["first_prologue"] += time;
  }
  return run;
}

Figures run(const arch::TopologyConfig& topology, const std::string& kernel,
            const Settings& settings) {
  std::istringstream lines(in_child([&] {
    const auto launched = launch(topology, kernel, settings);
    std::string text;
    for (const auto& [name, value] :
         read(run_catalogue(topology, kernel, settings), topology, launched.instance().tiles)) {
      text += fmt::format("{}={}\n", name, value);
    }
    return text;
  }));
  Figures figures;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t equals = line.find('=');
    figures[line.substr(0, equals)] = std::stod(line.substr(equals + 1));
  }
  return figures;
}

Settings decode_settings(const std::string& variant, int tiles, int tile = 64) {
  return {
      {"variant", variant}, {"tile", std::to_string(tile)}, {"s_kv", std::to_string(tile * tiles)}};
}
Figures decode(const std::string& variant, int tiles, const arch::TopologyConfig& topology,
               int tile = 64) {
  return run(topology, "gqa_decode", decode_settings(variant, tiles, tile));
}

arch::TopologyConfig single_pe_ns() {
  return arch::read_topology_file(KERNBENCH_SOURCE_DIR "/topologies/single_pe_ns.yaml");
}

class Table {
 public:
  Table() { fmt::print("{:<58} {:>14} {:>14} {:>10}\n", "", "expected", "measured", "deviation"); }

  void section(const char* name) { fmt::print("\n{}\n", name); }
  /// Equal to the last digit that doubles carry.
  void exact(const std::string& what, double expected, double measured) {
    row(what, expected, measured, 1e-9 * std::max(1.0, std::abs(expected)));
  }
  /// Equal after rounding to that many digits behind the point.
  void rounded(const std::string& what, double expected, double measured, int digits) {
    row(what, expected, measured, 0.5 * std::pow(10.0, -digits));
  }
  /// Equal but for the rounding of so many durations to whole ps.
  void sum_of(int durations, const std::string& what, double expected, double measured) {
    row(what, expected, measured, durations * 0.0005 + 1e-9);
  }
  void at_least(const std::string& what, double bound, double measured) {
    print(what, ">= ", bound, measured);
    EXPECT_GE(measured, bound) << what;
  }
  void at_most(const std::string& what, double bound, double measured) {
    print(what, "<= ", bound, measured);
    EXPECT_LE(measured, bound) << what;
  }

 private:
  void row(const std::string& what, double expected, double measured, double allowed) {
    print(what, "", expected, measured);
    EXPECT_NEAR(measured, expected, allowed) << what;
  }
  static void print(const std::string& what, const char* sign, double expected, double measured) {
    fmt::print("  {:<56} {:>14} {:>14.9g} {:>10.3g}\n", what,
               fmt::format("{}{:.9g}", sign, expected), measured, measured - expected);
  }
};

// ---- bytes --------------------------------------------------------------------------------------

template <class Issue>
std::vector<command::Command> commands_of(Issue issue) {
  command::ProgramRecorder recorder;
  tl::Context tl(tl::Target{}, recorder);
  issue(tl);
  return recorder.program().commands();
}

template <class Issue>
double bytes_of_last(Issue issue) {
  return static_cast<double>(command::logical_bytes(commands_of(issue).back()));
}

void bytes(Table& table) {
  using namespace tl;
  table.section("logical bytes (byte rule)");
  const auto decode_step = [](Context& tl, bool with_gemm) {
    const auto s = tl.empty({8, 64}, f16), m = tl.empty({8}, f32), l = tl.empty({8}, f32);
    const auto O = tl.empty({8, 128}, f32), V = tl.ref(0, {64, 128}, f16);
    const auto merge = softmax_merge(s, m, l, O);
    if (with_gemm) {
      tl.composite(gemm().b(V).out(O).prologue(merge).epilogue(add(O)));
    } else {
      tl.composite(recipe(merge));
    }
  };
  table.exact("bare gemm composite", 46, bytes_of_last([](Context& tl) {
                tl.composite(gemm(tl.empty({8, 128}, f16), tl.ref(0, {128, 64}, f16)));
              }));
  table.exact(
      "Q.K^T with scale", 54, bytes_of_last([](Context& tl) {
        tl.composite(
            gemm(tl.empty({8, 128}, f16), tl.ref(0, {64, 128}, f16).t()).epilogue(scale(0.125)));
      }));
  table.exact(
      "P.V with add, rw = (O)", 82, bytes_of_last([](Context& tl) {
        const auto O = tl.empty({8, 128}, f32);
        tl.composite(
            gemm(tl.empty({8, 64}, f16), tl.ref(0, {64, 128}, f16)).out(O).epilogue(add(O)));
      }));
  table.exact("softmax_merge + gemm + add, rw = (m, l, O)", 322,
              bytes_of_last([&](Context& tl) { decode_step(tl, true); }));
  table.exact("softmax_merge alone", 254,
              bytes_of_last([&](Context& tl) { decode_step(tl, false); }));
  double simple = 0;
  for (const auto& command : commands_of([](Context& tl) {
         const auto s = tl.empty({8, 64}, f16), m = tl.empty({8}, f32), l = tl.empty({8}, f32);
         const auto O = tl.empty({8, 128}, f32);
         const auto m_new = tl.max_elem(m, tl.rmax(s, f32)), corr = tl.exp_diff(m, m_new);
         tl.fma(l, corr, tl.rsum(tl.exp_diff(s, m_new), f32), l);
         tl.mul_bcast(O, corr, O);
         tl.copy(m_new, m);
       })) {
    simple += static_cast<double>(command::logical_bytes(command));
  }
  table.exact("the eight ops as simple commands", 232, simple);
  table.exact(
      "rmsnorm_linear", 202, bytes_of_last([](Context& tl) {
        tl.composite(gemm()
                         .b(tl.ref(0, {64, 32}, f16))
                         .prologue(rmsnorm_linear(tl.empty({8, 64}, f16), tl.empty({64}, f16))));
      }));
  table.exact("linear_gelu_norm", 374, bytes_of_last([](Context& tl) {
                const auto n = tl.empty({32}, f16);
                tl.composite(gemm(tl.empty({8, 64}, f16), tl.ref(0, {64, 32}, f16))
                                 .epilogue(linear_gelu_norm(n, n, n)));
              }));
  table.exact("state_merge", 290, bytes_of_last([](Context& tl) {
                const auto row = [&] { return tl.empty({8}, f32); };
                const auto matrix = [&] { return tl.empty({8, 128}, f32); };
                tl.composite(recipe(state_merge(row(), row(), matrix(), row(), row(), matrix())));
              }));
}

// ---- times --------------------------------------------------------------------------------------

double ratio(const std::string& figure, const Figures& x, const Figures& y) {
  return x.at(figure) / y.at(figure);
}

void dispatch(Table& table, const Figures& opt1, const Figures& opt2, const Figures& opt3) {
  table.section("dispatch, cycles of 1 ns");
  table.exact("#1 (54 bytes)", 43.375, opt2.at("dispatch 54"));
  table.exact("P.V (82 bytes)", 45.125, opt3.at("dispatch 82"));
  table.exact("#2 (322 bytes)", 60.125, opt2.at("dispatch 322"));
  table.sum_of(8, "eight MATH commands", 334.5, opt3.at("eight simple"));
  table.exact("opt1 per tile", 144.375, opt1.at("dispatch_per_tile"));
  table.exact("opt2 per tile", 103.5, opt2.at("dispatch_per_tile"));
  table.exact("opt3 per tile", 423.0, opt3.at("dispatch_per_tile"));
  table.rounded("opt3 / opt2", 4.087, ratio("dispatch_per_tile", opt3, opt2), 3);
  table.rounded("opt1 / opt2", 1.395, ratio("dispatch_per_tile", opt1, opt2), 3);
  const Figures ns1 = decode("opt1", 16, single_pe_ns()), ns2 = decode("opt2", 16, single_pe_ns());
  const Figures ns3 = decode("opt3", 16, single_pe_ns());
  table.section("dispatch on single_pe_ns");
  table.exact("one-gemm composite of 54 bytes", 45.5, ns2.at("dispatch 54"));
  table.exact("bare one-gemm composite", 43.5, run(single_pe_ns(), "gemm", {}).at("dispatch 46"));
  table.exact("opt1 per tile", 193.5, ns1.at("dispatch_per_tile"));
  table.exact("opt2 per tile", 158.0, ns2.at("dispatch_per_tile"));
  table.exact("opt3 per tile", 412.0, ns3.at("dispatch_per_tile"));
  table.rounded("opt3 / opt2", 2.608, ratio("dispatch_per_tile", ns3, ns2), 3);
  table.rounded("opt1 / opt2", 1.225, ratio("dispatch_per_tile", ns1, ns2), 3);
  table.section("decode on single_pe_ns, 16 tiles, ns");
  table.exact("opt2: 478 (n-1) + 745.5", 478 * 15 + 745.5, ns2.at("loop"));
  table.exact("opt3: 464 n + 604", 464 * 16 + 604, ns3.at("loop"));
}

void gemms(Table& table) {
  const auto loop = [](const Settings& settings) {
    return run(single_pe(), "gemm", settings).at("loop");
  };
  table.section("gemm composite 8x128x64, cold, ns");
  const double bare = loop({});
  table.exact("a pinned, b in HBM, out in TCM", 356.875, bare);
  table.exact("+ scale", 365.375, loop({{"epilogue", "scale"}}));
  table.exact("+ out in HBM", 124, loop({{"out", "hbm"}}) - bare);
  table.exact("+ b pinned", -244, loop({{"b", "tcm"}}) - bare);
  table.section("16 n-tiles of 8x128x64: end of the last GEMM after the dispatch, ns");
  const auto e16 = [](std::uint32_t buffers, std::uint64_t fill_cycles) {
    arch::TopologyConfig topology = single_pe();
    topology.pe.gemm.tile_n = 64;
    topology.pe.scheduler.tile_buffers = buffers;
    topology.pe.gemm.fill_cycles = fill_cycles;
    return run(topology, "gemm", {{"n", "1024"}}).at("last_gemm");
  };
  table.exact("B = 2, g = 32", 2640, e16(2, 0));
  table.exact("B = 3, g = 32", 2472, e16(3, 0));
  table.exact("B = 2, g = 400", 6680, e16(2, 368));
  table.exact("B = 3, g = 400", 6680, e16(3, 368));
  // 16 * 144 + 14 * 8 (reads 2 to 15 stand behind a write) + 42.875 + 100 + 36 + 32 + 2 + 124.
  arch::TopologyConfig topology = single_pe();
  topology.pe.gemm.tile_n = 64;
  table.exact("out in HBM, whole loop: + 8 for each earlier write", 2752.875,
              run(topology, "gemm", {{"n", "1024"}, {"out", "hbm"}}).at("loop"));
}

void decodes(Table& table, const Figures& opt2) {
  table.section("decode, region loop, ns");
  table.exact("start of the loop", 180.502, opt2.at("loop_start"));
  table.exact("prologue of 8 MATH, cycles", 44, opt2.at("first_prologue"));
  for (const int n : {1, 2, 16, 64}) {
    table.exact(fmt::format("opt2, {} tiles: 365.375 + 478 (n-1) + 378", n),
                365.375 + 478 * (n - 1) + 378, decode("opt2", n, single_pe()).at("loop"));
  }
  for (const auto& [n, total] :
       {std::pair(1, 1079.004), {2, 1541.505}, {3, 2004.006}, {16, 8016.519}, {64, 30216.567}}) {
    table.exact(fmt::format("opt3, {} tiles: 462.501 n + 616.503", n), total,
                decode("opt3", n, single_pe()).at("loop"));
  }
  for (const int n : {1, 16}) {
    table.exact(fmt::format("opt1, {} tiles: 743.375 + 510 (n-1)", n), 743.375 + 510 * (n - 1),
                decode("opt1", n, single_pe()).at("loop"));
  }
  table.section("decode, steady state: what one more tile takes, ns");
  for (const auto& [variant, period] :
       {std::pair("opt1", 510.0), {"opt2", 478.0}, {"opt3", 462.501}}) {
    for (const int n : {3, 20}) {
      table.exact(fmt::format("{}, {} to {} tiles", variant, n, n + 1), period,
                  decode(variant, n + 1, single_pe()).at("loop") -
                      decode(variant, n, single_pe()).at("loop"));
    }
  }
  table.section("opt3 - opt2 of the loop, ns: opt2 is ahead up to 22 tiles, behind from 23");
  for (const int n : {22, 23}) {
    const double expected = (462.501 * n + 616.503) - (365.375 + 478 * (n - 1) + 378);
    EXPECT_EQ(expected > 0, n == 22);
    table.exact(
        fmt::format("{} tiles", n), expected,
        decode("opt3", n, single_pe()).at("loop") - decode("opt2", n, single_pe()).at("loop"));
  }
  table.section("opt3 / opt2 of the loop, 32 tiles at 256 GB/s");
  arch::TopologyConfig fast = single_pe();
  fast.hbm.gbps = arch::Rational(256);
  for (const auto& [tile, expected] : {std::pair(16, 2.05), {64, 1.25}, {128, 1.10}, {256, 0.90}}) {
    table.rounded(fmt::format("tile {}", tile), expected,
                  ratio("loop", decode("opt3", 32, fast, tile), decode("opt2", 32, fast, tile)), 2);
  }
  table.section("peak of scratch, bytes");
  const auto peak = [](const char* variant) {
    return static_cast<double>(
        launch(single_pe(), "gqa_decode", {{"variant", variant}}).scratch_peak_bytes());
  };
  table.exact("opt2", 10368, peak("opt2"));
  table.exact("opt3", 12672, peak("opt3"));
}

void bounds(Table& table, const Figures& opt2, const Figures& opt3) {
  table.section("every run: simulated time against the largest of its lower bounds, ns");
  table.at_least("opt2, 16 tiles", opt2.at("bound"), opt2.at("end"));
  table.at_least("opt3, 16 tiles", opt3.at("bound"), opt3.at("end"));
  for (const char* kernel : {"gemm", "mlp", "softmax", "layernorm"}) {
    const Figures figures = run(single_pe(), kernel, {});
    table.at_least(kernel, figures.at("bound"), figures.at("end"));
  }
  const Figures large =
      run(single_pe(), "gemm", {{"m", "64"}, {"k", "1024"}, {"n", "1024"}, {"a", "hbm"}});
  table.at_least("gemm 64x1024x1024", large.at("bound"), large.at("end"));
}

/// Words that differ; one more if one text is longer.
double differences(const std::string& x, const std::string& y) {
  std::istringstream x_words(x), y_words(y);
  double count = 0;
  std::string x_word, y_word;
  while (x_words >> x_word && y_words >> y_word) count += x_word != y_word;
  return count + (x.size() != y.size());
}

void numerics(Table& table) {
  table.section("decode in data mode, 64 tiles (R13.4)");
  std::vector<std::string> states;
  for (const char* variant : {"opt1", "opt2", "opt3"}) {
    const Settings settings = decode_settings(variant, 64);
    const kernels::Instance instance = launch(single_pe(), "gqa_decode", settings).instance();
    const kernels::HostTensors inputs = test_inputs(instance);
    // Every bit of m, l and O, and the errors of out.
    const std::string text = in_child([&] {
      DataRun data = run_with_data(single_pe(), "gqa_decode", settings, inputs);
      const Error error =
          error_against(instance.reference(inputs).outputs.at("out"), data.results.at("out"));
      data.results.erase("out");
      EXPECT_EQ(data.results.size(), 3U);
      return fmt::format("{} {}\n{}", error.rms, error.max, text_of(data.results));
    });
    double rms = 0, max = 0;
    std::istringstream(text) >> rms >> max;
    table.at_most(fmt::format("{}: rms error / rms of the reference", variant), 2e-3, rms);
    table.at_most(fmt::format("{}: largest error / rms of the reference", variant), 1e-2, max);
    states.push_back(text.substr(text.find('\n') + 1));
  }
  for (std::size_t i = 1; i < states.size(); ++i) {
    table.exact(fmt::format("entries of m, l, O in which opt1 and opt{} differ", i + 1), 0,
                differences(states[0], states[i]));
  }
}

void systolic(Table& table) {
  table.section("systolic arrays against SCALE-Sim v3, cycles");
  for (const ScaleSimRow& row : kScaleSim) {
    for (const auto model : {arch::GemmModel::systolic_ws, arch::GemmModel::systolic_os}) {
      arch::GemmConfig config;
      config.model = model;
      config.rows = config.cols = row.array;
      const bool ws = model == arch::GemmModel::systolic_ws;
      table.exact(fmt::format("{} {}x{}, ({}, {}, {})", ws ? "WS" : "OS", row.array, row.array,
                              row.m, row.k, row.n),
                  static_cast<double>(ws ? row.weight_stationary : row.output_stationary),
                  static_cast<double>(arch::gemm_cycles(config, row.m, row.k, row.n)));
    }
  }
}

TEST(ContractNumbers, Table) {
  Table table;
  bytes(table);
  const Figures opt1 = decode("opt1", 16, single_pe()), opt2 = decode("opt2", 16, single_pe());
  const Figures opt3 = decode("opt3", 16, single_pe());
  dispatch(table, opt1, opt2, opt3);
  gemms(table);
  decodes(table, opt2);
  bounds(table, opt2, opt3);
  numerics(table);
  systolic(table);
}

}  // namespace
}  // namespace kernbench::test
