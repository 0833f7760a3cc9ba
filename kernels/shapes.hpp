// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "kernels/kernel.hpp"

namespace kernbench::kernels {

/// The largest number of rows or columns of a matrix that a parameter takes.
inline constexpr Index kMaxDim = Index{1} << 24;

/// (rows, cols), alike in files and on the device.
inline TensorSpec matrix(std::string name, Index rows, Index cols, Direction direction) {
  return {std::move(name), {rows, cols}, {rows, cols}, DType::f16, direction};
}
/// (size,), alike in files and on the device: an input.
inline TensorSpec vector(std::string name, Index size) {
  return {std::move(name), {size}, {size}, DType::f16, Direction::in};
}

/// How many parts of at most `size` make up `total`; neither is negative, `size` not 0.
constexpr Index ceil_div(Index total, Index size) { return (total + size - 1) / size; }

/// K tiles of all output tiles of a gemm (R5.2).
inline std::uint64_t gemm_tiles(const tl::Target& target, Index m, Index k, Index n) {
  const auto tiles = [](Index size, Index tile) {
    return static_cast<std::uint64_t>(ceil_div(size, tile));
  };
  return tiles(m, target.tile_m) * tiles(k, target.tile_k) * tiles(n, target.tile_n);
}

}  // namespace kernbench::kernels
