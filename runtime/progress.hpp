// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "runtime/run_to_end.hpp"

namespace kernbench::runtime {

/// Shows the progress of a long run: one line on stderr, rewritten about once per second of host
/// time and erased at the end. Shows nothing if stderr is not a terminal.
class Progress {
 public:
  /// `designs` must outlive this object; together they issue `commands` commands.
  Progress(const std::vector<Watched>& designs, std::uint64_t commands);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Call it between slices of simulated time.
  void show();

 private:
  const std::vector<Watched>& designs_;
  std::uint64_t commands_;
  bool is_terminal_, shown_ = false;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace kernbench::runtime
