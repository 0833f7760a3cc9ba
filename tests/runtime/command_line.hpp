// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kernbench::test {

struct Outcome {
  int exit_code = -1;  ///< -1: ended by a signal
  std::string out, err;

  /// The first line of stderr, without its newline.
  std::string first_error() const { return err.substr(0, err.find('\n')); }
};

/// What the address sanitizer looks for in a program built with it.
enum class Leaks : std::uint8_t { checked, ignored };

/// Runs a program to its end. Throws std::runtime_error if it cannot be started. What a sanitizer
/// has to say is not part of `err`; a fault that it finds gives the exit code 99.
Outcome run_program(const std::string& program, const std::vector<std::string>& arguments,
                    Leaks leaks = Leaks::checked);

}  // namespace kernbench::test
