// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "model/arch/config.hpp"
#include "tlm_if/command/limits.hpp"

namespace kernbench::arch {

/// The limits of a PE with that configuration, the same for which `tl` compiles (R4.9). `pe`: its
/// number in the design, which its messages may not name; empty: not known.
command::Limits limits_of(const PeConfig& config, std::optional<std::uint32_t> pe = std::nullopt);

}  // namespace kernbench::arch
