// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace kernbench::command {

/// The number of parts of at most `size` that make up `total`. Neither may be negative; `size` must
/// not be 0, and the sum of both must fit T.
template <class T>
constexpr T ceil_div(T total, T size) {
  return (total + size - 1) / size;
}

}  // namespace kernbench::command
