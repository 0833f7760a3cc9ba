// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

namespace kernbench::test {

/// Cycles of one (m, k, n) gemm on an array x array systolic array without stalls, as SCALE-Sim v3
/// gives them (contract 13).
struct ScaleSimRow {
  std::uint64_t m, k, n, array, weight_stationary, output_stationary;
};

inline constexpr std::array<ScaleSimRow, 13> kScaleSim{{
    {8, 128, 64, 16, 1727, 631},
    {8, 128, 64, 32, 815, 379},
    {8, 128, 64, 128, 389, 381},
    {8, 64, 128, 16, 1727, 751},
    {8, 64, 128, 32, 815, 503},
    {8, 64, 128, 128, 389, 317},
    {128, 128, 128, 16, 11135, 10111},
    {128, 128, 128, 32, 3551, 3039},
    {128, 128, 128, 128, 509, 381},
    {512, 512, 512, 16, 571391, 555007},
    {512, 512, 512, 32, 155135, 146943},
    {512, 512, 512, 128, 14303, 12255},
    {1024, 4096, 1024, 128, 359935, 278399},
}};

}  // namespace kernbench::test
