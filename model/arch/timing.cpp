// SPDX-License-Identifier: Apache-2.0
#include "model/arch/timing.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tlm_if/command/rounding.hpp"

namespace kernbench::arch {
namespace {

using command::ceil_div;

// A stage, a dispatch and a burst last at least 1 ps: time must pass between cause and effect.
Picoseconds at_least_one(Picoseconds duration) { return std::max<Picoseconds>(duration, 1); }

Rational period_ps(const PeConfig& config) { return Rational(1000) / config.clock_ghz; }

}  // namespace

std::string nanoseconds(Picoseconds time) {
  return fmt::format("{}.{:03}", time / 1000, time % 1000);
}

std::uint64_t gemm_cycles(const GemmConfig& config, std::uint64_t m, std::uint64_t k,
                          std::uint64_t n) {
  const std::uint64_t rows = config.rows;
  const std::uint64_t cols = config.cols;
  switch (config.model) {
    case GemmModel::systolic_ws:
      return ceil_div(k, rows) * ceil_div(n, cols) * (2 * rows + cols + m - 2) - 1;
    case GemmModel::systolic_os:
      return ceil_div(m, rows) * ceil_div(n, cols) * (k + rows + cols - 2) - 1;
    case GemmModel::block:
      break;
  }
  return ceil_div(m, config.block_m) * ceil_div(k, config.block_k) * ceil_div(n, config.block_n) +
         config.fill_cycles;
}

std::uint64_t dispatch_segments(const CostModelConfig& config, std::uint64_t logical_bytes) {
  return std::max<std::uint64_t>(1, ceil_div(logical_bytes, config.max_composite_logical_bytes));
}

Rational dispatch_cycles(const CostModelConfig& config, std::uint64_t segments,
                         std::uint64_t logical_bytes) {
  return Rational(segments) * Rational(config.fixed_cycles) +
         config.cycles_per_byte * Rational(logical_bytes);
}

PeTiming::PeTiming(const PeConfig& config)
    : cost_(config.pe_cost_model),
      gemm_(config.gemm),
      tcm_bytes_per_cycle_(config.tcm.bytes_per_cycle),
      lanes_(config.math.lanes),
      period_(period_ps(config)),
      dispatch_scale_(period_ps(config) / Rational(config.pe_cost_model.cycles_per_byte.den())),
      launch_(ExactScale(config.cpu.launch_ns).rounded(1000)),
      dma_setup_(period_.rounded(config.dma.setup_cycles)) {
  for (std::size_t op = 0; op < math_.size(); ++op) {
    if (static_cast<command::OpKind>(op) == command::OpKind::gemm) continue;  // no MATH stage
    // (beats / rate + fixed) * period, over the denominator rate.num.
    const Rational& rate = config.math.op_rate[op];
    math_[op] = {rate.den(), config.math.fixed_cycles * rate.num(),
                 ExactScale(period_ps(config) / Rational(rate.num()))};
  }
}

Picoseconds PeTiming::dispatch(std::uint64_t logical_bytes) const {
  const std::uint64_t fixed = dispatch_segments(cost_, logical_bytes) * cost_.fixed_cycles;
  const std::uint64_t weighted =
      fixed * cost_.cycles_per_byte.den() + logical_bytes * cost_.cycles_per_byte.num();
  return at_least_one(dispatch_scale_.rounded(weighted));
}

Picoseconds PeTiming::cycles(std::uint64_t count) const {
  return at_least_one(period_.rounded(count));
}

Picoseconds PeTiming::tcm(std::uint64_t bytes) const {
  return cycles(ceil_div(bytes, tcm_bytes_per_cycle_));
}

Picoseconds PeTiming::gemm(std::uint64_t m, std::uint64_t k, std::uint64_t n) const {
  return cycles(gemm_cycles(gemm_, m, k, n));
}

Picoseconds PeTiming::math(command::OpKind op, std::uint64_t elements) const {
  const MathOp& cost = math_[static_cast<std::size_t>(op)];
  return at_least_one(
      cost.scale.rounded(ceil_div(elements, lanes_) * cost.beat_weight + cost.fixed_weight));
}

HbmTiming::HbmTiming(const HbmConfig& config)
    : per_byte_(Rational(1000) / (config.gbps * config.efficiency)),
      latency_(ExactScale(config.latency_ns).rounded(1000)) {}

Picoseconds HbmTiming::service(std::uint64_t bytes) const {
  return at_least_one(per_byte_.rounded(bytes));
}

}  // namespace kernbench::arch
