// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "kernels/kernel.hpp"

namespace kernbench::kernels {

// The usual ways to distribute a tensor over programs (TensorSpec::shard). A replicated tensor
// needs none.

using Sharding = std::function<Shard(Index program)>;

/// Rows in blocks of ceil(rows / programs), in the order of the programs; the last programs may
/// hold fewer rows, or none.
Sharding split_rows(Index rows, Index programs);
/// The same for columns.
Sharding split_cols(Index rows, Index cols, Index programs);
/// All `rows` on one program.
Sharding whole_on(Index rows, Index program);

}  // namespace kernbench::kernels
