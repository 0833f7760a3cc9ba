// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "model/arch/numerics.hpp"
#include "model/arch/stage.hpp"
#include "model/arch/storage.hpp"

namespace kernbench::arch {

// A slice as the sequence of bytes in DMA transfer order: memory row by memory row (R6.8).

/// Collects the entries of `source` in the transfer order of `target`: entry (r, c) becomes entry
/// (r, c).
void gather(const Storage& storage, const Slice& source, const Slice& target,
            std::vector<std::uint8_t>& bytes);
/// Writes `bytes`, which are in the transfer order of `source`: entry (r, c) of `source` becomes
/// entry (r, c) of `target`.
void scatter(Storage& storage, const Slice& target, const Slice& source,
             const std::vector<std::uint8_t>& bytes);
/// The bytes of a slice, without the gaps between its rows: ascending ranges that never touch.
void byte_runs(const Slice& slice, std::vector<command::ByteRange>& runs);
/// Rounds row-major values to the slice's dtype.
void pack(const Slice& slice, const Values& values, std::vector<std::uint8_t>& bytes);

}  // namespace kernbench::arch
