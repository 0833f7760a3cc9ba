// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "kernels/kernel.hpp"
#include "runtime/launch/safetensors.hpp"

namespace kernbench::runtime {

/// The error of a result against its float64 reference. Not finite if the result is not finite.
struct ErrorFigures {
  std::string name;
  double max_abs_err = 0;
  double rms_rel_err = 0;  ///< rms(err) / rms(ref)
};

struct NumericsCheck {
  ErrorFigures checked;              ///< the result that decides
  std::vector<ErrorFigures> others;  ///< by name
  double max_abs_tolerance = 0;      ///< allowed max_abs_err
  double rms_rel_tolerance = 0;      ///< allowed rms_rel_err
  bool pass = false;
};

/// Compares every output of `reference` with the result of that name; equal infinities agree.
/// Throws std::logic_error for a mistake in the kernel's reference: no result of that size, a NaN,
/// an infinity in the checked output, a tolerance that is not finite.
NumericsCheck check_numerics(const kernels::Reference& reference, const FileTensors& results);

}  // namespace kernbench::runtime
