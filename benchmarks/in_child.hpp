// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <stdexcept>
#include <type_traits>

namespace kernbench::benchmarks {

/// What `measure` returns, called in a process of its own: SystemC's kernel is global, so that a
/// program runs one simulation a process. Throws if it fails; why stands on stderr.
template <class Measure>
auto in_child(const Measure& measure) {
  using Result = decltype(measure());
  static_assert(std::is_trivially_copyable_v<Result>);
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("pipe failed");
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("fork failed");
  if (child == 0) {
    try {
      const Result result = measure();
      _exit(write(ends[1], &result, sizeof result) == sizeof result ? 0 : 1);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      _exit(1);  // what the parent has buffered is not the child's to write
    }
  }
  close(ends[1]);
  Result result{};
  const bool complete = read(ends[0], &result, sizeof result) == sizeof result;
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (!complete || status != 0) throw std::runtime_error("a measurement failed");
  return result;
}

}  // namespace kernbench::benchmarks
