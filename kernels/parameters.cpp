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

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == ',') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

/// The list as it is kept: integers in their shortest form.
std::string checked_list(std::string_view kernel, const Parameter& parameter,
                         const std::string& value) {
  std::vector<Index> entries;
  for (const std::string& text : split(value)) {
    const std::optional<Index> entry = parse_integer(text);
    if (!entry || *entry < parameter.min || *entry > parameter.max) {
      const std::string choices = parameter.choices.empty()
                                      ? ""
                                      : fmt::format("{}, or ", fmt::join(parameter.choices, ", "));
      throw InputError(fmt::format(
          "{}: {}={}: '{}' is {}; give {}integers from {} to {} separated "
          "by commas{}",
          kernel, parameter.name, value, text, entry ? "out of range" : "no integer", choices,
          parameter.min, parameter.max, did_you_mean(value, parameter.choices)));
    }
    entries.push_back(*entry);
  }
  return fmt::format("{}", fmt::join(entries, ","));
}

/// The value as it is kept: integers in their shortest form.
std::string checked(std::string_view kernel, const Parameter& parameter, const std::string& value) {
  if (value == parameter.default_value) return value;
  const std::vector<std::string>& choices = parameter.choices;
  if (std::find(choices.begin(), choices.end(), value) != choices.end()) return value;
  if (parameter.list) return checked_list(kernel, parameter, value);
  if (!choices.empty()) {
    throw InputError(fmt::format("{}: {}={} is not one of {}{}", kernel, parameter.name, value,
                                 fmt::join(choices, ", "), did_you_mean(value, choices)));
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

const Parameter* find_parameter(const std::vector<Parameter>& declared, std::string_view name) {
  const auto found = std::find_if(declared.begin(), declared.end(),
                                  [&](const Parameter& p) { return p.name == name; });
  return found == declared.end() ? nullptr : &*found;
}

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
  for (std::size_t i = 0; i < declared.size(); ++i) {
    const Parameter& parameter = declared[i];
    const bool is_given = std::find(given.begin(), given.end(), parameter.name) != given.end();
    if (!parameter.unless.empty() && !is_given && has_value(parameter.unless)) {
      values_[i].second.clear();
    }
  }
}

bool Parameters::has_value(std::string_view name) const { return !value_of(values_, name).empty(); }

Index Parameters::integer(std::string_view name) const {
  const std::optional<Index> value = parse_integer(value_of(values_, name));
  if (!value) throw std::logic_error(fmt::format("kernel parameter '{}' is no integer", name));
  return *value;
}

const std::string& Parameters::choice(std::string_view name) const {
  return value_of(values_, name);
}

std::vector<Index> Parameters::list(std::string_view name) const {
  std::vector<Index> entries;
  if (!has_value(name)) return entries;
  for (const std::string& text : split(value_of(values_, name))) {
    const std::optional<Index> entry = parse_integer(text);
    if (!entry) throw std::logic_error(fmt::format("kernel parameter '{}' is no list", name));
    entries.push_back(*entry);
  }
  return entries;
}

}  // namespace kernbench::kernels
