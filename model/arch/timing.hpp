// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "model/arch/config.hpp"

namespace kernbench::arch {

using Picoseconds = std::uint64_t;

/// An exact decimal for messages: `31037.877`.
std::string nanoseconds(Picoseconds time);

// Timing formulas (contract 6) as pure functions of a configuration. Each duration is rounded once,
// half up, from its exact value (R6.1), and lasts at least 1 ps.

/// value * numerator / denominator, where both are fixed when the configuration is read: one exact
/// multiply-divide per duration.
class ExactScale {
 public:
  ExactScale() = default;
  explicit ExactScale(const Rational& factor) : factor_(factor) {}
  Picoseconds rounded(std::uint64_t value) const {
    return mul_div_round(value, factor_.num(), factor_.den());
  }

 private:
  Rational factor_;
};

/// Cycles of one gemm tile on PE_GEMM, by its model.
std::uint64_t gemm_cycles(const GemmConfig& config, std::uint64_t m, std::uint64_t k,
                          std::uint64_t n);

/// The number of fixed costs that one command pays (R3.8).
std::uint64_t dispatch_segments(const CostModelConfig& config, std::uint64_t logical_bytes);
/// Cycles, unrounded: segments * fixed + bytes * cycles_per_byte. Additive, so that totals are
/// exact.
Rational dispatch_cycles(const CostModelConfig& config, std::uint64_t segments,
                         std::uint64_t logical_bytes);

class PeTiming {
 public:
  explicit PeTiming(const PeConfig& config);

  Picoseconds dispatch(std::uint64_t logical_bytes) const;
  Picoseconds cycles(std::uint64_t count) const;
  /// May be 0: the kernel's first command follows at once.
  Picoseconds launch() const { return launch_; }
  /// May be 0: the channel then requests its first burst at once.
  Picoseconds dma_setup() const { return dma_setup_; }
  /// FETCH and STORE.
  Picoseconds tcm(std::uint64_t bytes) const;
  Picoseconds gemm(std::uint64_t m, std::uint64_t k, std::uint64_t n) const;
  Picoseconds math(command::OpKind op, std::uint64_t elements) const;

 private:
  struct MathOp {
    std::uint64_t beat_weight = 1;  ///< 1 / op_rate, over a common denominator with
    std::uint64_t fixed_weight = 0;
    ExactScale scale;
  };

  CostModelConfig cost_;
  GemmConfig gemm_;
  std::uint64_t tcm_bytes_per_cycle_;
  std::uint64_t lanes_;
  ExactScale period_;
  ExactScale dispatch_scale_;
  Picoseconds launch_;
  Picoseconds dma_setup_;
  std::array<MathOp, command::kOpKinds> math_;
};

class HbmTiming {
 public:
  explicit HbmTiming(const HbmConfig& config);

  /// Time for which a burst occupies the memory.
  Picoseconds service(std::uint64_t bytes) const;
  /// From the end of service to the response; may be 0.
  Picoseconds latency() const { return latency_; }

 private:
  ExactScale per_byte_;
  Picoseconds latency_;
};

}  // namespace kernbench::arch
