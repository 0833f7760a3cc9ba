// SPDX-License-Identifier: Apache-2.0
#include "runtime/numerics_check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "tlm_if/command/spelling.hpp"

namespace kernbench::runtime {
namespace {

/// Infinite entries count as 0, since no error can be relative to them.
double rms(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += std::isinf(value) ? 0 : value * value;
  return values.empty() ? 0 : std::sqrt(sum / static_cast<double>(values.size()));
}

template <class Map>
std::vector<std::string> names_of(const Map& map) {
  std::vector<std::string> names;
  for (const auto& entry : map) names.push_back(entry.first);
  return names;
}

/// A mistake in the kernel's reference would make every result pass or every one fail.
void check_reference(const kernels::Reference& reference) {
  for (const auto& [name, expected] : reference.outputs) {
    const bool checked = name == reference.checked;
    const auto odd = std::find_if(expected.begin(), expected.end(), [&](double value) {
      return std::isnan(value) || (checked && std::isinf(value));
    });
    if (odd == expected.end()) continue;
    throw std::logic_error(fmt::format("the kernel's reference has {} at entry {} of '{}'; give {}",
                                       *odd, odd - expected.begin(), name,
                                       checked ? "finite numbers" : "numbers"));
  }
  for (const double tolerance : {reference.max_rms_rel, reference.max_abs_rel}) {
    if (std::isfinite(tolerance)) continue;
    throw std::logic_error(
        fmt::format("the kernel's reference has the tolerance {} for '{}'; give finite numbers",
                    tolerance, reference.checked));
  }
}

ErrorFigures compare(const std::string& name, const std::vector<double>& expected,
                     const FileTensors& results) {
  const auto found = results.find(name);
  if (found == results.end()) {
    const std::vector<std::string> names = names_of(results);
    throw std::logic_error(
        fmt::format("the kernel's reference has '{}', which is neither an output nor an observed "
                    "value of the kernel; "
                    "those are {}{}",
                    name, fmt::join(names, ", "), did_you_mean(name, names)));
  }
  const std::size_t entries = found->second.values.size();
  if (entries != expected.size()) {
    throw std::logic_error(fmt::format(
        "the kernel's reference gives {} entries for '{}', and the kernel {}; they must be one "
        "value of one size",
        expected.size(), name, entries));
  }
  std::vector<double> errors(entries);
  ErrorFigures figures{name};
  for (std::size_t i = 0; i < entries; ++i) {
    const double value = found->second.values[i];
    errors[i] = value == expected[i] ? 0 : std::abs(value - expected[i]);  // also for infinities
    if (!std::isfinite(errors[i])) {
      figures.max_abs_err = figures.rms_rel_err = std::numeric_limits<double>::infinity();
      return figures;
    }
    figures.max_abs_err = std::max(figures.max_abs_err, errors[i]);
  }
  // A reference of zeros allows no error: any error is infinitely large relative to it.
  const double error = rms(errors);
  if (error > 0) figures.rms_rel_err = error / rms(expected);
  return figures;
}

}  // namespace

NumericsCheck check_numerics(const kernels::Reference& reference, const FileTensors& results) {
  check_reference(reference);
  NumericsCheck check;
  for (const auto& [name, expected] : reference.outputs) {
    ErrorFigures figures = compare(name, expected, results);
    if (name != reference.checked) {
      check.others.push_back(std::move(figures));
      continue;
    }
    check.checked = std::move(figures);
    check.max_abs_tolerance = reference.max_abs_rel * rms(expected);
    check.rms_rel_tolerance = reference.max_rms_rel;
  }
  if (check.checked.name.empty()) {
    throw std::logic_error(fmt::format(
        "the kernel's reference names '{}' as checked and has no such output; it has {}",
        reference.checked, fmt::join(names_of(reference.outputs), ", ")));
  }
  // Written so that a NaN fails.
  check.pass = check.checked.max_abs_err <= check.max_abs_tolerance &&
               check.checked.rms_rel_err <= check.rms_rel_tolerance;
  // R13.4 bounds the checked result; the others must at least be numbers.
  for (const ErrorFigures& other : check.others) {
    check.pass = check.pass && std::isfinite(other.max_abs_err);
  }
  return check;
}

}  // namespace kernbench::runtime
