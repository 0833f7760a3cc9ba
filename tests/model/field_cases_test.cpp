// SPDX-License-Identifier: Apache-2.0
// What users of such models trip over (docs/field_cases.md), on whole runs: remainder tiles (26),
// units (30), large problems (33), lifetime of bytes (47), fused epilogues (48). Keys without
// effect (31) are in key_effects_test.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <sstream>

#include "kernels/kernel.hpp"
#include "model/arch/topology_file.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/kernel_bench.hpp"
#include "tests/support/legal_run.hpp"
#include "tl/tl.hpp"

namespace kernbench::test {
namespace {

using kernels::Direction;
using kernels::HostTensors;
using kernels::TensorSpec;
using tl::Index;
using tl::Tensor;

using Body = std::function<void(tl::Context&, const std::vector<Tensor>& bound)>;

kernels::Kernel kernel_of(const std::vector<TensorSpec>& tensors, const Body& body) {
  kernels::Kernel kernel;
  kernel.name = "field_case";
  kernel.make = [tensors, body](const kernels::Parameters&, const tl::Target&) {
    kernels::Instance instance;
    instance.tensors = tensors;
    instance.body = body;
    return instance;
  };
  return kernel;
}

TensorSpec input(const std::string& name, const tl::Shape& shape, tl::DType dtype = tl::f16) {
  return {name, {shape.rows(), shape.cols()}, shape, dtype, Direction::in};
}
TensorSpec output(const std::string& name, const tl::Shape& shape, tl::DType dtype = tl::f16) {
  return {name, {shape.rows(), shape.cols()}, shape, dtype, Direction::out};
}

/// Op log and results of a run in which every byte that nobody wrote is NaN.
std::string run_with_numbers(const arch::TopologyConfig& topology,
                             const std::vector<TensorSpec>& tensors, const Body& body,
                             const HostTensors& inputs) {
  const runtime::Launch launch(kernel_of(tensors, body), {}, topology);
  return in_child([&] { return run_as_text(topology, launch, inputs, poisoned()); });
}

/// The kernel on one PE without numbers; its tensors are placed from HBM address 0.
BenchResult run_timing(const arch::TopologyConfig& topology, const std::vector<TensorSpec>& tensors,
                       const Body& body) {
  const runtime::Launch launch(kernel_of(tensors, body), {}, topology);
  BenchOptions options;
  options.inputs = launch.inputs();
  return run_kernel(
      topology, [&](command::CommandSink& sink) { launch.issue(sink); }, options);
}

std::uint64_t busy_ps(const BenchResult& result, arch::Engine engine) {
  return result.statistics.pes().at(0).engines[static_cast<std::size_t>(engine)].busy_ps;
}
std::uint64_t elements(const BenchResult& result, arch::Engine engine) {
  return result.statistics.pes().at(0).engines[static_cast<std::size_t>(engine)].elements;
}

// ---- 26: remainder tiles ------------------------------------------------------------------------

constexpr Index kTile = 16;

arch::TopologyConfig square_tiles() {
  arch::TopologyConfig topology = single_pe();
  topology.pe.gemm.tile_m = topology.pe.gemm.tile_k = topology.pe.gemm.tile_n = kTile;
  topology.pe.gemm.block_m = 4;
  topology.pe.gemm.block_k = topology.pe.gemm.block_n = 8;
  return topology;
}
constexpr std::uint64_t kMacsPerCycle = 4 * 8 * 8;

struct Gemm {
  Index m, n, k;
  Index m_tiles() const { return (m + kTile - 1) / kTile; }
  Index n_tiles() const { return (n + kTile - 1) / kTile; }
};
/// Where the product lies in a larger tensor.
struct Frame {
  Index above, below, left, right;
};

/// Small integers, so that all sums are exact in f16.
std::vector<double> integers(Index count, Index step) {
  std::vector<double> values;
  for (Index i = 0; i < count; ++i) values.push_back(static_cast<double>(i * step % 5 - 2));
  return values;
}

void check_remainder(const Gemm& p, const Frame& frame, bool out_in_hbm) {
  SCOPED_TRACE(testing::Message() << p.m << "x" << p.n << "x" << p.k << " frame " << frame.above
                                  << " " << frame.left << (out_in_hbm ? " hbm" : " tcm"));
  const Index rows = frame.above + p.m + frame.below, cols = frame.left + p.n + frame.right;
  const std::vector<TensorSpec> tensors{input("a", {p.m, p.k}), input("b", {p.k, p.n}),
                                        input("pattern", {rows, cols}),
                                        output("all", {rows, cols})};
  const Body body = [&](tl::Context& tl, const std::vector<Tensor>& bound) {
    const Tensor all = tl.load(bound[2]);
    const auto inside = [&](const Tensor& tensor) {
      return tensor.rows(frame.above, p.m).cols(frame.left, p.n);
    };
    if (out_in_hbm) tl.store(bound[3], all);
    tl.composite(tl::gemm(bound[0], bound[1]).out(inside(out_in_hbm ? bound[3] : all)));
    if (!out_in_hbm) tl.store(bound[3], all);
  };

  HostTensors inputs{{"a", integers(p.m * p.k, 3)}, {"b", integers(p.k * p.n, 7)}};
  for (Index i = 0; i < rows * cols; ++i) {
    inputs["pattern"].push_back(static_cast<double>(1000 + i % 1000));
  }
  std::vector<double> expected = inputs["pattern"];
  for (Index row = 0; row < p.m; ++row) {
    for (Index col = 0; col < p.n; ++col) {
      double sum = 0;
      for (Index i = 0; i < p.k; ++i) {
        sum += inputs["a"][static_cast<std::size_t>(row * p.k + i)] *
               inputs["b"][static_cast<std::size_t>(i * p.n + col)];
      }
      expected[static_cast<std::size_t>((frame.above + row) * cols + frame.left + col)] = sum;
    }
  }
  const std::string run = run_with_numbers(square_tiles(), tensors, body, inputs);
  EXPECT_EQ(results_in(run), text_of({{"all", expected}}));

  // True sizes: a is read again for every column of tiles, b for every row of tiles (R6.5).
  const std::int64_t gemm_command = out_in_hbm ? 2 : 1;
  std::uint64_t read = 0, written = 0, macs = 0, gemm_ps = 0;
  for (const OpLogRow& row : parse_op_log(op_log_in(run))) {
    if (row.cmd != gemm_command) continue;
    if (row.stage == "dma_read") read += row.bytes;
    if (row.stage == "dma_write") written += row.bytes;
    if (row.stage != "gemm") continue;
    macs += row.elements;
    gemm_ps += row.end - row.start;
    // No tile is faster than the array can be.
    EXPECT_GE((row.end - row.start) / 1000 * kMacsPerCycle, row.elements);
  }
  const auto in_bytes = [](Index entries) { return static_cast<std::uint64_t>(entries) * 2; };
  EXPECT_EQ(read, in_bytes(p.m * p.k * p.n_tiles() + p.k * p.n * p.m_tiles()));
  EXPECT_EQ(written, out_in_hbm ? in_bytes(p.m * p.n) : 0U);
  EXPECT_EQ(macs, static_cast<std::uint64_t>(p.m * p.n * p.k));
  EXPECT_GE(gemm_ps / 1000 * kMacsPerCycle, macs);
}

void check_remainders(bool out_in_hbm) {
  for (const Gemm& p : {Gemm{17, 16, 16}, Gemm{16, 17, 16}, Gemm{16, 16, 17}, Gemm{5, 2, 1},
                        Gemm{33, 80, 1}, Gemm{15, 15, 15}}) {
    for (const Frame& frame : {Frame{2, 3, 0, 0}, Frame{0, 0, 3, 5}, Frame{1, 2, 5, 1}}) {
      check_remainder(p, frame, out_in_hbm);
    }
  }
}
TEST(RemainderTiles, AreRightInsideALargerTensorInHbm) { check_remainders(true); }
TEST(RemainderTiles, AreRightInsideALargerTensorInTcm) { check_remainders(false); }

// ---- 30: units ----------------------------------------------------------------------------------

/// Room for tensors of 1 GiB, which without numbers take no memory.
arch::TopologyConfig vast_pe(const std::vector<std::string>& sets) {
  std::vector<std::string> all{"pe.tcm.bytes=17179869184", "pe.tcm.scratch_bytes=4294967296",
                               "hbm.bytes=17179869184"};
  all.insert(all.end(), sets.begin(), sets.end());
  return arch::load_topology("name: vast_pe", "vast_pe.yaml", all);
}

// 1 GB/s is 1e9 bytes/s. Around the transfer: dispatch of 21 bytes, 40 + 21/16 cycles = 41312.5 ps,
// rounded up; setup of 16 cycles; latency of 100 ns. A burst of 2^n bytes takes 2^n * 10 ps.
void check_stream(std::uint64_t bytes, std::uint64_t transfer_ps) {
  const arch::TopologyConfig topology = vast_pe({"hbm.gbps=100"});
  const Index entries = static_cast<Index>(bytes / 2);
  const BenchResult result =
      run_timing(topology, {input("x", tl::Shape{entries})},
                 [](tl::Context& tl, const std::vector<Tensor>& bound) { tl.load(bound[0]); });
  EXPECT_EQ(result.end_ps, 41313 + 16000 + transfer_ps + 100000);
  EXPECT_EQ(busy_ps(result, arch::Engine::dma_rd), 16000 + transfer_ps);
  EXPECT_EQ(result.statistics.pes()[0].hbm_read_bytes, bytes);
}
TEST(Units, OneGibibyteAt100GbpsTakes10737us) { check_stream(1ULL << 30, 10'737'418'240); }
TEST(Units, OneGigabyteAt100GbpsTakes10000us) { check_stream(1'000'000'000, 10'000'000'000); }

/// Operations and bytes of a run, and what they took.
struct Work {
  double flop, bytes, seconds;
  double intensity() const { return flop / bytes; }
};
Work work_of(const BenchResult& result, double flop) {
  const auto& pe = result.statistics.pes()[0];
  return {flop, static_cast<double>(pe.hbm_read_bytes + pe.hbm_write_bytes),
          static_cast<double>(result.end_ps) * 1e-12};
}

/// `run` in a process of its own.
template <class Run>
Work in_another_process(Run run) {
  std::istringstream text(in_child([&] {
    const Work work = run();
    std::ostringstream out;
    out.precision(17);
    out << work.flop << ' ' << work.bytes << ' ' << work.seconds;
    return out.str();
  }));
  Work work{};
  text >> work.flop >> work.bytes >> work.seconds;
  return work;
}

// Everything in HBM: 2 MNK operations on 2 (MK + KN + MN)
// bytes. Peaks of the defaults at 1 GHz: PE_GEMM 2 * 8 * 16 * 16 operations a ns, HBM 128 bytes a
// ns, so the ridge is at 32 operations a byte.
Work gemm_work(Index m, Index n, Index k) {
  return in_another_process([&] {
    const arch::TopologyConfig topology =
        vast_pe({"pe.gemm.tile_m=4096", "pe.gemm.tile_n=4096", "pe.gemm.tile_k=512",
                 "pe.scheduler.max_inflight_composites=1"});
    const BenchResult result =
        run_timing(topology, {input("a", {m, k}), input("b", {k, n}), output("out", {m, n})},
                   [](tl::Context& tl, const std::vector<Tensor>& bound) {
                     tl.composite(tl::gemm(bound[0], bound[1]).out(bound[2]));
                   });
    EXPECT_EQ(elements(result, arch::Engine::gemm), static_cast<std::uint64_t>(m * n * k));
    return work_of(result, 2.0 * static_cast<double>(m * n * k));
  });
}

// From far left of the ridge to far right: never above the roof, and close to it at both ends,
// where one of the two engines does nearly all of the work.
TEST(Units, NoPointOfARooflineIsAboveThePeak) {
  constexpr double kPeakFlops = 2.0 * 8 * 16 * 16 * 1e9, kPeakBytes = 128e9;
  double least = 1e9, most = 0;
  for (const auto& [m, n, k] : std::vector<std::array<Index, 3>>{{1, 1, 1},
                                                                 {1, 1, 65536},
                                                                 {1, 4096, 4096},
                                                                 {2, 2, 65536},
                                                                 {8, 64, 128},
                                                                 {8, 512, 512},
                                                                 {16, 4096, 64},
                                                                 {64, 64, 64},
                                                                 {128, 128, 128},
                                                                 {256, 256, 256},
                                                                 {512, 512, 512},
                                                                 {1024, 1024, 1024},
                                                                 {3072, 3072, 3072}}) {
    const Work work = gemm_work(m, n, k);
    SCOPED_TRACE(testing::Message() << m << "x" << n << "x" << k << ": " << work.intensity());
    EXPECT_LE(work.flop / work.seconds, kPeakFlops);
    EXPECT_LE(work.bytes / work.seconds, kPeakBytes);
    if (m == 1 && n == 4096) {  // 33.6 MB at 1 operation a byte
      EXPECT_GE(work.bytes / work.seconds, 0.9 * kPeakBytes);
    }
    if (m == 3072) {
      EXPECT_GE(work.flop / work.seconds, 0.9 * kPeakFlops);
    }
    least = std::min(least, work.intensity());
    most = std::max(most, work.intensity());
  }
  EXPECT_LT(least, 0.5);
  EXPECT_GT(most, 1000);
}

// The same for PE_MATH, 64 entries a ns: one square of an f32 entry is one operation on 8 bytes.
TEST(Units, NoMathIsAboveThePeakOfItsLanes) {
  constexpr Index kEntries = 1 << 20;
  const arch::TopologyConfig topology = vast_pe({});
  const BenchResult result = run_timing(
      topology,
      {input("x", tl::Shape{kEntries}, tl::f32), output("y", tl::Shape{kEntries}, tl::f32)},
      [](tl::Context& tl, const std::vector<Tensor>& bound) {
        const Tensor x = tl.load(bound[0]);
        tl.store(bound[1], tl.square(x, x));
      });
  const Work work = work_of(result, kEntries);
  EXPECT_DOUBLE_EQ(work.intensity(), 0.125);
  EXPECT_LE(work.flop / work.seconds, 64e9);
  EXPECT_LE(work.bytes / work.seconds, 128e9);
  EXPECT_EQ(busy_ps(result, arch::Engine::math), std::uint64_t{kEntries} / 64 * 1000);
}

// ---- 33: large problems -------------------------------------------------------------------------

// 16384^3 as eight tiles of 8192^3: 4,398,046,511,104 multiply-adds, 2^31 cycles of PE_GEMM, 2.1e15
// ps, each beyond 31 bits or 32. Its tensors have 1.5 GiB and its tile buffers 512 MiB, of which
// nothing is allocated.
TEST(LargeProblems, CountersOfA16384CubeAreExact) {
  const BenchResult result = run_catalogue(
      vast_pe({"pe.gemm.tile_m=8192", "pe.gemm.tile_n=8192", "pe.gemm.tile_k=8192",
               "pe.dma.burst_bytes=16384", "pe.scheduler.max_inflight_composites=1"}),
      "gemm",
      {{"m", "16384"}, {"n", "16384"}, {"k", "16384"}, {"a", "hbm"}, {"b", "hbm"}, {"out", "hbm"}});
  constexpr std::uint64_t kMacs = 16384ULL * 16384 * 16384;
  static_assert(kMacs == 4'398'046'511'104);
  std::uint64_t logged = 0;
  for (const OpLogRow& row : result.rows) {
    if (row.stage == "gemm") logged += row.elements;
  }
  EXPECT_EQ(logged, kMacs);
  EXPECT_EQ(elements(result, arch::Engine::gemm), kMacs);
  EXPECT_EQ(busy_ps(result, arch::Engine::gemm), kMacs / (8 * 16 * 16) * 1000);
  EXPECT_GE(result.end_ps, kMacs / (8 * 16 * 16) * 1000);
  // Eight tiles read 128 MiB of a and of b each, four write as much.
  const auto& pe = result.statistics.pes()[0];
  EXPECT_EQ(pe.hbm_read_bytes, 8 * 2 * (128ULL << 20));
  EXPECT_EQ(pe.hbm_write_bytes, 4 * (128ULL << 20));
#ifndef __SANITIZE_ADDRESS__
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  EXPECT_LT(usage.ru_maxrss, 256 * 1024) << "KiB";
#endif
}

// ---- 47: lifetime of handles --------------------------------------------------------------------

// The scope of x and w ends while the composite that reads them has not even started, and their
// bytes are filled at once with something else. The composite holds them until it is done (R6.10).
TEST(Lifetime, BytesFreedUnderACommandInFlightAreNotReusedBeforeItIsDone) {
  const Body body = [](tl::Context& tl, const std::vector<Tensor>& bound) {
    const Tensor acc = tl.empty({8, 32}, tl::f32).named("acc");
    command::Address first = 0;
    {
      auto scope = tl.scratch_scope();
      const Tensor x = tl.load(bound[0]), w = tl.load(bound[1]);
      first = x.handle().addr;
      tl.composite(tl::gemm(x, w).out(acc));
    }
    {
      auto scope = tl.scratch_scope();
      const Tensor other = tl.full({16384}, 99, tl::f16);
      EXPECT_EQ(other.handle().addr, first) << "the bytes are not used again";
    }
    {
      auto scope = tl.scratch_scope();  // and by a transfer
      EXPECT_EQ(tl.load(bound[2]).handle().addr, first);
    }
    tl.observe("acc", acc);
  };
  HostTensors inputs{{"x", std::vector<double>(8 * 64, 1)},
                     {"w", std::vector<double>(64 * 32, 2)},
                     {"y", std::vector<double>(128 * 64, 77)}};
  const std::string run = run_with_numbers(
      single_pe(), {input("x", {8, 64}), input("w", {64, 32}), input("y", {128, 64})}, body,
      inputs);
  EXPECT_EQ(results_in(run), text_of({{"acc", std::vector<double>(8 * 32, 128)}}));
}

// The accumulators lie outside the loop, what they add up in rings or in scopes inside. Nothing
// waits, dispatch is cheap and MATH slow, so that only the hazard rules keep the commands apart.
TEST(Lifetime, ALoopCarriedAccumulatorHasEveryTerm) {
  constexpr Index kSteps = 20;
  const Body body = [](tl::Context& tl, const std::vector<Tensor>& bound) {
    const Tensor sum = tl.zeros({8, 64}, tl::f32), product = tl.zeros({8, 64}, tl::f32);
    const auto slots = tl.ring<2>({8, 64}, tl::f16);
    const Tensor one = tl.load(bound[1]);
    for (Index j = 0; j < kSteps; ++j) {
      const Tensor slot = slots[j];  // a copy
      tl.load(bound[0].rows(8 * j, 8), slot);
      auto scope = tl.scratch_scope();
      const Tensor wide = tl.copy(slot, tl::f32);
      tl.add(sum, wide, sum);
      for (int twice = 0; twice < 2; ++twice) {
        tl.composite(tl::gemm(slot, one).out(product).epilogue(tl::add(product)));
      }
    }
    tl.observe("sum", sum);
    tl.observe("product", product);
  };
  arch::TopologyConfig topology = single_pe();
  topology.pe.pe_cost_model.fixed_cycles = 1;
  topology.pe.pe_cost_model.cycles_per_byte = arch::Rational(0);
  topology.pe.math.lanes = 4;
  HostTensors inputs{{"x", {}}, {"one", {}}};
  for (Index j = 0; j < kSteps; ++j) {
    inputs["x"].insert(inputs["x"].end(), 8 * 64, static_cast<double>(j));
  }
  for (Index i = 0; i < 64 * 64; ++i) inputs["one"].push_back(i % 65 == 0 ? 1 : 0);
  const std::string run = run_with_numbers(
      topology, {input("x", {8 * kSteps, 64}), input("one", {64, 64})}, body, inputs);
  constexpr double kSum = kSteps * (kSteps - 1) / 2.0;
  EXPECT_EQ(results_in(run), text_of({{"sum", std::vector<double>(8 * 64, kSum)},
                                      {"product", std::vector<double>(8 * 64, 2 * kSum)}}));
}

// ---- 48: fused epilogues ------------------------------------------------------------------------

/// C = 1 at first, A sums to -2 over K, B = 1: C after gemm + `epilogue`, in an output of several
/// tiles, with a K tile of `tile_k`.
template <class Epilogue>
void expect_epilogue(const std::vector<double>& row_of_a, std::int64_t tile_k, double expected,
                     Epilogue epilogue) {
  SCOPED_TRACE(testing::Message() << "K " << row_of_a.size() << ", tile_k " << tile_k);
  constexpr Index kRows = 19, kCols = 40;
  arch::TopologyConfig topology = single_pe();
  topology.pe.gemm.tile_k = tile_k;
  topology.pe.gemm.tile_n = 16;
  const auto k = static_cast<Index>(row_of_a.size());
  HostTensors inputs{{"a", {}},
                     {"b", std::vector<double>(static_cast<std::size_t>(k * kCols), 1)},
                     {"bias", std::vector<double>(kCols, 3)}};
  for (Index row = 0; row < kRows; ++row) {
    inputs["a"].insert(inputs["a"].end(), row_of_a.begin(), row_of_a.end());
  }
  const Body body = [&](tl::Context& tl, const std::vector<Tensor>& bound) {
    const Tensor a = tl.load(bound[0]), bias = tl.load(bound[2]);
    const Tensor C = tl.full({kRows, kCols}, 1, tl::f32);
    tl.composite(epilogue(tl::gemm(a, bound[1]).out(C), bias, C));
    tl.observe("C", C);
  };
  const std::string run = run_with_numbers(
      topology, {input("a", {kRows, k}), input("b", {k, kCols}), input("bias", tl::Shape{kCols})},
      body, inputs);
  EXPECT_EQ(results_in(run), text_of({{"C", std::vector<double>(kRows * kCols, expected)}}));
}

// -2 over K in one, two and three K tiles.
const std::vector<std::pair<std::vector<double>, std::int64_t>> kSplits{
    {{-1, -1}, 128}, {{-1, -1}, 1}, {{-1, 0, -1}, 1}, {{-1, -1, 0}, 2}};

// Ops apply in the order given, once an output tile, to the whole sum: ReLU(-2 + 3) + 1 = 2. Bias
// or residual once a K tile would give 5 or 3 for two of them, ReLU of each part 4.
TEST(FusedEpilogue, AppliesOnceToTheWholeSum) {
  for (const auto& [row, tile_k] : kSplits) {
    expect_epilogue(row, tile_k, 2, [](auto gemm, const Tensor& bias, const Tensor& C) {
      return gemm.epilogue(tl::bias(bias)).epilogue(tl::relu()).epilogue(tl::add(C));
    });
  }
}
// ReLU(-2 + 3 + 1) = 2, ReLU(-2 + 1) + 3 = 3, ReLU(-2) + 3 + 1 = 4.
TEST(FusedEpilogue, OrderIsTheOrderGiven) {
  for (const auto& [row, tile_k] : kSplits) {
    expect_epilogue(row, tile_k, 2, [](auto gemm, const Tensor& bias, const Tensor& C) {
      return gemm.epilogue(tl::bias(bias)).epilogue(tl::add(C)).epilogue(tl::relu());
    });
    expect_epilogue(row, tile_k, 3, [](auto gemm, const Tensor& bias, const Tensor& C) {
      return gemm.epilogue(tl::add(C)).epilogue(tl::relu()).epilogue(tl::bias(bias));
    });
    expect_epilogue(row, tile_k, 4, [](auto gemm, const Tensor& bias, const Tensor& C) {
      return gemm.epilogue(tl::relu()).epilogue(tl::bias(bias)).epilogue(tl::add(C));
    });
  }
}
// What a k_tile op is for: two K tiles of -1, 3 added after each, 4; ReLU and the residual once, 5.
TEST(FusedEpilogue, AKTileOpAppliesToEveryKTile) {
  expect_epilogue({-1, -1}, 1, 5, [](auto gemm, const Tensor& bias, const Tensor& C) {
    return gemm.epilogue(tl::bias(bias, tl::Scope::k_tile))
        .epilogue(tl::relu())
        .epilogue(tl::add(C));
  });
}

// One tile: X is read before it is written. X = X.Y + X, with Y twice the identity: 3 X.
TEST(FusedEpilogue, DestinationResidualAndLeftOperandInOne) {
  HostTensors inputs{{"x", integers(8 * 64, 3)}, {"y", {}}};
  for (Index i = 0; i < 64 * 64; ++i) inputs["y"].push_back(i % 65 == 0 ? 2 : 0);
  const std::string run = run_with_numbers(
      single_pe(), {input("x", {8, 64}), input("y", {64, 64})},
      [](tl::Context& tl, const std::vector<Tensor>& bound) {
        const Tensor X = tl.load(bound[0]), Y = tl.load(bound[1]);
        tl.composite(tl::gemm(X, Y).out(X).epilogue(tl::add(X)));
        tl.observe("X", X);
      },
      inputs);
  std::vector<double> expected = inputs["x"];
  for (double& value : expected) value *= 3;
  EXPECT_EQ(results_in(run), text_of({{"X", expected}}));
}

}  // namespace
}  // namespace kernbench::test
