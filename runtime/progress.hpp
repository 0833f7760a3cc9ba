// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "runtime/watchdog.hpp"

namespace kernbench::runtime {

/// How far a long run is, for who waits for it: one line on stderr, written again about once a
/// second of the host's time and wiped at the end. Nothing if stderr is no terminal.
class Progress {
 public:
  /// Of designs that outlive it and have `commands` to issue.
  Progress(const std::vector<Watched>& designs, std::uint64_t commands);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Between stretches of simulated time.
  void show();

 private:
  const std::vector<Watched>& designs_;
  std::uint64_t commands_;
  bool is_terminal_, shown_ = false;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace kernbench::runtime
