// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tlm_if/command/commands.hpp"

namespace kernbench::tl {

// A recipe is a named macro that lowers to flat OpSpecs (contract 4, Recipes). A new recipe is a
// new table entry; nothing outside `tl` sees recipes.

/// The epsilon of the norms: added to the mean square, or to the variance.
inline constexpr double kNormEps = 1e-5;

enum class Access : std::uint8_t { read, read_write };
struct RecipeOperand {
  std::string name;
  Access access = Access::read;
};

/// A scalar argument; without a default it must be given.
struct RecipeScalar {
  std::string name;
  std::optional<double> default_value;
};

/// How a slot's shape follows from an operand's shape (r, c): (r, c), (c, r), (r,) or (c,).
enum class ShapeOf : std::uint8_t { same, transposed, rows, cols };

/// A scratch tensor of a recipe: shape and dtype follow the operands.
struct RecipeSlot {
  std::string name;
  ShapeOf shape = ShapeOf::same;
  std::string shape_from;  ///< an operand
  std::string dtype_from;  ///< an operand; ignored if `dtype` is set
  std::optional<command::DType> dtype = {};
};

/// What a computed extra may depend on.
class RecipeArguments {
 public:
  virtual ~RecipeArguments() = default;
  virtual const command::Shape& shape(std::string_view operand) const = 0;
  virtual double scalar(std::string_view name) const = 0;
};

struct StepExtra {
  command::ExtraName name = command::ExtraName::value;
  double value = 0;
  std::function<double(const RecipeArguments&)> computed = {};  ///< overrides `value`
};

/// One MATH op. `inputs` are in the op table's order; each input, and `output`, is an operand or a
/// slot. At scope k_tile or output_tile the op works on the accumulator (R4.6): `output` is
/// `gemm_out`, and `inputs` has the other operand of an op with `other`, and is empty for other
/// ops.
struct RecipeStep {
  command::OpKind kind = command::OpKind::copy;
  std::vector<std::string> inputs;
  std::string output;
  std::vector<StepExtra> extras = {};
  command::Scope scope = command::Scope::kernel;
};

enum class TileAlignment : std::uint8_t { single_shot, tile_aligned };
/// Before the gemm, or after it: tile ops of the loop, and kernel-scope ops after the loop.
enum class Phase : std::uint8_t { prologue, epilogue };

struct Recipe {
  std::string name;
  std::vector<RecipeOperand> operands;
  std::vector<RecipeScalar> scalars = {};
  /// The scratch block, packed in this order.
  std::vector<RecipeSlot> slots;
  /// The slot that is the recipe's result and becomes the gemm's `a`.
  std::optional<std::string> primary_out = {};
  /// In phase epilogue: the operand that is the gemm's out. The compiler binds it, so a call does
  /// not pass it.
  std::optional<std::string> gemm_out = {};
  std::vector<RecipeStep> engine_seq;
  TileAlignment tile_alignment = TileAlignment::single_shot;
  Phase phase = Phase::prologue;
};

/// Recipes by name.
class RecipeTable {
 public:
  /// A recipe with its names resolved: values are numbered operands first, then slots.
  struct Entry {
    Recipe recipe;
    struct Step {
      InlineVector<std::size_t, 3> inputs;
      std::size_t output = 0;
      InlineVector<command::Extra, 3> extras;  ///< a computed extra is 0 here; it is computed in
                                               ///< every call
      bool has_computed_extras = false;
    };
    std::vector<Step> steps;
    struct Slot {
      std::size_t shape_from = 0;
      std::size_t dtype_from = 0;
    };
    std::vector<Slot> slots;
    std::optional<std::size_t> primary_out;  ///< index into `recipe.slots`
    std::optional<std::size_t> gemm_out;     ///< index into `recipe.operands`
  };

  /// Throws InputError if the recipe is unsound: a name is repeated or unknown, an op does not
  /// accept its inputs and extras, a step is not a MATH op, or the alignment is tile_aligned.
  void add(Recipe recipe);
  /// Null if there is none.
  const Entry* find(std::string_view name) const;
  /// The names of the recipes of that phase, in order of addition.
  std::vector<std::string> names(Phase phase) const;

 private:
  std::vector<Entry> entries_;
};

/// softmax_merge, rmsnorm_linear, linear_gelu_norm and state_merge (contract 4 and 13).
const RecipeTable& builtin_recipes();

/// Shape and dtype of a recipe's slot for the given operands.
struct SlotType {
  command::Shape shape;
  command::DType dtype = command::DType::f16;
  std::uint64_t bytes() const {
    return command::bytes_of(dtype, static_cast<std::uint64_t>(shape.elements()));
  }
};
SlotType slot_type(const RecipeTable::Entry& entry, std::size_t slot,
                   const std::vector<command::TensorHandle>& operands);
/// The size of the block that holds all slots (R4.4).
std::uint64_t scratch_bytes(const RecipeTable::Entry& entry,
                            const std::vector<command::TensorHandle>& operands);

}  // namespace kernbench::tl
