// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// What libFuzzer calls with any bytes. A string with the magic of a program file is read as one,
/// any other as a command stream.
extern "C" int LLVMFuzzerTestOneInput(  // NOLINT(readability-identifier-naming): given
    const std::uint8_t* data, std::size_t size);
