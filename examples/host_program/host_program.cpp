// SPDX-License-Identifier: Apache-2.0
// A host program of your own: tensors are distributed over the PEs of a cube, two launches run, and
// the result is read back and checked. out = x w, with the inner dimension split over the PEs: the
// first launch computes one product per PE, and the second adds them by messages.
//
// Usage: host_program TOPOLOGY.yaml [FOLDER]
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "kernels/collectives.hpp"
#include "model/arch/topology_file.hpp"
#include "runtime/host.hpp"

namespace tl = kernbench::tl;
namespace kernels = kernbench::kernels;
namespace runtime = kernbench::runtime;
using kernels::Index;

static const Index kDepth = 1024, kCols = 256;

// What one program sees of x is (1, depth / programs), of w (depth / programs, cols), of sum and
// out (1, cols).
static void multiply(tl::Context& tl, const std::vector<tl::Tensor>& bound) {
  const tl::Tensor &w = bound[1], &sum = bound[2];
  const tl::Tensor x = tl.load(bound[0]);
  tl.wait({x});
  tl.composite(tl::gemm(x, w).out(sum));
}

static void all_reduce(tl::Context& tl, const std::vector<tl::Tensor>& bound) {
  const tl::Tensor &sum = bound[0], &out = bound[1];
  const tl::Tensor y = tl.load(sum);
  kernels::all_reduce_tree(tl, kernels::everyone(tl), y);
  tl.store(out, y);
}

// Small multiples of 1/8: every product and sum is exact in f32.
static std::vector<double> values(Index count, int period) {
  const Index middle = period / 2;
  std::vector<double> values;
  for (Index i = 0; i < count; ++i) values.push_back(double(i % period - middle) / 8);
  return values;
}

// Whether every program has the result.
static bool simulate(const kernbench::arch::TopologyConfig& topology,
                     const runtime::StagePaths& outputs) {
  const Index programs = topology.pes();
  const std::vector<double> x = values(kDepth, 7), w = values(kDepth * kCols, 11);
  const auto rows = kernels::split_rows(programs, programs);

  runtime::Host host("vector_times_matrix", topology, true, outputs);
  const auto device_x =
      host.from_values("x", {1, kDepth}, tl::f16, x, kernels::split_cols(1, kDepth, programs));
  const auto device_w =
      host.from_values("w", {kDepth, kCols}, tl::f16, w, kernels::split_rows(kDepth, programs));
  const auto sum = host.empty("sum", {programs, kCols}, tl::f32, rows);
  const auto out = host.empty("out", {programs, kCols}, tl::f32, rows);
  host.launch("multiply", multiply, {device_x, device_w, sum}, {{programs, 1, 1}});
  host.launch("all_reduce", all_reduce, {sum, out}, {{programs, 1, 1}});
  host.run();
  host.finish();  // completes the outputs

  const std::vector<double> result = host.read(out);
  bool is_right = true;
  for (Index col = 0; col < kCols; ++col) {
    double expected = 0;
    for (Index i = 0; i < kDepth; ++i)
      expected += x[std::size_t(i)] * w[std::size_t(i * kCols + col)];
    for (Index program = 0; program < programs; ++program)
      is_right = is_right && result[std::size_t(program * kCols + col)] == expected;
  }
  std::printf("%s: %d programs, %.3f ns, %s\n", topology.name.c_str(), int(programs),
              double(host.end_ps()) / 1000, is_right ? "right" : "WRONG");
  return is_right;
}

static const char* const kUsage =
    "usage: host_program TOPOLOGY.yaml [FOLDER]\n"
    "  TOPOLOGY.yaml  the machine, such as topologies/cube_8pe.yaml\n"
    "  FOLDER         exists, and gets op_log.csv, waves.vcd, trace.json and summary.json\n";

static runtime::StagePaths paths_in(const std::string& folder) {
  return {folder + "/op_log.csv", folder + "/waves.vcd", folder + "/trace.json",
          folder + "/summary.json"};
}

int sc_main(int argc, char** argv) {
  const bool help = argc == 2 && std::string(argv[1]) == "--help";
  if (help || (argc != 2 && argc != 3)) {
    std::fputs(kUsage, help ? stdout : stderr);
    return help ? 0 : 2;
  }
  try {
    const auto topology = kernbench::arch::read_topology_file(argv[1]);
    return simulate(topology, argc == 3 ? paths_in(argv[2]) : runtime::StagePaths()) ? 0 : 1;
  } catch (
      const runtime::SimulationError& error) {  // what() is a line, detail() who waits for what
    std::fprintf(stderr, "host_program: %s\n%s", error.what(), error.detail().c_str());
    return 1;
  } catch (const kernbench::InputError& error) {
    std::fprintf(stderr, "host_program: %s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "host_program: %s\n", error.what());
    return 1;
  }
}
