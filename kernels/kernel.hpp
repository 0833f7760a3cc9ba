// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tl/tl.hpp"

namespace kernbench::kernels {

using command::DType;
using command::Index;

/// One `name=value` of the command line: an integer in [min, max], or one of `choices`.
struct Parameter {
  std::string name;
  std::string default_value;
  std::string meaning;  ///< one sentence, with the unit
  Index min = 1;
  Index max = std::numeric_limits<Index>::max();
  std::vector<std::string> choices = {};
};

/// The values of a kernel's parameters, checked against their declarations.
class Parameters {
 public:
  /// Throws InputError for an unknown name (with the nearest), a repeated one, or a value that is
  /// out of range. `settings` are (name, value) pairs as given.
  Parameters(std::string_view kernel, const std::vector<Parameter>& declared,
             const std::vector<std::pair<std::string, std::string>>& settings);

  Index integer(std::string_view name) const;
  const std::string& choice(std::string_view name) const;
  /// In the order of declaration.
  const std::vector<std::pair<std::string, std::string>>& values() const { return values_; }

 private:
  std::vector<std::pair<std::string, std::string>> values_;
};

enum class Direction : std::uint8_t { in, out };

/// A tensor in HBM that the host binds to the kernel.
struct TensorSpec {
  std::string name;
  std::vector<Index> file_shape;  ///< in safetensors files; axes of size 1 may be dropped there
  command::Shape shape;           ///< on the device: row-major, same entries in the same order
  DType dtype = DType::f16;
  Direction direction = Direction::in;
};

/// Entries of named tensors, exact in double.
using HostTensors = std::map<std::string, std::vector<double>, std::less<>>;

/// What the results are compared with: float64, computed on the host from the same inputs.
struct Reference {
  HostTensors outputs;     ///< by name of an output tensor or of an observed value
  std::string checked;     ///< the one of them that decides pass or fail
  double max_rms_rel = 0;  ///< allowed rms(err) / rms(ref)
  double max_abs_rel = 0;  ///< allowed max|err| / rms(ref)
};

/// A kernel with its parameters chosen.
struct Instance {
  std::vector<TensorSpec> tensors;  ///< inputs, then outputs: the order of HBM addresses (R3.4)
  /// `bound` holds one HBM tensor for each of `tensors`, in that order.
  std::function<void(tl::Context&, const std::vector<tl::Tensor>& bound)> body;
  std::function<Reference(const HostTensors& inputs)>
      reference;  ///< may be empty: nothing to check
  /// What `dispatch_cycles_per_tile` divides by (R13.1).
  std::uint64_t tiles = 1;
};

/// An entry of the catalogue.
struct Kernel {
  std::string name;
  std::string summary;
  std::vector<Parameter> parameters;
  /// Throws InputError if the values do not fit each other or the target.
  std::function<Instance(const Parameters&, const tl::Target&)> make;
};

}  // namespace kernbench::kernels
