// SPDX-License-Identifier: Apache-2.0
#include "runtime/verdict.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <iostream>

#include "runtime/launch/command_line.hpp"

namespace kernbench::runtime {
namespace {

constexpr std::size_t kMaxHazardLines = 50;

/// Writes hazards to stderr: the first as one complete line, then the others.
void print_hazards(const Binary& binary, const RunResult& result) {
  const HazardReport& found = *result.hazards;
  const std::vector<std::string>& lines = found.lines;
  fmt::print(std::cerr, "{}: {}: {} hazard{}: {}; {}\n", binary.name, result.launch->title(),
             lines.size(), lines.size() == 1 ? "" : "s", lines.front(),
             found.races == 0 ? "fill or load it first"
                              : "let the later wait for the earlier, or give it other bytes");
  const std::size_t shown = std::min(lines.size(), kMaxHazardLines);
  for (std::size_t i = 1; i < shown; ++i) fmt::print(std::cerr, "  {}\n", lines[i]);
  if (lines.size() > shown) {
    fmt::print(std::cerr, "  and {} more; a smaller problem shows all of its own\n",
               lines.size() - shown);
  }
}

}  // namespace

int verdict(const Binary& binary, const std::vector<RunResult>& results) {
  int code = kDone;
  for (const RunResult& result : results) {
    if (!result.hazards || result.hazards->lines.empty()) continue;
    print_hazards(binary, result);
    code = kFailed;
  }
  for (const RunResult& result : results) {
    if (!result.numerics || result.numerics->pass) continue;
    const NumericsCheck& check = *result.numerics;
    fmt::print(std::cerr,
               "{}: {}: numbers are out of tolerance against float64: {} has rms(err)/rms(ref) "
               "{:.3g} (allowed {:.3g}) and max|err| {:.3g} (allowed {:.3g})\n",
               binary.name, result.launch->title(), check.checked.name, check.checked.rms_rel_err,
               check.rms_rel_tolerance, check.checked.max_abs_err, check.max_abs_tolerance);
    code = kFailed;
  }
  for (const RunResult& result : results) {
    if (!result.refused_figure.empty() && code == kDone) {
      code = fail(binary.name, kFailed, result.refused_figure);
    }
  }
  return code;
}

}  // namespace kernbench::runtime
