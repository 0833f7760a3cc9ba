// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/inputs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <utility>

#include "model/arch/numerics.hpp"
#include "tlm_if/command/error.hpp"
#include "tlm_if/command/spelling.hpp"

namespace kernbench::runtime {
namespace {

using kernels::Direction;
using kernels::TensorSpec;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// FNV-1a, 64 bit, over the bytes of the seed (little-endian) and of the name.
std::uint64_t hash_of(std::uint64_t seed, const std::string& name) {
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&](std::uint64_t byte) { hash = (hash ^ byte) * 0x100000001b3; };
  for (int i = 0; i < 8; ++i) add((seed >> (8 * i)) & 0xff);
  for (const char c : name) add(static_cast<unsigned char>(c));
  return hash;
}

/// std::mt19937_64 is fixed by the standard; std::normal_distribution is not, so Box-Muller.
class Normal {
 public:
  explicit Normal(std::uint64_t seed) : bits_(seed) {}

  std::array<double, 2> next_pair() {
    constexpr double kTwoPi = 6.283185307179586;
    const double radius = std::sqrt(-2 * std::log(1 - uniform()));  // 1 - u is in (0, 1]
    const double angle = kTwoPi * uniform();
    return {radius * std::cos(angle), radius * std::sin(angle)};
  }

 private:
  double uniform() { return static_cast<double>(bits_() >> 11) * 0x1p-53; }

  std::mt19937_64 bits_;
};

double rounded(command::DType dtype, double value) {
  std::array<std::uint8_t, 4> bytes{};
  arch::encode(dtype, static_cast<float>(value), bytes.data());
  return static_cast<double>(arch::decode(dtype, bytes.data()));
}

/// `given` is `full`, or `full` without some of its axes of size 1 (R8.4).
bool fits(const std::vector<std::int64_t>& given, const std::vector<std::int64_t>& full) {
  std::size_t next = 0;
  for (const std::int64_t dim : full) {
    if (next < given.size() && given[next] == dim) {
      ++next;
    } else if (dim != 1) {
      return false;
    }
  }
  return next == given.size();
}

/// `[row, column, ..]` of the entry of that number, row-major.
std::string place_of(std::size_t entry, const std::vector<std::int64_t>& shape) {
  std::vector<std::size_t> indices(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    const auto dim = static_cast<std::size_t>(shape[axis]);
    indices[axis] = entry % dim;
    entry /= dim;
  }
  return fmt::format("[{}]", fmt::join(indices, ", "));
}

}  // namespace

kernels::HostTensors synthetic_inputs(const std::vector<TensorSpec>& tensors, std::uint64_t seed) {
  kernels::HostTensors inputs;
  for (const TensorSpec& tensor : tensors) {
    if (tensor.direction != Direction::in) continue;
    Normal normal(hash_of(seed, tensor.name));
    std::vector<double> values(static_cast<std::size_t>(tensor.shape.elements()));
    for (std::size_t i = 0; i < values.size(); i += 2) {
      std::array<double, 2> pair = normal.next_pair();
      for (double& value : pair) {
        value = tensor.domain == kernels::Domain::at_least_one ? 1 + std::abs(value)
                                                               : value * tensor.synthetic_scale;
      }
      values[i] = rounded(tensor.dtype, pair[0]);
      if (i + 1 < values.size()) values[i + 1] = rounded(tensor.dtype, pair[1]);
    }
    inputs.emplace(tensor.name, std::move(values));
  }
  return inputs;
}

kernels::HostTensors checked_inputs(const std::vector<TensorSpec>& tensors, FileTensors given,
                                    const std::string& source) {
  std::vector<std::string> names;
  for (const TensorSpec& tensor : tensors) {
    if (tensor.direction == Direction::in) names.push_back(tensor.name);
  }
  const std::string expected = names.empty() ? "the kernel has no inputs"
                                             : fmt::format("inputs are {}", fmt::join(names, ", "));
  for (const auto& entry : given) {
    if (std::find(names.begin(), names.end(), entry.first) == names.end()) {
      throw InputError(fmt::format("{}: tensor '{}' is not an input of the kernel; {}{}", source,
                                   entry.first, expected, did_you_mean(entry.first, names)));
    }
  }
  std::vector<std::string> missing;
  for (const std::string& name : names) {
    if (given.find(name) == given.end()) missing.push_back(name);
  }
  if (!missing.empty()) {
    throw InputError(fmt::format("{}: missing tensor{} {}; {}", source,
                                 missing.size() == 1 ? "" : "s", fmt::join(missing, ", "),
                                 expected));
  }

  kernels::HostTensors inputs;
  for (const TensorSpec& tensor : tensors) {
    if (tensor.direction != Direction::in) continue;
    FileTensor& found = given.find(tensor.name)->second;
    if (found.dtype != file_dtype(tensor.dtype)) {
      throw InputError(fmt::format("{}: tensor '{}' has dtype {}; the kernel takes {}", source,
                                   tensor.name, to_string(found.dtype),
                                   to_string(file_dtype(tensor.dtype))));
    }
    if (!fits(found.shape, tensor.file_shape)) {
      throw InputError(fmt::format(
          "{}: tensor '{}' has shape [{}]; the kernel takes [{}], where axes of size 1 may be "
          "missing",
          source, tensor.name, fmt::join(found.shape, ", "), fmt::join(tensor.file_shape, ", ")));
    }
    const bool masked = tensor.domain == kernels::Domain::masked;
    const bool any = tensor.domain == kernels::Domain::any;
    const auto odd = std::find_if(found.values.begin(), found.values.end(), [&](double value) {
      return !any && !std::isfinite(value) && !(masked && value == -kInfinity);
    });
    if (odd != found.values.end()) {
      const auto entry = static_cast<std::size_t>(odd - found.values.begin());
      throw InputError(fmt::format(
          "{}: tensor '{}' has {} at {}; its entries are finite numbers{}, as the check against "
          "float64 needs them; replace it",
          source, tensor.name, *odd, place_of(entry, found.shape), masked ? " or -inf" : ""));
    }
    inputs.emplace(tensor.name, std::move(found.values));
  }
  return inputs;
}

}  // namespace kernbench::runtime
