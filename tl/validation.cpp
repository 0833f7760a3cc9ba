// SPDX-License-Identifier: Apache-2.0
#include "tl/validation.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tlm_if/command/error.hpp"

namespace kernbench::tl {

using command::TensorHandle;

std::string scope_ended(const TensorHandle& handle) {
  return fmt::format("{} is used after its scratch scope ended; allocate it outside the scope",
                     handle.describe());
}

bool Validation::is_sound(const TensorHandle& handle) const {
  // A default shape has rank 0 and no entries.
  if (handle.id == 0 || handle.id >= next_id_) return false;
  if (handle.shape.rows() < 1 || handle.shape.cols() < 1) return false;
  return handle.pinned() ? scratch_.find(handle).has_value()
                         : handle.range().end <= target_.hbm_bytes;
}

std::string Validation::problem_of(const TensorHandle& handle) const {
  if (is_sound(handle)) return {};
  if (handle.id == 0 || handle.id >= next_id_) {
    return fmt::format("{} was not made by this context; use its own tensors", handle.describe());
  }
  for (int axis = 0; axis < 2; ++axis) {
    if (axis < std::max(handle.shape.rank(), 1) && handle.shape[axis] < 1) {
      return fmt::format("{}: dimension {} is {}; it must be at least 1", handle.describe(), axis,
                         handle.shape[axis]);
    }
  }
  if (!handle.pinned()) return command::beyond_hbm(handle, target_.hbm_bytes);
  return scratch_.region().contains(handle.range())
             ? scope_ended(handle)
             : command::outside_scratch(handle, scratch_.region());
}

void Validation::check_handle(const TensorHandle& handle, std::string_view what) const {
  const std::string problem = problem_of(handle);
  if (!problem.empty()) throw InputError(fmt::format("{}: {}", what, problem));
}

}  // namespace kernbench::tl
