// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "model/arch/stage.hpp"

namespace kernbench::arch {

/// One memory request.
struct Burst {
  command::Address addr = 0;
  std::uint32_t bytes = 0;
  std::uint64_t offset = 0;  ///< in the slice's bytes, in transfer order
};

/// Cuts a slice into bursts: row by row in address order, with contiguous rows merged into one run,
/// and each run cut into naturally aligned powers of two of at most `burst_bytes` (R6.8). It is a
/// cursor and stores no list.
class BurstCursor {
 public:
  BurstCursor() = default;
  BurstCursor(const Slice& slice, std::uint32_t burst_bytes);

  bool done() const { return rest_ == 0; }
  /// The next burst, without taking it.
  Burst peek() const;
  void advance(std::uint32_t bytes);

 private:
  command::Address addr_ = 0;
  std::uint64_t rest_ = 0;    // of the current run
  std::uint64_t run_ = 0;     // bytes of a run
  std::uint64_t stride_ = 0;  // from run to run
  std::uint64_t runs_left_ = 0;
  std::uint64_t offset_ = 0;
  std::uint32_t burst_bytes_ = 1;
};

}  // namespace kernbench::arch
