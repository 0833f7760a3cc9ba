// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tl/tl.hpp"

namespace kernbench::kernels {

using command::DType;
using command::Index;

/// One `name=value` of the command line; integer(), choice() and list() make them.
struct Parameter {
  std::string name;
  std::string default_value;  ///< empty: no value unless one is given
  std::string meaning;        ///< one sentence, with the unit
  Index min = 1;              ///< for an integer, or for each integer of a list
  Index max = std::numeric_limits<Index>::max();
  std::vector<std::string> choices = {};  ///< the allowed values; for a list, allowed instead of
                                          ///< integers
  bool list = false;                      ///< integers separated by commas, or one of `choices`
  /// Another parameter that says the same in another way. If only that one is given, this one has
  /// no value.
  std::string alternative = {};

  /// A copy with that alternative.
  Parameter gives_way_to(std::string other) const;
};

/// An integer in [min, max].
Parameter integer(std::string name, Index default_value, std::string meaning, Index min = 1,
                  Index max = std::numeric_limits<Index>::max());
/// The same, with no value unless one is given.
Parameter optional_integer(std::string name, std::string meaning, Index min, Index max);
Parameter choice(std::string name, std::string default_value, std::string meaning,
                 std::vector<std::string> choices);
/// Integers in [min, max] separated by commas, or one of `choices`; no value unless one is given.
Parameter list(std::string name, std::string meaning, Index min, Index max,
               std::vector<std::string> choices = {});

/// Null if there is none of that name.
const Parameter* find_parameter(const std::vector<Parameter>& declared, std::string_view name);

/// The values of a kernel's parameters, checked against their declarations.
class Parameters {
 public:
  /// Throws InputError for an unknown name (with the nearest), a repeated one, or a value that is
  /// empty or out of range. `settings` are (name, value) pairs as given.
  Parameters(std::string_view kernel, const std::vector<Parameter>& declared,
             const std::vector<std::pair<std::string, std::string>>& settings);

  bool has_value(std::string_view name) const;
  Index integer(std::string_view name) const;
  const std::string& choice(std::string_view name) const;
  std::vector<Index> list(std::string_view name) const;
  /// For a choice between names of dtypes.
  DType dtype(std::string_view name) const;
  /// In the order of declaration; empty where there is no value.
  const std::vector<std::pair<std::string, std::string>>& values() const { return values_; }

 private:
  std::vector<std::pair<std::string, std::string>> values_;
};

enum class Direction : std::uint8_t { in, out };

/// The values that entries of an input may have. Synthetic entries are N(0,1); with at_least_one
/// they are 1 + |N(0,1)|, like the sum of a softmax row whose largest term is 1. Entries that the
/// user gives must be finite. With masked they may also be -inf, like a masked score or the maximum
/// of no scores. With any they are not checked.
enum class Domain : std::uint8_t { normal, at_least_one, masked, any };

/// The part of a tensor that one program holds, in the HBM of its PE: blocks of rows, stacked in
/// that order, all of the same columns.
struct Shard {
  struct Rows {
    Index begin = 0;
    Index count = 0;
  };
  std::vector<Rows> rows;  ///< of `TensorSpec::shape`; empty: the program holds nothing
  Index first_col = 0;
  Index cols = 0;  ///< 0: all from `first_col`
};

/// A tensor in HBM that the host binds to the kernel.
struct TensorSpec {
  std::string name;
  std::vector<Index> file_shape;  ///< in safetensors files; axes of size 1 may be dropped there
  command::Shape shape;           ///< on the device: row-major, same entries in the same order
  DType dtype = DType::f16;
  Direction direction = Direction::in;
  Domain domain = Domain::normal;
  /// The part that the given program holds; empty: every program holds all of it. An entry that
  /// several programs hold is read back from the first of them.
  std::function<Shard(Index program)> shard = {};
  double synthetic_scale = 1;  ///< what synthetic N(0,1) entries are multiplied by
};

/// Entries of named tensors, exact in double.
struct HostTensors : std::map<std::string, std::vector<double>, std::less<>> {
  using map::map;
  /// Throws std::out_of_range, whose text lists the names that exist.
  const std::vector<double>& at(std::string_view name) const;
  std::vector<double>& at(std::string_view name);
};

/// What the results are compared with: float64, computed on the host from the same inputs.
struct Reference {
  HostTensors outputs;     ///< by name of an output tensor or of an observed value; no NaN
  std::string checked;     ///< the output that decides pass or fail; finite
  double max_rms_rel = 0;  ///< allowed rms(err) / rms(ref)
  double max_abs_rel = 0;  ///< allowed max|err| / rms(ref)
};

/// A kernel with its parameters chosen.
struct Instance {
  std::vector<TensorSpec> tensors;  ///< inputs, then outputs: the order of HBM addresses (R3.4)
  /// Runs once per program. `bound` holds the program's part of each of `tensors`, in that order.
  /// If the program has no part of a tensor, its entry is a Tensor that every call refuses.
  std::function<void(tl::Context&, const std::vector<tl::Tensor>& bound)> body;
  std::function<Reference(const HostTensors& inputs)>
      reference;  ///< may be empty: nothing to check
  /// Programs per axis (tl.program_id), and the PE of each program in row-major order of the ids;
  /// empty: PE 0, 1, ..
  std::array<Index, 3> grid{1, 1, 1};
  std::vector<std::uint32_t> pes = {};
  /// What `dispatch_cycles_per_tile` divides by (R13.1).
  std::uint64_t tiles = 1;
  /// The recipes that `body` may name (R4.3); null: the built-in ones.
  std::shared_ptr<const tl::RecipeTable> recipes = {};
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
