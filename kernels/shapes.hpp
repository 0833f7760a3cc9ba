// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "kernels/kernel.hpp"
#include "tlm_if/command/rounding.hpp"

namespace kernbench::kernels {

/// The largest number of rows or columns of a matrix that a parameter accepts.
inline constexpr Index kMaxDim = Index{1} << 24;

/// (rows, cols), the same in files and on the device.
inline TensorSpec matrix(std::string name, Index rows, Index cols, Direction direction) {
  return {std::move(name), {rows, cols}, {rows, cols}, DType::f16, direction};
}
/// An input of shape (size,), the same in files and on the device.
inline TensorSpec vector(std::string name, Index size) {
  return {std::move(name), {size}, {size}, DType::f16, Direction::in};
}

using command::ceil_div;

/// K tiles of all output tiles of a gemm (R5.2).
inline std::uint64_t gemm_tiles(const tl::Target& target, Index m, Index k, Index n) {
  const auto tiles = [](Index size, Index tile) {
    return static_cast<std::uint64_t>(ceil_div(size, tile));
  };
  return tiles(m, target.tile_m) * tiles(k, target.tile_k) * tiles(n, target.tile_n);
}

}  // namespace kernbench::kernels
