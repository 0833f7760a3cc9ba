// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <stdexcept>

#include "kernels/kernel.hpp"
#include "tlm_if/command/error.hpp"
#include "tlm_if/command/spelling.hpp"

namespace kernbench::kernels {
namespace {

std::optional<Index> parse_integer(const std::string& text) {
  Index value = 0;
  const char* end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || last != end) return std::nullopt;
  return value;
}

/// The value as it is kept: integers in their shortest form.
std::string checked(std::string_view kernel, const Parameter& parameter, const std::string& value) {
  if (!parameter.choices.empty()) {
    if (std::find(parameter.choices.begin(), parameter.choices.end(), value) ==
        parameter.choices.end()) {
      throw InputError(fmt::format("{}: {}={} is not one of {}{}", kernel, parameter.name, value,
                                   fmt::join(parameter.choices, ", "),
                                   did_you_mean(value, parameter.choices)));
    }
    return value;
  }
  const std::optional<Index> integer = parse_integer(value);
  if (!integer || *integer < parameter.min || *integer > parameter.max) {
    throw InputError(fmt::format("{}: {}={} is {}; give an integer from {} to {}", kernel,
                                 parameter.name, value, integer ? "out of range" : "no integer",
                                 parameter.min, parameter.max));
  }
  return std::to_string(*integer);
}

const std::string& value_of(const std::vector<std::pair<std::string, std::string>>& values,
                            std::string_view name) {
  for (const auto& [key, value] : values) {
    if (key == name) return value;
  }
  throw std::logic_error(fmt::format("kernel parameter '{}' is not declared", name));
}

}  // namespace

Parameters::Parameters(std::string_view kernel, const std::vector<Parameter>& declared,
                       const std::vector<std::pair<std::string, std::string>>& settings) {
  std::vector<std::string> names;
  for (const Parameter& parameter : declared) {
    names.push_back(parameter.name);
    values_.emplace_back(parameter.name, parameter.default_value);
  }
  std::vector<std::string> given;
  for (const auto& [name, value] : settings) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) {
      throw InputError(fmt::format("{}: no parameter '{}'; parameters are {}{}", kernel, name,
                                   fmt::join(names, ", "), did_you_mean(name, names)));
    }
    if (std::find(given.begin(), given.end(), name) != given.end()) {
      throw InputError(fmt::format("{}: {} is given twice; give it once", kernel, name));
    }
    given.push_back(name);
    const auto index = static_cast<std::size_t>(found - names.begin());
    values_[index].second = checked(kernel, declared[index], value);
  }
}

Index Parameters::integer(std::string_view name) const {
  const std::optional<Index> value = parse_integer(value_of(values_, name));
  if (!value) throw std::logic_error(fmt::format("kernel parameter '{}' is no integer", name));
  return *value;
}

const std::string& Parameters::choice(std::string_view name) const {
  return value_of(values_, name);
}

}  // namespace kernbench::kernels
