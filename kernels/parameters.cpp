// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <stdexcept>

#include "kernels/kernel.hpp"
#include "tlm_if/command/error.hpp"
#include "tlm_if/command/spelling.hpp"

namespace kernbench::kernels {
namespace {

/// The value of a text if it is an integer in the range, otherwise what is wrong with it.
struct Integer {
  Index value = 0;
  std::string_view fault;  // empty: nothing
};

Integer parse_integer(const std::string& text, Index min, Index max) {
  Integer integer;
  const char* end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, integer.value);
  const std::size_t first_digit = text.rfind('-', 0) == 0 ? 1 : 0;
  if (last != end || error == std::errc::invalid_argument) {
    integer.fault = "not an integer";
  } else if (text.size() > first_digit + 1 && text[first_digit] == '0') {
    integer.fault = "written with a leading zero";  // as in topologies: it looks octal
  } else if (error != std::errc() || integer.value < min || integer.value > max) {
    integer.fault = "out of range";
  }
  return integer;
}

/// Of a value that has been checked.
Index kept_integer(const std::string& text, std::string_view name) {
  const Integer integer =
      parse_integer(text, std::numeric_limits<Index>::min(), std::numeric_limits<Index>::max());
  if (!integer.fault.empty()) {
    throw std::logic_error(fmt::format("kernel parameter '{}' is {}", name, integer.fault));
  }
  return integer.value;
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

/// The allowed values, for messages.
std::string allowed(const Parameter& parameter) {
  const std::string choices = fmt::format("{}", fmt::join(parameter.choices, ", "));
  if (parameter.list) {
    return fmt::format("{}{}integers from {} to {} separated by commas", choices,
                       choices.empty() ? "" : ", or ", parameter.min, parameter.max);
  }
  if (!choices.empty()) return "one of " + choices;
  return fmt::format("an integer from {} to {}", parameter.min, parameter.max);
}

/// The value as it is stored, with integers in their shortest form.
std::string checked(std::string_view kernel, const Parameter& parameter, const std::string& value) {
  const auto refuse = [&](const std::string& what) {
    const bool odd = std::any_of(value.begin(), value.end(), [](char c) { return c <= ' '; });
    throw InputError(
        fmt::format(odd ? "{}: {}='{}'{}" : "{}: {}={}{}", kernel, parameter.name, value, what));
  };
  if (value.empty()) {
    refuse(fmt::format(" is empty; give {}, or leave it away", allowed(parameter)));
  }
  const std::vector<std::string>& choices = parameter.choices;
  if (std::find(choices.begin(), choices.end(), value) != choices.end()) return value;
  if (!choices.empty() && !parameter.list) {
    refuse(fmt::format(" is not {}{}", allowed(parameter), did_you_mean(value, choices)));
  }
  std::vector<Index> integers;
  for (const std::string& text : parameter.list ? split(value) : std::vector{value}) {
    const Integer integer = parse_integer(text, parameter.min, parameter.max);
    if (!integer.fault.empty()) {
      const bool one_word = text == value;  // else a choice is no remedy
      refuse(fmt::format("{} is {}; give {}{}", parameter.list ? fmt::format(": '{}'", text) : "",
                         integer.fault, allowed(parameter),
                         one_word ? did_you_mean(value, choices) : ""));
    }
    integers.push_back(integer.value);
  }
  return fmt::format("{}", fmt::join(integers, ","));
}

const std::string& value_of(const std::vector<std::pair<std::string, std::string>>& values,
                            std::string_view name) {
  for (const auto& [key, value] : values) {
    if (key == name) return value;
  }
  throw std::logic_error(fmt::format("kernel parameter '{}' is not declared", name));
}

}  // namespace

const std::vector<double>& HostTensors::at(std::string_view name) const {
  if (const auto found = find(name); found != end()) return found->second;
  std::vector<std::string> names;
  for (const auto& entry : *this) names.push_back(entry.first);
  throw std::out_of_range(fmt::format("no tensor '{}'; there are {}{}", name,
                                      fmt::join(names, ", "), did_you_mean(name, names)));
}

std::vector<double>& HostTensors::at(std::string_view name) {
  return const_cast<std::vector<double>&>(std::as_const(*this).at(name));
}

Parameter Parameter::gives_way_to(std::string other) const {
  Parameter parameter = *this;
  parameter.alternative = std::move(other);
  return parameter;
}

Parameter integer(std::string name, Index default_value, std::string meaning, Index min,
                  Index max) {
  Parameter parameter = optional_integer(std::move(name), std::move(meaning), min, max);
  parameter.default_value = std::to_string(default_value);
  return parameter;
}

Parameter optional_integer(std::string name, std::string meaning, Index min, Index max) {
  Parameter parameter;
  parameter.name = std::move(name);
  parameter.meaning = std::move(meaning);
  parameter.min = min;
  parameter.max = max;
  return parameter;
}

Parameter choice(std::string name, std::string default_value, std::string meaning,
                 std::vector<std::string> choices) {
  Parameter parameter;
  parameter.name = std::move(name);
  parameter.default_value = std::move(default_value);
  parameter.meaning = std::move(meaning);
  parameter.choices = std::move(choices);
  return parameter;
}

Parameter list(std::string name, std::string meaning, Index min, Index max,
               std::vector<std::string> choices) {
  Parameter parameter = optional_integer(std::move(name), std::move(meaning), min, max);
  parameter.choices = std::move(choices);
  parameter.list = true;
  return parameter;
}

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
    if (!parameter.alternative.empty() && !is_given && has_value(parameter.alternative)) {
      values_[i].second.clear();
    }
  }
}

bool Parameters::has_value(std::string_view name) const { return !value_of(values_, name).empty(); }

Index Parameters::integer(std::string_view name) const {
  return kept_integer(value_of(values_, name), name);
}

const std::string& Parameters::choice(std::string_view name) const {
  return value_of(values_, name);
}

std::vector<Index> Parameters::list(std::string_view name) const {
  std::vector<Index> entries;
  if (!has_value(name)) return entries;
  for (const std::string& text : split(value_of(values_, name))) {
    entries.push_back(kept_integer(text, name));
  }
  return entries;
}

DType Parameters::dtype(std::string_view name) const {
  for (const command::DTypeInfo& info : command::kDTypes) {
    if (info.name == choice(name)) return info.dtype;
  }
  throw std::logic_error(fmt::format("kernel parameter '{}' is not a dtype", name));
}

}  // namespace kernbench::kernels
