// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace kernbench::test {
/// Of the handle table that streams are decoded with: few, so that entries give way.
inline constexpr std::uint32_t kFuzzedTableEntries = 8;
}  // namespace kernbench::test

/// What libFuzzer calls with any bytes. A string with the magic of a program file is read as one,
/// any other as a command stream.
extern "C" int LLVMFuzzerTestOneInput(  // NOLINT(readability-identifier-naming): given
    const std::uint8_t* data, std::size_t size);
