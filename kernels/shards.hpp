// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "kernels/kernel.hpp"

namespace kernbench::kernels {

// The usual ways to spread a tensor over programs (TensorSpec::shard). Replicated: none of these.

using Sharding = std::function<Shard(Index program)>;

/// Rows in blocks of ceil(rows / programs), in the order of the programs; the last ones may hold
/// fewer, or nothing.
Sharding split_rows(Index rows, Index programs);
/// Columns likewise.
Sharding split_cols(Index rows, Index cols, Index programs);
/// All `rows` on one program.
Sharding whole_on(Index rows, Index program);

}  // namespace kernbench::kernels
