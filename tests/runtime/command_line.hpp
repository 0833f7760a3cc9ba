// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace kernbench::test {

struct Outcome {
  int exit_code = -1;  ///< -1: ended by a signal
  std::string out, err;

  /// The first line of stderr, without its newline.
  std::string first_error() const { return err.substr(0, err.find('\n')); }
};

/// Runs a program to its end. Throws std::runtime_error if it cannot be started.
Outcome run_program(const std::string& program, const std::vector<std::string>& arguments);

}  // namespace kernbench::test
